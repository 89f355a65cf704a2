"""Sizes that are not known are None, and sums are exact whatever they come to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.formats.columns.references import exact_sum
from tests.cases.sizes import LONGEST, PAST, QUARTERS, STEPS, VARYING, VAST, WHOLE

METADATA = rx.open_references(QUARTERS).node("x/.zarray").size or 0


@given(st.lists(st.integers(0, 2**63 - 1)))
def test_a_sum_is_that_of_python(numbers: list[int]) -> None:
    assert exact_sum(np.array(numbers, np.int64)) == sum(numbers)


@pytest.mark.parametrize(
    ("references", "size"),
    [
        (QUARTERS, 3 * LONGEST),
        (PAST, 100 + LONGEST + 7),
        (STEPS, 100 * LONGEST),
        (VAST, 100 * 10**20),
    ],
    ids=["quarters", "past", "steps", "vast"],
)
def test_bytes_past_64_bits_are_exact(references: dict[str, Any], size: int) -> None:
    refs = rx.open_references(references)
    metadata = refs.node("x/.zarray").size or 0
    assert refs.summary().bytes == refs.summary("x").bytes == size + metadata
    assert refs.node("x").size == size + metadata


def test_a_part_of_a_set_has_its_own_large_numbers() -> None:
    long = {f"a/{n}": ["f", 0, LONGEST] for n in range(3)}
    refs = rx.open_references({**long, "b/0": ["f", 0, 3], "b/1": ["f", 0, LONGEST]})
    assert [refs.node(path).size for path in "ab"] == [3 * LONGEST, 3 + LONGEST]
    assert [refs.summary(path).bytes for path in "ab"] == [3 * LONGEST, 3 + LONGEST]


def test_a_range_that_no_file_can_have_is_rejected() -> None:
    item = {"key": "y/{{i}}", "url": "f", "offset": f"{{{{i * {2**61}}}}}", "length": "1"}
    gen = [item | {"dimensions": {"i": {"stop": 4}}}]
    refs = rx.open_references({"version": 1, "refs": PAST, "gen": gen})
    assert set(refs) == {"x/.zarray", "x/0", "x/2", "x/3"}
    for key in ("x/1", "y/2"):  # as of other failures in a sample, the item is rejected
        found = refs.rejection(key)
        assert found is not None
        assert found.code == "vast-number"
    assert [each.code for each in refs.diagnostics if each.severity == "error"].count(
        "vast-number"
    ) == 2


def test_a_number_of_many_digits_is_cut() -> None:
    """Python prints at most 4,300 digits."""
    for value in ["f", 10**5000, 1], ["f", 1, -(10**5000)], 10**5000:
        found = rx.open_references({"x": value}).rejection("x")
        assert found is not None
        assert "000…" in found.sentence
        assert len(found.sentence) < 150


def test_lengths_that_would_have_to_be_computed() -> None:
    refs = rx.open_references(VARYING)
    assert refs.summary().bytes is refs.node("x").size is None
    assert "size not known" in str(refs).splitlines()[1]
    assert "x/  array  10,000,001 children  size not known" in str(refs)
    assert "10,000,001 children, size not known<" in refs._repr_html_()


@pytest.mark.parametrize("count", [5, 10**7])
def test_whole_files_are_of_unknown_size(count: int) -> None:
    gen = {"key": "x/{{i}}", "url": "f{{i}}.nc", "dimensions": {"i": {"stop": count}}}
    refs = rx.open_references({"version": 1, "refs": {"x/note": "text"}, "gen": [gen]})
    assert refs.node("x").size is None
    assert f"4 B referenced plus {count:,} whole files (size unknown)" in str(refs)


def test_a_whole_file_among_explicit_references() -> None:
    refs = rx.open_references({**WHOLE, "y/0": ["g.nc", 0, 3]})
    assert [refs.node(path).size for path in ("x", "y", "x/0")] == [None, 3, None]
    assert "plus 1 whole file (size unknown)" in refs._repr_html_()
    assert refs.summary("x").bytes == METADATA + 100
    assert refs.summary("x").size is None


def test_an_estimate_marks_unknown_sizes() -> None:
    known, partly = (rx.open_references(each).estimate("x") for each in (QUARTERS, WHOLE))
    assert known.bytes == 3 * LONGEST
    assert (partly.bytes, partly.label) == (None, "Read 100 B and more from 2 files")


def test_offsets_and_lengths_of_chunks_are_not_clipped() -> None:
    grid = rx.open_references(PAST).chunk_grid("x")
    assert grid.offsets.tolist() == [LONGEST, -1, 5, 2**53 + 1]
    assert grid.lengths.tolist() == [100, -1, LONGEST, 7]
    view = grid.view()
    assert view.offsets.tolist() == [grid.offsets.tolist()]
    assert view.sizes.tolist() == [[100.0, 0.0, 2.0**62, 7.0]]


def test_a_cell_with_a_whole_file_has_no_known_size() -> None:
    view = rx.open_references(WHOLE).chunk_grid("x").view()
    assert view.sizes.tolist() == [[-1, 100, 0]]
    both = rx.open_references(WHOLE).chunk_grid("x").view(cells=1)
    assert both.sizes.tolist() == [[-1]]


def test_ranges_that_end_past_62_bits_overlap() -> None:
    (found,) = (d for d in rx.open_references(QUARTERS).diagnostics if "overlap" in d.code)
    said = "The byte range of `x/2` shares 10 bytes of f.nc with that of `x/1`."
    assert found.message == said


def test_a_range_inside_another_shares_no_more_than_it_has() -> None:
    refs = rx.open_references({"x/0": ["f", 0, 100], "x/1": ["f", 10, 5]})
    (found,) = (d for d in refs.diagnostics if d.code == "overlapping-ranges")
    assert "shares 5 bytes" in found.message
