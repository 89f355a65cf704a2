"""Diagnostics as marks in a text, and the mark of an error that refuses the whole text."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from refexplorer.errors import RefexplorerError, SpecError
from refexplorer.formats.positions import locate
from refexplorer.views.editor_models import Change, Fix, Mark
from refexplorer.views.fixes import Edit, fixes
from refexplorer.views.models import Note
from refexplorer.views.notes import SHOWN, notes
from refexplorer.views.places import Places

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet


def marks_of_set(text: str, refs: ReferenceSet) -> list[Mark]:
    """Place the first notes of a set in the text that it was read from."""
    places = Places(text)
    return [_mark(text, note, places) for note in notes(refs)[:SHOWN]]


def mark_of_error(text: str, error: RefexplorerError) -> Mark:
    """Place an error that refuses the whole text: at its pointer, else at its line."""
    said, places = sentence_of(error), Places(text)
    if not isinstance(error, SpecError):
        return _placed(text, Note("not-json", "error", said, None, "", None, None, 1, None), places)
    note = Note(error.code, "error", said, None, error.pointer, error.line, error.column, 1, None)
    if error.pointer or error.line is None or error.column is None:
        return _mark(text, note, places)
    lines = text.splitlines(keepends=True)
    start = min(sum(map(len, lines[: error.line - 1])) + error.column - 1, max(len(text) - 1, 0))
    return _placed(text, note, places, start, min(start + 1, len(text)))


def sentence_of(error: RefexplorerError) -> str:
    """Leave out the name of the source: there is only one text."""
    return str(error).removeprefix("bytes: ")


def _mark(text: str, note: Note, places: Places) -> Mark:
    span = locate(text, note.pointer)
    return _placed(text, note, places, *((span.start, span.end) if span else (0, 0)))


def _placed(text: str, note: Note, places: Places, start: int = 0, end: int = 0) -> Mark:
    """Place a note between two offsets of characters."""
    mends = tuple(
        Fix(label, tuple(_change(edit, places) for edit in edits))
        for label, edits in fixes(text, note, start, end)
    )
    said = {field.name: getattr(note, field.name) for field in fields(Note)}
    return Mark(**said, from_=places.units(start), to=places.units(end), fixes=mends)


def _change(edit: Edit, places: Places) -> Change:
    start, end, insert = edit
    return Change(places.units(start), places.units(end), insert)
