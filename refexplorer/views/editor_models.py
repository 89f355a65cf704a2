"""What the template editor sends beside its rows, as CONTRIBUTING.md lists it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the text that a step starts from.

    Attributes
    ----------
    text
        As written.
    result
        What came of an expression; None for literal text.
    from_, to
        Its place in the document, in UTF-16 code units; None where that is not known.
    """

    text: str
    result: str | None
    from_: int | None
    to: int | None


@dataclass(frozen=True, slots=True)
class Derived:
    """One step of a derivation, and where its source stands in the document."""

    name: str
    pointer: str
    variables: tuple[tuple[str, str], ...]
    pieces: tuple[Piece, ...]
    result: str
    from_: int | None
    to: int | None


@dataclass(frozen=True, slots=True)
class Derivation:
    """How a row came about; `number` counts the keys from 0."""

    key: str
    number: int
    origin: str
    steps: tuple[Derived, ...]


@dataclass(frozen=True, slots=True)
class Uses:
    """The rows that a part of the document makes or takes part in.

    Attributes
    ----------
    what
        The part, as in ``gen[0]`` or ``templates/u``; None for a part that makes no rows.
    ranges
        Numbers of the rows: first, and last exclusive; sorted.
    """

    what: str | None
    ranges: tuple[tuple[int, int], ...]
