"""GRIB files, editions 1 and 2, read with eccodes: each message is an array.

A message has no name of its own: arrays are called by their number, ``"0"``, ``"1"``, …. What
eccodes computes of it besides its values, which sets refer to by the same bytes, is below it:
``"0/latitude"``, ``"0/longitude"``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO, Any

import eccodes
import numpy as np

from refexplorer.formats.datafiles.data_file import (
    FileArray,
    FileChunks,
    FileFilter,
    FileObject,
    Unread,
    Why,
    gaps,
)
from refexplorer.markup import escape

MESSAGES = 100_000
_MAGIC = b"GRIB"
_GAP = 2**16
"""Bytes between two messages in which the next one is looked for at a time."""
_KEYS: dict[str, type] = {
    "shortName": str, "cfVarName": str, "units": str, "typeOfLevel": str, "gridType": str,
    "level": float, "number": int, "dataType": str, "stepType": str,
}  # fmt: skip

_WHY: Mapping[tuple[type[Exception], ...], Why] = {
    (
        eccodes.FunctionNotImplementedError,
        eccodes.FunctionalityNotEnabledError,
        eccodes.NoDefinitionsError,
        eccodes.CodeNotFoundInTableError,
    ): "library",
    (eccodes.UnsupportedEditionError,): "format",
    (eccodes.MemoryAllocationError, eccodes.MessageTooLargeError): "cost",
}
"""Why eccodes does not read a message; otherwise it is damaged."""


class GribFile:
    """A GRIB file.

    Parameters
    ----------
    file
        Its bytes; it has to be seekable. Messages are read whole, as eccodes wants them.

    Raises
    ------
    Unread
        If it has no message, or too many, or the last one is not whole.
    """

    form = "GRIB"
    declared = None

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._arrays: dict[str, FileArray] = {}
        self._places = list(_messages(file))
        if not self._places:
            raise Unread("damaged", "The file has no message of GRIB.")

    def names(self) -> tuple[str, ...]:
        """Return the numbers of all messages."""
        return tuple(map(str, range(len(self._places))))

    def other_names(self) -> Mapping[str, str]:
        """Return no other names."""
        return {}

    def objects(self) -> Iterator[FileObject]:
        """Yield all messages, and the bytes that belong to none."""
        for number, (_, length) in enumerate(self._places):
            shape, barrier = None, None
            try:
                shape = self.array(str(number)).shape
            except Unread as error:
                barrier = error
            yield FileObject(str(number), "array", shape, length, barrier)
        size = self._file.seek(0, 2)
        yield from gaps(((start, start + length) for start, length in self._places), size)

    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the root, without attributes."""
        return {"": {}}

    def array(self, name: str) -> FileArray:
        """Return the metadata of a message.

        Raises
        ------
        KeyError
            If there is none of this number.
        Unread
            If eccodes cannot read it.
        """
        if name in self._arrays:
            return self._arrays[name]
        with self._message(name) as message:
            shape = _shape(message)
            found = {key: _get(message, key, kind) for key, kind in _KEYS.items()}
            attributes = {key: value for key, value in found.items() if value is not None}
            attributes |= _times(message)
            kind = eccodes.codes_get_native_type(message, "values")
            dtype = np.dtype("f8" if kind is float else "i8")
            filters = (FileFilter("grib"),)
            array = FileArray(name, shape, shape, dtype, filters, None, None, attributes)
        self._arrays[name] = array
        return array

    def chunks(self, name: str) -> FileChunks:
        """Return where a message is; errors as of `array`."""
        offset, length = self._place(name)
        rank = len(self.array(name).shape)
        return FileChunks(
            np.zeros((1, rank), np.int64), np.array([offset]), np.array([length]), None
        )

    def values(self, name: str, selection: tuple[slice, ...]) -> np.ndarray:
        """Read values, NaN where they are missing, or the coordinates of the grid."""
        number, _, coordinate = name.partition("/")
        with self._message(number) as message:
            values: np.ndarray
            if coordinate:
                values = eccodes.codes_get_array(message, f"{coordinate}s")
            else:
                values = eccodes.codes_get_array(message, "values").astype(np.float64)
                if _get(message, "bitmapPresent", int):
                    values[values == eccodes.codes_get(message, "missingValue", float)] = np.nan
            return values.reshape(_shape(message))[selection]

    def close(self) -> None:
        """Do nothing: the file is closed by who opened it."""

    def _place(self, name: str) -> tuple[int, int]:
        if not name.isdecimal() or int(name) >= len(self._places):
            raise KeyError(name)
        return self._places[int(name)]

    @contextmanager
    def _message(self, name: str) -> Iterator[Any]:
        offset, length = self._place(name)
        self._file.seek(offset)
        try:
            message = eccodes.codes_new_from_message(self._file.read(length))
        except eccodes.CodesInternalError as error:
            raise _unread(name, error) from error
        try:
            yield message
        except eccodes.CodesInternalError as error:
            raise _unread(name, error) from error
        finally:
            eccodes.codes_release(message)


def _unread(name: str, error: eccodes.CodesInternalError) -> Unread:
    why: Why = next((why for kinds, why in _WHY.items() if isinstance(error, kinds)), "damaged")
    words = escape(str(error).rstrip("."), 300)
    return Unread(why, f"eccodes cannot read message {name}: {words}.")


def _messages(file: IO[bytes]) -> Iterator[tuple[int, int]]:
    """Yield offset and length of each message, by its first bytes."""
    end = file.seek(0, 2)
    at = count = 0
    while (start := _next(file, at, end)) is not None:
        file.seek(start)
        head = file.read(16)
        if len(head) < 16 or head[7] not in (1, 2):
            at = start + 4
            continue
        length = int.from_bytes(head[8:16] if head[7] == 2 else head[4:7], "big")
        if head[7] == 1 and length & 0x800000:
            raise Unread("format", "Messages of GRIB 1 of more than 8 MB are not compared.")
        if length < 16 or start + length > end:
            raise Unread("damaged", f"The message at byte {start:,} is not whole.")
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


def _shape(message: Any) -> tuple[int, ...]:
    """Return rows and columns; of grids without them all points in one row."""
    size = eccodes.codes_get_size(message, "values")
    rows, columns = _get(message, "Ny", int), _get(message, "Nx", int)
    if rows and columns and rows * columns == size:
        return rows, columns
    return (size,)


def _times(message: Any) -> dict[str, float]:
    """Return when the message was made, and what for: seconds since 1970, and hours between."""
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
    """Return what eccodes says of a key; None without one."""
    try:
        if eccodes.codes_is_missing(message, key):
            return None
        return eccodes.codes_get(message, key, kind)
    except eccodes.CodesInternalError:
        return None
