"""Diagnostics as marks in a text, and the mark of an error that refuses the whole text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refexplorer.errors import RefexplorerError, SpecError
from refexplorer.formats.positions import Span, locate, span
from refexplorer.views.models import Mark, Note
from refexplorer.views.notes import SHOWN, mark, notes

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet


def marks_of_set(text: str, refs: ReferenceSet) -> list[Mark]:
    """Place the first notes of a set in the text that it was read from."""
    found = notes(refs)[:SHOWN]
    return [_mark(text, note, locate(text, note.pointer)) for note in found]


def mark_of_error(text: str, error: RefexplorerError) -> Mark:
    """Place an error that refuses the whole text: at its line, else at its pointer."""
    said = sentence_of(error)
    if not isinstance(error, SpecError):
        return mark(Note("not-json", "error", said, None, "", None, None, 1, None), text, 0, 0)
    note = Note(error.code, "error", said, None, error.pointer, error.line, error.column, 1, None)
    if error.line is None or error.column is None:
        return _mark(text, note, locate(text, error.pointer))
    lines = text.splitlines(keepends=True)
    start = min(sum(map(len, lines[: error.line - 1])) + error.column - 1, max(len(text) - 1, 0))
    return _mark(text, note, span(text, start, min(start + 1, len(text))))


def sentence_of(error: RefexplorerError) -> str:
    """Leave out the name of the source: there is only one text."""
    return str(error).removeprefix("bytes: ")


def _mark(text: str, note: Note, place: Span | None) -> Mark:
    return mark(note, text, place.start if place else 0, place.end if place else 0)
