"""Grids with holes as few boxes: whole slabs first, then blocks of them, at last single places.

One gen item makes all boxes of one size: a listed dimension says where they begin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

BLOCKS = (64, 8, 1)
"""Places of an axis that are taken together."""


@dataclass(frozen=True)
class Boxes:
    """Full boxes of one size: one place of the outer axes each, all places of the inner ones.

    Attributes
    ----------
    places
        Where each box is on the outer axes, shape ``(boxes, outer axes)``; on the last of them in
        blocks.
    block
        Places of the last outer axis that a box has.
    """

    places: np.ndarray
    block: int

    @property
    def outer(self) -> int:
        """How many axes are outer ones."""
        return int(self.places.shape[1])

    def rows(self, grid: np.ndarray) -> np.ndarray:
        """Return what a grid has in the boxes, box by box, shape ``(n,)``."""
        found: np.ndarray = _blocks(grid, self.outer, self.block)[tuple(self.places.T)].ravel()
        return found


def cover(present: np.ndarray) -> Iterator[Boxes]:
    """Yield boxes that hold all that is present in a grid of bool, each place once."""
    left = present.copy()
    for outer in range(1, left.ndim + 1):
        size = left.shape[outer - 1]
        for block in BLOCKS:
            if block > 1 and size < 2 * block:
                continue
            blocks = _blocks(left, outer, block)
            full = blocks.reshape(*blocks.shape[:outer], -1).all(-1)
            if full.any():
                yield Boxes(np.argwhere(full), block)
                taken = np.repeat(full, block, outer - 1)
                at = (*[slice(None)] * (outer - 1), slice(size // block * block))
                left[at] &= ~taken.reshape(*taken.shape, *[1] * (left.ndim - outer))


def _blocks(grid: np.ndarray, outer: int, block: int) -> np.ndarray:
    """Split the last outer axis in two: blocks, and places in a block; what is over is left."""
    shape = grid.shape
    count = shape[outer - 1] // block
    at = (*[slice(None)] * (outer - 1), slice(count * block))
    return grid[at].reshape(*shape[: outer - 1], count, block, *shape[outer:])
