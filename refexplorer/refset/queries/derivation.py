"""The derivation of a key of an opened set, by the segment that holds it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from refexplorer.formats.json.positions import find_in_stream, locate
from refexplorer.formats.source import Source
from refexplorer.limits import Limits
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.segments.records import Records
from refexplorer.refset.segments.segment import Generated
from refexplorer.spec.core.diagnostics import parts_of, pointer
from refexplorer.spec.document.derivation import (
    TraceStep,
    derive_entry,
    derive_generated,
    derive_record,
)
from refexplorer.spec.templates.template import Compile, Template


def derive(
    opened: OpenedSet,
    key: str,
    source: Source,
    base: str,
    templates: dict[str, Template],
    limits: Limits,
    compiler: Compile,
) -> Iterator[TraceStep]:
    """Return the steps from the document (`source`, explicit keys below `base`) to the reference.

    Raises
    ------
    KeyError
        If there is no such key.
    """
    found = opened.find(key)
    reference = None if found is None else found[0].reference_at(found[1])
    if found is None or reference is None:
        raise opened.missing(key)
    segment, row = found
    if isinstance(segment, Generated):
        return derive_generated(segment.item, segment.number(row), reference)
    if isinstance(segment, Records):
        number = segment.chunk_number(row)
        file, position = divmod(number, segment.store.record_size)
        name = segment.store.record_file(segment.array, file)
        return derive_record(key, name, position, reference)
    at = base + pointer(key)
    written = _written(source, at)
    return derive_entry(key, written, at, reference, templates, limits, compiler)


def _written(source: Source, at: str) -> object:
    """Return the JSON value at a pointer of the source, None if it is not known."""
    if source.is_large and source.content is not None:
        with source.content() as stream:
            found = find_in_stream(stream, at)
        return None if found is None else _first_value(found.text)
    if source.text is not None:
        span = locate(source.text, source.base + at)
        return None if span is None else json.loads(source.text[span.start : span.end])
    value: object = source.value
    for name in parts_of(at):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _first_value(text: str) -> object:
    """Return the JSON value that a text begins with; None if it is cut."""
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except ValueError:
        return None
