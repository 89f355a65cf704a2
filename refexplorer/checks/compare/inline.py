"""Inline values of a set, compared with the same values in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from refexplorer.checks.compare.cf import (
    calendar_of,
    epoch_of,
    is_time,
    same_times,
    times,
    unpacked,
)
from refexplorer.checks.compare.metadata import dimension_differences, packing_differences, said
from refexplorer.checks.compare.placing import aligned
from refexplorer.checks.compare.set_array import FileLayout, SetArray
from refexplorer.checks.records import UNCOMPARED, FileDifference, Record, numbers_bytes
from refexplorer.checks.references import AuditedBlock
from refexplorer.core.errors import LimitError
from refexplorer.core.limits import Limits
from refexplorer.formats.columns.references import BASE64, INLINE
from refexplorer.formats.datafiles.data_file import DataFile, FileArray, Unread
from refexplorer.io.decode.codecs import missing_codec
from refexplorer.io.decode.sizes import region
from refexplorer.io.decode.steps import decoded, error_text
from refexplorer.spec.chunk_axes import ChunkAxis
from refexplorer.spec.references import Base64, Inline

if TYPE_CHECKING:
    from refexplorer.checks.compare.origins import Origins

INLINE_ELEMENTS = 2**21
"""Elements of one array that are kept; twice as many in all, since each part gets them."""
_REPACKED, _DOUBLE = 1e-6, 1e-12
"""How much values may differ that were packed again, and doubles that were decoded and encoded."""
_TIME_NEAR = 1e3  # Microseconds that times may differ: a double of days since 1900 has some tens


@dataclass(frozen=True)
class InlineArray:
    """Inline values of one array."""

    values: np.ndarray  # As they are stored, of the shape of the array
    known: np.ndarray  # Where there are any, shape of the grid of chunks
    is_lent: bool = False  # Whether they were read from the file that the set refers to


@dataclass
class InlineValues:
    """The inline values of a set."""

    limits: Limits
    arrays: dict[str, InlineArray] = field(default_factory=dict)  # By path
    reasons: dict[str, str] = field(default_factory=dict)  # Why others are not compared, by path
    # Why a chunk cannot be decoded, by path and number of the chunk
    broken: dict[str, dict[int, str]] = field(default_factory=dict)
    room: int = 2 * INLINE_ELEMENTS

    def take(self, block: AuditedBlock, arrays: list[SetArray]) -> None:
        """Add the inline chunks of a block; `arrays` are all arrays, in numerical order."""
        columns = block.table.columns
        is_held = (columns.kinds == INLINE) | (columns.kinds == BASE64)
        for row in np.flatnonzero(is_held & (block.arrays >= 0) & (block.chunks >= 0)).tolist():
            reference = columns.reference_at(row)
            assert isinstance(reference, Inline | Base64)
            self.put(arrays[block.arrays[row]], int(block.chunks[row]), reference)

    def put(
        self, ours: SetArray, number: int, held_by: Inline | Base64 | bytes, is_lent: bool = False
    ) -> None:
        """Store the values of one chunk."""
        meta, path = ours.meta, ours.meta.path
        if path in self.reasons:
            return
        if path not in self.arrays:
            size = int(np.prod(meta.shape, dtype=np.float64))
            if size > min(INLINE_ELEMENTS, self.room):
                self.reasons[path] = f"{size:,} values in the set are too many to compare."
                return
            self.room -= size
            kind = object if ours.dtype is None else ours.dtype
            known = np.zeros(meta.grid, np.bool_)
            self.arrays[path] = InlineArray(np.zeros(meta.shape, kind), known, is_lent)
        index = meta.index_at(number)
        data = held_by if isinstance(held_by, bytes) else held_by.data
        try:
            values = decoded(meta.chunk_array(index), data, self.limits)
        except LimitError as error:
            self._leave(path, f"{meta.chunk_key(index)} is not decoded: {error_text(error)}")
            return
        except Exception as error:  # codecs raise what they like
            if (reason := missing_codec(meta)) is not None:
                self._leave(path, reason)
                return
            self.broken.setdefault(path, {})[number] = error_text(error)
            return
        place = region(meta, index)
        held = self.arrays[path]
        held.values[place] = values[tuple(slice(0, each.stop - each.start) for each in place)]
        held.known[index] = True

    def _leave(self, path: str, reason: str) -> None:
        del self.arrays[path]
        self.reasons[path] = reason


def marked(ours: SetArray, native: FileArray) -> Any:
    """Return the marker of missing values in an array of the set."""
    # A fill value alone counts only if the file has missing values, too: writers copy the default
    # of the format, which is 0; that xarray then masks zeros is not a difference of values.
    has = native.attributes.get("_FillValue") is not None
    return ours.missing if has else ours.attribute("_FillValue")


class ComparedValues(NamedTuple):
    """Decoded values of both sides."""

    differs: np.ndarray  # Where they do
    # ours, theirs: The values
    ours: np.ndarray
    theirs: np.ndarray


def compared(
    ours: SetArray, mine: np.ndarray, native: FileArray, filed: np.ndarray, missing: Any
) -> ComparedValues:
    """Compare the values of a set with those of a file, decoded as in CF."""
    theirs = native.attributes.get
    filed_missing = native.attributes.get("_FillValue")
    if {mine.dtype.kind, filed.dtype.kind} & set("OSUT"):
        one, other = _texts(mine), _texts(filed)
        return ComparedValues(one != other, one, other)
    if {mine.dtype.kind, filed.dtype.kind} - set("biuf"):
        same = mine.dtype.kind == filed.dtype.kind
        if not same or mine.dtype.itemsize != filed.dtype.itemsize:
            raise Unread("expression", "Values of these data types cannot be compared.")
        kind = mine.dtype.newbyteorder("=")
        one, other = mine.astype(kind), filed.astype(kind)
        data, others = (np.ascontiguousarray(each).tobytes() for each in (one, other))
        found = np.frombuffer(data, np.uint8) != np.frombuffer(others, np.uint8)
        differs = found.reshape(*one.shape, kind.itemsize).any(axis=-1)  # NaN equals itself
        return ComparedValues(np.asarray((one != other) & differs), one, other)
    are_times = is_time(ours.attribute("units")) and is_time(theirs("units"))
    if are_times and not same_times(ours.attribute, theirs):
        one = times(mine, ours.attribute, missing)
        other = times(filed, theirs, filed_missing)
        return ComparedValues(_unlike(one, other, _TIME_NEAR, 0), one, other)
    one = unpacked(_numbers(mine), ours.attribute, missing)
    other = unpacked(_numbers(filed), theirs, filed_missing)
    is_packed_alike = not any(packing_differences(ours, native))
    kinds = [each.dtype for each in (mine, filed) if each.dtype.kind == "f"]
    relative = max([_DOUBLE, *(float(np.finfo(each).eps) for each in kinds)])
    # by the largest value, since tracers of 1e-13 differ by less than any fixed number
    near = _DOUBLE * float(np.abs(other[np.isfinite(other)]).max(initial=0))
    if are_times and (epoch := epoch_of(str(theirs("units")))) is not None:
        near = max(near, _TIME_NEAR / 1e6 / epoch[0])
    elif not is_packed_alike:
        relative = _REPACKED
    differs = _unlike(one, other, near, relative)
    if is_packed_alike and not kinds:  # as doubles, integers above 2**53 are equal to others
        differs |= (mine != filed) & ~(np.isnan(one) & np.isnan(other))
    return ComparedValues(differs, one, other)


def _unlike(one: np.ndarray, other: np.ndarray, near: float, relative: float) -> np.ndarray:
    differs: np.ndarray = ~np.isclose(one, other, rtol=relative, atol=near, equal_nan=True)
    return differs


def _numbers(values: np.ndarray) -> np.ndarray:
    return values.astype(np.uint8) if values.dtype.kind == "b" else values


def _texts(values: np.ndarray) -> np.ndarray:
    def text(value: object) -> str:
        decoded = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        return decoded.rstrip("\0 ")

    found = np.array([text(value) for value in values.ravel().tolist()], object)
    return found.reshape(values.shape)


class MatchedFile:
    """An open file and the arrays of a set."""

    def __init__(self, file: DataFile, arrays: Mapping[str, SetArray], held: InlineValues) -> None:
        self.arrays = arrays
        self.held = held
        self.filed = FileLayout(file)
        self.names: dict[str, str] = {}
        self.unread: dict[str, str] = {}
        self._file = file
        self._values: dict[str, np.ndarray] = {}

    def native(self, path: str) -> FileArray | None:
        """Return the array of the file that matches one of the set, by name."""
        places = self.filed.places
        names = [self.names.get(path, path)]
        for mine, theirs in self.names.items():  # a group of the file that became the root
            if theirs.endswith("/" + mine):
                names.append(theirs[: -len(mine)] + path)
        for name in names:
            if name in places:
                found = self.filed.arrays[places[name]]
                return None if found.is_dimension else found
        return None

    def whole(self, native: FileArray) -> np.ndarray | None:
        """Return all stored values of a small array of the file."""
        if prod(native.shape) > INLINE_ELEMENTS:
            return None
        if native.name not in self._values:
            stored = self.filed.arrays[self.filed.places[native.name]]
            selection = tuple(slice(0, length) for length in stored.shape)
            try:
                values = np.asarray(self._file.values(native.name, selection))
            except Unread as reason:
                self.unread[native.name] = str(reason)
                return None
            self._values[native.name] = values
        values = self._values[native.name]
        if values.shape == native.shape or values.ndim != len(native.shape):
            return values
        none = "" if values.dtype.kind in "OSU" else 0
        fill = none if native.fill_value is None else native.fill_value
        full = np.full(native.shape, fill, values.dtype)
        full[tuple(slice(0, length) for length in values.shape)] = values
        return full


def compare_inline(
    matched: MatchedFile, origins: Origins, path: str, native: FileArray, record: Record
) -> bool:
    """Compare the inline values of an array with a file."""
    ours, held = matched.arrays[path], matched.held.arrays[path]
    native = matched.filed.full[native.name]
    lie = aligned(ours, native)
    if lie is None:
        return False
    record.findings += dimension_differences(ours, native)
    origin = origins.of(ours, lie)
    filed = None if origin is None else matched.whole(native)
    if origin is None or filed is None:
        record.message = matched.unread.get(native.name)
        return bool(record.findings or record.message)
    stops = origin + np.array(lie.shape, np.int64)
    record.start, record.shape = origin.tolist(), list(lie.shape)
    if (stops > np.array(ours.meta.shape, np.int64)).any():
        record.findings.append(FileDifference("shape", said(ours.meta.shape), said(native.shape)))
        return True
    if not _has_same_calendar(ours, native, record):
        return True
    place = tuple(slice(int(a), int(b)) for a, b in zip(origin, stops, strict=True))
    mine = np.asarray(held.values[place], held.values.dtype).reshape(filed.shape)
    try:
        found = compared(ours, mine, native, filed, marked(ours, native))
    except Unread as reason:
        record.message, record.state = str(reason), UNCOMPARED
        return True
    known = _spread(held.known, ours.meta.axes, place).reshape(filed.shape)
    found = found._replace(differs=found.differs & known)
    _note_values(matched, path, native, record, (mine[known], filed[known]), found)
    return True


def _note_values(
    matched: MatchedFile,
    path: str,
    native: FileArray,
    record: Record,
    stored: tuple[np.ndarray, np.ndarray],
    found: ComparedValues,
) -> None:
    """Record which inline chunks differ, and why."""
    ours, held = matched.arrays[path], matched.held.arrays[path]
    units = ours.attribute("units"), native.attributes.get("units")
    has_other_units = is_time(units[0]) and not same_times(ours.attribute, native.attributes.get)
    is_stored_alike = np.array_equal(*stored, stored[0].dtype.kind == "f")
    if not found.differs.any():
        if has_other_units and is_stored_alike:
            record.other_units = [said(each) for each in units]
        return
    lie = aligned(ours, native)
    assert lie is not None, "the values were compared"
    places = np.argwhere(found.differs)
    where = np.repeat(np.array(record.start)[None], len(places), 0)
    where[:, list(lie.axes)] += places
    index = [axis.numbers_at(where[:, n]) for n, axis in enumerate(ours.meta.axes)]
    numbers = np.zeros(1, np.int64)
    if index:
        numbers = np.unique(np.ravel_multi_index(tuple(index), ours.meta.grid))
    record.differing = numbers_bytes(numbers)
    # of values that were encoded again packing and units may differ, and mean the same
    record.findings += packing_differences(ours, native)
    if has_other_units:
        record.findings.append(FileDifference("units", said(units[0]), said(units[1])))
    if not (is_stored_alike and record.findings):  # else the metadata are all that is wrong
        record.findings.append(_values_difference(ours, native, held, numbers, where[0], found))


def _has_same_calendar(ours: SetArray, native: FileArray, record: Record) -> bool:
    """Record differing units, and differing calendars, with which times cannot be compared."""
    theirs = native.attributes.get
    units = ours.attribute("units"), theirs("units")
    if is_time(units[0]) and is_time(units[1]):
        calendars = calendar_of(ours.attribute), calendar_of(theirs)
        if calendars[0] != calendars[1]:
            record.findings.append(FileDifference("calendar", *calendars))
            return False
    elif (units[0] or None) != (units[1] or None):
        record.findings.append(FileDifference("units", said(units[0]), said(units[1])))
    return True


def _values_difference(
    ours: SetArray,
    native: FileArray,
    held: InlineArray,
    numbers: np.ndarray,
    where: np.ndarray,
    found: ComparedValues,
) -> FileDifference:
    """Return a difference of values, with the first one."""
    units = ours.attribute("units"), native.attributes.get("units")
    at = tuple(int(each) for each in np.argwhere(found.differs)[0])
    both = found.ours[at], found.theirs[at]
    one, other = (_shown(value, units) for value in both)
    message = f"at {where.tolist()} the set has {one}, the file {other}"
    if units[0] != units[1]:
        message += f", in {said(units[0])} and in {said(units[1])}"
    cause = "same-variable" if held.is_lent else "held-values"
    return FileDifference.of_chunks(cause, ours.meta, numbers, message)


def _spread(known: np.ndarray, axes: tuple[ChunkAxis, ...], place: tuple[slice, ...]) -> np.ndarray:
    """Return for each element of a region whether its chunk is known."""
    for axis, (along, part) in enumerate(zip(axes, place, strict=True)):
        known = known.take(along.numbers_at(np.arange(part.start, part.stop)), axis=axis)
    return known


def _shown(value: object, units: tuple[Any, Any]) -> str:
    """Return a decoded value as text; a time as a date if both sides are times."""
    if isinstance(value, float | np.floating):
        if is_time(units[0]) and units[0] != units[1] and abs(float(value)) > 1e9:
            return str(np.datetime64(round(float(value) / 1e6), "s"))
        return f"{float(value):.10g}"
    return said(value)
