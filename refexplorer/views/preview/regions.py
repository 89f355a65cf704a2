"""Parts of an array as people write them, ``0:10:2``, and the chunks that they touch."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from refexplorer.data.decode.chunk_arithmetic import (
    POINTER,
    WHOLE_CHUNKS,
    Index,
    chunks_along,
    is_small,
    place_count,
    region,
)
from refexplorer.errors import LimitError, RefexplorerError

if TYPE_CHECKING:
    from refexplorer.spec.core.zarr_metadata import ArrayMeta

Region = tuple[range, ...]
"""The places along each dimension."""

VALUES_ALONG = 1_000
"""Positions along one side of a picture of an array that is too large to be read whole."""
DECODED_BYTES = 2**28
"""Decoded chunks that such a picture takes, unless it is asked for more."""
_SLICE = re.compile(r"\s*(-?\d+)?\s*(?:(:)\s*(-?\d+)?\s*(?::\s*(\d+)?\s*)?)?", re.ASCII)


def whole(array: ArrayMeta) -> Region:
    """Return all of an array."""
    return tuple(map(range, array.shape))


def of_chunk(array: ArrayMeta, index: Index) -> Region:
    """Return the region of a chunk.

    Raises
    ------
    RefexplorerError
        If the grid of the array has no such chunk.
    """
    if not array.contains(index):
        raise RefexplorerError(
            f"{array.path or 'The root array'} has no chunk {list(index)}; "
            f"its grid is {list(array.grid)}."
        )
    return tuple(range(part.start, part.stop) for part in region(array, index))


def first_look(array: ArrayMeta) -> Region:
    """Return all of a small array; of a large one every n-th value of its last two long sides."""
    if is_small(array):
        return whole(array)
    long = [axis for axis, size in enumerate(array.shape) if size > 1][-2:]
    chunks_along = dict(zip(long, _affordable(array, long), strict=True))
    places = []
    for axis, size in enumerate(array.shape):
        if axis not in chunks_along:
            places.append(range(min(size, 1)))
            continue
        step = -(-size // VALUES_ALONG)
        if array.grid[axis] > chunks_along[axis]:
            step = max(step, -(-size // chunks_along[axis]))
        places.append(range(0, size, step))
    return tuple(places)


def _affordable(array: ArrayMeta, axes: Sequence[int]) -> list[int]:
    """Return how many chunks along each axis a picture may take, all in all few enough."""
    size = math.prod(array.chunks) * (array.itemsize or POINTER)
    left = max(1, min(WHOLE_CHUNKS, DECODED_BYTES // max(size, 1)))
    counts = [array.grid[axis] for axis in axes]
    if len(counts) < 2:
        return [min(left, each) for each in counts]
    side = math.isqrt(left)
    first = min(counts[0], max(side, left // max(counts[1], 1)))
    return [first, min(counts[1], max(left // max(first, 1), 1))]


def parse(array: ArrayMeta, texts: Sequence[str]) -> Region:
    """Read one text for each dimension: an index, or a slice as Python writes it.

    Raises
    ------
    RefexplorerError
        If a text is none, or selects nothing; the sentence names the dimension.
    """
    if len(texts) != len(array.shape):
        raise RefexplorerError(f"{array.path} has {len(array.shape)} dimensions, not {len(texts)}.")
    names = names_of(array)
    return tuple(map(_places, texts, array.shape, names))


def _places(text: str, size: int, name: str) -> range:
    match = _SLICE.fullmatch(text)
    if match is None or not (match[1] or match[2]):
        raise RefexplorerError(
            f"{name}: {text!r} is neither an index, such as 3, nor a slice, such as 0:10:2."
        )
    start, stop, step = (None if each is None else int(each) for each in match.group(1, 3, 4))
    if step == 0:
        raise RefexplorerError(f"{name}: the step of {text} is 0; write 1 for every place.")
    if not match[2]:
        # an index from the end has nothing after it where it is the last one
        place = range(size)[start : None if start == -1 else (start or 0) + 1]
    else:
        place = range(size)[start:stop:step]
    if not place:
        raise RefexplorerError(f"{name}: {text} selects nothing of 0 to {size - 1:,}.")
    return place


def slices(array: ArrayMeta, places: Region) -> tuple[str, ...]:
    """Write a region as `parse` reads it."""
    return tuple(map(_text, places, array.shape))


def _text(places: range, size: int) -> str:
    if place_count(places) == 1 and size != 1:
        return str(places.start)
    start = str(places.start or "")
    stop = "" if places.stop >= size else str(places.stop)
    return f"{start}:{stop}" + (f":{places.step}" if places.step > 1 else "")


def names_of(array: ArrayMeta) -> tuple[str, ...]:
    """Return the names of the dimensions; numbers stand in for names that are not known."""
    known = array.dimensions or ()
    return tuple(
        (known[axis] if axis < len(known) else "") or f"dim_{axis}"
        for axis in range(len(array.shape))
    )


def chunks_touched(array: ArrayMeta, places: Region) -> Iterator[Index]:
    """Yield the index of each chunk that a region has values of, C order.

    Raises
    ------
    LimitError
        If there are more than one picture may read.
    """
    found = [chunks_along(each, chunk) for each, chunk in zip(places, array.chunks, strict=True)]
    count = math.prod(number for number, _ in found)
    if count > WHOLE_CHUNKS:
        raise LimitError(
            f"This part has values of {count:,} chunks, more than the {WHOLE_CHUNKS} that are "
            "read for one picture: choose a smaller part, or a larger step, such as "
            f"::{array.chunks[-1]}."
        )
    return itertools.product(*(numbers for _, numbers in found))


def inside(places: range, part: slice) -> tuple[slice, slice]:
    """Return which of the places lie in a chunk, and where they are in it.

    Parameters
    ----------
    places
        Along one dimension of the array.
    part
        What the chunk covers of that dimension.
    """
    first = max(0, -((places.start - part.start) // places.step))
    last = max(first, min(place_count(places), -((places.start - part.stop) // places.step)))
    begin = places.start + first * places.step - part.start
    end = begin + (last - first - 1) * places.step + 1
    return slice(first, last), slice(begin, max(end, begin), places.step)
