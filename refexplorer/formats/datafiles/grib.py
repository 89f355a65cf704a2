"""GRIB files, editions 1 and 2, read with eccodes: each message is an array.

A message has no name: arrays are named by number, ``"0"``, ``"1"``, …. What eccodes computes from
it besides its values, and sets reference with the same byte range, is below it:
``"0/latitude"``, ``"0/longitude"``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, Any

import eccodes
import numpy as np

from refexplorer.core.text import escape
from refexplorer.formats.datafiles.data_file import (
    DataFile,
    FileArray,
    FileChunks,
    FileFilter,
    FileObject,
    Unread,
    UnreadReason,
    gaps,
    one_block,
)

MESSAGES = 100_000  # so that a file of very many tiny messages ends
_MAGIC = b"GRIB"
_GAP = 2**16  # Bytes that are searched at a time for the next message
_ALTERNATING = "alternativeRowScanning"  # Each second row runs backwards, if it is not 0
_KEYS: dict[str, type] = {
    "shortName": str, "cfVarName": str, "units": str, "typeOfLevel": str, "gridType": str,
    "level": float, "number": int, "dataType": str, "stepType": str, "jPointsAreConsecutive": int,
    "md5GridSection": str, "stepRange": str, "bottomLevel": float, "derivedForecast": int,
    "percentileValue": int, "lowerLimit": float, "upperLimit": float, _ALTERNATING: int,
}  # fmt: skip
_FIELD_KEYS: dict[str, type] = _KEYS | {
    "name": str, "cfName": str, "paramId": int,
    "Nx": int, "Ny": int,
    "missingValue": float,
}  # fmt: skip
_SHOWN = (
    "paramId", "shortName", "name", "units", "typeOfLevel", "gridType", "dataType", "stepType",
    "cfName", "cfVarName", "Nx", "Ny", "jPointsAreConsecutive", "missingValue",
)  # fmt: skip
_UNKNOWN = (None, "unknown", "~")
_NOT_FIRST = Unread(
    "expression",
    "It is not the first field of its message; the codec for GRIB decodes only that one.",
)
_REGULAR = frozenset({"regular_ll", "regular_gg"})
_LEVEL_UNITS = {"isobaricInhPa": "hPa", "isobaricInPa": "Pa", "heightAboveGround": "m"}
# numbers of sections, and the bitmap "as defined before" (GRIB 2)
_BITMAP, _DATA, _BITMAP_BEFORE = 6, 7, 254
_HEAD, _END = 16, b"7777"
_WHY: Mapping[tuple[type[Exception], ...], UnreadReason] = {
    (
        eccodes.FunctionNotImplementedError,
        eccodes.FunctionalityNotEnabledError,
        eccodes.NoDefinitionsError,
        eccodes.CodeNotFoundInTableError,
    ): "library",
    (eccodes.UnsupportedEditionError,): "format",
    (eccodes.MemoryAllocationError, eccodes.MessageTooLargeError): "cost",
}
"""Why eccodes does not read a message; for other errors, the message is damaged."""


@dataclass(frozen=True)
class GribField:
    """One field of a message."""

    # The number of its message, and of a message with several fields ``.1``, ``.2``, … for those
    # after the first
    label: str
    part: int  # Its place among the fields of the message, from 0
    # offset, length: Of the message
    offset: int
    length: int
    # name, level_name, level_units, step_type, data_type: As in cfgrib
    name: str
    level_name: str
    level_units: str | None
    step_type: str
    data_type: str
    grid: str  # The same text for equal grids
    # The coordinates ``number``, ``time`` in seconds since 1970, ``step`` in hours, and ``level``;
    # None for those that are missing
    at: Mapping[str, Any]
    # shape, dimensions: Of its values, in storage order
    shape: tuple[int, ...]
    dimensions: tuple[str, ...]
    is_regular: bool  # Whether each row has one latitude, and each column one longitude
    is_alternating: bool  # Whether each second row runs backwards
    attributes: Mapping[str, Any]  # As cfgrib gives them


class GribFile(DataFile):
    """A GRIB file."""

    form = "GRIB"

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._arrays: dict[str, FileArray] = {}
        self._places = list(_messages(file))
        if not self._places:
            raise Unread("damaged", "The file has no GRIB message.")

    def names(self) -> tuple[str, ...]:
        return tuple(map(str, range(len(self._places))))

    def objects(self) -> Iterator[FileObject]:
        for label in self.field_names():
            shape, barrier, title = None, None, ""
            try:
                array = self.array(label)
                shape, title = array.shape, variable_name(array)
                if "." in label:
                    barrier = _NOT_FIRST
            except Unread as error:
                barrier = error
            yield FileObject(label, "array", shape, self._place(label)[1], barrier, title)
        size = self._file.seek(0, 2)
        yield from gaps(((start, start + length) for start, length in self._places), size)

    def field_names(self) -> Iterator[str]:
        """Yield the labels of all fields of all messages."""
        for number in range(len(self._places)):
            for part in range(self._count(number)):
                yield f"{number}.{part}" if part else str(number)

    def field(self, label: str) -> GribField:
        """Describe a field; errors as for `array`."""
        offset, length = self._place(label)
        with self._message(label) as message:
            found = {key: _get(message, key, kind) for key, kind in _FIELD_KEYS.items()}
            shape = _shape(message)
            times = _times(message)
        if "time" not in times:
            raise Unread("damaged", f"Message {label} has no time.")
        name = _first_known(found, ("cfVarName", "shortName"), f"param{found['paramId']}")
        at = {"number": found["number"], "level": found["level"], **times}
        level_name, part = found["typeOfLevel"] or "level", int(label.partition(".")[2] or 0)
        step, data, grid = (str(found[key]) for key in ("stepType", "dataType", "md5GridSection"))
        units, dimensions = _LEVEL_UNITS.get(level_name), _dimensions(found, shape)
        is_regular = len(shape) == 2 and found["gridType"] in _REGULAR
        is_alternating = bool(found[_ALTERNATING])
        return GribField(
            label, part, offset, length, name, level_name, units, step, data, grid, at, shape,
            dimensions, is_regular, is_alternating, _attributes(found),
        )  # fmt: skip

    def _count(self, number: int) -> int:
        """Return the number of fields of a message: its data sections."""
        offset, length = self._places[number]
        return max(sum(kind == _DATA for kind, _, _ in _sections(self._file, offset, length)), 1)

    def array(self, name: str) -> FileArray:
        if name in self._arrays:
            return self._arrays[name]
        with self._message(name) as message:
            shape = _shape(message)
            found = {key: _get(message, key, kind) for key, kind in _KEYS.items()}
            dimensions = _dimensions(found, shape)
            del found["jPointsAreConsecutive"]
            attributes = {key: value for key, value in found.items() if value is not None}
            attributes |= _times(message)
            kind = eccodes.codes_get_native_type(message, "values")
            dtype = np.dtype("f8" if kind is float else "i8")
            filters = (FileFilter("grib"),)
            array = FileArray(name, shape, shape, dtype, filters, None, dimensions, attributes)
        self._arrays[name] = array
        return array

    def chunks(self, name: str) -> FileChunks:
        offset, length = self._place(name)
        return one_block(len(self.array(name).shape), offset, length)

    def values(self, name: str, selection: tuple[slice, ...]) -> np.ndarray:
        number, _, coordinate = name.partition("/")
        with self._message(number) as message:
            values: np.ndarray
            if coordinate:
                values = eccodes.codes_get_array(message, f"{coordinate}s")
            else:
                values = eccodes.codes_get_array(message, "values").astype(np.float64)
                if _get(message, "bitmapPresent", int):
                    values[values == eccodes.codes_get(message, "missingValue", float)] = np.nan
            values = values.reshape(_shape(message))
            if _get(message, _ALTERNATING, int) and values.ndim == 2 and not coordinate:
                values[1::2] = values[1::2, ::-1].copy()  # as cfgrib does
            return values[selection]

    def _place(self, name: str) -> tuple[int, int]:
        number = name.partition(".")[0]
        if not number.isdecimal() or int(number) >= len(self._places):
            raise KeyError(name)
        return self._places[int(number)]

    @contextmanager
    def _message(self, name: str) -> Iterator[Any]:
        offset, length = self._place(name)
        try:
            message = eccodes.codes_new_from_message(self._bytes_of(name, offset, length))
        except eccodes.CodesInternalError as error:
            raise _unread(name, error) from error
        try:
            yield message
        except eccodes.CodesInternalError as error:
            raise _unread(name, error) from error
        finally:
            eccodes.codes_release(message)

    def _bytes_of(self, name: str, offset: int, length: int) -> bytes:
        """Return the bytes of a message; of one with several fields, only the given field."""
        part = int(name.partition(".")[2] or 0)
        self._file.seek(offset)
        whole = self._file.read(length)
        if not part:
            return whole
        used, count = dict[int, bytes](), 0
        for kind, start, size in _sections(self._file, offset, length):
            section = whole[start - offset : start - offset + size]
            if kind == _BITMAP and section[5] == _BITMAP_BEFORE and _BITMAP in used:
                continue
            used[kind] = section
            count += kind == _DATA
            if count > part:
                body = b"".join(section for _, section in sorted(used.items()))
                size = _HEAD + len(body) + len(_END)
                return whole[:8] + size.to_bytes(8, "big") + body + _END
        raise KeyError(name)


def _sections(file: IO[bytes], offset: int, length: int) -> Iterator[tuple[int, int, int]]:
    """Yield number, offset and length of the sections of a GRIB 2 message."""
    at, end = offset + _HEAD, offset + length - len(_END)
    file.seek(offset)
    if file.read(8)[7:] != b"\2":
        return
    while at + 5 <= end:
        file.seek(at)
        head = file.read(5)
        size = int.from_bytes(head[:4], "big")
        if size < 5 or at + size > end:
            raise Unread(
                "damaged", f"The message at byte {offset:,} has a section of {size:,} bytes."
            )
        yield head[4], at, size
        at += size


def _attributes(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a field, named as in cfgrib."""
    attributes = {f"GRIB_{key}": found[key] for key in _SHOWN if found[key] is not None}
    named = {"long_name": found["name"], "units": found["units"], "standard_name": found["cfName"]}
    known = {key: value for key, value in named.items() if value not in _UNKNOWN}
    return attributes | known


def _unread(name: str, error: eccodes.CodesInternalError) -> Unread:
    why: UnreadReason = next(
        (why for kinds, why in _WHY.items() if isinstance(error, kinds)), "damaged"
    )
    words = escape(str(error).rstrip("."), 300)
    return Unread(why, f"eccodes cannot read message {name}: {words}.")


def _messages(file: IO[bytes]) -> Iterator[tuple[int, int]]:
    """Yield offset and length of each message, found by its magic bytes."""
    end = file.seek(0, 2)
    at = count = 0
    while (start := _next(file, at, end)) is not None:
        file.seek(start)
        head = file.read(16)
        if len(head) < _HEAD:
            raise Unread(
                "damaged",
                f"The message at byte {start:,} is incomplete: the file ends in its header.",
            )
        if head[7] not in (1, 2):
            at = start + 4
            continue
        length = int.from_bytes(head[8:16] if head[7] == 2 else head[4:7], "big")
        if head[7] == 1 and length & 0x800000:
            raise Unread("format", "GRIB 1 messages of more than 8 MB are not compared.")
        if length < 16 or start + length > end:
            raise Unread(
                "damaged",
                f"The message at byte {start:,} is incomplete: it gives its length as {length:,} "
                "bytes.",
            )
        file.seek(start + length - len(_END))
        if file.read(len(_END)) != _END:
            raise Unread(
                "damaged", f"The message at byte {start:,} does not end at its declared length."
            )
        yield start, length
        count += 1
        if count > MESSAGES:
            raise Unread("cost", f"The file has more than {MESSAGES:,} messages.")
        at = start + length


def _next(file: IO[bytes], at: int, end: int) -> int | None:
    while at < end:
        file.seek(at)
        block = file.read(min(_GAP, end - at))
        if (found := block.find(_MAGIC)) >= 0:
            return at + found
        if len(block) < len(_MAGIC):
            return None
        at += max(len(block) - len(_MAGIC) + 1, 1)
    return None


def variable_name(message: FileArray) -> str:
    return _first_known(message.attributes, ("cfVarName", "shortName"), message.name)


def _first_known(found: Mapping[str, Any], keys: tuple[str, ...], other: str) -> str:
    names = (found.get(key) for key in keys)
    return str(next((name for name in names if name not in _UNKNOWN), other))


def _dimensions(found: Mapping[str, Any], shape: tuple[int, ...]) -> tuple[str, ...]:
    """Return the dimension names, in the storage order of the values."""
    if len(shape) != 2:
        return ("values",)
    is_regular = found["gridType"] in _REGULAR
    names = ("latitude", "longitude") if is_regular else ("y", "x")
    return names[::-1] if found["jPointsAreConsecutive"] else names


def _shape(message: Any) -> tuple[int, ...]:
    """Return rows and columns; for grids without them, all points in one row."""
    size = eccodes.codes_get_size(message, "values")
    rows, columns = _get(message, "Ny", int), _get(message, "Nx", int)
    if rows and columns and rows * columns == size:
        return (columns, rows) if _get(message, "jPointsAreConsecutive", int) else (rows, columns)
    return (size,)


def _times(message: Any) -> dict[str, float]:
    """Return reference and valid time in seconds since 1970, and the hours between them."""
    found = {}
    for name, date, clock in (
        ("time", "dataDate", "dataTime"),
        ("valid_time", "validityDate", "validityTime"),
    ):
        day, hours = _get(message, date, int), _get(message, clock, int)
        if day is None or hours is None:
            return {}
        try:
            at = datetime(day // 10000, day // 100 % 100, day % 100, tzinfo=UTC)
        except ValueError:
            return {}
        found[name] = at.timestamp() + hours // 100 * 3600 + hours % 100 * 60.0
    return found | {"step": (found["valid_time"] - found["time"]) / 3600}


def _get(message: Any, key: str, kind: type) -> Any:
    """Return eccodes' value for a key; None if there is none."""
    try:
        if eccodes.codes_is_missing(message, key):
            return None
        return eccodes.codes_get(message, key, kind)
    except eccodes.CodesInternalError:
        return None
