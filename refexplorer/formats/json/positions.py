"""The position of a JSON pointer's value in a JSON text, looked up on demand.

Nothing is recorded during parsing, so positions cost nothing until they are needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from refexplorer.core.files import Readable
from refexplorer.spec.findings import parts_of

_BLOCK = 4 * 2**20  # bytes that are searched for a key at a time
_SHOWN = 64 * 2**10  # bytes of the excerpt around a position
_BLANK = re.compile(r"[ \t\r\n]*")
_COLON = re.compile(rb"\s*:\s*")
_DECODER = json.JSONDecoder(strict=False)  # Finds the end of a value faster than by its brackets
TEXT = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'  # A JSON text; possessive, to save memory with long ones
_TOKEN = re.compile(rf'[ \t\r\n]*(?:({TEXT})|([{{}}\[\]:,])|([^\s{{}}\[\]:,"]+))', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Span:
    """A span of text: character offsets, end exclusive; line and column from 1."""

    start: int
    end: int
    line: int
    column: int


class Positions:
    """Finds values in a text; a container is scanned only once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.start = _skip_blank(text, 0)
        self._members: dict[int, dict[str, int] | None] = {}

    def locate(self, pointer: str) -> Span | None:
        """Find the value at a JSON pointer, or the last one along it; None in invalid JSON."""
        # If the pointer leads further than the text, the last value along it is returned; None if
        # the text is not valid JSON up to the end of that container.
        start = self.start
        for part in parts_of(pointer):
            members = self.members(start)
            if members is None:
                return None
            found = members.get(part)
            if found is None:
                break
            start = found
        try:
            return span(self.text, start, end_of_value(self.text, start))
        except Broken:
            return None

    def members(self, start: int) -> dict[str, int] | None:
        """Return where the members of a container begin, by name or index; None if it is broken."""
        # Members of a list are named by index; values that are no containers have no members.
        if start not in self._members:
            try:
                self._members[start] = dict(_members(self.text, start))
            except Broken:
                self._members[start] = None
        return self._members[start]


def locate(text: str, pointer: str) -> Span | None:
    """Find one value, like `Positions.locate`."""
    return Positions(text).locate(pointer)


@dataclass(frozen=True, slots=True)
class Found:
    """A value in a large text: line and column (in bytes) from 1, and an excerpt."""

    line: int
    column: int
    text: str


def find_in_stream(stream: Readable, pointer: str) -> Found | None:
    """Find a value by the last key in the text that equals the end of the pointer."""
    # In a text of millions of lines, parsing up to the position takes seconds and keeping the text
    # takes its size in memory; this avoids both, and is wrong only if a later object has a key of
    # the same name.
    *_, name = ["", *parts_of(pointer)]
    plain = json.dumps(name, ensure_ascii=False)
    spellings = plain, plain.replace("/", "\\/")
    spelling, escaped = (text.encode("utf-8", "surrogatepass") for text in spellings)
    found: Found | None = None
    line, begin, base, block = 1, 0, 0, b""
    while more := stream.read(_BLOCK):
        block += more
        place = _last_value(block, spelling)
        if escaped != spelling and b"\\" in block:
            place = max(place, _last_value(block, escaped))
        if place >= 0:
            column = base + place - _line_start(block, place, base, begin) + 1
            rest = block[place : place + _SHOWN].decode(errors="replace")
            found = Found(line + block.count(b"\n", 0, place), column, rest)
        cut = max(0, len(block) - _SHOWN)
        begin = _line_start(block, cut, base, begin)
        line, base, block = line + block.count(b"\n", 0, cut), base + cut, block[cut:]
    return found


def _last_value(block: bytes, key: bytes) -> int:
    """Return where the value of the last such key starts, -1 if there is none."""
    place = block.rfind(key)
    while place >= 0:
        colon = _COLON.match(block, place + len(key))
        if colon:
            return colon.end()
        place = block.rfind(key, 0, place + len(key) - 1)
    return -1


def _line_start(block: bytes, place: int, base: int, begin: int) -> int:
    """Return the start of the line at an offset: in this block (from `base`) or before."""
    newline = block.rfind(b"\n", 0, place)
    return begin if newline < 0 else base + newline + 1


def span(text: str, start: int, end: int) -> Span:
    """Return the span between two offsets, with line and column of its start."""
    line = text.count("\n", 0, start) + 1
    return Span(start, end, line, start - text.rfind("\n", 0, start))


class Broken(Exception):
    """The text is not valid JSON at this position."""


def _skip_blank(text: str, start: int) -> int:
    match = _BLANK.match(text, start)
    return match.end() if match else start


def _token(text: str, start: int) -> re.Match[str]:
    match = _TOKEN.match(text, start)
    if match is None:
        raise Broken
    return match


def end_of_value(text: str, start: int) -> int:
    """Return where the value that begins at `start` ends; raise `Broken` if it does not end."""
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return _end_of_brackets(text, start)


def _end_of_brackets(text: str, start: int) -> int:
    """Return the end of a value that Python cannot parse, by its brackets only."""
    depth = 0
    place = start
    while True:
        match = _token(text, place)
        place = match.end()
        mark = match[2]
        if mark in ("{", "["):
            depth += 1
        elif mark in ("}", "]"):
            depth -= 1
        if depth <= 0:
            return place


def _members(text: str, start: int) -> Iterator[tuple[str, int]]:
    """Yield the members of a container and where their values start."""
    opening = _token(text, start)
    if opening[2] not in ("{", "["):
        return
    is_object = opening[2] == "{"
    place, number = opening.end(), 0
    while (match := _token(text, place))[2] not in ("}", "]"):
        if match[2] == ",":
            match = _token(text, match.end())
        if is_object:
            name, value = _text_of(match), _skip_blank(text, _token(text, match.end()).end())
        else:
            name, value = str(number), _skip_blank(text, match.start())
        yield name, value
        place = end_of_value(text, value)
        number += 1


def first_member(text: str, skipped: Callable[[str], bool]) -> tuple[str, int]:
    """Return the first member of the outermost object that is not skipped."""
    opening = _token(text, 0)
    if opening[2] != "{":
        raise Broken
    match = _token(text, opening.end())
    while skipped(name := _text_of(match)):
        place = end_of_value(text, _skip_blank(text, _token(text, match.end()).end()))
        comma = _token(text, place)
        match = _token(text, comma.end())
    return name, _skip_blank(text, _token(text, match.end()).end())


def _text_of(match: re.Match[str]) -> str:
    if match[1] is None:
        raise Broken
    if "\\" not in match[1]:
        return match[1][1:-1]
    try:
        return str(json.loads(match[1]))
    except ValueError:
        raise Broken from None
