"""One record file of a parquet store: its footer, which rows hold a reference, its columns.

Chunks without a reference have neither ``path`` nor ``raw``. Their number is often in the footer;
which ones they are is in these two columns, which are small compared with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.core.limits import MOST_BYTES, Limits
from refexplorer.formats.columns.references import exact_sum, flags_of, number_column, numbers_of

if TYPE_CHECKING:
    import pyarrow.parquet as pq
    from fsspec import AbstractFileSystem

_SHORT, _LONG = 2**12, 2**24  # Sizes of most page headers, and of the longest that Arrow reads
# field ids of PageHeader and its parts in parquet.thrift: Arrow does not expose page headers
_UNPACKED, _PACKED = 2, 3
_DATA_HEADERS = (5, 8)  # fields of PageHeader in parquet.thrift: versions 1 and 2
# `num_values` is field 1 of both page headers in parquet.thrift
_VALUES = 1
# types of fields in the compact protocol of Thrift
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _STRUCT = 1, 2, 3, 7, 8, 12
_INTEGERS = (4, 5, 6)  # types of Thrift's compact protocol: i16, i32, i64
_DEPTH = 8  # Headers have three levels; a malicious file could have any number

_MOST_TIMES = {"UNCOMPRESSED": 1, "SNAPPY": 2**6, "LZ4": 2**9, "GZIP": 2**11, "ZSTD": 2**16}
"""The highest ratio of each codec: ZSTD stores 128 KiB of one byte in a block of four bytes."""

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
    """Return the page header at an offset of a file, and its size in bytes."""
    for size in (_SHORT, _LONG):
        file.seek(place)
        reader = _Compact(file.read(size))
        try:
            return reader.structure(), reader.place
        except IndexError:
            continue
    raise BadPages


class _Compact:
    """Reads Thrift's compact protocol; an `IndexError` means that the bytes have ended."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0

    def structure(self, depth: int = 0) -> _ThriftFields:
        """Read a struct: its integers and nested structs by field number."""
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
        elif kind not in (_TRUE, _FALSE):  # page headers have no lists or maps
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
_COUNTED = ("path", "size", "raw")  # The columns needed to count references and bytes
_SPARED = ((), ("raw",), ("path", "offset", "size"))  # Columns that may be missing: null for fsspec
_STORED, _DECODED = 16, 1024  # Bytes of a row, stored and decoded, beyond the limit


class BadRecords(Exception):
    """An unusable record file: a diagnostic code and one sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Footer(NamedTuple):
    """The facts about a record file known before its columns are read."""

    rows: int  # How many rows it has
    held: int | None  # How many have a reference; None if the statistics do not show it
    # Whether the statistics prove that every offset and size is a number of bytes
    proved: bool = False
    absent: tuple[str, ...] = ()  # Columns that the file does not have
    mistyped: str = ""  # A column of text or bytes that is written as something else


def check_footer(file: pq.ParquetFile, name: str, rows: int, limits: Limits) -> None:
    """Reject a record file that is too large or has different columns."""
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
    """Reject a column whose pages decompress to more than the footer may declare."""
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


def _check_bytes(name: str, column: str, size: int, expected: int, limits: Limits) -> None:
    if size > expected + limits.fetch_bytes:
        raise BadRecords(
            "parquet-too-large",
            f"The column `{column}` of the record file `{name}` takes {size:,} bytes, more than "
            f"the limit of {expected + limits.fetch_bytes:,}; `Limits.fetch_bytes` raises the "
            "limit.",
        )


def has_good_numbers(metadata: pq.FileMetaData) -> bool:
    """Return whether the statistics prove that every offset and size is a valid byte count."""
    return all(
        _is_good(statistics) for name in NUMBERS for statistics in _statistics(metadata, name)
    )


def _is_good(statistics: Any) -> bool:
    if statistics is None or not statistics.has_min_max or type(statistics.min) is not int:
        return statistics is not None and statistics.has_null_count and statistics.num_values == 0
    return bool(statistics.min >= 0 and statistics.max <= MOST_BYTES)


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
    """Return whether a column may have a type; a column of nulls has type null."""
    import pyarrow.types as types

    if types.is_dictionary(kind):
        kind = kind.value_type
    tests: list[Callable[[Any], bool]] = [types.is_null, types.is_integer, types.is_floating]
    if column in TEXTS:
        tests = [types.is_null, types.is_string, types.is_large_string, types.is_string_view]
        tests += [types.is_binary, types.is_large_binary, types.is_binary_view]
    return any(test(kind) for test in tests)


def _held(metadata: pq.FileMetaData) -> int | None:
    """Count the rows with ``path`` or ``raw`` from the null counts, if these suffice."""
    paths, raws = _count_values(metadata, "path"), _count_values(metadata, "raw")
    if paths == metadata.num_rows or raws == 0:
        return paths
    return raws if paths == 0 else None


def _count_values(metadata: pq.FileMetaData, name: str) -> int | None:
    """Return the number of non-null rows of a column; None if a row group has no count."""
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
    """Yield the column chunks of a column, one per row group; none if it is missing."""
    schema = metadata.schema
    places = (n for n in range(metadata.num_columns) if schema.column(n).path == name)
    place = next(places, None)
    for number in range(0 if place is None else metadata.num_row_groups):
        yield metadata.row_group(number).column(place)


class RecordColumns(NamedTuple):
    """The n rows of a record file."""

    codes: np.ndarray  # Positions in `urls`, -1 where ``path`` is null, shape ``(n,)`` int32
    urls: pa.LargeStringArray  # Column of the distinct values of ``path``
    # offsets, sizes: In bytes, 0 where null, shape ``(n,)`` int64; less than 0 where there is no
    # such number
    offsets: np.ndarray
    sizes: np.ndarray
    raw_codes: np.ndarray  # Positions in `raw`, -1 where ``raw`` is null, shape ``(n,)`` int32
    raw: pa.LargeBinaryArray  # Column of the distinct values of ``raw``
    written: Mapping[str, pa.ChunkedArray]  # The columns ``offset`` and ``size`` as they are

    @property
    def held(self) -> np.ndarray:
        """Which rows have a usable reference, shape ``(n,)`` bool."""
        ranged = (self.codes >= 0) & (self.offsets >= 0) & (self.sizes >= 0)
        return ranged | (self.raw_codes >= 0)


def to_columns(table: pa.Table) -> RecordColumns:
    """Split the columns of a record file; strings are checked."""
    codes, urls = _coded(table["path"], pa.large_string())
    urls.validate(full=True)
    raw_codes, raw = _coded(table["raw"], pa.large_binary())
    written = {name: table[name] for name in NUMBERS}
    offsets, sizes = map(byte_counts, written.values())
    return RecordColumns(codes, urls, offsets, sizes, raw_codes, raw, written)


def byte_counts(column: pa.ChunkedArray) -> np.ndarray:
    """Return a numeric column as int64, 0 for null; invalid byte counts are negative."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not pa.types.is_floating(column.type):  # large uint64 become negative
        numbers = _filled(column.cast(pa.int64(), safe=False).combine_chunks(), 0)
        return np.where(numbers > MOST_BYTES, -1, numbers)
    floats = _filled(column.cast(pa.float64()).combine_chunks(), 0)
    whole = (floats == np.floor(floats)) & (np.abs(floats) <= MOST_BYTES)
    return np.where(whole, floats, -1).astype(np.int64)


def valid_rows(column: pa.ChunkedArray) -> np.ndarray:
    """Return which rows are not null, shape ``(n,)`` bool."""
    # always a copy: buffers of Arrow are read-only
    flags = [flags_of(chunk.is_valid()) for chunk in column.chunks]
    return np.concatenate([np.empty(0, np.bool_), *flags])


def _coded(column: pa.ChunkedArray, kind: pa.DataType) -> tuple[np.ndarray, pa.Array]:
    """Return the indices into the distinct values, -1 for null, and the distinct values."""
    if not pa.types.is_dictionary(column.type):
        column = column.cast(kind).dictionary_encode()
    coded = column.unify_dictionaries().combine_chunks()
    return _filled(coded.indices.cast(pa.int32()), -1), coded.dictionary.cast(kind)


def _filled(column: pa.Array, number: int) -> np.ndarray:
    """Return a numeric column with `number` in place of null."""
    numbers = numbers_of(column)
    if not column.null_count:
        return numbers
    return np.where(flags_of(column.is_valid()), numbers, numbers.dtype.type(number))


def _size(codes: np.ndarray, values: pa.Array) -> int:
    """Return the size of a column with each value written out; 0 if it is small."""
    sizes = numbers_of(pc.binary_length(values))
    if len(codes) * int(sizes.max(initial=0)) < 2**20:
        return 0
    return int(np.append(sizes, 0)[codes].sum(dtype=np.int64))


class RecordCounts(NamedTuple):
    """The totals of the references in a record file; none of them is inline."""

    ranges: int
    whole: int  # References to whole files
    bytes: int  # Of the ranges
    urls: pa.LargeStringArray  # Their targets, each one once

    @property
    def references(self) -> int:
        return self.ranges + self.whole


def _counted(codes: np.ndarray, urls: pa.LargeStringArray, sizes: np.ndarray) -> RecordCounts:
    held = codes >= 0
    if not held.all():
        codes, sizes = codes[held], sizes[held]
    ranges = int(np.count_nonzero(sizes))
    is_used = np.zeros(len(urls), np.bool_)
    is_used[codes] = True
    used = urls if is_used.all() else urls.take(number_column(np.flatnonzero(is_used)))
    return RecordCounts(ranges, len(codes) - ranges, exact_sum(sizes), used)


class RecordFile:
    """A record file by name; it is reopened for each query, its footer is read once."""

    def __init__(
        self, filesystem: AbstractFileSystem, root: str, name: str, rows: int, limits: Limits
    ) -> None:
        self.name, self._filesystem = name, filesystem
        self._path = f"{root.rstrip('/')}/{name}"
        self._rows, self._limits = rows, limits
        self._metadata: pq.FileMetaData | None = None

    def footer(self) -> Footer:
        """Read the number of rows, and of references if the statistics suffice."""
        with self._opened() as file:
            metadata = self._checked(file)
        proved, schema = has_good_numbers(metadata), metadata.schema.to_arrow_schema()
        absent = tuple(name for name in COLUMNS if name not in schema.names)
        mistyped = ""
        if "path" not in absent and pa.types.is_binary(schema.field("path").type):
            mistyped = "bytes in `path`"
        elif "raw" not in absent and pa.types.is_null(schema.field("raw").type):
            mistyped = "the type null in `raw`"
        held = _held(metadata) if proved else None
        return Footer(metadata.num_rows, held, proved, absent, mistyped)

    def held(self) -> np.ndarray:
        """Read which rows have a reference, shape ``(n,)`` bool."""
        with self._opened() as file:
            proved = has_good_numbers(self._checked(file))
            opened = self._decoder(file, TEXTS if proved else COLUMNS)
            held = valid_rows(_column(opened, "path"))
            if proved and held.all():
                return held
            for name in () if proved else NUMBERS:
                held &= byte_counts(_column(opened, name)) >= 0
            held |= valid_rows(_column(opened, "raw"))
            return held

    def counts(self, rows: int) -> RecordCounts | None:
        """Count the references in the first rows; None if offsets or raw data have to be read."""
        # None if more has to be read: for inline data, references in later rows, or offsets that
        # the footer does not prove valid.
        with self._opened() as file:
            metadata = self._checked(file)
            if not has_good_numbers(metadata):
                return None
            names = ("path", "size") if _count_values(metadata, "raw") == 0 else _COUNTED
            table = _read(self._decoder(file, names), names)
            if table.num_rows != metadata.num_rows or (
                "raw" in names and table["raw"].null_count < table.num_rows
            ):
                return None
            codes, urls = _coded(table["path"], pa.large_string())
            urls.validate(full=True)
            most = len(codes) * _DECODED
            _check_bytes(self.name, "path", _size(codes, urls), most, self._limits)
            if (codes[rows:] >= 0).any():
                return None
            return _counted(codes[:rows], urls, byte_counts(table["size"])[:rows])

    def columns(self) -> RecordColumns:
        with self._opened() as file:
            opened = self._decoder(file, COLUMNS)
            columns = to_columns(_read(opened, COLUMNS))
            most = opened.metadata.num_rows * _DECODED
            for name, codes, values in (
                ("path", columns.codes, columns.urls),
                ("raw", columns.raw_codes, columns.raw),
            ):
                _check_bytes(self.name, name, _size(codes, values), most, self._limits)
            return columns

    def _decoder(self, file: IO[bytes], columns: tuple[str, ...]) -> pq.ParquetFile:
        """Return a reader of some columns that decodes equal strings or bytes once."""
        import pyarrow.parquet as pq

        metadata = self._checked(file)
        for column in columns:
            check_pages(file, metadata, column, self.name, self._limits)
        texts = [name for name in TEXTS if any(chunks_of(metadata, name))]
        return pq.ParquetFile(file, metadata=metadata, read_dictionary=texts, pre_buffer=False)

    def _checked(self, file: IO[bytes]) -> pq.FileMetaData:
        import pyarrow.parquet as pq

        if self._metadata is None:
            opened = pq.ParquetFile(file)
            check_footer(opened, self.name, self._rows, self._limits)
            self._metadata = opened.metadata
        return self._metadata

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        try:
            with self._filesystem.open(self._path, "rb") as file:
                yield file
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            # System errors without the path, which visitors of a page must not see.
            words = (getattr(error, "strerror", None) or str(error)).strip() or "empty"
            said = words.splitlines()[0].rstrip(".")
            raise BadRecords(
                "parquet-unreadable", f"The record file `{self.name}` cannot be read: {said}."
            ) from None


def _column(file: pq.ParquetFile, name: str) -> pa.ChunkedArray:
    return _read(file, (name,))[name]


def _read(file: pq.ParquetFile, names: tuple[str, ...]) -> pa.Table:
    """Read some columns; a missing one is null in each row."""
    there = [name for name in names if name in file.schema_arrow.names]
    # threads that release Python objects at shutdown abort the process, and are no faster here
    found = file.read(columns=there, use_threads=False)
    for name in names:
        if name not in there:
            found = found.append_column(name, pa.nulls(file.metadata.num_rows))
    return found
