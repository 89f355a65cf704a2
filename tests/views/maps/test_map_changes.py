"""What the map of chunks is told of another set: changes cell by cell, the summary, the rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer import demo
from refexplorer.refset.differences.comparing import CHANGES
from refexplorer.views.maps.map_changes import WORDS, changes_in_cells
from tests.helpers.explorer import Host, later, show

BEFORE = rx.open_references(demo.path("sst.v0.json"))


def edited() -> dict[str, Any]:
    """The demo with one chunk changed in each way."""
    v0: dict[str, Any] = dict(BEFORE.to_v0())
    changed = dict(v0)
    url, offset, length = v0["sst/1.0.0"]
    del changed["sst/0.0.0"]
    changed["sst/1.0.0"] = ["other.nc", offset, length]
    changed["sst/2.0.0"] = [url, offset + 8, length]
    changed["sst/3.0.0"] = [*v0["sst/3.0.0"][:2], length - 5]
    changed["sst/4.0.0"] = "text"
    return changed


def changes(host: Host, grid: dict[str, Any]) -> tuple[Any, list[Any]]:
    asked = {name: grid[name] for name in ("array", "axes", "window", "steps")}
    return later(host, "changes.show", **asked)


def test_each_cell_says_what_became_of_it() -> None:
    host = Host(edited(), compare=BEFORE)
    grid, _ = show(host, "sst", axes=[0], window=[[0, 9], [0, 1], [0, 1]])
    message, (cells,) = changes(host, grid)
    found = message["changes"]
    names = [kind["name"] for kind in found["kinds"]]
    by_cell = [names[kind] for kind in cells.reshape(len(names), 9).argmax(axis=0)]
    assert by_cell[:4] == ["removed", "moved", "shifted", "resized"]
    assert by_cell[4] in ("content", "inlined")
    assert by_cell[5:] == ["same"] * 4
    assert {kind["name"]: kind["keys"] for kind in found["kinds"]}["removed"] == 1
    assert found["rows"][0]["key"] == "sst/0.0.0"
    assert found["more"] == 0
    assert "sst.v0.json → dict" in found["title"]


def test_nothing_is_compared_until_a_set_is_named(tmp_path: Path) -> None:
    host = Host(demo.path("sst.v0.json"))
    grid, _ = show(host, "sst")
    assert changes(host, grid) == ({"comparable": True, "changes": None}, [])
    assert "no.json" in later(host, "changes.with", source=str(tmp_path / "no.json"))[0]["error"]
    path = tmp_path / "before.json"
    path.write_text(json.dumps(edited()))
    assert later(host, "changes.with", source=str(path)) == ({}, [])
    message, _ = changes(host, grid)
    assert message["changes"]["title"].startswith("before.json")
    later(host, "changes.with", source="")
    assert changes(host, grid)[0]["changes"] is None


def test_visitors_of_a_page_name_no_files() -> None:
    host = Host(BEFORE, served=True)
    assert "not allowed here" in later(host, "changes.with", source="/etc/hostname")[0]["error"]


def test_a_widget_keeps_its_comparison_for_a_saved_notebook() -> None:
    widget = rx.ChunkGrid(edited(), compare=demo.path("sst.v0.json"), selection="sst")
    html = widget._snapshot()[0]
    assert "5 keys differ" in html
    assert "other.nc" in html


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_cells_count_what_a_loop_counts(rank: int) -> None:
    shape, step = (7, 5, 3)[:rank], 2
    grid = np.random.default_rng(3).integers(-1, len(CHANGES), shape).astype(np.int8)
    window = [(1, size) for size in shape]
    axes = [rank - 1, 0][: max(1, min(2, rank - 1))] if rank > 1 else [0]
    counts = changes_in_cells(grid, window, axes, [step] * len(axes), range(len(CHANGES)))
    expected = np.zeros_like(counts)
    for index in np.ndindex(*shape):
        if min(index) >= 1 and grid[index] >= 0:
            place = [(index[axis] - 1) // step for axis in axes]
            expected[(grid[index], *[0] * (2 - len(axes)), *place)] += 1
    assert counts.tolist() == expected.tolist()


def test_each_change_has_words() -> None:
    assert list(WORDS) == list(CHANGES)
