"""The text of the editor, what is known of it at once, and other texts.

Offsets into the text are counted in UTF-16 code units, of a large document in the part of it that
is shown; -1 of what is not shown.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, Struct, UnsetType

from refexplorer.views.wire.editor.exercise_models import ListedExercise, Result, Task
from refexplorer.views.wire.messages import Cancel as Cancel
from refexplorer.views.wire.messages import Count, Done, Event, Request
from refexplorer.views.wire.messages import JobProgress as JobProgress
from refexplorer.views.wire.messages import SourceChanged as SourceChanged
from refexplorer.views.wire.models import SENT_AS, Note


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
    """A note with its place in the text, end exclusive.

    Attributes
    ----------
    rule
        The name of the rule of the specification that it is about; null where there is none.
    """

    from_: int
    to: int
    fixes: tuple[Fix, ...]
    rule: str | None


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


class EditReply(Struct, frozen=True, kw_only=True):
    """What is known of a text at once; with exercises also the last four.

    Attributes
    ----------
    version
        Of the rows: counts the good texts.
    good
        Whether the text makes keys; else rows are those of the last good text.
    form
        Of the last good text: ``V0`` or ``V1``; null before there was one.
    total
        Keys.
    shown
        Rows: keys, and those that the last change removed.
    removed, removed_exactly
        Keys that the last change removed; whether that is more than a lower bound.
    window
        The part of a large document that is shown, and not edited.
    wrap
        Makes V0 a V1.
    task, result, solved
        The exercise, whether the text does it, and the names of those that were solved.
    shown_solutions
        Names of those whose solution was shown before they were solved, which do not count.
    """

    version: int
    good: bool
    form: str | None
    total: Count
    shown: Count
    removed: Count
    removed_exactly: bool
    window: Window | None
    wrap: Fix | None
    templates: tuple[TemplateField, ...]
    generators: tuple[Generator, ...]
    task: Task | UnsetType = UNSET
    result: Result | UnsetType = UNSET
    solved: tuple[str, ...] | UnsetType = UNSET
    shown_solutions: tuple[str, ...] | UnsetType = UNSET


class Replaced(EditReply, frozen=True, kw_only=True):
    """Another text.

    Attributes
    ----------
    document
        Of a large one the part that is shown.
    """

    document: str


class Help(Struct, frozen=True):
    """What the parts of a document and the filters are for.

    Attributes
    ----------
    parts
        By JSON pointer, with ``*`` for any name or number.
    """

    parts: Mapping[str, str]
    filters: Mapping[str, str]


class Welcome(Replaced, frozen=True, kw_only=True):
    """The text to begin with.

    Attributes
    ----------
    exercises
        All of them, with exercises only.
    """

    help: Help
    exercises: tuple[ListedExercise, ...] | UnsetType = UNSET


class GreetEditor(Request, frozen=True, tag="hello"):
    """Begin."""

    reply = Welcome


class Edit(Request, frozen=True, tag="edit"):
    """Follow the text as it is typed.

    Attributes
    ----------
    document
        The whole text.
    given
        Whether a link brought it: as an answer to an exercise it is nobody's own.
    """

    reply = EditReply

    document: str
    given: bool = False


class Remarks(Struct, frozen=True):
    """What is wrong or odd about the text: the first notes, and how many there are."""

    version: int
    good: bool
    notes: tuple[EditorDiagnostic, ...]
    note_count: int
    sentence: str


class SeekRemarks(Request, frozen=True, tag="notes"):
    """Say what is wrong or odd, which takes longer than the rows: asked when typing pauses."""

    reply = Remarks


class Look(Request, frozen=True, tag="window"):
    """Show the part of a large document around a line."""

    reply = Replaced

    line: int


class Try(Request, frozen=True, tag="try"):
    """Try other templates.

    Attributes
    ----------
    templates
        Texts by name, in place of those of the document.
    """

    reply = EditReply

    templates: dict[str, str]


class Explore(Request, frozen=True, tag="explore"):
    """Open the last good set in an explorer; answered by the host.

    The page turns to its explorer, a notebook shows one below the editor.
    """

    reply = Done


class V0Text(Struct, frozen=True):
    """The rows as V0 text; or none, and how large it would be."""

    text: str | None
    sentence: str | None


class V0Written(Struct, frozen=True):
    """The rows as V0."""

    v0: V0Text


class WriteV0(Request, frozen=True, tag="v0"):
    """Write the rows as V0.

    Attributes
    ----------
    sure
        Write also what is large; else its size is said.
    """

    reply = V0Written

    sure: bool = False


class Text(Struct, frozen=True):
    """The text that is in the editor now."""

    document: str


class SeekStart(Request, frozen=True, tag="start"):
    """Ask for the text to begin with, which the text in the editor is compared with."""

    reply = Text


class Examples(Struct, frozen=True):
    """The titles of the texts that can be put into the editor."""

    titles: tuple[str, ...]


class AskExamples(Request, frozen=True, tag="examples"):
    """Ask which texts can be put into the editor."""

    reply = Examples


class ShowExample(Request, frozen=True, tag="example"):
    """Ask for the text of an example.

    Attributes
    ----------
    title
        One of those that `examples` gives.
    """

    reply = Text

    title: str


class FormatText(Request, frozen=True, tag="format"):
    """Write the text so that a person can read it; it comes as an event, as from Python."""

    reply = Done


class DocumentChanged(Event, frozen=True, tag="document"):
    """Python set the document."""

    document: str


class TemplatesTried(Event, frozen=True, tag="tried"):
    """Python tries other templates."""
