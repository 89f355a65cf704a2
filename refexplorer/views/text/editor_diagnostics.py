"""Diagnostics at their positions in a text, and that of an error that refuses the whole text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import structs

from refexplorer.errors import RefexplorerError, SpecError
from refexplorer.spec.codes import CODES, Severity
from refexplorer.views.text.fixes import fixes, wrap
from refexplorer.views.text.json_mending import TextEdit
from refexplorer.views.text.text_positions import TextPositions
from refexplorer.views.wire.editor.editor_messages import Change, EditorDiagnostic, Fix
from refexplorer.views.wire.models import Note
from refexplorer.views.wire.notes import SHOWN, note

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet


_HINTS = {
    "readers-differ": "See above how others read it.",
    "template-limit": "A template here is for a URL: make it shorter.",
}
"""What to do in the editor, where the set itself names a command or Python."""
_LIMIT = re.compile(
    r"(?<=\.) `Limits\.\w+` raises the limit\.|; `Limits\.\w+` raises the limit(?=\.)|"
    r", or raise `Limits\.\w+`(?=\.)"
)
"""What names a limit: it is an argument of a call, and the editor makes none."""


def diagnostics_of_set(positions: TextPositions, refs: ReferenceSet) -> list[EditorDiagnostic]:
    """Place the first notes of a set in the text that it was read from."""
    return [
        _at_pointer(note(refs, found), positions, found.pointer)
        for found in refs.diagnostics[:SHOWN]
    ]


def diagnostic_of_error(positions: TextPositions, error: RefexplorerError) -> EditorDiagnostic:
    """Place an error that refuses the whole text: at its pointer, else at its line."""
    said, text = sentence_of(error), positions.text
    if not isinstance(error, SpecError):
        return _placed(_error("not-json", said), positions)
    refusal = _error(error.code, said, error.pointer, error.line, error.column)
    if error.pointer or error.line is None or error.column is None:
        return _at_pointer(refusal, positions, error.pointer)
    lines = text.splitlines(keepends=True)
    start = min(sum(map(len, lines[: error.line - 1])) + error.column - 1, max(len(text) - 1, 0))
    return _placed(refusal, positions, start, min(start + 1, len(text)))


def wrapping(positions: TextPositions) -> Fix:
    """Return the fix that makes a version 0 document one of version 1."""
    label, edits = wrap(positions.text)
    return Fix(label, tuple(_change(edit, positions) for edit in edits))


def sentence_of(error: RefexplorerError) -> str:
    """Leave out the name of the source: there is only one text."""
    said = _LIMIT.sub("", str(error).removeprefix("bytes: "))
    return "The text is empty." if said == "bytes is empty." else said


def _error(
    code: str, said: str, pointer: str = "", line: int | None = None, column: int | None = None
) -> Note:
    meaning = CODES[code].meaning
    return Note(code, Severity.ERROR, meaning, said, None, pointer, line, column, 1, None)


def _at_pointer(noted: Note, positions: TextPositions, pointer: str) -> EditorDiagnostic:
    span = positions.span(pointer)
    return _placed(noted, positions, *((span.start, span.end) if span else (0, 0)))


def _placed(
    noted: Note, positions: TextPositions, start: int = 0, end: int = 0
) -> EditorDiagnostic:
    """Place a note between two offsets of characters; one of severity info on its first line."""
    mends = tuple(
        Fix(label, tuple(_change(edit, positions) for edit in edits))
        for label, edits in fixes(positions, noted, start, end)
    )
    hint = _HINTS.get(noted.code, _LIMIT.sub("", noted.hint or "") or None)
    said = structs.asdict(noted) | {"hint": hint}
    line_end = positions.text.find("\n", start, end) if noted.severity is Severity.INFO else -1
    first, last = positions.units(start), positions.units(end if line_end < 0 else line_end)
    last = last if first >= 0 else -1
    rule = CODES[noted.code].rule or None
    return EditorDiagnostic(**said, from_=first, to=last, fixes=mends, rule=rule)


def _change(edit: TextEdit, positions: TextPositions) -> Change:
    start, end, insert = edit
    return Change(positions.units(start), positions.units(end), insert)
