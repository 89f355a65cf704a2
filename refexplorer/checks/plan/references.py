"""All references of a set that an audit looks at, block by block, with the chunk that each is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from refexplorer.checks.plan.record_files import LostFiles
from refexplorer.formats.columns.chunk_names import chunk_indices, chunk_keys
from refexplorer.formats.columns.references import RANGE, URL
from refexplorer.formats.columns.table import Table
from refexplorer.formats.parquet.store import ParquetStore
from refexplorer.refset.opened_set import BLOCK, OpenedSet, block_of
from refexplorer.refset.parquet_segment import RecordPart, Records
from refexplorer.refset.segments import Generated, Segment
from refexplorer.spec.diagnostics import Findings
from refexplorer.spec.keys import prefix
from refexplorer.spec.zarr_metadata import ArrayMeta

_INT64 = 2**63 - 1


@dataclass(frozen=True)
class AuditedBlock:
    """n references."""

    table: Table  # Keys, and what they refer to
    # The array that each is a chunk of, a place in ``opened.arrays.paths``; -1 for other keys,
    # shape ``(n,)`` int32
    arrays: np.ndarray
    # The number of the chunk in its grid, C order; -1 for none, or one outside, ``(n,)`` int64
    chunks: np.ndarray
    rejected: int = 0  # Keys besides these whose template or record fails

    def __len__(self) -> int:
        return self.table.count

    def used(self) -> AuditedBlock:
        """Return the references with a target, and the chunks that the set itself holds."""
        kinds = self.table.columns.kinds
        rows = np.flatnonzero((kinds == RANGE) | (kinds == URL) | (self.chunks >= 0))
        if len(rows) == len(self):
            return self
        return replace(
            self, table=self.table.select(rows), arrays=self.arrays[rows], chunks=self.chunks[rows]
        )


def blocks(opened: OpenedSet, lost: LostFiles) -> Iterator[AuditedBlock]:
    """Yield all references of a set, some 10^5 at a time."""
    stores: dict[int, ParquetStore] = {}
    for part in opened.parts:
        if isinstance(part, Records):
            # read apart from the set, which would keep it and note what is odd once more
            apart = replace(part.store, findings=Findings())
            yield from _of_records(opened, part, stores.setdefault(id(part.store), apart), lost)
        elif isinstance(part, Generated):
            yield from _of_generated(opened, part)
        else:
            yield from _of_table(opened)


def _of_table(opened: OpenedSet) -> Iterator[AuditedBlock]:
    table = opened.table
    arrays, chunks = _nowhere(table.count)
    for place, path in enumerate(opened.arrays.paths):
        array = opened.arrays.get(path)
        assert array is not None
        rows, indices = opened.arrays.chunk_rows(array)
        arrays[rows], chunks[rows] = place, numbers_of_chunks(array, indices)
    for start in range(0, table.count, BLOCK):
        stop = min(start + BLOCK, table.count)
        yield AuditedBlock(block_of(table, start, stop), arrays[start:stop], chunks[start:stop])


def _of_records(
    opened: OpenedSet, part: Records, store: ParquetStore, lost: LostFiles
) -> Iterator[AuditedBlock]:
    place = opened.arrays.paths.index(part.array.path)
    lost.note_missing(store, part.array)
    for number in store.record_numbers(part.array):
        record = RecordPart(store, part.array, number)
        record.columns  # noqa: B018  reading tells whether it can be used
        if record.bad is not None:
            lost.note_unreadable(store, part.array, number, record.bad)
            continue
        for start in range(0, record.count, BLOCK):
            stop = min(start + BLOCK, record.count)
            rows = record.usable(np.arange(start, stop))
            chunks = record.start + record.held.rows_at(rows)
            table = Table(chunk_keys(part.array, chunks), record.columns.select(rows))
            arrays = np.full(len(chunks), place, np.int32)
            yield AuditedBlock(table, arrays, chunks, stop - start - len(chunks))


def _of_generated(opened: OpenedSet, part: Generated) -> Iterator[AuditedBlock]:
    near = [
        (place, array)
        for place, path in enumerate(opened.arrays.paths)
        if _may_meet(part, path) and (array := opened.arrays.get(path)) is not None
    ]
    for start in range(0, part.count, BLOCK):
        stop = min(start + BLOCK, part.count)
        table = block_of(part, start, stop)
        arrays, chunks = _nowhere(table.count)
        for place, array in near:
            rows, indices = _chunks_among(table, array)
            arrays[rows], chunks[rows] = place, numbers_of_chunks(array, indices)
        yield AuditedBlock(table, arrays, chunks, stop - start - table.count)


def _may_meet(part: Segment, path: str) -> bool:
    above, below = prefix(path), prefix(part.folder)
    return above.startswith(below) or below.startswith(above)


def _chunks_among(table: Table, array: ArrayMeta) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that are chunks of an array, and their indices."""
    rank = len(array.shape)
    if not rank:
        row = table.find(array.chunk_key(()))
        rows = np.array([] if row is None else [row], np.int64)
        return rows, np.empty((len(rows), 0), np.int64)
    start = array.folder + array.prefix
    return chunk_indices(table.keys, np.arange(table.count), start, array.separator, rank)


def _nowhere(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full(count, -1, np.int32), np.full(count, -1, np.int64)


def numbers_of_chunks(array: ArrayMeta, indices: np.ndarray) -> np.ndarray:
    """Return the numbers of chunks, shape ``(n,)`` int64."""
    if not 0 < prod(array.grid) <= _INT64:
        return np.full(len(indices), -1, np.int64)
    numbers = np.zeros(len(indices), np.int64)
    for axis, size in enumerate(array.grid):
        numbers = numbers * size + indices[:, axis]
    found: np.ndarray = np.where(array.inside(indices), numbers, -1)
    return found
