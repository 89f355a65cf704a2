"""Combinations cut into blocks, so that numpy can broadcast over their dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from refexplorer.spec.gen.dimensions import Dimension, DimensionProduct

BLOCK = 65_536
"""Combinations of a block, which bound the memory that it needs."""
Values = dict[str, np.ndarray]
"""The values of each dimension, in arrays that broadcast together: int64, or object where some
need more than 64 bits."""


class Block(NamedTuple):
    """Combinations with consecutive numbers that are a product of intervals of each dimension.

    Attributes
    ----------
    start
        The number of the first one.
    ranges
        Which values of each dimension, by their positions.
    """

    start: int
    ranges: tuple[range, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values of each dimension that has several here.

        The others have no axis: numpy knows 64 at most, of which a block cannot use 20.
        """
        return tuple(len(positions) for positions in self.ranges if len(positions) > 1)

    def values(self, grid: DimensionProduct) -> Values:
        """Return the values of each dimension; where there are several, along an own axis."""
        values: Values = {}
        behind = len(self.shape)
        for dimension, positions in zip(grid.dimensions, self.ranges, strict=True):
            column = as_column(dimension.values[positions.start : positions.stop])
            if len(positions) > 1:
                behind -= 1
                column = column.reshape((-1,) + (1,) * behind)
            values[dimension.name] = column
        return values


def blocks(grid: DimensionProduct, start: int, stop: int, most: int = BLOCK) -> Iterator[Block]:
    """Cut the combinations from `start` to `stop` into blocks of at most so many each."""
    if not grid.sizes:
        yield Block(start, ())
        return
    while start < stop:
        axis, inner = _cut(grid.sizes, start, stop, most)
        before, position = divmod(start // inner, grid.sizes[axis])
        taken = min(grid.sizes[axis] - position, (stop - start) // inner, most // inner)
        positions = [range(position, position + taken)]
        for size in reversed(grid.sizes[:axis]):
            before, position = divmod(before, size)
            positions.insert(0, range(position, position + 1))
        yield Block(start, (*positions, *map(range, grid.sizes[axis + 1 :])))
        start += taken * inner


def _cut(sizes: tuple[int, ...], start: int, stop: int, most: int) -> tuple[int, int]:
    """Choose the axis to cut: a block can hold all values of those after it.

    Returns
    -------
    axis, inner
        The axis, and how many combinations there are for each of its values.
    """
    axis, inner = len(sizes) - 1, 1
    while axis:
        grown = inner * sizes[axis]
        # a larger block must begin and end at multiples of its size, or it is no product
        if grown > most or start % grown or start + grown > stop:
            break
        axis, inner = axis - 1, grown
    return axis, inner


def values_at(grid: DimensionProduct, numbers: np.ndarray) -> Values:
    """Return the values of each dimension for some combinations, shape ``(n,)`` each."""
    values: Values = {}
    for dimension, size in zip(reversed(grid.dimensions), reversed(grid.sizes), strict=True):
        if not _fits(size):
            numbers = numbers.astype(object)
        # numpy has no divmod of objects
        numbers, positions = numbers // size, numbers % size
        values[dimension.name] = _values_of(dimension, positions)
    return values


def _values_of(dimension: Dimension, positions: np.ndarray) -> np.ndarray:
    values = dimension.values
    limits = (*dimension.bounds, dimension.size)
    # the product may pass 64 bits even where every value fits, so the bounds are checked as well
    if isinstance(values, range) and all(map(_fits, (*limits, values.step))):
        return values.start + values.step * positions.astype(np.int64)
    return as_column([values[position] for position in positions.tolist()])


def as_column(values: Sequence[int]) -> np.ndarray:
    """Return whole numbers as int64 where they fit, and as Python's own where they do not."""
    if isinstance(values, range) and values:
        if _fits(values[0]) and _fits(values[-1]) and _fits(values.step):
            return values.start + values.step * np.arange(len(values))
    elif not values or (_fits(min(values)) and _fits(max(values))):
        return np.array(values, np.int64)
    return np.array(values, object)


def _fits(value: int) -> bool:
    return -(2**63) < value < 2**63
