"""The kinds of messages, types that they use, and their JSON form.

What a field holds is said in a comment beside or above it: `refexplorer.hosts.schema` reads it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from refexplorer.core.errors import RefexplorerError

EXACT = 2**53
"""The largest whole number that every reader of JSON has exactly."""


def named(name: str, *words: str) -> Meta:
    """Give a type a name of its own in the front end."""
    sent = {"type": "string", "enum": list(words)} if words else OTHERS[name]
    return Meta(extra_json_schema={NAMED: {"title": name, **sent}})


NAMED = "x-named"
"""Where a schema keeps what `named` says."""
OTHERS: Mapping[str, Mapping[str, object]] = {
    "Count": {"type": ["number", "string"], "description": "A number; above 2^53 it is text."},
    "Real": {"type": ["number", "null"], "description": "A number; null for NaN and infinities."},
    "Bytes": {"tsType": "ArrayBuffer", "description": "Binary data; only the page sends it."},
}
"""Values that not every reader of JSON has, as they are sent."""
Bytes = Annotated[bytes, named("Bytes")]
Count = Annotated[int, named("Count")]
Real = Annotated[float, named("Real")]
ReadOutcome = Annotated[str, named("ReadOutcome", "fetched", "fill", "failed", "ask")]
"""How a read came out; ``ask``: it may not be read until ``grant`` is allowed."""
SENT_AS = {"from_": "from"}
"""Names of fields that Python keeps for itself."""


class Request(Struct, frozen=True, kw_only=True, tag_field="op", forbid_unknown_fields=True):
    """What the front end asks; the name of the operation is the tag of its class."""

    id: str | None = None  # ``"<view>:<number>"``: the answer carries the same


class Event(Struct, frozen=True, tag_field="ev"):
    """What is said without being asked; the name of the event is the tag of its class."""


class Done(Struct, frozen=True):
    """It was done; there is nothing to tell."""


class JobProgress(Event, frozen=True, tag="progress"):
    """How far a request is that is answered later."""

    id: str  # Of the request
    # done, of: What is done, and how much there is; null where that is not known
    done: int | None
    of: int | None
    label: str  # Both in words


class SourceChanged(Event, frozen=True, tag="opened"):
    """Python shows something else: everything is to be asked for again."""


def tag_of(kind: type[Event]) -> str:
    """Return the name of an event."""
    return str(kind.__struct_config__.tag)


_Model = TypeVar("_Model", bound=Struct)


def to_wire(value: Any) -> Any:
    """Return the JSON form of a model.

    Integers beyond 2^53 become text, since JSON readers round them; NaN and infinities become
    null; lone surrogates become escapes; a trailing underscore is not part of a name.
    """
    return _plain(msgspec.to_builtins(value, enc_hook=_builtin))


def from_wire(message: Mapping[str, Any], kind: type[_Model]) -> _Model:
    """Return a message as its model."""
    with suppress(msgspec.ValidationError):
        return msgspec.convert(_whole(message), kind)
    try:  # fractions are cut where whole numbers are wanted
        return msgspec.convert(_whole(message, is_cut=True), kind)
    except msgspec.ValidationError as error:
        tag = kind.__struct_config__.tag
        raise RefexplorerError(f"The request {tag!r} cannot be read: {error}.") from None


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if kind is int:
        return value if -EXACT <= value <= EXACT else str(value)
    if kind is dict:
        return {_plain(key): _plain(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_plain(item) for item in value]
    if kind is float:
        return value if math.isfinite(value) else None
    return value


def _builtin(value: object) -> object:
    """Return what a model holds in a type of numpy's, or of a library's, as Python's own."""
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    raise NotImplementedError


def _whole(value: Any, is_cut: bool = False) -> Any:
    """Return a message with whole numbers as such: JavaScript has one kind.

    It writes those of 22 digits and more as ``1e+21``.
    """
    if isinstance(value, float) and math.isfinite(value):
        return int(value) if is_cut or value.is_integer() else value
    if isinstance(value, Mapping):
        return {key: _whole(item, is_cut) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item, is_cut) for item in value]
    return value
