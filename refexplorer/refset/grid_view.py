"""Pictures of a grid of chunks: cells that fit on a screen, and what is in each of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from refexplorer.core.limits import INT64_MAX

Windows = Sequence[tuple[int, int]]
_BLOCK = 2**16
"""Chunks that are counted together: few enough to stay in the caches of a processor."""
_TRIPLES = 2**20
"""Counts per cell and target that are collected before equal ones are added up."""


class Side(NamedTuple):
    """One drawn dimension: chunks ``start`` to ``stop``, ``step`` of them per cell."""

    axis: int
    start: int
    stop: int
    step: int

    @property
    def cells(self) -> int:
        """The number of cells."""
        return -(-(self.stop - self.start) // self.step)

    @property
    def sizes(self) -> np.ndarray:
        """Chunks in each cell, shape ``(cells,)``; the last may have fewer."""
        sizes = np.full(self.cells, self.step, np.float64)
        if self.cells:
            sizes[-1] = self.stop - self.start - self.step * (self.cells - 1)
        return sizes


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
    offsets: np.ndarray  # The least offset in bytes, -1 for none, int64
    # The sum of all lengths in bytes, float64; -1 where one is not known, that of a whole file
    sizes: np.ndarray
    sampled: bool = False  # Whether of generated chunks only one in each cell was looked at

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return _shape(self.sides)

    @property
    def totals(self) -> np.ndarray:
        """The number of chunks in each cell, including unexamined ones."""
        drawn = {side.axis for side in self.sides}
        others = [b - a for axis, (a, b) in enumerate(self.window) if axis not in drawn]
        sizes = [np.ones(1)] * (2 - len(self.sides)) + [side.sizes for side in self.sides]
        return np.outer(*sizes) * float(math.prod(others))

    def with_absent(self) -> GridView:
        """Return the picture with every chunk that it does not count marked as absent."""
        counts = self.counts.copy()
        counts[0] = self.totals - counts.sum(axis=0)
        return replace(self, counts=counts)

    def examined(self, found: GridView, absent: np.ndarray, partly: bool) -> GridView:
        """Return the picture with further chunks, and some that were found absent."""
        counts = self.counts + found.counts
        ids = cells_of(absent, self.sides)
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
    """Divide the windows of the drawn axes into a limited number of cells each."""
    sides = []
    for axis in axes:
        start, stop = windows[axis]
        sides.append(Side(axis, start, stop, max(1, -(-(stop - start) // cells))))
    return tuple(sides)


def _shape(sides: tuple[Side, ...]) -> tuple[int, int]:
    rows, columns = ([1] * (2 - len(sides)) + [side.cells for side in sides])[:2]
    return rows, columns


def cells_of(indices: np.ndarray, sides: tuple[Side, ...]) -> np.ndarray:
    """Return the cell of each chunk, counted in C order."""
    ids = np.zeros(len(indices), np.int64)
    for side in sides:
        positions = indices[:, side.axis]
        if side.stop > INT64_MAX:
            positions = positions.astype(object)
        ids = ids * side.cells + ((positions - side.start) // side.step).astype(np.int64)
    return ids


def unravel(numbers: np.ndarray, grid: tuple[int, ...]) -> np.ndarray:
    """Return the index for each chunk number, C order; the grid may be too large for numpy."""
    indices = np.empty((len(numbers), len(grid)), np.int64)
    for axis in reversed(range(1, len(grid))):
        numbers, indices[:, axis] = np.divmod(numbers, grid[axis])
    indices[:, :1] = numbers[:, None]
    return indices


def inside(indices: np.ndarray, windows: Windows) -> np.ndarray:
    """Return whether each chunk is in a window, shape ``(n,)`` bool."""
    found = np.ones(len(indices), np.bool_)
    for axis, (start, stop) in enumerate(windows):
        found &= (indices[:, axis] >= start) & (indices[:, axis] < stop)
    return found


class ChunkBlock(NamedTuple):
    """n chunks of a grid by number, C order, without their indices; each has a reference."""

    first: int  # The least number
    numbers: np.ndarray | None  # Shape ``(n,)``; None if they are consecutive
    # The fields of `ChunkColumns`; `targets` may be narrower
    states: np.ndarray
    targets: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray

    def slices(self) -> list[ChunkBlock]:
        """Divide it into blocks that are counted together."""
        count = len(self.states)
        if count <= _BLOCK:
            return [self]
        starts = range(0, count, _BLOCK)
        return [self._slice(slice(start, start + _BLOCK)) for start in starts]

    def _slice(self, part: slice) -> ChunkBlock:
        numbers = None if self.numbers is None else self.numbers[part]
        first = self.first + part.start if numbers is None else int(numbers.min())
        return ChunkBlock(first, numbers, *(column[part] for column in self[2:]))

    @property
    def last(self) -> int:
        """The greatest number."""
        if self.numbers is None:
            return self.first + len(self.states) - 1
        return int(self.numbers.max())

    def all_numbers(self) -> np.ndarray:
        """Return the numbers, shape ``(n,)`` int64."""
        if self.numbers is not None:
            return self.numbers
        return np.arange(self.first, self.first + len(self.states))


class CellCounter:
    """Counts chunks by cell; absent ones are not counted."""

    def __init__(
        self, sides: tuple[Side, ...], windows: Windows, states: int, grid: tuple[int, ...] = ()
    ) -> None:
        self._sides, self._windows, self._states = sides, tuple(windows), states
        self._grid = grid
        self._cells = math.prod(_shape(sides))
        self._counts = np.zeros((states, self._cells), np.int64)
        self._sizes = np.zeros(self._cells)
        self._is_unknown = np.zeros(self._cells, np.bool_)
        self._offsets = np.full(self._cells, INT64_MAX, np.int64)
        self._triples: list[tuple[np.ndarray, np.ndarray]] = []
        self._waiting = 0

    def add_block(self, block: ChunkBlock) -> None:
        """Count the chunks of a block that are in the window."""
        (low, high), *_ = [*self._windows, (0, 1)]
        row = math.prod(self._grid[1:])
        if block.first // row >= high or block.last // row < low:
            return
        ids = self._ids(block)
        columns: tuple[np.ndarray, ...] = block[2:]
        if not (is_inside := ids >= 0).all():
            ids, columns = ids[is_inside], tuple(column[is_inside] for column in columns)
        self.add(ids, *columns)

    def _ids(self, block: ChunkBlock) -> np.ndarray:
        """Return the cell of each chunk, negative outside the window."""
        axis, ids = self._inner
        outer, count = self._grid[:axis], len(block.states)
        if block.numbers is not None:
            rows, positions = np.divmod(block.numbers, len(ids))
            return self._part(unravel(rows, outer), range(axis)) + ids[positions]
        first, position = divmod(block.first, len(ids))
        rows = np.arange(first, (block.first + count - 1) // len(ids) + 1)
        found = self._part(unravel(rows, outer), range(axis))[:, None] + ids
        return found.ravel()[position : position + count]

    @cached_property
    def _inner(self) -> tuple[int, np.ndarray]:
        """The first of the last axes that have few chunks together, and what these add to cells."""
        grid, axis = self._grid, len(self._grid)
        while axis and math.prod(grid[axis - 1 :]) <= _BLOCK:
            axis -= 1
        numbers = np.arange(math.prod(grid[axis:]))
        return axis, self._part(unravel(numbers, grid[axis:]), range(axis, len(grid)))

    def _part(self, indices: np.ndarray, axes: range) -> np.ndarray:
        """Return what the indices along some axes add to the number of a cell."""
        found = np.zeros(len(indices), np.int64)
        for column, axis in enumerate(axes):
            positions, (start, stop) = indices[:, column], self._windows[axis]
            steps = self._steps.get(axis)
            if steps is not None:
                found += (positions - start) // steps[0] * steps[1]
            if start > 0 or (len(positions) and int(positions.max()) >= stop):
                found[(positions < start) | (positions >= stop)] = -INT64_MAX // 128
        return found

    @cached_property
    def _steps(self) -> dict[int, tuple[int, int]]:
        """For each drawn axis, chunks per cell and cells from one to the next."""
        found, cells = {}, 1
        for side in reversed(self._sides):
            found[side.axis] = side.step, cells
            cells *= side.cells
        return found

    def add(
        self,
        ids: np.ndarray,
        states: np.ndarray,
        targets: np.ndarray,
        offsets: np.ndarray,
        lengths: np.ndarray,
    ) -> None:
        """Count chunks by the cells that they are in."""
        if not len(ids):
            return
        if (states == states[0]).all():
            self._counts[states[0]] += np.bincount(ids, minlength=self._cells)
        else:
            both = np.bincount(ids + self._cells * states.astype(np.int64), None, self._counts.size)
            self._counts += both.reshape(self._counts.shape)
        self._sizes += np.bincount(ids, lengths, self._cells)
        if (is_unknown := lengths < 0).any():
            self._is_unknown[ids[is_unknown]] = True
        if (is_none := offsets < 0).any():
            offsets = np.where(is_none, INT64_MAX, offsets)
        np.minimum.at(self._offsets, ids, offsets)
        self._add_targets(ids, targets)

    def _add_targets(self, ids: np.ndarray, targets: np.ndarray) -> None:
        cell, code = int(ids.min()), int(targets.min())
        base = int(targets.max()) - code + 1
        pairs = (ids - cell) * base + (targets - code)
        if (int(ids.max()) - cell + 1) * base <= 4 * max(len(ids), _BLOCK):
            every = np.bincount(pairs)  # sorting takes several times as long
            pairs = np.flatnonzero(every)
            counts = every[pairs]
        else:
            pairs, counts = np.unique(pairs, return_counts=True)
        cells, codes = np.divmod(pairs, base)
        keys = np.stack([cells + cell, codes + code])
        self._triples.append((keys[:, keys[1] >= 0], counts[keys[1] >= 0]))
        self._waiting += len(pairs)
        if self._waiting > _TRIPLES:
            self._triples = [self._added()]
            self._waiting = -len(self._triples[0][1])

    def _added(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs of a cell and a target, sorted, and how often each occurs."""
        none = np.empty((2, 0), np.int64), np.empty(0, np.int64)
        keys, counts = (np.concatenate(each, -1) for each in zip(none, *self._triples, strict=True))
        order = np.lexsort((keys[1], keys[0]))
        keys, counts = keys[:, order], counts[order]
        is_first = np.ones(len(counts), np.bool_)
        is_first[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
        first = np.flatnonzero(is_first)
        return keys[:, first], np.add.reduceat(counts, first) if len(first) else counts

    def view(self) -> GridView:
        """Return the picture."""
        shape = _shape(self._sides)
        (of_cell, codes), counts = self._added()
        order = np.lexsort((-codes, counts, of_cell))
        most = np.full(self._cells, -1, np.int64)
        most[of_cell[order]] = codes[order]  # of several, the last counts: the most frequent
        self._sizes[self._is_unknown] = -1
        return GridView(
            self._sides,
            self._windows,
            self._counts.reshape(self._states, *shape).astype(np.float64),
            most.reshape(shape),
            np.bincount(of_cell, minlength=self._cells).reshape(shape),
            np.where(self._offsets == INT64_MAX, -1, self._offsets).reshape(shape),
            self._sizes.reshape(shape),
        )


def _least(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    both = np.minimum(one, other)
    return np.where(both < 0, np.maximum(one, other), both)
