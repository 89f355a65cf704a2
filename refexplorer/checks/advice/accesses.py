"""The cost of one access pattern: the chunks it needs, requests, bytes, time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from refexplorer.checks.advice.requests import (
    READERS,
    Connection,
    MergeRules,
    OutOfOrderError,
    ReaderCost,
    RunningReads,
    following,
)
from refexplorer.core.errors import RefexplorerError
from refexplorer.io.decode.sizes import place_count
from refexplorer.io.reading.selection import full_selection, places_along
from refexplorer.refset.chunk_grid import ChunkColumns, ChunkReferences, chunk_counts
from refexplorer.refset.generated import Generated
from refexplorer.refset.numbered_segment import Records
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.spec.chunk_axes import ChunkAxis
from refexplorer.spec.references import prefix
from refexplorer.spec.zarr_metadata import ArrayMeta

Access = Sequence["int | slice"] | str  # An index or slice for each dimension, or these as text
_COUNTED = 2**53  # Values along a dimension, and of a chunk, that are counted in 64 bits
_NUMBER = r"\s*-?\d{1,18}\s*"  # so many digits fit into 63 bits
_INDEX = re.compile(rf"{_NUMBER}|(?:{_NUMBER}|\s*)(?::(?:{_NUMBER}|\s*)){{1,2}}", re.ASCII)


@dataclass(frozen=True)
class PartOfArray:
    """A selection of an array by indices and slices, read at once."""

    array: ArrayMeta  # The array
    places: tuple[range, ...]  # Along each dimension
    text: str  # As it is written in Python, such as ``"[0, :]"``

    @property
    def chunk_count(self) -> int:
        """Number of chunks the selection needs, with or without a reference."""
        sides = zip(self.array.axes, self.places, strict=True)
        return math.prod(axis.touched(places)[0] for axis, places in sides)

    @property
    def place_count(self) -> int:
        """Number of values in the selection."""
        return math.prod(map(place_count, self.places))

    def touches(self, axis: int, numbers: np.ndarray) -> np.ndarray:
        """Return how often chunks at the given positions along a dimension are read, int64."""
        counts = _places_of_chunks(self.places[axis], self.array.axes[axis], numbers)
        return (counts > 0).astype(np.int64)

    def select(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which given chunks are needed, ``(n, rank)``, and how many values of each."""
        rows: np.ndarray | slice = slice(None)
        weights: np.ndarray | int = 1
        for axis, (places, along) in enumerate(zip(self.places, self.array.axes, strict=True)):
            column, extent = indices[rows, axis], place_count(places)
            if extent == self.array.shape[axis]:
                weights = weights * _all_of_chunks(along, column)
                continue
            if extent == 1:  # the usual case needs no arithmetic
                counts = (column == along.number_at(places[0])).astype(np.int8)
            else:
                counts = _places_of_chunks(places, along, column)
            is_needed = counts > 0
            if not is_needed.all():
                rows = np.flatnonzero(is_needed) if isinstance(rows, slice) else rows[is_needed]
                weights = weights[is_needed] if isinstance(weights, np.ndarray) else weights
                counts = counts[is_needed]
            weights = weights * counts.astype(np.int64)
        if isinstance(rows, slice):
            rows = np.arange(len(indices))
        if not isinstance(weights, np.ndarray):
            weights = np.full(len(rows), weights, np.int64)
        return rows, weights


def _all_of_chunks(axis: ChunkAxis, numbers: np.ndarray) -> np.ndarray | int:
    """Return how many array elements each chunk along a dimension has."""
    if axis.is_regular and not axis.extent % axis.longest:
        return axis.longest
    starts = axis.starts_of(numbers)
    found: np.ndarray = np.minimum(starts + axis.lengths_of(numbers), axis.extent) - starts
    return found


def _places_of_chunks(places: range, axis: ChunkAxis, numbers: np.ndarray) -> np.ndarray:
    """Return how many of the given positions, sorted or not, are in each chunk of a dimension."""
    ordered = places[::-1] if places.step < 0 else places
    if not ordered:
        return np.zeros(len(numbers), np.int64)
    starts = axis.starts_of(numbers)
    low = np.maximum(starts, ordered.start)
    high = np.minimum(starts + axis.lengths_of(numbers), ordered[-1] + 1)
    before = -((ordered.start - low) // ordered.step)
    after = -((ordered.start - high) // ordered.step)
    counts: np.ndarray = np.maximum(after - before, 0)
    return counts


def is_countable(array: ArrayMeta) -> bool:
    """Return whether the values in an array's chunks can be counted per dimension."""
    return max(array.shape, default=0) < _COUNTED and math.prod(array.chunks) < _COUNTED


def part_of(array: ArrayMeta, part: Access) -> PartOfArray:
    """Return a selection of an array."""
    part = parse_part(part) if isinstance(part, str) else part
    if not all(isinstance(each, slice) or hasattr(each, "__index__") for each in part):
        raise RefexplorerError(f"{part!r} is not an index or slice for each dimension.")
    parts = full_selection(array, part)
    places = tuple(map(places_along, parts, array.shape))
    return PartOfArray(array, places, f"[{', '.join(map(_index_text, parts))}]")


def parse_part(text: str) -> tuple[int | slice, ...]:
    """Parse indices and slices such as ``"0, 10:20, ::2"``."""
    parts: list[int | slice] = []
    for piece in map(str.strip, text.split(",") if text.strip() else ()):
        match = _INDEX.fullmatch(piece)
        if match is None:
            raise RefexplorerError(f"{piece!r} is neither an index nor a slice such as 10:20.")
        numbers = [int(each) if each.strip() else None for each in piece.split(":")]
        if numbers[2:] == [0]:
            raise RefexplorerError(f"{piece!r} has a step of 0.")
        parts.append(int(piece) if len(numbers) == 1 else slice(*numbers))
    return tuple(parts)


def _index_text(part: int | slice) -> str:
    if not isinstance(part, slice):
        return str(part)
    bounds = ["" if bound is None else str(bound) for bound in (part.start, part.stop)]
    step = "" if part.step is None else f":{part.step}"
    return f"{':'.join(bounds)}{step}"


@dataclass(frozen=True, slots=True)
class AccessCost:
    """The cost of one access pattern; unknown values are None, and `unknown` says why.

    Attributes
    ----------
    name
        ``"open"``, ``"one map"``, ``"one time series"``, ``"all of it"`` or ``"as given"``; where
        the first dimension is not time, ``"one slice"`` and ``"along the first dimension"``.
    path
        The array, or the group that is opened.
    selection
        The selection, written as in Python.
    chunks
        Chunks that are read from targets.
    held, absent, rejected
        Chunks that are inline, that have no reference, and whose reference cannot be
        used: they need no request.
    files
        Targets that are read.
    least_requests, least_bytes
        Lower limits: one request for each file; a chunk is read whole.
    decoded
        Size of the decoded chunks in bytes.
    used
        Bytes of the requested values.
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
    """The costs of an array's access patterns, counted together one block of chunks at a time."""

    def __init__(
        self,
        opened: OpenedSet,
        array: ArrayMeta,
        place: Connection,
        parts: Sequence[tuple[str, PartOfArray]],
    ) -> None:
        self.array, self.place = array, place
        self.is_uniform = False
        """Whether all chunks with a reference are byte ranges of uncompressed, whole chunks."""
        grid = ChunkReferences(opened, array)
        if not is_countable(array):
            why = "the array or a chunk has too many values to count"
            self.costs = [_unknown_cost(name, part, why) for name, part in parts]
        elif not grid.complete:
            length = _length_by_arithmetic(opened, array)
            self.costs = [_by_arithmetic(name, part, length, place) for name, part in parts]
        else:
            fresh = [
                part
                for segment in opened.arrays.segments(array)
                if isinstance(segment, Records) and segment.array.path == array.path
                for part in segment.parts
                if not part.is_read
            ]
            try:
                self.costs = self._counted(grid.blocks(), parts)
            except OutOfOrderError:
                self.costs = self._counted(iter([grid.chunks]), parts)
            if any(cost.absent for cost in self.costs) and chunk_counts(opened, array).rejected:
                pairs = zip(self.costs, parts, strict=True)
                self.costs = [_with_rejected(cost, part, grid) for cost, (_, part) in pairs]
            for each in fresh:  # of a large store only one array is kept in memory at a time
                each.release()

    def _counted(
        self, blocks: Iterator[ChunkColumns], parts: Sequence[tuple[str, PartOfArray]]
    ) -> list[AccessCost]:
        """Return the costs of all parts."""
        running = [_RunningAccess(part, self.place) for _, part in parts]
        are_alike = []
        block = next(blocks, None)
        while block is not None:
            following_block = next(blocks, None)
            if len(block):
                are_alike.append(self._is_alike(block))
            for each in running:
                each.add(block, following_block is None)
            block = following_block
        self.is_uniform = bool(are_alike) and all(are_alike)
        return [each.cost(name) for each, (name, _) in zip(running, parts, strict=True)]

    def _is_alike(self, chunks: ChunkColumns) -> bool:
        """Return whether chunks are complete, uncompressed byte ranges."""
        if (size := self.array.encoded_size) is None:
            return False
        return bool((chunks.offsets >= 0).all()) and bool((chunks.lengths == size).all())


class _RunningAccess:
    """What one selection of an array requests, counted block by block."""

    def __init__(self, part: PartOfArray, place: Connection) -> None:
        self._part, self._reads = part, RunningReads(place)
        self._chunks = self._places = self._elements = 0
        self._is_partial = False

    def add(self, chunks: ChunkColumns, is_last: bool) -> None:
        """Count the needed chunks of a block."""
        array = self._part.array
        rows, places = self._part.select(chunks.indices)
        self._chunks += len(rows)
        self._places += int(places.sum())
        self._elements += int(array.element_counts(chunks.indices[rows]).sum())
        is_read = chunks.targets[rows] >= 0
        rows = rows[is_read]
        if _has_shards(array):
            is_part = places[is_read] < array.element_counts(chunks.indices[rows])
            self._is_partial |= bool(is_part.any())
        columns = (chunks.targets, chunks.offsets, chunks.lengths)
        self._reads.add(*(each[rows] for each in columns), is_last=is_last)

    def cost(self, name: str) -> AccessCost:
        """Return the cost after all blocks have been counted."""
        part = self._part
        decoded, used = value_bytes(part.array, self._elements, self._places)
        cost = _read_cost(name, part.array.path, part, self._reads, self._chunks)
        cost = replace(cost, decoded=decoded, used=used)
        if part.array.itemsize is None:
            why = f"values of data type {part.array.dtype} vary in size"
            cost = replace(cost, unknown=(*cost.unknown, why))
        if self._is_partial:
            why = "only parts of its shards are read, and only the shards say where these are"
            unread = tuple(ReaderCost(each.name) for each in READERS)
            cost = replace(
                cost, least_requests=None, least_bytes=None, decoded=None, readers=unread,
                unknown=(why, *cost.unknown),
            )  # fmt: skip
        return cost


def _read_cost(
    name: str, path: str, part: PartOfArray, reads: RunningReads, found: int
) -> AccessCost:
    """Return the cost of reading, without the values; `found` chunks have a reference."""
    whole = "whole files are read, and the set does not have their sizes"
    chunks = reads.count, found - reads.count, part.chunk_count - found, 0
    least = reads.files, reads.files, None if reads.whole else reads.least_bytes
    unknown = (whole,) * bool(reads.whole)
    costs = reads.costs()
    return AccessCost(name, path, part.text, *chunks, *least, readers=costs, unknown=unknown)


def _with_rejected(cost: AccessCost, part: PartOfArray, grid: ChunkReferences) -> AccessCost:
    """Separate chunks with an unusable reference from those without one."""
    rejected = len(part.select(grid.left_out.indices)[0])
    return replace(cost, absent=(cost.absent or 0) - rejected, rejected=rejected)


def _has_shards(array: ArrayMeta) -> bool:
    return any(codec.startswith("sharding_indexed") for codec in array.codecs)


def value_bytes(array: ArrayMeta, elements: int, places: int) -> tuple[int | None, int | None]:
    """Return the size in bytes of the given numbers of chunk elements and of values."""
    if array.itemsize is None or array.dtype == "|O":
        return None, None
    return elements * array.itemsize, places * array.itemsize


def _length_by_arithmetic(opened: OpenedSet, array: ArrayMeta) -> int | str:
    """Return the length of every chunk of an array made by one gen item, or why it is unknown."""
    # So many keys are not evaluated. If they fill the grid and all have the same length, the chunks
    # of a selection follow by multiplication.
    segments = opened.arrays.segments(array)
    rows, _ = opened.arrays.chunk_rows(array)
    if len(segments) != 1 or len(rows) or not isinstance(segments[0], Generated):
        return "several parts of the set generate its chunks, too many to evaluate"
    if opened.arrays.present(array) != array.chunk_count:
        return "its generated chunks are not known without evaluating them"
    length = segments[0].item.length
    if length is None or not length.literal:
        return "the lengths of its generated chunks vary, and there are too many to evaluate"
    return int(length.text)


def _by_arithmetic(
    name: str, part: PartOfArray, length: int | str, place: Connection
) -> AccessCost:
    if _has_shards(part.array):
        length = "its chunks are shards, too many to evaluate"
    if isinstance(length, str):
        return _unknown_cost(name, part, length)
    count = part.chunk_count
    zarr, *others = READERS
    read = count, count * length, length
    size = length if count else None
    elements = count * math.prod(part.array.chunks)  # a gen item makes chunks of one length
    decoded, used = value_bytes(part.array, elements, part.place_count)
    seconds = place.seconds(*read, zarr.at_once)
    why = "the positions of generated ranges are not evaluated, so merging is not known"
    return replace(
        _unknown_cost(name, part, why),
        chunks=count, held=0, absent=0, rejected=0, decoded=decoded, used=used,
        readers=(
            ReaderCost(zarr.name, *read[:2], size, size, seconds, (read,)),
            *(ReaderCost(each.name) for each in others),
        ),
    )  # fmt: skip


def _unknown_cost(name: str, part: PartOfArray, why: str) -> AccessCost:
    return AccessCost(name, part.array.path, part.text, unknown=(why,))


_TIMES = ("time", "t")  # Names of a dimension that no coordinate says more of
_STANDARD_NAMES = ("time", "forecast_reference_time")


def groups_of(opened: OpenedSet) -> dict[str, list[ArrayMeta]]:
    """Return the arrays of each group that has any, by group path."""
    groups: dict[str, list[ArrayMeta]] = {}
    for path in opened.arrays.paths:
        array = opened.arrays.get(path)
        if path and array is not None:
            groups.setdefault(path.rpartition("/")[0], []).append(array)
    return groups


def opening_cost(
    opened: OpenedSet, group: str, arrays: Sequence[ArrayMeta], place: Connection
) -> tuple[AccessCost, tuple[str, ...]]:
    """Return what `xarray.open_dataset` costs, and the coordinates that it reads from targets."""
    # It reads all of each dimension coordinate to index it, and of each array whose units have
    # "since" the first and the last value, to see whether they can be decoded (xarray 2026.9).
    costs: list[AccessCost] = []
    files: set[str | None] = set()
    coordinates: dict[str, None] = {}
    for part in _parts(arrays):
        grid = ChunkReferences(opened, part.array)
        if not is_countable(part.array) or not grid.complete:
            is_long = not is_countable(part.array)
            what = "is too long to be counted" if is_long else "has too many generated chunks"
            why = f"{part.array.path or 'The root array'} {what}"
            return AccessCost("open", group, "open_dataset", unknown=(why,)), ()
        chunks, reads = grid.chunks, RunningReads(place)
        found, _ = part.select(chunks.indices)
        rows = found[chunks.targets[found] >= 0]
        columns = (chunks.targets, chunks.offsets, chunks.lengths)
        reads.add(*(each[rows] for each in columns), is_last=True)
        cost = _read_cost("open", group, part, reads, len(found))
        costs.append(_with_rejected(cost, part, grid) if cost.absent else cost)
        if len(rows):
            coordinates[part.array.path] = None
            files.update(grid.urls[code] for code in np.unique(chunks.targets[rows]).tolist())
    sizes = [each.least_bytes for each in costs]
    counts = {
        name: sum(getattr(each, name) for each in costs)
        for name in ("chunks", "held", "absent", "rejected", "least_requests")
    }
    cost = AccessCost(
        "open", group, "open_dataset", **counts, files=len(files),
        least_bytes=None if None in sizes else sum(filter(None, sizes)),
        readers=tuple(
            following([each.reader(rules) for each in costs], rules.name) for rules in READERS
        ),
        unknown=tuple(dict.fromkeys(why for each in costs for why in each.unknown)),
    )  # fmt: skip
    return cost, tuple(coordinates)


def _parts(arrays: Sequence[ArrayMeta]) -> Iterator[PartOfArray]:
    """Yield the selections that xarray reads, in order."""
    bounds = {array.attributes.get("bounds") for array in arrays if _is_time(array)}
    for array in arrays:
        is_bounds = array.path.rpartition("/")[2] in bounds and "units" not in array.attributes
        if (_is_time(array) or is_bounds) and all(array.shape):
            yield part_of(array, (0,) * len(array.shape))
            yield part_of(array, (-1,) * len(array.shape))
    for array in arrays:
        if array.is_dimension:
            yield part_of(array, ())


def begins_with_time(opened: OpenedSet, array: ArrayMeta) -> bool:
    """Whether the first dimension is time, by its coordinate (CF conventions, 4.4) or its name."""
    name = array.dimensions[0] if array.dimensions else None
    if not name:
        return False
    coordinate = opened.arrays.get(prefix(array.path.rpartition("/")[0]) + name)
    if coordinate is None or name.lower() in _TIMES:
        return name.lower() in _TIMES
    says = coordinate.attributes.get
    is_named = says("axis") == "T" or says("standard_name") in _STANDARD_NAMES
    return is_named or _is_time(coordinate) or coordinate.dtype[1:].startswith("M8")


def _is_time(array: ArrayMeta) -> bool:
    units = array.attributes.get("units")
    return isinstance(units, str) and "since" in units


def metadata_elsewhere(opened: OpenedSet) -> int:
    """Return how many metadata keys the set references instead of storing inline."""
    table = opened.table
    rows = np.array(list(table.metadata.values()), np.int64)
    return int((table.columns.targets[rows] >= 0).sum()) if len(rows) else 0


def has_consolidated(opened: OpenedSet, group: str) -> bool:
    """Return whether a group of Zarr v2 has consolidated metadata."""
    return f"{prefix(group)}.zmetadata" in opened.table.metadata
