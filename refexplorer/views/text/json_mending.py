"""Ways to mend a text that is no JSON; each is tried, and offered if it gets further."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from refexplorer.formats.json.positions import TEXT

TextEdit = tuple[int, int, str]
"""Offsets of the characters to replace, end exclusive, and what to write in their place."""
_TOKEN = re.compile(rf"{TEXT}|[{{}}\[\]]", re.DOTALL)
_SINGLE_QUOTED = re.compile(rf"{TEXT}|'((?:[^'\"\\\n]|\\.)*)'", re.DOTALL)
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_WORD = re.compile(rf"{TEXT}|\b({'|'.join(_PYTHON)})\b", re.DOTALL)
_COMMENT = re.compile(rf"{TEXT}|(//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z))", re.DOTALL)
_SLIPS: tuple[tuple[str, re.Pattern[str], Callable[[str], str]], ...] = (
    ("Replace ' by \"", _SINGLE_QUOTED, json.dumps),
    ("Write true, false and null", _WORD, _PYTHON.__getitem__),
    ("Remove the comments", _COMMENT, lambda comment: ""),
)
_CLOSING = {"{": "}", "[": "]"}
_ENDS = "}]"


def mend_json(text: str, at: int) -> Iterator[tuple[str, list[TextEdit]]]:
    """Yield what each fix does, and its edits: offsets of characters and what to write there.

    Parameters
    ----------
    at
        Offset of the character that cannot be read.
    """
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
    """Yield what mends a slip wherever it is made: quotes and words of Python, comments."""
    for label, pattern, written in _SLIPS:
        found = (each for each in pattern.finditer(text) if each[1] is not None)
        if edits := [(*each.span(), written(each[1])) for each in found]:
            yield label, edits


def _candidates(text: str, at: int) -> Iterator[tuple[str, int, int, str]]:
    line_end = at + len(text[at:].partition("\n")[0])
    close = len(text[:line_end].rstrip(" ,\t\r]}"))
    yield 'Close the text with "', close, close, '"'
    before = len(text[:at].rstrip())
    last, here = text[before - 1 : before], text[at : at + 1]
    if open_ := _open_brackets(text):
        yield f"Close with {open_}", len(text.rstrip()), len(text.rstrip()), open_
    yield "Insert a comma", before, before, ","
    if last == ",":
        yield "Remove the comma", before - 1, before, ""
    if here == "," or here in _ENDS:
        yield f"Remove the {here}", at, at + 1, ""
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
    """Return the offset where the text stops being JSON, None if it is JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos
    except (ValueError, RecursionError):
        return 0
    return None
