"""The requests, replies and events of the template editor and its exercises."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, Struct, UnsetType

from refexplorer.views.wire.editor_models import (
    CodePage,
    Derivation,
    EditorDiagnostic,
    EditorRow,
    Fix,
    Generator,
    ListedExercise,
    ReaderVerdict,
    Result,
    Shorter,
    Task,
    TemplateField,
    Uses,
    V0Text,
    Window,
)
from refexplorer.views.wire.messages import (
    Cancel as Cancel,
)
from refexplorer.views.wire.messages import (
    Count,
    Done,
    Event,
    Request,
)
from refexplorer.views.wire.messages import (
    JobProgress as JobProgress,
)
from refexplorer.views.wire.messages import (
    SourceChanged as SourceChanged,
)


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
    """

    reply = EditReply

    document: str


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


class EntryPage(Struct, frozen=True):
    """Some of the rows, and how many there are."""

    version: int
    start: Count
    total: Count
    rows: tuple[EditorRow, ...]


class ShowRows(Request, frozen=True, tag="rows"):
    """Show rows of the table.

    Attributes
    ----------
    reader
        Its name: the table as it has it; empty: the specification's.
    """

    reply = EntryPage

    start: int
    n: int
    reader: str = ""


class RowIndex(Struct, frozen=True):
    """A row of the table, from 0."""

    index: Count


class At(Request, frozen=True, tag="at"):
    """Find the row that a gen item makes.

    Attributes
    ----------
    gen
        Its place.
    places
        For each dimension, which of its values, from 0.
    """

    reply = RowIndex

    gen: int
    places: dict[str, int]


class Seek(Request, frozen=True, tag="seek"):
    """Find a row by its key or its number."""

    reply = RowIndex

    text: str


class Traced(Struct, frozen=True):
    """How a row came about; places are null while the text is broken."""

    version: int
    derivation: Derivation


class Explain(Request, frozen=True, tag="explain"):
    """Explain a row."""

    reply = Traced

    key: str


class Used(Struct, frozen=True):
    """The rows that a part of the text makes."""

    version: int
    uses: Uses


class SeekUses(Request, frozen=True, tag="uses"):
    """Find the rows that a part of the text makes.

    Attributes
    ----------
    pointer
        Of the part where the cursor is.
    """

    reply = Used

    pointer: str


class Readers(Struct, frozen=True):
    """The verdicts of readers on the last good text, the specification first."""

    version: int
    readers: tuple[ReaderVerdict, ...]


class AskReaders(Request, frozen=True, tag="readers"):
    """Ask what other readers make of the last good text."""

    reply = Readers


class CodeExplained(Struct, frozen=True):
    """The page of a diagnostic code."""

    page: CodePage


class ExplainCode(Request, frozen=True, tag="code"):
    """Explain a diagnostic code."""

    reply = CodeExplained

    code: str


class Explore(Request, frozen=True, tag="explore"):
    """Open the last good set in an explorer; answered by the host.

    The page turns to its explorer, a notebook shows one below the editor.
    """

    reply = Done


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


class Shortened(Struct, frozen=True):
    """A shorter text."""

    shorter: Shorter


class Shorten(Request, frozen=True, tag="shorten"):
    """Look for a shorter text."""

    reply = Shortened
    is_later = True


class Text(Struct, frozen=True):
    """The text that is in the editor now."""

    document: str


class TakeShorter(Request, frozen=True, tag="shorten.take"):
    """Put the shorter text into the editor."""

    reply = Text


class PutBack(Request, frozen=True, tag="shorten.back"):
    """Put the text back that was there before the shorter one."""

    reply = Text


class FormatText(Request, frozen=True, tag="format"):
    """Write the text so that a person can read it; it comes as an event, as from Python."""

    reply = Done


class Choose(Request, frozen=True, tag="exercise"):
    """Open another exercise."""

    reply = Replaced

    name: str


class Restart(Request, frozen=True, tag="restart"):
    """Put the text to begin with in place again."""

    reply = Replaced


class Hinted(Struct, frozen=True):
    """The task with one hint more, and what is said of the text now."""

    task: Task
    result: Result


class ShowHint(Request, frozen=True, tag="hint"):
    """Tell more: the next stage of what is wrong, or another hint."""

    reply = Hinted


class Solution(Struct, frozen=True):
    """A text that passes."""

    solution: str


class Solve(Request, frozen=True, tag="solution"):
    """Show a solution."""

    reply = Solution


class DocumentChanged(Event, frozen=True, tag="document"):
    """Python set the document."""

    document: str


class TemplatesTried(Event, frozen=True, tag="tried"):
    """Python tries other templates."""


class RowsChanged(Event, frozen=True, tag="changed"):
    """The rows changed; `total` counts rows."""

    version: int
    total: Count
