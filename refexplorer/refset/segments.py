"""The segments of a set: explicit references, gen items, parquet arrays; later ones override.

Rejected keys of the document are here, too. `tables` writes out all segments, and the last of
duplicate keys that could not be compared.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from operator import itemgetter
from typing import Protocol

import numpy as np
import pyarrow as pa

from refexplorer.core.errors import LeftOutWarning, LimitError, PickledByFields, warn
from refexplorer.formats.columns.chunk_names import chunk_indices, chunk_keys
from refexplorer.formats.columns.references import (
    RANGE,
    URL,
    Columns,
    ColumnsBuilder,
    UrlColumn,
    joined_columns,
    number_column,
    numbers_of,
    text_column,
)
from refexplorer.formats.columns.table import WHOLE, Entries, KeyIndex, Table, build_table
from refexplorer.formats.columns.texts import spans_of
from refexplorer.refset.generated import COMPARED_KEYS, Generated, generated_tables, is_within
from refexplorer.refset.numbered_segment import Loaded, Records
from refexplorer.spec.document import ArgumentNotes, Document, EntryNotes, UrlReader
from refexplorer.spec.findings import Finding, Reason, pointer
from refexplorer.spec.gen.dimensions import blocks
from refexplorer.spec.gen.item import GenItem, values_text
from refexplorer.spec.references import (
    BadReference,
    Reference,
    check_key_length,
    folders_above,
    read_reference,
)
from refexplorer.spec.templates.columns import TooMuchText, flat
from refexplorer.spec.zarr_metadata import ArrayMeta

_WRITTEN_KEYS = 200_000  # Of gen items with more keys the chunks are not counted


@dataclass(frozen=True)
class Rejected(PickledByFields):
    """n explicit keys and the gen items that were rejected."""

    base: str = ""  # What the pointer of an explicit key starts with
    # Column of texts, n rows, none twice
    keys: pa.LargeStringArray = field(default_factory=lambda: text_column([]))
    # What is wrong with each, an index into `reasons`; shape ``(n,)``
    codes: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))
    reasons: tuple[Reason, ...] = ()  # What is wrong
    # Gen items that were rejected as a whole; the set has none of their keys
    items: tuple[GenItem, ...] = ()

    @cached_property
    def _index(self) -> KeyIndex:
        return KeyIndex(self.keys)

    def find(self, key: str) -> Finding | None:
        """Return why a key was rejected; None if it was not."""
        row = self._index.find(key) if len(self.keys) else None
        if row is None:
            found = (_refusal(item, key) for item in self.items if key.startswith(item.folder))
            return next(filter(None, found), None)
        reason: Reason = self.reasons[self.codes[row]]
        return reason.finding(self.base + pointer(key), key)

    def touches(self, path: str) -> bool:
        """Return whether keys below a path may have been rejected."""
        return path in self._folders or any(_may_make(item, path) for item in self.items)

    def is_uncounted(self, path: str) -> bool:
        """Return whether a rejected gen item has too many keys, maybe below a path, to list."""
        return any(i.varying.count > _WRITTEN_KEYS and _may_make(i, path) for i in self.items)

    @cached_property
    def _folders(self) -> frozenset[str]:
        """Every folder above an explicit key."""
        return frozenset(folder for key in self.keys.to_pylist() for folder in folders_above(key))

    def indices(self, array: ArrayMeta) -> np.ndarray:
        """Return the rejected chunks of an array, shape ``(n, rank)`` int64, in any order."""
        if not array.shape:
            return np.empty((int(self.find(array.chunk_key(())) is not None), 0), np.int64)
        keys = pa.chunked_array([self.keys, *map(_keys_of, self.items)]).combine_chunks()
        indices = chunk_indices(array, keys)[1]
        return indices[array.inside(indices)]


NONE_REJECTED = Rejected()


def _may_make(item: GenItem, path: str) -> bool:
    """Return whether a gen item may generate keys below a path."""
    folder = f"{path}/" if path else ""
    return item.folder.startswith(folder) or folder.startswith(item.folder)


def _refusal(item: GenItem, key: str) -> Finding | None:
    """Return why the item that would generate a key was rejected."""
    try:
        number = item.find(key)
    except LimitError:
        return None
    if number is None:
        return None
    for values in (item.values(number), *map(item.varied, item.sample())):
        if (bad := item.failure(values)) is not None:
            where = values_text(values)
            message = (
                f"gen[{item.number}] would generate this key, but the item is rejected, "
                f"since it fails for {where}: {bad}"
            )
            at = pointer("gen", item.number, bad.field)
            return Reason(bad.code, message, bad.hint).finding(at, key)
    return None


def _keys_of(item: GenItem) -> pa.LargeStringArray:
    """Write out the keys of an item, if there are not too many; failing ones are skipped."""
    keys: list[str] = []
    count = item.varying.count
    for block in blocks(item.varying, 0, count if count <= _WRITTEN_KEYS else 0):
        scopes = item.scopes(block.values(item.varying))
        try:
            texts = flat(scopes.texts(item.key), block.shape)
        except TooMuchText:
            break
        keys += texts[scopes.good(block.shape)].tolist()
    return text_column(keys)


def rejected_of(base: str, reasons: Mapping[str, Reason]) -> Rejected:
    """Collect keys and their faults in columns."""
    return Rejected(
        base, text_column(list(reasons)), np.arange(len(reasons)), tuple(reasons.values())
    )


_REJECTED = -2  # in the column of targets, of a row whose reference has an error; -1 is no target


@dataclass
class _Errors:
    """The reasons for rejecting values, by row, and URLs, by position."""

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
    """Collect entries in a table; bad ones are reported in the document and rejected."""
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
    """Reject the keys that are longer than the limits allow."""
    sizes = spans_of(entries.keys).sizes
    for row in np.flatnonzero(sizes > document.limits.key_bytes).tolist():
        key = entries.keys[row].as_py()
        try:
            check_key_length(key, document.limits)
        except BadReference as bad:
            errors.rows[row] = EntryNotes(document, key).refuse(bad)


def _ranges(entries: Entries, document: Document, urls: UrlReader, errors: _Errors) -> Columns:
    """Return the columns with byte ranges and whole files in their rows, the others empty."""
    texts, codes = entries.urls, np.arange(len(entries.urls) + 1, dtype=np.int32)
    letters = ((block, letter) for block in spans_of(texts).blocks() for letter in b"{\r\n")
    if document.version and any(np.any(block == letter) for block, letter in letters):
        texts, codes[:-1] = _rendered(entries, document, urls, errors)  # jinja2 changes \r, too
    codes[-1] = _REJECTED
    kinds = np.where(entries.lengths == WHOLE, np.uint8(URL), np.uint8(RANGE))
    targets, lengths = codes[entries.codes], np.maximum(entries.lengths, 0)
    return Columns(kinds, targets, UrlColumn(texts), entries.offsets, lengths, [])


def _rendered(
    entries: Entries, document: Document, urls: UrlReader, errors: _Errors
) -> tuple[pa.Array, np.ndarray]:
    """Render each distinct URL; return the distinct results, and the index for each URL."""
    found: dict[str, int] = {}
    codes = np.full(len(entries.urls), _REJECTED, np.int32)
    for position, text in enumerate(entries.urls.to_pylist()):
        try:
            codes[position] = found.setdefault(urls.read(text), len(found))
        except BadReference as bad:
            errors.urls[position] = Reason.of(bad)
            for row in np.flatnonzero(entries.codes == position).tolist():
                EntryNotes(document, entries.keys[row].as_py()).refuse(bad)
    return text_column(list(found)), codes


def _note_arguments(entries: Entries, document: Document) -> None:
    """Report arguments that no template uses, at the first key of each URL."""
    if not document.templates:
        return
    notes = ArgumentNotes(document)
    codes, firsts = np.unique(entries.codes, return_index=True)
    by_row = sorted(zip(firsts.tolist(), codes.tolist(), strict=True))
    ranges = ((row, [entries.urls[code].as_py()]) for row, code in by_row if code >= 0)
    for row, value in heapq.merge(ranges, entries.values.items(), key=itemgetter(0)):
        notes.add(entries.keys[row].as_py(), value)


def _values(
    entries: Entries, document: Document, urls: UrlReader, errors: _Errors
) -> tuple[np.ndarray, Columns]:
    """Read the values that are not plain byte ranges; return their rows and references."""
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
    """Return the effective rows: the last of duplicate keys, at the position of the first."""
    rows, codes = _last_rows(keys)
    counts = np.bincount(codes)
    for code in np.flatnonzero(counts > 1).tolist():
        key = keys[int(rows[code])].as_py()
        message = f"`{key}` occurs {counts[code]:,} times in one object; the last value is used."
        EntryNotes(document, key).add("duplicate-key", message)
    return rows


class Segment(Protocol):
    """Numbered references, found by arithmetic or in columns."""

    @property
    def origin(self) -> str: ...  # Of the keys: ``refs``, ``gen[0]`` or ``parquet``
    @property
    def folder(self) -> str: ...  # Of all keys; ``""`` is the root
    @property
    def count(self) -> int: ...
    @property
    def bound(self) -> int: ...  # An upper bound of `count`, known without reading anything
    @property
    def size(self) -> int | None: ...  # Bytes of all references; None if unknown without reading
    def key_at(self, row: int) -> str: ...
    def reference_at(self, row: int) -> Reference | None: ...  # None if it fails
    def find(self, key: str) -> int | None: ...
    def holds(self, key: str) -> bool: ...  # Cheaper than finding its number
    def get(self, key: str) -> Reference | None: ...  # None if there is none, or if it fails
    def iterate(
        self, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[str, Reference]]: ...


def warn_of_failing(part: Segment, count: int) -> None:
    """Warn how many keys were not written, if this was not reported when the set was opened."""
    if count:
        warn(
            f"{count:,} of the {part.count:,} keys of {part.origin} are rejected and not "
            "written: their templates fail.",
            LeftOutWarning,
        )


def code_targets(columns: Columns, codes: dict[str | None, int]) -> np.ndarray:
    """Return the target of each reference as a number, shape ``(n,)`` int64, -1 if none."""
    table, used = np.full(len(columns.urls) + 1, -1, np.int64), columns.used()
    table[used] = [codes.setdefault(url, len(codes)) for url in columns.urls.at(used)]
    return table[columns.targets]


BLOCK = 100_000  # References that are processed together


def tables(parts: Iterable[Segment]) -> Iterator[Table]:
    """Yield all references of segments, in order; failing generated ones are skipped."""
    parts = list(parts)
    if _may_repeat(parts):
        table = concatenated(list(_blocks(parts)))
        parts = [table.select(_last_rows(table.keys)[0])]
    yield from _blocks(parts)


def _blocks(parts: Iterable[Segment]) -> Iterator[Table]:
    for part in parts:
        if isinstance(part, Records):
            for loaded in part.blocks(BLOCK):
                yield _table_of_records(part, loaded)
        else:
            made = 0
            for start in range(0, part.count, BLOCK):
                block = block_of(part, start, min(start + BLOCK, part.count))
                made += block.count
                yield block
            warn_of_failing(part, part.count - made)


def _may_repeat(parts: Iterable[Segment]) -> bool:
    """Return whether any gen items have keys that were not all compared on opening."""
    made = [part for part in parts if isinstance(part, Generated)]
    large = [part.folder for part in made if part.count > COMPARED_KEYS]
    return not all(part.item.certain for part in made) or any(
        is_within(one, other) or is_within(other, one) for one, other in combinations(large, 2)
    )


def _last_rows(keys: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the last row of each key, in the order of the first; and which one each row has."""
    codes = numbers_of(keys.dictionary_encode().indices)
    rows = np.zeros(codes.max(initial=-1) + 1, np.int64)
    rows[codes] = np.arange(len(codes))
    return rows, codes


def block_of(part: Segment, start: int, stop: int) -> Table:
    """Return the references numbered `start` to `stop` of a segment."""
    if isinstance(part, Table):
        columns = part.columns.select(np.arange(start, stop))
        return Table(part.keys.slice(start, stop - start), columns, part.origin)
    if isinstance(part, Records):
        return _table_of_records(part, part.between(start, stop))
    if isinstance(part, Generated):
        return concatenated(list(generated_tables(part, start, stop)))
    return build_table(part.iterate(start, stop), part.origin)


def _table_of_records(part: Records, loaded: Loaded) -> Table:
    return Table(chunk_keys(part.array, loaded.numbers), loaded.columns, part.origin)


def table_of(parts: Sequence[Segment]) -> Table:
    """Return all references of segments as one table."""
    if len(parts) == 1 and isinstance(parts[0], Table):
        return parts[0]
    return concatenated(list(tables(parts)))


def concatenated(parts: Sequence[Table]) -> Table:
    """Return the rows of several tables, one after the other."""
    keys = [part.keys for part in parts]
    columns = joined_columns([part.columns for part in parts])
    return Table(pa.concat_arrays(keys) if keys else text_column([]), columns)
