"""Targets and their byte ranges against sets of single bytes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.refset.opened_set import internals
from refexplorer.refset.target_layout import TargetRange
from tests.helpers.sets import metadata

URLS = ("a.nc", "b.nc")
ranges = st.tuples(st.sampled_from(URLS), st.integers(0, 40), st.integers(0, 12))
keys = st.one_of(
    st.integers(0, 9).map("v/{}".format), st.integers(0, 9).map("w/{}".format), st.just("loose")
)
chunks = st.dictionaries(keys, ranges, min_size=1, max_size=16)


def opened(references: dict[str, Any]) -> rx.ReferenceSet:
    arrays = {"v/.zarray": metadata((10,)), "w/.zarray": metadata((10,)), "note": "text"}
    return rx.open_references({**arrays, **references})


def bytes_of(references: dict[str, Any], url: str) -> list[int]:
    """Every byte of a target as often as it is referenced."""
    mine = [value for value in references.values() if value[0] == url]
    return [byte for _, offset, length in mine for byte in range(offset, offset + length)]


def bytes_used_by(
    path: str | None, references: dict[str, Any], url: str, low: int, high: int
) -> set[int]:
    """The bytes of a window of a target that the keys of one array refer to."""
    mine = {key: v for key, v in references.items() if (key.rpartition("/")[0] or None) == path}
    return {byte for byte in bytes_of(mine, url) if low <= byte < high}


def inside(stretches: Any) -> set[int]:
    """Every byte of stretches, which must be in order and apart."""
    pairs = list(zip(stretches.starts.tolist(), stretches.ends.tolist(), strict=True))
    assert all(one[1] < other[0] for one, other in pairwise(pairs))
    return {byte for start, end in pairs for byte in range(start, end)}


@given(chunks)
def test_gaps_and_shared_bytes(references: dict[str, Any]) -> None:
    refs = opened(references)
    assert {target.url for target in refs.targets()} == {value[0] for value in references.values()}
    for target in refs.targets():
        assert target.url is not None
        layout, found = refs.layout(target.url), bytes_of(references, target.url)
        ends = [v[1] + v[2] for v in references.values() if v[0] == target.url]
        assert layout.end == target.end == max(ends)
        assert inside(layout.covered) == set(found)
        assert inside(layout.gaps) == set(range(layout.end)) - set(found)
        assert inside(layout.shared) == {byte for byte in found if found.count(byte) > 1}
        assert target.bytes == len(set(found))


@given(chunks, st.integers(0, 30), st.integers(1, 40), st.integers(1, 9))
def test_bins_and_ranges_of_a_window(
    references: dict[str, Any], start: int, size: int, most: int
) -> None:
    refs = opened(references)
    for target in refs.targets():
        assert target.url is not None
        layout, found = refs.layout(target.url), bytes_of(references, target.url)
        bins = layout.bins(start, start + size, most)
        edges = bins.edges.tolist()
        assert (edges[0], edges[-1]) == (start, start + size)
        assert len(edges) - 1 <= most
        for at, (low, high) in enumerate(pairwise(edges)):
            here = [byte for byte in found if low <= byte < high]
            assert bins.covered[at] == len(set(here))
            assert bins.shared[at] == len({byte for byte in here if here.count(byte) > 1})
            shares = [
                len(bytes_used_by(path, references, target.url, low, high))
                for path in layout.arrays
            ]
            chosen = bins.arrays[at]
            assert max(shares) == (shares[chosen] if chosen >= 0 else 0)
        touching = layout.ranges(start, start + size, 100)
        assert touching is not None
        expected = {
            key
            for key, (url, offset, length) in references.items()
            if url == target.url and offset < start + size and offset + length > start
        }
        assert {each.key for each in touching} == expected
        assert touching == sorted(touching, key=lambda each: (each.offset, each.length))


def test_what_a_target_is_used_by() -> None:
    refs = opened({"v/1": ["a.nc", 10, 5], "w/0": ["a.nc", 4, 6], "w/1": ["b.nc"], "x": ["a.nc"]})
    one, other = refs.targets()
    assert (one.url, one.ranges, one.whole, one.bytes, one.end) == ("a.nc", 2, 1, 11, 15)
    assert one.arrays == (None, "v", "w")
    assert (other.url, other.ranges, other.whole, other.arrays) == ("b.nc", 0, 1, ("w",))
    assert refs.targets(1, 2) == [other]
    layout = refs.layout("a.nc")
    assert layout.keys() == ["w/0", "v/1"]
    assert layout.whole_keys() == ["x"]
    assert layout.place("v/1") == TargetRange("v/1", "v", 10, 5)
    assert layout.place("x") is None
    assert layout.place("nothing") is None
    assert layout.ranges(0, 100, 1) is None
    with pytest.raises(KeyError):
        refs.layout("c.nc")


def test_a_set_without_targets() -> None:
    assert opened({}).targets() == []


def test_a_window_past_64_bits_is_empty() -> None:
    layout = opened({"v/0": ["a.nc", 0, 4]}).layout("a.nc")
    bins = layout.bins(10**19, 10**20, 3)
    assert bins.edges.tolist() == [10**19, 4 * 10**19, 7 * 10**19, 10**20]
    assert bins.covered.sum() == bins.ranges.sum() == 0


def test_large_gen_items_are_evaluated_in_part_and_that_is_said() -> None:
    item = {
        "key": "v/{{i}}",
        "url": "a.nc",
        "offset": "{{i * 2}}",
        "length": "2",
        "dimensions": {"i": {"stop": 10**9}},
    }
    index = internals(rx.open_references({"version": 1, "gen": [item]})).target_index
    assert index.layout("a.nc").end == 2 * (10**9 - index.unlisted)
