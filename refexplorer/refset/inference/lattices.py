"""Grids on which each axis adds its own share to every field, with holes where rows are missing.

A set whose chunks are missing here and there, or were repaired one by one, still follows the
progressions of the whole grid: these are found from most of its rows, and what does not follow
them is a hole too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refexplorer.refset.inference.grids import axes_of, profiles

THINNEST = 4
"""A grid has at most this many positions for each row."""
_LINES = 65
"""Lines along an axis from which its share is found."""
_SAMPLE = 1001
_ABSENT = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Lattice:
    """Rows on a grid whose fields are additive.

    Attributes
    ----------
    rows
        The row at each position, int32; -1 in a hole.
    first
        The fields at the first position, shape ``(fields,)``.
    shares
        What each axis adds to the fields, each ``(fields, size of the axis)``, first 0.
    """

    rows: np.ndarray
    first: np.ndarray
    shares: tuple[np.ndarray, ...]

    def cut(self, axis: int, start: int, stop: int) -> Lattice:
        """Return the lattice between two positions of an axis."""
        share = self.shares[axis]
        cut = share[:, start:stop] - share[:, start : start + 1]
        return Lattice(
            self.rows.take(range(start, stop), axis),
            self.first + share[:, start],
            (*self.shares[:axis], cut, *self.shares[axis + 1 :]),
        )


def lattice_of(fields: np.ndarray, rows: np.ndarray) -> Lattice:
    """Return the lattice of a grid without holes on which all fields are additive."""
    return Lattice(rows, fields[:, rows.flat[0]], tuple(profiles(fields, rows)))


def fit_lattice(fields: np.ndarray, keys: int, rows: np.ndarray) -> Lattice | None:
    """Return the lattice that most of some rows follow, with these in it and no others.

    Parameters
    ----------
    fields
        Shape ``(fields, n)``; no two rows share all numbers of their keys.
    keys
        How many of the fields, from the first, are numbers of the key.
    rows
        Which of the n, shape ``(m,)``.

    Returns
    -------
    Lattice or None
        None where the rows fill too little of their grid.
    """
    axes = axes_of(fields[:keys], rows)
    sizes = [int(positions.max()) + 1 for positions in axes]
    if not axes or np.prod(sizes, dtype=float) > THINNEST * len(rows):
        return None
    grid = np.full(sizes, -1, np.int32)
    grid[tuple(axes)] = rows
    shares = tuple(_shares(fields, np.moveaxis(grid, axis, 0)) for axis in range(len(sizes)))
    first, good = np.empty(len(fields), np.int64), np.ones(len(rows), np.bool_)
    for field, numbers in enumerate(fields):
        rest = numbers[rows]
        for share, positions in zip(shares, axes, strict=True):
            rest -= share[field, positions]
        sample = np.sort(rest[:: len(rows) // _SAMPLE + 1])
        first[field] = sample[len(sample) // 2]
        good &= rest == first[field]
    grid[tuple(axes)] = np.where(good, rows, -1)
    return Lattice(grid, first, shares)


def _shares(fields: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Return the step of each field along the first axis of a grid with holes."""
    lines = grid.reshape(len(grid), -1)
    lines = lines[:, :: -(-lines.shape[1] // _LINES)]
    return np.stack([_share(numbers, lines) for numbers in fields])


def _share(numbers: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """Return what positions of some lines add to one field: the sum of the middle steps."""
    both = (lines[1:] >= 0) & (lines[:-1] >= 0)
    steps = numbers[lines[1:]] - numbers[lines[:-1]]
    steps[~both] = _ABSENT
    steps.sort(axis=1)
    middle = np.maximum(both.sum(1) - 1, 0) // 2
    found = np.take_along_axis(steps, middle[:, None], 1)[:, 0]
    unknown = found == _ABSENT  # a step that no line has may be like most others
    found[unknown] = np.sort(found)[np.count_nonzero(~unknown) // 2] if not unknown.all() else 0
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(found)])
