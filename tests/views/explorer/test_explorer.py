from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.views.wire.requests import Buffers, Message
from tests.helpers.axes import axis, with_days
from tests.helpers.explorer import Host, later
from tests.helpers.servers import RangeServer, range_server
from tests.helpers.sets import DEMO, GEN, raw_set


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running


def test_the_first_look() -> None:
    hello = Host(DEMO / "sst.v0.json").ask("hello")
    assert hello["title"] == "sst.v0.json"
    assert hello["form"] == "V0"
    assert hello["facts"]["arrays"] == 8
    assert sum(hello["facts"]["kinds"].values()) == hello["facts"]["keys"]
    assert hello["notes"][0]["severity"] == "info"
    assert hello["note_count"] == len(hello["notes"])


def test_what_is_odd_in_coordinates_is_noted_and_marked() -> None:
    document = with_days([0, 1, 2, 3, *range(7, 30), 29, 30])
    host = Host(document)
    hello = host.ask("hello")
    report = rx.open_references(document).check()
    assert [(note["code"], note["message"]) for note in hello["notes"]] == [
        (found.code, found.message) for found in report.findings
    ]
    assert hello["severities"]["error"] == 1  # a day repeats
    marks = host.ask("tree.strips", array="x")["marks"]
    assert [(mark["axis"], mark["severity"], mark["places"], mark["count"]) for mark in marks] == [
        (0, "error", [27], 1),
        (0, "warning", [3.5], 1),
    ]
    assert "between 2020-01-04 and 2020-01-08 (elements 3 and 4)" in marks[1]["message"]
    item = host.ask("key.show", path="time/0")["item"]
    assert [note["code"] for note in item["notes"]] == ["axis-duplicate", "axis-gap"]


@pytest.mark.parametrize(
    ("name", "days", "marks"),
    [
        ("even", list(range(12)), []),
        ("many gaps", [day for day in range(2400) if day % 12 or day % 36 == 0], 100),
        ("not a number", [0, 1, 2, np.nan, 4, 5], [[3], [2.5]]),
        ("back", [0, 1, 2, 5, 4, 6, 7, 8, 9], [[3.5]]),
    ],
)
def test_marks_are_at_the_first_places(name: str, days: list[float], marks: Any) -> None:
    found = Host(with_days(days)).ask("tree.strips", array="x")["marks"]
    if name == "many gaps":
        (gaps,) = found
        assert len(gaps["places"]) == marks < gaps["count"]
    else:
        assert [mark["places"] for mark in found] == marks


def test_marks_are_those_of_the_nearest_coordinate() -> None:
    inside = {f"a/b/{key}": value for key, value in with_days([0, 1, 2, 3, 9, 10]).items()}
    above = axis([0, 1, 2, 2, 4, 5])
    host = Host({**above, **{k: v for k, v in inside.items() if "/time/" not in k}})
    assert [m["places"] for m in host.ask("tree.strips", array="a/b/x")["marks"]] == [[3]]
    host = Host({**above, **inside})
    assert [m["places"] for m in host.ask("tree.strips", array="a/b/x")["marks"]] == [[3.5]]


def test_a_trillion_keys_travel_as_text_where_numbers_would_be_rounded() -> None:
    dimensions = {axis: {"stop": 10**6} for axis in "ijk"}
    gen = {"key": "v/{{i}}.{{j}}.{{k}}", "url": "http://h", "dimensions": dimensions}
    host = Host({"version": 1, "gen": [gen]})
    assert host.ask("hello")["facts"]["keys"] == str(10**18)
    assert host.ask("tree.toggle", path="v", open=True) == {"total": str(10**18 + 1), "index": 0}


def test_rows_of_the_tree_and_of_a_search() -> None:
    host = Host(DEMO / "sst.v0.json")
    total = host.ask("tree.rows", start=0, n=3)["total"]
    reply = host.ask("tree.find", text="sst/*.0.1", mode="glob", kinds=["range"])
    assert reply == {"total": 9, "capped": False, "in_targets": 0, "unfinished": False}
    rows = host.ask("tree.rows", start=7, n=50)["rows"]
    assert [row["path"] for row in rows] == ["sst/7.0.1", "sst/8.0.1"]
    assert rows[0]["position"] == 8
    assert host.ask("tree.find", text="", mode="glob", kinds=[])["total"] == total
    kinds = host.ask("tree.find", text="", mode="glob", kinds=["url", "base64"])
    assert kinds["total"] == 4
    assert host.ask("tree.reveal", path="sst/0.0.0")["index"] > 0
    assert host.ask("tree.rows", start=0, n=1)["total"] > total


def test_a_search_without_end_gives_what_it_found_so_far() -> None:
    host = Host({"version": 1, "gen": [GEN], "refs": {"needle": "x"}})
    reply = host.ask("tree.find", text="needle", mode="substring", kinds=[])
    assert reply == {"total": 1, "capped": False, "in_targets": 0, "unfinished": True}
    assert host.ask("tree.rows", start=0, n=9)["rows"][0]["path"] == "needle"
    while reply["unfinished"]:
        reply, _ = later(host, "tree.more")
    assert reply == {"total": 1, "capped": True, "in_targets": 0, "unfinished": False}
    reply = host.ask("tree.find", text="v/", mode="substring", kinds=[])
    assert reply["unfinished"]
    first, (reply, _) = reply["total"], later(host, "tree.more")
    assert 0 < first < reply["total"]
    assert host.ask("tree.rows", start=reply["total"] - 1, n=9)["rows"]
    while reply["unfinished"]:
        reply, _ = later(host, "tree.more")
    assert (reply["total"], reply["capped"]) == (100_000, True)
    assert host.ask("tree.find", text="", mode="substring", kinds=[])["unfinished"] is False


def test_an_array_and_a_chunk_key() -> None:
    host = Host(DEMO / "sst.v0.json")
    item = host.ask("key.show", path="sst")["item"]
    assert item["type"] == "array"
    assert item["array"]["grid"] == [9, 1, 2]
    assert item["array"]["small"] is True
    assert item["code"] == "refs.to_zarr()['sst']"
    item = host.ask("key.show", path="sst/8.0.1")["item"]
    assert item["kind"] == "range"
    assert json.loads(item["raw"]) == [item["url"], item["offset"], item["length"]]
    assert item["resolved"] == str(DEMO / "sst_2025-09.nc")
    assert item["chunk"]["index"] == [8, 0, 1]
    assert host.controller.selection == "sst/8.0.1"
    assert host.controller.code == "refs['sst/8.0.1']"


def test_a_text_is_cut_and_its_length_said() -> None:
    item = Host({"a": "x" * 100_000}).ask("key.show", path="a")["item"]
    assert len(item["text"]) == 64 * 1024
    assert item["text_total"] == 100_000
    assert len(item["raw"]) <= 4096


def test_browsing_makes_no_request(server: RangeServer) -> None:
    host = Host(raw_set([f"{server.url}/f", 0, 4]), allow=[server.url])
    for op, fields in (
        ("hello", {}),
        ("tree.reveal", {"path": "x/0"}),
        ("tree.rows", {"start": 0, "n": 100}),
        ("key.show", {"path": "x"}),
        ("key.show", {"path": "x/0"}),
        ("tree.find", {"text": "x", "mode": "substring", "kinds": []}),
    ):
        assert "error" not in host.ask(op, **fields)
    assert server.requests == []


def test_reading_a_chunk_decodes_scale_and_missing_values() -> None:
    reading, values = Host(DEMO / "sst.v0.json").read("sst", [0, 0, 1])
    assert reading["state"] == "fetched"
    assert reading["units"] == "degree_Celsius"
    assert reading["shape"] == [2, 96, 96]
    assert len(values) == 2 * 96 * 96
    assert np.isnan(values).sum() == reading["missing"] > 0
    assert reading["minimum"] == np.nanmin(values)
    assert 0 < reading["maximum"] < 40
    assert [len(side["values"]) for side in reading["coordinates"]] == [2, 96, 96]


def test_reading_a_whole_array_says_how_far_it_is() -> None:
    host = Host(DEMO / "sst.v0.json")
    reading, values = host.read("sst", None)
    assert reading["chunks"] == {"fetched": 18, "fill": 0, "failed": 0}
    assert len(values) == 18 * 96 * 192
    assert host.events[-1] | {"label": ""} == {
        "ev": "progress",
        "id": "t:2",
        "done": 18,
        "of": 18,
        "label": "",
    }


def test_what_was_not_fetched_is_not_drawn_as_data(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\1\0\2\0")
    (tmp_path / "refs.json").write_text(json.dumps(raw_set(["f"], None, ["g"])))
    reading, values = Host(tmp_path / "refs.json").read("x", None)
    assert reading["chunks"] == {"fetched": 1, "fill": 1, "failed": 1}
    assert "x/2 could not be read" in reading["message"]
    np.testing.assert_array_equal(values, [1, 2, np.nan, np.nan, np.nan])


def test_reading_asks_first_and_the_grant_opens_it(server: RangeServer) -> None:
    server.files["/f"] = b"\1\0\2\0"
    host = Host(raw_set([f"{server.url}/f", 0, 4]))
    reading, _ = host.read("x", [0])
    assert reading["state"] == "ask"
    assert reading["grant"] == server.url
    assert server.requests == []
    assert host.ask("allow", grant=reading["grant"]) == {}
    assert set(host.controller.policy.granted) == {server.url}
    reading, values = host.read("x", [0])
    assert reading["state"] == "fetched"
    assert list(values) == [1, 2]
    shown = host.ask("key.show", path="x")["item"]
    assert shown["code"] == f"refs.allowing('{server.url}').to_zarr()['x']"


def test_a_place_that_no_grant_opens_fails(tmp_path: Path) -> None:
    reading, _ = Host(raw_set(["zip://a::http://h/z"])).read("x", [0])
    assert reading["state"] == "failed"
    assert reading["grant"] is None


def test_texts_and_chunks_without_a_reference() -> None:
    host = Host(raw_set("ab\u202ecd", dtype="|S3", fill_value=None))
    reading, values = host.read("x", [1])
    assert reading["state"] == "fill"
    assert values is None
    assert reading["texts"] == ["", ""]


def test_cells_of_a_big_chunk_are_means_and_say_so(tmp_path: Path) -> None:
    np.arange(3_000_000, dtype="<f4").tofile(tmp_path / "f")
    metadata = {"shape": [3_000_000], "chunks": [3_000_000], "dtype": "<f4"}
    (tmp_path / "refs.json").write_text(json.dumps(raw_set(["f"], **metadata)))
    reading, values = Host(tmp_path / "refs.json").read("x", [0])
    assert reading["shape"] == [1_000_000]
    assert list(values[:3]) == [1, 4, 7]
    assert reading["maximum"] == 2_999_999
    assert "the mean of 3 along x" in reading["message"]


def test_a_reading_can_be_stopped(server: RangeServer) -> None:
    host = Host(raw_set("abcd", "abcd", "abcd"))

    def stop_at_first(message: Message, buffers: Buffers) -> None:
        if message.get("ev") == "progress":
            host.events.append(message)
            host.controller.handle({"id": "t:3", "op": "cancel", "job": message["id"]})
        host.posted.put((message, buffers))

    host.controller.post = stop_at_first
    reading, _ = host.read("x", None)
    assert reading == {"id": "t:2", "error": "It was stopped."}
    assert host.events
    assert host.ask("cancel", job="unknown") == {}


@pytest.mark.parametrize(
    ("op", "fields", "error"),
    [
        ("nothing", {}, "There is no operation 'nothing'."),
        ("key.show", {"path": "no"}, "The set has nothing at 'no'."),
        ("tree.toggle", {"path": "no", "open": True}, "The set has nothing at 'no'."),
        ("tree.find", {"text": "(", "mode": "regex", "kinds": []}, "regular expression"),
        ("allow", {"grant": "s3://"}, "has no bucket"),
        ("tree.rows", {"start": "x", "n": 1}, "Expected `int`, got `str` - at `$.start`"),
        ("tree.rows", {"start": 0}, "missing required field `n`"),
        ("tree.rows", {"start": 0, "n": 1, "path": ""}, "unknown field `path`"),
    ],
)
def test_what_goes_wrong_is_one_sentence(op: str, fields: dict[str, Any], error: str) -> None:
    reply = Host({"a": "b"}).ask(op, **fields)
    assert error in reply["error"]
    assert "Traceback" not in reply["error"]


def test_reading_what_is_no_array_is_one_sentence() -> None:
    message, _ = Host({"a": "b"}).read("a", None)
    assert message["error"] == "There is no array at 'a'."


def test_of_very_many_attributes_the_first_are_reported() -> None:
    attributes = json.dumps({f"a{n}": n for n in range(10_000)})
    array = Host(raw_set("abcd") | {"x/.zattrs": attributes}).ask("key.show", path="x")["item"][
        "array"
    ]
    assert array["attributes"][:2] == [["a0", "0"], ["a1", "1"]]
    assert len(array["attributes"]) < array["attribute_count"] == 10_000


def test_the_page_of_the_code_of_each_note() -> None:
    host = Host(DEMO / "broken.json")
    for note in host.ask("hello")["notes"]:
        page = host.ask("notes.code", code=note["code"])["page"]
        assert (page["code"], page["meaning"]) == (note["code"], note["meaning"])
        assert page["cause"]
        assert page["mend"]
    assert "no-such" in host.ask("notes.code", code="no-such")["error"]


@pytest.mark.parametrize(
    ("dtype", "name"),
    [("<i2", "int16"), (">i2", "int16"), ("|u1", "uint8"), ("|b1", "bool"), ("|S2", "|S2")],
)
def test_a_data_type_has_one_name(dtype: str, name: str) -> None:
    chunk = "base64:" + base64.b64encode(np.zeros(4, dtype).tobytes()).decode()
    host = Host(raw_set(chunk, shape=[4], chunks=[4], dtype=dtype, fill_value=None))
    rows = host.ask("tree.rows", start=0, n=9)["rows"]
    assert [row["form"] for row in rows if row["path"] == "x"] == [f"4 {name}"]
    assert host.ask("key.show", path="x")["item"]["array"]["dtype"] == name
    reading, _ = host.read("x", None, slices=[":"])
    assert reading["dtype"] == name
    assert reading["value_type"] in (name, "")
    asked = {"start": 0, "n": 9, "sort": "path", "descending": False}
    (row,) = later(host, "health.rows", **asked)[0]["rows"]
    assert row["dtype"] == name
