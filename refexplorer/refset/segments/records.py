"""The chunks of an array in a parquet store: numbers of chunks beside columns, no keys."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refexplorer.formats.parquet.store import ParquetStore, number_of_key
from refexplorer.pickling import PickledByFields
from refexplorer.refset.columns.chunk_keys import chunk_keys
from refexplorer.refset.columns.joining import joined_columns
from refexplorer.refset.columns.reference_columns import URL, Columns
from refexplorer.refset.segments.record_part import RecordPart
from refexplorer.spec.core.diagnostics import SHOWN_PER_CODE, Diagnostic
from refexplorer.spec.core.references import Reference
from refexplorer.spec.core.zarr_metadata import ArrayMeta


class Loaded(NamedTuple):
    """The n references of an array.

    Attributes
    ----------
    numbers
        Of their chunks, ascending, shape ``(n,)`` int64.
    columns
        What they refer to.
    """

    numbers: np.ndarray
    columns: Columns


@dataclass(frozen=True)
class Records(PickledByFields):
    """The references of one array of a parquet store.

    A question reads as little as it can: a reference one record file, a count the footers, or of
    the record files whose footers do not tell the columns that do.
    """

    store: ParquetStore
    array: ArrayMeta

    origin = "parquet"

    @property
    def folder(self) -> str:
        """The path of the array."""
        return self.array.path

    @cached_property
    def parts(self) -> tuple[RecordPart, ...]:
        """The record files that are there, in order; those that are missing are noted."""
        numbers = self.store.record_numbers(self.array)
        self._note_missing(numbers)
        return tuple(RecordPart(self.store, self.array, number) for number in numbers)

    def _note_missing(self, there: list[int]) -> None:
        """Note the record files that are missing: the first ones by name."""
        missing = self.store.record_count(self.array) - len(there)
        number, found = 0, set(there)
        for position in range(min(missing, SHOWN_PER_CODE)):
            while number in found:
                number += 1
            is_last = position == SHOWN_PER_CODE - 1
            self._note_one_missing(number, missing - position if is_last else 1)
            number += 1

    def _note_one_missing(self, number: int, count: int) -> None:
        name = self.store.record_file(self.array, number)
        first = number * self.store.record_size
        last = min(first + self.store.record_size, self.array.chunk_count) - 1
        self.store.findings.add(
            "parquet-missing-file",
            name,
            f"The record file `{name}` is missing: chunks {first:,} to {last:,} of "
            f"`{self.array.path}` read as the fill value.",
            count=count,
        )

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        """How many references are before each part, and how many there are in all."""
        return tuple(accumulate((part.count for part in self.parts), initial=0))

    @property
    def count(self) -> int:
        """How many chunks have a reference."""
        return self._starts[-1]

    @property
    def bound(self) -> int:
        """The count once it is known, before that what the record files have room for."""
        if "_starts" in self.__dict__:
            return self.count
        return min(len(self.parts) * self.store.record_size, self.array.chunk_count)

    @property
    def is_read(self) -> bool:
        """Whether all record files were read."""
        return all(part.is_read for part in self.parts)

    @property
    def size(self) -> int | None:
        """Bytes of all references; None before the record files were read, and of whole files."""
        if not self.is_read or any((part.columns.kinds == URL).any() for part in self.parts):
            return None
        return sum(part.columns.total() for part in self.parts)

    @property
    def present(self) -> int:
        """How many chunks have a reference that can be used; the record files are read."""
        return self.count - sum(part.failed for part in self.parts)

    def read(self) -> None:
        """Read all record files; what is wrong with them is noted."""
        for part in self.parts:
            part.columns  # noqa: B018  reading notes

    @property
    def columns(self) -> Columns:
        """All rows, `FAILED` ones too; put together anew each time."""
        return joined_columns([part.columns for part in self.parts])

    @property
    def loaded(self) -> Loaded:
        """All references that can be used."""
        return self.between(0, self.count)

    def between(self, start: int, stop: int) -> Loaded:
        """Return the references of the rows from `start` to `stop`, less those that failed."""
        numbers, columns = [np.empty(0, np.int64)], []
        for part, positions in self._split(np.arange(start, min(stop, self.count))):
            good = part.usable(positions)
            numbers.append(part.start + part.held.rows_at(good))
            columns.append(part.columns.select(good))
        return Loaded(np.concatenate(numbers), joined_columns(columns))

    def blocks(self, size: int) -> Iterator[Loaded]:
        """Yield all references that can be used, those of `size` rows at a time.

        A record file that was not read before is forgotten again, so few are held at once.
        """
        fresh = [
            (end, part)
            for end, part in zip(self._starts[1:], self.parts, strict=True)
            if not part.is_read
        ]
        fresh.reverse()
        for start in range(0, self.count, size):
            yield self.between(start, start + size)
            while fresh and fresh[-1][0] <= start + size:
                fresh.pop()[1].release()

    def groups(self, size: int) -> Iterator[Loaded]:
        """Yield all references that can be used, of record files until they are `size` rows.

        As of `blocks` few are held at once; each file is read once, also where its footer does not
        tell how many rows hold a reference.
        """
        numbers, columns, count = list[np.ndarray](), list[Columns](), 0
        for part in self.parts:
            is_fresh = not part.is_read
            # the references first: reading them tells which rows hold some
            found = part.columns
            good = part.usable(np.arange(part.count))
            numbers.append(part.start + part.held.rows_at(good))
            columns.append(found if len(good) == len(found) else found.select(good))
            count += len(good)
            if is_fresh:
                part.release()
            if count >= size or (count and part is self.parts[-1]):
                is_one = len(columns) == 1
                joined = columns[0] if is_one else joined_columns(columns)
                yield Loaded(np.concatenate(numbers), joined)
                numbers, columns, count = [], [], 0

    def _place(self, row: int) -> tuple[RecordPart, int]:
        """Return the record file that a row is in, and its position there."""
        number = bisect_right(self._starts, row) - 1
        return self.parts[number], row - self._starts[number]

    def chunk_number(self, row: int) -> int:
        """Return the number of a chunk in its grid, in C order."""
        part, position = self._place(row)
        return part.start + part.held.row_at(position)

    def _split(self, rows: np.ndarray) -> Iterator[tuple[RecordPart, np.ndarray]]:
        """Yield the record files that ascending rows are in, with their positions there."""
        bounds = np.searchsorted(rows, self._starts)
        for part, start, low, high in zip(
            self.parts, self._starts, bounds, bounds[1:], strict=False
        ):
            if low < high:
                yield part, rows[low:high] - start

    def chunk_numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of the chunks of some rows, ascending, shape ``(n,)`` int64."""
        numbers = [
            part.start + part.held.rows_at(positions) for part, positions in self._split(rows)
        ]
        return np.concatenate([np.empty(0, np.int64), *numbers])

    def keys_at(self, rows: np.ndarray) -> pa.LargeStringArray:
        """Return the keys of some rows, ascending, shape ``(n,)``."""
        return chunk_keys(self.array, self.chunk_numbers(rows))

    def kinds_at(self, rows: np.ndarray) -> np.ndarray:
        """Return the kinds of some rows, ascending: indices into `KINDS`, shape ``(n,)`` uint8."""
        kinds = [part.columns.kinds[positions] for part, positions in self._split(rows)]
        return np.concatenate([np.empty(0, np.uint8), *kinds])

    def key_at(self, row: int) -> str:
        """Return a key by its row."""
        return self.array.chunk_key(self.array.index_at(self.chunk_number(row)))

    def reference_at(self, row: int) -> Reference | None:
        """Return a reference by its row; None if it cannot be used."""
        part, position = self._place(row)
        return part.reference_at(position)

    def _row(self, key: str) -> tuple[int, int] | None:
        """Return which part has room for a key, and the row there."""
        number = number_of_key(self.array, key)
        if number is None:
            return None
        file = bisect_right(self.parts, number, key=lambda part: part.start) - 1
        row = -1 if file < 0 else number - self.parts[file].start
        return (file, row) if 0 <= row < self.store.record_size else None

    def _find(self, key: str) -> tuple[int, int] | None:
        """Return which part has a key, and its position there."""
        found = self._row(key)
        position = None if found is None else self.parts[found[0]].held.position_of(found[1])
        return None if found is None or position is None else (found[0], position)

    def rejection(self, key: str) -> Diagnostic | None:
        """Return why the reference of a key cannot be used; one record file is read."""
        found = self._row(key)
        part = None if found is None else self.parts[found[0]]
        reason = None if found is None or part is None else part.rejection(found[1])
        return None if reason is None or part is None else reason.finding(part.name, key)

    def find(self, key: str) -> int | None:
        """Return the row of a key, or None."""
        found = self._find(key)
        return None if found is None else self._starts[found[0]] + found[1]

    def holds(self, key: str) -> bool:
        """Say whether there is such a key; one record file is read."""
        return self._find(key) is not None

    def get(self, key: str) -> Reference | None:
        """Return the reference of a key, or None; one record file is read."""
        found = self._find(key)
        return None if found is None else self.parts[found[0]].reference_at(found[1])

    def rejected_numbers(self) -> np.ndarray:
        """Return the chunks whose references cannot be used, shape ``(n,)`` int64."""
        found = [part.start + part.rejected_rows() for part in self.parts]
        return np.concatenate([np.empty(0, np.int64), *found])

    def iterate(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[str, Reference]]:
        """Yield keys and references in order; those that cannot be used are skipped."""
        for row in range(start, self.count if stop is None else min(stop, self.count)):
            reference = self.reference_at(row)
            if reference is not None:
                yield self.key_at(row), reference
