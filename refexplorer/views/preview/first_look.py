"""What is read of an array first: a whole slice, or as many whole chunks as a budget allows."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from refexplorer.io.decode.chunk_shapes import POINTER, is_small
from refexplorer.spec.references import Base64, Inline
from refexplorer.views.preview.channels import channels_of
from refexplorer.views.preview.regions import Region, whole

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet
    from refexplorer.spec.zarr_metadata import ArrayMeta

_SIDE = 64
"""Chunks along a side of the window whose sizes are looked up."""


def first_look(refs: ReferenceSet, array: ArrayMeta, budget: int | None = None) -> Region:
    """Return all of a small array, or of a large one the middle of a slice.

    The slice is along the last two dimensions of more than one value, the first along all others
    but that of colours, which are read together.
    No value in between is left out: to read a part of each chunk fetches the whole of it.
    """
    budget = refs.limits.picture_bytes if budget is None else budget
    if is_small(array) and _is_within(refs, array, budget):
        return whole(array)
    colours = channels_of(array)
    shown = [axis for axis, size in enumerate(array.shape) if size > 1 and axis != colours][-2:]
    grid = [array.grid[axis] for axis in shown]
    outer = [range(*_middle(count, min(count, _SIDE))) for count in grid]
    sizes = _sizes(refs, array, shown, outer, colours)
    window = _largest(sizes, budget)
    places = [range(min(size, 1)) for size in array.shape]
    if colours is not None:
        places[colours] = range(array.shape[colours])
    for axis, numbers, (first, last) in zip(shown, outer, window, strict=True):
        step = array.chunks[axis]
        chunks = numbers[first:last]
        places[axis] = range(chunks[0] * step, min(chunks[-1] * step + step, array.shape[axis]))
    return tuple(places)


def _is_within(refs: ReferenceSet, array: ArrayMeta, budget: int) -> bool:
    keys = map(array.chunk_key, itertools.product(*map(range, array.grid)))
    return sum(_cost(refs, array, key) for key in keys) <= budget


def _cost(refs: ReferenceSet, array: ArrayMeta, key: str) -> int:
    """Return the bytes that a chunk takes to be fetched; what is not known is as large as it is."""
    reference = refs.get(key)
    if reference is None or isinstance(reference, Inline | Base64):
        return 0
    decoded = math.prod(array.chunks) * (array.itemsize or POINTER)
    return decoded if reference.size is None else reference.size


def _sizes(
    refs: ReferenceSet,
    array: ArrayMeta,
    shown: list[int],
    numbers: list[range],
    colours: int | None,
) -> np.ndarray:
    """Return the bytes of the chunks of a slice, of all its colours."""
    found = np.zeros(tuple(map(len, numbers)))
    for place in np.ndindex(found.shape):
        index = [0] * len(array.shape)
        for axis, along, at in zip(shown, numbers, place, strict=True):
            index[axis] = along[at]
        for colour in range(1 if colours is None else array.grid[colours]):
            if colours is not None:
                index[colours] = colour
            found[place] += _cost(refs, array, array.chunk_key(tuple(index)))
    return found


def _largest(sizes: np.ndarray, budget: int) -> list[tuple[int, int]]:
    """Return the largest window in the middle with no more bytes, or one chunk."""
    best = [_middle(count, 1) for count in sizes.shape]
    for part in range(1, max(sizes.shape, default=0) + 1):
        share = part / max(sizes.shape)
        window = [_middle(count, max(1, round(count * share))) for count in sizes.shape]
        if sizes[tuple(slice(*each) for each in window)].sum() > budget:
            break
        best = window
    return best


def _middle(count: int, wanted: int) -> tuple[int, int]:
    start = (count - wanted) // 2
    return start, start + wanted
