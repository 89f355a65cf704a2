"""Checks every message of a test against the models; a message without a model is a failure."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import fastjsonschema

from refexplorer.hosts.schema import PROTOCOLS, requests, schema
from refexplorer.views.wire.requests import Buffers, Message

SCHEMA = schema()
REQUESTS = {f"{name}/{each.name}": each for name in PROTOCOLS for each in requests(name)}


@functools.cache
def validator(pointer: str) -> Callable[[object], object]:
    # jsonschema takes 1.6 s to import and a thousand times as long for each message
    validate: Callable[[object], object] = fastjsonschema.compile(
        {**SCHEMA, "$ref": f"#/definitions/{pointer}"}
    )
    return validate


def problems(pointer: str, value: object) -> list[str]:
    """The first place where a value is not as the schema says at a place of it."""
    try:
        validator(pointer)(value)
    except fastjsonschema.JsonSchemaValueException as error:
        return [f"{pointer} at {error.name}: {error.message[:300]}"]
    return []


class Recorder:
    """Follows the messages of one controller.

    Parameters
    ----------
    protocol
        Whose operations and events these are: Explorer or Editor.
    findings
        Takes what is wrong.
    """

    def __init__(self, protocol: str, findings: list[str]) -> None:
        self._protocol = protocol
        self._asked: dict[object, str] = {}
        self.findings = findings

    def asked(self, message: Message) -> None:
        """Note a request; which operations there are is checked by its answer."""
        self._asked[message.get("id")] = str(message.get("op"))

    def said(self, message: Message, buffers: Buffers, *, at_once: bool = False) -> None:
        """Check an answer or an event."""
        if "ev" in message:
            self._check_event(message)
        elif "error" in message:
            if set(message) != {"id", "error"} or not isinstance(message["error"], str):
                self.findings.append(f"An error with other fields: {message}")
        else:
            self._check_answer(message, buffers, at_once)

    def _check_event(self, message: Message) -> None:
        events = SCHEMA["definitions"][f"{self._protocol}Events"]["properties"]
        if message["ev"] not in events:
            self.findings.append(f"No model describes the event {message}")
        else:
            name = events[message["ev"]]["$ref"].rpartition("/")[2]
            self.findings += problems(name, message)

    def _check_answer(self, message: Message, buffers: Buffers, at_once: bool) -> None:
        kind = REQUESTS.get(f"{self._protocol}/{self._asked.get(message.get('id'))}")
        if kind is None or kind.reply is None:
            self.findings.append(f"No model describes the answer {message}")
            return
        fields = {name: value for name, value in message.items() if name != "id"}
        self.findings += problems(kind.reply.__name__, fields)
        if at_once == kind.is_later or (buffers and not kind.buffers):
            self.findings.append(f"{kind.name} is described as answered in another way")


Handle = Callable[..., list[tuple[Message, Buffers]]]


@contextmanager
def recorded(controller: type[Any], protocol: str) -> Iterator[list[str]]:
    """Record all controllers of a class that are made meanwhile; yields what is found."""
    findings: list[str] = []
    handle: Handle = controller.handle

    def recorder_of(owner: object) -> Recorder:
        recorder: Recorder = vars(owner).setdefault("_recorder", Recorder(protocol, findings))
        return recorder

    def handled(self: Any, message: Message, *rest: Any) -> list[tuple[Message, Buffers]]:
        recorder = recorder_of(self)
        if isinstance(message, dict):
            recorder.asked(message)
        answers = handle(self, message, *rest)
        for answer in answers:
            recorder.said(*answer, at_once=True)
        return answers

    def set_post(self: Any, post: Callable[[Message, Buffers], None]) -> None:
        def posted(message: Message, buffers: Buffers | None = None) -> None:
            recorder_of(self).said(message, buffers or [])
            post(message, buffers or [])

        vars(self)["post"] = posted

    controller.handle = handled
    controller.post = property(lambda self: vars(self)["post"], set_post)
    try:
        yield findings
    finally:
        controller.handle = handle
        del controller.post


Sent = Callable[..., Message]
"""Takes what the method of a host was called with; returns the message."""


@contextmanager
def sent_by(host: type[Any], method: str, protocol: str, message_of: Sent) -> Iterator[list[str]]:
    """Record the events that go out by a method of a host, also those that no controller posts."""
    recorder = Recorder(protocol, [])
    send = getattr(host, method)

    def sent(self: Any, *args: Any, **options: Any) -> Any:
        message = message_of(*args, **options)
        if "ev" in message:
            recorder.said(message, [])
        return send(self, *args, **options)

    is_own = method in vars(host)
    setattr(host, method, sent)
    try:
        yield recorder.findings
    finally:
        if is_own:
            setattr(host, method, send)
        else:
            delattr(host, method)
