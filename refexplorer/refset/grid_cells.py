"""A grid of chunks cut down to the cells of a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

_INT64 = 2**63 - 1
Windows = Sequence[tuple[int, int]]


class Side(NamedTuple):
    """One drawn dimension: chunks ``start`` to ``stop``, ``step`` of them in each cell."""

    axis: int
    start: int
    stop: int
    step: int

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return -(-(self.stop - self.start) // self.step)

    @property
    def sizes(self) -> np.ndarray:
        """Chunks in each cell, shape ``(cells,)``; the last may have fewer."""
        sizes = np.full(self.cells, self.step, np.float64)
        if self.cells:
            sizes[-1] = self.stop - self.start - self.step * (self.cells - 1)
        return sizes


@dataclass(frozen=True)
class ChunkColumns:
    """n chunks of an array; all but those of `ChunkReferences.left_out` have a reference."""

    # Shape ``(n, rank)`` int64; object in grids of more chunks than that numbers
    indices: np.ndarray
    states: np.ndarray  # Positions in `chunk_grid.STATES`, uint8
    targets: np.ndarray  # Positions in `ChunkReferences.urls`, -1 without a target, int64
    # offsets, lengths: In bytes, -1 where there is none: no byte range, or the size of a whole
    # file; int64, or whole numbers of Python where one does not fit into 64 bits
    offsets: np.ndarray
    lengths: np.ndarray

    def __len__(self) -> int:
        return len(self.states)

    def select(self, chosen: np.ndarray) -> ChunkColumns:
        """Return the chunks where `chosen`, shape ``(n,)`` bool, is true."""
        if chosen.all():
            return self
        return ChunkColumns(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class GridView:
    """A picture of a grid of chunks; its arrays have the shape ``(rows, columns)``."""

    # The drawn dimensions, rows before columns; without one there is a single row or column
    sides: tuple[Side, ...]
    window: tuple[tuple[int, int], ...]  # ``(start, stop)`` of each dimension of the array
    counts: np.ndarray  # Chunks of each state, shape ``(states, rows, columns)`` float64
    # The target of most chunks, an index into `ChunkReferences.urls`; -1 for none; int64
    targets: np.ndarray
    distinct: np.ndarray  # How many targets there are, int64
    # The least offset in bytes, -1 for none; int64, or whole numbers of Python where one does not
    # fit into 64 bits
    offsets: np.ndarray
    # The sum of all lengths in bytes, float64; -1 where one is not known, that of a whole file
    sizes: np.ndarray
    sampled: bool = False  # Whether of generated chunks only one in each cell was looked at

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return _shape(self.sides)

    @property
    def totals(self) -> np.ndarray:
        """All chunks of each cell, those that were not looked at included."""
        drawn = {side.axis for side in self.sides}
        others = [b - a for axis, (a, b) in enumerate(self.window) if axis not in drawn]
        sizes = [np.ones(1)] * (2 - len(self.sides)) + [side.sizes for side in self.sides]
        totals: np.ndarray = np.outer(*sizes) * float(math.prod(others))
        return totals

    def with_absent(self) -> GridView:
        """Return the picture with all chunks that it does not count as absent ones."""
        counts = self.counts.copy()
        counts[0] = self.totals - counts.sum(axis=0)
        return replace(self, counts=counts)

    def examined(self, found: GridView, absent: np.ndarray, partly: bool) -> GridView:
        """Return the picture with further chunks, and some that were found to be absent."""
        counts = self.counts + found.counts
        ids = _cells_of(absent, self.sides)
        counts[0] += np.bincount(ids, minlength=self.sizes.size).reshape(self.shape)
        return replace(
            self,
            counts=counts,
            targets=np.where(self.targets < 0, found.targets, self.targets),
            distinct=self.distinct + found.distinct,
            offsets=_least(self.offsets, found.offsets),
            sizes=np.where(np.minimum(self.sizes, found.sizes) < 0, -1, self.sizes + found.sizes),
            sampled=partly,
        )


def blocks(axes: Sequence[int], windows: Windows, cells: int) -> tuple[Side, ...]:
    """Divide the windows of the drawn axes into at most so many cells each."""
    sides = []
    for axis in axes:
        start, stop = windows[axis]
        sides.append(Side(axis, start, stop, max(1, -(-(stop - start) // cells))))
    return tuple(sides)


def reduce(
    chunks: ChunkColumns, sides: tuple[Side, ...], windows: Windows, states: int
) -> GridView:
    """Count the chunks of a window cell by cell; absent ones are not counted."""
    inside = np.ones(len(chunks.states), np.bool_)
    for axis, (start, stop) in enumerate(windows):
        inside &= (chunks.indices[:, axis] >= start) & (chunks.indices[:, axis] < stop)
    shape = _shape(sides)
    cells = shape[0] * shape[1]
    ids = _cells_of(chunks.indices[inside], sides)
    counts = np.bincount(
        ids + cells * chunks.states[inside].astype(np.int64), minlength=states * cells
    )
    targets, distinct = _dominating(ids, chunks.targets[inside], cells)
    lengths = chunks.lengths[inside].astype(np.float64)
    sizes = np.bincount(ids, lengths, minlength=cells)
    sizes[ids[lengths < 0]] = -1
    return GridView(
        sides,
        tuple(windows),
        counts.reshape(states, *shape).astype(np.float64),
        targets.reshape(shape),
        distinct.reshape(shape),
        _first_offsets(ids, chunks.offsets[inside], cells).reshape(shape),
        sizes.reshape(shape),
    )


def _shape(sides: tuple[Side, ...]) -> tuple[int, int]:
    rows, columns = ([1] * (2 - len(sides)) + [side.cells for side in sides])[:2]
    return rows, columns


def _cells_of(indices: np.ndarray, sides: tuple[Side, ...]) -> np.ndarray:
    """Return the cell of each chunk, counted in C order."""
    ids = np.zeros(len(indices), np.int64)
    for side in sides:
        positions = indices[:, side.axis]
        if side.stop > _INT64:
            positions = positions.astype(object)
        ids = ids * side.cells + ((positions - side.start) // side.step).astype(np.int64)
    return ids


def _dominating(ids: np.ndarray, targets: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the most frequent target of each cell, the first of equals, and how many there are."""
    known = targets >= 0
    base = int(targets.max(initial=0)) + 1
    pairs, counts = np.unique(ids[known] * base + targets[known], return_counts=True)
    of_cell, codes = np.divmod(pairs, base)
    order = np.lexsort((-codes, counts, of_cell))
    most = np.full(cells, -1, np.int64)
    most[of_cell[order]] = codes[order]  # of several, the last counts: the most frequent
    return most, np.bincount(of_cell, minlength=cells)


def _first_offsets(ids: np.ndarray, offsets: np.ndarray, cells: int) -> np.ndarray:
    known = offsets >= 0
    ids, offsets = ids[known], offsets[known]
    first = np.full(cells, offsets.max(initial=-1), offsets.dtype)
    np.minimum.at(first, ids, offsets)
    first[np.bincount(ids, minlength=cells) == 0] = -1
    return first


def _least(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    both = np.minimum(one, other)
    least: np.ndarray = np.where(both < 0, np.maximum(one, other), both)
    return least
