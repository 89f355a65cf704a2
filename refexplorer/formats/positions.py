"""Where in a JSON text the value of a JSON pointer stands, looked up only when asked.

Nothing is kept while a document is parsed, so positions cost nothing until someone wants one.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

_BLOCK = 4 * 2**20
_SHOWN = 64 * 2**10
_TOKEN = re.compile(r'[ \t\r\n]*(?:("(?:[^"\\]|\\.)*")|([{}\[\]:,])|([^\s{}\[\]:,"]+))', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a text: offsets of characters, end exclusive; line and column from 1."""

    start: int
    end: int
    line: int
    column: int


def locate(text: str, pointer: str) -> Span | None:
    """Find the value that a JSON pointer (RFC 6901) names; of equal keys the last one.

    Where the pointer leads further than the text, the last value on its way is given; a text
    that is no JSON up to that place gives None.
    """
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    start = _skip_blank(text, 0)
    for part in parts:
        try:
            found = _member(text, start, part)
        except Broken:
            return None
        if found is None:
            break
        start = found
    try:
        end = end_of_value(text, start)
    except Broken:
        return None
    return span(text, start, end)


@dataclass(frozen=True, slots=True)
class Found:
    """A value in a large text: line and column (in bytes) from 1, and the text there, cut."""

    line: int
    column: int
    text: str


def find_in_stream(stream: BinaryIO, pointer: str) -> Found | None:
    """Find the value that a JSON pointer names, by the last key that is spelt like its end.

    In a text of millions of lines, walking to the place costs seconds and holding the text costs
    its size; this costs neither, and goes wrong only where another object further on has a key
    of the same name.
    """
    name = pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    plain = json.dumps(name, ensure_ascii=False)
    spellings = b"|".join({re.escape(text.encode()) for text in _spellings(plain)})
    spelt = re.compile(rb"(?:" + spellings + rb")\s*:\s*")
    found: Found | None = None
    line, begin, base, block = 1, 0, 0, b""
    while more := stream.read(_BLOCK):
        block += more
        last = deque(spelt.finditer(block), maxlen=1)
        if last:
            place = last[0].end()
            column = base + place - _line_start(block, place, base, begin) + 1
            rest = block[place : place + _SHOWN].decode(errors="replace")
            found = Found(line + block.count(b"\n", 0, place), column, rest)
        cut = max(0, len(block) - _SHOWN)
        begin = _line_start(block, cut, base, begin)
        line, base, block = line + block.count(b"\n", 0, cut), base + cut, block[cut:]
    return found


def _line_start(block: bytes, place: int, base: int, begin: int) -> int:
    """Return where the line of a place begins: in this block, which is at `base`, or before."""
    newline = block.rfind(b"\n", 0, place)
    return begin if newline < 0 else base + newline + 1


def _spellings(text: str) -> tuple[str, str]:
    return text, text.replace("/", "\\/")


def span(text: str, start: int, end: int) -> Span:
    """Return the span between two offsets, with line and column of its start."""
    line = text.count("\n", 0, start) + 1
    return Span(start, end, line, start - text.rfind("\n", 0, start))


class Broken(Exception):
    """The text is not JSON at this place."""


def _skip_blank(text: str, start: int) -> int:
    match = re.compile(r"[ \t\r\n]*").match(text, start)
    return match.end() if match else start


def _token(text: str, start: int) -> re.Match[str]:
    match = _TOKEN.match(text, start)
    if match is None:
        raise Broken
    return match


def end_of_value(text: str, start: int) -> int:
    """Return where the value that begins at `start` ends; `Broken` if it does not."""
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


def _member(text: str, start: int, part: str) -> int | None:
    """Return where a member of the container at `start` begins, None if there is none."""
    opening = _token(text, start)
    if opening[2] not in ("{", "["):
        return None
    is_object = opening[2] == "{"
    place, number, found = opening.end(), 0, None
    while True:
        match = _token(text, place)
        if match[2] in ("}", "]"):
            return found
        if match[2] == ",":
            match = _token(text, match.end())
        name = str(number)
        value = match.start() + len(match[0]) - len(match[0].lstrip())
        if is_object:
            name = _text_of(match)
            value = _skip_blank(text, _token(text, match.end()).end())
        if name == part:
            found = value
            if not is_object:
                return found
        place = end_of_value(text, value)
        number += 1


def first_member(text: str, skipped: Callable[[str], bool]) -> tuple[str, int]:
    """Return the first member of the outermost object that is not skipped.

    Returns
    -------
    name, place
        Its name, and where its value begins.

    Raises
    ------
    Broken
        If the text ends before.
    """
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
    try:
        return str(json.loads(match[1]))
    except ValueError:
        raise Broken from None
