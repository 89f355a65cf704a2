"""A shorter text for the editor: what is said of it, and how it gets there and back."""

from __future__ import annotations

import json
import queue
from typing import Any

import pytest

import refexplorer as rx
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.editor.shortening import shortened
from refexplorer.views.text import positions as windows
from refexplorer.views.wire.requests import Message

REGULAR: dict[str, Any] = {f"x/{i}": [f"s3://b/{i}.nc", 8, 100 * i] for i in range(50)}
TEXT = json.dumps({"a": "text", **REGULAR}, indent=1)


class Host:
    def __init__(self, text: str) -> None:
        self.controller = EditorController(text)
        self.posted: queue.Queue[Message] = queue.Queue()
        self.controller.post = lambda message, buffers: self.posted.put(message)

    def ask(self, op: str, **fields: Any) -> Message:
        ((message, _),) = self.controller.handle({"id": "t:1", "op": op, **fields})
        return message

    def find(self) -> Message:
        assert self.controller.handle({"id": "t:2", "op": "shorten"}) == []
        while (message := self.posted.get(timeout=30)).get("id") != "t:2" or "ev" in message:
            pass
        found: Message = json.loads(json.dumps(message))
        return found


def test_what_was_found_is_reported_before_it_is_taken_and_can_be_put_back() -> None:
    host = Host(TEXT)
    shorter = host.find()["shorter"]
    assert host.controller.document == TEXT
    assert shorter["found"]
    assert shorter["rows"][0] == ["gen[0]", "x/{{i}}", "s3://b/{{i}}.nc"]
    assert (shorter["explicit"], shorter["explicit_count"]) == (["a"], 1)
    taken = host.ask("shorten.put")["document"]
    assert shorter["sizes"].startswith(f"{len(TEXT) / 1000:.2f} kB before, {len(taken)} B after")
    assert taken == host.controller.document
    assert rx.expand(taken).v0 == json.loads(TEXT)
    assert len(taken.splitlines()) < 15
    assert host.ask("shorten.put", back=True)["document"] == host.controller.document == TEXT


def test_what_is_as_short_as_can_be_stays() -> None:
    for text in ('{\n    "a": "text"\n}', '{"version": 1}'):
        host = Host(text)
        assert not host.find()["shorter"]["found"]
        assert "No shorter text" in host.ask("shorten.put")["error"]
    host = Host(TEXT)
    host.find()
    host.ask("shorten.put")
    assert not host.find()["shorter"]["found"]


def test_a_text_that_changed_or_has_mistakes_is_left_alone() -> None:
    host = Host(TEXT)
    host.find()
    host.ask("edit", document=TEXT.replace("text", "other"))
    assert "changed in the meantime" in host.ask("shorten.put")["error"]
    assert "other" in host.controller.document
    bad = {**REGULAR, "b": ["url", -1, 5]}
    assert "fix the text first" in Host(json.dumps(bad)).find()["error"]
    assert "line 1" in Host("{").find()["error"]


def test_what_is_left_out_is_reported() -> None:
    text = json.dumps({"version": 1, "refs": REGULAR, "comment": "made by hand"})
    assert (
        "The content of 1 field that no reader knows is omitted"
        in Host(text).find()["shorter"]["parts"]
    )


def test_a_search_is_stopped_on_the_way() -> None:
    refs = rx.open_references(TEXT.encode())
    told: list[int | None] = []

    def report(done: int | None, of: int | None, label: str) -> bool:
        told.append(of)
        return len(told) < 2

    with pytest.raises(rx.RefexplorerError, match="stopped"):
        shortened(refs, TEXT, report)
    assert told == [153, 153]


def test_a_large_text_gives_way_to_a_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "LARGEST", 100_000)
    keys = [(i, j) for i in range(300) for j in range(20)]
    host = Host(json.dumps({f"x/{i}.{j}": [f"s3://b/{i}.nc", 100 * j, 100] for i, j in keys}))
    assert host.ask("hello")["window"] is not None
    host.find()
    host.ask("shorten.put")
    assert host.ask("hello")["window"] is None
    assert host.ask("hello")["total"] == 6_000
