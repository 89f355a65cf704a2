"""A part of an array at the resolution of the screen: each cell stands for a block of values."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.io.decode.chunk_shapes import Index, overlap, place_count
from refexplorer.views.preview.channels import channels_of
from refexplorer.views.preview.regions import Region
from refexplorer.views.preview.values import integers_of

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta

CELLS = 1_000_000
"""Each is eight bytes on the wire, and few screens have more points."""

Numbers = np.ndarray[Any, np.dtype[np.float64]]
Box = tuple[slice, ...]


def block_sizes(
    shape: Sequence[int], most: int = CELLS, colours: int | None = None
) -> tuple[int, ...]:
    """Return how many values along each dimension share a cell, so that few enough cells are left.

    The last two long dimensions are those that a picture shows: they are reduced first. That of
    `colours` is none of them.
    """
    sizes, left = [1] * len(shape), list(shape)
    shown = [axis for axis, length in enumerate(shape) if length > 1 and axis != colours][-2:]
    while math.prod(left) > most:
        long = [axis for axis in shown if left[axis] > 1] or range(len(left))
        axis = max(long, key=left.__getitem__)
        sizes[axis] += max(1, sizes[axis] // 64)
        left[axis] = -(-shape[axis] // sizes[axis])
    if len(shown) == 2 and max(left[axis] for axis in shown) > 1:
        # alike along both, as far as one of them alone would not be left without detail
        side = max(sizes[axis] for axis in shown)
        for axis in shown:
            sizes[axis] = max(sizes[axis], min(side, -(-shape[axis] // 256)))
    return tuple(sizes)


class PictureBlocks:
    """Cells that become right as chunks come: means of blocks, or the value in their middle."""

    def __init__(self, array: ArrayMeta, places: Region, is_mean: bool) -> None:
        self._array = array
        self._places = places
        self.is_mean = is_mean
        counts = tuple(map(place_count, places))
        self.sizes = block_sizes(counts, colours=channels_of(array))
        self.shape = tuple(-(-n // size) for n, size in zip(counts, self.sizes, strict=True))
        self._lengths = counts
        self.is_whole = all(size == 1 for size in self.sizes)
        self._cells: Numbers = np.full(self.shape, np.nan)
        if not self.is_whole and is_mean:
            self._sums: Numbers = np.zeros(self.shape)
            self._counts = np.zeros(self.shape, np.int64)
        self.minimum: Any = None
        self.maximum: Any = None
        self.missing = 0
        self.infinite = (0, 0)
        self.integers: np.ndarray | None = None

    @property
    def region(self) -> Region:
        """The first place of each cell."""
        return tuple(part[::size] for part, size in zip(self._places, self.sizes, strict=True))

    @property
    def cells(self) -> Numbers:
        """The cells; NaN where there is no number."""
        return self._cells

    def fill(self, value: float, decoded: Any) -> None:
        """Set all cells to one value; `decoded` is the same in its own type."""
        self._cells[...] = value
        self.minimum = self.maximum = decoded if math.isfinite(value) else None
        self.infinite = (
            self._cells.size * (value == -math.inf), self._cells.size * (value == math.inf)
        )  # fmt: skip
        if integers_of(np.asarray(decoded), self._cells) is not None:
            self.integers = np.full(self.shape, decoded)

    def add(self, index: Index, numbers: Numbers, decoded: np.ndarray) -> Box:
        """Add the values of a chunk, as float64 and in their own type; return the changed cells."""
        into, of = overlap(self._array, self._places, index)
        part = numbers[of]
        self._note(part, decoded[of])
        if self.is_whole:
            self._keep_integers(into, decoded[of])
        box = tuple(
            slice(side.start // size, -(-side.stop // size))
            for side, size in zip(into, self.sizes, strict=True)
        )
        if self.is_whole:
            self._cells[into] = part
        elif self.is_mean:
            self._add_to_means(box, into, part)
        else:
            self._pick(into, part)
        return box

    def _note(self, part: Numbers, decoded: np.ndarray) -> None:
        known = np.isfinite(part)
        if known.all():
            finite = decoded
        else:
            finite = decoded[known]
            low, high = int(np.isneginf(part).sum()), int(np.isposinf(part).sum())
            self.missing += part.size - finite.size - low - high
            self.infinite = (self.infinite[0] + low, self.infinite[1] + high)
        if finite.size:
            low, high = finite.min(), finite.max()
            self.minimum = low if self.minimum is None else min(self.minimum, low)
            self.maximum = high if self.maximum is None else max(self.maximum, high)

    def _keep_integers(self, into: Box, decoded: np.ndarray) -> None:
        if self.integers is None:
            if integers_of(decoded, self._cells) is None:
                return
            # all that came before is exact as float64
            own = decoded.dtype.newbyteorder("=")
            self.integers = np.where(np.isfinite(self._cells), self._cells, 0).astype(own)
        self.integers[into] = decoded

    @np.errstate(invalid="ignore", over="ignore")
    def _add_to_means(self, box: Box, into: Box, part: Numbers) -> None:
        """Add to sums and counts: a block may lie in several chunks."""
        firsts = [
            np.maximum(np.arange(cells.start, cells.stop) * size - side.start, 0)
            for side, cells, size in zip(into, box, self.sizes, strict=True)
        ]
        is_number = ~np.isnan(part)
        if is_number.all():  # as it mostly is: to count them one by one takes thrice the time
            self._sums[box] += self._block_sums(part, firsts)
            ends = [[*each[1:], n] for each, n in zip(firsts, part.shape, strict=True)]
            along = [np.subtract(end, first) for end, first in zip(ends, firsts, strict=True)]
            self._counts[box] += functools.reduce(np.multiply.outer, along, np.int64(1))
        else:
            self._sums[box] += self._block_sums(np.where(is_number, part, 0.0), firsts)
            self._counts[box] += self._block_sums(is_number.astype(np.int64), firsts)
        means = self._sums[box] / np.maximum(self._counts[box], 1)
        if not any(self.infinite) and self.minimum is not None:
            # sums of the largest float64 overflow; no mean is beyond the values
            means = np.clip(means, float(self.minimum), float(self.maximum))
        means[np.isnan(means)] = np.inf  # of infinities of both signs: a cell with any is drawn so
        means[self._counts[box] == 0] = np.nan
        self._cells[box] = means

    def _block_sums(self, part: Any, firsts: list[Any]) -> Any:
        for axis in reversed(range(part.ndim)):  # the last lies together in memory
            if self.sizes[axis] > 1 and part.shape[axis]:
                part = np.add.reduceat(part, firsts[axis], axis)
        return part

    def _pick(self, into: Box, part: Numbers) -> None:
        cells, places = list[Any](), list[Any]()
        for side, size, length in zip(into, self.sizes, self._lengths, strict=True):
            middles = np.minimum(np.arange(-(-length // size)) * size + size // 2, length - 1)
            inside = (middles >= side.start) & (middles < side.stop)
            cells.append(np.flatnonzero(inside))
            places.append(middles[inside] - side.start)
        if cells:
            self._cells[np.ix_(*cells)] = part[np.ix_(*places)]
