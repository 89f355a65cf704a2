"""Answering messages: one shape for all controllers, and no error leaves without a sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from refexplorer.errors import RefexplorerError
from refexplorer.views.wire.models import to_wire

Message = dict[str, Any]
Buffers = list[bytes]
Post = Callable[[Message, Buffers], None]
"""Sends a message to every view; may be called from any thread."""
Operation = Callable[[Message], Message | None]
"""Answers a request at once, or returns None and posts the answer later."""
_LARGEST = int(sys.float_info.max)


def nowhere(message: Message, buffers: Buffers) -> None:
    """Post to nobody: what a controller does until a host gives it a `Post`."""


def answer(operations: Mapping[str, Operation], message: Message) -> list[tuple[Message, Buffers]]:
    """Run the operation that a message asks for."""
    try:
        operation = operations.get(str(message.get("op")))
        if operation is None:
            raise RefexplorerError(f"There is no operation {message.get('op')!r}.")
        fields = operation(message)
    except Exception as error:
        return [(failure(message, error), [])]
    return [] if fields is None else [({"id": message.get("id"), **to_wire(fields)}, [])]


def floats(values: np.ndarray) -> bytes:
    """Return numbers as a buffer: little-endian float64, C order, none larger than that has."""
    if values.dtype == object:
        values = np.minimum(values, _LARGEST)
    return np.ascontiguousarray(values, "<f8").tobytes()


def failure(message: Message, error: Exception) -> Message:
    """Return the answer that says what went wrong."""
    return {"id": message.get("id"), "error": to_wire(sentence(error))}


def sentence(error: Exception) -> str:
    """Say an error as a person reads it; what was not foreseen says so."""
    if isinstance(error, RefexplorerError):
        return str(error)
    return f"Unexpected {type(error).__name__}: {error}".rstrip(": ")
