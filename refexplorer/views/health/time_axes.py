"""The times of arrays from their time coordinates, as far as known without a request."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct

from refexplorer.checks.axes import AxisValues
from refexplorer.checks.compare.cf import is_time
from refexplorer.checks.compare.set_array import SetArray
from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import counted
from refexplorer.io.decode.sizes import region
from refexplorer.io.decode.steps import decoded, error_text
from refexplorer.io.reading.readings import ChunkState
from refexplorer.refset.opened_set import internals
from refexplorer.spec.references import Base64, Inline, folders_above
from refexplorer.views.preview.values import cache_of

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta
    from refexplorer.verbs.referenceset import ReferenceSet

VALUES = 2**20
CHUNKS = 1_000  # A coordinate of more values or chunks is not decoded here


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The time coordinate of an array."""

    path: str  # Of the coordinate
    # The dimension of the array that it is along; None if it is one time for all values
    axis: int | None
    # Microseconds since 1970, shape ``(n,)`` float64; NaN where a value or its chunk is missing
    times: np.ndarray


class TimeRange(Struct, frozen=True):
    """The time range of an array."""

    # first, last: ISO dates; null where it is not known
    first: str | None
    last: str | None
    # What they are from: a time coordinate, or the dates in the names of targets
    source: Literal["coordinate", "names"] | None
    said: str  # One sentence: where they are from, or why they are not known


class UnknownTimesError(RefexplorerError):
    """The times of an array are unknown; the message says why."""


class TimeAxes:
    """The time coordinates of the arrays of a set."""

    def __init__(self, refs: ReferenceSet) -> None:
        self._refs = refs
        self._cache = cache_of(refs)
        self._known: dict[str, np.ndarray | str] = {}

    def of(self, array: ArrayMeta) -> TimeAxis | None:
        """Return the time coordinate of an array; None if it has none."""
        found = next(self._candidates(array), None)
        if found is None:
            return None
        coordinate, axis = found
        return TimeAxis(coordinate.path, axis, self._times(coordinate))

    def _candidates(self, array: ArrayMeta) -> Iterator[tuple[ArrayMeta, int | None]]:
        """Yield time coordinates: of dimensions first, then those named in attributes."""
        if _is_time(array) and len(array.shape) < 2:
            yield array, 0 if array.shape else None
            return
        dimensions = array.dimensions or ()
        for axis, (name, length) in enumerate(zip(dimensions, array.shape, strict=False)):
            side = self._near(array.path, name)
            if side is not None and side.shape == (length,):
                yield side, axis
        for name in str(array.attributes.get("coordinates") or "").split():
            side = self._near(array.path, name)
            if side is not None and not side.shape:
                yield side, None
            elif side is not None and side.dimensions and side.dimensions[0] in dimensions:
                axis = dimensions.index(side.dimensions[0])
                if side.shape == (array.shape[axis],):
                    yield side, axis

    def _near(self, path: str, name: str | None) -> ArrayMeta | None:
        """Return the time coordinate of a name in the group of an array, or the nearest above."""
        for folder in folders_above(path) if name else ():
            try:
                found = self._refs.array(f"{folder}/{name}".lstrip("/"))
            except KeyError:
                continue
            return found if _is_time(found) else None
        return None

    def _times(self, coordinate: ArrayMeta) -> np.ndarray:
        path = coordinate.path
        if path not in self._known:
            stored, is_there = self._stored(coordinate)
            try:
                self._known[path] = _decoded(coordinate, stored, is_there)
            except UnknownTimesError as error:
                self._known[path] = str(error)
        if isinstance(found := self._known[path], str):
            raise UnknownTimesError(found)
        return found

    def _stored(self, coordinate: ArrayMeta) -> tuple[np.ndarray, np.ndarray]:
        """Return the stored values, and which of them exist."""
        path = coordinate.path
        size, chunks = math.prod(coordinate.shape), coordinate.chunk_count
        if size > VALUES or chunks > CHUNKS:
            raise UnknownTimesError(
                f"The coordinate `{path}` has {size:,} values in {chunks:,} chunks, too many to "
                "decode for this table."
            )
        dtype = SetArray(coordinate).dtype
        if dtype is None:
            raise UnknownTimesError(f"The coordinate `{path}` is not numeric.")
        stored, is_there = np.zeros(coordinate.shape, dtype), np.zeros(coordinate.shape, np.bool_)
        for index in np.ndindex(*coordinate.grid):
            values = self._chunk(coordinate, index)
            if values is not None:
                place = region(coordinate, index)
                stored[place] = values[tuple(slice(each.stop - each.start) for each in place)]
                is_there[place] = True
        return stored, is_there

    def _chunk(self, coordinate: ArrayMeta, index: tuple[int, ...]) -> np.ndarray | None:
        """Return the values of a chunk; None without a reference."""
        path = coordinate.path
        reference = self._refs.get(coordinate.chunk_key(index))
        if reference is None:
            return None
        if (kept := self._cache.get(path, index)) is not None and kept.values is not None:
            return np.asarray(kept.values) if kept.state is ChunkState.FETCHED else None
        if not isinstance(reference, Inline | Base64):
            raise UnknownTimesError(
                f"The coordinate `{path}` is in files and has not been read yet; drawing it reads "
                "it."
            )
        try:
            return decoded(coordinate.chunk_array(index), reference.data, self._refs.limits)
        except Exception as error:  # codecs raise what they like
            raise UnknownTimesError(
                f"The coordinate `{path}` cannot be decoded: {error_text(error)}"
            ) from error


def _is_time(array: ArrayMeta) -> bool:
    """Return whether values are times: by their units, or as numpy dates."""
    return is_time(array.attributes.get("units")) or array.dtype[1:].startswith("M8[")


def _decoded(coordinate: ArrayMeta, stored: np.ndarray, is_there: np.ndarray) -> np.ndarray:
    values = AxisValues(SetArray(coordinate), np.atleast_1d(stored), np.atleast_1d(is_there))
    if not len(values.kept):
        raise UnknownTimesError(f"The coordinate `{coordinate.path}` has no values.")
    if (found := values.stamps()) is None:
        units, calendar = (coordinate.attributes.get(name) for name in ("units", "calendar"))
        raise UnknownTimesError(
            f"Times in {units!r}, calendar {calendar or 'standard'!r}, cannot be shown as dates."
        )
    return found


FoundRange = tuple[int | None, TimeRange]
"""The first time in microseconds since 1970, if known, and the range as shown."""


class TimeRanges:
    """The times of the arrays of a set."""

    def __init__(self, refs: ReferenceSet) -> None:
        self._internals = internals(refs)
        self._axes = TimeAxes(refs)

    def of(self, array: ArrayMeta) -> FoundRange:
        """Return the time range of an array."""
        why = "It has no time coordinate"
        try:
            if (axis := self._axes.of(array)) is not None:
                said = f"By the time coordinate `{axis.path}`."
                return _range_of(np.nanmin(axis.times), np.nanmax(axis.times), "coordinate", said)
        except UnknownTimesError as error:
            why = str(error).rstrip(".")
        if "target_index" not in vars(self._internals):
            return _unknown(f"{why}; the names of its files have not been checked yet.")
        index = self._internals.target_index
        span = index.date_spans.get(array.path)
        if span is None or not span.dated or (span.targets == 1 and why.startswith("It has no")):
            # a file has the date of its name, an array in it without times need not
            return _unknown(f"{why}, and the names of its files contain no dates.")
        named = f"{span.dated:,} of {counted(span.targets, 'file')}"
        if span.dated == span.targets:
            named = counted(span.targets, "file")
        left = "; generated keys that were not evaluated may have others" if index.unlisted else ""
        said = f"By the dates in the names of {named}{left}. {why}."
        first, last = (each.astype("datetime64[us]").astype(np.int64) for each in span[:2])
        return _range_of(float(first), float(last), "names", said)


def _range_of(first: float, last: float, source: str, said: str) -> FoundRange:
    return int(first), TimeRange(_date(first), _date(last), source, said)  # type: ignore[arg-type]


def _unknown(said: str) -> FoundRange:
    return None, TimeRange(None, None, None, said)


def _date(microseconds: float) -> str:
    """Return a time to the second, without zero seconds or time of day."""
    stamp = str(np.datetime64(round(microseconds / 1e6), "s"))
    return stamp.removesuffix(":00").removesuffix("T00:00").replace("T", " ")
