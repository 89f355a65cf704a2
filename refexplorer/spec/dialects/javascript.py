"""reference-spec-reader 0.2, with which zarrita.js and others read sets: its rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, prod

from refexplorer.spec.dialects.javascript_text import axis, parse_int, printed, render
from refexplorer.spec.dialects.judging import (
    ExplicitEntry,
    NotComputed,
    ReaderRules,
    Refusal,
    Theirs,
    VerdictTally,
    compare_items,
    unknown,
)
from refexplorer.spec.dialects.survey import EXACT, Shape, Survey, WrittenItem
from refexplorer.spec.dialects.verdicts import Basis

MAP_ENTRIES = 2**24
"""More than this a JavaScript `Map` cannot hold."""
_RENDERED = "Only names, calls with literal arguments and arithmetic are rendered."
_NO_LIST = "An object is taken for a list, and its content is lost."
_COUNTED = "Numbers are 64-bit floats, parsed up to the first character that is not a digit."


class JavaScript(ReaderRules):
    """The rules of reference-spec-reader."""

    name = "reference-spec-reader, zarrita (JavaScript)"
    basis = Basis("reference-spec-reader 0.2", "2026-11-21", "seen")

    def open(self, survey: Survey, tally: VerdictTally) -> None:
        """Refuse what `JSON.parse` refuses, and templates that have no `includes`."""
        if any(found.code == "nonstandard-json-nan" for found in survey.document.findings):
            raise Refusal("NaN and Infinity are not valid JSON (SyntaxError).")
        if not survey.document.version:
            return
        written = survey.written.get("templates") or {}
        for name, value in written.items() if isinstance(written, Mapping) else ():
            if not isinstance(value, str | list):
                raise Refusal(f"The template `{name}` is not a string (TypeError).")
        refs = survey.written.get("refs") or {}
        if not isinstance(refs, Mapping):
            for number, value in enumerate(refs if isinstance(refs, list | str) else ()):
                tally.compare(
                    str(number), None, Theirs(value, "`refs` is read although it is not an object.")
                )

    def read(self, entry: ExplicitEntry, survey: Survey, tally: VerdictTally) -> Theirs:
        """Take V0 as it is written; of V1 render URLs and cut lists to three elements."""
        if entry.form.shape is Shape.WHOLE:
            tally.note("When data is read, zarrita requests 0 bytes of a [url], which is an error.")
        if not survey.document.version:
            is_object = entry.form.shape is Shape.OBJECT
            return Theirs(entry.ours) if is_object else _floats(Theirs(entry.value))
        if isinstance(entry.value, str):
            return Theirs(entry.value)
        if entry.value is None:
            raise Refusal(f"`{entry.key}` is null (TypeError).")
        if not isinstance(entry.value, list | tuple) or not entry.value:
            return Theirs([None, None, None], _NO_LIST)
        return self._read_list(entry.key, list(entry.value), survey)

    def _read_list(self, key: str, value: list[object], survey: Survey) -> Theirs:
        url = value[0]
        if not isinstance(url, str | list | None):
            raise Refusal(f"The URL of `{key}` is not a string (TypeError).")
        try:
            url = render(url, self._context(survey)) if isinstance(url, str) else url
        except NotComputed:
            return unknown(_RENDERED)
        rest = [*value[1:3], None, None][:2]
        return _floats(Theirs([url] if len(value) == 1 else [url, *rest], _RENDERED))

    def _context(self, survey: Survey) -> Mapping[str, object]:
        """Return the templates; what was given at open time is unknown to this reader."""
        written = survey.written.get("templates")
        return written if isinstance(written, Mapping) else {}

    def generate(self, survey: Survey, tally: VerdictTally) -> None:
        """Write out ``gen``."""
        section = survey.written.get("gen") if survey.document.version else None
        if section is not None and not isinstance(section, list | tuple):
            raise Refusal("`gen` is not a list of objects (TypeError).")
        compare_items(self, survey, tally)

    def axes(self, item: Mapping[str, object]) -> dict[str, Sequence[object]]:
        """Return the values of each dimension; without a dimension there is no combination."""
        dimensions = item.get("dimensions")
        if dimensions is None:
            raise Refusal("A gen item has no `dimensions` (TypeError).")
        if not isinstance(dimensions, Mapping) or not dimensions:
            return {"": ()}
        return {name: axis(name, value) for name, value in dimensions.items()}

    def check(
        self, item: WrittenItem, combinations: int, survey: Survey, tally: VerdictTally
    ) -> None:
        """Refuse what no `Map` holds; note where another key of equal ones is kept."""
        if max(item.count, combinations if item.read is None else 0) > MAP_ENTRIES:
            raise Refusal(
                f"gen[{item.number}] generates {item.count:,} keys, more than the "
                f"{MAP_ENTRIES:,} that a Map can hold."
            )
        if item.read is not None and _collides(item):
            reason = (
                "The first dimension varies fastest, so of duplicate keys a different one is kept."
            )
            tally.compare(f"gen[{item.number}]", None, unknown(reason))

    def make(
        self, item: Mapping[str, object], values: Mapping[str, object], survey: Survey
    ) -> tuple[str, Theirs]:
        """Render the fields."""
        context = {**self._context(survey), **values}
        key = str(item["key"]) if isinstance(item.get("key"), str) else ""
        try:
            key = render(_field(item, "key"), context)
            url = render(_field(item, "url"), context)
            if "offset" not in item or "length" not in item:
                return key, Theirs([url], _RENDERED)
            texts = (render(_field(item, name), context) for name in ("offset", "length"))
            return key, Theirs([url, *map(parse_int, texts)], f"{_RENDERED} {_COUNTED}")
        except NotComputed:
            return key, unknown(f"{_RENDERED} {_COUNTED}")


def _floats(read: Theirs) -> Theirs:
    """Return a list with its numbers as 64-bit floats have them."""
    if not isinstance(read.value, list):
        return read
    values = [_nearest(value) if type(value) is int else value for value in read.value]
    if values == read.value:
        return read
    return read._replace(value=values, reason=f"{read.reason} {_COUNTED}")


def _nearest(number: int) -> int | float:
    if abs(number) <= EXACT:
        return number
    try:
        return int(float(number))
    except OverflowError:
        return inf


def _field(item: Mapping[str, object], name: str) -> str:
    """Return a field as the text that a regular expression of JavaScript sees."""
    value = item.get(name)
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ",".join(map(printed, value))
    return printed(value) if value else ""


def _collides(item: WrittenItem) -> bool:
    """Say whether combinations make the same key, and perhaps not the same reference."""
    read = item.read
    assert read is not None
    used = [dimension.size for dimension in read.dimensions if dimension.name in read.key.names]
    others = (read.url, read.offset, read.length)
    names = {name for template in others if template is not None for name in template.names}
    varies = any(dimension.name in names for dimension in read.dimensions)
    return varies and read.certain and item.count < prod(used)
