"""NetCDF3 files: classic, 64-bit offset and 64-bit data (CDF-5).

Source: the specification of the classic format in the NetCDF User's Guide. A header is small and
has no loops, so it is read here: scipy's reader also reads the data of all variables on opening a
file, and does not support CDF-5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.core.text import escape, size_text
from refexplorer.formats.datafiles.data_file import (
    FileArray,
    FileChunks,
    FileObject,
    SizedDataFile,
    Unread,
    as_unread,
)

if TYPE_CHECKING:
    from refexplorer.formats.datafiles.streams import SeekableBytes

HEADER_BYTES = 2**24  # Real headers are smaller
_TYPES = {
    1: "i1", 2: "S1", 3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8",
    7: "u1", 8: ">u2", 9: ">u4", 10: ">i8", 11: ">u8",
}  # fmt: skip
# tags of the lists in a header (the classic format)
_DIMENSIONS, _VARIABLES, _ATTRIBUTES = 10, 11, 12
_STREAMING = {4: 2**32 - 1, 8: 2**64 - 1}  # Number of records in a file that was not closed


@dataclass(slots=True)
class _Variable:
    """A variable as described in the header; `size` is that of a record if it has records."""

    array: FileArray
    has_records: bool
    begin: int
    size: int


class NetCdf3File(SizedDataFile):
    """A NetCDF3 file."""

    form = "NetCDF3"

    def __init__(self, file: SeekableBytes) -> None:
        self._file, self.size = file, file.size
        errors = ValueError, LookupError, OverflowError
        with as_unread("The NetCDF3 header cannot be read", errors):
            self._read(_Header(file))

    def _read(self, header: _Header) -> None:
        records = header.number()
        dimensions = [(header.text(), header.number()) for _ in header.listed(_DIMENSIONS)]
        self._attributes = _attributes(header)
        variables = header.listed(_VARIABLES)
        self.declared = len(variables)
        found = [_variable(header, dimensions) for _ in variables]
        with_records = [each for each in found if each.has_records]
        fill = 1 if len(with_records) == 1 else 4  # a single record variable is not padded to words
        self._record_size = sum(-(-each.size // fill) * fill for each in with_records)
        if records == _STREAMING[header.width]:
            first = min((each.begin for each in with_records), default=0)
            records = (self._file.size - first) // max(self._record_size, 1)
        for each in with_records:
            each.array = replace(each.array, shape=(records, *each.array.shape[1:]))
        self._variables = {each.array.name: each for each in found}

    def names(self) -> tuple[str, ...]:
        return tuple(self._variables)

    def objects(self) -> Iterator[FileObject]:
        for name, variable in self._variables.items():
            try:
                stored, barrier = int(self.chunks(name).lengths.sum()), None
            except Unread as error:
                stored, barrier = 0, error
            yield FileObject(name, "array", variable.array.shape, stored, barrier)

    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        return {"": self._attributes}

    def array(self, name: str) -> FileArray:
        return self._variables[name].array

    def chunks(self, name: str) -> FileChunks:
        variable = self._variables[name]
        shape = variable.array.shape
        count = shape[0] if variable.has_records else 1
        if not math.prod(shape):
            count = 0
        end = variable.begin + (count - 1) * self._record_size + variable.size
        if count and end > self._file.size:
            raise Unread(
                "damaged",
                f"The file of {size_text(self._file.size)} ends before the last values of "
                f"{escape(name)}, which by its header end at {size_text(end)}.",
            )
        indices = np.zeros((count, len(shape)), np.int64)
        if variable.has_records:
            indices[:, 0] = np.arange(count)
        offsets = variable.begin + np.arange(count, dtype=np.int64) * self._record_size
        return FileChunks(indices, offsets, np.full(count, variable.size, np.int64))

    def values(self, name: str, selection: tuple[slice, ...]) -> np.ndarray:
        self._file.begin_values()
        variable, chunks = self._variables[name], self.chunks(name)
        array = variable.array
        if variable.has_records:
            wanted = range(array.shape[0])[selection[0]]
            parts = [self._block(variable, int(chunks.offsets[each])) for each in wanted]
            block = np.stack(parts) if parts else np.empty((0, *array.shape[1:]), array.dtype)
            return block[(slice(None), *selection[1:])]
        if not len(chunks.offsets):
            return np.empty(array.shape, array.dtype)[selection]
        return self._block(variable, int(chunks.offsets[0]))[selection]

    def _block(self, variable: _Variable, offset: int) -> np.ndarray:
        array = variable.array
        data = self._file.read_at(offset, offset + variable.size)
        return np.frombuffer(data, array.dtype).reshape(array.shape[variable.has_records :])

    def close(self) -> None:
        self._file.close()


class _Header:
    """Reads a header from its start."""

    def __init__(self, file: SeekableBytes) -> None:
        self._file, self._at = file, 4
        version = file.read_at(3, 4)[0]
        self.width = 8 if version == 5 else 4
        self.offset_width = 4 if version == 1 else 8

    def take(self, count: int) -> bytes:
        if self._at + count > HEADER_BYTES:
            raise ValueError(f"it has more than {size_text(HEADER_BYTES)}")
        data = self._file.read_at(self._at, self._at + count)
        if len(data) != count:
            raise ValueError("the file ends before")
        self._at += count
        return data

    def integer(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def number(self) -> int:
        """Return the next count."""
        return self.integer(self.width)

    def padded(self, count: int) -> bytes:
        """Return the next bytes, padded to words of four."""
        return self.take(-(-count // 4) * 4)[:count]

    def text(self) -> str:
        return self.padded(self.number()).decode("utf-8", "replace")

    def listed(self, tag: int) -> range:
        """Return the numbers of the entries of a list, which may be absent."""
        found, count = self.integer(4), self.number()
        if found not in (0, tag) or (count and not found):
            raise ValueError(f"a list begins with {found} instead of {tag}")
        return range(count)


def _attributes(header: _Header) -> dict[str, Any]:
    found = {}
    for _ in header.listed(_ATTRIBUTES):
        name, dtype = header.text(), np.dtype(_TYPES[header.integer(4)])
        data = header.padded(header.number() * dtype.itemsize)
        if dtype.kind == "S":
            found[name] = data.rstrip(b"\0").decode("utf-8", "replace")
        else:
            values = np.frombuffer(data, dtype).tolist()
            found[name] = values[0] if len(values) == 1 else values
    return found


def _variable(header: _Header, dimensions: list[tuple[str, int]]) -> _Variable:
    name = header.text()
    rank = header.number()
    over = [dimensions[header.number()] for _ in range(rank)]
    attributes = _attributes(header)
    dtype = np.dtype(_TYPES[header.integer(4)])
    header.number()  # the size in the header is wrong for large variables
    begin = header.integer(header.offset_width)
    shape = tuple(size for _, size in over)
    has_records = bool(shape) and not shape[0]  # the length of the dimension of records is 0
    chunks = (1, *shape[1:]) if has_records else shape
    names = tuple(name for name, _ in over)
    unlimited = (0,) if has_records else ()
    array = FileArray(name, shape, chunks, dtype, (), None, names, attributes, unlimited=unlimited)
    return _Variable(array, has_records, begin, math.prod(chunks) * dtype.itemsize)
