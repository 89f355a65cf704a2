"""Fixes for diagnostics, each as text edits.

A fix is offered only if the edit follows from the text and the diagnostic; the names it needs are
those in backquotes in the diagnostic's sentences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from refexplorer.core.errors import RefexplorerError, SpecError
from refexplorer.formats.json.positions import TEXT
from refexplorer.formats.json.slips import CURLY, ODD_SPACES, last_open
from refexplorer.spec.codes import CODES, Severity
from refexplorer.spec.findings import pointer
from refexplorer.views.text.positions import TextPositions
from refexplorer.views.wire.context import SHOWN, Note, note
from refexplorer.views.wire.requests import SENT_AS

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet


TextEdit = tuple[int, int, str]
"""Offsets of the characters to replace, end exclusive, and the replacement."""
_TOKEN = re.compile(rf"{TEXT}|[{{}}\[\]]", re.DOTALL)
_PYTHON = {"True": "true", "False": "false", "None": "null", "undefined": "null"}


class Change(Struct, frozen=True, rename=SENT_AS):
    """A span of the text, and its replacement."""

    from_: int
    to: int
    insert: str


class Fix(Struct, frozen=True):
    """A fix for a diagnostic; all its edits apply to the same version of the text."""

    label: str
    changes: tuple[Change, ...]


class EditorDiagnostic(Note, frozen=True, rename=SENT_AS):
    """A note with its position in the text, end exclusive."""

    from_: int
    to: int
    fixes: tuple[Fix, ...]
    # The name of the rule of the specification that it is about; null where there is none
    rule: str | None


def _outside(pattern: str) -> re.Pattern[str]:
    """Compile a pattern that matches outside strings, as the first group."""
    return re.compile(rf"{TEXT}|{pattern}", re.DOTALL)


def _before(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"{pattern}|{TEXT}", re.DOTALL)


def _number(written: str) -> str:
    """Format a number as JSON."""
    digits = written.replace("_", "").removeprefix("+")
    if re.fullmatch(r"-?0[xXoObB]\w+", digits):
        return str(int(digits, 0))
    digits = re.sub(r"^(-?)\.", r"\g<1>0.", digits)
    return re.sub(r"\.(?!\d)", ".0", digits)


_SLIPS: tuple[tuple[str, re.Pattern[str], Callable[[str], str]], ...] = (
    ("Replace ' by \"", _outside(r"(?:\b[bBuU])?'((?:[^'\"\\\n]|\\.)*)'"), json.dumps),
    ('Write the straight "', _outside(rf"[{CURLY}]([^\"{CURLY}\\\n]*)[{CURLY}]"), json.dumps),
    ('Write one " on either side', _before(r'"""((?:[^"\\]|"(?!""))*)"""'), json.dumps),
    ("Write true, false and null", _outside(rf"\b({'|'.join(_PYTHON)})\b"), _PYTHON.__getitem__),
    ("Remove the comments", _outside(r"(//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z))"), lambda comment: ""),
    ("Put the names in quotes", _outside(r"([A-Za-z_$][\w$]*)(?=\s*:)"), json.dumps),
    (
        "Write the numbers as JSON",
        _outside(
            r"(?<![\w.])([-+]?0[xXoObB][\da-fA-F]+|-?\d+(?:_\d+)+|\+\d[\d.]*|-?\.\d+|"
            r"-?\d+\.(?![\d.]))"
        ),
        _number,
    ),
    ("Write lists", _outside(r"([()])"), {"(": "[", ")": "]"}.__getitem__),
    ("Remove the text before the quotes", _outside(r'\b([bBuU])(?=")'), lambda mark: ""),
    ("Write ordinary spaces", _outside(f"([{ODD_SPACES}])"), lambda space: " "),
    (
        "Remove text that is not part of the document",
        _outside(r"((?:\A|\n)\s*(?:```\w*|>>>)|\A\s*[A-Za-z_][\w. ]*=)"),
        lambda mark: "",
    ),
)
_CLOSING = {"{": "}", "[": "]"}
_ENDS = "}]"
_MEANT = dict.fromkeys("=\uff1d\uff1a", ":") | dict.fromkeys(";\uff1b\uff0c\u3001", ",")
_MEANT |= {"\t": "\\t", "\\": "\\\\"}
"""The replacement of a character where the text stops being valid JSON."""


def mend_json(text: str, at: int) -> Iterator[tuple[str, list[TextEdit]]]:
    """Yield the title of each fix, and its edits: character offsets and replacements."""
    failed = _failure(text)
    candidates = ((label, [(start, end, new)]) for label, start, end, new in _candidates(text, at))
    tried = {text}
    for label, edits in (*_slips(text), *candidates):
        mended = _applied(text, edits)
        if mended in tried or not mended.lstrip().startswith(("{", "[")):
            continue
        tried.add(mended)
        later, moved = _failure(mended), len(mended) - len(text)
        # What comes after an edit moves by its characters without having been mended.
        if failed is not None and (
            later is None or later - min(moved, 0) > max(failed, edits[-1][1]) + max(moved, 0)
        ):
            yield label, edits


def _applied(text: str, edits: list[TextEdit]) -> str:
    pieces, place = [], 0
    for start, end, insert in edits:
        pieces += [text[place:start], insert]
        place = end
    return "".join([*pieces, text[place:]])


def _slips(text: str) -> Iterator[tuple[str, list[TextEdit]]]:
    """Yield the fixes for mistakes of any position: Python quotes and words, comments."""
    for label, pattern, written in _SLIPS:
        found = (each for each in pattern.finditer(text) if each[1] is not None)
        if edits := [(*each.span(), written(each[1])) for each in found]:
            yield label, edits


def _candidates(text: str, at: int) -> Iterator[tuple[str, int, int, str]]:
    line_end = at + len(text[at:].partition("\n")[0])
    close = len(text[:line_end].rstrip(" ,\t\r]}"))
    yield 'Close the text with "', close, close, '"'
    end = len(text.rstrip())
    # an unfinished string should not become empty
    if not text[:end].endswith('"') and (open_ := _open_brackets(f'{text[:end]}"')):
        yield f'Close with "{open_}', end, end, f'"{open_}'
    before = len(text[:at].rstrip())
    last, here = text[before - 1 : before], text[at : at + 1]
    if open_ := _open_brackets(text):
        yield f"Close with {open_}", len(text.rstrip()), len(text.rstrip()), open_
    yield "Insert a comma", before, before, ","
    if last == ",":
        yield "Remove the comma", before - 1, before, ""
    if here == ",":
        yield "Remove the comma", at, at + 1, ""
    elif here in _ENDS:
        if (around := last_open(text, at)) is not None and _CLOSING[around] != here:
            yield f"Insert {_CLOSING[around]}", before, before, _CLOSING[around]
        yield f"Remove the {here}", at, at + 1, ""
    if here in _MEANT:
        yield f"Write {_MEANT[here]}", at, at + 1, _MEANT[here]
    yield "Insert a colon", before, before, ":"


def _open_brackets(text: str) -> str:
    """Return the brackets that close those still open at the end."""
    closing: list[str] = []
    for found in _TOKEN.finditer(text):
        mark = found[0]
        if mark in _CLOSING:
            closing.append(_CLOSING[mark])
        elif mark in _ENDS and closing and closing[-1] == mark:
            closing.pop()
    return "".join(reversed(closing))


def _failure(text: str) -> int | None:
    """Return the offset where the text stops being valid JSON, None if it is valid."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos
    except (ValueError, RecursionError):
        return 0
    return None


Mend = tuple[str, list[TextEdit]]  # What a fix does, in a few words, and its edits

_LONGEST = 1_000_000  # characters of a document for which fixes are computed
_NEAR = 1_000  # Characters before a value that hold its name
_BEFORE = re.compile(r'[,{](\s*)"[^"]*"\s*:\s*$')
_EXPRESSION = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_DIVISION = re.compile(r"(?<!/)/(?!/)")
_SINGLE = re.compile(r"(?<![{$])\{[A-Za-z_]\w*\}(?!\})")
_NAMED = re.compile(r"`([^`]+)`")
_FIRST_VALUES = {
    "key": '"x/{{i}}"', "url": '""', "dimensions": '{"i": {"stop": 1}}',
    "offset": '"0"', "length": '"1"',
}  # fmt: skip


def fixes(positions: TextPositions, note: Note, start: int, end: int) -> Iterator[Mend]:
    """Yield the fixes for a note; none if only a person can know."""
    text = positions.text
    if len(text) > _LONGEST:
        return
    match note.code:
        case "not-json" if note.line is not None:
            yield from mend_json(text, start)
        case "bad-version":
            yield "Write version 1", [(start, end, "1")]
        case "version-missing" if (opening := text.find("{")) >= 0:
            yield "Read it as version 1", [_first_property(text, opening, "version", "1")]
        case "template-in-v0":
            yield wrap(text)
        case "odd-encoding" if text.startswith("\ufeff"):
            yield "Remove the mark", [(0, 1, "")]
        case "bad-section" if note.pointer == "/gen" and text[start : start + 1] == "{":
            yield "Make it a list", [(start, start, "["), (end, end, "]")]
        case "gen-offset-length-pair":
            yield from _add_partner(positions, note)
        case _:
            yield from _fixes_of_value(text, note, start, end)


def _fixes_of_value(text: str, note: Note, start: int, end: int) -> Iterator[Mend]:
    match note.code:
        case "undefined-name" | "unknown-field":
            yield from _rename(text, note, start, end)
        case "gen-missing-field" if (name := _named(note.message)) in _FIRST_VALUES:
            yield f"Add {name}", [_first_property(text, start, name, _FIRST_VALUES[name])]
        case "gen-number-not-string" | "nonstandard-json-nan":
            yield "Write it as a string", [(start, end, f'"{text[start:end]}"')]
        case "gen-bad-int" if note.hint and "//" in note.hint:
            found = _inside_expressions(_DIVISION, text, start, end)
            yield "Use integer division", [(*place, "//") for place in found]
        case "gen-bad-dimension":
            yield from _mend_dimension(text[start:end], note, start, end)
        case "single-braces" if braces := list(_SINGLE.finditer(text, start, end)):
            doubled = [(*each.span(), f"{{{each[0]}}}") for each in braces]
            yield f"Write {{{braces[0][0]}}}", doubled


def _rename(text: str, note: Note, start: int, end: int) -> Iterator[Mend]:
    """Replace a name in expressions, or that of a field before its value."""
    old, new = _named(note.message), _named(note.hint)
    if old is None or new is None:
        return
    if note.code == "undefined-name":
        word, written = re.compile(rf"\b{re.escape(old)}\b"), new
        places = list(_inside_expressions(word, text, start, end))
    else:
        word, written = re.compile(rf'"{re.escape(old)}"(?=\s*:\s*\Z)'), json.dumps(new)
        places = [each.span() for each in word.finditer(text, max(0, start - _NEAR), start)]
    if places:
        yield f"Replace {old} by {new}", [(*place, written) for place in places]


def _add_partner(positions: TextPositions, note: Note) -> Iterator[Mend]:
    """Add the missing one of `offset` and `length`, directly after the other."""
    there, missing = _NAMED.findall(note.message)[:2]
    span = positions.span(note.pointer + pointer(there))
    if span is None:
        return
    before = _BEFORE.search(positions.text[max(0, span.start - _NEAR) : span.start])
    gap = before[1] if before else " "
    added = f",{gap or ' '}{json.dumps(missing)}: {_FIRST_VALUES[missing]}"
    yield f"Add {missing}", [(span.end, span.end, added)]


def wrap(text: str) -> Mend:
    """Return the fix that converts a version 0 document to version 1."""
    head = '{\n "version": 1,\n "templates": {},\n "refs": '
    return "Make it version 1", [(0, 0, head), (len(text), len(text), "\n}")]


def _named(sentence: str | None) -> str | None:
    """Return the first name in backquotes."""
    found = _NAMED.search(sentence or "")
    return None if found is None else found[1]


def _inside_expressions(
    part: re.Pattern[str], text: str, start: int, end: int
) -> Iterator[tuple[int, int]]:
    for expression in _EXPRESSION.finditer(text, start, end):
        for found in part.finditer(text, *expression.span()):
            yield found.span()


def _first_property(text: str, opening: int, name: str, value: str) -> TextEdit:
    """Insert a property after an opening brace, spaced like the next one."""
    blank = re.compile(r"\s*").match(text, opening + 1)
    gap = blank[0] if blank else ""
    place = opening + 1 + len(gap)
    is_only = text[place : place + 1] == "}"
    comma = "" if is_only else f",{gap or ' '}"
    return place, place, f"{json.dumps(name)}: {value}{comma}"


def _mend_dimension(written: str, note: Note, start: int, end: int) -> Iterator[Mend]:
    """Replace a number by a range, and another name for `stop` by `stop`."""
    if re.fullmatch(r"-?\d+", written):
        yield f'Write {{"stop": {written}}}', [(start, end, f'{{"stop": {written}}}')]
    names = _NAMED.findall(note.hint or "")
    if len(names) == 2:
        found = re.search(rf'"{re.escape(names[1])}"(?=\s*:)', written)
        if found is not None:
            place = (start + found.start(), start + found.end())
            yield f"Replace {names[1]} by {names[0]}", [(*place, json.dumps(names[0]))]


_HINTS = {
    "readers-differ": "Other readers are listed above.",
    "template-limit": "A template here is for a URL: make it shorter.",
}
"""Remedies in the editor, where the usual hint names a command or Python."""
_LIMIT = re.compile(
    r"(?<=\.) `Limits\.\w+` raises the limit\.|; `Limits\.\w+` raises the limit(?=\.)|"
    r" \(`Limits\.\w+`\)|"
    r", or raise `Limits\.\w+`(?=\.)"
)
"""Parts of sentences about a limit, which can only be raised in Python."""


def diagnostics_of_set(positions: TextPositions, refs: ReferenceSet) -> list[EditorDiagnostic]:
    """Locate the first notes of a set in the text that it was read from."""
    found = refs.diagnostics[:SHOWN]
    return [_at_pointer(note(refs, each), positions, each.pointer) for each in found]


def diagnostic_of_error(positions: TextPositions, error: RefexplorerError) -> EditorDiagnostic:
    """Locate an error that rejects the whole text: at its pointer, else at its line."""
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
    """Return the fix that converts a version 0 document to version 1."""
    return _fix(*wrap(positions.text), positions)


def sentence_of(error: RefexplorerError) -> str:
    """Remove the name of the source: there is only one text."""
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
    """Attach a note to a span of character offsets; for severity info, to the first line only."""
    mends = tuple(_fix(*mend, positions) for mend in fixes(positions, noted, start, end))
    hint = _HINTS.get(noted.code, _LIMIT.sub("", noted.hint or "") or None)
    said = structs.asdict(noted) | {"hint": hint}
    line_end = positions.text.find("\n", start, end) if noted.severity is Severity.INFO else -1
    first, last = positions.units(start), positions.units(end if line_end < 0 else line_end)
    last = last if first >= 0 else -1
    rule = CODES[noted.code].rule or None
    return EditorDiagnostic(**said, from_=first, to=last, fixes=mends, rule=rule)


def _fix(label: str, edits: list[TextEdit], positions: TextPositions) -> Fix:
    at = positions.units
    return Fix(label, tuple(Change(at(start), at(end), new) for start, end, new in edits))
