"""A large set is there at once; what takes long comes later, and can be stopped."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

import refexplorer as rx
from refexplorer.views.static_html import explorer_html
from refexplorer.views.wire.context import SOON
from tests.helpers.explorer import Host
from tests.helpers.servers import range_server
from tests.helpers.sets import raw_set


@pytest.fixture(scope="module")
def large() -> rx.ReferenceSet:
    """A set with something odd, and too many keys to look for it at once."""
    references = {f"x/{n}": ["f.nc", n, 1] for n in range(SOON)}
    return rx.open_references({**references, "../odd": "text"})


def test_notes_of_a_large_set_come_when_they_are_asked_for(large: rx.ReferenceSet) -> None:
    host = Host(large)
    hello = host.ask("hello")
    assert hello["facts"]["keys"] == SOON + 1
    assert hello["notes"] is None
    assert hello["note_count"] is None
    assert host.ask("key.show", path="../odd")["item"]["notes"] is None
    assert "not checked for errors yet" in explorer_html(host.controller)
    assert host.controller.handle({"id": "t:7", "op": "notes"}) == []
    answer, _ = host.answer()
    assert answer["id"] == "t:7"
    assert answer["note_count"] >= 1
    assert [event["ev"] for event in host.events] == ["progress"]
    assert host.ask("hello")["notes"] == answer["notes"]
    assert host.ask("key.show", path="../odd")["item"]["notes"]


def test_what_waits_for_its_turn_can_be_stopped() -> None:
    host = Host(raw_set("abcd", "abcd"))
    first_may_end = threading.Event()

    def slow(path: str) -> str:
        assert first_may_end.wait(30)
        return "slow"

    operation = replace(host.controller.answers["key.code"][0], in_turn=True)
    host.controller.answers = {
        **host.controller.answers,
        "key.code": (operation, slow),
    }
    host.controller.handle({"id": "t:1", "op": "key.code", "path": "x/0"})
    host.controller.handle({"id": "t:2", "op": "grid.show", "array": "x"})
    host.controller.handle({"id": "t:3", "op": "cancel", "job": "t:2"})
    assert host.answer()[0] == {"id": "t:2", "error": "It was stopped."}
    first_may_end.set()
    assert host.answer()[0] == {"id": "t:1", "code": "slow"}


def slowed(host: Host) -> threading.Event:
    """Make readings wait for an event."""
    may_read = threading.Event()
    read, do = host.controller.answers["chunk.read"]

    def slow(**fields: object) -> object:
        assert may_read.wait(30)
        return do(**fields)

    host.controller.answers = {**host.controller.answers, "chunk.read": (read, slow)}
    return may_read


def test_a_job_that_waited_does_not_replace_the_code_of_what_was_done_since() -> None:
    host = Host(raw_set("abcd", "abcd"))
    first_may_end = slowed(host)
    host.controller.handle({"id": "t:5", "op": "chunk.read", "array": "x"})
    code = host.ask("key.show", path="x/0")["item"]["code"]
    first_may_end.set()
    assert "reading" in host.answer()[0]
    assert host.controller.code == code
    host.read("x", [0])
    assert host.controller.code != code


@pytest.mark.parametrize("is_late", [False, True], ids=["read before", "read after"])
def test_the_code_of_a_first_picture_stays_when_its_array_is_selected_after_it(
    is_late: bool,
) -> None:
    host = Host(raw_set("abcd", "abcd"))
    may_read = slowed(host)
    host.controller.handle({"id": "t:5", "op": "chunk.read", "array": "x", "first": True})
    if is_late:
        assert host.ask("key.show", path="x")["item"]["code"] == host.controller.code
    may_read.set()
    assert "reading" in host.answer()[0]
    if not is_late:
        host.ask("key.show", path="x")
    assert host.controller.code == "refs.to_zarr()['x'][:]"
    host.ask("key.show", path="x/0")
    assert host.controller.code == "refs['x/0']"


def test_what_failed_in_one_view_is_marked_in_the_others() -> None:
    with range_server() as server:
        refs = rx.open_references(raw_set("abcd", [f"{server.url}/nothing", 0, 4]))
        reads, maps = Host(refs, allow=[server.url]), Host(refs)
        reads.read("x", None)
    assert maps.posted.get(timeout=30)[0] == {"ev": "failures", "array": "x"}
    for host, failed in ((maps, 1), (Host(refs, served=True), 0)):
        host.controller.handle(
            {"id": "t:4", "op": "grid.show", "array": "x", "axes": None, "window": None}
        )
        grid = host.answer()[0]["map"]
        assert grid["states"][-1] == "failed"
        assert grid["counts"][-1] == failed


def test_notes_lead_to_what_is_nearest() -> None:
    dimensions = {"i": {"stop": 3}}
    gen = {"key": "v/{{i}}", "url": "f", "unknown": 1}
    refs = {"a/b": ["f", -1, 2], "a/c": "x"}
    document = {"version": 1, "refs": refs, "gen": [{**gen, "dimensions": dimensions}]}
    notes = {note["pointer"]: note["key"] for note in Host(document).ask("hello")["notes"]}
    assert notes["/refs/a~1b"] == "a/b"
    assert notes["/gen/0/unknown"] == "v/0"


def test_the_text_around_a_place() -> None:
    text = '{"version": 1,\n "templates": {\n  "u": "x"},\n "refs": {}}'
    host = Host(text)
    lines = host.ask("source.show", pointer="/templates/u")["lines"]
    assert [3, '  "u": "x"},'] in lines
    assert Host({"a": "text"}).ask("source.show", pointer="/a")["lines"] is None
