"""Dimensions of a gen item: the values of each variable, without writing them out.

Source: reference specification, "Version 1", ``gen``: "dimensions" maps names to
``{"start": int, "stop": int, "step": int}`` or ``[int, …]``; the item is their cartesian product.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np

from refexplorer.core.errors import PickledByFields
from refexplorer.spec.findings import Findings, pointer, suggest
from refexplorer.spec.references import RESERVED, is_speakable

STOPS = ("end", "to", "until", "size", "count", "n")  # Names that users write instead of `stop`


@dataclass(frozen=True)
class Dimension(PickledByFields):
    """A variable of a gen item and its values: a range, or a list of numbers."""

    name: str
    values: range | tuple[int, ...]

    @cached_property
    def size(self) -> int:
        """The number of values; exact even if `len` would overflow."""
        if isinstance(self.values, tuple):
            return len(self.values)
        span, step = self.values.stop - self.values.start, self.values.step
        return max(0, -(-span // step) if step > 0 else -(span // -step))

    def index(self, value: int) -> int | None:
        """Return the position of a value, the last one if it is listed twice."""
        if isinstance(self.values, range):
            return (value - self.values.start) // self.values.step if value in self.values else None
        return self._places.get(value)

    @cached_property
    def _places(self) -> dict[int, int]:
        return {value: position for position, value in enumerate(self.values)}

    @property
    def repeats(self) -> bool:
        """Whether a listed value occurs twice."""
        return isinstance(self.values, tuple) and len(self._places) < len(self.values)

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """Return the minimum and the maximum."""
        if isinstance(self.values, tuple):
            return min(self.values), max(self.values)
        ends = (self.values.start, self.values[self.size - 1])
        return min(ends), max(ends)


@dataclass(frozen=True)
class DimensionProduct(PickledByFields):
    """The cartesian product of dimensions, numbered from 0; the last one varies fastest."""

    dimensions: tuple[Dimension, ...]
    sizes: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(d.size for d in self.dimensions))

    @cached_property
    def count(self) -> int:
        return prod(self.sizes)

    def at(self, number: int) -> dict[str, int]:
        """Return the value of each dimension for one combination."""
        values: dict[str, int] = {}
        for dimension, size in zip(reversed(self.dimensions), reversed(self.sizes), strict=True):
            number, position = divmod(number, size)
            values[dimension.name] = dimension.values[position]
        return dict(reversed(values.items()))

    def number(self, values: Mapping[str, int]) -> int | None:
        """Return the number of a combination, or None if it does not exist."""
        number = 0
        for dimension, size in zip(self.dimensions, self.sizes, strict=True):
            position = dimension.index(values[dimension.name])
            if position is None:
                return None
            number = number * size + position
        return number


def read_dimensions(source: object, at: str, findings: Findings) -> tuple[Dimension, ...] | None:
    """Read the ``dimensions`` of a gen item; None if one of them is invalid."""
    if not isinstance(source, Mapping) or not source:
        message = "`dimensions` must be an object with at least one dimension."
        findings.add("gen-bad-dimension", at, message, 'Write for example {"i": {"stop": 5}}.')
        return None
    read = [_read_dimension(name, value, at, findings) for name, value in source.items()]
    good = tuple(dimension for dimension in read if dimension is not None)
    return good if len(good) == len(read) else None


def _read_dimension(name: object, source: object, at: str, findings: Findings) -> Dimension | None:
    where = at + pointer(str(name))
    if not isinstance(name, str):
        findings.add("gen-bad-dimension", where, f"`{name}` is not a valid name for a dimension.")
        return None
    _note_name(name, where, findings)
    values = _read_values(source)
    if isinstance(values, str):
        message = f"The dimension `{name}` {values}"
        findings.add("gen-bad-dimension", where, message, _remedy(source))
        return None
    if isinstance(source, Mapping):
        for extra in source.keys() - {"start", "stop", "step"}:
            findings.add(
                "unknown-field",
                where + pointer(extra),
                f"`{extra}` is not a field of a dimension and is ignored.",
                suggest(extra, ("start", "stop", "step")),
            )
    return Dimension(name, values)


def _remedy(source: object) -> str:
    """Return what to write if a number, or another name for `stop`, shows the intention."""
    if type(source) is int:
        return f'Write {{"stop": {source}}}.'
    if isinstance(source, Mapping) and "stop" not in source:
        other = next((name for name in STOPS if name in source), None)
        return f"Write `stop` instead of `{other}`." if other else ""
    return ""


def _note_name(name: str, where: str, findings: Findings) -> None:
    """Report a name that no expression uses; its values only repeat other keys."""
    if not is_speakable(name):
        message = f"The dimension `{name}` cannot be written in an expression, so no field uses it."
        hint = "Use letters, digits and underscores, or remove the dimension."
        findings.add("bad-dimension-name", where, message, hint)
    elif name in RESERVED:
        message = f"jinja2 reserves the name `{name}`, so fsspec cannot open the set."
        findings.add("bad-dimension-name", where, message, "Choose another name.")


def _read_values(source: object) -> range | tuple[int, ...] | str:
    """Return the values, or what is wrong with them."""
    if isinstance(source, Mapping):
        return _read_range(source)
    if isinstance(source, Sequence) and not isinstance(source, str):
        if all(type(value) is int for value in source):
            return tuple(source)
        return "must list integers only."
    return 'must be {"start": …, "stop": …, "step": …} or a list of integers.'


def _read_range(source: Mapping[str, object]) -> range | str:
    if "stop" not in source:
        return "has no `stop`."
    ends: dict[str, Any] = {"start": 0, "step": 1, **source}
    for name in ("start", "stop", "step"):
        if type(ends[name]) is not int:
            return f"needs an integer as `{name}`."
    if ends["step"] == 0:
        return "has a `step` of 0, so it never ends."
    return range(ends["start"], ends["stop"], ends["step"])


BLOCK = 65_536  # Combinations of a block, which bound the memory that it needs
Values = dict[str, np.ndarray]  # By dimension, arrays that broadcast: int64, or object if larger


class Block(NamedTuple):
    """Combinations with consecutive numbers that are a product of intervals of each dimension."""

    start: int  # The number of the first one
    ranges: tuple[range, ...]  # Which values of each dimension, by their positions

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions with several values; numpy supports at most 64 axes."""
        # The others have no axis: numpy supports at most 64, and a block uses fewer than 20.
        return tuple(len(positions) for positions in self.ranges if len(positions) > 1)

    def values(self, grid: DimensionProduct) -> Values:
        """Return the values of each dimension; along an axis of its own if there are several."""
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
    """Divide the combinations from `start` to `stop` into blocks of limited size."""
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
    """Choose the axis to cut: a block can contain all values of later axes."""
    axis, inner = len(sizes) - 1, 1
    while axis:
        grown = inner * sizes[axis]
        # a larger block must begin and end at multiples of its size, or it is not a product
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
    # the product may exceed 64 bits even if every value fits, so the bounds are checked as well
    if isinstance(values, range) and all(map(_fits, (*limits, values.step))):
        return values.start + values.step * positions.astype(np.int64)
    return as_column([values[position] for position in positions.tolist()])


def as_column(values: Sequence[int]) -> np.ndarray:
    """Return integers as int64 if they fit, otherwise as Python integers."""
    if isinstance(values, range) and values:
        if _fits(values[0]) and _fits(values[-1]) and _fits(values.step):
            return values.start + values.step * np.arange(len(values))
    elif not values or (_fits(min(values)) and _fits(max(values))):
        return np.array(values, np.int64)
    return np.array(values, object)


def _fits(value: int) -> bool:
    return -(2**63) < value < 2**63
