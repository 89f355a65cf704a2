"""The grid of chunks, by arithmetic."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refexplorer.spec.arrays import ArrayMeta

WHOLE_CHUNKS = 256
"""An array with more chunks is not read as a whole by a view."""
WHOLE_BYTES = 2**26
"""An array with more decoded bytes is not read as a whole by a view."""
POINTER = 8
"""What an element of varying size takes at least, in bytes."""

Index = tuple[int, ...]


def region(array: ArrayMeta, index: Index) -> tuple[slice, ...]:
    """Return the part of the array that a chunk covers, cut at the array's edge."""
    return tuple(
        slice(place * step, min((place + 1) * step, extent))
        for place, step, extent in zip(index, array.chunks, array.shape, strict=True)
    )


def chunk_indices(array: ArrayMeta) -> Iterator[Index]:
    """Yield the index of every chunk in C order; the grid itself is never made."""
    return itertools.product(*map(range, array.grid))


def is_small(array: ArrayMeta) -> bool:
    """Whether a view may read the whole array at once."""
    size = math.prod(array.shape) * (array.itemsize or POINTER)
    return array.chunk_count <= WHOLE_CHUNKS and size <= WHOLE_BYTES
