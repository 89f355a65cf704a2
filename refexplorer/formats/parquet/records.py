"""One record file of a parquet store: its footer, which rows hold a reference, its columns.

Chunks without a reference have neither ``path`` nor ``raw``. How many there are often stands in
the footer; which ones they are, in these two columns, which are small beside the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.core.limits import Limits
from refexplorer.formats.columns.arrow import flags_of, numbers_of
from refexplorer.formats.parquet.footer import (
    COLUMNS,
    NUMBERS,
    TEXTS,
    BadRecords,
    Footer,
    check_decoded,
    check_footer,
    check_pages,
    chunks_of,
    has_good_numbers,
    read_footer,
)

if TYPE_CHECKING:
    import pyarrow.parquet as pq
    from fsspec import AbstractFileSystem


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
        """Which rows hold a reference that can be used, shape ``(n,)`` bool."""
        ranged = (self.codes >= 0) & (self.offsets >= 0) & (self.sizes >= 0)
        held: np.ndarray = ranged | (self.raw_codes >= 0)
        return held

    def sizes_by_row(self) -> dict[str, int]:
        """Return how many bytes ``path`` and ``raw`` would take with each value written out."""
        found = {"path": (self.codes, self.urls), "raw": (self.raw_codes, self.raw)}
        return {name: _size(codes, values) for name, (codes, values) in found.items()}


def to_columns(table: pa.Table) -> RecordColumns:
    """Take the columns of a record file apart; texts are checked."""
    codes, urls = _coded(table["path"], pa.large_string())
    urls.validate(full=True)
    raw_codes, raw = _coded(table["raw"], pa.large_binary())
    written = {name: table[name] for name in NUMBERS}
    offsets, sizes = map(byte_counts, written.values())
    return RecordColumns(codes, urls, offsets, sizes, raw_codes, raw, written)


def byte_counts(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of numbers as int64, 0 for null; what is no count of bytes is less than 0."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not pa.types.is_floating(column.type):  # of 64 bits without a sign, large ones turn negative
        return _filled(column.cast(pa.int64(), safe=False).combine_chunks(), 0)
    floats = _filled(column.cast(pa.float64()).combine_chunks(), 0)
    whole = (floats == np.floor(floats)) & (np.abs(floats) < 2.0**63)
    return np.where(whole, floats, -1).astype(np.int64)


def valid_rows(column: pa.ChunkedArray) -> np.ndarray:
    """Return which rows are not null, shape ``(n,)`` bool."""
    # always a copy: a buffer of Arrow cannot be written to
    flags = [flags_of(chunk.is_valid()) for chunk in column.chunks]
    return np.concatenate([np.empty(0, np.bool_), *flags])


def _coded(column: pa.ChunkedArray, kind: pa.DataType) -> tuple[np.ndarray, pa.Array]:
    """Return the places of the values among the distinct values, -1 for null, and these."""
    if not pa.types.is_dictionary(column.type):
        column = column.cast(kind).dictionary_encode()
    coded = column.unify_dictionaries().combine_chunks()
    return _filled(coded.indices.cast(pa.int32()), -1), coded.dictionary.cast(kind)


def _filled(column: pa.Array, number: int) -> np.ndarray:
    """Return a column of numbers with `number` for null."""
    numbers = numbers_of(column)
    if not column.null_count:
        return numbers
    filled: np.ndarray = np.where(flags_of(column.is_valid()), numbers, numbers.dtype.type(number))
    return filled


def _size(codes: np.ndarray, values: pa.Array) -> int:
    sizes = numbers_of(pc.binary_length(values))
    if len(codes) * int(sizes.max(initial=0)) < 2**20:
        return 0
    return int(np.append(sizes, 0)[codes].sum(dtype=np.int64))


class RecordFile:
    """A record file by its name; it is opened anew for each question, its footer read once."""

    def __init__(
        self, filesystem: AbstractFileSystem, root: str, name: str, rows: int, limits: Limits
    ) -> None:
        self.name = name
        self._filesystem = filesystem
        self._path = f"{root.rstrip('/')}/{name}"
        self._rows, self._limits = rows, limits
        self._metadata: pq.FileMetaData | None = None

    def footer(self) -> Footer:
        """Read the footer."""
        with self._opened() as file:
            return read_footer(self._checked(file))

    def held(self) -> np.ndarray:
        """Read which rows hold a reference, shape ``(n,)`` bool."""
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

    def columns(self) -> RecordColumns:
        """Read all columns."""
        with self._opened() as file:
            opened = self._decoder(file, COLUMNS)
            columns = to_columns(_read(opened, COLUMNS))
            for name, size in columns.sizes_by_row().items():
                check_decoded(self.name, name, size, opened.metadata.num_rows, self._limits)
            return columns

    def _decoder(self, file: IO[bytes], columns: tuple[str, ...]) -> pq.ParquetFile:
        """Make ready to read some columns, so that of equal texts, or bytes, one is decoded."""
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
            # Of the system's errors not the path, which is nobody else's business on a page.
            words = (getattr(error, "strerror", None) or str(error)).strip() or "empty"
            said = words.splitlines()[0].rstrip(".")
            raise BadRecords(
                "parquet-unreadable", f"The record file `{self.name}` cannot be read: {said}."
            ) from None


def _column(file: pq.ParquetFile, name: str) -> pa.ChunkedArray:
    return _read(file, (name,))[name]


def _read(file: pq.ParquetFile, names: tuple[str, ...]) -> pa.Table:
    """Read some columns; one that the file lacks is null in each row.

    Without Arrow's threads, those that decode and those that read ahead (``pre_buffer``): what they
    let go of belongs to Python, and one that waits for the interpreter while that ends aborts the
    process ("terminate called without an active exception", seen once in thousands of runs). They
    gain nothing here: at 5·10⁶ rows 4.8 to 5.9 s of processor time either way.
    """
    there = [name for name in names if name in file.schema_arrow.names]
    found = file.read(columns=there, use_threads=False)
    for name in names:
        if name not in there:
            found = found.append_column(name, pa.nulls(file.metadata.num_rows))
    return found
