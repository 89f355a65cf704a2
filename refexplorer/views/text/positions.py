"""Positions in a JSON text, as editors count them: in UTF-16 code units."""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.core.text import size_text
from refexplorer.formats.json.positions import TEXT, Positions, Span
from refexplorer.spec.findings import pointer as pointer_to

LONGEST = 20_000_000  # Characters of a text that is formatted
_WIDTH = 70  # columns of a line of formatted JSON
_TOKEN = re.compile(rf'{TEXT}|[{{}}\[\],:]|[^\s{{}}\[\],:"]+', re.DOTALL)
_OPENING = {"{": "}", "[": "]"}
Member = tuple[str, "JsonPart"]  # What stands before a value, such as its name, and the value
JsonPart = str | tuple[str, list[Member]]  # A token, or an opening bracket with what is in it


class Window(Struct, frozen=True):
    """The displayed lines of a large document, which cannot be edited."""

    # start, stop: Offsets of its characters in the document
    start: int
    stop: int
    first: int  # Its first line, from 1
    sentence: str  # What is shown, of how much


def formatted(text: str) -> str:
    """Return a text with one member per line, short ones joined; values are kept as written."""
    if len(text) > LONGEST:
        said = (
            f"The text has {size_text(len(text))}, and at most {size_text(LONGEST)} are formatted."
        )
        raise LimitError(said)
    try:
        json.loads(text)
        tokens = (found[0] for found in _TOKEN.finditer(text))
        return "\n".join(_lines(_node(next(tokens), tokens), "", 0)) + "\n"
    except RecursionError:
        raise LimitError("The text is nested too deeply to be formatted.") from None
    except ValueError:
        raise RefexplorerError("The text is not JSON yet, so it cannot be formatted.") from None


def _node(token: str, tokens: Iterator[str]) -> JsonPart:
    if token not in _OPENING:
        return token
    members: list[Member] = []
    for inner in tokens:
        if inner == _OPENING[token]:
            break
        if inner == ",":
            continue
        if token == "{":
            next(tokens)  # the colon
            members.append((f"{inner}: ", _node(next(tokens), tokens)))
        else:
            members.append(("", _node(inner, tokens)))
    return token, members


def _lines(node: JsonPart, before: str, depth: int) -> Iterator[str]:
    """Yield the lines of a value, after the text before it."""
    indent = "  " * depth
    inline = None if _is_open(node, depth) else _inline(node, _WIDTH - len(indent) - len(before))
    if isinstance(node, str) or inline is not None:
        yield f"{indent}{before}{node if isinstance(node, str) else inline}"
        return
    opening, members = node
    yield f"{indent}{before}{opening}"
    for number, (name, member) in enumerate(members, 1):
        *first, last = _lines(member, name, depth + 1)
        yield from first
        yield last + ("," if number < len(members) else "")
    yield f"{indent}{_OPENING[opening]}"


def _is_open(node: JsonPart, depth: int) -> bool:
    """Return whether a value has its own lines: the document, and its sections."""
    if isinstance(node, str) or not node[1]:
        return False
    return depth == 0 or (depth == 1 and any(not isinstance(each, str) for _, each in node[1]))


def _inline(node: JsonPart, room: int) -> str | None:
    """Return a value on one line, None if it does not fit; a list of values always fits."""
    if isinstance(node, str):
        return node
    opening, members = node
    is_plain = opening == "[" and all(isinstance(each, str) for _, each in members)
    pieces: list[str] = []
    for name, member in members:
        piece = _inline(member, room)
        if piece is None:
            return None
        pieces.append(f"{name}{piece}")
        room -= len(pieces[-1]) + 2
        if room < 0 and not is_plain:
            return None
    return f"{opening}{', '.join(pieces)}{_OPENING[opening]}"


_HELP = tomllib.loads(Path(__file__).with_name("help.toml").read_text(encoding="utf-8"))
PART_HELP: Mapping[str, str] = {
    pointer: f'{text} Reference specification, "Version 1".'
    for pointer, text in _HELP["parts"].items()
}
FILTER_HELP: Mapping[str, str] = _HELP["filters"]
_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_CHARACTER = re.compile(rf"{_PAIR}|\\u[0-9a-fA-F]{{4}}|\\.|.", re.DOTALL)
"""One character of a JSON string, however it is written."""

_NAME = re.compile(rf"[ \t]*({TEXT}[ \t]*:[ \t]*)\Z")
"""All of a line before the value of a property."""
_LINES = 6  # As many lines stand for themselves

_PAIRED = re.compile("[\U00010000-\U0010ffff]")  # Characters that are two code units

TextRange = tuple[int, int]  # First code unit, and last exclusive


class TextPositions:
    """Finds values and parts of values in one document."""

    def __init__(self, text: str, window: Window | None = None) -> None:
        self.text = text
        self._window = window
        self._positions = Positions(text)
        self._paired = [] if text.isascii() else [m.start() for m in _PAIRED.finditer(text)]

    def units(self, offset: int) -> int:
        """Return the code units before a character; -1 if it is not shown."""
        units = offset + bisect_left(self._paired, offset)
        if self._window is None:
            return units
        if not self._window.start <= offset <= self._window.stop:
            return -1
        return units - self._window.start - bisect_left(self._paired, self._window.start)

    def span(self, pointer: str) -> Span | None:
        """Return the character span of the value at a JSON pointer."""
        return self._positions.locate(pointer)

    def section(self, name: str) -> dict[str, str]:
        """Return the members of a section of the document, as written."""
        pointer = pointer_to(name)
        sections = self._positions.members(
            self._positions.start
        )  # searching up to its end takes twice as long
        names = self._positions.members(sections[name]) if sections and name in sections else None
        found = ((name, self.span(pointer + pointer_to(name))) for name in names or ())
        return {name: self.text[one.start : one.end] for (name, one) in found if one is not None}

    def value(self, pointer: str) -> TextRange | None:
        """Return the position of the value at a JSON pointer."""
        span = self.span(pointer)
        return None if span is None else self._shown(span.start, span.end)

    def _shown(self, start: int, end: int) -> TextRange | None:
        place = (self.units(start), self.units(end))
        return None if min(place) < 0 else place

    def seen_at(self, pointer: str) -> TextRange | None:
        """Return the position of a value; if it has many lines, the first, with its name."""
        span = self.span(pointer)
        if span is None:
            return None
        start, end = span.start, span.end
        if self.text.count("\n", start, end) >= _LINES:
            end = self.text.index("\n", start)
            if name := _NAME.search(self.text, self.text.rfind("\n", 0, start) + 1, start):
                start = name.start(1)
        return self._shown(start, end)

    def inside(self, pointer: str, parts: Sequence[tuple[int, int]]) -> list[TextRange] | None:
        """Return the positions of parts of a text value."""
        span = self.span(pointer)
        if span is None or self.text[span.start] != '"':
            return None
        starts = [
            found.start() for found in _CHARACTER.finditer(self.text, span.start + 1, span.end - 1)
        ]
        starts.append(span.end - 1)
        if any(end >= len(starts) for _, end in parts):
            return None
        found = [self._shown(starts[start], starts[end]) for start, end in parts]
        places = [place for place in found if place is not None]
        return places if len(places) == len(found) else None


LARGEST = 2_000_000  # Characters of a document that is edited as a whole
LINES = 2_000  # lines of a large document that are shown around a place
CHARACTERS = 200_000  # and characters, since a document may be one line


def window_of(text: str, line: int = 1) -> Window | None:
    """Return the window with a line near its middle; None for a text shown completely."""
    if len(text) <= LARGEST:
        return None
    total = text.count("\n") + 1
    first = max(1, min(line, total) - LINES // 2)
    start = _line_start(text, first)
    stop = start
    for _ in range(LINES):
        end = text.find("\n", stop)
        stop = len(text) if end < 0 else end + 1
        if end < 0 or stop - start > CHARACTERS:
            break
    stop = min(stop, start + CHARACTERS)
    last = first + text.count("\n", start, stop)
    return Window(
        start,
        stop,
        first,
        f"The document has {size_text(len(text))}: only lines {first:,} to {min(last, total):,} "
        f"of {total:,} are shown, and they cannot be edited here.",
    )


def _line_start(text: str, line: int) -> int:
    place = 0
    for _ in range(line - 1):
        place = text.find("\n", place) + 1
    return place
