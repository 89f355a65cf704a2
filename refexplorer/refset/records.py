"""The chunks of an array in a parquet store: numbers of chunks beside columns, no keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.formats.arrow import flags_of, number_column, numbers_of
from refexplorer.formats.parquet import BadRecords, ParquetStore
from refexplorer.refset.columns import BASE64, INLINE, RANGE, URL, Columns
from refexplorer.spec.arrays import ArrayMeta
from refexplorer.spec.reading import read_bytes
from refexplorer.spec.references import Inline, Reference


class _Loaded(NamedTuple):
    """The chunk numbers that have a reference, sorted int64, and their references."""

    numbers: np.ndarray
    columns: Columns


@dataclass(frozen=True)
class Records:
    """The references of one array of a parquet store, read when they are first asked for."""

    store: ParquetStore
    array: ArrayMeta

    origin = "parquet"

    @property
    def folder(self) -> str:
        """The path of the array."""
        return self.array.path

    @cached_property
    def loaded(self) -> _Loaded:
        """All record files of the array, in columns; what is wrong with them is noted."""
        parts = [self._read(number) for number in range(self.store.record_count(self.array))]
        tables = [table for table in parts if table is not None]
        if not tables:
            return _Loaded(np.empty(0, np.int64), Columns(*_empty()))
        return self._columns(pa.concat_tables(tables).combine_chunks())

    def _read(self, number: int) -> pa.Table | None:
        """Read a record file as a table with the chunk number as a further column."""
        name = self.store.record_file(self.array, number)
        if name not in self.store.files:
            first = number * self.store.record_size
            last = min(first + self.store.record_size, self.array.chunk_count) - 1
            self.store.findings.add(
                "parquet-missing-file",
                name,
                f"There is no `{name}`: chunks {first:,} to {last:,} of `{self.array.path}` read "
                "as the fill value.",
            )
            return None
        try:
            table = self.store.read_records(name)
        except BadRecords as bad:
            self.store.findings.add(bad.code, name, str(bad))
            return None
        return self._present(table, number, name)

    def _present(self, table: pa.Table, number: int, name: str) -> pa.Table:
        """Keep the rows that stand for a reference, inside the grid."""
        start = number * self.store.record_size
        held = pc.or_(table["path"].is_valid(), table["raw"].is_valid()).combine_chunks()
        rows = np.flatnonzero(flags_of(held))
        outside = int((rows + start >= self.array.chunk_count).sum())
        if outside:
            self.store.findings.add(
                "parquet-rows-outside-grid",
                name,
                f"{outside:,} rows past the {self.array.chunk_count:,} chunks of "
                f"`{self.array.path}` hold references; they are left out.",
                "Is the shape in the metadata right?",
            )
            rows = rows[: len(rows) - outside]
        kept = table.take(number_column(rows))
        return kept.append_column("number", number_column(rows + start))

    def _columns(self, table: pa.Table) -> _Loaded:
        numbers = numbers_of(table["number"])
        offsets, sizes = numbers_of(table["offset"]).copy(), numbers_of(table["size"]).copy()
        raw = table["raw"].combine_chunks()
        has_raw = flags_of(raw.is_valid())
        paths = table["path"].combine_chunks().dictionary_encode()
        codes = numbers_of(pc.fill_null(paths.indices, -1)).astype(np.int32)
        good = self._check(codes, offsets, sizes, has_raw)
        kinds = np.where(sizes == 0, URL, RANGE).astype(np.uint8)
        texts: list[str] = []
        for row in np.flatnonzero(has_raw).tolist():
            reference = read_bytes(raw[row].as_py())
            kinds[row] = INLINE if isinstance(reference, Inline) else BASE64
            offsets[row], sizes[row] = len(texts), reference.size
            texts.append(reference.text)
        codes[has_raw] = -1
        columns = Columns(kinds, codes, paths.dictionary.to_pylist(), offsets, sizes, texts)
        return _Loaded(
            numbers[good], columns if good.all() else columns.select(np.flatnonzero(good))
        )

    def _check(
        self, codes: np.ndarray, offsets: np.ndarray, sizes: np.ndarray, has_raw: np.ndarray
    ) -> np.ndarray:
        """Note odd rows; return which rows can be used."""
        array, findings = self.array.path, self.store.findings
        both = int((has_raw & (codes >= 0)).sum())
        if both:
            message = f"{both:,} rows of `{array}` have `raw` and `path`; `raw` is the data."
            findings.add("parquet-raw-and-path", array, message)
        whole = int((~has_raw & (sizes == 0) & (offsets != 0)).sum())
        if whole:
            message = f"{whole:,} rows of `{array}` have an offset and size 0: the whole file."
            findings.add("parquet-offset-without-size", array, message)
        negative = ~has_raw & ((offsets < 0) | (sizes < 0))
        if negative.any():
            message = f"{int(negative.sum()):,} rows of `{array}` have a number less than 0."
            findings.add("bad-offset", array, message)
        usable: np.ndarray = ~negative
        return usable

    @property
    def count(self) -> int:
        """How many chunks have a reference."""
        return len(self.loaded.numbers)

    @property
    def bound(self) -> int:
        """The chunks of the grid, or the count once the record files were read."""
        return self.count if "loaded" in self.__dict__ else self.array.chunk_count

    @property
    def size(self) -> int | None:
        """Bytes of all references; None before the record files were read."""
        return int(self.loaded.columns.lengths.sum()) if "loaded" in self.__dict__ else None

    def chunk_number(self, row: int) -> int:
        """Return the number of a chunk in its grid, in C order."""
        return int(self.loaded.numbers[row])

    def key_at(self, row: int) -> str:
        """Return a key by its row."""
        return self.array.chunk_key(self.array.index_at(self.chunk_number(row)))

    def reference_at(self, row: int) -> Reference:
        """Return a reference by its row."""
        return self.loaded.columns.reference_at(row)

    def find(self, key: str) -> int | None:
        """Return the row of a key, or None."""
        index = self.array.chunk_index(key)
        if index is None or not self.array.contains(index) or self.array.chunk_key(index) != key:
            return None
        number = self.array.chunk_number(index)
        row = int(np.searchsorted(self.loaded.numbers, number))
        found = row < self.count and self.chunk_number(row) == number
        return row if found else None

    def iterate(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[str, Reference]]:
        """Yield keys and references in order."""
        for row in range(start, self.count if stop is None else min(stop, self.count)):
            yield self.key_at(row), self.reference_at(row)


def _empty() -> tuple[np.ndarray, np.ndarray, list[str | None], np.ndarray, np.ndarray, list[str]]:
    none = np.empty(0, np.int64)
    return none.astype(np.uint8), none.astype(np.int32), [], none, none, []
