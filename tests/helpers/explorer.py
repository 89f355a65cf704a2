"""The explorer's controller as its front end sees it: only messages."""

from __future__ import annotations

import json
import queue
from typing import Any

import numpy as np

import refexplorer as rx
from refexplorer.views.explorer.explorer_controller import ExplorerController
from refexplorer.views.wire.requests import Buffers, Message


class Host:
    """A host that keeps what is posted, and sends everything through JSON as the real ones do."""

    def __init__(self, source: Any, **options: Any) -> None:
        refs = source if isinstance(source, rx.ReferenceSet) else rx.open_references(source)
        self.controller = ExplorerController(refs, **options)
        self.posted: queue.Queue[tuple[Message, Buffers]] = queue.Queue()
        self.controller.post = lambda message, buffers: self.posted.put((message, buffers))
        self.events: list[Message] = []

    def ask(self, op: str, **fields: Any) -> Message:
        answers = self.controller.handle({"id": "t:1", "op": op, **fields})
        assert len(answers) == 1
        message: Message = json.loads(json.dumps(answers[0][0], allow_nan=False))
        assert message.pop("id") == "t:1"
        return message

    def answer(self) -> tuple[Message, Buffers]:
        """Return the response that is sent later."""
        while True:
            message, buffers = self.posted.get(timeout=30)
            json.dumps(message, allow_nan=False)
            if "ev" not in message:
                return message, buffers
            if message["ev"] != "code":
                self.events.append(message)

    def read(self, array: str, index: list[int] | None, **fields: Any) -> tuple[Message, Any]:
        request = {"id": "t:2", "op": "chunk.read", "array": array, "index": index, **fields}
        for answered in self.controller.handle(request):
            return answered[0], None
        message, buffers = self.answer()
        values = np.frombuffer(buffers[0], "<f8") if buffers else None
        return message.get("reading", message), values


def ask(host: Host, op: str, **fields: Any) -> tuple[Message, Buffers]:
    """Return the response that is posted later."""
    assert host.controller.handle({"id": "t:9", "op": op, **fields}) == []
    while True:
        message, buffers = host.posted.get(timeout=30)
        if message.get("id") == "t:9" and "ev" not in message:
            found: Message = json.loads(json.dumps(message, allow_nan=False))
            return found, buffers


def later(host: Host, op: str, **fields: Any) -> tuple[Message, list[Any]]:
    """Send a request that is answered from a thread."""
    assert host.controller.handle({"id": "t:3", "op": op, **fields}) == []
    message, buffers = host.answer()
    assert message.pop("id") == "t:3"
    return message, [np.frombuffer(buffer, "<f8") for buffer in buffers]


def show(host: Host, array: str | None = None, **fields: Any) -> tuple[Any, list[Any]]:
    message, buffers = later(
        host, "grid.show", array=array, **{"axes": None, "window": None} | fields
    )
    return message.get("map", message), buffers
