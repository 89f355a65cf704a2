"""What one access costs: chunks, requests of each reader, bytes, time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from refexplorer.checks.advice.connections import READERS, Connection, MergeRules
from refexplorer.checks.advice.requests import OutOfOrderError, ReaderCost, RunningReads
from refexplorer.checks.advice.selections import (
    NeededChunks,
    PartOfArray,
    TasksOfArray,
    is_countable,
    part_of,
)
from refexplorer.refset.chunk_grid import ChunkColumns, ChunkReferences
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.parquet_segment import RecordPart, Records
from refexplorer.refset.segments import Generated
from refexplorer.spec.keys import prefix
from refexplorer.spec.zarr_metadata import ArrayMeta

READ_CHUNKS = 10**7
"""Chunks, those of several tasks as often, whose requests are made out one by one."""
LEAST_RECORD = 1_000
"""Rows of the smallest record files that are thought of."""
SHARDS = "sharding_indexed"
_INNER_CHUNKS = "of shards some inner chunks are read; only the shards say where they are"


@dataclass(frozen=True, slots=True)
class AccessCost:
    """What one access costs; None is not known, and `unknown` says why.

    Attributes
    ----------
    name
        ``"open"``, ``"one map"``, ``"one time series"``, ``"all of it"`` or ``"as given"``; where
        the first dimension is not time, ``"one slice"`` and ``"along the first dimension"``.
    path
        Of the array, or of the group that is opened.
    selection
        As it is written in Python.
    chunks
        Chunks that are read from targets; one that several tasks need counts as often.
    held, absent
        Chunks that the set holds itself, and those that have no reference: they cost no request.
    files
        Targets that are read.
    least_requests, least_bytes
        No merging takes fewer requests than one for each file of each task; and a chunk is read
        whole.
    decoded
        Bytes of the chunks when they are decoded.
    used
        Bytes of the values that were asked for, of those chunks.
    readers
        The cost with each reader.
    unknown
        Why numbers are not known.
    """

    name: str
    path: str
    selection: str
    chunks: int | None
    held: int | None
    absent: int | None
    files: int | None
    least_requests: int | None
    least_bytes: int | None
    decoded: int | None
    used: int | None
    readers: tuple[ReaderCost, ...]
    unknown: tuple[str, ...] = ()

    def reader(self, rules: MergeRules) -> ReaderCost:
        """Return the cost with one reader."""
        return next(each for each in self.readers if each.reader == rules.name)


class ArrayCosts:
    """The costs of accesses to one array, counted together, a block of its chunks at a time."""

    def __init__(
        self,
        opened: OpenedSet,
        array: ArrayMeta,
        place: Connection,
        parts: Sequence[PartOfArray | TasksOfArray],
        in_records: Sequence[PartOfArray] = (),
    ) -> None:
        self.array = array
        self.place = place
        grid = ChunkReferences(opened, array)
        self._is_complete = grid.complete
        self._length = 0 if grid.complete else _length_by_arithmetic(opened, array)
        self._parts, self._in_records = parts, in_records
        self._running: list[_RunningAccess] = []
        self._is_uniform: bool | None = None
        if not grid.complete or not is_countable(array):
            return
        fresh = [part for part in _record_parts(opened, array) if not part.is_read]
        try:
            # tasks take the same chunks at several times
            is_apart = all(isinstance(part, PartOfArray) for part in parts)
            self._count(grid.blocks() if is_apart else iter([grid.chunks]))
        except OutOfOrderError:
            self._count(iter([grid.chunks]))
        for part in fresh:  # of a large store those of one array at a time are held
            part.release()

    def _count(self, blocks: Iterator[ChunkColumns]) -> None:
        """Count what all parts ask for."""
        self._is_uniform = None
        self._running = [
            _RunningAccess(part, self.place, any(part is each for each in self._in_records))
            for part in self._parts
            if not _is_long(part)
        ]
        block = next(blocks, None)
        while block is not None:
            following = next(blocks, None)
            if len(block):
                self._is_uniform = self._is_uniform is not False and self._is_alike(block)
            for running in self._running:
                running.add(block, following is None)
            block = following

    def _is_alike(self, chunks: ChunkColumns) -> bool:
        """Say whether some chunks are byte ranges of uncompressed, whole chunks."""
        if (size := self.array.encoded_size) is None:
            return False
        return bool((chunks.offsets >= 0).all()) and bool((chunks.lengths == size).all())

    def cost(self, name: str, part: PartOfArray | TasksOfArray) -> AccessCost:
        """Return the cost of one access."""
        if not is_countable(self.array):
            return _unknown(name, part, "the array or a chunk has more values than are counted")
        if not self._is_complete:
            return _by_arithmetic(name, part, self._length, self.place)
        if _is_long(part):
            why = f"the tasks read {part.chunk_count:,} chunks, which are not made out one by one"
            return _unknown(name, part, why)
        return self._of(part).cost(name)

    def _of(self, part: PartOfArray | TasksOfArray) -> _RunningAccess:
        return next(each for each in self._running if each.part is part)

    @property
    def is_uniform(self) -> bool:
        """Whether all chunks with a reference are byte ranges of uncompressed, whole chunks."""
        return bool(self._is_uniform)

    @property
    def decoded_size(self) -> int | None:
        """Bytes of all its values; None where they vary in size."""
        return _decoded(self.array, 0, math.prod(self.array.shape))[1]

    def records(self, part: PartOfArray) -> np.ndarray | None:
        """Return the record files, ascending, of the chunks of a part that have a reference.

        They are those of a store whose record files have `LEAST_RECORD` rows.
        """
        if not self._is_complete or self.array.chunk_count >= 2**63 or not is_countable(self.array):
            return None
        return np.unique(np.concatenate(self._of(part).records))


def _record_parts(opened: OpenedSet, array: ArrayMeta) -> Iterator[RecordPart]:
    """Yield the record files of an array."""
    for segment in opened.arrays.segments(array):
        if isinstance(segment, Records) and segment.array.path == array.path:
            yield from segment.parts


def _is_long(part: PartOfArray | TasksOfArray) -> bool:
    """Say whether the chunks of tasks are too many to be made out one by one."""
    return isinstance(part, TasksOfArray) and part.chunk_count > READ_CHUNKS


class _RunningAccess:
    """What one part of an array asks for, counted while its chunks come."""

    def __init__(
        self, part: PartOfArray | TasksOfArray, place: Connection, has_records: bool
    ) -> None:
        self.part = part
        self.records = [np.empty(0, np.int64)]
        self._has_records = has_records and part.array.chunk_count < 2**63
        self._reads = RunningReads(place)
        self._chunks = self._places = 0
        self._is_partial = False

    def add(self, chunks: ChunkColumns, is_last: bool) -> None:
        """Count the chunks of a block that are needed."""
        array = self.part.array
        selected = self.part.select(chunks.indices)
        self._chunks += len(selected.rows)
        self._places += int(selected.places.sum())
        if self._has_records:
            self._add_records(chunks.indices, selected.rows)
        read = _read(chunks, selected)
        if _has_shards(array):
            self._is_partial |= bool((read.places < math.prod(array.chunks)).any())
        columns = (chunks.targets, chunks.offsets, chunks.lengths)
        if len(read.rows) < len(chunks) or isinstance(self.part, TasksOfArray):
            rows = read.rows
            columns = chunks.targets[rows], chunks.offsets[rows], chunks.lengths[rows]
        self._reads.add(read.reads, *columns, is_last)

    def _add_records(self, indices: np.ndarray, rows: np.ndarray) -> None:
        numbers = np.zeros(len(rows), np.int64)
        for axis, count in enumerate(self.part.array.grid):
            numbers *= count
            numbers += indices[rows, axis]
        numbers //= LEAST_RECORD
        is_new = np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)]
        self.records.append(numbers[is_new])

    def cost(self, name: str) -> AccessCost:
        """Return the cost, once all blocks were counted."""
        array, reads, unknown = self.part.array, self._reads, []
        if self._is_partial:
            unknown.append(_INNER_CHUNKS)
        if reads.whole:
            unknown.append("whole files are read, whose sizes the set does not have")
        if array.itemsize is None:
            unknown.append(f"values of data type {array.dtype} vary in size")
        decoded, used = _decoded(array, self._chunks, self._places)
        return AccessCost(
            name,
            array.path,
            self.part.text,
            reads.count,
            self._chunks - reads.count,
            self.part.chunk_count - self._chunks,
            reads.files,
            None if self._is_partial else reads.least_requests,
            None if reads.whole or self._is_partial else reads.least_bytes,
            None if self._is_partial else decoded,
            used,
            _not_known_of_readers() if self._is_partial else reads.costs(),
            tuple(unknown),
        )


def _not_known_of_readers() -> tuple[ReaderCost, ...]:
    return tuple(ReaderCost(each.name, None, None, None, None, None) for each in READERS)


def read_costs(
    name: str, path: str, selection: str, reads: RunningReads, held: int, absent: int
) -> AccessCost:
    """Return the cost of reads whose values are not counted."""
    unknown = ("whole files are read, whose sizes the set does not have",) if reads.whole else ()
    return AccessCost(
        name,
        path,
        selection,
        reads.count,
        held,
        absent,
        reads.files,
        reads.least_requests,
        None if reads.whole else reads.least_bytes,
        None,
        None,
        reads.costs(),
        unknown,
    )


def _read(chunks: ChunkColumns, selected: NeededChunks) -> NeededChunks:
    """Return those of some chunks that are in targets."""
    is_all = len(selected.rows) == len(chunks) and not selected.reads.any()
    is_read = (chunks.targets if is_all else chunks.targets[selected.rows]) >= 0
    if is_read.all():
        return selected
    return NeededChunks(selected.rows[is_read], selected.reads[is_read], selected.places[is_read])


def _has_shards(array: ArrayMeta) -> bool:
    return any(codec.startswith(SHARDS) for codec in array.codecs)


def _decoded(array: ArrayMeta, chunks: int, places: int) -> tuple[int | None, int | None]:
    """Return the bytes of so many chunks and so many values."""
    if array.itemsize is None or array.dtype == "|O":
        return None, None
    return chunks * math.prod(array.chunks) * array.itemsize, places * array.itemsize


def _length_by_arithmetic(opened: OpenedSet, array: ArrayMeta) -> int | str:
    """Return the length of every chunk of an array that one gen item makes, or why it is unknown.

    So many keys are not evaluated. Where they fill the grid, each of one length, the chunks of a
    part are a product of numbers.
    """
    segments = opened.arrays.segments(array)
    rows, _ = opened.arrays.chunk_rows(array)
    if len(segments) != 1 or len(rows) or not isinstance(segments[0], Generated):
        return "several parts of the set make its chunks, too many to be evaluated"
    if opened.arrays.present(array) != array.chunk_count:
        return "which of its generated chunks there are is not known without evaluating them"
    length = segments[0].item.length
    if length is None or not length.literal:
        return "the lengths of its generated chunks vary, and they are too many to be evaluated"
    return int(length.text)


def _by_arithmetic(
    name: str, part: PartOfArray | TasksOfArray, length: int | str, place: Connection
) -> AccessCost:
    if isinstance(length, str):
        return _unknown(name, part, length)
    array, count = part.array, part.chunk_count
    unknown = ("how generated ranges lie in their files is not evaluated, so not what merges",)
    zarr, *others = READERS
    seconds, told = None, None
    if isinstance(part, PartOfArray):
        seconds = place.seconds_of_one(count, count * length, length, zarr.at_once)
        told = ((count, count * length, length),)
    if _has_shards(array):
        return _unknown(name, part, "its chunks are shards, too many to be evaluated")
    size = length if count else None
    readers = [ReaderCost(zarr.name, count, count * length, size, size, seconds, told)]
    readers += [ReaderCost(each.name, None, None, None, None, None) for each in others]
    decoded, used = _decoded(array, count, part.place_count)
    return AccessCost(
        name,
        array.path,
        part.text,
        count,
        0,
        0,
        None,
        None,
        None,
        decoded,
        used,
        tuple(readers),
        unknown,
    )


def _unknown(name: str, part: PartOfArray | TasksOfArray, why: str) -> AccessCost:
    none = (None,) * 8
    readers = _not_known_of_readers()
    return AccessCost(name, part.array.path, part.text, *none, readers, (why,))


_TIMES = ("time", "t")
"""Names of a dimension that no coordinate says more of."""
_STANDARD_NAMES = ("time", "forecast_reference_time")


def groups_of(opened: OpenedSet) -> dict[str, list[ArrayMeta]]:
    """Return the arrays of each group that has some, by the path of the group."""
    found: dict[str, list[ArrayMeta]] = {}
    for path in opened.arrays.paths:
        array = opened.arrays.get(path)
        if path and array is not None:
            found.setdefault(path.rpartition("/")[0], []).append(array)
    return found


def opening_cost(
    opened: OpenedSet, group: str, arrays: Sequence[ArrayMeta], place: Connection
) -> tuple[AccessCost, tuple[str, ...]]:
    """Return what `xarray.open_dataset` costs, and the coordinates that it reads from targets.

    It reads all of each dimension coordinate to index it, and of each array whose units have
    "since" the first and the last value, to see whether they can be decoded (xarray 2026.9).
    """
    columns: list[tuple[np.ndarray, ...]] = []
    held = absent = 0
    codes: dict[str | None, int] = {}
    coordinates: dict[str, None] = {}
    for number, part in enumerate(_parts(arrays)):
        grid = ChunkReferences(opened, part.array)
        if not is_countable(part.array):
            return _not_known(group, place, f"{part.array.path} is too long to be counted"), ()
        if not grid.complete:
            return _not_known(group, place, f"{part.array.path} has too many generated chunks"), ()
        chunks = grid.chunks
        selected = part.select(chunks.indices)
        absent += part.chunk_count - len(selected.rows)
        rows = selected.rows[chunks.targets[selected.rows] >= 0]
        held += len(selected.rows) - len(rows)
        if len(rows):
            numbers = np.array([codes.setdefault(url, len(codes)) for url in grid.urls], np.int64)
            targets = numbers[chunks.targets[rows]]
            reads = np.full(len(rows), number)
            columns.append((reads, targets, chunks.offsets[rows], chunks.lengths[rows]))
            coordinates[part.array.path] = None
    empty = (np.empty(0, np.int64),) * 4
    merged = RunningReads(place)
    reads, targets, offsets, lengths = map(np.concatenate, zip(empty, *columns, strict=True))
    merged.add(reads, targets, offsets, lengths, is_last=True)
    cost = read_costs("open", group, "open_dataset", merged, held, absent)
    return cost, tuple(coordinates)


def _parts(arrays: Sequence[ArrayMeta]) -> Iterator[PartOfArray]:
    """Yield what xarray reads, one after the other."""
    bounds = {array.attributes.get("bounds") for array in arrays if _is_time(array)}
    for array in arrays:
        is_bounds = array.path.rpartition("/")[2] in bounds and "units" not in array.attributes
        if (_is_time(array) or is_bounds) and all(array.shape):
            yield part_of(array, (0,) * len(array.shape))
            yield part_of(array, (-1,) * len(array.shape))
    for array in arrays:
        if array.dimensions == (array.path.rpartition("/")[2],):
            yield part_of(array, ())


def is_time_dimension(opened: OpenedSet, array: ArrayMeta, axis: int) -> bool:
    """Whether a dimension is one of time, by its coordinate (CF conventions, 4.4) or its name."""
    name = array.dimensions[axis] if array.dimensions else None
    if not name:
        return False
    coordinate = opened.arrays.get(prefix(array.path.rpartition("/")[0]) + name)
    return name.lower() in _TIMES or (coordinate is not None and _says_time(coordinate))


def _says_time(coordinate: ArrayMeta) -> bool:
    """Whether a coordinate is one of time, which xarray need not decode as such."""
    says = coordinate.attributes.get
    is_named = says("axis") == "T" or says("standard_name") in _STANDARD_NAMES
    return is_named or _is_time(coordinate) or coordinate.dtype[1:].startswith("M8")


def _is_time(array: ArrayMeta) -> bool:
    units = array.attributes.get("units")
    return isinstance(units, str) and "since" in units


def _not_known(group: str, place: Connection, why: str) -> AccessCost:
    cost = read_costs("open", group, "open_dataset", RunningReads(place), 0, 0)
    readers = tuple(replace(each, requests=None, bytes=None, seconds=None) for each in cost.readers)
    return replace(
        cost,
        chunks=None,
        held=None,
        absent=None,
        files=None,
        least_requests=None,
        least_bytes=None,
        readers=readers,
        unknown=(why,),
    )


def metadata_elsewhere(opened: OpenedSet) -> int:
    """Return how many keys of metadata the set refers to instead of holding them."""
    table = opened.table
    rows = np.array(list(table.metadata.values()), np.int64)
    return int((table.columns.targets[rows] >= 0).sum()) if len(rows) else 0


def has_consolidated(opened: OpenedSet, group: str) -> bool:
    """Say whether a group of Zarr v2 has consolidated metadata."""
    return f"{prefix(group)}.zmetadata" in opened.table.metadata
