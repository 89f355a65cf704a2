"""Rows of keys are found whatever the keys are."""

from __future__ import annotations

from contextlib import nullcontext
from threading import Thread
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refexplorer.formats.columns import table as key_index
from refexplorer.formats.columns.references import text_column
from refexplorer.formats.columns.table import KeyIndex

texts = st.text(max_size=20) | st.sampled_from(["x" * 511, "x" * 512, "x" * 513, "y" * 2000])


@given(st.lists(texts, max_size=30), st.lists(texts, max_size=5), st.integers(1, 7))
def test_every_key_is_found_and_nothing_else(
    keys: list[str], others: list[str], block: int
) -> None:
    index = KeyIndex(text_column(keys), block)
    assert index.unique == (len(set(keys)) == len(keys))
    for text in [*keys, *others]:
        row = index.find(text)
        assert (row is None) == (text not in keys)
        assert row is None or keys[row] == text
    rows = index.find_many(text_column([*keys, *others]))
    for text, row in zip([*keys, *others], rows.tolist(), strict=True):
        assert keys[row] == text if row >= 0 else text not in keys


def test_equal_hashes_are_distinguished() -> None:
    """The hash is patched: its factor is of this process alone, so no keys are known to collide."""
    keys = ["a", "b", "c", "b2"]
    with (
        patch.object(key_index, "_hashes", lambda column: np.zeros(len(column), np.uint64)),
        patch.object(key_index, "hash_of", lambda key: 0),
    ):
        index = KeyIndex(text_column(keys))
        assert index.unique
        assert [index.find(key) for key in keys] == [0, 1, 2, 3]
        assert index.find_many(text_column(["c", "d"])).tolist() == [2, -1]
        assert not KeyIndex(text_column([*keys, "a"])).unique


@pytest.mark.parametrize("threads_start", [True, False])
def test_a_column_that_two_threads_sort_is_sorted(threads_start: bool) -> None:
    """Threads are refused as a browser's Python refuses them."""
    keys = text_column([f"t2m/{n * 7919 % 200_003}" for n in range(200_003)])

    def refuse(thread: Thread) -> None:
        raise RuntimeError("can't start new thread")

    with nullcontext() if threads_start else patch.object(Thread, "start", refuse):
        index = KeyIndex(keys)
    assert index.unique
    assert index.find_many(keys).tolist() == list(range(len(keys)))
