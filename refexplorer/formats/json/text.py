"""JSON text to values: every rule of RFC 8259, and a sentence with the place where it breaks."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from refexplorer.errors import LimitError, SpecError
from refexplorer.formats.json.positions import TEXT, span
from refexplorer.formats.json.slips import slip
from refexplorer.limits import Limits
from refexplorer.spec.diagnostics import Findings, pointer

_BRACKETS = re.compile(rf"{TEXT}|([\[{{])|([\]}}])", re.DOTALL)
_DEPTH_CHECKED = 2**20
_MARKUP = re.compile(r"\s*<(?:!doctype|html|\?xml|head|body)", re.IGNORECASE)


def decode_text(data: bytes) -> str:
    """Decode the bytes of a JSON document: UTF-8, or UTF-16 and UTF-32 with their marks."""
    encoding = json.detect_encoding(data)
    try:
        return data.decode("utf-8-sig" if encoding.startswith("utf-8") else encoding)
    except UnicodeDecodeError as error:
        raise SpecError(
            f"The document is not text: byte {error.start:,} is not valid "
            f"{error.encoding.upper()}.",
            code="not-json",
        ) from None


def parse_json(text: str, limits: Limits, findings: Findings) -> object:
    """Parse a JSON document; equal keys and NaN are noted, the last of equal keys counts."""
    if not text.strip():
        raise SpecError("The document is empty.", code="not-json")
    _check_lists(text, limits)
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


def _check_lists(text: str, limits: Limits) -> None:
    lists = text.count("[")
    if lists > limits.json_lists:
        raise LimitError(
            f"The document holds {lists:,} lists, mostly references, more than the limit of "
            f"{limits.json_lists:,}; `Limits.json_lists` raises the limit."
        )


def _check_depth(text: str, limits: Limits) -> None:
    """Refuse nesting beyond the limit; what a large text holds is asked when it is parsed."""
    if len(text) > _DEPTH_CHECKED or text.count("[") + text.count("{") <= limits.json_depth:
        return
    depth = 0
    for match in _BRACKETS.finditer(text):
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
    return SpecError(message, code="not-json", line=place.line, column=place.column)
