"""Frozen models of the template editor and its exercises.

Offsets into the text are counted in UTF-16 code units, of a large document in the part of it that
is shown; -1 of what is not shown.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from refexplorer.spec.core.references import Kind
from refexplorer.views.wire.messages import Count, named
from refexplorer.views.wire.models import Note

SENT_AS = {"from_": "from"}
"""Names of fields that Python keeps for itself."""


class Change(Struct, frozen=True, rename=SENT_AS):
    """A piece of the text, and what to write in its place."""

    from_: int
    to: int
    insert: str


class Fix(Struct, frozen=True):
    """A way to mend what a diagnostic is about; all changes are of the same text."""

    label: str
    changes: tuple[Change, ...]


class EditorDiagnostic(Note, frozen=True, rename=SENT_AS):
    """A note with its place in the text, end exclusive."""

    from_: int
    to: int
    fixes: tuple[Fix, ...]


RowState = Annotated[
    str,
    named("RowState", "same", "added", "changed", "removed", "different", "absent", "unknown"),
]


class EditorRow(Struct, frozen=True):
    """A row of the editor's table.

    Attributes
    ----------
    text
        Of inline data; cut.
    state
        Since the last good text; or, of what a reader makes of it, beside the specification.
    why
        Why the reader has it differently, in one sentence.
    """

    key: str
    kind: Kind
    url: str | None
    offset: Count | None
    length: Count | None
    text: str | None
    origin: str
    state: RowState
    why: str | None


class Piece(Struct, frozen=True, rename=SENT_AS):
    """A part of the text that a step starts from.

    Attributes
    ----------
    text
        As written.
    result
        What came of an expression; null for literal text.
    from, to
        Its place in the document; null where that is not known.
    """

    text: str
    result: str | None
    from_: int | None
    to: int | None


class Derived(Struct, frozen=True, rename=SENT_AS):
    """One step of a derivation, and where its source stands in the document.

    Attributes
    ----------
    variables
        Each name with its value as text.
    pieces
        The source, in order.
    from, to
        Null where the place is not known.
    """

    name: str
    pointer: str
    variables: tuple[tuple[str, str], ...]
    pieces: tuple[Piece, ...]
    result: str
    from_: int | None
    to: int | None


class Derivation(Struct, frozen=True):
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
    number: Count
    row: Count
    origin: str
    steps: tuple[Derived, ...]
    places: tuple[tuple[str, Count], ...]


class Uses(Struct, frozen=True):
    """The rows that a part of the document makes or takes part in.

    Attributes
    ----------
    what
        The part, as in ``gen[0]`` or ``templates/u``; null for a part that makes no rows.
    ranges
        Numbers of the rows: first, and last exclusive; sorted.
    """

    what: str | None
    ranges: tuple[tuple[Count, Count], ...]


class V0Text(Struct, frozen=True):
    """The rows as V0 text; or none, and how large it would be."""

    text: str | None
    sentence: str | None


class ReaderVerdict(Struct, frozen=True):
    """The verdict of one reader on the text.

    Attributes
    ----------
    outcome
        ``dropped``: keys are missing and nobody is told; ``refused``: no key can be read.
    summary
        The outcome with its numbers.
    reasons
        Sentences: why, and what else is worth knowing.
    examples
        Keys that differ, each with what the specification and the reader make of it.
    """

    name: str
    outcome: Annotated[str, named("Judgement", "same", "dropped", "different", "refused")]
    summary: str
    reasons: tuple[str, ...]
    examples: tuple[str, ...]


class TemplateField(Struct, frozen=True):
    """A template as written, and the text that is tried in its place; null for none."""

    name: str
    written: str
    given: str | None


class Axis(Struct, frozen=True):
    """A dimension of a gen item: a range of `size` values, or the first of those it lists."""

    name: str
    size: Count
    start: Count | None
    step: Count | None
    listed: tuple[Count, ...] | None


class Generator(Struct, frozen=True):
    """A gen item, by its place, with its dimensions."""

    number: int
    axes: tuple[Axis, ...]


class Window(Struct, frozen=True):
    """The lines of a large document that are shown, and not edited.

    Attributes
    ----------
    start, stop
        Offsets of its characters in the document.
    first
        Its first line, from 1.
    sentence
        What is shown, of how much.
    """

    start: int
    stop: int
    first: int
    sentence: str


class Shorter(Struct, frozen=True):
    """A shorter text, if one was found.

    Attributes
    ----------
    found
        Whether there is a shorter one.
    sizes, parts
        The sizes, and what the document consists of, in a sentence each.
    rows
        The gen items and templates: what it is, key or name, URL.
    explicit, explicit_count
        The first of the keys that are written out, and how many there are.
    """

    found: bool
    sizes: str
    parts: str
    rows: tuple[tuple[str, str, str], ...]
    explicit: tuple[str, ...]
    explicit_count: Count


class CitedRule(Struct, frozen=True):
    """A rule of the specification, and where it stands there."""

    section: str
    sentence: str
    link: str


class CodePage(Struct, frozen=True):
    """What there is to know about a diagnostic code.

    Attributes
    ----------
    readers
        What readers do with it, a sentence for each.
    example
        The smallest set that shows it.
    live
        Whether the example is a text for the editor.
    """

    code: str
    meaning: str
    readers: tuple[str, ...]
    cause: str
    mend: str
    example: str
    live: bool
    rule: CitedRule | None


class ListedExercise(Struct, frozen=True):
    """An exercise in the list of all."""

    name: str
    title: str
    topic: str
    level: int


class Task(Struct, frozen=True):
    """The exercise that is open: hints and solution only as far as they were asked for.

    Attributes
    ----------
    level
        1 to 3.
    task
        What to do; what is code stands in backquotes.
    given
        A text to read; null for none.
    ask
        What `hint` shows next, as a question or a word; null where all is shown.
    """

    name: str
    title: str
    topic: str
    level: int
    task: str
    given: str | None
    hints: tuple[str, ...]
    ask: str | None


class OtherAnswer(Struct, frozen=True):
    """Another text that passes, and what is worth knowing about it."""

    text: str
    note: str


class Lesson(Struct, frozen=True):
    """What there is to know once an exercise is solved.

    Attributes
    ----------
    why
        Why it is right.
    next
        The next one that is not solved; null at the end.
    """

    why: str
    others: tuple[OtherAnswer, ...]
    rules: tuple[CitedRule, ...]
    next: ListedExercise | None


class Result(Struct, frozen=True):
    """Whether the text passes, and the first thing that does not hold, in one sentence.

    Attributes
    ----------
    passed
        Null before the first edit.
    lesson
        Null until it passes.
    """

    passed: bool | None
    sentence: str
    lesson: Lesson | None
