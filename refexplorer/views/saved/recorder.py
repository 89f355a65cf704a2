"""Asks a controller as its front end does, and keeps the answers."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Protocol

import msgspec

from refexplorer.views.wire.requests import Bound, Buffers, Message, question, to_wire

_LEVEL = 6
"""Level 9 takes four times as long for 2.5 % less."""


class Packer:
    """Takes buffers one by one, and writes them behind the JSON that names their places."""

    def __init__(self) -> None:
        self._buffers: dict[bytes, tuple[int, int]] = {}
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes of the buffers so far."""
        return self._size

    def place(self, buffer: bytes) -> tuple[int, int]:
        """Keep a buffer, once, and return where it lies: start and length."""
        kept = bytes(buffer)
        if kept not in self._buffers:
            self._buffers[kept] = self._size, len(kept)
            self._size += len(kept)
        return self._buffers[kept]

    def packed(self, content: dict[str, Any]) -> str:
        """Return it all: the length of the JSON (4 bytes, little-endian), the JSON, the buffers."""
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        head = text.encode()
        return packed_text(b"".join([len(head).to_bytes(4, "little"), head, *self._buffers]))


def packed_text(content: bytes) -> str:
    """Return bytes as base64 of gzip; the same for the same bytes."""
    return base64.b64encode(gzip.compress(content, _LEVEL, mtime=0)).decode()


_ID = "saved"


class Answers(Protocol):
    """The controller of a view."""

    post: Callable[[Message, Buffers], None]

    @property
    def answers(self) -> Bound:
        """What answers each request."""
        ...

    def handle(
        self, message: Message, buffers: Buffers | None = None
    ) -> list[tuple[Message, Buffers]]:
        """Answer one message."""
        ...


class Recorder:
    """Asks a controller that nobody else uses."""

    def __init__(self, controller: Answers, packer: Packer) -> None:
        self._controller = controller
        self._packer = packer
        self._posted: list[tuple[Message, Buffers]] = []
        controller.post = lambda message, buffers: self._posted.append((message, buffers))
        self.answers: dict[str, Message] = {}

    def ask(self, request: str, /, **fields: Any) -> tuple[Message, Buffers]:
        """Return the answer to a request, by its name and fields."""
        self._posted.clear()
        answers = self._controller.handle({**question(request, **fields), "id": _ID})
        reply, buffers = next(each for each in (*answers, *self._posted) if "ev" not in each[0])
        return {name: value for name, value in reply.items() if name != "id"}, buffers

    def keep(self, request: str, /, **fields: Any) -> tuple[Message, Buffers]:
        """Return an answer, and keep it with its buffers."""
        reply, buffers = self.ask(request, **fields)
        self.answers[self.name_of(request, **fields)] = self.placed(reply, buffers)
        return reply, buffers

    def keep_all(self, request: str, arrays: Iterable[str]) -> None:
        """Keep an answer about the set, and one about each array where the request has one."""
        operation, _ = self._controller.answers[request]
        needs = {each.encode_name: each.required for each in msgspec.structs.fields(operation.asks)}
        if not needs.get("array"):
            self.keep(request)
        for path in arrays if "array" in needs else ():
            self.keep(request, array=path)

    def placed(self, reply: Message, buffers: Buffers) -> Message:
        """Return an answer with the places of its buffers, which are kept."""
        kept = {**reply, "buffers": [self._packer.place(each) for each in buffers]}
        return kept if buffers else reply

    def name_of(self, request: str, /, **fields: Any) -> str:
        """Return what tells a request from others."""
        message = question(request, **fields)
        return name_of(message, self.defaults[message["op"]])

    @cached_property
    def defaults(self) -> dict[str, dict[str, Any]]:
        """The values of the fields that requests need not have, by the name of the request."""
        return defaults_of(self._controller.answers)


def name_of(message: Message, defaults: Mapping[str, Any]) -> str:
    """Return what tells a request from others: its fields that are not their defaults.

    `nameOf` in `frontend/src/saved/replay.ts` does the same.
    """
    said = {
        name: value
        for name, value in message.items()
        if name != "id" and (name not in defaults or value != defaults[name])
    }
    return json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def defaults_of(answers: Bound) -> dict[str, dict[str, Any]]:
    """Return the fields that requests need not have, by the name of the request."""
    return {
        name: {
            field.encode_name: to_wire(field.default)
            for field in msgspec.structs.fields(operation.asks)
            if field.default not in (msgspec.NODEFAULT, msgspec.UNSET)
        }
        for name, (operation, _) in answers.items()
    }
