"""What crosses the wire of one key's bytes and decoding, as CONTRIBUTING.md lists it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bytes:
    """A page of raw bytes, which travel beside it as a buffer, or why there are none.

    Attributes
    ----------
    state
        ``fetched``, ``fill`` (no reference), ``failed`` or ``ask``.
    start
        Where the page begins, in bytes.
    total
        All bytes of the key.
    grant
        State ``ask``: what ``allow`` needs.
    """

    state: str
    start: int
    total: int
    message: str | None = None
    grant: str | None = None


@dataclass(frozen=True, slots=True)
class Rung:
    """One step of a decode ladder; `head` holds the first bytes as hexadecimal digits."""

    name: str
    size: int | None
    seconds: float
    head: str
    form: str
    message: str | None


@dataclass(frozen=True, slots=True)
class Ladder:
    """The decode ladder of a key, or why it was not climbed."""

    state: str
    rungs: tuple[Rung, ...]
    message: str | None = None
    grant: str | None = None
    values: tuple[str, ...] = ()
    """The first values, as text."""
