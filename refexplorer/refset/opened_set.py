"""The opened set: a table of explicit references, and segments laid over it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from refexplorer.formats.columns.arrow import numbers_of, text_column
from refexplorer.formats.columns.chunk_names import chunk_keys
from refexplorer.formats.columns.references import Columns, joined_columns
from refexplorer.formats.columns.table import Entries, Table, build_table
from refexplorer.formats.parquet.store import ParquetStore
from refexplorer.refset.arrays import ArrayIndex
from refexplorer.refset.numbered_segment import Loaded, Records
from refexplorer.refset.overriding import COMPARED_KEYS, OverrideLimits, apply_overrides, is_within
from refexplorer.refset.parquet_segment import ParquetRecords
from refexplorer.refset.segments import (
    Generated,
    Rejected,
    Segment,
    generated_tables,
    rejected_of,
    table_of_entries,
    warn_of_failing,
)
from refexplorer.refset.tree import Node, Page, Tree
from refexplorer.spec.document import Document
from refexplorer.spec.findings import Finding
from refexplorer.spec.references import Reference, V0Value

BLOCK = 100_000
"""References that are worked on together."""


def tables(parts: Iterable[Segment]) -> Iterator[Table]:
    """Yield all references of segments, in order; generated ones that fail are skipped.

    Of equal keys that were not known before the last one counts. Only where there may be such
    keys, all references are held at once; of a parquet store a record file or two.
    """
    parts = list(parts)
    if _may_repeat(parts):
        parts = [_distinct(concatenated(list(_blocks(parts))))]
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
    """Say whether there are gen items whose keys were not all compared when they were opened."""
    made = [part for part in parts if isinstance(part, Generated)]
    large = [part.folder for part in made if part.count > COMPARED_KEYS]
    return not all(part.item.certain for part in made) or any(
        is_within(one, other) or is_within(other, one) for one, other in combinations(large, 2)
    )


def _distinct(table: Table) -> Table:
    """Return the last row of each key, at the position of the first."""
    codes = numbers_of(table.keys.dictionary_encode().indices)
    rows = np.zeros(codes.max(initial=-1) + 1, np.int64)
    rows[codes] = np.arange(len(codes))
    return table if len(rows) == len(codes) else table.select(rows)


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


class OpenedSet:
    """Columns and arithmetic behind a reference set; keys are numbered over all segments."""

    def __init__(
        self, table: Table, segments: Sequence[Segment] = (), rejected: Rejected | None = None
    ) -> None:
        self.table = table
        self.segments: tuple[Segment, ...] = tuple(segments)
        self.rejected = rejected or Rejected()

    def __getstate__(self) -> dict[str, Any]:
        return {"table": self.table, "segments": self.segments, "rejected": self.rejected}

    @cached_property
    def tree(self) -> Tree:
        """The keys as folders."""
        return Tree(self.table, self.segments)

    @cached_property
    def arrays(self) -> ArrayIndex:
        """The arrays, by their metadata."""
        return ArrayIndex(self.tree)

    @property
    def parts(self) -> tuple[Segment, ...]:
        """The table and the segments, in order."""
        return (self.table, *self.segments)

    @property
    def count(self) -> int:
        """How many keys there are."""
        return sum(part.count for part in self.parts)

    @property
    def bound(self) -> int:
        """No fewer than `count`, and known without reading anything."""
        return sum(part.bound for part in self.parts)

    @property
    def stored(self) -> int:
        """How many references are stored one by one, at most; nothing is read to know it."""
        return sum(part.bound for part in self.parts if not isinstance(part, Generated))

    def columns(self) -> Iterator[tuple[Segment, Columns]]:
        """Yield the segments that hold their references in columns; record files are read."""
        yield self.table, self.table.columns
        for part in self.segments:
            if isinstance(part, Records):
                yield part, part.columns

    def read_all(self) -> None:
        """Read what is still unread, so that everything there is to note was noted."""
        parts = (part for part in self.segments if isinstance(part, ParquetRecords))
        stores = {id(part.store): part.store for part in parts}
        for part in self.segments:
            if isinstance(part, Records):
                part.read()
        for store in stores.values():
            store.note_strays()

    def find(self, key: str) -> tuple[Segment, int] | None:
        """Return the segment that holds a key and its number there, or None."""
        for part in self.parts:
            if key.startswith(part.folder):
                row = part.find(key)
                if row is not None:
                    return part, row
        return None

    def holds(self, key: str) -> bool:
        """Say whether there is such a key, also one whose template fails."""
        return any(key.startswith(part.folder) and part.holds(key) for part in self.parts)

    def lookup(self, key: str) -> tuple[Segment, Reference] | None:
        """Return a key's segment and reference; None without one, or if its template fails."""
        for part in self.parts:
            if key.startswith(part.folder):
                reference = part.get(key)
                if reference is not None:
                    return part, reference
        return None

    def missing(self, key: str) -> KeyError:
        """Return the error for a key that is not there; it says why if the source has it."""
        error = self._error_of(key)
        return KeyError(key if error is None else f"{key}: {error.message}")

    def rejection(self, key: str) -> Finding | None:
        """Return why a key of the source cannot be used; None if it can, or is not there."""
        return self._error_of(key) if self.lookup(key) is None else None

    def _error_of(self, key: str) -> Finding | None:
        """Return the error of a key that is known not to be there."""
        parts = (part for part in self.segments if isinstance(part, Generated | Records))
        errors = (part.rejection(key) for part in parts if key.startswith(part.folder))
        return next(filter(None, errors), None) or self.rejected.find(key)

    def iterate(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[str, Reference]]:
        """Yield keys and references in order; generated ones that fail are skipped."""
        for part, low, high in self.intervals(start, stop):
            yield from part.iterate(low, high)

    def intervals(
        self, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[Segment, int, int]]:
        """Yield the segments that hold the keys numbered `start` to `stop`, and the rows there."""
        before = 0
        for part in self.parts:
            low = max(start - before, 0)
            high = part.count if stop is None else min(stop - before, part.count)
            if low < high:
                yield part, low, high
            before += part.count

    def v0(self) -> Iterator[tuple[str, V0Value]]:
        """Yield keys and their values in a V0 document; of equal keys the last counts."""
        for part in self.parts:
            if isinstance(part, Generated):
                made = 0
                for run in part.runs():
                    made += len(run)
                    yield from run.v0()
                warn_of_failing(part, part.count - made)
            else:
                for key, reference in part.iterate():
                    yield key, reference.to_v0()

    def page(self, path: str, start: int, stop: int | None) -> Page:
        """Return some children of a folder."""
        level = self.tree.level(path)
        if level is None:
            if self.find(path) is None:
                raise KeyError(path)
            return Page((), 0, start)
        stop = level.total if stop is None else min(stop, level.total)
        return Page(level.page(start, stop), level.total, start)

    def node(self, path: str) -> Node:
        """Return the row of the tree for a path."""
        found = self.lookup(path)
        reference = None if found is None else found[1]
        origin = None if found is None else found[0].origin
        node = self.tree.node(path, reference, origin)
        if node is None:
            raise KeyError(path)
        return node

    def position(self, path: str) -> int:
        """Return the position of a path among its siblings, from 0."""
        if (found := self.tree.locate(path)) is None:
            raise KeyError(path)
        return found[1]

    def parent(self, path: str) -> str:
        """Return the folder under which the tree shows a path."""
        found = self.tree.locate(path)
        return "" if found is None else found[0]


def open_document(
    document: Document, entries: Entries | None = None, effort: OverrideLimits | None = None
) -> OpenedSet:
    """Lay out a document; its findings gain what only shows in the whole set."""
    if entries is None:
        table = build_table(document.entries())
        rejected = rejected_of(document.base, document.rejected)
    else:
        table, rejected = table_of_entries(entries, document)
    rejected = replace(rejected, items=document.rejected_items)
    table, segments = apply_overrides(
        table, [Generated(i, i.failing) for i in document.gen], document.findings, effort
    )
    return OpenedSet(table, [segment for segment in segments if segment.count], rejected)


def open_store(store: ParquetStore) -> OpenedSet:
    """Lay out a parquet store: its metadata as a table, each array as a segment."""
    table = build_table(store.metadata.items(), "parquet")
    return OpenedSet(table, [ParquetRecords(store, array) for array in store.arrays])


def number_of(opened: OpenedSet, key: str) -> int:
    """Return the number of a key."""
    found = opened.find(key)
    if found is None:
        raise KeyError(key)
    segment, row = found
    return _first(opened, segment) + row


def numbers_from(opened: OpenedSet, origin: str) -> range:
    """Return the numbers of the keys of one origin, such as ``gen[0]``; empty if it made none."""
    for part in opened.parts:
        if part.origin == origin:
            first = _first(opened, part)
            return range(first, first + part.count)
    return range(0)


def _first(opened: OpenedSet, segment: Segment) -> int:
    before = 0
    for part in opened.parts:
        if part is segment:
            break
        before += part.count
    return before
