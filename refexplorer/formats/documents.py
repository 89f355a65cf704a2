"""From a source to a document: parsed whole, in blocks where it is large, or as a form gave it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from refexplorer.core.errors import SpecError
from refexplorer.core.files import Progress
from refexplorer.core.limits import Limits
from refexplorer.core.text import counted
from refexplorer.formats.columns.entries import Entries
from refexplorer.formats.json.blocks import NotInBlocks, read_in_blocks
from refexplorer.formats.json.positions import Positions, find_in_stream
from refexplorer.formats.json.text import Noting, is_deep, parse_json
from refexplorer.formats.source import Source
from refexplorer.spec.document import Document, read_document
from refexplorer.spec.findings import Findings, Locator
from refexplorer.spec.templates.compiler import compiler_for

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
    source: Source,
    templates: Mapping[str, str] | None,
    limits: Limits,
    findings: Findings,
    trusted: bool = False,
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
        document = read_document(value, templates, limits, findings, compiler_for(trusted))
    except SpecError as error:
        raise placed(error, source) from None
    assert value is not None
    return value, document


def _of_references(
    source: Source,
    templates: Mapping[str, str] | None,
    limits: Limits,
    findings: Findings,
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
    trusted: bool,
    progress: Progress | None,
) -> tuple[Document, Entries] | None:
    """Return what a form gave in columns, or read a long document in blocks.

    None if it is neither, or in any doubt.
    """
    if source.entries is not None:
        return read_document({}, templates, limits, findings), source.entries
    if not source.is_long or source.content is None or source.part is not None:
        return None
    noting = Noting()
    try:
        with source.content() as stream:
            stream.progress = progress
            entries = read_in_blocks(stream, noting)
        outer = {**entries.outer, "refs": {}} if entries.is_v1 else {}
        document = read_document(outer, templates, limits, findings, compiler_for(trusted))
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
