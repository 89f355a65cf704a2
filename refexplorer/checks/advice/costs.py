"""What one access costs: chunks, requests of each reader, bytes, time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from refexplorer.checks.advice.connections import READERS, Connection, MergeRules
from refexplorer.checks.advice.requests import OutOfOrderError, ReaderCost, RunningReads
from refexplorer.checks.advice.selections import PartOfArray, TasksOfArray, is_countable, part_of
from refexplorer.refset.chunk_grid import ChunkColumns, ChunkReferences, chunk_counts
from refexplorer.refset.numbered_segment import Records, SegmentPart
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.segments import Generated
from refexplorer.spec.references import prefix
from refexplorer.spec.zarr_metadata import ArrayMeta

READ_CHUNKS = 10**7
"""Chunks, those of several tasks as often, whose requests are made out one by one."""


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
    held, absent, rejected
        Chunks that the set holds itself, that have no reference, and whose reference cannot be
        used: they cost no request.
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
    chunks: int | None = None
    held: int | None = None
    absent: int | None = None
    rejected: int | None = None
    files: int | None = None
    least_requests: int | None = None
    least_bytes: int | None = None
    decoded: int | None = None
    used: int | None = None
    readers: tuple[ReaderCost, ...] = tuple(ReaderCost(each.name) for each in READERS)
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
    ) -> None:
        self.array = array
        self.place = place
        grid = ChunkReferences(opened, array)
        self._is_complete = grid.complete
        self._length = 0 if grid.complete else _length_by_arithmetic(opened, array)
        self._running = [_RunningAccess(part, place) for part in parts if not _is_long(part)]
        self.is_uniform = False
        """Whether all chunks with a reference are byte ranges of uncompressed, whole chunks."""
        if not grid.complete or not is_countable(array):
            return
        fresh = [part for part in _record_parts(opened, array) if not part.is_read]
        try:
            # tasks take the same chunks at several times
            is_apart = all(isinstance(part, PartOfArray) for part in parts)
            self._count(grid.blocks() if is_apart else iter([grid.chunks]))
        except OutOfOrderError:
            self._running = [_RunningAccess(each.part, place) for each in self._running]
            self._count(iter([grid.chunks]))
        has_gaps = any(each.unreferenced for each in self._running)
        if has_gaps and chunk_counts(opened, array).rejected:
            for each in self._running:
                each.rejected = len(each.part.select(grid.left_out.indices).rows)
        for part in fresh:  # of a large store those of one array at a time are held
            part.release()

    def _count(self, blocks: Iterator[ChunkColumns]) -> None:
        """Count what all parts ask for."""
        are_alike = []
        block = next(blocks, None)
        while block is not None:
            following = next(blocks, None)
            if len(block):
                are_alike.append(self._is_alike(block))
            for running in self._running:
                running.add(block, following is None)
            block = following
        self.is_uniform = bool(are_alike) and all(are_alike)

    def _is_alike(self, chunks: ChunkColumns) -> bool:
        """Say whether some chunks are byte ranges of uncompressed, whole chunks."""
        if (size := self.array.encoded_size) is None:
            return False
        return bool((chunks.offsets >= 0).all()) and bool((chunks.lengths == size).all())

    def cost(self, name: str, part: PartOfArray | TasksOfArray) -> AccessCost:
        """Return the cost of one access."""
        if not is_countable(self.array):
            return _unknown_cost(
                name, part, "the array or a chunk has more values than are counted"
            )
        if not self._is_complete:
            return _by_arithmetic(name, part, self._length, self.place)
        if _is_long(part):
            why = f"the tasks read {part.chunk_count:,} chunks, which are not made out one by one"
            return _unknown_cost(name, part, why)
        return next(each for each in self._running if each.part is part).cost(name)

    @property
    def decoded_size(self) -> int | None:
        """Bytes of all its values; None where they vary in size."""
        return _value_bytes(self.array, 0, math.prod(self.array.shape))[1]


def _record_parts(opened: OpenedSet, array: ArrayMeta) -> Iterator[SegmentPart]:
    """Yield the record files or manifests of an array."""
    for segment in opened.arrays.segments(array):
        if isinstance(segment, Records) and segment.array.path == array.path:
            yield from segment.parts


def _is_long(part: PartOfArray | TasksOfArray) -> bool:
    """Say whether the chunks of tasks are too many to be made out one by one."""
    return isinstance(part, TasksOfArray) and part.chunk_count > READ_CHUNKS


class _RunningAccess:
    """What one part of an array asks for, counted while its chunks come."""

    def __init__(self, part: PartOfArray | TasksOfArray, place: Connection) -> None:
        self.part = part
        self._reads = RunningReads(place)
        self._chunks = self._places = self._elements = self.rejected = 0
        self._is_partial = False

    def add(self, chunks: ChunkColumns, is_last: bool) -> None:
        """Count the chunks of a block that are needed."""
        array = self.part.array
        selected = self.part.select(chunks.indices)
        self._chunks += len(selected.rows)
        self._places += int(selected.places.sum())
        self._elements += int(array.element_counts(chunks.indices[selected.rows]).sum())
        is_read = chunks.targets[selected.rows] >= 0
        rows, reads = selected.rows[is_read], selected.reads[is_read]
        if _has_shards(array):
            is_part = selected.places[is_read] < array.element_counts(chunks.indices[rows])
            self._is_partial |= bool(is_part.any())
        columns = (chunks.targets, chunks.offsets, chunks.lengths)
        self._reads.add(reads, *(each[rows] for each in columns), is_last=is_last)

    @property
    def unreferenced(self) -> int:
        """How many of its chunks have no reference that can be used."""
        return self.part.chunk_count - self._chunks

    def cost(self, name: str) -> AccessCost:
        """Return the cost, once all blocks were counted."""
        part, reads = self.part, self._reads
        inline, absent = self._chunks - reads.count, self.unreferenced - self.rejected
        decoded, used = _value_bytes(part.array, self._elements, self._places)
        cost = read_cost(name, part.array.path, part.text, reads, inline, absent, self.rejected)
        cost = replace(cost, decoded=decoded, used=used)
        if part.array.itemsize is None:
            why = f"values of data type {part.array.dtype} vary in size"
            cost = replace(cost, unknown=(*cost.unknown, why))
        if self._is_partial:
            why = "of shards some inner chunks are read; only the shards say where they are"
            blank = AccessCost(name, cost.path, cost.selection, unknown=(why, *cost.unknown))
            names = ("chunks", "held", "absent", "rejected", "files", "used")
            cost = replace(blank, **{each: getattr(cost, each) for each in names})
        return cost


def read_cost(
    name: str,
    path: str,
    selection: str,
    reads: RunningReads,
    inline: int,
    absent: int,
    rejected: int = 0,
) -> AccessCost:
    """Return the cost of reads, but for the values of their chunks."""
    return AccessCost(
        name,
        path,
        selection,
        reads.count,
        inline,
        absent,
        rejected,
        reads.files,
        reads.least_requests,
        None if reads.whole else reads.least_bytes,
        readers=reads.costs(),
        unknown=("whole files are read, and the set does not have their sizes",)
        * bool(reads.whole),
    )


def _has_shards(array: ArrayMeta) -> bool:
    return any(codec.startswith("sharding_indexed") for codec in array.codecs)


def _value_bytes(array: ArrayMeta, elements: int, places: int) -> tuple[int | None, int | None]:
    """Return the bytes of so many elements of chunks and so many values."""
    if array.itemsize is None or array.dtype == "|O":
        return None, None
    return elements * array.itemsize, places * array.itemsize


def _length_by_arithmetic(opened: OpenedSet, array: ArrayMeta) -> int | str:
    """Return the length of every chunk of an array that one gen item makes, or why it is unknown.

    So many keys are not evaluated. Where they fill the grid, each of one length, the chunks of a
    part are a product of numbers.
    """
    segments = opened.arrays.segments(array)
    rows, _ = opened.arrays.chunk_rows(array)
    if len(segments) != 1 or len(rows) or not isinstance(segments[0], Generated):
        return "several parts of the set generate its chunks, too many to evaluate"
    if opened.arrays.present(array) != array.chunk_count:
        return "which of its generated chunks there are is not known without evaluating them"
    length = segments[0].item.length
    if length is None or not length.literal:
        return "the lengths of its generated chunks vary, and there are too many to evaluate"
    return int(length.text)


def _by_arithmetic(
    name: str, part: PartOfArray | TasksOfArray, length: int | str, place: Connection
) -> AccessCost:
    if isinstance(length, str):
        return _unknown_cost(name, part, length)
    if _has_shards(part.array):
        return _unknown_cost(name, part, "its chunks are shards, too many to evaluate")
    count = part.chunk_count
    zarr, *others = READERS
    seconds, reads = None, None
    if isinstance(part, PartOfArray):
        seconds = place.seconds_of_one(count, count * length, length, zarr.at_once)
        reads = ((count, count * length, length),)
    size = length if count else None
    elements = count * math.prod(part.array.chunks)  # a gen item makes chunks of one length
    decoded, used = _value_bytes(part.array, elements, part.place_count)
    return AccessCost(
        name,
        part.array.path,
        part.text,
        count,
        0,
        0,
        0,
        decoded=decoded,
        used=used,
        readers=(
            ReaderCost(zarr.name, count, count * length, size, size, seconds, reads),
            *(ReaderCost(each.name) for each in others),
        ),
        unknown=("the positions of generated ranges are not evaluated, so merging is not known",),
    )


def _unknown_cost(name: str, part: PartOfArray | TasksOfArray, why: str) -> AccessCost:
    return AccessCost(name, part.array.path, part.text, unknown=(why,))


_TIMES = ("time", "t")
"""Names of a dimension that no coordinate says more of."""
_STANDARD_NAMES = ("time", "forecast_reference_time")


def groups_of(opened: OpenedSet) -> dict[str, list[ArrayMeta]]:
    """Return the arrays of each group that has some, by the path of the group."""
    groups: dict[str, list[ArrayMeta]] = {}
    for path in opened.arrays.paths:
        array = opened.arrays.get(path)
        if path and array is not None:
            groups.setdefault(path.rpartition("/")[0], []).append(array)
    return groups


def opening_cost(
    opened: OpenedSet, group: str, arrays: Sequence[ArrayMeta], place: Connection
) -> tuple[AccessCost, tuple[str, ...]]:
    """Return what `xarray.open_dataset` costs, and the coordinates that it reads from targets.

    It reads all of each dimension coordinate to index it, and of each array whose units have
    "since" the first and the last value, to see whether they can be decoded (xarray 2026.9).
    """
    reads = RunningReads(place)
    inline = absent = rejected = 0
    codes: dict[str | None, int] = {}
    coordinates: dict[str, None] = {}
    columns = [(np.empty(0, np.int64),) * 4]
    for number, part in enumerate(_parts(arrays)):
        grid = ChunkReferences(opened, part.array)
        if not is_countable(part.array) or not grid.complete:
            is_long = not is_countable(part.array)
            what = "is too long to be counted" if is_long else "has too many generated chunks"
            why = f"{part.array.path or 'The root array'} {what}"
            return AccessCost("open", group, "open_dataset", unknown=(why,)), ()
        chunks = grid.chunks
        selected = part.select(chunks.indices)
        if unreferenced := part.chunk_count - len(selected.rows):
            bad = len(part.select(grid.left_out.indices).rows)
            absent, rejected = absent + unreferenced - bad, rejected + bad
        rows = selected.rows[chunks.targets[selected.rows] >= 0]
        inline += len(selected.rows) - len(rows)
        if len(rows):
            numbers = np.array([codes.setdefault(url, len(codes)) for url in grid.urls], np.int64)
            targets = numbers[chunks.targets[rows]]
            of_part = np.full(len(rows), number)
            columns.append((of_part, targets, chunks.offsets[rows], chunks.lengths[rows]))
            coordinates[part.array.path] = None
    reads.add(*map(np.concatenate, zip(*columns, strict=True)), is_last=True)
    cost = read_cost("open", group, "open_dataset", reads, inline, absent, rejected)
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


def metadata_elsewhere(opened: OpenedSet) -> int:
    """Return how many keys of metadata the set refers to instead of holding them."""
    table = opened.table
    rows = np.array(list(table.metadata.values()), np.int64)
    return int((table.columns.targets[rows] >= 0).sum()) if len(rows) else 0


def has_consolidated(opened: OpenedSet, group: str) -> bool:
    """Say whether a group of Zarr v2 has consolidated metadata."""
    return f"{prefix(group)}.zmetadata" in opened.table.metadata
