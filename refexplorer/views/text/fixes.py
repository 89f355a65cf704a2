"""Ways to mend what a diagnostic is about, each as changes of the text.

A fix is offered only where what to write follows from the text and the diagnostic; the names
that it needs are those in backquotes of the diagnostic's sentences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from refexplorer.spec.diagnostics import pointer
from refexplorer.views.text.json_mending import TextEdit, mend_json
from refexplorer.views.text.text_positions import TextPositions
from refexplorer.views.wire.models import Note

Mend = tuple[str, list[TextEdit]]
"""What a fix does, in a few words, and its edits."""

_LONGEST = 1_000_000
_NEAR = 1_000
"""Characters before a value that hold its name."""
_BEFORE = re.compile(r'[,{](\s*)"[^"]*"\s*:\s*$')
_EXPRESSION = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_DIVISION = re.compile(r"(?<!/)/(?!/)")
_SINGLE = re.compile(r"(?<![{$])\{[A-Za-z_]\w*\}(?!\})")
_NAMED = re.compile(r"`([^`]+)`")
_FIRST_VALUES = {
    "key": '"x/{{i}}"',
    "url": '""',
    "dimensions": '{"i": {"stop": 1}}',
    "offset": '"0"',
    "length": '"1"',
}


def fixes(positions: TextPositions, note: Note, start: int, end: int) -> list[Mend]:
    """Return the fixes for a note; none where only a person can know."""
    find = _FIXES.get(note.code)
    return (
        []
        if find is None or len(positions.text) > _LONGEST
        else list(find(positions, note, start, end))
    )


def _rename(positions: TextPositions, note: Note, start: int, end: int) -> Iterator[Mend]:
    old, new = _named(note.message), _named(note.hint)
    if old is None or new is None:
        return
    word = re.compile(rf"\b{re.escape(old)}\b")
    edits = [(*found, new) for found in _inside_expressions(word, positions.text, start, end)]
    if edits:
        yield f"Replace {old} by {new}", edits


def _divide_whole(positions: TextPositions, note: Note, start: int, end: int) -> Iterator[Mend]:
    if note.hint and "//" in note.hint:
        found = _inside_expressions(_DIVISION, positions.text, start, end)
        yield "Use integer division", [(*place, "//") for place in found]


def _rename_field(positions: TextPositions, note: Note, start: int, end: int) -> Iterator[Mend]:
    old, new = _named(note.message), _named(note.hint)
    if old is None or new is None:
        return
    before = max(0, start - _NEAR)
    found = re.search(rf'"{re.escape(old)}"(?=\s*:\s*$)', positions.text[before:start])
    if found is not None:
        place = (found.start() + before, found.end() + before)
        yield f"Replace {old} by {new}", [(*place, json.dumps(new))]


def _add_field(positions: TextPositions, note: Note, start: int, end: int) -> Iterator[Mend]:
    name = _named(note.message)
    if name in _FIRST_VALUES:
        yield f"Add {name}", [_first_property(positions.text, start, name, _FIRST_VALUES[name])]


def _add_partner(positions: TextPositions, note: Note, start: int, end: int) -> Iterator[Mend]:
    """Add the one of `offset` and `length` that is missing, right behind the other."""
    there, missing = _NAMED.findall(note.message)[:2]
    span = positions.span(note.pointer + pointer(there))
    if span is None:
        return
    before = _BEFORE.search(positions.text[max(0, span.start - _NEAR) : span.start])
    gap = before[1] if before else " "
    added = f",{gap or ' '}{json.dumps(missing)}: {_FIRST_VALUES[missing]}"
    yield f"Add {missing}", [(span.end, span.end, added)]


def _quote(positions: TextPositions, note: Note, start: int, end: int) -> Iterator[Mend]:
    yield "Write it as a string", [(start, end, f'"{positions.text[start:end]}"')]


def _add_version(positions: TextPositions, note: Note, start: int, end: int) -> Iterator[Mend]:
    opening = positions.text.find("{")
    if opening >= 0:
        yield "Read it as version 1", [_first_property(positions.text, opening, "version", "1")]


def _set_version(positions: TextPositions, note: Note, start: int, end: int) -> Iterator[Mend]:
    yield "Write version 1", [(start, end, "1")]


def _wrap(positions: TextPositions, note: Note, start: int, end: int) -> Iterator[Mend]:
    yield wrap(positions.text)


def wrap(text: str) -> Mend:
    """Return the fix that makes a version 0 document one of version 1."""
    head = '{\n "version": 1,\n "templates": {},\n "refs": '
    return "Make it version 1", [(0, 0, head), (len(text), len(text), "\n}")]


def _mend(positions: TextPositions, note: Note, start: int, end: int) -> Iterator[Mend]:
    if note.line is not None:
        yield from mend_json(positions.text, start)


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
    """Write a property right after an opening brace, spaced as the one that follows."""
    blank = re.compile(r"\s*").match(text, opening + 1)
    gap = blank[0] if blank else ""
    place = opening + 1 + len(gap)
    is_only = text[place : place + 1] == "}"
    comma = "" if is_only else f",{gap or ' '}"
    return place, place, f"{json.dumps(name)}: {value}{comma}"


def _mend_dimension(positions: TextPositions, note: Note, start: int, end: int) -> Iterator[Mend]:
    """Write a number as a range, and another name of `stop` as it."""
    written = positions.text[start:end]
    if re.fullmatch(r"-?\d+", written):
        yield f'Write {{"stop": {written}}}', [(start, end, f'{{"stop": {written}}}')]
    names = _NAMED.findall(note.hint or "")
    if len(names) == 2:
        found = re.search(rf'"{re.escape(names[1])}"(?=\s*:)', written)
        if found is not None:
            place = (start + found.start(), start + found.end())
            yield f"Replace {names[1]} by {names[0]}", [(*place, json.dumps(names[0]))]


def _list_gen(positions: TextPositions, note: Note, start: int, end: int) -> Iterator[Mend]:
    if note.pointer == "/gen" and positions.text[start : start + 1] == "{":
        yield "Make it a list", [(start, start, "["), (end, end, "]")]


def _double_braces(positions: TextPositions, note: Note, start: int, end: int) -> Iterator[Mend]:
    found = list(_SINGLE.finditer(positions.text, start, end))
    if found:
        edits = [(each.start(), each.end(), f"{{{each[0]}}}") for each in found]
        yield f"Write {{{found[0][0]}}}", edits


def _remove_mark(positions: TextPositions, note: Note, start: int, end: int) -> Iterator[Mend]:
    if positions.text.startswith("\ufeff"):
        yield "Remove the mark", [(0, 1, "")]


_FIXES: dict[str, Callable[[TextPositions, Note, int, int], Iterator[Mend]]] = {
    "not-json": _mend,
    "bad-version": _set_version,
    "version-missing": _add_version,
    "template-in-v0": _wrap,
    "undefined-name": _rename,
    "unknown-field": _rename_field,
    "gen-missing-field": _add_field,
    "gen-offset-length-pair": _add_partner,
    "gen-number-not-string": _quote,
    "nonstandard-json-nan": _quote,
    "odd-encoding": _remove_mark,
    "gen-bad-int": _divide_whole,
    "gen-bad-dimension": _mend_dimension,
    "bad-section": _list_gen,
    "single-braces": _double_braces,
}
