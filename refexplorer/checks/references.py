"""All references of a set that an audit checks, block by block, with their chunks."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from math import prod

import numpy as np
import pyarrow as pa

from refexplorer.core.text import counted, escape, masks_repr
from refexplorer.formats.columns.chunk_names import chunk_indices, chunk_keys
from refexplorer.formats.columns.references import (
    RANGE,
    URL,
    Columns,
    UrlColumn,
    text_column,
    text_scalar,
)
from refexplorer.formats.columns.table import Table
from refexplorer.formats.parquet.records import BadRecords
from refexplorer.formats.parquet.store import ParquetStore
from refexplorer.refset.generated import EVALUATED_KEYS, Generated, is_within
from refexplorer.refset.manifest_segment import ManifestPart, ManifestRecords
from refexplorer.refset.numbered_segment import Loaded, Records
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.parquet_segment import ParquetRecords, RecordPart
from refexplorer.refset.segments import BLOCK, block_of
from refexplorer.refset.targets import further_targets
from refexplorer.spec.findings import Findings
from refexplorer.spec.zarr_metadata import ArrayMeta

KEPT_FILES = 1000  # record files that are named; the rest are counted
MISSING, UNREADABLE = "missing", "unreadable"
_SHOWN = 5  # record files that the text names
_CHARS = 200  # characters of a name or reason: a file may hold any text


@masks_repr
@dataclass(frozen=True, slots=True)
class LostFile:
    """A record file that yields no references."""

    file: str  # Its path inside the store
    array: str  # The array whose references it has
    # ``"missing"`` or ``"unreadable"``; a file is also missing where a writer had no reference to
    # put into it
    state: str
    # first, chunks: The number of the first chunk in the grid, C order, and how many chunks it is
    # for; readers take them as the fill value
    first: int
    chunks: int
    # message, code: Why it cannot be read; empty for one that is missing
    message: str = ""
    code: str = ""

    def __str__(self) -> str:
        why = self.message or f"The record file `{self.file}` is missing."
        last = self.first + self.chunks - 1
        numbers = f"{self.first:,} to {last:,}" if self.chunks > 1 else f"{self.first:,}"
        of = f"{counted(self.chunks, 'chunk')} of {self.array or 'the root array'} ({numbers})"
        read = "read as the fill value" if self.state == MISSING else "cannot be read"
        why = escape(why, 2 * _CHARS).removesuffix(".")
        return f"{why}: {escape(of, _CHARS)} {read}."


@dataclass
class LostFiles:
    """Counts lost record files; the first ones are kept."""

    files: list[LostFile] = field(default_factory=list)  # At most `KEPT_FILES`, by array
    # missing, unreadable: How many there are
    missing: int = 0
    unreadable: int = 0
    # chunks, unreadable_chunks: How many chunks all of them are for, and the unreadable ones
    chunks: int = 0
    unreadable_chunks: int = 0
    # Of each that is unreadable: its array, and the numbers of its chunks
    unreadable_rows: list[tuple[str, int, int]] = field(default_factory=list)
    # manifests, manifest_chunks: How many manifests are lost, and how many chunks these have
    manifests: int = 0
    manifest_chunks: int = 0

    def note_missing(self, store: ParquetStore, array: ArrayMeta) -> None:
        """Record the missing record files of an array."""
        numbers = store.record_numbers(array)
        self.missing += store.record_count(array) - len(numbers)
        self.chunks += array.chunk_count - sum(_rows(store, array, n) for n in numbers)
        for number in islice(_gaps(numbers, store.record_count(array)), self._room):
            self.files.append(_lost(store, array, number, MISSING))

    def note_unreadable(
        self, store: ParquetStore, array: ArrayMeta, number: int, bad: BadRecords
    ) -> None:
        """Record an unusable record file."""
        rows, first = _rows(store, array, number), number * store.record_size
        self.unreadable += 1
        self.unreadable_chunks += rows
        self.chunks += rows
        self.unreadable_rows.append((array.path, first, first + rows))
        if self._room:
            lost = _lost(store, array, number, UNREADABLE)
            self.files.append(replace(lost, message=str(bad), code=bad.code))

    def note_manifests(self, array: ArrayMeta, part: ManifestPart) -> None:
        """Record the lost manifests of a part."""
        if not part.lost:
            return
        numbers = part.start + part.rejected_rows()
        for run in np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1):
            self.unreadable_rows.append((array.path, int(run[0]), int(run[-1]) + 1))
        for file, reason in part.lost.items():
            self.manifests += 1
            self.manifest_chunks += file.chunks or 0
            first = array.chunk_number([start for start, _ in file.extents])
            if self._room:
                name, chunks = f"manifests/{file.id}", file.chunks or 0
                why = reason.message, reason.code
                self.files.append(LostFile(name, array.path, UNREADABLE, first, chunks, *why))

    @property
    def count(self) -> int:
        """The number of record files that yield no references."""
        return self.missing + self.unreadable

    def sentences(self) -> Iterator[str]:
        """Yield the counts as a sentence, if there are any."""
        if self.count:
            files = f"{counted(self.count, 'record file')} without references"
            files += f", {self.missing:,} missing and {self.unreadable:,} unreadable"
            filled = self.chunks - self.unreadable_chunks
            parts = [f"{counted(filled, 'chunk')} read as the fill value"] if filled else []
            if self.unreadable_chunks:
                parts.append(f"{counted(self.unreadable_chunks, 'chunk')} cannot be read")
            yield f"{files}: {', '.join(parts) or 'no chunk is lost'}."
        if self.manifests:
            chunks = counted(self.manifest_chunks, "chunk")
            yield f"{counted(self.manifests, 'manifest')} unreadable: {chunks} cannot be read."
        yield from map(str, self.files[:_SHOWN])

    @property
    def _room(self) -> int:
        return KEPT_FILES - len(self.files)


def _gaps(numbers: list[int], end: int) -> Iterator[int]:
    """Yield the numbers from 0 to an end that are not in the given ones, ascending."""
    for before, after in pairwise([-1, *numbers, end]):
        yield from range(before + 1, after)


def _rows(store: ParquetStore, array: ArrayMeta, number: int) -> int:
    """Return the number of chunks in a record file."""
    return min(store.record_size, array.chunk_count - number * store.record_size)


def _lost(store: ParquetStore, array: ArrayMeta, number: int, state: str) -> LostFile:
    name, first = store.record_file(array, number), number * store.record_size
    return LostFile(name, array.path, state, first, _rows(store, array, number))


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
    rejected: int = 0  # Further keys whose template or record fails

    def __len__(self) -> int:
        return self.table.count

    def used(self) -> AuditedBlock:
        """Return the references with a target, and the inline chunks."""
        kinds = self.table.columns.kinds
        rows = np.flatnonzero((kinds == RANGE) | (kinds == URL) | (self.chunks >= 0))
        if len(rows) == len(self):
            return self
        return replace(
            self, table=self.table.select(rows), arrays=self.arrays[rows], chunks=self.chunks[rows]
        )


@dataclass
class Unlisted:
    """Generated keys that are too many to list; the files they point to are fewer."""

    most: int | None  # Generated keys that are listed; None: all
    count: int = 0  # Those that are not
    _parts: list[Generated] = field(default_factory=list)
    _n_more_files: int = 0

    def takes(self, part: Generated) -> bool:
        """Return whether a gen item has too many keys to list."""
        if self.most is None or part.count <= self.most:
            self.most = None if self.most is None else self.most - part.count
            return False
        self._parts.append(part)
        self.count += part.count
        return True

    def target_blocks(self, known: Collection[str | None]) -> Iterator[AuditedBlock]:
        """Yield the files that are not among the `known` ones, as references without a key."""
        found = further_targets(self._parts, {*known}, EVALUATED_KEYS)
        self._n_more_files = found.unlisted
        for start in range(0, len(found.keys), BLOCK):
            urls = list(islice(found.keys, start, start + BLOCK))
            none, table = np.zeros(len(urls), np.int64), text_column([""] * len(urls))
            kinds, targets = np.full(len(urls), URL, np.uint8), np.arange(len(urls), dtype=np.int32)
            columns = Columns(kinds, targets, UrlColumn(more=urls), none, none, ())
            yield AuditedBlock(Table(table, columns), *_no_references(len(urls)))

    def sentences(self) -> Iterator[str]:
        """Yield what is unknown about them."""
        if self.count:
            yield f"{counted(self.count, 'generated key')} are too many to list."
        if self._n_more_files:
            yield f"Up to {counted(self._n_more_files, 'file')} of theirs were not asked."


def blocks(
    opened: OpenedSet, lost: LostFiles, unlisted: Unlisted, has_keys: bool
) -> Iterator[AuditedBlock]:
    """Yield all references of a set, some 10^5 at a time; those of record files without keys."""
    stores: dict[int, ParquetStore] = {}
    for part in opened.parts:
        if isinstance(part, ParquetRecords):
            # read apart from the set, which would keep it and note what is odd again
            apart = replace(part.store, findings=Findings())
            store = stores.setdefault(id(part.store), apart)
            yield from _of_records(opened, part, store, lost, has_keys)
        elif isinstance(part, ManifestRecords):
            yield from _of_manifests(opened, part, has_keys)
            for each in part.parts:
                lost.note_manifests(part.array, each)
        elif isinstance(part, Generated):
            if not unlisted.takes(part):
                yield from _of_generated(opened, part)
        else:
            yield from _of_table(opened)


def _of_table(opened: OpenedSet) -> Iterator[AuditedBlock]:
    table = opened.table
    arrays, chunks = _no_references(table.count)
    for place, path in enumerate(opened.arrays.paths):
        array = opened.arrays.get(path)
        assert array is not None
        rows, indices = opened.arrays.chunk_rows(array)
        arrays[rows], chunks[rows] = place, numbers_of_chunks(array, indices)
    for start in range(0, table.count, BLOCK):
        stop = min(start + BLOCK, table.count)
        yield AuditedBlock(block_of(table, start, stop), arrays[start:stop], chunks[start:stop])


def _of_records(
    opened: OpenedSet, part: ParquetRecords, store: ParquetStore, lost: LostFiles, has_keys: bool
) -> Iterator[AuditedBlock]:
    place = opened.arrays.paths.index(part.array.path)
    lost.note_missing(store, part.array)
    for number in store.record_numbers(part.array):
        record = RecordPart(store, part.array, number)
        record.columns  # noqa: B018  reading shows whether it can be used
        if record.bad is not None:
            lost.note_unreadable(store, part.array, number, record.bad)
            continue
        for start in range(0, record.count, BLOCK):
            stop = min(start + BLOCK, record.count)
            rows = record.usable(np.arange(start, stop))
            chunks = record.start + record.held.rows_at(rows)
            loaded = Loaded(chunks, record.columns.select(rows))
            yield _block_of(part, place, loaded, stop - start - len(chunks), has_keys)


def _of_manifests(opened: OpenedSet, part: Records, has_keys: bool) -> Iterator[AuditedBlock]:
    place = opened.arrays.paths.index(part.array.path)
    for loaded in part.groups(BLOCK):
        for start in range(0, len(loaded.numbers), BLOCK):
            rows = slice(start, start + BLOCK)
            block = Loaded(loaded.numbers[rows], loaded.columns.select(rows))
            yield _block_of(part, place, block, 0, has_keys)


def _block_of(
    part: Records, place: int, loaded: Loaded, rejected: int, has_keys: bool
) -> AuditedBlock:
    chunks = loaded.numbers
    none = pa.repeat(text_scalar(""), len(chunks))
    keys = chunk_keys(part.array, chunks) if has_keys else none
    arrays = np.full(len(chunks), place, np.int32)
    return AuditedBlock(Table(keys, loaded.columns), arrays, chunks, rejected)


def _of_generated(opened: OpenedSet, part: Generated) -> Iterator[AuditedBlock]:
    near = [
        (place, array)
        for place, path in enumerate(opened.arrays.paths)
        if is_within(path, part.folder) or is_within(part.folder, path)
        if (array := opened.arrays.get(path)) is not None
    ]
    for start in range(0, part.count, BLOCK):
        stop = min(start + BLOCK, part.count)
        table = block_of(part, start, stop)
        arrays, chunks = _no_references(table.count)
        for place, array in near:
            rows, indices = chunk_indices(array, table.keys)
            arrays[rows], chunks[rows] = place, numbers_of_chunks(array, indices)
        yield AuditedBlock(table, arrays, chunks, stop - start - table.count)


def _no_references(count: int) -> tuple[np.ndarray, np.ndarray]:
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
