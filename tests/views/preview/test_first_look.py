from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import refexplorer as rx
from refexplorer.io.decode.sizes import region
from refexplorer.views.preview.axes import first_look
from refexplorer.views.preview.regions import Region, chunks_touched
from tests.helpers.explorer import Host
from tests.helpers.sets import raw_set


def opened(shape: list[int], chunks: list[int], size: int, **other: Any) -> rx.ReferenceSet:
    """Return a set of which each chunk takes so many bytes."""
    empty = rx.open_references(raw_set(shape=shape, chunks=chunks))
    document: dict[str, Any] = dict(empty.to_v0())
    meta = empty.array("x")
    for number, index in enumerate(chunks_touched(meta, tuple(map(range, shape)), 10**6)):
        document[meta.chunk_key(index)] = ["s3://b/f", number * size, size]
    return rx.open_references(document | other)


def cost(refs: rx.ReferenceSet, places: Region) -> int:
    meta = refs.array("x")
    keys = [meta.chunk_key(index) for index in chunks_touched(meta, places, 10**6)]
    return sum(refs[key].size or 0 for key in keys)


def test_the_budget_is_that_of_the_set_or_a_persons() -> None:
    document = opened([600, 400], [20, 20], 100).to_v0()
    refs = rx.open_references(document, limits=rx.Limits(picture_bytes=900, kept_bytes=10**6))
    assert cost(refs, first_look(refs, refs.array("x"))) == 600
    host = Host(refs)
    plans = [host.ask("slice.plan", array="x", **more)["plan"] for more in ({}, {"budget": 2500})]
    assert [plan["estimate"]["bytes"] for plan in plans] == [600, 2400]
    assert {(plan["budget"], plan["kept_most"]) for plan in plans} == {(900, 10**6)}


def test_a_slice_that_the_budget_allows_is_read_whole() -> None:
    refs = opened([3, 600, 400], [1, 20, 20], 100)
    assert first_look(refs, refs.array("x"), 10**5) == (range(1), range(600), range(400))


def test_a_small_array_is_read_whole_if_the_budget_allows_it() -> None:
    refs = opened([3, 60, 40], [1, 20, 20], 100)
    assert first_look(refs, refs.array("x"), 10**4) == (range(3), range(60), range(40))
    assert first_look(refs, refs.array("x"), 10**3) == (range(1), range(60), range(40))


def test_of_a_larger_slice_the_middle_is_read_in_whole_chunks_without_steps() -> None:
    refs = opened([3, 600, 400], [1, 20, 20], 100)
    meta = refs.array("x")
    places = first_look(refs, meta, 10_000)
    assert places[0] == range(1)
    assert all(part.step == 1 for part in places)
    assert 5_000 < cost(refs, places) <= 10_000
    covered = [region(meta, index) for index in chunks_touched(meta, places)]
    for axis in (1, 2):
        assert places[axis].start == min(part[axis].start for part in covered)
        assert places[axis].stop == max(part[axis].stop for part in covered)
        middle = (places[axis].start + places[axis].stop) / 2
        assert abs(middle - meta.shape[axis] / 2) <= meta.chunks[axis]


def test_one_chunk_is_read_whatever_it_takes() -> None:
    refs = opened([600, 400], [200, 200], 10**9)
    places = first_look(refs, refs.array("x"), 1000)
    assert list(map(len, places)) == [200, 200]


def test_a_long_line_and_a_single_value() -> None:
    refs = opened([10**6], [1000], 500)
    places = first_look(refs, refs.array("x"), 20_000)
    assert len(places[0]) == 40_000
    single = rx.open_references(raw_set(shape=[1], chunks=[1]))
    assert first_look(single, single.array("x")) == (range(1),)


def test_chunks_without_a_reference_cost_nothing() -> None:
    refs = rx.open_references(raw_set(shape=[6000, 6000], chunks=[200, 200]))
    assert first_look(refs, refs.array("x"), 1) == (range(6000), range(6000))


def test_a_plan_says_what_has_to_be_allowed_first() -> None:
    refs = opened([4], [2], 100)
    asked = Host(refs).ask("slice.plan", array="x", index=[1], slices=None)["plan"]
    assert asked["grant"] == "s3://b"
    allowed = Host(refs.allowing("s3://b")).ask("slice.plan", array="x", index=[1], slices=None)
    assert allowed["plan"]["grant"] is None
    inline = rx.open_references(raw_set(shape=[4], chunks=[2]) | {"x/0": "ab\0\0"})
    assert (
        Host(inline).ask("slice.plan", array="x", index=[0], slices=None)["plan"]["grant"] is None
    )


def test_a_first_look_is_read_at_once_only_if_it_needs_no_question(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(np.arange(8, dtype="<i4").tobytes())
    chunks = [[str(tmp_path / "f"), 16 * number, 16] for number in range(2)]
    refs = rx.open_references(raw_set(*chunks, shape=[8], chunks=[4], dtype="<i4"))
    refused, none = Host(refs).read("x", None, first=True)
    assert (refused["state"], none) == ("ask", None)
    host = Host(refs.allowing(str(tmp_path)))
    assert host.read("x", None, first=True, budget=1)[1] is None
    plan = host.ask("slice.plan", array="x", budget=32)["plan"]
    reading, values = host.read("x", None, first=True, budget=32)
    assert reading["slices"] == plan["slices"]
    assert values.tolist() == list(range(8))
