from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.core.errors import AccessError, DecodeError
from refexplorer.core.limits import Limits
from refexplorer.io.access import AccessPolicy
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.reading.chunks import read_chunk
from refexplorer.io.reading.readings import ChunkState, Reading
from refexplorer.io.reading.selection import estimate_selection
from tests.helpers.servers import RangeServer
from tests.helpers.sets import DEMO, ZARRAY, raw_set


def targets(refs: rx.ReferenceSet, *allow: str) -> Targets:
    return Targets(AccessPolicy(refs.source.location, allow), None, refs.limits)


def chunk(refs: rx.ReferenceSet, index: tuple[int, ...], *allow: str) -> Reading:
    return read_chunk(refs, "x", index, targets(refs, *allow))


def test_a_chunk_of_a_netcdf_file() -> None:
    refs = rx.open_references(DEMO / "sst.v0.json")
    found = read_chunk(refs, "sst", (0, 0, 1), targets(refs))
    assert found.state is ChunkState.FETCHED
    assert found.values is not None
    assert found.values.shape == (2, 96, 96)
    assert found.values.dtype == "i2"


def test_the_last_chunk_is_cut_to_the_array(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(np.array([5, 6], "<i2").tobytes())
    refs = rx.open_references(raw_set(None, None, [f"{tmp_path}/f"]))
    found = chunk(refs, (2,), str(tmp_path))
    assert found.values is not None
    assert found.values.tolist() == [5]


def test_three_states_that_do_not_look_alike(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\1\0\2\0")
    refs = rx.open_references(raw_set([f"{tmp_path}/f"], None, [f"{tmp_path}/g"]))
    found = [chunk(refs, (index,), str(tmp_path)) for index in range(3)]
    assert [each.state for each in found] == [
        ChunkState.FETCHED,
        ChunkState.FILL,
        ChunkState.FAILED,
    ]
    values = [None if each.values is None else each.values.tolist() for each in found]
    assert values == [[1, 2], [-1, -1], None]
    assert "x/2 could not be read" in (found[2].message or "")


def test_a_chunk_that_does_not_decode_names_its_key() -> None:
    refs = rx.open_references(raw_set("not zlib", compressor={"id": "zlib", "level": 1}))
    found = chunk(refs, (0,))
    assert found.state is ChunkState.FAILED
    assert found.message is not None
    assert found.message.startswith("x/0 could not be decoded: ")


def test_reading_asks_before_it_touches_a_target(server: RangeServer) -> None:
    refs = rx.open_references(raw_set([f"{server.url}/f", 0, 4]))
    with pytest.raises(AccessError):
        chunk(refs, (0,))
    assert server.requests == []


def test_what_would_eat_the_machine_is_refused_by_arithmetic(server: RangeServer) -> None:
    huge = raw_set([f"{server.url}/f"], shape=[10**12], chunks=[10**12], dtype="<f8")
    found = chunk(rx.open_references(huge), (0,), server.url)
    assert found.state is ChunkState.FAILED
    assert "8.00 TB" in (found.message or "")
    wide = raw_set([f"{server.url}/f"], dtype="|V1000000000")
    assert "`Limits.itemsize`" in (chunk(rx.open_references(wide), (0,), server.url).message or "")
    small = rx.open_references(raw_set("ab"), limits=Limits(chunk_bytes=3))
    assert "`Limits.chunk_bytes`" in (chunk(small, (0,)).message or "")
    assert server.requests == []


def test_an_index_outside_the_grid_is_no_chunk() -> None:
    refs = rx.open_references(raw_set())
    for index in ((3,), (-1,), (0, 0)):
        with pytest.raises(DecodeError, match="has no chunk"):
            chunk(refs, index)


def test_a_chunk_of_an_array_without_dimensions() -> None:
    scalar = {"y/.zarray": json.dumps(ZARRAY | {"shape": [], "chunks": []}), "y/0": "ab"}
    refs = rx.open_references(scalar)
    found = read_chunk(refs, "y", (), targets(refs))
    assert found.values is not None
    assert found.values.shape == ()


@pytest.mark.parametrize(
    ("chunks", "label"),
    [
        ([["air.nc", 0, 57_288]], "Read 57.3 kB from air.nc"),
        ([["s3://era5/a/b.nc", 0, 4]], "Read 4 B from s3://era5"),
        ([["a.nc", 0, 4], ["b.nc", 0, 4]], "Read 8 B from 2 files"),
        ([["a.nc", 0, 4], ["a.nc"]], "Read 4 B and more from a.nc"),
        ([["a.nc"]], "Read all of a.nc"),
        ([["a.nc"], ["b.nc"]], "Read all 2 files"),
        (["abcd"], "Decode 4 B stored in the set"),
        ([], "Show the fill value: the chunk has no reference"),
    ],
)
def test_the_estimate_says_what_a_read_costs(chunks: list[Any], label: str) -> None:
    refs = rx.open_references(raw_set(*chunks))
    found = estimate_selection(refs, refs.array("x"))
    assert found.label == label
    assert found.requests == sum(isinstance(each, list) for each in chunks)
