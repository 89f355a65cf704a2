"""Rows whose numbers fill a grid, cut where a column stops being a sum over the axes.

A *field* is one of the numbers that a reference consists of: those of its key and URL, offset and
length. The numbers of keys are the axes; a field is *additive* on a grid if each axis adds its own
share to it, as in ``header + step * 8294400 + tile * 414720``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

LEAST_ROWS = 6
"""Fewer references are written out in less text than a gen item takes."""
_WINDOW = 64
"""Positions of an axis that are looked at first."""


def full_grids(fields: np.ndarray, keys: int, budget: int) -> Iterator[np.ndarray]:
    """Yield rows that fill grids of the numbers of their keys, the last axis fastest.

    Parameters
    ----------
    fields
        Shape ``(fields, n)``; no two rows share all numbers of their keys.
    keys
        How many of the fields, from the first, are numbers of the key.
    budget
        How many parts of the rows may be looked at.
    """
    waiting = [np.arange(fields.shape[1], dtype=np.int32)]
    while waiting and budget:
        rows, budget = waiting.pop(), budget - 1
        if len(rows) < LEAST_ROWS:
            continue
        grid, parts = _grid_of(fields[:keys], rows)
        if grid is not None:
            yield grid
        waiting += parts


def _grid_of(fields: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray | None, list[np.ndarray]]:
    """Return rows as a grid if they fill one, else none, and parts of them."""
    axes = axes_of(fields, rows)
    sizes = [int(codes.max()) + 1 for codes in axes]
    if np.prod(sizes, dtype=float) != len(rows):
        return None, [rows[part] for part in _parts(axes, sizes)]
    positions = np.ravel_multi_index(tuple(axes), sizes)
    if np.any(positions[1:] < positions[:-1]):
        rows = rows[np.argsort(positions)]
    return rows.reshape(sizes), []


def axes_of(fields: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """Return the position on its axis of each row, for the fields that others do not determine."""
    codes = [_codes(field[rows]) for field in fields]
    sizes = [int(code.max()) + 1 for code in codes]
    chosen: list[int] = []
    joint, count = np.zeros(len(rows), np.int32), 1
    for field in sorted(range(len(codes)), key=lambda field: -sizes[field]):
        if sizes[field] > 1 and count < len(joint):
            both = joint.astype(np.int64)
            both *= sizes[field]
            both += codes[field]
            together = _codes(both)
            if (found := int(together.max()) + 1) > count:
                chosen.append(field)
                joint, count = together, found
    return [codes[field] for field in sorted(chosen)]


def _codes(numbers: np.ndarray) -> np.ndarray:
    """Return the rank of each number among the distinct ones, int32; the numbers are used up."""
    low, high = int(numbers.min()), int(numbers.max())
    if high - low > 4 * len(numbers):
        inverse: np.ndarray = np.unique(numbers, return_inverse=True)[1].astype(np.int32)
        return inverse
    numbers -= low
    positions = np.zeros(high - low + 1, np.int32)
    positions[numbers] = 1
    np.cumsum(positions, out=positions)
    found: np.ndarray = positions[numbers]
    found -= 1
    return found


def _parts(axes: list[np.ndarray], sizes: list[int]) -> Iterator[np.ndarray]:
    """Yield parts of rows that fill no grid: where an axis is full, else position by position."""
    whole = np.prod(sizes, dtype=float)
    counts = [np.bincount(codes) for codes in axes]
    full = [count == whole / size for count, size in zip(counts, sizes, strict=True)]
    rows_in_full = [int(count[good].sum()) for count, good in zip(counts, full, strict=True)]
    best = int(np.argmax(rows_in_full))
    if rows_in_full[best]:
        inside = full[best][axes[best]]
        yield np.flatnonzero(inside)
        yield np.flatnonzero(~inside)
        return
    least = int(np.argmin(sizes))
    order = np.argsort(axes[least], kind="stable")
    yield from np.split(order, np.cumsum(counts[least])[:-1])


def additive_grids(fields: np.ndarray, rows: np.ndarray, budget: int) -> Iterator[np.ndarray]:
    """Cut a grid of rows into grids on which every field is additive."""
    waiting = [rows]
    while waiting and budget:
        rows, budget = waiting.pop(), budget - 1
        if rows.size < LEAST_ROWS:
            continue
        if rows.ndim == 1 or _is_additive(fields, rows):
            yield rows
        else:
            axis, cuts = _cuts(fields, rows)
            waiting += np.split(rows, cuts, axis)[::-1]


def even_grids(
    fields: np.ndarray, rows: np.ndarray, keys: int, budget: int
) -> Iterator[np.ndarray]:
    """Cut an additive grid into grids along whose axes every field grows evenly.

    An axis of blocks, as the hours of several files are, becomes two: 96 hours in files of 24
    whose offsets begin again in each are a grid of 4 files by 24 hours.
    """
    waiting = [rows]
    while waiting:
        rows = waiting.pop()
        for axis, share in enumerate(profiles(fields, rows)):
            runs = list(islice(_runs(share, keys), budget))
            if runs != [(0, rows.shape[axis], 1)]:
                budget -= len(runs)
                waiting += [*_parts_of(rows, axis, runs)][::-1]
                break
        else:
            yield rows


def _parts_of(
    rows: np.ndarray, axis: int, runs: list[tuple[int, int, int]]
) -> Iterator[np.ndarray]:
    """Yield runs of blocks along an axis, each with an axis more if it has several."""
    for start, period, count in runs:
        part = rows.take(range(start, start + period * count), axis)
        if part.size >= LEAST_ROWS:
            blocks = (count, period) if count > 1 else (period,)
            yield part.reshape(*rows.shape[:axis], *blocks, *rows.shape[axis + 1 :])


def _runs(share: np.ndarray, keys: int) -> Iterator[tuple[int, int, int]]:
    """Yield where blocks that grow evenly begin on an axis, their size, and how many are alike."""
    start, size = 0, share.shape[1]
    while start < size:
        window = _WINDOW
        while True:  # looks only as far as it must
            part = share[:, start : start + window]
            period, count = _blocks(part - part[:, :1], keys)
            if start + window >= size or period * (count + 2) <= window:
                break
            window *= 8
        yield start, period, count
        start += period * count


def _blocks(share: np.ndarray, keys: int) -> tuple[int, int]:
    """Return how many positions from the first grow evenly, and how many such blocks follow."""
    size = share.shape[1]
    period = _period(share, keys)
    rest = share[:, period:] - share[:, period : period + 1]
    if rest.shape[1] > period and _period(rest, keys) > period:
        return period, 1  # the first is a block with a hole, or what a cut left of one
    count = size // period
    blocks = share[:, : period * count].reshape(len(share), count, period)
    alike = np.all(blocks - blocks[:, :, :1] == blocks[:, :1], axis=(0, 2))
    return period, count if alike.all() else int(np.argmin(alike))


def _period(share: np.ndarray, keys: int) -> int:
    """Return at how many positions of an axis, from the first, all fields grow evenly."""
    if share.shape[1] < 2:
        return int(share.shape[1])
    return max(evenly(share, numbers) for numbers in bases(share, keys))


def bases(share: np.ndarray, keys: int) -> tuple[np.ndarray, ...]:
    """Return what may number the positions of an axis: 0, 1, 2 and so on, or the key's numbers."""
    own, positions = own_field(share, keys), np.arange(share.shape[1])
    return (positions,) if own is None else (share[own], positions)


def own_field(share: np.ndarray, keys: int) -> int | None:
    """Return the number of the key that tells the positions of an axis apart.

    None if each comes more than once, as where keys differ in the zeros before it alone.
    """
    return next((field for field in range(keys) if np.all(np.diff(share[field]) > 0)), None)


def evenly(share: np.ndarray, numbers: np.ndarray) -> int:
    """Return at how many positions, from the first, all fields grow with some numbers."""
    growth = share[:, 1] // numbers[1]
    follows = np.all(growth[:, None] * numbers == share, axis=0)
    return int(np.argmin(np.append(follows, False)))


def profiles(fields: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """Return the steps of the fields along each axis of a grid, each ``(fields, its size)``."""
    found = []
    for axis in range(rows.ndim):
        line = rows[tuple(slice(None) if each == axis else 0 for each in range(rows.ndim))]
        along = fields[:, line]
        found.append(along - along[:, :1])
    return found


def _is_additive(fields: np.ndarray, rows: np.ndarray) -> bool:
    shares = zip(*profiles(fields, rows), strict=True)
    return all(_is_sum(field[rows], own) for field, own in zip(fields, shares, strict=True))


def _is_sum(numbers: np.ndarray, shares: Sequence[np.ndarray]) -> bool:
    """Say whether numbers on a grid are the first of them and what each axis adds."""
    total = numbers.ravel()[0]
    for share in shares:
        total = np.add.outer(total, share)
    return bool(np.array_equal(total, numbers))


def _cuts(fields: np.ndarray, rows: np.ndarray) -> tuple[int, np.ndarray]:
    """Return the axis along which most neighbours are alike, and where they are not."""
    unlike = [np.zeros(size - 1, np.bool_) for size in rows.shape]
    for field in fields:
        numbers = field[rows]
        for axis in range(rows.ndim):
            unlike[axis] |= _changes(np.moveaxis(numbers, axis, 0))
    best: tuple[float, int, np.ndarray] | None = None
    for axis, size in enumerate(rows.shape):
        cuts = np.flatnonzero(unlike[axis]) + 1
        runs = np.diff([0, *cuts.tolist(), size])
        if len(cuts):
            alike = (int(runs.max()) - 1) / size - len(cuts) * 1e-9
            if best is None or alike > best[0]:
                best = (alike, axis, cuts)
    assert best is not None
    return best[1], best[2]


def _changes(slabs: np.ndarray) -> np.ndarray:
    """Say between which slabs not every number grows by the same."""
    steps = np.diff(slabs, axis=0)
    first = steps[(slice(None), *[slice(0, 1)] * (steps.ndim - 1))]
    found: np.ndarray = np.any(steps != first, axis=tuple(range(1, steps.ndim)))
    return found
