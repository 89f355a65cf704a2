"""How often an access reads each chunk, as cells that a screen can show; nothing is listed."""

from __future__ import annotations

import math

import numpy as np

from refexplorer.checks.advice.selections import PartOfArray, TasksOfArray
from refexplorer.errors import RefexplorerError

CELLS = 48
"""Most rows and most columns."""
_LONGEST = 10**7
"""Chunks along a dimension that are looked at one by one."""


def touches(part: PartOfArray | TasksOfArray) -> tuple[tuple[int, ...], np.ndarray]:
    """Return the drawn dimensions, and how often a chunk of each cell is read on average.

    Chunks are read by their places along each dimension, so that these are multiplied.
    """
    grid = part.array.grid
    if not math.prod(grid):
        raise RefexplorerError(f"{part.array.path or '/'} has no chunks.")
    if max(grid, default=1) > _LONGEST:
        raise RefexplorerError(
            f"{part.array.path or '/'} has more than {_LONGEST:,} chunks along a dimension, which "
            "are not drawn."
        )
    along = [part.touches(axis, np.arange(count)) for axis, count in enumerate(grid)]
    several = [axis for axis, count in enumerate(grid) if count > 1] or [*range(len(grid))][-1:]
    axes = tuple(sorted(sorted(several, key=lambda axis: -grid[axis])[:2]))
    others = math.prod(float(each.mean()) for axis, each in enumerate(along) if axis not in axes)
    sides = [_means(along[axis]) for axis in axes]
    sides = [np.ones(1)] * (2 - len(sides)) + sides
    return axes, np.multiply.outer(*sides) * others


def _means(values: np.ndarray) -> np.ndarray:
    """Return the means of at most `CELLS` equal blocks; the last may be shorter."""
    step = -(-len(values) // CELLS)
    starts = np.arange(0, len(values), step)
    found: np.ndarray = np.add.reduceat(values, starts) / np.diff(starts, append=len(values))
    return found
