"""What one access costs: chunks, requests of each reader, bytes, time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from refexplorer.data.advice.connections import READERS, Connection, MergeRules
from refexplorer.data.advice.reads import Reads
from refexplorer.data.advice.selections import PartOfArray, TasksOfArray, is_countable
from refexplorer.refset.columns.sums import exact_sum
from refexplorer.refset.grids.chunk_grid import ChunkColumns, ChunkReferences
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.segments.segment import Generated
from refexplorer.spec.core.zarr_metadata import ArrayMeta

READ_CHUNKS = 10**7
"""Chunks, those of several tasks as often, whose requests are made out one by one."""
SHARDS = "sharding_indexed"


@dataclass(frozen=True, slots=True)
class ReaderCost:
    """What one reader asks for; None is not known.

    Attributes
    ----------
    reader
        Its name; `Advice.readers` says what it is.
    requests
        Reads of targets, after its merging.
    bytes, smallest, largest
        Bytes that come, gaps among them, and those of single requests.
    seconds
        By the model of the place: transport alone, without decoding.
    """

    reader: str
    requests: int | None
    bytes: int | None
    smallest: int | None
    largest: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class AccessCost:
    """What one access costs; None is not known, and `unknown` says why.

    Attributes
    ----------
    name
        ``"open"``, ``"one map"``, ``"one time series"``, ``"all of it"`` or ``"as given"``.
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
    """The costs of accesses to one array; nothing is read.

    Parameters
    ----------
    opened, array
        The set, and an array of it.
    place
        Where the targets are.
    """

    def __init__(self, opened: OpenedSet, array: ArrayMeta, place: Connection) -> None:
        self.array = array
        self.place = place
        grid = ChunkReferences(opened, array)
        self._chunks = grid.chunks if grid.complete else None
        self._length = 0 if grid.complete else _length_by_arithmetic(opened, array)

    def cost(self, name: str, part: PartOfArray | TasksOfArray) -> AccessCost:
        """Return the cost of one access."""
        if not is_countable(self.array):
            return _unknown(name, part, "the array or a chunk has more values than are counted")
        if self._chunks is None:
            return _by_arithmetic(name, part, self._length, self.place)
        return _cost(name, part, self._chunks, self.place)

    @property
    def is_uniform(self) -> bool:
        """Whether all chunks with a reference are byte ranges of uncompressed, whole chunks."""
        if self._chunks is None or not len(self._chunks) or self.array.encoded_size is None:
            return False
        is_range = bool((self._chunks.offsets >= 0).all())
        return is_range and bool((self._chunks.lengths == self.array.encoded_size).all())

    @property
    def decoded_size(self) -> int | None:
        """Bytes of all its values; None where they vary in size."""
        return _decoded(self.array, 0, math.prod(self.array.shape))[1]

    def records(self, part: PartOfArray, record_size: int) -> int | None:
        """Return how many record files of a size the chunks of a part with a reference are in."""
        if self._chunks is None or self.array.chunk_count >= 2**63 or not is_countable(self.array):
            return None
        rows = part.select(self._chunks.indices).rows
        grid = self.array.grid
        steps = np.array([math.prod(grid[axis + 1 :]) for axis in range(len(grid))], np.int64)
        return len(np.unique(self._chunks.indices[rows] @ steps // record_size))


def _cost(
    name: str, part: PartOfArray | TasksOfArray, chunks: ChunkColumns, place: Connection
) -> AccessCost:
    array = part.array
    if part.chunk_count > READ_CHUNKS and isinstance(part, TasksOfArray):
        why = f"the tasks read {part.chunk_count:,} chunks, which are not made out one by one"
        return _unknown(name, part, why)
    selected = part.select(chunks.indices)
    is_read = chunks.targets[selected.rows] >= 0
    rows = selected.rows[is_read]
    unknown = []
    places = selected.places[is_read]
    is_partial = _has_shards(array) and bool((places < math.prod(array.chunks)).any())
    if is_partial:
        unknown.append("of shards some inner chunks are read; only the shards say where they are")
    reads = _reads(chunks, rows, selected.reads[is_read])
    if reads.whole:
        unknown.append("whole files are read, whose sizes the set does not have")
    if array.itemsize is None:
        unknown.append(f"values of data type {array.dtype} vary in size")
    costs = _readers(reads, place, is_known=not is_partial)
    decoded, used = _decoded(array, len(selected.rows), int(selected.places.sum()))
    return AccessCost(
        name,
        array.path,
        part.text,
        reads.count,
        len(selected.rows) - reads.count,
        part.chunk_count - len(selected.rows),
        reads.files,
        None if is_partial else reads.least_requests,
        None if reads.whole or is_partial else reads.least_bytes,
        None if is_partial else decoded,
        used,
        costs,
        tuple(unknown),
    )


def read_costs(
    name: str, path: str, selection: str, reads: Reads, held: int, absent: int, place: Connection
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
        _readers(reads, place),
        unknown,
    )


def _reads(chunks: ChunkColumns, rows: np.ndarray, reads: np.ndarray) -> Reads:
    return Reads(reads, chunks.targets[rows], chunks.offsets[rows], chunks.lengths[rows])


def _has_shards(array: ArrayMeta) -> bool:
    return any(codec.startswith(SHARDS) for codec in array.codecs)


def _decoded(array: ArrayMeta, chunks: int, places: int) -> tuple[int | None, int | None]:
    """Return the bytes of so many chunks and so many values."""
    if array.itemsize is None or array.dtype == "|O":
        return None, None
    return chunks * math.prod(array.chunks) * array.itemsize, places * array.itemsize


def _readers(reads: Reads, place: Connection, is_known: bool = True) -> tuple[ReaderCost, ...]:
    if not is_known:
        return tuple(ReaderCost(each.name, None, None, None, None, None) for each in READERS)
    return tuple(_reader(reads, rules, place) for rules in READERS)


def _reader(reads: Reads, rules: MergeRules, place: Connection) -> ReaderCost:
    found = reads.requests(rules)
    count, sizes = len(found.sizes), found.sizes
    if reads.whole:
        return ReaderCost(rules.name, count + reads.whole_requests(rules), None, None, None, None)
    if not count:
        return ReaderCost(rules.name, 0, 0, None, None, 0.0)
    starts = np.flatnonzero(np.append(True, found.reads[1:] != found.reads[:-1]))
    numbers = np.diff(np.append(starts, count))
    weights = sizes.astype(float)
    totals, largest = np.add.reduceat(weights, starts), np.maximum.reduceat(weights, starts)
    seconds = place.seconds(numbers, totals, largest, rules.at_once)
    total = exact_sum(sizes)
    return ReaderCost(rules.name, count, total, int(sizes.min()), int(sizes.max()), seconds)


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
    seconds = None
    if isinstance(part, PartOfArray):
        seconds = place.seconds_of_one(count, count * length, length, zarr.at_once)
    if _has_shards(array):
        return _unknown(name, part, "its chunks are shards, too many to be evaluated")
    size = length if count else None
    readers = [ReaderCost(zarr.name, count, count * length, size, size, seconds)]
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
    readers = tuple(ReaderCost(each.name, None, None, None, None, None) for each in READERS)
    return AccessCost(name, part.array.path, part.text, *none, readers, (why,))
