"""The kinds of messages, and types that they use.

What a field holds is said in a comment beside or above it: `refexplorer.hosts.schema` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

EXACT = 2**53
"""The largest whole number that every reader of JSON has exactly."""


def named(name: str, *words: str) -> Meta:
    """Give a type a name of its own in the front end.

    Parameters
    ----------
    name
        What the front end calls it.
    words
        What its texts may be; without them it is one of `OTHERS`.
    """
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
