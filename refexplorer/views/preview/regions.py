"""Selections of an array as typed, ``0:10:2``, and the chunks that they touch."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.core.text import counted
from refexplorer.io.decode.sizes import WHOLE_CHUNKS, Index, place_count, region
from refexplorer.views.wire.requests import Count

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta

ChunkRuns = tuple[tuple[tuple[Count, Count, Count], ...], ...]
"""Along each dimension its runs of chunks of one length: the first chunk, its first element, the
length."""
_COLOURS = frozenset({"rgb", "rgba", "color", "colour", "colors", "colours"})
_SAMPLES = frozenset({"band", "bands", "channel", "channels", "sample", "samples", "s", "c"})
"""Of bytes these are colours; of reflectances, say, they may be any bands."""


def channels_of(array: ArrayMeta) -> int | None:
    """Return the dimension of length 3 or 4 that is drawn as colours, by name or as bytes."""
    names = array.dimensions or ()
    is_bytes = _is_bytes(array.dtype)
    for axis, size in enumerate(array.shape):
        others = [each for at, each in enumerate(array.shape) if at != axis and each > 1]
        if size not in (3, 4) or len(others) < 2:
            continue
        name = (names[axis] if axis < len(names) else "").lower()
        is_last = not name and axis == len(array.shape) - 1
        if name in _COLOURS or (is_bytes and (name in _SAMPLES or is_last)):
            return axis
    return None


def _is_bytes(dtype: str) -> bool:
    try:
        return np.dtype(dtype) == np.uint8
    except TypeError:
        return False


_DATE = r"\d{4}-\d{2}(?:-\d{2}(?:T\d{2})?)?"
_NUMBER = r"-?\d+\.\d*"
_DATES = re.compile(rf"\s*({_DATE})?\s*(?:(:)\s*({_DATE})?\s*)?", re.ASCII)
_NEAREST = re.compile(rf"\s*~\s*({_DATE}(?::\d{{2}}){{,2}})\s*", re.ASCII)
_NUMBERS = re.compile(rf"\s*({_NUMBER})?\s*(?:(:)\s*({_NUMBER})?\s*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Labels:
    """The coordinate of a dimension."""

    numbers: np.ndarray[Any, np.dtype[np.float64]]  # As float64, times as milliseconds since 1970
    times: bool  # Whether they are times


def is_label(text: str) -> bool:
    """Return whether a text is a date, or a number with a decimal point."""
    return _NEAREST.fullmatch(text) is not None or any(
        found is not None and bool(found[1] or found[3])
        for found in (_DATES.fullmatch(text), _NUMBERS.fullmatch(text))
    )


def places_of(text: str, name: str, labels: Labels) -> range:
    """Return the positions selected by a label; both ends of a range are included, as in `sel`."""
    if labels.times and (nearest := _NEAREST.fullmatch(text)) is not None:
        return _nearest(labels.numbers, _begin(nearest[1], times=True))
    found = (_DATES if labels.times else _NUMBERS).fullmatch(text)
    if found is None or not (found[1] or found[3]):
        what = "times" if labels.times else "numbers"
        raise RefexplorerError(f"{name}: {text!r} is not a label: its coordinate has {what}.")
    numbers = labels.numbers
    if not labels.times and not found[2]:
        return _nearest(numbers, float(found[1]))
    low = -np.inf if not found[1] else _begin(found[1], labels.times)
    high = _end(found, labels.times)
    # an end that is written as a date is all of it, one of a number the number itself
    inside = numbers >= low
    inside &= numbers < high if labels.times else numbers <= high
    if not labels.times and found[1] and found[3] and low > high:
        inside = (numbers <= low) & (numbers >= high)
    places = np.flatnonzero(inside)
    if not places.size:
        raise RefexplorerError(f"{name}: {text} selects nothing from {_span(labels)}.")
    if places[-1] - places[0] + 1 != places.size:
        raise RefexplorerError(
            f"{name}: the values that {text} selects are not next to each other, since the "
            "coordinate is not monotonic; write indices."
        )
    return range(int(places[0]), int(places[-1]) + 1)


def _nearest(numbers: np.ndarray[Any, np.dtype[np.float64]], wanted: float) -> range:
    at = int(np.nanargmin(np.abs(numbers - wanted)))
    return range(at, at + 1)


def _begin(text: str, times: bool) -> float:
    return _milliseconds(np.datetime64(text)) if times else float(text)


def _end(found: re.Match[str], times: bool) -> float:
    text = found[3] if found[2] else found[1]
    if not text:
        return np.inf
    if not times:
        return float(text)
    date = np.datetime64(text)
    # NumPy 2.5 wants the unit of what is added to a date.
    return _milliseconds((date.astype(np.int64) + 1).astype(date.dtype))


def _milliseconds(date: np.datetime64) -> float:
    return float(date.astype("datetime64[ms]").astype(np.int64))


def _span(labels: Labels) -> str:
    low, high = np.nanmin(labels.numbers), np.nanmax(labels.numbers)
    if not labels.times:
        return f"{low:g} to {high:g}"
    dates = [np.datetime64(int(each), "ms").astype("datetime64[s]") for each in (low, high)]
    return f"{dates[0]} to {dates[1]}"


Region = tuple[range, ...]  # The positions along each dimension

PICTURE_CHUNKS = 20_000  # Chunks that a picture may take whose values are reduced as they come
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
"""Finds the positions selected by a label along a dimension."""


def parse(array: ArrayMeta, texts: Sequence[str], named: PlacesNamed | None = None) -> Region:
    """Parse one text for each dimension: an index, or a slice in Python notation."""
    if len(texts) != len(array.shape):
        rank = counted(len(array.shape), "dimension")
        raise RefexplorerError(
            f"{array.path} has {rank}, not {len(texts)}; write an index or a slice for each, such "
            f"as {', '.join(':' * len(array.shape))}."
        )
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
        raise RefexplorerError(f"{name}: the step of {text} is 0; write 1 for every position.")
    if not match[2]:
        # an index from the end has nothing after it where it is the last one
        place = range(size)[start : None if start == -1 else (start or 0) + 1]
    else:
        place = range(size)[start:stop:step]
    if not size:
        raise RefexplorerError(f"{name}: its length is 0, so there are no values to read.")
    if not place:
        raise RefexplorerError(f"{name}: {text} selects nothing from 0 to {size - 1:,}.")
    return place


def slices(array: ArrayMeta, places: Region) -> tuple[str, ...]:
    """Format a region in the notation of `parse`."""
    return tuple(map(_text, places, array.shape))


def _text(places: range, size: int) -> str:
    if place_count(places) == 1 and size != 1:
        return str(places.start)
    start = str(places.start or "")
    stop = "" if places.stop >= size else str(places.stop)
    return f"{start}:{stop}" + (f":{places.step}" if places.step > 1 else "")


def names_of(array: ArrayMeta) -> tuple[str, ...]:
    """Return the dimension names; numbers stand in for unknown ones."""
    known = array.dimensions or ()
    return tuple(
        (known[axis] if axis < len(known) else "") or f"dim_{axis}"
        for axis in range(len(array.shape))
    )


def chunk_runs(array: ArrayMeta, axes: Sequence[int] | None = None) -> ChunkRuns | None:
    """Return the runs of chunks along some dimensions; None if all chunks are equal."""
    if array.varying is None:
        return None
    along = array.varying if axes is None else [array.varying[axis] for axis in axes]
    return tuple(tuple(zip(a.firsts, a.begins, a.lengths, strict=True)) for a in along)


def chunks_touched(array: ArrayMeta, places: Region, most: int = WHOLE_CHUNKS) -> Iterator[Index]:
    """Yield the index of each chunk touched by a region, in C order."""
    found = [axis.touched(each) for axis, each in zip(array.axes, places, strict=True)]
    count = math.prod(number for number, _ in found)
    if count > most:
        raise LimitError(
            f"This part covers {count:,} chunks, more than the {most:,} that are "
            "read for one picture: choose a smaller part."
        )
    return itertools.product(*(numbers for _, numbers in found))
