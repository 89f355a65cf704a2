"""One record file of a parquet store: its footer, which rows hold a reference, and its columns.

Chunks without a reference have neither ``path`` nor ``raw``. How many there are often stands in
the footer; which ones they are, in these two columns, which are small beside the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from refexplorer.formats.arrow import flags_of, numbers_of

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from fsspec import AbstractFileSystem

COLUMNS = ("path", "offset", "size", "raw")


class BadRecords(Exception):
    """A record file cannot be used: a diagnostic code and one sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Footer(NamedTuple):
    """What is known of a record file before its columns are read.

    Attributes
    ----------
    rows
        How many rows it has.
    held
        How many of them hold a reference; None where the statistics do not tell.
    """

    rows: int
    held: int | None


class RecordColumns(NamedTuple):
    """The n rows of a record file.

    Attributes
    ----------
    codes
        Places in `urls`, -1 where ``path`` is null, shape ``(n,)`` int32.
    urls
        Column of the distinct values of ``path``.
    offsets, sizes
        In bytes, 0 where null, shape ``(n,)`` int64.
    raw
        Column of bytes, null where there are none.
    """

    codes: np.ndarray
    urls: pa.LargeStringArray
    offsets: np.ndarray
    sizes: np.ndarray
    raw: pa.LargeBinaryArray

    @property
    def held(self) -> np.ndarray:
        """Which rows hold a reference, shape ``(n,)`` bool."""
        held = self.codes >= 0
        return (
            held if self.raw.null_count == len(self.raw) else held | flags_of(self.raw.is_valid())
        )


class RecordFile:
    """A record file by its name; it is opened anew for each question, its footer read once.

    Parameters
    ----------
    filesystem, root
        The store.
    name
        Relative to the store.
    limit
        The most rows that it may have.
    """

    def __init__(self, filesystem: AbstractFileSystem, root: str, name: str, limit: int) -> None:
        self.name = name
        self._filesystem = filesystem
        self._path = f"{root.rstrip('/')}/{name}"
        self._limit = limit
        self._metadata: pq.FileMetaData | None = None

    def footer(self) -> Footer:
        """Read the footer.

        Raises
        ------
        BadRecords
            If the file is no parquet, has too many rows, or lacks a column.
        """
        with self._opened() as file:
            return Footer(file.metadata.num_rows, _held_by_statistics(file.metadata))

    def held(self) -> np.ndarray:
        """Read which rows hold a reference, shape ``(n,)`` bool.

        Raises
        ------
        BadRecords
            As `footer`, or if a column cannot be read.
        """
        with self._opened() as file:
            held = flags_of(_column(file, "path").is_valid())
            return held if held.all() else held | flags_of(_column(file, "raw").is_valid())

    def columns(self) -> RecordColumns:
        """Read all columns.

        Raises
        ------
        BadRecords
            As `held`.
        """
        with self._opened() as file:
            table = file.read(columns=list(COLUMNS))
            codes, urls = _coded(table["path"])
            offsets, sizes = _numbers(table["offset"]), _numbers(table["size"])
            return RecordColumns(codes, urls, offsets, sizes, _bytes(table["raw"]))

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with self._filesystem.open(self._path, "rb") as file:
                opened = pq.ParquetFile(file, metadata=self._metadata, read_dictionary=["path"])
                if self._metadata is None:
                    self._check(opened)
                    self._metadata = opened.metadata
                yield opened
        except (pa.ArrowException, OSError) as error:
            said = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else "empty"
            raise BadRecords(
                "parquet-unreadable", f"The record file `{self.name}` cannot be read: {said}."
            ) from None

    def _check(self, file: Any) -> None:
        rows = file.metadata.num_rows
        if rows > self._limit:
            raise BadRecords(
                "parquet-too-many-rows",
                f"The record file `{self.name}` has {rows:,} rows, `record_size` is "
                f"{self._limit:,}.",
            )
        lacking = [column for column in COLUMNS if column not in file.schema_arrow.names]
        if lacking:
            raise BadRecords(
                "parquet-bad-columns",
                f"The record file `{self.name}` lacks the column "
                f"{' and '.join(map(repr, lacking))}.",
            )


def _held_by_statistics(metadata: Any) -> int | None:
    """Count the rows with ``path`` or ``raw`` by the numbers of nulls, if these are enough."""
    paths, raws = _count_values(metadata, "path"), _count_values(metadata, "raw")
    if paths == metadata.num_rows or raws == 0:
        return paths
    return raws if paths == 0 else None


def _count_values(metadata: Any, name: str) -> int | None:
    """Return how many rows of a column are not null; None where a row group does not tell."""
    total = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        columns = (group.column(place) for place in range(group.num_columns))
        told = next((c.statistics for c in columns if c.path_in_schema == name), None)
        if told is None or not told.has_null_count or told.null_count > group.num_rows:
            return None
        total += group.num_rows - told.null_count
    return total


def _column(file: Any, name: str) -> pa.Array:
    return file.read(columns=[name])[name].combine_chunks()


def _coded(paths: pa.ChunkedArray) -> tuple[np.ndarray, pa.LargeStringArray]:
    """Return the places of the texts among the distinct texts, -1 for null, and these."""
    import pyarrow as pa

    if not pa.types.is_dictionary(paths.type):
        paths = paths.cast(pa.large_string()).dictionary_encode()
    coded = paths.unify_dictionaries().combine_chunks()
    texts = coded.dictionary.cast(pa.large_string())
    texts.validate(full=True)
    return _filled(coded.indices.cast(pa.int32()), -1), texts


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    import pyarrow as pa

    return _filled(column.cast(pa.int64(), safe=False).combine_chunks(), 0)


def _filled(column: pa.Array, number: int) -> np.ndarray:
    """Return a column of numbers with `number` for null."""
    numbers = numbers_of(column)
    if not column.null_count:
        return numbers
    filled: np.ndarray = np.where(flags_of(column.is_valid()), numbers, numbers.dtype.type(number))
    return filled


def _bytes(column: pa.ChunkedArray) -> pa.LargeBinaryArray:
    import pyarrow as pa

    if column.null_count == len(column):
        return pa.nulls(len(column), pa.large_binary())
    return column.cast(pa.large_binary()).combine_chunks()
