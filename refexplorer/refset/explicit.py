"""References in columns as a table: each distinct URL is read once."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np
import pyarrow as pa

from refexplorer.formats.columns.arrow import number_column, numbers_of, text_column
from refexplorer.formats.columns.entries import WHOLE, Entries
from refexplorer.formats.columns.references import (
    RANGE,
    URL,
    Columns,
    ColumnsBuilder,
    UrlColumn,
)
from refexplorer.formats.columns.spans import spans_of
from refexplorer.formats.columns.table import Table
from refexplorer.refset.rejected import Rejected
from refexplorer.spec.document import ArgumentNotes, Document, EntryNotes, UrlReader
from refexplorer.spec.findings import Reason
from refexplorer.spec.reference_parsing import BadReference, check_length, read_reference

_REJECTED = -2  # in the column of targets, of a row whose reference has an error; -1 is no target


@dataclass
class _Errors:
    """The reasons for rejecting values, by their rows, and URLs, by their positions."""

    rows: dict[int, Reason] = field(default_factory=dict)
    urls: dict[int, Reason] = field(default_factory=dict)

    def rejected(self, entries: Entries, rows: np.ndarray, base: str) -> Rejected:
        """Return the keys of some rows, all of which were rejected."""
        reasons = (*self.rows.values(), *self.urls.values())
        of_row = {row: code for code, row in enumerate(self.rows)}
        of_url = {position: code for code, position in enumerate(self.urls, len(self.rows))}
        pairs = zip(rows.tolist(), entries.codes[rows].tolist(), strict=True)
        codes = [of_row[row] if row in of_row else of_url[position] for row, position in pairs]
        keys = entries.keys.take(number_column(rows))
        return Rejected(base, keys, np.array(codes, np.int32), reasons)


def table_of_entries(entries: Entries, document: Document) -> tuple[Table, Rejected]:
    """Put entries into a table; bad ones are noted in the document and rejected."""
    keys, urls, errors = entries.keys, UrlReader(document), _Errors()
    _refuse_long(entries, document, errors)
    rows, values = _values(entries, document, urls, errors)
    columns = _ranges(entries, document, urls, errors).overwritten(rows, values)
    columns.targets[list(errors.rows)] = _REJECTED
    _note_arguments(entries, document)
    table = Table(keys, columns)
    if table.index.unique and not np.any(columns.targets == _REJECTED):
        return table, Rejected(document.base)
    rows = _last(keys, document)
    is_bad = columns.targets[rows] == _REJECTED
    rejected = errors.rejected(entries, rows[is_bad], document.base)
    rows = rows[~is_bad]
    return Table(keys.take(number_column(rows)), columns.select(rows)), rejected


def _refuse_long(entries: Entries, document: Document, errors: _Errors) -> None:
    """Refuse the keys that are longer than the limits allow."""
    sizes = spans_of(entries.keys).sizes
    for row in np.flatnonzero(sizes > document.limits.key_bytes).tolist():
        key = entries.keys[row].as_py()
        try:
            check_length(key, document.limits)
        except BadReference as bad:
            errors.rows[row] = EntryNotes(document, key).refuse(bad)


def _ranges(entries: Entries, document: Document, urls: UrlReader, errors: _Errors) -> Columns:
    """Return the columns with byte ranges and whole files in their rows, nothing in the others."""
    texts, codes = entries.urls, np.arange(len(entries.urls) + 1, dtype=np.int32)
    if document.version and _is_any_rendered(texts):
        texts, codes[:-1] = _rendered(entries, document, urls, errors)
    codes[-1] = _REJECTED
    kinds = np.where(entries.lengths == WHOLE, np.uint8(URL), np.uint8(RANGE))
    targets, lengths = codes[entries.codes], np.maximum(entries.lengths, 0)
    return Columns(kinds, targets, UrlColumn(texts), entries.offsets, lengths, [])


def _is_any_rendered(texts: pa.LargeStringArray) -> bool:
    """Say whether rendering may change any of many texts; jinja2 changes line ends, too."""
    blocks = spans_of(texts).blocks()
    return any(np.any(block == letter) for block in blocks for letter in b"{\r\n")


def _rendered(
    entries: Entries, document: Document, urls: UrlReader, errors: _Errors
) -> tuple[pa.Array, np.ndarray]:
    """Render each distinct URL; return the distinct results, and for each URL its index there."""
    found: dict[str, int] = {}
    codes = np.full(len(entries.urls), _REJECTED, np.int32)
    for position, text in enumerate(entries.urls.to_pylist()):
        try:
            codes[position] = found.setdefault(urls.read(text), len(found))
        except BadReference as bad:
            errors.urls[position] = Reason.of(bad)
            _note_bad_url(bad, position, entries, document)
    return text_column(list(found)), codes


def _note_arguments(entries: Entries, document: Document) -> None:
    """Note arguments that no template uses, at the first key of each URL."""
    if not document.templates:
        return
    notes = ArgumentNotes(document)
    codes, firsts = np.unique(entries.codes, return_index=True)
    by_row = sorted(zip(firsts.tolist(), codes.tolist(), strict=True))
    ranges = ((row, [entries.urls[code].as_py()]) for row, code in by_row if code >= 0)
    for row, value in heapq.merge(ranges, entries.values.items(), key=itemgetter(0)):
        notes.add(entries.keys[row].as_py(), value)


def _note_bad_url(bad: BadReference, position: int, entries: Entries, document: Document) -> None:
    """Note a URL that cannot be rendered, at the first keys that have it."""
    for row in np.flatnonzero(entries.codes == position).tolist():
        EntryNotes(document, entries.keys[row].as_py()).refuse(bad)


def _values(
    entries: Entries, document: Document, urls: UrlReader, errors: _Errors
) -> tuple[np.ndarray, Columns]:
    """Read the values that are no plain byte range; return their rows and references."""
    builder = ColumnsBuilder()
    rows: list[int] = []
    for row, value in entries.values.items():
        if row in errors.rows:
            continue
        notes = EntryNotes(document, entries.keys[row].as_py())
        try:
            builder.add(read_reference(value, urls.read, notes.add))
        except BadReference as bad:
            errors.rows[row] = notes.refuse(bad)
        else:
            rows.append(row)
    return np.array(rows, np.int64), builder.build()


def _last(keys: pa.Array, document: Document) -> np.ndarray:
    """Return the rows that count: of equal keys the last one, at the position of the first."""
    codes = numbers_of(keys.dictionary_encode().indices)
    counts = np.bincount(codes)
    rows = np.zeros(len(counts), np.int64)
    rows[codes] = np.arange(len(keys))
    for code in np.flatnonzero(counts > 1).tolist():
        key = keys[int(rows[code])].as_py()
        message = f"`{key}` occurs {counts[code]:,} times in one object; the last value is used."
        EntryNotes(document, key).add("duplicate-key", message)
    return rows
