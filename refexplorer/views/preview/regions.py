"""Parts of an array as people write them, ``0:10:2``, and the chunks that they touch."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from refexplorer.errors import LimitError, RefexplorerError
from refexplorer.io.decode.chunk_shapes import (
    WHOLE_CHUNKS,
    Index,
    chunks_along,
    place_count,
    region,
)
from refexplorer.views.preview.labels import is_label

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta

Region = tuple[range, ...]
"""The places along each dimension."""

PICTURE_CHUNKS = 20_000
"""Chunks that a picture may take whose values are reduced as they come."""
_SLICE = re.compile(r"\s*(-?\d+)?\s*(?:(:)\s*(-?\d+)?\s*(?::\s*(\d+)?\s*)?)?", re.ASCII)


def whole(array: ArrayMeta) -> Region:
    """Return all of an array."""
    return tuple(map(range, array.shape))


def of_chunk(array: ArrayMeta, index: Index) -> Region:
    """Return the region of a chunk."""
    if not array.contains(index):
        raise RefexplorerError(
            f"{array.path or 'The root array'} has no chunk {list(index)}; "
            f"its grid is {list(array.grid)}."
        )
    return tuple(range(part.start, part.stop) for part in region(array, index))


PlacesNamed = Callable[[int, str], range]
"""Finds the places that a label names along a dimension."""


def parse(array: ArrayMeta, texts: Sequence[str], named: PlacesNamed | None = None) -> Region:
    """Read one text for each dimension: an index, or a slice as Python writes it."""
    if len(texts) != len(array.shape):
        raise RefexplorerError(f"{array.path} has {len(array.shape)} dimensions, not {len(texts)}.")
    names = names_of(array)
    return tuple(
        named(axis, text)
        if named is not None and is_label(text)
        else _places(text, array.shape[axis], names[axis])
        for axis, text in enumerate(texts)
    )


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
    if not size:
        raise RefexplorerError(f"{name}: its length is 0, so there are no values to read.")
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


def chunks_touched(array: ArrayMeta, places: Region, most: int = WHOLE_CHUNKS) -> Iterator[Index]:
    """Yield the index of each chunk that a region has values of, C order."""
    found = [chunks_along(each, chunk) for each, chunk in zip(places, array.chunks, strict=True)]
    count = math.prod(number for number, _ in found)
    if count > most:
        raise LimitError(
            f"This part has values of {count:,} chunks, more than the {most:,} that are "
            "read for one picture: choose a smaller part."
        )
    return itertools.product(*(numbers for _, numbers in found))
