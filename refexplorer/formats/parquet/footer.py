"""The footer of a record file: whether the file can be used, and what it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from refexplorer.formats.parquet.pages import BadPages, most_unpacked, unpacked_size
from refexplorer.limits import Limits

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

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
        _check_bytes(name, column, _declared(metadata, column), metadata.num_rows * _STORED, limits)


def check_pages(
    file: IO[bytes], metadata: pq.FileMetaData, column: str, name: str, limits: Limits
) -> None:
    """Refuse a column whose pages unpack to more than the footer is allowed to say."""
    chunks, expected = list(chunks_of(metadata, column)), metadata.num_rows * _STORED
    if sum(map(most_unpacked, chunks)) <= expected + limits.fetch_bytes:
        return
    try:
        size = sum(unpacked_size(file, chunk) for chunk in chunks)
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
    return all(_is_good(told) for name in NUMBERS for told in _statistics(metadata, name))


def _is_good(told: Any) -> bool:
    if told is None or not told.has_min_max or type(told.min) is not int:
        return told is not None and told.has_null_count and told.num_values == 0
    return bool(told.min >= 0 and told.max <= _INT64)


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
    for number, told in enumerate(_statistics(metadata, name)):
        rows = metadata.row_group(number).num_rows
        if told is None or not told.has_null_count or told.null_count > rows:
            return None
        total += rows - told.null_count
    return total


def _declared(metadata: pq.FileMetaData, name: str) -> int:
    """Return how many bytes the pages of a column are said to take."""
    return sum(max(chunk.total_uncompressed_size, 0) for chunk in chunks_of(metadata, name))


def _statistics(metadata: pq.FileMetaData, name: str) -> Iterator[Any]:
    return (chunk.statistics for chunk in chunks_of(metadata, name))


def chunks_of(metadata: pq.FileMetaData, name: str) -> Iterator[Any]:
    """Yield the column chunks of a column, one for each row group; none of one that is lacking."""
    schema = metadata.schema
    places = (n for n in range(metadata.num_columns) if schema.column(n).path == name)
    place = next(places, None)
    for number in range(0 if place is None else metadata.num_row_groups):
        yield metadata.row_group(number).column(place)
