"""What the map of chunks is told of another set: changes cell by cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer import demo
from refexplorer.refset.moves import CHANGES
from refexplorer.views.maps.chunk_map import WORDS, changes_in_cells
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
    assert changes(Host(edited()), grid) == ({"changes": None}, [])


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
