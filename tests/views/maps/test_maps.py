"""What the maps of chunks and of targets are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.explorer import Host, later, show
from tests.helpers.sets import DEMO, metadata, raw_set


def test_the_first_look_at_the_chunks() -> None:
    grid, (counts, targets, offsets, sizes, distinct) = show(Host(DEMO / "sst.v0.json"))
    assert (grid["array"], grid["axes"], grid["rows"], grid["columns"]) == ("sst", [2, 0], 2, 9)
    assert dict(zip(grid["states"], grid["counts"], strict=True))["range"] == 18
    assert counts.reshape(6, 2, 9)[4].tolist() == [[1] * 9] * 2
    assert [target["number"] for target in grid["targets"]] == [0, 1, 2]
    assert targets.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2] * 2
    assert distinct.tolist() == [1] * 18
    assert grid["key_start"] + grid["separator"].join("602") == "sst/6.0.2"
    reference = Host(DEMO / "sst.v0.json").controller.references["sst/6.0.0"].to_v0()
    assert [grid["targets"][int(targets[6])]["url"], offsets[6], sizes[6]] == reference


def test_a_cell_of_several_targets_says_how_many() -> None:
    refs = {f"x/{n}": [f"f{n // 2}", n, 1] for n in range(480)}
    grid, (*_, distinct) = show(Host({"x/.zarray": metadata([480]), **refs}))
    assert (grid["columns"], grid["steps"]) == (120, [4])
    assert distinct.tolist() == [2] * 120


def test_a_part_of_the_chunks_and_another_array() -> None:
    host = Host(DEMO / "broken.json")
    grid, (counts, targets, *_) = show(host, "sst", axes=[0], window=[[2, 7], [0, 1], [1, 2]])
    assert (grid["rows"], grid["columns"], grid["window"]) == (1, 5, [[2, 7], [0, 1], [1, 2]])
    assert counts.reshape(6, 5).sum(axis=0).tolist() == [1] * 5
    assert (targets == -1).sum() == counts.reshape(6, 5)[0].sum() > 0
    assert show(host, "wind")[0]["dimensions"][0] == "time"


def test_what_cannot_be_shown_says_why() -> None:
    host = Host(DEMO / "sst.v0.json")
    assert "no array at 'nothing'" in show(host, "nothing")[0]["error"]
    assert "up to two" in show(host, "sst", axes=[0, 1, 2])[0]["error"]
    assert (
        "not a window of a grid" in show(host, "sst", window=[[0, 99], [0, 1], [0, 1]])[0]["error"]
    )
    assert "points to 'no.nc'" in later(host, "target.show", url="no.nc", window=None)[0]["error"]
    assert "no bytes" in later(host, "target.show", window=[5, 5])[0]["error"]


def test_sets_with_nothing_to_draw() -> None:
    host = Host({"note": "text"})
    assert show(host) == (None, [])
    assert later(host, "target.show", window=None) == ({"layout": None}, [])
    page = later(host, "targets.rows", start=0, n=9)[0]
    assert page == {"start": 0, "total": 0, "rows": [], "targets": 0}
    empty, _ = show(Host({"v/.zarray": metadata((0, 3))}))
    assert (empty["rows"], empty["columns"]) == (0, 3)


def test_targets_and_the_bytes_of_one() -> None:
    host = Host(DEMO / "broken.json")
    page, _ = later(host, "targets.rows", start=0, n=2)
    assert (page["total"], [row["url"] for row in page["rows"]]) == (
        5,
        ["sst_2025-07.nc", "sst_2025-10.nc"],
    )
    layout, (edges, covered, shared, begins, _) = layout_of(host)
    assert layout["url"] == "sst_2025-07.nc"
    assert covered.sum() == layout["bytes"] == page["rows"][0]["bytes"]
    assert layout["bytes"] + layout["gap_bytes"] == layout["end"] == edges[-1]
    assert shared.sum() == layout["shared_bytes"] == 64
    assert begins.sum() == layout["ranges"] == len(layout["shown"])
    first = layout["shown"][0]
    part, (edges, *_) = layout_of(host, window=[first["offset"], first["offset"] + first["length"]])
    assert [each["key"] for each in part["shown"]] == [first["key"]]
    assert edges[0] == first["offset"]


def layout_of(host: Host, **fields: Any) -> tuple[Any, list[Any]]:
    message, buffers = later(host, "target.show", **{"window": None} | fields)
    return message["layout"], buffers


def test_too_many_ranges_are_drawn_as_bins_alone() -> None:
    ranges = {f"v/{i}": ["a.nc", i * 10, 5] for i in range(1000)}
    layout, (_, covered, *_) = layout_of(Host({"v/.zarray": metadata((1000,)), **ranges}))
    assert layout["shown"] is None
    assert (layout["ranges"], layout["gaps"], covered.sum()) == (1000, 999, 5000)
    assert layout["arrays"] == [{"path": "v", "number": 0}]


def test_a_target_that_the_reader_names() -> None:
    layout, _ = layout_of(Host({"a": [None, 3, 4], "b": [None]}))
    assert (layout["url"], layout["end"], layout["whole_keys"]) == (None, 7, ["b"])
    assert layout["arrays"] == [{"path": None, "number": -1}]


def test_targets_are_unknown_until_they_are_checked(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(6))
    refs = raw_set(["f", 0, 4], ["f", 4, 4], ["http://h/g", 0, 4], shape=[6])
    (tmp_path / "refs.json").write_text(json.dumps(refs))
    host = Host(tmp_path / "refs.json")
    rows = later(host, "targets.rows", start=0, n=9)[0]["rows"]
    assert {row["state"] for row in rows} == {"unknown"}
    host.controller.handle({"id": "t:4", "op": "targets.check"})
    messages = [host.posted.get(timeout=30)[0]]
    while messages[-1].get("id") != "t:4" or "ev" in messages[-1]:
        messages.append(host.posted.get(timeout=30)[0])
    assert messages[-1]["grants"] == ["http://h"]
    assert host.controller.code == "refs.check_targets()"
    rows = later(host, "targets.rows", start=0, n=9)[0]["rows"]
    assert [(row["url"], row["state"], row["size"]) for row in rows] == [
        ("f", "short", 6),
        ("http://h/g", "not allowed", None),
    ]


@pytest.mark.parametrize("offset", [2**62 - 1])
def test_a_target_of_62_bits(offset: int) -> None:
    host = Host(raw_set(["a.bin", offset, 4], ["a.bin", 0, 4]))
    message, (edges, covered, *_) = later(host, "target.show", url="a.bin", window=None)
    assert message["layout"]["end"] == str(offset + 4)
    assert (message["layout"]["bytes"], covered.sum()) == (8, 8)
    assert np.isfinite(edges).all()
    message, _ = later(host, "target.show", url="a.bin", window=[offset, offset + 20])
    assert message["layout"]["end"] == str(offset + 4)
