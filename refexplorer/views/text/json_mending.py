"""Ways to mend a text that is no JSON; each is tried, and offered if it gets further."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from refexplorer.formats.json.positions import TEXT
from refexplorer.formats.json.slips import CURLY, ODD_SPACES, last_open

TextEdit = tuple[int, int, str]
"""Offsets of the characters to replace, end exclusive, and what to write in their place."""
_TOKEN = re.compile(rf"{TEXT}|[{{}}\[\]]", re.DOTALL)
_PYTHON = {"True": "true", "False": "false", "None": "null", "undefined": "null"}


def _outside(pattern: str) -> re.Pattern[str]:
    """Compile what is looked for outside of texts, as the first group."""
    return re.compile(rf"{TEXT}|{pattern}", re.DOTALL)


def _number(written: str) -> str:
    """Write a number as JSON has it."""
    digits = written.replace("_", "").removeprefix("+")
    if re.fullmatch(r"-?0[xXoObB]\w+", digits):
        return str(int(digits, 0))
    digits = re.sub(r"^(-?)\.", r"\g<1>0.", digits)
    return re.sub(r"\.(?!\d)", ".0", digits)


_SLIPS: tuple[tuple[str, re.Pattern[str], Callable[[str], str]], ...] = (
    (
        "Replace ' by \"",
        _outside(r"(?:\b[bBuU])?'((?:[^'\"\\\n]|\\.)*)'"),
        json.dumps,
    ),
    (
        'Write the straight "',
        _outside(rf"[{CURLY}]([^\"{CURLY}\\\n]*)[{CURLY}]"),
        json.dumps,
    ),
    (
        'Write one " on either side',
        re.compile(rf'"""((?:[^"\\]|"(?!""))*)"""|{TEXT}', re.DOTALL),
        json.dumps,
    ),
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
    ("Remove what stands before the quotes", _outside(r'\b([bBuU])(?=")'), lambda mark: ""),
    ("Write ordinary spaces", _outside(f"([{ODD_SPACES}])"), lambda space: " "),
    (
        "Remove what is not of the document",
        _outside(r"((?:\A|\n)\s*(?:```\w*|>>>)|\A\s*[A-Za-z_][\w. ]*=)"),
        lambda mark: "",
    ),
)
_CLOSING = {"{": "}", "[": "]"}
_ENDS = "}]"
_MEANT = {
    "=": ":",
    "\uff1d": ":",
    "\uff1a": ":",
    ";": ",",
    "\uff1b": ",",
    "\uff0c": ",",
    "\u3001": ",",
    "\t": "\\t",
    "\\": "\\\\",
}
"""What is written in place of a character where the text stops being JSON."""


def mend_json(text: str, at: int) -> Iterator[tuple[str, list[TextEdit]]]:
    """Yield what each fix does, and its edits: offsets of characters and what to write there."""
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
    end = len(text.rstrip())
    # what was only begun is not to be an empty text
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
    """Return the offset where the text stops being JSON, None if it is JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos
    except (ValueError, RecursionError):
        return 0
    return None
