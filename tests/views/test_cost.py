"""The view of costs: the numbers of `refs.advise`, places by sliders, shaded chunks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.checks.advice.selections import TasksOfArray, part_of, tasks_of
from refexplorer.views.cost import CELLS, adjusted_connection, touches
from tests.helpers.explorer import Host, later
from tests.helpers.servers import range_server


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


def test_reads_that_are_told_give_the_time(host: Host) -> None:
    """By the formula that the front end has, too."""
    found = shown(host, array="sst", given="time=2", place="http-server")
    at_once = {rules["name"]: rules["at_once"] for rules in found["readers"]}
    for bar in found["bars"]:
        for reader in bar["readers"]:
            place = adjusted_connection("http-server", None, None, None)
            columns = [np.array(column, float) for column in zip(*reader["reads"], strict=True)]
            if columns:
                seconds = place.seconds(
                    columns[0], columns[1], columns[2], at_once[reader["reader"]]
                )
                assert seconds == pytest.approx(reader["seconds"])


@pytest.mark.parametrize("given", ["0, 0:3", "time=2"])
def test_another_access_is_a_bar_of_its_own(host: Host, given: str) -> None:
    bar = shown(host, array="sst", given=given)["bars"][-1]
    part: Any = [0, slice(0, 3)] if given[0] == "0" else {"time": 2}
    cost = host.controller.references.advise({"sst": part}).accesses
    (expected,) = [each for each in cost if each.name == "as given"]
    assert (bar["name"], bar["selection"]) == ("as given", expected.selection)
    assert bar["readers"][0]["requests"] == expected.readers[0].requests


@pytest.mark.parametrize("given", ["x", "0,0,0,0", "lat=a", "nosuch=1", "time=0", "99"])
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
    if seed % 2:
        part: Any = tasks_of(array, {name: int(rng.integers(1, 12)) for name in "abcd"[:rank]})
    else:
        part = part_of(array, [slice(int(rng.integers(0, n)), None, 2) for n in shape])
    indices = np.array(list(np.ndindex(*array.grid)), np.int64)
    counted = np.zeros(array.grid)
    np.add.at(counted, tuple(indices[part.select(indices).rows].T), 1)
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
    tasks = tasks_of(array, {"a": 10**6, "b": 1})
    assert isinstance(tasks, TasksOfArray)
    np.testing.assert_allclose(touches(tasks)[1], 1)
    with pytest.raises(rx.RefexplorerError, match="not drawn"):
        touches(part_of(array_of([10**9], [1]), ()))


def test_chunks_are_shaded_by_the_access_that_is_asked_for(host: Host) -> None:
    found, (cells,) = later(host, "cost.touches", array="sst", access="one map")
    assert (found["rows"], found["columns"], found["axes"]) == (9, 2, [0, 2])
    assert np.flatnonzero(cells).tolist() == [0, 1]
    found, (cells,) = later(host, "cost.touches", array="sst", access="as given", given="time=5")
    # times 4 and 5 are in one chunk, and in two tasks
    assert cells.reshape(9, 2)[:, 0].tolist() == [1, 1, 2, 1, 1, 1, 1, 2, 1]
    assert found["most"] == 2
    found, (part,) = later(
        host, "cost.touches", array="sst", access="as given", given="time=5", axes=[2, 0],
        window=[[1, 4], [0, 1], [0, 2]],
    )  # fmt: skip
    assert (found["rows"], found["columns"], found["steps"]) == (2, 3, [1, 1])
    assert part.reshape(2, 3).T.tolist() == cells.reshape(9, 2)[1:4].tolist()
    for odd in ({"axes": [3]}, {"window": [[0, 99], [0, 1], [0, 2]]}):
        assert "error" in later(host, "cost.touches", array="sst", access="one map", **odd)[0]
    assert "error" in later(host, "cost.touches", array="sst", access="nothing")[0]
    assert "error" in later(host, "cost.touches", array="nosuch", access="one map")[0]


def test_tasks_beyond_counting_are_refused_while_somebody_waits() -> None:
    metadata = {"zarr_format": 2, "shape": [10**4, 10**4], "chunks": [10, 10], "dtype": "<i4",
                "order": "C", "compressor": None, "filters": None, "fill_value": 0}  # fmt: skip
    names = json.dumps({"_ARRAY_DIMENSIONS": ["a", "b"]})
    host = Host({"x/.zarray": json.dumps(metadata), "x/.zattrs": names})
    assert "refs.advise" in shown(host, array="x", given="a=1, b=5")["error"]


def test_a_set_without_arrays_has_no_bars() -> None:
    found = shown(Host({"a": ["s3://b/f", 0, 10]}))
    assert (found["array"], found["bars"]) == (None, [])


def test_a_host_is_measured_when_it_may_be_read() -> None:
    with range_server() as server:
        server.files["/f"] = bytes(200_000)
        refs: dict[str, Any] = {
            "x/0": [f"{server.url}/f", 0, 10],
            "x/1": [f"{server.url}/f", 100, 150_000],
        }
        metadata = {"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "|u1", "order": "C",
                    "compressor": {"id": "zlib"}, "filters": None, "fill_value": 0}  # fmt: skip
        host = Host(refs | {"x/.zarray": json.dumps(metadata)})
        asked, _ = later(host, "cost.measure", place="lustre")
        assert (asked["place"], asked["grant"]) == (None, server.url)
        assert server.requests == []
        host.ask("allow", grant=asked["grant"])
        found, _ = later(host, "cost.measure", place="lustre")
        assert 0 < len(server.requests) <= 15
    place = found["place"]
    assert place["latency"] > 0
    assert place["bandwidth"] >= place["stream"] > 0
    assert found["asked"].startswith("Measured by 9 requests for one byte of http://127.0.0.1")
    assert host.controller.code == (
        f"refs.allowing('{server.url}').advise(measure=True, place='lustre')"
    )
    numbers = {name: place[name] for name in ("latency", "bandwidth", "stream")}
    again = shown(host, array="x", place="lustre", **numbers)["place"]
    assert {name: again[name] for name in numbers} == numbers


def test_a_served_page_measures_no_host_of_the_network() -> None:
    with range_server() as server:
        host = Host(
            {"x/.zarray": json.dumps({"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|u1",
                                      "order": "C", "compressor": None, "filters": None,
                                      "fill_value": 0}),
             "x/0": [f"{server.url}/f", 0, 1]},
            served=True,
        )  # fmt: skip
        assert "error" in host.ask("allow", grant=server.url)
        found, _ = later(host, "cost.measure")
        assert (found["place"], server.requests) == (None, [])


def test_what_cannot_be_measured_is_said(host: Host) -> None:
    assert "is not a known place" in later(host, "cost.measure", place="moon")[0]["error"]
    alone = Host({"x/0": "base64:AAAA"})
    assert "no byte range" in later(alone, "cost.measure")[0]["error"]
