"""Combinations cut into boxes, so that numpy can broadcast over their dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from refexplorer.spec.gen.dimensions import Dimension, DimensionProduct

BOX = 65_536
"""Combinations of a box, which bound the memory that it needs."""
Values = dict[str, np.ndarray]
"""The values of each dimension, in arrays that broadcast together: int64, or object where some
need more than 64 bits."""


class Box(NamedTuple):
    """Combinations with consecutive numbers that are a product of stretches of each dimension.

    Attributes
    ----------
    start
        The number of the first one.
    places
        Which values of each dimension, in order.
    """

    start: int
    places: tuple[range, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values of each dimension."""
        return tuple(map(len, self.places))

    def values(self, grid: DimensionProduct) -> Values:
        """Return the values of each dimension, along an axis of its own."""
        values: Values = {}
        rank = len(self.places)
        pairs = zip(grid.dimensions, self.places, strict=True)
        for axis, (dimension, places) in enumerate(pairs):
            shape = (1,) * axis + (len(places),) + (1,) * (rank - axis - 1)
            column = as_column(dimension.values[places.start : places.stop])
            values[dimension.name] = column.reshape(shape)
        return values


def boxes(grid: DimensionProduct, start: int, stop: int, most: int = BOX) -> Iterator[Box]:
    """Cut the combinations from `start` to `stop` into boxes of at most so many each."""
    if not grid.sizes:
        yield Box(start, ())
        return
    while start < stop:
        axis, inner = _cut(grid.sizes, start, stop, most)
        before, place = divmod(start // inner, grid.sizes[axis])
        taken = min(grid.sizes[axis] - place, (stop - start) // inner, most // inner)
        places = [range(place, place + taken)]
        for size in reversed(grid.sizes[:axis]):
            before, place = divmod(before, size)
            places.insert(0, range(place, place + 1))
        yield Box(start, (*places, *map(range, grid.sizes[axis + 1 :])))
        start += taken * inner


def _cut(sizes: tuple[int, ...], start: int, stop: int, most: int) -> tuple[int, int]:
    """Choose the axis to cut: a box can hold all values of those after it.

    Returns
    -------
    axis, inner
        The axis, and how many combinations there are for each of its places.
    """
    axis, inner = len(sizes) - 1, 1
    while axis:
        grown = inner * sizes[axis]
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
        numbers, places = numbers // size, numbers % size
        values[dimension.name] = _values_of(dimension, places)
    return values


def _values_of(dimension: Dimension, places: np.ndarray) -> np.ndarray:
    values = dimension.values
    limits = (*dimension.bounds, dimension.size)
    if isinstance(values, range) and all(map(_fits, (*limits, values.step))):
        return values.start + values.step * places.astype(np.int64)
    return as_column([values[place] for place in places.tolist()])


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
