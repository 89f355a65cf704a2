"""Ways to mend a text that is no JSON; each is tried, and offered if it gets further."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from refexplorer.formats.json.positions import TEXT

_TOKEN = re.compile(rf"{TEXT}|[{{}}\[\]]", re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_ENDS = "}]"


def mend_json(text: str, at: int) -> Iterator[tuple[str, list[tuple[int, int, str]]]]:
    """Yield what each fix does, and its edits: offsets of characters and what to write there.

    Parameters
    ----------
    at
        Offset of the character that cannot be read.
    """
    failed = _failure(text)
    for label, start, end, insert in _candidates(text, at):
        later = _failure(text[:start] + insert + text[end:])
        # An added character moves what comes after it by one without having mended anything.
        if failed is not None and (later is None or later > max(failed, end) + 1):
            yield label, [(start, end, insert)]


def _candidates(text: str, at: int) -> Iterator[tuple[str, int, int, str]]:
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
