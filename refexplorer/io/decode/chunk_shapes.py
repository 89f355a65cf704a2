"""The grid of chunks, by arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from refexplorer.core.errors import DecodeError, LimitError
from refexplorer.core.text import size_text
from refexplorer.spec.zarr_metadata import STRUCTURED

if TYPE_CHECKING:
    from refexplorer.core.limits import Limits
    from refexplorer.spec.zarr_metadata import ArrayMeta

WHOLE_CHUNKS = 256
"""An array with more chunks is not read as a whole by a view."""
WHOLE_BYTES = 2**26
"""An array with more decoded bytes is not read as a whole by a view."""
POINTER = 8
"""Bytes that an element of varying size takes at least."""

Index = tuple[int, ...]


def region(array: ArrayMeta, index: Index) -> tuple[slice, ...]:
    """Return the part of the array that a chunk covers, cut at the array's edge."""
    return tuple(axis.part(number) for axis, number in zip(array.axes, index, strict=True))


def place_count(places: range) -> int:
    """Return how many places there are; `len` refuses 2^63 and more."""
    return max(0, -((places.start - places.stop) // places.step))


def inside(places: range, part: slice) -> tuple[slice, slice]:
    """Return which of the places lie in a chunk, and where they are in it."""
    first = max(0, -((places.start - part.start) // places.step))
    last = max(first, min(place_count(places), -((places.start - part.stop) // places.step)))
    begin = places.start + first * places.step - part.start
    end = begin + (last - first - 1) * places.step + 1
    return slice(first, last), slice(begin, max(end, begin), places.step)


def overlap(
    array: ArrayMeta, places: Sequence[range], index: Index
) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Return where values of a chunk go in a part of an array, and which of the chunk they are."""
    pairs = [inside(*each) for each in zip(places, region(array, index), strict=True)]
    return tuple(into for into, _ in pairs), tuple(of for _, of in pairs)


def is_small(array: ArrayMeta) -> bool:
    """Whether a view may read the whole array at once."""
    size = math.prod(array.shape) * (array.itemsize or POINTER)
    return array.chunk_count <= WHOLE_CHUNKS and size <= WHOLE_BYTES


def check_size(array: ArrayMeta, limits: Limits) -> None:
    """Refuse chunks that would eat the machine, before anything is allocated or read."""
    name = array.path or "the root array"
    if array.itemsize is None and array.dtype == STRUCTURED:
        raise DecodeError(f"{name} has a structured data type that is not supported.")
    itemsize = array.itemsize or POINTER
    if itemsize > limits.itemsize:
        raise LimitError(
            f"one element of {name} takes {size_text(itemsize)}, more than the limit of "
            f"{size_text(limits.itemsize)} (limits: itemsize)."
        )
    size = math.prod(array.chunks) * itemsize
    if size > limits.chunk_bytes:
        raise LimitError(
            f"one chunk of {name} decodes to {size_text(size)}, more than the limit of "
            f"{size_text(limits.chunk_bytes)} (limits: chunk_bytes)."
        )
