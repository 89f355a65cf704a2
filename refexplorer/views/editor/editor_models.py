"""The responses of the editor and its exercises about a text."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, Struct, UnsetType

from refexplorer.views.editor.editor_rows import EditorRow, Generator, TemplateField
from refexplorer.views.editor.specification import CitedRule, ListedExercise
from refexplorer.views.text.fixes import EditorDiagnostic, Fix
from refexplorer.views.text.positions import Window
from refexplorer.views.wire.requests import Count


class OtherAnswer(Struct, frozen=True):
    """Another text that passes, and a note on it."""

    text: str
    note: str


class Lesson(Struct, frozen=True):
    """The explanation of a solved exercise."""

    why: str  # Why it is right
    others: tuple[OtherAnswer, ...]


class Result(Struct, frozen=True):
    """Whether the text passes, and the first unmet condition, in one sentence."""

    passed: bool | None  # Null before the first edit
    sentence: str
    lesson: Lesson | None  # Null until it passes


class Task(Struct, frozen=True):
    """The open exercise: hints and solution only as far as requested."""

    name: str
    title: str
    topic: str
    level: int  # 1 to 3
    task: str  # What to do; what is code is in backquotes
    given: str | None  # A text to read; null for none
    hints: tuple[str, ...]
    ask: str | None  # What `hint` shows next, as a question or a word; null where all is shown
    # Of the specification, that it trains; none where they would tell what is wrong
    rules: tuple[CitedRule, ...]


class EditReply(Struct, frozen=True, kw_only=True):
    """Immediate results on a text; for exercises also the last four fields."""

    version: int  # Of the rows: counts the good texts
    good: bool  # Whether the text makes keys; else rows are those of the last good text
    form: str | None  # Of the last good text: ``V0`` or ``V1``; null before there was one
    total: Count  # Keys
    shown: Count  # Rows: keys, and those that the last change removed
    # removed, removed_exactly: Keys that the last change removed; whether that is more than a
    # lower bound
    removed: Count
    removed_exactly: bool
    window: Window | None  # The part of a large document that is shown, and not edited
    wrap: Fix | None  # Makes V0 a V1
    templates: tuple[TemplateField, ...]
    generators: tuple[Generator, ...]
    # task, result, solved: The exercise, whether the text does it, and the names of those that
    # were solved
    task: Task | UnsetType = UNSET
    result: Result | UnsetType = UNSET
    solved: tuple[str, ...] | UnsetType = UNSET
    # Names of those whose solution was shown before they were solved, which do not count
    shown_solutions: tuple[str, ...] | UnsetType = UNSET


class Replaced(EditReply, frozen=True, kw_only=True):
    """Another text."""

    document: str  # Of a large one the part that is shown


class Help(Struct, frozen=True):
    """The meaning of the parts of a document and of the filters."""

    parts: Mapping[str, str]  # By JSON pointer, with ``*`` for any name or number
    filters: Mapping[str, str]


class Welcome(Replaced, frozen=True, kw_only=True):
    """The initial text."""

    help: Help
    examples: tuple[str, ...]  # The titles of the texts that can be put into the editor
    exercises: tuple[ListedExercise, ...] | UnsetType = UNSET  # All of them, with exercises only
    chosen: str = ""  # The key whose derivation is shown; empty for none


class Remarks(Struct, frozen=True):
    """Problems and oddities of the text: the first notes, and their number."""

    version: int
    good: bool
    notes: tuple[EditorDiagnostic, ...]
    note_count: int
    sentence: str


class V0Text(Struct, frozen=True):
    """The rows as V0 text; or none, and its estimated size."""

    text: str | None
    sentence: str | None


class EntryPage(Struct, frozen=True):
    """Some of the rows, and their number."""

    version: int
    start: Count
    total: Count
    rows: tuple[EditorRow, ...]
