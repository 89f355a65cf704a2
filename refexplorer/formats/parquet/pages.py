"""The decompressed size of the pages of a column, by their headers.

The footer says so too, but a reader goes by the headers, so a footer that is not true would let
a file of some kilobytes take gigabytes. Headers are structures of Thrift's compact protocol; of
these only the whole numbers are of interest.

Source: the Parquet format, ``PageHeader`` in ``parquet.thrift``; the Thrift compact protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import IO, Any

_SHORT, _LONG = 2**12, 2**24
"""Bytes in which most headers, and the longest that Arrow reads, have room."""
# field ids of PageHeader and its parts in parquet.thrift: Arrow does not give the headers of pages
_UNPACKED, _PACKED = 2, 3
_DATA_HEADERS = (5, 8)
# `num_values` is field 1 of both page headers in parquet.thrift
_VALUES = 1
# types of fields in the compact protocol of Thrift
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _STRUCT = 1, 2, 3, 7, 8, 12
_INTEGERS = (4, 5, 6)
_DEPTH = 8
"""Headers nest three deep; a file that was made to harm could nest without end."""

_MOST_TIMES = {"UNCOMPRESSED": 1, "SNAPPY": 2**6, "LZ4": 2**9, "GZIP": 2**11, "ZSTD": 2**16}
"""No codec makes more of a byte: ZSTD, 128 KiB of one byte in a block of four."""

_ThriftFields = dict[int, Any]


class BadPages(Exception):
    """There is no page where one should be."""


def most_unpacked(chunk: Any) -> float:
    """Return the most bytes that pages of a column chunk unpack to, by their size in the file."""
    return float(chunk.total_compressed_size * _MOST_TIMES.get(chunk.compression, inf))


def unpacked_size(file: IO[bytes], chunk: Any) -> int:
    """Add up what the pages of a column chunk unpack to; only their headers are read."""
    return sum(max(header.get(_UNPACKED, 0), 0) for header in _headers(file, chunk))


def _headers(file: IO[bytes], chunk: Any) -> Iterator[_ThriftFields]:
    place = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < place:
        place = chunk.dictionary_page_offset
    end, seen = place + chunk.total_compressed_size, 0
    while place < end and seen < chunk.num_values:
        header, size = _header_at(file, place)
        yield header
        seen += sum(header.get(field, {}).get(_VALUES, 0) for field in _DATA_HEADERS)
        place += size + max(header.get(_PACKED, 0), 0)


def _header_at(file: IO[bytes], place: int) -> tuple[_ThriftFields, int]:
    """Return the header at a place of a file, and how many bytes it has."""
    for size in (_SHORT, _LONG):
        file.seek(place)
        reader = _Compact(file.read(size))
        try:
            return reader.structure(), reader.place
        except IndexError:
            continue
    raise BadPages


class _Compact:
    """Reads Thrift's compact protocol; an `IndexError` tells that the bytes have ended."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0

    def structure(self, depth: int = 0) -> _ThriftFields:
        """Read a structure: its whole numbers and inner structures by the numbers of fields."""
        if depth > _DEPTH:
            raise BadPages
        fields: _ThriftFields = {}
        number = 0
        while mark := self._byte():
            number = number + (mark >> 4) if mark >> 4 else self._signed()
            value = self._value(mark & 15, depth)
            if value is not None:
                fields[number] = value
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _INTEGERS:
            return self._signed()
        if kind == _STRUCT:
            return self.structure(depth + 1)
        if kind in (_BYTE, _DOUBLE):
            self._skip(1 if kind == _BYTE else 8)
        elif kind == _BINARY:
            self._skip(self._unsigned())
        elif kind not in (_TRUE, _FALSE):  # of a page header none has lists or maps
            raise BadPages
        return None

    def _skip(self, size: int) -> None:
        self.place += size
        if self.place > len(self._data):
            raise IndexError

    def _byte(self) -> int:
        self.place += 1
        return self._data[self.place - 1]

    def _unsigned(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 128:
            number |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise BadPages
        return number | byte << shift

    def _signed(self) -> int:
        number = self._unsigned()
        return number >> 1 ^ -(number & 1)
