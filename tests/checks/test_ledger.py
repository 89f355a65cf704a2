"""Every chunk is in one state, and the states add up, whatever is noted and in which order."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.checks import ledger as ledgers
from refexplorer.checks.ledger import Ledger
from refexplorer.checks.states import CHUNK_TERMS, FileState, KeyState, LedgerState, Rank
from refexplorer.core.errors import LimitError

STATES = st.sampled_from(list(LedgerState))
GRIDS = st.lists(st.integers(0, 5), max_size=3).map(tuple)


@st.composite
def marks(draw: Any) -> tuple[tuple[int, ...], list[tuple[list[int], LedgerState]]]:
    grid = draw(GRIDS)
    chunks = st.lists(st.integers(0, max(prod(grid) - 1, 0)), max_size=6)
    return grid, draw(st.lists(st.tuples(chunks, STATES), max_size=8)) if prod(grid) else []


@given(marks(), st.booleans())
def test_dense_and_sparse_books_agree(
    made: tuple[tuple[int, ...], list[tuple[list[int], LedgerState]]], is_sparse: bool
) -> None:
    grid, given_marks = made
    expected: dict[int, LedgerState] = {}
    limit = -1 if is_sparse else ledgers.DENSE_CHUNKS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledgers, "DENSE_CHUNKS", limit)
        ledger = Ledger({"x": grid})
    for chunks, state in given_marks:
        ledger.mark("x", np.array(chunks, np.int64), state)
        for chunk in chunks:
            expected[chunk] = max(expected.get(chunk, LedgerState.UNTOUCHED), state)
    counts = ledger.counts("x")
    assert sum(counts.values()) == prod(grid)
    for state in LedgerState:
        n_expected = sum(found is state for found in expected.values())
        if state is LedgerState.UNTOUCHED:
            n_expected += prod(grid) - len(expected)
        assert counts.get(state, 0) == n_expected
    assert not ledger.faults()
    if not is_sparse:
        flat = ledger.states("x").reshape(-1)
        assert ledger.states("x").shape == grid
        assert all(flat[chunk] == state for chunk, state in expected.items())


def test_a_fault_is_not_undone_and_a_closer_look_counts() -> None:
    ledger = Ledger({"x": (3,)})
    ledger.mark("x", np.array([0, 1]), LedgerState.WRONG_RANGE)
    ledger.mark("x", np.array([0, 2]), LedgerState.EQUAL)
    ledger.mark("x", np.array([2]), LedgerState.PLACED)
    assert ledger.states("x").tolist() == [
        LedgerState.WRONG_RANGE, LedgerState.WRONG_RANGE, LedgerState.EQUAL,
    ]  # fmt: skip


def test_every_state_that_is_worse_is_kept() -> None:
    """A larger number wins; so bad states come after good ones, and depth grows among these.

    That nobody here can decode a chunk is said also of one whose place is right.
    """
    assert LedgerState.PLACED < LedgerState.NO_CODEC < LedgerState.DECODED
    ranks = [CHUNK_TERMS[each].rank for each in LedgerState if each != LedgerState.NO_CODEC]
    order = [Rank.UNKNOWN, Rank.ALONE, Rank.GOOD, Rank.BAD]
    assert ranks == sorted(ranks, key=order.index)
    depths = [term.depth for term in CHUNK_TERMS.values() if term.rank is Rank.GOOD]
    assert depths == sorted(depths)


def test_regions_fill_what_nothing_was_noted_of() -> None:
    ledger = Ledger({"x": (4, 3)})
    ledger.mark("x", np.array([4]), LedgerState.PLACED)  # 1, 1
    ledger.mark_region("x", (1, 0), (3, 3), LedgerState.EMPTY)
    ledger.mark_untouched("x", LedgerState.HOLE)
    assert ledger.counts("x") == {
        LedgerState.HOLE: 6, LedgerState.EMPTY: 5, LedgerState.PLACED: 1,
    }  # fmt: skip
    assert ledger.chunks_in("x", LedgerState.HOLE, 4).tolist() == [0, 1, 2, 9]


def test_what_arithmetic_does_not_show_stays_untouched() -> None:
    ledger = Ledger({"x": (10**12,)})
    ledger.mark("x", np.array([3, 10**12 - 1]), LedgerState.PLACED)
    ledger.mark_region("x", (0,), (10**11,), LedgerState.EMPTY)
    assert ledger.counts("x")[LedgerState.UNTOUCHED] == 10**12 - 2
    assert ledger.chunks_in("x", LedgerState.PLACED, 10).tolist() == [3, 10**12 - 1]
    with pytest.raises(LimitError, match="too many to return a state for each"):
        ledger.states("x")
    ledger.mark_untouched("x", LedgerState.HOLE)
    assert ledger.counts("x") == {LedgerState.PLACED: 2, LedgerState.HOLE: 10**12 - 2}


def test_a_scalar_has_one_chunk() -> None:
    ledger = Ledger({"": ()})
    ledger.mark("", np.array([0]), LedgerState.HELD_EQUAL)
    ledger.mark_region("", (), (), LedgerState.EMPTY)
    assert ledger.counts("") == {LedgerState.HELD_EQUAL: 1}
    assert ledger.states("").shape == ()


def test_states_are_not_for_writing() -> None:
    ledger = Ledger({"x": (2,)})
    with pytest.raises(ValueError, match="read-only"):
        ledger.states("x")[0] = 1


def test_books_are_held_against_their_totals() -> None:
    ledger = Ledger({"x": (2,)})
    ledger.keys.total, ledger.files.total, ledger.followed = 3, 1, 2
    ledger.keys.counts.update({KeyState.CHUNK: 2, KeyState.METADATA: 1})
    ledger.files.counts[FileState.READ] = 1
    assert ledger.faults() == []
    ledger.keys.counts[KeyState.CHUNK] = 1
    assert ledger.faults() == [
        "The set has 1 key of chunks, but 2 references to chunks were followed.",
        "There are 3 keys, 2 have a state.",
    ]


def test_many_chunks_take_flat_memory() -> None:
    """Their bytes are mapped from a file, and counted a block at a time."""
    ledger = Ledger({"x": (3000, 1000)})
    ledger.mark("x", np.arange(0, 3_000_000, 3), LedgerState.PLACED)
    assert ledger.counts("x") == {LedgerState.UNTOUCHED: 2_000_000, LedgerState.PLACED: 1_000_000}


def test_a_target_that_the_reader_names_is_a_file_that_cannot_be_read() -> None:
    refs = rx.open_references({".zgroup": '{"zarr_format": 2}', "a": [None, 0, 1]})
    found = refs.verify()
    assert (found.headline.text, found.status) == ("has errors: 1 file cannot be read", 1)
    assert found.ledger.files.counts == {FileState.UNREACHABLE: 1}
