"""The view of costs: the numbers of `refs.advise`, places by sliders, shaded chunks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.checks.advice.accesses import part_of
from refexplorer.views.cost import CELLS, adjusted_connection, touches
from tests.helpers.explorer import Host, later


def shown(host: Host, **asked: Any) -> Any:
    return later(host, "cost.show", **asked)[0]


@pytest.fixture
def host(demo: Path) -> Host:
    return Host(demo / "sst.v1.json")


def test_bars_and_findings_are_those_of_the_advice(host: Host) -> None:
    found = shown(host, array="wind", place="lustre")
    advice = host.controller.references.advise(place="lustre")
    costs = [*advice.opening, *(each for each in advice.accesses if each.path == "wind")]
    assert [bar["name"] for bar in found["bars"]] == [cost.name for cost in costs]
    for bar, cost in zip(found["bars"], costs, strict=True):
        assert (bar["chunks"], bar["used"], bar["decoded"]) == (
            cost.chunks,
            cost.used,
            cost.decoded,
        )
        for told, reader in zip(bar["readers"], cost.readers, strict=True):
            assert (told["requests"], told["bytes"]) == (reader.requests, reader.bytes)
            assert told["seconds"] == pytest.approx(reader.seconds)
    assert [each["remedy"] for each in found["findings"]] == [
        each.remedy for each in advice.findings
    ]
    assert found["finding_count"] == len(advice.findings)


def test_sliders_are_the_place_that_is_asked_for(host: Host) -> None:
    slow = shown(host, array="sst", latency=1.25)
    assert slow["place"]["latency"] == 1.25
    quick = shown(host, array="sst", latency=0.0, bandwidth=2.5e9)
    assert (quick["place"]["bandwidth"], quick["place"]["stream"]) == (2.5e9, 180e6)
    times = [
        next(bar for bar in found["bars"] if bar["name"] == "all of it")["readers"][0]["seconds"]
        for found in (slow, quick)
    ]
    assert times[0] > 1 > times[1]
    for wrong in ({"latency": -1.0}, {"bandwidth": 0.0}, {"place": "moon"}):
        assert "error" in shown(host, **wrong)


def test_reads_that_are_reported_give_the_time(host: Host) -> None:
    """By the formula that the front end has, too."""
    found = shown(host, array="sst", given="0:9:2", place="http-server")
    at_once = {rules["name"]: rules["at_once"] for rules in found["readers"]}
    for bar in found["bars"]:
        for reader in bar["readers"]:
            place = adjusted_connection("http-server", None, None)
            most, total = at_once[reader["reader"]], 0.0
            for requests, size, largest in reader["reads"]:
                total += place.seconds(requests, size, largest, most)
            assert total == pytest.approx(reader["seconds"])


def test_another_access_is_a_bar_of_its_own(host: Host) -> None:
    bar = shown(host, array="sst", given="0, 0:3")["bars"][-1]
    part: list[int | slice] = [0, slice(0, 3)]
    cost = host.controller.references.advise({"sst": part}).accesses
    (expected,) = [each for each in cost if each.name == "as given"]
    assert (bar["name"], bar["selection"]) == ("as given", expected.selection)
    assert bar["readers"][0]["requests"] == expected.readers[0].requests


@pytest.mark.parametrize("given", ["x", "0,0,0,0", "time=2", "99"])
def test_what_is_no_access_is_said_in_a_sentence(host: Host, given: str) -> None:
    found = shown(host, array="sst", given=given)
    assert found["error"]
    assert "Traceback" not in found["error"]


def array_of(shape: list[int], chunks: list[int]) -> Any:
    metadata = {"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": "<i4", "order": "C",
                "compressor": None, "filters": None, "fill_value": 0}  # fmt: skip
    names = json.dumps({"_ARRAY_DIMENSIONS": list("abcd")[: len(shape)]})
    keys = {"x/.zarray": json.dumps(metadata), "x/.zattrs": names}
    return rx.open_references(keys).array("x")


@pytest.mark.parametrize("seed", range(20))
def test_touches_are_counted_as_each_chunk_by_itself(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    shape, chunks = rng.integers(1, 30, rank).tolist(), rng.integers(1, 9, rank).tolist()
    array = array_of(shape, chunks)
    steps = rng.integers(1, 12, rank).tolist()
    part = part_of(
        array,
        [slice(int(rng.integers(0, n)), None, step) for n, step in zip(shape, steps, strict=True)],
    )
    indices = np.array(list(np.ndindex(*array.grid)), np.int64)
    counted = np.zeros(array.grid)
    np.add.at(counted, tuple(indices[part.select(indices)[0]].T), 1)
    axes, cells, _ = touches(part)
    others = tuple(axis for axis in range(rank) if axis not in axes)
    np.testing.assert_allclose(cells.squeeze(), counted.mean(axis=others).squeeze())


def test_a_grid_of_a_million_million_chunks_is_a_small_map() -> None:
    array = array_of([10**6, 10**6], [1, 1])
    axes, cells, _ = touches(part_of(array, (0,)))
    assert axes == (0, 1)
    assert cells.shape == (CELLS, CELLS)
    assert cells[0, 0] == pytest.approx(1 / -(-(10**6) // CELLS))
    assert not cells[1:].any()
    np.testing.assert_allclose(touches(part_of(array, ()))[1], 1)
    with pytest.raises(rx.RefexplorerError, match="too many to draw"):
        touches(part_of(array_of([10**9], [1]), ()))


def test_chunks_are_shaded_by_the_access_that_is_asked_for(host: Host) -> None:
    found, (cells,) = later(host, "cost.touches", array="sst", access="one map")
    assert (found["rows"], found["columns"], found["axes"]) == (9, 2, [0, 2])
    assert np.flatnonzero(cells).tolist() == [0, 1]
    found, (cells,) = later(host, "cost.touches", array="sst", access="as given", given="4::5")
    # times 4, 9 and 14 are in chunks 2, 4 and 7
    assert cells.reshape(9, 2)[:, 0].tolist() == [0, 0, 1, 0, 1, 0, 0, 1, 0]
    assert found["most"] == 1
    found, (part,) = later(
        host, "cost.touches", array="sst", access="as given", given="4::5", axes=[2, 0],
        window=[[1, 4], [0, 1], [0, 2]],
    )  # fmt: skip
    assert (found["rows"], found["columns"], found["steps"]) == (2, 3, [1, 1])
    assert part.reshape(2, 3).T.tolist() == cells.reshape(9, 2)[1:4].tolist()
    for odd in ({"axes": [3]}, {"window": [[0, 99], [0, 1], [0, 2]]}):
        assert "error" in later(host, "cost.touches", array="sst", access="one map", **odd)[0]
    assert "error" in later(host, "cost.touches", array="sst", access="nothing")[0]
    assert "error" in later(host, "cost.touches", array="nosuch", access="one map")[0]


def test_a_set_without_arrays_has_no_bars() -> None:
    found = shown(Host({"a": ["s3://b/f", 0, 10]}))
    assert (found["array"], found["bars"]) == (None, [])
