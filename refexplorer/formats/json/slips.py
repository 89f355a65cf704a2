"""The mistake in a text that is not valid JSON."""

from __future__ import annotations

import json
import re
import string
from typing import NamedTuple

from refexplorer.core.errors import SpecError
from refexplorer.formats.json.positions import TEXT, span

_OF_A_WORD = f"{string.ascii_letters}{string.digits}_.+-"
_LONGEST_WORD = 40  # characters of a misspelt word that a message quotes
BRACKET = re.compile(rf"{TEXT}|([\[{{])|([\]}}])", re.DOTALL)
CURLY = r"\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02"  # Quotes that word processors write
ODD_SPACES = r"\u00a0\u1680\u2000-\u200d\u202f\u205f\u2060\u3000\ufeff"  # Spaces that JSON lacks
# the search begins at the start of the text
_FAR = 2**22
_OPENED_BY = {"}": "{", "]": "["}


class Slip(NamedTuple):
    """The position of a mistake and a clause that describes it."""

    start: int
    sentence: str


_NO_COMMENTS = "JSON has no comments"
_NO_BRACE = "a reference set in JSON begins with {"
_AT = (
    (r"//|/\*|#", _NO_COMMENTS),
    (r"```", "``` marks code in Markdown and is not part of the document"),
    (r">>>", "the prompt >>>, as Python shows it, is not part of the document"),
    (r"['`\u2018\u2019\u201a]", 'use ", not {0}'),
    (f"[{CURLY}]", 'use the straight ", not {0}'),
    (r"\.\.\.|\u2026", "{0} is a placeholder for something omitted"),
    (r"[\uff1a\uff1d=](?=\s*[\[{{\"\u201c'\w-])", "use : between a name and its value, not {0}"),
    (r"[\uff1b;\uff0c\u3001]", "use , between values, not {0}"),
    (r"\(", "JSON has no tuples; write a list, [ ]"),
    (f"[{ODD_SPACES}]", "use an ordinary space"),
)
_WORDS = (
    (r"(?:True|False|None)\b", "use {lower}, not {0}"),
    (r"undefined\b", "JSON has no undefined; write null, or leave the name out"),
    (r"[-+]?0[xX][0-9A-Fa-f]+\b", "JSON has no hexadecimal numbers; write {integer}"),
    (r"[-+]?0[oO][0-7]+\b", "JSON has no octal numbers; write {integer}"),
    (r"[-+]?0[bB][01]+\b", "JSON has no binary numbers; write {integer}"),
    (r"-?0\d+", "a number does not begin with 0"),
    (r"-?\d+(?:_\d+)+\b", "digits of a number are not divided by _"),
    (r"\+\s*[\d.]", "a number has no +"),
    (r"-?\.\d", "a number has a digit before its point"),
    (r"-?\d+\.(?!\d)", "a number has a digit after its point"),
    (r"[bBfFrRuU]{1,2}(?=[\"'])", "a text has no {0} before its quotes"),
)
_ASSIGNED = re.compile(r"(?:(?:var|let|const)\s+)?[A-Za-z_][\w.]*\s*=")
_NAME = re.compile(r"[^\W\d][\w.\-]*")
_AT_POSITION = [(re.compile(pattern), sentence) for pattern, sentence in _AT]
_FROM_WORD = [(re.compile(pattern), sentence) for pattern, sentence in _WORDS]


def slip(text: str, at: int, said: str) -> Slip | None:
    """Describe the mistake in invalid JSON; None if it is not a common one."""
    if said.startswith("Invalid control character"):
        return Slip(at, _control(text[at]))
    if said.startswith("Invalid \\"):
        return Slip(at, "a backslash in a text is written \\\\")
    before = text[:at].rstrip(" \t\r\n")
    here = text[at : at + 1]
    if here == "," and text[at + 1 :].lstrip()[:1] in ("}", "]"):  # where Python 3.13 stops
        return Slip(at, f"remove the comma, since {text[at + 1 :].lstrip()[0]} follows")
    if before.endswith(",") and here in ("}", "]"):
        return Slip(len(before) - 1, f"remove the comma, since {here} follows")
    if before.endswith('""') and here == '"' and at == len(before):
        return Slip(at - 2, 'a text has one " on either side, not three')
    word = text[max(0, at - _LONGEST_WORD) : at]
    begin = at - len(word) + len(word.rstrip(_OF_A_WORD))
    found = _listed(text, at, begin)
    return _named(text, at, said) or _structural(text, at, said) if found is None else found


def _listed(text: str, at: int, begin: int) -> Slip | None:
    for patterns, start in ((_AT_POSITION, at), (_FROM_WORD, begin)):
        for pattern, sentence in patterns:
            if found := pattern.match(text, start):
                written = found[0]
                lower = {"None": "null"}.get(written, written.lower())
                number = ""
                if "{integer}" in sentence:
                    number = str(int(written, 0))
                return Slip(start, sentence.format(written, lower=lower, integer=number))
    return None


def _named(text: str, at: int, said: str) -> Slip | None:
    """Parse an unquoted name."""
    if at == 0 and (assigned := _ASSIGNED.match(text)):
        return Slip(at, f"leave out {assigned[0]}, since a document begins with {{")
    if (name := _NAME.match(text, at)) is None:
        return None
    if not text[:at].strip():
        return Slip(at, _NO_BRACE)
    shown = name[0][:_LONGEST_WORD]
    if said.startswith("Expecting property name"):
        return Slip(at, f'put the name in quotes: "{shown}"')
    if said.startswith("Expecting value"):
        return Slip(at, f'put the text in quotes: "{shown}"')
    return None


def _structural(text: str, at: int, said: str) -> Slip | None:
    """Describe what is missing or superfluous."""
    here = text[at : at + 1]
    if said.startswith("Extra data"):
        if here in ("{", "[", '"'):
            return Slip(at, "a second document begins here, and a set is a single JSON object")
        shown = here if here.isprintable() else repr(here)
        return Slip(at, f"remove this {shown}: the document ended before it")
    open_ = last_open(text, at) if here in ("", "}", "]") else None
    if not here:
        return None if open_ is None else Slip(at, f"the text ends before the {open_} is closed")
    if here in _OPENED_BY and open_ not in (None, _OPENED_BY[here]):
        return Slip(at, f"{here} does not close the {open_} that is open")
    if said.startswith("Expecting ','") and here in '"{[-0123456789':
        return Slip(at, "a comma is missing before this")
    if said.startswith("Expecting ':'"):
        if here in ",}]":
            return Slip(at, "the name before this has no value")
        if here in '"{[-0123456789':
            return Slip(at, "a colon is missing between the name and its value")
    if here == "," and said.startswith(("Expecting value", "Expecting property name")):
        return Slip(at, "add a value before this comma, or remove the comma")
    return None


def last_open(text: str, at: int) -> str | None:
    """Return the innermost open bracket at a position; None deep inside a long text."""
    if at > _FAR:
        return None
    open_: list[str] = []
    for found in BRACKET.finditer(text, 0, at):
        if found[1]:
            open_.append(found[1])
        elif found[2] and open_:
            open_.pop()
    return open_[-1] if open_ else None


def _control(character: str) -> str:
    if character in "\r\n":
        return "a text ends on its line; a line break in it is written \\n"
    if character == "\t":
        return "a tab in a text is written \\t"
    return f"the control character is written \\u{ord(character):04x}"


_MARKUP = re.compile(r"\s*<(?:!doctype|html|\?xml|head|body)", re.IGNORECASE)
_MESSAGES = {"Unterminated string starting at": 'the text that begins here is not closed by "'}
"""Sentence endings for messages of `json` that are incomplete."""


_FIRST_LINES = 100
_BEGINS = re.compile(r'\{|\[\s*(?:["{\[\d\]]|$)')
"""The start of an object or a list; a link in Markdown also begins with a bracket."""


def _begins_as_json(text: str) -> bool:
    """Return whether a bracket begins the text, or follows comments, which JSON does not have."""
    for line in text.split("\n", _FIRST_LINES)[:_FIRST_LINES]:
        start = line.strip()
        if start and start[0] not in "#/*":
            return _BEGINS.match(start) is not None
    return False


def not_json(text: str, error: json.JSONDecodeError) -> SpecError:
    found = slip(text, error.pos, error.msg)
    start = error.pos if found is None else found.start
    place = span(text, start, start)
    if _MARKUP.match(text):
        message = (
            "The document is HTML, not JSON; check whether an error page was saved in "
            "place of the set."
        )
    else:
        said = _MESSAGES.get(error.msg, error.msg[:1].lower() + error.msg[1:])
        said = said if found is None else found.sentence
        is_other = found is None or said in (_NO_COMMENTS, _NO_BRACE)
        if is_other and not _begins_as_json(text):
            said = f"{_NO_BRACE}; open a file that kerchunk or VirtualiZarr wrote, or a data file"
        message = f"The document is not JSON at line {place.line}:{place.column}: {said}."
    return SpecError(message, line=place.line, column=place.column)
