"""From a source to a document: parsed whole, in blocks where it is large, or as a form gave it.

A text that is no JSON is explained by the slip that was made.
"""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

from refexplorer.core.errors import LimitError, SpecError
from refexplorer.core.files import Progress
from refexplorer.core.limits import Limits
from refexplorer.core.text import counted
from refexplorer.formats.columns.table import Entries
from refexplorer.formats.json.positions import TEXT, Positions, find_in_stream, span
from refexplorer.formats.source import Source
from refexplorer.spec.document import Document, read_document
from refexplorer.spec.findings import Findings, Locator, pointer

_OF_A_WORD = f"{string.ascii_letters}{string.digits}_.+-"
_LONGEST_WORD = 40  # characters of a misspelt word that a message quotes
_BRACKET = re.compile(rf"{TEXT}|([\[{{])|([\]}}])", re.DOTALL)
CURLY = r"\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02"
"""Of a set of characters: quotes that a word processor writes in place of the straight one."""
ODD_SPACES = r"\u00a0\u1680\u2000-\u200d\u202f\u205f\u2060\u3000\ufeff"
"""Of a set of characters: spaces that JSON does not have."""
# the search begins at the start of the text
_FAR = 2**22
_OPENED_BY = {"}": "{", "]": "["}


class Slip(NamedTuple):
    """Where a slip begins, and what is wrong there: a part of a sentence."""

    start: int
    sentence: str


_AT = (
    (r"//|/\*|#", "JSON has no comments"),
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
_HERE = [(re.compile(pattern), sentence) for pattern, sentence in _AT]
_FROM_WORD = [(re.compile(pattern), sentence) for pattern, sentence in _WORDS]


def slip(text: str, at: int, said: str) -> Slip | None:
    """Say what was meant where a text is no JSON; None where nothing usual is there."""
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
    for patterns, start in ((_HERE, at), (_FROM_WORD, begin)):
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
    """Read a name without quotes."""
    if at == 0 and (assigned := _ASSIGNED.match(text)):
        return Slip(at, f"leave out {assigned[0]}, since a document begins with {{")
    if (name := _NAME.match(text, at)) is None:
        return None
    if not text[:at].strip():
        return Slip(at, "a reference set in JSON begins with {")
    shown = name[0][:_LONGEST_WORD]
    if said.startswith("Expecting property name"):
        return Slip(at, f'put the name in quotes: "{shown}"')
    if said.startswith("Expecting value"):
        return Slip(at, f'put the text in quotes: "{shown}"')
    return None


def _structural(text: str, at: int, said: str) -> Slip | None:
    """Say what is missing or too much."""
    here = text[at : at + 1]
    if said.startswith("Extra data"):
        if here in ("{", "[", '"'):
            return Slip(at, "a second document begins here, and a set is one JSON object")
        return Slip(at, f"remove this {here}: the document ended before it")
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
    """Return the bracket that is open at a place; None far inside of a long text."""
    if at > _FAR:
        return None
    open_: list[str] = []
    for found in _BRACKET.finditer(text, 0, at):
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


# characters; nesting of a longer text is checked on its parsed values instead
_DEPTH_CHECKED = 2**20
_MARKUP = re.compile(r"\s*<(?:!doctype|html|\?xml|head|body)", re.IGNORECASE)


def parse_json(text: str, limits: Limits, findings: Findings) -> object:
    """Parse a JSON document; equal keys and NaN are noted, the last of equal keys counts."""
    if not text.strip():
        raise SpecError("The document is empty.", code="not-json")
    if (lists := text.count("[")) > limits.json_lists:
        raise LimitError(
            f"The document holds {lists:,} lists, mostly references, more than the limit of "
            f"{limits.json_lists:,}; `Limits.json_lists` raises the limit."
        )
    _check_depth(text, limits)
    noting = Noting()
    try:
        value = noting.decoder().decode(text)
    except json.JSONDecodeError as error:
        raise _not_json(text, error) from None
    except ValueError:
        noting = Noting()
        value = noting.decoder(_number_of).decode(text)
    except RecursionError:
        raise _too_deep(limits) from None
    if len(text) > _DEPTH_CHECKED and is_deep([value], limits.json_depth):
        raise _too_deep(limits)
    noting.report(value, findings)
    return value


def _number_of(digits: str) -> float:
    """Read a whole number; one of more digits than Python reads is as good as infinite."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


class Noting:
    """The hooks of a parser, with what they met."""

    def __init__(self) -> None:
        self.repeated: dict[str, tuple[int, object]] = {}
        self._constants: dict[str, tuple[int, object]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing was met."""
        return not self.repeated and not self._constants

    def decoder(self, number_of: Callable[[str], float] | None = None) -> json.JSONDecoder:
        """Return a parser that notes into this, and reads whole numbers in a way of its own."""
        return json.JSONDecoder(
            object_pairs_hook=self._pairs, parse_constant=self._constant, parse_int=number_of
        )

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            for key, times in Counter(key for key, _ in pairs).items():
                if times > 1:
                    before, first = self.repeated.get(key, (0, found))
                    self.repeated[key] = before + times, first
        return found

    def _constant(self, name: str) -> float:
        number = float(name)
        before, first = self._constants.get(name, (0, number))
        self._constants[name] = before + 1, first
        return number

    def report(self, document: object, findings: Findings) -> None:
        """Note what was met; the parser does not say where, so the place is looked for."""
        if self.is_empty:
            return
        met = [*self.repeated.values(), *self._constants.values()]
        places = _places_of({id(one) for _, one in met}, document)
        for key, (times, one) in self.repeated.items():
            shown = key if len(key) < 100 else key[:100] + "…"
            message = f"`{shown}` occurs {times:,} times in one object; the last value is used."
            inside = places.get(id(one))
            at = _place_of(key, document) if inside is None else inside + pointer(key)
            is_reference = inside in (None, "", "/refs")
            findings.add("duplicate-key", at, message, key=key if is_reference else None)
        for name, (times, one) in self._constants.items():
            message, hint = f"`{name}` is not JSON.", f'Write it as a string, "{name}".'
            findings.add(
                "nonstandard-json-nan", places.get(id(one), ""), message, hint, count=times
            )


def _places_of(wanted: set[int], document: object) -> dict[int, str]:
    """Return the pointers to some values inside a document, by their identity."""
    found: dict[int, str] = {}
    waiting: list[tuple[object, _Way | None]] = [(document, None)]
    while waiting and len(found) < len(wanted) and isinstance(document, dict):
        value, way = waiting.pop()
        if id(value) in wanted:
            found[id(value)] = _pointer_along(way)
        if isinstance(value, dict | list):
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [
                (one, (way, step)) for step, one in inner if isinstance(one, dict | list | float)
            ]
    return found


_Way = tuple[Any, str | int]
"""The way to what holds a value, and the step from there."""


def _pointer_along(way: _Way | None) -> str:
    steps: list[str | int] = []
    while way is not None:
        way, step = way
        steps.append(step)
    return pointer(*reversed(steps))


def _place_of(key: str, document: object) -> str:
    """Return the pointer to a key that is a section or a reference; else the whole document."""
    if not isinstance(document, dict):
        return ""
    if key in document:
        return pointer(key)
    refs = document.get("refs")
    return pointer("refs", key) if isinstance(refs, dict) and key in refs else ""


def _check_depth(text: str, limits: Limits) -> None:
    """Refuse nesting beyond the limit; what a large text holds is asked when it is parsed."""
    if len(text) > _DEPTH_CHECKED or text.count("[") + text.count("{") <= limits.json_depth:
        return
    depth = 0
    for match in _BRACKET.finditer(text):
        if match[1]:
            depth += 1
            if depth > limits.json_depth:
                raise _too_deep(limits)
        elif match[2]:
            depth -= 1


def is_deep(values: Iterable[object], levels: int) -> bool:
    """Say whether a value is nested deeper than some levels."""
    level = [value for value in values if isinstance(value, dict | list)]
    for _ in range(levels):
        inner = (one.values() if isinstance(one, dict) else one for one in level)
        level = [value for one in inner for value in one if isinstance(value, dict | list)]
        if not level:
            return False
    return True


def _too_deep(limits: Limits) -> SpecError:
    return SpecError(
        f"The JSON is nested more than {limits.json_depth} levels deep; "
        "`Limits.json_depth` raises the limit.",
        code="not-json",
    )


_SAID = {"Unterminated string starting at": 'the text that begins here is not closed by "'}
"""For what json says in words that end in the middle of a sentence."""


def _not_json(text: str, error: json.JSONDecodeError) -> SpecError:
    found = slip(text, error.pos, error.msg)
    start = error.pos if found is None else found.start
    place = span(text, start, start)
    if _MARKUP.match(text):
        message = (
            "The document is HTML, not JSON; check whether an error page was saved in "
            "place of the set."
        )
    else:
        said = _SAID.get(error.msg, error.msg[:1].lower() + error.msg[1:])
        said = said if found is None else found.sentence
        message = f"The document is not JSON at line {place.line}:{place.column}: {said}."
        if text.lstrip()[:1] not in ("{", "["):
            message += " Open a file that kerchunk or VirtualiZarr wrote, or a data file."
    return SpecError(message, code="not-json", line=place.line, column=place.column)


LOCATED = 10
"""Positions of a large document that are looked up: each costs a look at all of it."""

_LIST_PLACES = re.compile(r"(/[0-9]+)+$")


def locator_of(source: Source) -> Locator | None:
    """Return a function that finds a pointer in the text of a source, read when it is needed."""
    if source.content is None:
        return None
    content, walked, asked = source.content, list[Positions](), count()

    def place(pointer: str) -> tuple[int, int] | None:
        if pointer and not pointer.startswith("/"):
            return None
        if source.is_large:
            if next(asked) >= LOCATED:
                return None
            with content() as stream:
                there = find_in_stream(stream, pointer)
            if there is None and pointer != (above := _LIST_PLACES.sub("", pointer)):
                return place(above)
            return None if there is None else (there.line, there.column)
        if not walked:
            walked.append(Positions(source.text or ""))
        found = walked[0].locate(source.base + pointer)
        return None if found is None else (found.line, found.column)

    return place


_AROUND = 3
"""Levels of a document that can stand around a value of its references, and one more."""


def read_whole(
    source: Source, templates: Mapping[str, str] | None, limits: Limits, findings: Findings
) -> tuple[Mapping[str, Any], Document]:
    """Return the document as it is written, and as it is read."""
    if not source.is_document:
        document = _of_references(source, templates, limits, findings)
        return document.refs, document
    try:
        value = source.value
        if (text := source.text) is not None:
            value = parse_json(text, limits, findings)  # type: ignore[assignment]
        value = _part_of(value, source)  # type: ignore[assignment]
        document = read_document(value, templates, limits, findings)
    except SpecError as error:
        raise placed(error, source) from None
    assert value is not None
    return value, document


def _of_references(
    source: Source, templates: Mapping[str, str] | None, limits: Limits, findings: Findings
) -> Document:
    """Return a document of what is none: its references are written as in V0, by their keys."""
    refs = source.references()
    assert refs is not None
    return replace(read_document({}, templates, limits, findings), refs=refs)


def read_long(
    source: Source,
    templates: Mapping[str, str] | None,
    limits: Limits,
    findings: Findings,
    progress: Progress | None,
) -> tuple[Document, Entries] | None:
    """Return what a form gave in columns, or read a long document in blocks.

    None if it is neither, or in any doubt.
    """
    if source.entries is not None:
        return read_document({}, templates, limits, findings), source.entries
    if not source.is_long or source.content is None or source.part is not None:
        return None
    from refexplorer.formats.json.blocks import NotInBlocks, read_in_blocks

    noting = Noting()
    try:
        with source.content() as stream:
            stream.progress = progress
            entries = read_in_blocks(stream, noting)
        outer = {**entries.outer, "refs": {}} if entries.is_v1 else {}
        document = read_document(outer, templates, limits, findings)
    except SpecError as error:
        raise placed(error, source) from None
    except NotInBlocks:
        return None
    if is_deep([entries.outer, *entries.values.values()], limits.json_depth - _AROUND):
        return None
    if not noting.is_empty:
        noting.report(entries.written(), findings)
    return document, entries


def _part_of(value: object, source: Source) -> object:
    """Return the set that is meant of a list of sets."""
    if not isinstance(value, list) or not value or not all(isinstance(v, dict) for v in value):
        return value
    if source.part is None:
        raise SpecError(
            f"This is a list of {counted(len(value), 'reference set')}; open one of them by its "
            f"number, as {source.name + '#0'!r}.",
            code="not-object",
        )
    if source.part >= len(value):
        raise SpecError(
            f"The list has {len(value)} reference sets, counted from 0; there is no number "
            f"{source.part}.",
            code="not-object",
        )
    return value[source.part]


def placed(error: SpecError, source: Source) -> SpecError:
    """Name the source and, where the text is known, line and column."""
    line, column = error.line, error.column
    place = locator_of(source)
    message = str(error)
    if line is None and error.pointer and place is not None:
        found = place(error.pointer)
        if found is not None:
            line, column = found
            message = f"{message.rstrip('.')} (line {line}:{column})."
    return SpecError(
        f"{source.name}: {message}",
        code=error.code,
        pointer=error.pointer,
        line=line,
        column=column,
    )
