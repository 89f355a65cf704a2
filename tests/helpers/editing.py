"""The editor's controller as its front end sees it: only messages."""

from __future__ import annotations

import json
from typing import Any

from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.wire.requests import Message

GOOD = {
    "version": 1,
    "templates": {"u": "s3://b"},
    "gen": [{"key": "x/{{i}}", "url": "{{u}}/{{i}}", "dimensions": {"i": {"stop": 3}}}],
    "refs": {"a": "text", "b": ["{{u}}/f", 1, 2]},
}


class Host:
    def __init__(self, document: Any = GOOD) -> None:
        self.controller = EditorController(document)
        self.posted: list[Message] = []
        self.controller.post = lambda message, buffers: self.posted.append(message)

    def ask(self, op: str, **fields: Any) -> Message:
        ((message, _),) = self.controller.handle({"id": "t:1", "op": op, **fields})
        received: Message = json.loads(json.dumps(message, allow_nan=False))
        assert received.pop("id") == "t:1"
        return received

    def rows(self) -> dict[str, Message]:
        return {row["key"]: row for row in self.ask("rows", start=0, n=100)["rows"]}


def slice_of(text: str, place: dict[str, Any]) -> str:
    """The part of a text between two offsets, counted in UTF-16 code units."""
    units = text.encode("utf-16-le")
    return units[2 * place["from"] : 2 * place["to"]].decode("utf-16-le")
