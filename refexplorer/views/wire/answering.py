"""Answering messages: one shape for all controllers, and no error leaves without a sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import is_out_of_memory, memory_message
from refexplorer.core.masking import masked_text
from refexplorer.views.wire.json_form import to_wire
from refexplorer.views.wire.messages import Event

Message = dict[str, Any]
"""The JSON form of a request, an answer or an event."""
Buffers = list[bytes]
Post = Callable[[Message, Buffers], None]
"""Sends a message to every view; may be called from any thread."""
_LARGEST = int(sys.float_info.max)


def nowhere(message: Message, buffers: Buffers) -> None:
    """Post to nobody: what a controller does until a host gives it a `Post`."""


def answered(number: object, reply: object) -> Message:
    """Return the answer to the request of an id."""
    return {"id": number, **to_wire(reply)}


def event(said: Event) -> tuple[Message, Buffers]:
    """Return an event as it is posted."""
    return to_wire(said), []


def floats(values: np.ndarray) -> bytes:
    """Return numbers as a buffer: little-endian float64, C order, none larger than that has."""
    if values.dtype == object:
        values = np.minimum(values, _LARGEST)
    return np.ascontiguousarray(values, "<f8").tobytes()


def failure(number: object, error: Exception) -> Message:
    """Return the answer, to the request of an id, that says what went wrong."""
    return {"id": number, "error": to_wire(sentence(error))}


def sentence(error: Exception) -> str:
    """Say an error as a person reads it; what was not foreseen says so."""
    if isinstance(error, RefexplorerError):
        return str(error)
    if is_out_of_memory(error):
        return memory_message()
    return masked_text(f"Unexpected {type(error).__name__}: {error}".rstrip(": "))
