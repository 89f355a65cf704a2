"""Keys of many chunks of an array at once."""

from __future__ import annotations

from math import prod

import numpy as np
import pyarrow as pa

from refexplorer.formats.buffers.arrow import number_column, text_scalar
from refexplorer.formats.json.writer import joined
from refexplorer.spec.core.zarr_metadata import ArrayMeta

# of the last dimensions; they are written once, and what runs over them is only repeated
_ENDINGS = 4096


def chunk_keys(array: ArrayMeta, numbers: np.ndarray) -> pa.LargeStringArray:
    """Return the keys of chunks by their numbers in the grid, ascending, shape ``(n,)``.

    What belongs to the first dimensions is written once for each run of chunks that share it, and
    what belongs to the last ones, few as their combinations are, once in all.
    """
    if not (grid := array.narrow_grid):
        return pa.repeat(text_scalar(array.chunk_key(())), len(numbers))
    axis = len(grid)
    while axis > 1 and prod(grid[axis - 1 :]) <= _ENDINGS:
        axis -= 1
    heads, tails = np.divmod(numbers, prod(grid[axis:]))
    is_new = np.append(True, heads[1:] != heads[:-1])[: len(heads)]
    starts = _joined(array, array.folder + array.prefix, heads[is_new], grid[:axis])
    keys = starts.take(number_column(np.cumsum(is_new) - 1))
    if axis == len(grid):
        return keys
    ends = _joined(array, array.separator, np.arange(prod(grid[axis:])), grid[axis:])
    return joined(keys, ends.take(number_column(tails)))


def _joined(
    array: ArrayMeta, start: str, numbers: np.ndarray, grid: tuple[int, ...]
) -> pa.LargeStringArray:
    """Write numbers as indices in a part of the grid, behind a text."""
    parts: list[pa.LargeStringArray | str] = []
    for size in reversed(grid):
        numbers, index = np.divmod(numbers, size)
        parts = [array.separator, number_column(index).cast(pa.large_string()), *parts]
    return joined(start, *parts[1:])
