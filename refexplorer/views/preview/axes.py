"""Coordinates and labels of an array, and the selection that is shown first."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct

from refexplorer.core.errors import RefexplorerError
from refexplorer.io.decode.sizes import POINTER, is_small
from refexplorer.io.georeference import Direction, is_along
from refexplorer.io.reading.readings import ChunkState
from refexplorer.spec.references import Base64, Inline
from refexplorer.views.preview.regions import (
    Labels,
    Region,
    channels_of,
    chunks_touched,
    names_of,
    whole,
)
from refexplorer.views.preview.values import (
    DecodedChunks,
    Decoding,
    Physical,
    integers_of,
    physical,
    value_text,
)
from refexplorer.views.wire.requests import Real

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta
    from refexplorer.verbs.referenceset import ReferenceSet

DIRECTIONS: tuple[Direction, ...] = ("latitude", "longitude")
_COORDINATE_CHUNKS = 8  # larger coordinates are not fetched for the labels of an axis
_COORDINATE_BYTES = 2**20  # the same, in decoded bytes


class Coordinate(Struct, frozen=True):
    """The positions along one dimension."""

    name: str
    values: tuple[Real, ...] | None  # Null where they are not known without more reads
    times: bool = False  # Whether they are milliseconds since 1970
    # In place of values that float64 cannot express, such as integers above 2^53; else null
    texts: tuple[str, ...] | None = None
    # Whether they are degrees of latitude or longitude, so that coasts can be drawn
    along: Literal["latitude", "longitude"] | None = None


def sides_of(refs: ReferenceSet, array: ArrayMeta) -> Iterator[ArrayMeta | None]:
    """Yield for each dimension the small 1-d array with its name, or None."""
    folder = array.path.rpartition("/")[0]
    for name, length in zip(array.dimensions or (), array.shape, strict=False):
        path = f"{folder}/{name}".lstrip("/")
        try:
            side = refs.array(path) if name and path != array.path else None
        except KeyError:
            side = None
        yield side if side is not None and _fits(side, length) else None


def labels_of(refs: ReferenceSet, array: ArrayMeta, axis: int, chunks: DecodedChunks) -> Labels:
    """Return the coordinate of a dimension, without a request to a target."""
    name = names_of(array)[axis]
    side = next(itertools.islice(sides_of(refs, array), axis, None), None)
    if side is None:
        raise RefexplorerError(f"{name} has no coordinate, so it has no labels: write an index.")
    keys = {index: side.chunk_key(index) for index in chunks_touched(side, whole(side))}
    is_here = all(
        chunks.holds(side.path, index) or isinstance(refs.get(key), Inline | Base64 | None)
        for index, key in keys.items()
    )
    found = chunks.read(side, whole(side)) if is_here else None
    if found is None or found.values is None or found.count(ChunkState.FAILED):
        raise RefexplorerError(
            f"The coordinate {name} has not been read yet: read a part of the array first, or "
            "write an index."
        )
    meant = physical(side, found, Decoding())
    if meant.numbers is None:
        raise RefexplorerError(f"The coordinate {name} contains neither numbers nor times.")
    return Labels(meant.numbers, meant.times)


def _fits(side: ArrayMeta, length: int) -> bool:
    size = length * (side.itemsize or 8)
    return (
        side.shape == (length,)
        and side.chunk_count <= _COORDINATE_CHUNKS
        and size <= _COORDINATE_BYTES
    )


def coordinates_of(
    refs: ReferenceSet,
    array: ArrayMeta,
    places: Region,
    chunks: DecodedChunks,
    decoding: Decoding,
    sizes: Sequence[int] | None = None,
) -> Iterator[Coordinate]:
    """Yield what is known along each dimension."""
    sizes = sizes or [1] * len(places)
    sides = zip(array.dimensions or (), sides_of(refs, array), places, sizes, strict=False)
    for name, side, part, size in sides:
        if side is None:
            yield Coordinate(name, None)
        else:
            yield _along(name, side, part, size, chunks, decoding)


def coordinate_texts(
    refs: ReferenceSet, array: ArrayMeta, places: Region, chunks: DecodedChunks
) -> list[list[str]]:
    """Return the positions along each dimension, with every digit; indices if unknown."""
    found = []
    for side, part in itertools.zip_longest(sides_of(refs, array), places):
        meant = None if side is None else _read_physical(side, chunks, Decoding())
        known = None if meant is None or meant.numbers is None else meant.decoded[list(part)]
        found.append([str(at) for at in part] if known is None else [*map(value_text, known)])
    return found


def _read_physical(side: ArrayMeta, chunks: DecodedChunks, decoding: Decoding) -> Physical | None:
    """Read a coordinate; a picture works without one that cannot be read."""
    try:
        found = chunks.read(side, whole(side))
    except RefexplorerError:
        return None
    if found.values is None or found.count(ChunkState.FAILED):
        return None
    return physical(side, found, dataclasses.replace(decoding, scale=True))


def _along(
    name: str, side: ArrayMeta, part: range, size: int, chunks: DecodedChunks, decoding: Decoding
) -> Coordinate:
    meant = _read_physical(side, chunks, decoding)
    if meant is None or meant.numbers is None:
        return Coordinate(name, None)
    first, last = ends_of(part, size)
    integers = integers_of(meant.decoded[first], meant.numbers[first])
    texts = None if integers is None else tuple(map(value_text, meant.decoded[first]))
    numbers = meant.numbers
    if meant.decoded.dtype.kind == "f" and meant.decoded.itemsize < 8:
        # 0.1, not 0.10000000149011612
        numbers = meant.decoded.astype(str).astype("<f8")
    shown = numbers[first] if size == 1 else numbers[first] / 2 + numbers[last] / 2
    along = next((each for each in DIRECTIONS if is_along(each, side)), None)
    return Coordinate(name, tuple(map(float, shown)), meant.times, texts, along)


def ends_of(part: range, size: int) -> tuple[list[int], list[int]]:
    """Return the first and last position of each cell; the last cell may be smaller."""
    step = part.step // size
    first = list(part)
    return first, [min(at + (size - 1) * step, range(at, part.stop, step)[-1]) for at in first]


_SIDE = 64  # Chunks along a side of the window whose sizes are looked up


def first_look(refs: ReferenceSet, array: ArrayMeta, budget: int | None = None) -> Region:
    """Return all of a small array, or the middle of a slice of a large one, in whole chunks."""
    # The slice spans the last two dimensions with more than one value, and the first index of all
    # others except that of colours, which are read together. No values in between are omitted:
    # reading a part of each chunk fetches the whole chunk.
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
        along, chunks = array.axes[axis], numbers[first:last]
        places[axis] = range(along.part(chunks[0]).start, along.part(chunks[-1]).stop)
    return tuple(places)


def _is_within(refs: ReferenceSet, array: ArrayMeta, budget: int) -> bool:
    keys = map(array.chunk_key, itertools.product(*map(range, array.grid)))
    return sum(_cost(refs, array, key) for key in keys) <= budget


def _cost(refs: ReferenceSet, array: ArrayMeta, key: str) -> int:
    """Return the bytes fetched for a chunk; an unknown size counts as the decoded one."""
    reference = refs.get(key)
    if reference is None or isinstance(reference, Inline | Base64):
        return 0
    decoded = math.prod(array.chunks) * (array.itemsize or POINTER)  # of the largest
    return decoded if reference.size is None else reference.size


def _sizes(
    refs: ReferenceSet,
    array: ArrayMeta,
    shown: list[int],
    numbers: list[range],
    colours: int | None,
) -> np.ndarray:
    """Return the bytes of the chunks of a slice, for all colours."""
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
    """Return the largest central window within a byte limit, or one chunk."""
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
