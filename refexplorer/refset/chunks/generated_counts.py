"""Counts the keys of a large gen item that are chunks of an array, without making them.

What arithmetic cannot tell is not known, and is said so: a count that is only assumed would call
chunks present that read as the fill value.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from refexplorer.refset.segments.segment import Generated
from refexplorer.spec.core.zarr_metadata import ArrayMeta
from refexplorer.spec.gen.digits import Digit, span
from refexplorer.spec.gen.dimensions import Dimension
from refexplorer.spec.gen.inversion import Number


def count_by_arithmetic(segment: Generated, array: ArrayMeta) -> int | None:
    """Count the keys inside the grid of an array; None if arithmetic does not tell."""
    inverter = segment.item.inverter
    if inverter is None or segment.overridden or not all(array.grid):
        return None
    groups = inverter.groups
    numbers = [group for group in groups if isinstance(group, Number)]
    places = _places(segment, array, len(groups))
    if len(numbers) < len(groups) or places is None:
        return None
    dimensions = {each.name: each for each in segment.item.varying.dimensions}
    if _may_pad(segment.item.key.text) and any(_is_short(each, dimensions) for each in numbers):
        return None
    sizes = [array.grid[place] for place in places]
    pairs = list(zip(numbers, sizes, strict=True))
    if all(_is_inside(number, size, dimensions) for number, size in pairs):
        return segment.count
    digits = [_plain_digit(number) for number in numbers]
    names = [None if digit is None else digit[0] for digit in digits]
    if None in names or len({*names}) < len(names) or len(names) < len(dimensions):
        return None
    return prod(
        _count_between(dimensions[name].values, -number.constant, size - number.constant)
        for name, (number, size) in zip(filter(None, names), pairs, strict=True)
    )


def _places(segment: Generated, array: ArrayMeta, groups: int) -> list[int] | None:
    """Return which index each number of a key is; None if they are not told apart for certain."""
    found = {_places_in(segment, row, array, groups) for row in (0, segment.count - 1)}
    places = found.pop()
    return None if found or places is None else list(places)


def _places_in(
    segment: Generated, row: int, array: ArrayMeta, groups: int
) -> tuple[int, ...] | None:
    key, inverter = segment.key_at(row), segment.item.inverter
    match = None if inverter is None else inverter.match(key)
    start = len(array.folder + array.prefix)
    index = array.chunk_index(key)
    if match is None or index is None or len(index) != len(array.grid):
        return None
    spans: dict[tuple[int, int], int] = {}
    for place, text in enumerate(key[start:].split(array.separator)):
        spans[start, start + len(text)] = place
        start += len(text) + 1
    places = tuple(spans.get(match.span(group), -1) for group in range(1, groups + 1))
    fixed = set(range(len(index))) - {*places}
    if -1 in places:
        return None
    return places if all(index[place] < array.grid[place] for place in fixed) else None


def _may_pad(template: str) -> bool:
    """Say whether a template may write zeros before a number, as `%02d` does; escapes hide it."""
    return "%0" in template or "\\" in template


def _is_short(number: Number, dimensions: Mapping[str, Dimension]) -> bool:
    """Say whether a number may have fewer digits than others: no key of a chunk is padded."""
    low, _ = _bounds(number, dimensions)
    return low < int(10 ** (number.width - 1))


def _is_inside(number: Number, size: int, dimensions: Mapping[str, Dimension]) -> bool:
    """Say whether a number of a key is between 0 and a size, whatever the dimensions are."""
    low, high = _bounds(number, dimensions)
    return low >= 0 and high < size


def _bounds(number: Number, dimensions: Mapping[str, Dimension]) -> tuple[int, int]:
    """Return between which two a number of a key is, whatever the dimensions are."""
    spans = [span(digit, factor, dimensions) for digit, factor in number.terms.items()]
    low = number.constant + sum(low for low, _ in spans)
    return low, number.constant + sum(high for _, high in spans)


def _plain_digit(number: Number) -> Digit | None:
    """Return the dimension that a number is, plus a constant; None if it is something else."""
    digits = list(number.terms.items())
    if len(digits) != 1 or digits[0][1] != 1 or digits[0][0][1:] != (1, None):
        return None
    return digits[0][0]


def _count_between(values: range | tuple[int, ...], low: int, high: int) -> int:
    """Count the values from `low` up to `high`."""
    if isinstance(values, tuple):
        return sum(low <= value < high for value in values)
    return _count_of_range(values, low, high)


def _count_of_range(values: range, low: int, high: int) -> int:
    step, start = abs(values.step), values.start
    stop = values.stop
    if values.step < 0:  # the same values, ascending
        size = max(0, -(-(start - stop) // step))
        start, stop = start - step * (size - 1), start + 1
    first = start + step * max(0, -(-(low - start) // step))
    last = min(stop, high)
    return max(0, -(-(last - first) // step))
