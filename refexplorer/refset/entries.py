"""The references of a large document as a table: each distinct URL is read once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.formats.arrow import number_column, numbers_of, text_column
from refexplorer.formats.json_blocks import Entries
from refexplorer.refset.columns import RANGE, Columns, ColumnsBuilder, UrlColumn
from refexplorer.refset.table import Table
from refexplorer.spec.document import ArgumentNotes, Document, EntryNotes, UrlReader
from refexplorer.spec.reading import BadReference, read_reference

_LEFT_OUT = -2


def table_of_entries(entries: Entries, document: Document) -> Table:
    """Put entries into a table; bad ones are noted in the document and left out.

    Parameters
    ----------
    entries
        What `read_in_blocks` gave.
    document
        The document without its references.
    """
    keys, urls = entries.keys, UrlReader(document)
    rows, values = _values(entries, document, urls)
    columns = _ranges(entries, document, urls).overwritten(rows, values)
    _note_arguments(entries, document)
    table = Table(keys, columns)
    if table.index.unique and not np.any(columns.targets == _LEFT_OUT):
        return table
    rows = _kept(keys, columns.targets, document)
    return Table(keys.take(number_column(rows)), columns.select(rows))


def _ranges(entries: Entries, document: Document, urls: UrlReader) -> Columns:
    """Return the columns with the byte ranges in their rows; the other rows are left out yet."""
    texts, codes = entries.urls, np.arange(len(entries.urls) + 1, dtype=np.int32)
    if document.version and pc.any(pc.match_substring_regex(texts, r"[{\r\n]")).as_py():
        texts, codes[:-1] = _rendered(entries, document, urls)
    codes[-1] = _LEFT_OUT
    kinds = np.full(len(entries.keys), RANGE, np.uint8)
    targets = codes[entries.codes]
    return Columns(kinds, targets, UrlColumn(texts), entries.offsets, entries.lengths, [])


def _rendered(entries: Entries, document: Document, urls: UrlReader) -> tuple[pa.Array, np.ndarray]:
    """Render each distinct URL; return the distinct results, and for each URL its place there."""
    found: dict[str, int] = {}
    codes = np.full(len(entries.urls), _LEFT_OUT, np.int32)
    for place, text in enumerate(entries.urls.to_pylist()):
        try:
            codes[place] = found.setdefault(urls.read(text), len(found))
        except BadReference as bad:
            _note_bad_url(bad, place, entries, document)
    return text_column(list(found)), codes


def _note_arguments(entries: Entries, document: Document) -> None:
    """Note arguments that no template uses, at the first key of each URL."""
    notes = ArgumentNotes(document)
    if document.templates:
        codes, rows = np.unique(entries.codes, return_index=True)
        for code, row in zip(codes.tolist(), rows.tolist(), strict=True):
            if code >= 0:
                notes.add(entries.keys[row].as_py(), [entries.urls[code].as_py()])
        for row, value in entries.values.items():
            notes.add(entries.keys[row].as_py(), value)


def _note_bad_url(bad: BadReference, place: int, entries: Entries, document: Document) -> None:
    """Note a URL that cannot be rendered, at the first keys that have it."""
    for row in np.flatnonzero(entries.codes == place).tolist():
        EntryNotes(document, entries.keys[row].as_py()).add(bad.code, str(bad), bad.late_hint)


def _values(entries: Entries, document: Document, urls: UrlReader) -> tuple[np.ndarray, Columns]:
    """Read the values that are no plain byte range; return their rows and references."""
    builder = ColumnsBuilder()
    rows: list[int] = []
    for row, value in entries.values.items():
        notes = EntryNotes(document, entries.keys[row].as_py())
        try:
            builder.add(read_reference(value, urls.read, notes.add))
        except BadReference as bad:
            notes.add(bad.code, str(bad), bad.late_hint)
        else:
            rows.append(row)
    return np.array(rows, np.int64), builder.build()


def _kept(keys: pa.Array, targets: np.ndarray, document: Document) -> np.ndarray:
    """Return the rows that stay: of equal keys the last one, at the place of the first."""
    codes = numbers_of(keys.dictionary_encode().indices)
    counts = np.bincount(codes)
    rows = np.zeros(len(counts), np.int64)
    rows[codes] = np.arange(len(keys))
    for code in np.flatnonzero(counts > 1).tolist():
        key = keys[int(rows[code])].as_py()
        message = f"`{key}` stands {counts[code]:,} times in one object; the last one counts."
        EntryNotes(document, key).add("duplicate-key", message)
    kept: np.ndarray = rows[targets[rows] != _LEFT_OUT]
    return kept
