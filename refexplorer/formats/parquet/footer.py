"""The footer of a record file: whether the file can be used, and what it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from refexplorer.core.limits import Limits

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_SHORT, _LONG = 2**12, 2**24
"""Bytes in which most headers, and the longest that Arrow reads, have room."""
# field ids of PageHeader and its parts in parquet.thrift: Arrow does not give the headers of pages
_UNPACKED, _PACKED = 2, 3
_DATA_HEADERS = (5, 8)  # fields of PageHeader in parquet.thrift: versions 1 and 2
# `num_values` is field 1 of both page headers in parquet.thrift
_VALUES = 1
# types of fields in the compact protocol of Thrift
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _STRUCT = 1, 2, 3, 7, 8, 12
_INTEGERS = (4, 5, 6)  # types of Thrift's compact protocol: i16, i32, i64
_DEPTH = 8
"""Headers nest three deep; a file that was made to harm could nest without end."""

_MOST_TIMES = {"UNCOMPRESSED": 1, "SNAPPY": 2**6, "LZ4": 2**9, "GZIP": 2**11, "ZSTD": 2**16}
"""No codec makes more of a byte: ZSTD, 128 KiB of one byte in a block of four."""

_ThriftFields = dict[int, Any]


class BadPages(Exception):
    """There is no page where one should be."""


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


TEXTS, NUMBERS = ("path", "raw"), ("offset", "size")
COLUMNS = ("path", "offset", "size", "raw")
_SPARED = ((), ("raw",), ("path", "offset", "size"))
"""The columns that a file may lack: fsspec takes each row of them for null."""
_STORED, _DECODED = 16, 1024
"""Bytes of a row that its column may take in the file, and by itself, beside the limit."""
_INT64 = 2**63 - 1


class BadRecords(Exception):
    """A record file cannot be used: a diagnostic code and one sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Footer(NamedTuple):
    """The facts of a record file before its columns are read."""

    rows: int  # How many rows it has
    held: int | None  # How many of them hold a reference; None where the statistics do not tell
    # Whether the statistics prove that every offset and size is a number of bytes
    proved: bool = False
    absent: tuple[str, ...] = ()  # Columns that the file does not have


def read_footer(metadata: pq.FileMetaData) -> Footer:
    """Tell the rows, and how many hold a reference where the statistics are enough."""
    proved = has_good_numbers(metadata)
    absent = tuple(name for name in COLUMNS if name not in metadata.schema.names)
    return Footer(metadata.num_rows, _held(metadata) if proved else None, proved, absent)


def check_footer(file: pq.ParquetFile, name: str, rows: int, limits: Limits) -> None:
    """Refuse a record file that has too much in it, or other columns."""
    metadata = file.metadata
    if metadata.num_rows > rows:
        raise BadRecords(
            "parquet-too-many-rows",
            f"The record file `{name}` has {metadata.num_rows:,} rows, more than the "
            f"`record_size` of {rows:,}.",
        )
    wrong = _wrong_columns(file)
    if wrong:
        raise BadRecords("parquet-bad-columns", f"The record file `{name}` {wrong}.")
    for column in COLUMNS:
        sizes = (chunk.total_uncompressed_size for chunk in chunks_of(metadata, column))
        declared = sum(max(size, 0) for size in sizes)
        _check_bytes(name, column, declared, metadata.num_rows * _STORED, limits)


def check_pages(
    file: IO[bytes], metadata: pq.FileMetaData, column: str, name: str, limits: Limits
) -> None:
    """Refuse a column whose pages unpack to more than the footer is allowed to say."""
    chunks, expected = list(chunks_of(metadata, column)), metadata.num_rows * _STORED
    most = sum(c.total_compressed_size * _MOST_TIMES.get(c.compression, inf) for c in chunks)
    if most <= expected + limits.fetch_bytes:
        return
    try:
        headers = (header for chunk in chunks for header in _headers(file, chunk))
        size = sum(max(header.get(_UNPACKED, 0), 0) for header in headers)
    except BadPages:
        raise BadRecords(
            "parquet-unreadable", f"The record file `{name}` cannot be read: a page is damaged."
        ) from None
    _check_bytes(name, column, size, expected, limits)


def check_decoded(name: str, column: str, size: int, rows: int, limits: Limits) -> None:
    """Refuse a column whose values, each one written out, would take too many bytes."""
    _check_bytes(name, column, size, rows * _DECODED, limits)


def _check_bytes(name: str, column: str, size: int, expected: int, limits: Limits) -> None:
    if size > expected + limits.fetch_bytes:
        raise BadRecords(
            "parquet-too-large",
            f"The column `{column}` of the record file `{name}` takes {size:,} bytes, more than "
            f"the limit of {expected + limits.fetch_bytes:,}; `Limits.fetch_bytes` raises the "
            "limit.",
        )


def has_good_numbers(metadata: pq.FileMetaData) -> bool:
    """Say whether the statistics prove that every offset and size is a number of bytes."""
    return all(
        _is_good(statistics) for name in NUMBERS for statistics in _statistics(metadata, name)
    )


def _is_good(statistics: Any) -> bool:
    if statistics is None or not statistics.has_min_max or type(statistics.min) is not int:
        return statistics is not None and statistics.has_null_count and statistics.num_values == 0
    return bool(statistics.min >= 0 and statistics.max <= _INT64)


def _wrong_columns(file: pq.ParquetFile) -> str:
    """Return the fault of the columns; an empty text if there is none."""
    leaves = [file.metadata.schema.column(n) for n in range(file.metadata.num_columns)]
    names = [leaf.path for leaf in leaves if leaf.max_repetition_level == 0]
    lacking = tuple(column for column in COLUMNS if column not in names)
    if lacking not in _SPARED:
        return f"lacks the column {' and '.join(map(repr, lacking))}"
    twice = [column for column in COLUMNS if names.count(column) > 1]
    if twice:
        return f"has the column {' and '.join(map(repr, twice))} more than once"
    schema = file.schema_arrow
    for column in COLUMNS:
        if column in lacking:
            continue
        kind = schema.field(column).type
        if not _fits(column, kind):
            wanted = "text" if column == "path" else "bytes" if column == "raw" else "numbers"
            return f"has the type {str(kind)[:100]} in the column {column!r}, not {wanted}"
    return ""


def _fits(column: str, kind: pa.DataType) -> bool:
    """Say whether a column may have a type; one of nulls alone has type null."""
    import pyarrow.types as types

    if types.is_dictionary(kind):
        kind = kind.value_type
    tests: list[Callable[[Any], bool]] = [types.is_null, types.is_integer, types.is_floating]
    if column in TEXTS:
        tests = [types.is_null, types.is_string, types.is_large_string, types.is_string_view]
        tests += [types.is_binary, types.is_large_binary, types.is_binary_view]
    return any(test(kind) for test in tests)


def _held(metadata: pq.FileMetaData) -> int | None:
    """Count the rows with ``path`` or ``raw`` by the numbers of nulls, if these are enough."""
    paths, raws = _count_values(metadata, "path"), _count_values(metadata, "raw")
    if paths == metadata.num_rows or raws == 0:
        return paths
    return raws if paths == 0 else None


def _count_values(metadata: pq.FileMetaData, name: str) -> int | None:
    """Return how many rows of a column are not null; None where a row group does not tell."""
    total = 0
    for number, statistics in enumerate(_statistics(metadata, name)):
        rows = metadata.row_group(number).num_rows
        if statistics is None or not statistics.has_null_count or statistics.null_count > rows:
            return None
        total += rows - statistics.null_count
    return total


def _statistics(metadata: pq.FileMetaData, name: str) -> Iterator[Any]:
    return (chunk.statistics for chunk in chunks_of(metadata, name))


def chunks_of(metadata: pq.FileMetaData, name: str) -> Iterator[Any]:
    """Yield the column chunks of a column, one for each row group; none of one that is lacking."""
    schema = metadata.schema
    places = (n for n in range(metadata.num_columns) if schema.column(n).path == name)
    place = next(places, None)
    for number in range(0 if place is None else metadata.num_row_groups):
        yield metadata.row_group(number).column(place)
