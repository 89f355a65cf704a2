"""The references of a large document as a table: each distinct URL is read once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refexplorer.formats.arrow import number_column, numbers_of
from refexplorer.formats.json_blocks import Entries
from refexplorer.refset.columns import RANGE, Columns, ColumnsBuilder
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
    keys = pa.chunked_array(entries.keys, pa.large_string()).combine_chunks()
    entries.keys.clear()  # they are held by the joined column now
    urls = UrlReader(document)
    rows, values = _values(entries, keys, document, urls)
    columns = _ranges(entries, keys, document, urls).overwritten(rows, values)
    _note_arguments(entries, keys, document)
    table = Table(keys, columns)
    rows = _kept(keys, columns.targets, table.index.unique, document)
    if len(rows) == len(keys):
        return table
    return Table(keys.take(number_column(rows)), columns.select(rows))


def _ranges(entries: Entries, keys: pa.Array, document: Document, urls: UrlReader) -> Columns:
    """Return the columns with the byte ranges in their rows; the other rows are left out yet."""
    found: dict[str | None, int] = {}
    codes = np.full(len(entries.urls) + 1, _LEFT_OUT, np.int32)
    for place, text in enumerate(entries.urls):
        try:
            codes[place] = found.setdefault(urls.read(text), len(found))
        except BadReference as bad:
            _note_bad_url(bad, place, entries, keys, document)
    kinds = np.full(len(keys), RANGE, np.uint8)
    targets = codes[entries.codes]
    return Columns(kinds, targets, tuple(found), entries.offsets, entries.lengths, [])


def _note_arguments(entries: Entries, keys: pa.Array, document: Document) -> None:
    """Note arguments that no template uses, at the first key of each URL."""
    notes = ArgumentNotes(document)
    if document.templates:
        codes, rows = np.unique(entries.codes, return_index=True)
        for code, row in zip(codes.tolist(), rows.tolist(), strict=True):
            if code >= 0:
                notes.add(keys[row].as_py(), [entries.urls[code]])
        for row, value in entries.values.items():
            notes.add(keys[row].as_py(), value)


def _note_bad_url(
    bad: BadReference, place: int, entries: Entries, keys: pa.Array, document: Document
) -> None:
    """Note a URL that cannot be rendered, at the first keys that have it."""
    for row in np.flatnonzero(entries.codes == place).tolist():
        EntryNotes(document, keys[row].as_py()).add(bad.code, str(bad), bad.hint)


def _values(
    entries: Entries, keys: pa.Array, document: Document, urls: UrlReader
) -> tuple[np.ndarray, Columns]:
    """Read the values that are no plain byte range; return their rows and references."""
    builder = ColumnsBuilder()
    rows: list[int] = []
    for row, value in entries.values.items():
        notes = EntryNotes(document, keys[row].as_py())
        try:
            builder.add(read_reference(value, urls.read, notes.add))
        except BadReference as bad:
            notes.add(bad.code, str(bad), bad.hint)
        else:
            rows.append(row)
    return np.array(rows, np.int64), builder.build()


def _kept(keys: pa.Array, targets: np.ndarray, unique: bool, document: Document) -> np.ndarray:
    """Return the rows that stay: of equal keys the last one, at the place of the first."""
    rows = np.arange(len(keys))
    if not unique:
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
