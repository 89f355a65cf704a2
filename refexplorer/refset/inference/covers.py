"""Grids with holes as few blocks: whole slabs first, then parts of them, at last single positions.

One gen item makes all blocks of one size: a listed dimension says where they begin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

LENGTHS = (64, 8, 1)
"""Positions of an axis that are taken together."""


@dataclass(frozen=True)
class Blocks:
    """Full blocks of one size: one position on the outer axes each, all of the inner ones.

    Attributes
    ----------
    positions
        Where each block is on the outer axes, shape ``(blocks, outer axes)``; on the last of them
        in units of `length`.
    length
        Positions of the last outer axis that a block has.
    """

    positions: np.ndarray
    length: int

    @property
    def outer(self) -> int:
        """How many axes are outer ones."""
        return int(self.positions.shape[1])

    def rows(self, grid: np.ndarray) -> np.ndarray:
        """Return what a grid has in the blocks, block by block, shape ``(n,)``."""
        found: np.ndarray = _split(grid, self.outer, self.length)[tuple(self.positions.T)].ravel()
        return found


def cover(present: np.ndarray) -> Iterator[Blocks]:
    """Yield blocks that hold all that is present in a grid of bool, each position once."""
    left = present.copy()
    for outer in range(1, left.ndim + 1):
        size = left.shape[outer - 1]
        for length in LENGTHS:
            if length > 1 and size < 2 * length:
                continue
            split = _split(left, outer, length)
            full = split.reshape(*split.shape[:outer], -1).all(-1)
            if full.any():
                yield Blocks(np.argwhere(full), length)
                taken = np.repeat(full, length, outer - 1)
                whole = (*[slice(None)] * (outer - 1), slice(size // length * length))
                left[whole] &= ~taken.reshape(*taken.shape, *[1] * (left.ndim - outer))


def _split(grid: np.ndarray, outer: int, length: int) -> np.ndarray:
    """Split the last outer axis in two: blocks, and positions in a block; the rest is left out."""
    shape = grid.shape
    count = shape[outer - 1] // length
    whole = (*[slice(None)] * (outer - 1), slice(count * length))
    return grid[whole].reshape(*shape[: outer - 1], count, length, *shape[outer:])
