"""From a source to a document: parsed whole, in blocks if large, or converted by a format."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from refexplorer.core.errors import LimitError, SpecError
from refexplorer.core.files import OwnFiles, Progress, own_path
from refexplorer.core.limits import Limits
from refexplorer.core.text import counted, escape
from refexplorer.formats.source import ZMETADATA, Source, SourceFile
from refexplorer.spec.document import Document, read_document
from refexplorer.spec.findings import Findings, Locator, pointer

if TYPE_CHECKING:
    from refexplorer.formats.columns.table import Entries

_NAME_LENGTH = 4096  # Characters that the path of a file has at most
_OTHERS = (
    b"\0", b'"stac_version"', b'"nbformat"', b'"cells"', b'"zarr_format"', b'"Feature',
    b'"_offset"', b'"esmcat_version"',
)  # fmt: skip
"""Bytes of files that begin like a document but are in another format."""


def own_document(source: object, limits: Limits) -> Source | None:
    """Return the document at a file path; None in any doubt, so that all formats are asked."""
    # If None, `refexplorer.formats.finding` asks all formats.
    if not isinstance(source, str | os.PathLike) or len(str(source)) > _NAME_LENGTH:
        return None
    try:
        path = own_path(str(source))
        if "://" in str(source) or path.name == ZMETADATA or not path.is_file():
            return None
        file = SourceFile.at(path, limits, OwnFiles())
        if file.size > limits.document_bytes or not file.head.startswith(b"{"):
            return None
    except (OSError, ValueError):
        return None
    return None if any(mark in file.head for mark in _OTHERS) else file.document()


# characters; nesting of a longer text is checked on its parsed values instead
_DEPTH_CHECKED = 2**20


def parse_json(text: str, limits: Limits, findings: Findings) -> object:
    """Parse JSON; record duplicate keys and NaN; the last of duplicate keys wins."""
    if not text.strip():
        raise SpecError("The document is empty.")
    if (lists := text.count("[")) > limits.json_lists:
        raise LimitError(
            f"The document contains {lists:,} lists, mostly references, more than the limit of "
            f"{limits.json_lists:,}; `Limits.json_lists` raises the limit."
        )
    _check_depth(text, limits)
    noting = Noting()
    try:
        value = noting.decoder().decode(text)
    except json.JSONDecodeError as error:
        from refexplorer.formats.json.slips import not_json

        raise not_json(text, error) from None
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
    """Parse an integer; one with more digits than Python accepts counts as infinite."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


class Noting:
    """Parser hooks that record duplicate keys and constants that are not JSON."""

    def __init__(self) -> None:
        self.repeated: dict[str, tuple[int, object]] = {}
        self._constants: dict[str, tuple[int, object]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing was recorded."""
        return not self.repeated and not self._constants

    def decoder(self, number_of: Callable[[str], float] | None = None) -> json.JSONDecoder:
        """Return a parser that records into this object and parses integers specially."""
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
        """Report what was recorded; positions are searched for, as the parser has none."""
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
    """Return the pointers to the given values in a document, by identity."""
    found: dict[int, str] = {}
    waiting: list[tuple[object, tuple[str | int, ...]]] = [(document, ())]
    while waiting and len(found) < len(wanted) and isinstance(document, dict):
        value, way = waiting.pop()
        if id(value) in wanted:
            found[id(value)] = pointer(*way)
        if isinstance(value, dict | list):
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [
                (one, (*way, at)) for at, one in inner if isinstance(one, dict | list | float)
            ]
    return found


def _place_of(key: str, document: object) -> str:
    """Return the pointer to a key that is a section or a reference; else the whole document."""
    if not isinstance(document, dict):
        return ""
    if key in document:
        return pointer(key)
    refs = document.get("refs")
    return pointer("refs", key) if isinstance(refs, dict) and key in refs else ""


def _check_depth(text: str, limits: Limits) -> None:
    """Reject nesting beyond the limit; large strings are checked when parsed."""
    if len(text) > _DEPTH_CHECKED or text.count("[") + text.count("{") <= limits.json_depth:
        return
    from refexplorer.formats.json.slips import BRACKET

    depth = 0
    for match in BRACKET.finditer(text):
        if match[1]:
            depth += 1
            if depth > limits.json_depth:
                raise _too_deep(limits)
        elif match[2]:
            depth -= 1


def is_deep(values: Iterable[object], levels: int) -> bool:
    """Return whether a value is nested more deeply than a limit."""
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
    )


LOCATED = 10  # Positions that are looked up in a large document: each takes a search of all of it

_LIST_PLACES = re.compile(r"(/[0-9]+)+$")


def locator_of(source: Source) -> Locator | None:
    """Return a function that locates a pointer in the text of a source, read on demand."""
    if source.content is None:
        return None
    from refexplorer.formats.json.positions import Positions, find_in_stream

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


_AROUND = 3  # Levels of a document around a value of its references, and one more


def read_whole(
    source: Source, templates: Mapping[str, str] | None, limits: Limits, findings: Findings
) -> tuple[Mapping[str, Any], Document]:
    """Return the document as written and as interpreted."""
    if not source.is_document:  # its references in the form of V0
        refs = source.references()
        assert refs is not None
        return refs, replace(read_document({}, templates, limits, findings), refs=refs)
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


def read_long(
    source: Source,
    templates: Mapping[str, str] | None,
    limits: Limits,
    findings: Findings,
    progress: Progress | None,
) -> tuple[Document, Entries] | None:
    """Return columns given by a format, or read a long document in blocks; None in any doubt."""
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
    """Return the requested set from a list of sets."""
    if not isinstance(value, list) or not value or not all(isinstance(v, dict) for v in value):
        return value
    if source.part is None:
        raise SpecError(
            f"This is a list of {counted(len(value), 'reference set')}; open one of them by its "
            f"number, for example {source.name + '#0'!r}.",
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
    """Add the name of the source and, if the text is known, line and column."""
    line, column = error.line, error.column
    place = locator_of(source)
    message = str(error)
    if line is None and error.pointer and place is not None:
        found = place(error.pointer)
        if found is not None:
            line, column = found
            message = f"{message.rstrip('.')} (line {line}:{column})."
    known: Any = {"code": error.code, "pointer": error.pointer, "line": line, "column": column}
    return SpecError(f"{source.name}: {message}", **known)


_HEAD = 4  # Bytes that show the encoding


def note_encoding(source: Source, findings: Findings) -> None:
    """Record that a document is not UTF-8 and has no BOM; the source can still be read."""
    if source.content is None:
        return
    with source.content() as stream:
        head = stream.read(_HEAD)
    encoding = json.detect_encoding(head)
    if encoding != "utf-8":
        said = (
            "begins with a byte order mark" if encoding == "utf-8-sig" else f"is {encoding.upper()}"
        )
        hint = "Write it as UTF-8 without a mark, as RFC 8259 requires."
        findings.add("odd-encoding", "", f"The document {said}; not every reader accepts it.", hint)


def note_beyond(source: Source, findings: Findings) -> None:
    """Record the byte ranges that extend past the end of a data file."""
    for key, number in source.beyond:
        name = escape(key.rpartition("/")[0] or "/", 200)
        findings.add(
            "range-past-end",
            pointer(key),
            f"{counted(number, 'byte range')} of {name} {'ends' if number == 1 else 'end'} after "
            "the file.",
            "The file is damaged or was not copied whole: compare its size with the original.",
            key=key,
            count=number,
        )
