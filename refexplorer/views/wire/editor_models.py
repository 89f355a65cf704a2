"""What the template editor sends, as CONTRIBUTING.md lists it."""

from __future__ import annotations

from dataclasses import dataclass

from refexplorer.views.wire.models import Note


@dataclass(frozen=True, slots=True)
class Change:
    """A piece of the text, in UTF-16 code units, and what to write in its place."""

    from_: int
    to: int
    insert: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A way to mend what a mark is about; all changes are of the same text."""

    label: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Mark(Note):
    """A note with its place in the text, in UTF-16 code units, end exclusive."""

    from_: int
    to: int
    fixes: tuple[Fix, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the editor's table.

    Attributes
    ----------
    state
        ``same``, ``added``, ``changed`` or ``removed`` since the last good text; of what a reader
        makes of the set ``same``, ``different``, ``absent`` or ``unknown``.
    why
        Why the reader has it differently, in one sentence.
    """

    key: str
    kind: str
    url: str | None
    offset: int | None
    length: int | None
    text: str | None
    origin: str
    state: str
    why: str | None


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
    """How a row came about.

    Attributes
    ----------
    number
        Of the key, from 0.
    row
        Where the table shows it, from 0.
    places
        Which value of each dimension made it, from 0.
    """

    key: str
    number: int
    row: int
    origin: str
    steps: tuple[Derived, ...]
    places: tuple[tuple[str, int], ...]


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


@dataclass(frozen=True, slots=True)
class V0Text:
    """The rows as V0 text; or none, and how large it would be."""

    text: str | None
    sentence: str | None


@dataclass(frozen=True, slots=True)
class Reader:
    """What one reader makes of the text.

    Attributes
    ----------
    outcome
        ``same``, ``dropped``, ``different`` or ``refused``.
    summary
        The outcome with its numbers.
    reasons
        Sentences: why, and what else is worth knowing.
    examples
        Keys that differ, each with what the specification and the reader make of it.
    """

    name: str
    outcome: str
    summary: str
    reasons: tuple[str, ...]
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TemplateField:
    """A template as written, and the text that is tried in its place; None for none."""

    name: str
    written: str
    given: str | None


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of a gen item: a range of `size` values, or the first of those it lists."""

    name: str
    size: int
    start: int | None
    step: int | None
    listed: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Generator:
    """A gen item, by its place, with its dimensions."""

    number: int
    axes: tuple[Axis, ...]
