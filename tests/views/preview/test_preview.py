from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.helpers.explorer import Host, later, show
from tests.helpers.servers import RangeServer, range_server
from tests.helpers.sets import DEMO, ZARRAY, raw_set


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running


def read(host: Host, array: str, *slices: str, **fields: Any) -> tuple[Any, Any]:
    """Ask for a part and wait for it."""
    return host.read(array, None, slices=list(slices), **fields)


def test_a_part_is_what_zarr_reads() -> None:
    host = Host(DEMO / "sst.v0.json")
    reading, values = read(host, "sst", "3", "10:90:7", "::5", scale=False)
    group: Any = host.controller.references.to_zarr()
    expected = group["sst"][3, 10:90:7, ::5]
    assert reading["slices"] == ["3", "10:90:7", "::5"]
    assert reading["region"][1][::2] == [10, 7]
    np.testing.assert_array_equal(values, expected.ravel())
    assert host.controller.code == "refs.to_zarr()['sst'][3, 10:90:7, ::5]"


def test_scale_and_missing_values_can_be_left_aside() -> None:
    host = Host(DEMO / "sst.v0.json")
    meant, _ = read(host, "sst", "0", ":", ":")
    raw, _ = read(host, "sst", "0", ":", ":", scale=False)
    assert meant["missing"] > 0
    assert raw["missing"] == 0
    assert raw["minimum"] == -32768


def masked_by_zero() -> Host:
    metadata = {
        "zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "|i1", "compressor": None,
        "filters": None, "order": "C", "fill_value": 0,
    }  # fmt: skip
    names = {"_ARRAY_DIMENSIONS": ["t"], "_FillValue": 7}
    return Host({".zgroup": {"zarr_format": 2}, "x/.zarray": metadata, "x/.zattrs": names,
                 "x/0": "\0\1\7\2"})  # fmt: skip


def test_the_reason_for_a_value_is_that_of_the_set() -> None:
    host = masked_by_zero()
    for index in ([0], [2]):
        found = host.controller.references.why("x", index)
        answer, _ = later(host, "value.why", array="x", index=index)
        assert answer["sentence"] == found.sentence
        assert [(step["name"], step["text"]) for step in answer["steps"]] == [
            (step.name, step.text) for step in found.steps
        ]
    answer, _ = later(host, "value.why", array="x", index=[4])
    assert "x has no element [4]" in answer["error"]


def test_missing_values_are_those_of_xarray_where_attributes_disagree() -> None:
    host = masked_by_zero()
    _, values = read(host, "x", ":")
    expected = host.controller.references.to_xarray()["x"].values
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(expected, [np.nan, 1, 7, 2])


def test_times_are_times_where_that_is_asked() -> None:
    host = Host(DEMO / "sst.v0.json")
    reading, values = read(host, "time", ":")
    assert reading["times"]
    assert np.datetime64(int(values[0]), "ms") == np.datetime64("2025-07-03")
    assert read(host, "time", ":", times=False)[0]["times"] is False
    coordinate = read(host, "sst", ":", "0", "0")[0]["coordinates"][0]
    assert coordinate["times"]
    assert coordinate["values"][0] == values[0]


def test_the_cost_is_said_first_and_nothing_is_read_twice(server: RangeServer) -> None:
    server.files["/f"] = bytes(range(12))
    refs = raw_set(*([f"{server.url}/f", 4 * n, 4] for n in range(3)), shape=[6])
    host = Host(refs, allow=[server.url])
    plan = host.ask("slice.plan", array="x", slices=["2:"])["plan"]
    assert plan["chunk_count"] == 2
    assert plan["estimate"]["bytes"] == 8
    assert server.requests == []
    read(host, "x", "2:")
    asked = len(server.requests)
    assert asked >= 1
    plan = host.ask("slice.plan", array="x", slices=["3:5"])["plan"]
    assert plan["estimate"]["requests"] == 0
    _, values = read(host, "x", "3:5")
    assert list(values) == [6 + 7 * 256, 8 + 9 * 256]
    assert len(server.requests) == asked


def test_what_failed_is_marked_in_the_reading_and_on_the_map(server: RangeServer) -> None:
    server.files["/f"] = b"\1\0\2\0"
    refs = raw_set([f"{server.url}/f", 0, 4], [f"{server.url}/nothing", 0, 4], shape=[6])
    host = Host(refs, allow=[server.url])
    reading, values = read(host, "x", ":")
    assert reading["lost"] == [
        {"index": [1], "count": 1, "state": "failed"},
        {"index": [2], "count": 1, "state": "fill"},
    ]
    np.testing.assert_array_equal(values, [1, 2, *[np.nan] * 4])
    grid, (counts, *_) = show(host, "x")
    assert dict(zip(grid["states"], grid["counts"], strict=True)) | {"absent": 1, "failed": 1} == {
        "absent": 1, "inline": 0, "base64": 0, "url": 0, "range": 1, "failed": 1,
    }  # fmt: skip
    assert counts.sum() == 3


def test_a_part_that_cannot_be_is_one_sentence() -> None:
    host = Host(DEMO / "sst.v0.json")
    error = host.ask("slice.plan", array="sst", slices=["99", ":", ":"])["error"]
    assert error == "time: 99 selects nothing from 0 to 17."


def test_the_overview_is_of_metadata_alone(server: RangeServer) -> None:
    refs = raw_set([f"{server.url}/f", 0, 4], [f"{server.url}/f", 4, 4])
    host = Host(refs, allow=[server.url])
    assert host.controller.handle({"id": "t:9", "op": "overview"}) == []
    reply, _ = host.answer()
    assert "xarray.Dataset" in reply["html"]
    assert server.requests == []


def test_the_overview_has_the_types_of_times_that_xarray_decodes() -> None:
    host = Host(DEMO / "sst.v0.json")
    host.controller.handle({"id": "t:9", "op": "overview"})
    dtype = host.controller.references.allowing(str(DEMO)).to_xarray()["time"].dtype
    cells = r"xr-var-dtype'>([^<]*)</div><div class='xr-var-preview[^>]*>([^<]*)<"
    assert (str(dtype), "...") in re.findall(cells, host.answer()[0]["html"])


def test_attributes_cannot_leave_the_overview_as_html() -> None:
    attributes = {"_ARRAY_DIMENSIONS": ["x"], "a": "<script>alert(1)</script>"}
    refs = raw_set("abcd") | {"x/.zattrs": json.dumps(attributes)}
    host = Host(refs)
    host.controller.handle({"id": "t:9", "op": "overview"})
    assert "<script>" not in host.answer()[0]["html"]


def test_absent_chunks_are_rows_of_what_is_wrong() -> None:
    host = Host(raw_set("abcd", shape=[6]))
    total = host.ask("tree.toggle", path="x", open=True)["total"]
    assert later(host, "tree.only", what="trouble")[0]["total"] == 3  # the array and its two
    rows = host.ask("tree.rows", start=0, n=50)["rows"]
    absent = [row for row in rows if row["origin"] == "absent"]
    assert [row["path"] for row in absent] == ["x/1", "x/2"]
    assert host.ask("tree.reveal", path="x/2")["index"] == rows.index(absent[1])
    item = host.ask("key.show", path="x/2")["item"]
    assert (item["kind"], item["chunk"]["index"]) == (None, [2])
    assert later(host, "tree.only", what=None)[0]["total"] == total


def test_overview_and_reading_may_begin_together() -> None:
    code = (
        "from tests.helpers.explorer import Host\n"
        "from tests.helpers.sets import DEMO\n"
        "host = Host(DEMO / 'sst.v0.json')\n"
        "host.controller.handle({'id': 't:1', 'op': 'overview'})\n"
        "host.controller.handle({'id': 't:2', 'op': 'chunk.read', 'array': 'sst', 'index': None})\n"
        "replies = {}\n"
        "while len(replies) < 2:\n"
        "    message, _ = host.posted.get(timeout=60)\n"
        "    if 'ev' not in message: replies[message['id']] = message\n"
        "assert replies['t:1']['html'] and replies['t:2']['reading']['state'] == 'fetched'\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_arrays_without_dimensions_and_without_elements() -> None:
    scalar = {"y/.zarray": json.dumps(ZARRAY | {"shape": [], "chunks": []}), "y/0": "ab"}
    empty = {"z/.zarray": json.dumps(ZARRAY | {"shape": [0]})}
    host = Host(scalar | empty)
    for array, count in (("y", 1), ("z", 0)):
        reading, values = host.read(array, None)
        assert reading["chunks"] == {"fetched": count, "fill": 0, "failed": 0}
        assert len(values) == count


@pytest.mark.parametrize("shape", [[10**19], [10**20]])
def test_a_part_longer_than_64_bits_is_planned_and_refused_in_words(shape: list[int]) -> None:
    host = Host(raw_set("ab", shape=shape, chunks=[10**19]))
    for part in ({"slices": [":"]}, {"index": [0]}):
        plan = host.ask("slice.plan", array="x", **part)["plan"]
        assert plan["shape"][0] in (str(10**19), str(10**20))
    for index in (None, [0]):
        reading, values = host.read("x", index)
        assert (reading["state"], values) == ("failed", None)
        assert "`Limits.chunk_bytes`" in reading["message"]


def test_a_part_without_values_that_is_too_long() -> None:
    host = Host(raw_set(shape=[10**19, 0], chunks=[1, 1]))
    reading, _ = host.read("x", None)
    assert "This part is empty" in reading["message"]
