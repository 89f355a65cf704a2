"""One record file of a parquet store: its footer, which rows hold a reference, its columns.

Chunks without a reference have neither ``path`` nor ``raw``. How many there are often stands in
the footer; which ones they are, in these two columns, which are small beside the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

import numpy as np

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
from refexplorer.formats.parquet.record_columns import (
    RecordColumns,
    byte_counts,
    to_columns,
    valid_rows,
)
from refexplorer.limits import Limits

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from fsspec import AbstractFileSystem


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
        import pyarrow as pa

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
    import pyarrow as pa

    there = [name for name in names if name in file.schema_arrow.names]
    found = file.read(columns=there, use_threads=False)
    for name in names:
        if name not in there:
            found = found.append_column(name, pa.nulls(file.metadata.num_rows))
    return found
