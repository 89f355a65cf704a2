"""The chunks of an array on their grid: their references, complete or reduced to a picture."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.core.files import Progress
from refexplorer.core.limits import INT64_MAX
from refexplorer.formats.columns.chunk_names import MOST_DIMENSIONS, chunk_indices, run_of
from refexplorer.formats.columns.references import (
    KINDS,
    RANGE,
    URL,
    Columns,
    build_columns,
    text_column,
)
from refexplorer.refset.generated import EVALUATED_KEYS, Generated, generated_tables
from refexplorer.refset.grid_view import (
    CellCounter,
    ChunkBlock,
    GridView,
    Side,
    Windows,
    blocks,
    cells_of,
    inside,
    unravel,
)
from refexplorer.refset.numbered_segment import Loaded, Records
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.segments import Segment, code_targets
from refexplorer.spec.references import prefix
from refexplorer.spec.zarr_metadata import ArrayMeta


@dataclass(frozen=True)
class ChunkColumns:
    """n chunks of an array; all except `ChunkReferences.left_out` have a reference."""

    # Shape ``(n, rank)`` int64; object in grids of more chunks than that numbers
    indices: np.ndarray
    states: np.ndarray  # Positions in `chunk_grid.STATES`, uint8
    targets: np.ndarray  # Positions in `ChunkReferences.urls`, -1 without a target, int64
    # offsets, lengths: In bytes, -1 where there is none: no byte range, or the size of a whole
    # file; int64
    offsets: np.ndarray
    lengths: np.ndarray

    def __len__(self) -> int:
        return len(self.states)

    def select(self, chosen: np.ndarray) -> ChunkColumns:
        """Return the chunks where `chosen`, shape ``(n,)`` bool, is true."""
        if chosen.all():
            return self
        return ChunkColumns(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def reduce(
    chunks: ChunkColumns, sides: tuple[Side, ...], windows: Windows, states: int
) -> GridView:
    """Count the chunks of a window cell by cell; absent ones are not counted."""
    picture = CellCounter(sides, windows, states)
    _count(picture, chunks, sides, windows)
    return picture.view()


def _count(
    picture: CellCounter, chunks: ChunkColumns, sides: tuple[Side, ...], windows: Windows
) -> None:
    found = chunks.select(inside(chunks.indices, windows))
    ids = cells_of(found.indices, sides)
    picture.add(ids, found.states, found.targets, found.offsets, found.lengths)


STATES = ("absent", *KINDS)
"""What a chunk can be; a state is a position in this. A rejected one is absent, too."""
DENSE_CHUNKS = 100_000_000  # one byte each in an array of states, eight in one of lengths
_NO_INDICES = np.empty((0, 0), np.int64)
_BLOCK = 2**16
"""References of a block: few enough to stay in the caches of a processor."""
EXAMINED_CHUNKS = 2_048
"""Generated chunks that one picture looks at when there are too many to evaluate all."""


class ChunkReferences:
    """The chunks of one array, read from columns on first use.

    Parameters
    ----------
    opened
        The set.
    array
        The metadata of the array.
    """

    def __init__(self, opened: OpenedSet, array: ArrayMeta) -> None:
        self.array = array
        self._opened = opened
        self._codes: dict[str | None, int] = {}
        self._listed, self._unlisted = _split(_segments_of(opened, array))
        is_narrow = array.chunk_count <= INT64_MAX
        self._numbered = [s for s in self._listed if isinstance(s, Records) and is_narrow]
        self._blocks: list[ChunkBlock] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Chunks along each dimension."""
        return self.array.grid

    @property
    def complete(self) -> bool:
        """Whether all chunks are known; if not, gen items are evaluated per picture."""
        return not self._unlisted

    @property
    def urls(self) -> tuple[str | None, ...]:
        """The distinct targets met so far; None is the target chosen by the reader."""
        if "_all" not in vars(self):
            self._others  # noqa: B018  the targets are met there
            self.read()
        return tuple(self._codes)

    @cached_property
    def _explicit(self) -> tuple[np.ndarray, np.ndarray]:
        return self._opened.arrays.chunk_rows(self.array)

    @cached_property
    def _others(self) -> ChunkColumns:
        """The chunks that are not in numbered blocks, inside the grid or not."""
        rows, indices = self._explicit
        parts = [self._chunks(indices, self._opened.table.columns.select(run_of(rows)))]
        for segment in self._listed:
            if segment not in self._numbered:
                parts += self._of_segment(segment)
        return _concatenated(parts)

    @cached_property
    def _all(self) -> ChunkColumns:
        found = [self._of_records(each.between(0, each.count)) for each in self._numbered]
        return _concatenated([self._others, *found])

    def read(self, progress: Progress | None = None) -> list[ChunkBlock]:
        """Read the record files and manifests that pictures are made from, once.

        Each chunk needs 21 bytes. `progress` is called with the read parts and their number.
        """
        if self._blocks is None:
            found: list[ChunkBlock] = []
            for segment in self._numbered:
                for first, numbers, columns in segment.in_turn(progress):
                    targets = code_targets(columns, self._codes).astype(np.int32)
                    one = _columns(_NO_INDICES, columns, targets)
                    fields = one.states, one.targets, one.offsets, one.lengths
                    found += ChunkBlock(first, numbers, *fields).slices()
            self._blocks = found
        return self._blocks

    @cached_property
    def _is_inside(self) -> np.ndarray:
        return self.array.inside(self._all.indices)

    @cached_property
    def chunks(self) -> ChunkColumns:
        """The chunks inside the grid that have a reference."""
        return self._all if self._is_inside.all() else self._all.select(self._is_inside)

    def blocks(self) -> Iterator[ChunkColumns]:
        """Yield `chunks`, in order, one block at a time; none is kept.

        Only `targets` differ: ascending as in `chunks`, but not all numbers are used. References
        from several parts of a set form one block.
        """
        table = self._opened.table
        if not self._listed:
            for rows, indices in self._opened.arrays.chunk_row_blocks(self.array, _BLOCK):
                if len(rows):
                    columns = table.columns.select(run_of(rows))
                    found = _columns(indices, columns, columns.targets.astype(np.int64))
                    yield found.select(self.array.inside(indices))
            return
        only, *others = self._listed
        if others or not isinstance(only, Records) or len(self._explicit[0]):
            yield self.chunks
            return
        for loaded in only.groups(_BLOCK):
            found = self._of_records(loaded)
            yield found.select(self.array.inside(found.indices))

    @cached_property
    def outside(self) -> ChunkColumns:
        """References to chunks outside the grid, which no reader uses."""
        return self._others.select(~self.array.inside(self._others.indices))

    @cached_property
    def left_out(self) -> ChunkColumns:
        """The chunks inside the grid whose reference was rejected; absent in `states`.

        Chunks of gen items that are evaluated per picture are not included.
        """
        found = [self._opened.rejected.indices(self.array)]
        for segment in self._listed:
            if isinstance(segment, Records):
                found.append(unravel(segment.rejected_numbers(), self.array.narrow_grid))
            elif isinstance(segment, Generated):
                found.append(chunk_indices(self.array, text_column([*segment.failing()]))[1])
        indices = np.concatenate(found)
        indices = indices[self.array.inside(indices)]
        if not len(indices):
            return _without_reference(indices)
        numbers, first = np.unique(self._numbers(indices), return_index=True)
        others = self._others.indices
        known = [self._numbers(others[self.array.inside(others)])]
        known += [block.all_numbers() for block in self.read()]
        is_absent = ~np.isin(numbers, np.concatenate(known))
        return _without_reference(indices[first[is_absent]])

    def _numbers(self, indices: np.ndarray) -> np.ndarray:
        """Return chunk numbers in C order; of type object if 64 bits are too few."""
        kind = np.int64 if self.array.chunk_count <= INT64_MAX else object
        steps = [math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))]
        return indices.astype(kind) @ np.array(steps, kind)

    def _of_segment(self, segment: Segment) -> Iterator[ChunkColumns]:
        if isinstance(segment, Records):
            yield self._of_records(segment.between(0, segment.count))
            return
        assert isinstance(segment, Generated)
        for table in generated_tables(segment):
            positions, indices = chunk_indices(self.array, table.keys)
            yield self._chunks(indices, table.columns.select(positions))

    def _of_records(self, loaded: Loaded) -> ChunkColumns:
        return self._chunks(unravel(loaded.numbers, self.array.narrow_grid), loaded.columns)

    def _chunks(self, indices: np.ndarray, columns: Columns) -> ChunkColumns:
        return _columns(indices, columns, code_targets(columns, self._codes))

    @property
    def states(self) -> np.ndarray:
        """The state of every chunk, an index into `STATES`, shape `shape` uint8."""
        return self._dense(self.chunks.states, 0)

    @property
    def targets(self) -> np.ndarray:
        """The target of every chunk, an index into `urls` or -1, shape `shape` int64."""
        return self._dense(self.chunks.targets, -1)

    @property
    def offsets(self) -> np.ndarray:
        """The offset of every chunk in bytes or -1, shape `shape`; typed as in `ChunkColumns`."""
        return self._dense(self.chunks.offsets, -1)

    @property
    def lengths(self) -> np.ndarray:
        """The length of every chunk in bytes or -1, shape `shape`; typed as in `ChunkColumns`."""
        return self._dense(self.chunks.lengths, -1)

    def _dense(self, values: np.ndarray, absent: int) -> np.ndarray:
        if len(self.shape) > MOST_DIMENSIONS:
            raise LimitError(
                f"The grid of {self.array.path!r} has {len(self.shape)} dimensions, more than the "
                f"{MOST_DIMENSIONS} of one array; `view` returns a part or a summary of it."
            )
        if max(self.array.chunk_count, *self.shape, 0) > DENSE_CHUNKS or not self.complete:
            raise LimitError(
                f"The {self.array.chunk_count:,} chunks of {self.array.path!r} are too many for "
                "one array; `view` returns a part or a summary of them."
            )
        grid = np.full(self.array.chunk_count, absent, values.dtype)
        grid[self._numbers(self.chunks.indices)] = values
        return grid.reshape(self.shape)

    def view(
        self, axes: Sequence[int] | None = None, window: Windows | None = None, cells: int = 256
    ) -> GridView:
        """Return a picture of the grid, or of a part of it.

        Parameters
        ----------
        axes
            Up to two dimensions, for rows and columns; by default the two with most chunks.
            Chunks along the others are counted together.
        window
            ``(start, stop)`` for each dimension, in chunks; by default all.
        cells
            The maximum numbers of rows and columns; if there are more chunks, they share cells.

        Raises
        ------
        RefexplorerError
            If an axis or a window is not in the grid.
        LimitError
            If a gen item would have to be evaluated that has too many keys to search.
        """
        drawn = self._axes(axes)
        windows = self._windows(window)
        total = math.prod(stop - start for start, stop in windows)
        partly = not self.complete and total > EXAMINED_CHUNKS
        sides = blocks(drawn, windows, min(cells, math.isqrt(EXAMINED_CHUNKS)) if partly else cells)
        counting = CellCounter(sides, windows, len(STATES), self.shape)
        _count(counting, self._others, sides, windows)
        for block in self.read():
            counting.add_block(block)
        picture = counting.view()
        if self.complete:
            return picture.with_absent()
        ranges = [range(*window) for window in windows]
        if partly:
            ranges = [each[:1] for each in ranges]
            for side in sides:
                ranges[side.axis] = range(side.start, side.stop, side.step)
        found, missing = self._examine(itertools.product(*ranges))
        return picture.examined(reduce(found, sides, windows, len(STATES)), missing, partly)

    def _examine(self, indices: Iterator[tuple[int, ...]]) -> tuple[ChunkColumns, np.ndarray]:
        """Look up chunks one by one; return those of unlisted gen items, and absent ones."""
        parts: list[ChunkColumns] = []
        absent: list[tuple[int, ...]] = []
        for index in indices:
            found = self._opened.find(self.array.chunk_key(index))
            if found is None:
                absent.append(index)
            elif isinstance(found[0], Generated) and any(found[0] is s for s in self._unlisted):
                columns = build_columns([found[0].reference_at(found[1])])
                parts.append(self._chunks(self._indices([index] * len(columns)), columns))
        none = self._others.select(np.zeros(len(self._others), np.bool_))
        return _concatenated([none, *parts]), self._indices(absent)

    def _indices(self, listed: list[tuple[int, ...]]) -> np.ndarray:
        is_narrow = self.shape == self.array.narrow_grid
        return np.array(listed, np.int64 if is_narrow else object).reshape(-1, len(self.shape))

    def _axes(self, axes: Sequence[int] | None) -> tuple[int, ...]:
        rank = len(self.shape)
        if axes is None:
            several = [axis for axis, size in enumerate(self.shape) if size != 1]
            longest = sorted(several or range(rank)[-1:], key=lambda axis: self.shape[axis])
            return tuple(longest[-2:])
        if len(set(axes)) != len(axes) or len(axes) > 2 or any(a not in range(rank) for a in axes):
            raise RefexplorerError(
                f"Choose up to two of the {rank} dimensions to draw, not {list(axes)}."
            )
        return tuple(axes)

    def _windows(self, window: Windows | None) -> list[tuple[int, int]]:
        if window is None:
            return [(0, size) for size in self.shape]
        fits = len(window) == len(self.shape) and all(
            0 <= start < stop <= size
            for (start, stop), size in zip(window, self.shape, strict=True)
        )
        if not fits:
            raise RefexplorerError(
                f"{list(window)} is not a window of a grid of {self.shape} chunks."
            )
        return [(start, stop) for start, stop in window]


def _segments_of(opened: OpenedSet, array: ArrayMeta) -> list[Segment]:
    """Return the segments that may contain chunks of an array."""
    path = prefix(array.path)
    return [
        segment
        for segment in opened.segments
        if (isinstance(segment, Records) and segment.array.path == array.path)
        or (
            isinstance(segment, Generated)
            and (path.startswith(prefix(segment.folder)) or segment.folder.startswith(path))
        )
    ]


def _split(segments: Sequence[Segment]) -> tuple[list[Segment], list[Segment]]:
    """Return the segments that are read completely, and the gen items that are too large."""
    listed: list[Segment] = []
    unlisted: list[Segment] = []
    left = EVALUATED_KEYS
    for segment in segments:
        cost = segment.count if isinstance(segment, Generated) else 0
        (listed if cost <= left else unlisted).append(segment)
        left -= cost if cost <= left else 0
    return listed, unlisted


def _columns(indices: np.ndarray, columns: Columns, targets: np.ndarray) -> ChunkColumns:
    kinds = columns.kinds
    offsets, lengths = columns.offsets, columns.lengths
    if not (is_range := kinds == RANGE).all():
        offsets = np.where(is_range, offsets, -1)
        lengths = np.where(kinds == URL, -1, lengths)
    return ChunkColumns(indices, kinds + np.uint8(1), targets, offsets, lengths)


def _without_reference(indices: np.ndarray) -> ChunkColumns:
    none = np.full(len(indices), -1, np.int64)
    return ChunkColumns(indices, np.zeros(len(indices), np.uint8), none, none, none)


def _concatenated(parts: Sequence[ChunkColumns]) -> ChunkColumns:
    if len(parts) == 1:
        return parts[0]
    names = ChunkColumns.__dataclass_fields__
    return ChunkColumns(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in names)
    )


class StateCounts(NamedTuple):
    """The chunks of an array, or of all arrays below a folder; None if unknown."""

    chunks: int  # Of the grid
    referenced: int | None  # With a reference that can be used
    absent: int | None  # Without a reference
    rejected: int | None  # With a reference that an error keeps out of the set


def chunk_counts(opened: OpenedSet, array: ArrayMeta) -> StateCounts:
    """Count the chunks of an array by state; record files are read."""
    total, present = array.chunk_count, opened.arrays.present(array)
    rejecting = [rejects(segment) for segment in opened.arrays.segments(array)]
    if present is None or None in rejecting or opened.rejected.is_uncounted(array.path):
        return StateCounts(total, None, None, None)
    unreferenced, rejected = max(0, total - present), 0
    if unreferenced and (any(rejecting) or opened.rejected.touches(array.path)):
        rejected = min(len(ChunkReferences(opened, array).left_out), unreferenced)
    return StateCounts(total, total - unreferenced, unreferenced - rejected, rejected)


def rejects(segment: Segment) -> bool | None:
    """Return whether a segment rejects keys; None if it has too many to determine."""
    if isinstance(segment, Records):
        return len(segment.rejected_numbers()) > 0
    if not isinstance(segment, Generated):
        return False
    if segment.count <= EVALUATED_KEYS:
        return next(segment.failing(), None) is not None
    return None if segment.item.failing or not segment.item.is_tried else False
