"""Parts of an array, and the chunks that they need."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import counted
from refexplorer.io.decode.sizes import place_count
from refexplorer.io.reading.selection import places_along
from refexplorer.spec.chunk_axes import ChunkAxis
from refexplorer.spec.zarr_metadata import ArrayMeta

Places = Sequence["int | slice"]
TaskChunks = Mapping[str, int]
Access = Places | TaskChunks | str
"""An index or slice for each dimension, or lengths of tasks by their names, or either as text."""
_COUNTED = 2**53
"""Values along a dimension, and of a chunk, that are counted in 64 bits."""
_NUMBER = r"\s*-?\d{1,18}\s*"  # so many digits fit into 63 bits
_INDEX = re.compile(rf"{_NUMBER}|(?:{_NUMBER}|\s*)(?::(?:{_NUMBER}|\s*)){{1,2}}", re.ASCII)


@dataclass(frozen=True)
class NeededChunks:
    """Chunks of an array that a part of it needs, n of all that have a reference."""

    # Which of the chunks, int64, shape ``(n,)``; one that several tasks need is there as often
    rows: np.ndarray
    reads: np.ndarray  # The number of the read, or task, that each belongs to, int64
    places: np.ndarray  # Values of each chunk that are needed, shape ``(n,)`` int64


@dataclass(frozen=True)
class PartOfArray:
    """A part of an array by indices and slices, read at once."""

    array: ArrayMeta  # The array
    places: tuple[range, ...]  # Along each dimension
    text: str  # As it is written in Python, such as ``"[0, :]"``

    @property
    def chunk_count(self) -> int:
        """Chunks that it needs, whether or not they have a reference."""
        sides = zip(self.array.axes, self.places, strict=True)
        return math.prod(axis.touched(places)[0] for axis, places in sides)

    @property
    def place_count(self) -> int:
        """Values that it has."""
        return math.prod(map(place_count, self.places))

    def touches(self, axis: int, numbers: np.ndarray) -> np.ndarray:
        """Return how often chunks at some places along a dimension are read, int64."""
        counts = _places_of_chunks(self.places[axis], self.array.axes[axis], numbers)
        return (counts > 0).astype(np.int64)

    def select(self, indices: np.ndarray) -> NeededChunks:
        """Return the chunks that it needs, of those at some indices, shape ``(n, rank)``."""
        rows: np.ndarray | slice = slice(None)
        weights: np.ndarray | int = 1
        for axis, (places, along) in enumerate(zip(self.places, self.array.axes, strict=True)):
            column, extent = indices[rows, axis], place_count(places)
            if extent == self.array.shape[axis]:
                weights = weights * _all_of_chunks(along, column)
                continue
            if extent == 1:  # the usual case, told without arithmetic
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
        return NeededChunks(rows, np.zeros(len(rows), np.int64), weights)


@dataclass(frozen=True)
class TasksOfArray:
    """All of an array in tasks of a size, as Dask reads it, each for itself."""

    array: ArrayMeta  # The array
    lengths: tuple[int, ...]  # Of a task along each dimension
    text: str  # As xarray takes it, such as ``"chunks={'time': 10}"``

    @property
    def chunk_count(self) -> int:
        """Chunks that the tasks need, those of several tasks as often."""
        return math.prod(
            _reads_along(axis, length)
            for axis, length in zip(self.array.axes, self.lengths, strict=True)
        )

    @property
    def place_count(self) -> int:
        """Values that all tasks have together."""
        return math.prod(self.array.shape)

    def touches(self, axis: int, numbers: np.ndarray) -> np.ndarray:
        """Return how many tasks read chunks at some places along a dimension, int64."""
        along, length = self.array.axes[axis], self.lengths[axis]
        starts = along.starts_of(numbers)
        stops = np.minimum(starts + along.lengths_of(numbers), along.extent)
        count: np.ndarray = (stops - 1) // length - starts // length + 1
        return count

    def select(self, indices: np.ndarray) -> NeededChunks:
        """Return the chunks that the tasks need, of those at some indices."""
        rows = np.arange(len(indices))
        reads = np.zeros(len(indices), np.int64)
        weights = np.ones(len(indices), np.int64)
        for axis, (along, length) in enumerate(zip(self.array.axes, self.lengths, strict=True)):
            numbers = indices[rows, axis]
            starts = along.starts_of(numbers)
            stops = np.minimum(starts + along.lengths_of(numbers), along.extent)
            first, last = starts // length, (stops - 1) // length
            times = last - first + 1
            repeated = np.repeat(np.arange(len(rows)), times)
            nth = np.arange(len(repeated)) - np.repeat(np.cumsum(times) - times, times)
            task = first[repeated] + nth
            low = np.maximum(starts[repeated], task * length)
            high = np.minimum(stops[repeated], (task + 1) * length)
            rows, weights = rows[repeated], weights[repeated] * (high - low)
            reads = reads[repeated] * -(-along.extent // length) + task
        return NeededChunks(rows, np.unique(reads, return_inverse=True)[1], weights)


def _all_of_chunks(axis: ChunkAxis, numbers: np.ndarray) -> np.ndarray | int:
    """Return how many elements of the array each chunk of a dimension has."""
    if axis.is_regular and not axis.extent % axis.longest:
        return axis.longest
    starts = axis.starts_of(numbers)
    found: np.ndarray = np.minimum(starts + axis.lengths_of(numbers), axis.extent) - starts
    return found


def _places_of_chunks(places: range, axis: ChunkAxis, numbers: np.ndarray) -> np.ndarray:
    """Return how many of some places, ascending or not, each chunk of a dimension has."""
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


def _reads_along(axis: ChunkAxis, length: int) -> int:
    """Return how many times chunks of a dimension are read by tasks, together."""
    if not axis.extent:
        return 0
    # a border between tasks inside a chunk has it read again
    borders = (axis.extent - 1) // length
    ends = (*axis.firsts[1:], axis.count)
    runs = zip(axis.firsts, axis.begins, ends, axis.lengths, strict=True)
    shared = sum(_multiples(begin, step, end - first, length) for first, begin, end, step in runs)
    return axis.count + borders - (shared - 1)  # the first chunk begins where the first task does


def _multiples(begin: int, step: int, count: int, length: int) -> int:
    """Return how many of so many numbers, a step apart, are multiples of a length."""
    common = math.gcd(step, length)
    if begin % common:
        return 0
    period = length // common
    first = -(begin // common) * pow(step // common, -1, period) % period
    return 0 if first >= count else (count - 1 - first) // period + 1


def is_countable(array: ArrayMeta) -> bool:
    """Return whether the values of an array's chunks can be counted in columns."""
    return max(array.shape, default=0) < _COUNTED and math.prod(array.chunks) < _COUNTED


def part_of(array: ArrayMeta, part: Places) -> PartOfArray:
    """Return a part of an array."""
    rank = len(array.shape)
    if len(part) > rank:
        name = array.path or "the root array"
        raise RefexplorerError(
            f"{name} has {counted(rank, 'dimension')}, not {len(part)}; give an index or a slice "
            "for each."
        )
    parts = [*part, *[slice(None)] * (rank - len(part))]
    places = tuple(map(places_along, parts, array.shape))
    return PartOfArray(array, places, f"[{', '.join(map(_index_text, parts))}]")


def tasks_of(array: ArrayMeta, chunks: TaskChunks) -> TasksOfArray:
    """Return all of an array in tasks."""
    names = array.dimensions or ()
    for name, length in chunks.items():
        if name not in names:
            names_text = ", ".join(names) or "no names"
            raise RefexplorerError(
                f"{array.path or 'the root array'} has no dimension {name!r}; it has {names_text}."
            )
        if length < 1 and length != -1:
            raise RefexplorerError(f"{length} is not a length of tasks along {name}.")
    by_axis = [chunks.get(name, -1) for name in names] or [-1] * len(array.shape)
    lengths = tuple(
        max(extent, 1) if length == -1 else length
        for length, extent in zip(by_axis, array.shape, strict=True)
    )
    return TasksOfArray(array, lengths, f"chunks={dict(chunks)}")


def parse_part(text: str) -> tuple[int | slice, ...]:
    """Return the indices and slices of a text such as ``"0, 10:20, ::2"``."""
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


def access_of(array: ArrayMeta, access: Access) -> PartOfArray | TasksOfArray:
    """Return what is asked of an array."""
    if isinstance(access, str):
        return parse_access(array, access)
    return tasks_of(array, access) if isinstance(access, Mapping) else part_of(array, access)


def parse_access(array: ArrayMeta, text: str) -> PartOfArray | TasksOfArray:
    """Return what a text such as ``"0, 10:20"`` or ``"time=10, lat=90"`` asks of an array."""
    if "=" not in text:
        return part_of(array, parse_part(text))
    pairs = [each.partition("=") for each in text.split(",")]
    lengths = {name.strip(): length.strip() for name, _, length in pairs}
    for name, length in lengths.items():
        if not re.fullmatch(_NUMBER, length, re.ASCII):
            raise RefexplorerError(f"{length!r} is not a length of Dask's chunks along {name}.")
    return tasks_of(array, {name: int(length) for name, length in lengths.items()})


def _index_text(part: int | slice) -> str:
    if not isinstance(part, slice):
        return str(part)
    bounds = ["" if bound is None else str(bound) for bound in (part.start, part.stop)]
    step = "" if part.step is None else f":{part.step}"
    return f"{':'.join(bounds)}{step}"
