"""The part of an array that one record file holds, read as far as a question needs it."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from refexplorer.formats.parquet.footer import BadRecords, Footer
from refexplorer.formats.parquet.store import ParquetStore
from refexplorer.formats.source import ZMETADATA
from refexplorer.refset.columns.reference_columns import Columns
from refexplorer.refset.segments.record_rows import (
    CODES,
    FAILED,
    NO_COUNT,
    failed_rows,
    note_bad_numbers,
    read_rows,
)
from refexplorer.spec.core.diagnostics import Findings, Reason
from refexplorer.spec.core.references import Reference
from refexplorer.spec.core.zarr_metadata import ArrayMeta

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Held:
    """The rows of a record file that hold a reference.

    Attributes
    ----------
    count
        How many.
    rows
        Their numbers, ascending, shape ``(count,)`` int32; None where they are the first ones.
    """

    count: int
    rows: np.ndarray | None = None

    def rows_at(self, positions: np.ndarray) -> np.ndarray:
        """Return the numbers of the rows at some positions, shape ``(n,)`` int64."""
        return positions if self.rows is None else self.rows[positions].astype(np.int64)

    def row_at(self, position: int) -> int:
        """Return the number of the row at a position among those that hold a reference."""
        return position if self.rows is None else int(self.rows[position])

    def position_of(self, row: int) -> int | None:
        """Return the position of a row, None if it holds no reference."""
        position = row if self.rows is None else int(np.searchsorted(self.rows, row))
        return position if position < self.count and self.row_at(position) == row else None


class RecordPart:
    """One record file: its footer, which rows hold a reference, then the references.

    What cannot be read is noted once. What had been counted by then stays counted and is
    `FAILED`, so that the numbers of keys never change.

    Parameters
    ----------
    store, array, number
        The record file.

    Attributes
    ----------
    bad
        Why the file cannot be used, once it was tried.
    """

    def __init__(self, store: ParquetStore, array: ArrayMeta, number: int) -> None:
        self.name = store.record_file(array, number)
        self.start = number * store.record_size
        self._rows = array.chunk_count - self.start
        self._room = store.record_size
        self._overridden = self._rows_in_metadata(store, array)
        self._array = array
        self._file = store.open_records(self.name)
        self._findings = store.findings
        self.bad: BadRecords | None = None
        self._bad_numbers: dict[str, np.ndarray] = {}

    @property
    def is_read(self) -> bool:
        """Whether the references were read."""
        return "columns" in self.__dict__

    @cached_property
    def _footer(self) -> Footer:
        try:
            footer = self._file.footer()
        except BadRecords as bad:
            return self._note(bad, Footer(0, 0))
        if footer.absent and footer.rows:
            columns = " and ".join(f"`{name}`" for name in footer.absent)
            # its driver asks for all four (vsikerchunk_parquet_ref.cpp, GDAL 3.12)
            said = f"GDAL reads no chunk of record files without {columns}; fsspec does."
            self._findings.add("readers-differ", self.name, said, together=True)
        return footer

    @cached_property
    def _told(self) -> int | None:
        """How many rows hold a reference by the footer, where it tells."""
        is_plain = self._footer.rows <= self._rows and not len(self._overridden)
        return self._footer.held if is_plain else None

    @cached_property
    def count(self) -> int:
        """How many rows hold a reference; columns are read where the footer does not tell."""
        return self.held.count if self._told is None else self._told

    @cached_property
    def held(self) -> Held:
        """The rows that hold a reference, inside the grid of the array."""
        if self._told in (0, self._footer.rows):
            return Held(self._told)
        try:
            return self._inside(self._file.held())
        except BadRecords as bad:
            return self._note(bad, Held(self._told or 0))

    def _rows_in_metadata(self, store: ParquetStore, array: ArrayMeta) -> np.ndarray:
        """Return the rows for chunks that ``.zmetadata`` holds itself, ascending."""
        numbers = store.metadata_chunks(array)
        low = bisect_left(numbers, self.start)
        high = bisect_left(numbers, self.start + store.record_size)
        return np.array(numbers[low:high], np.int64) - self.start

    def _shown(self, flags: np.ndarray) -> np.ndarray:
        """Take away the rows that no reader looks at, and note them."""
        overridden = self._overridden[self._overridden < len(flags)]
        twice = overridden[flags[overridden]]
        if not len(twice):
            return flags
        key = self._array.chunk_key(self._array.index_at(self.start + int(twice[0])))
        self._findings.add(
            "duplicate-key",
            self.name,
            f"Row {twice[0]:,} of `{self.name}` is overridden: `{ZMETADATA}` also holds `{key}`.",
            key=key,
            count=len(twice),
        )
        shown = flags.copy()
        shown[twice] = False
        return shown

    def _inside(self, flags: np.ndarray) -> Held:
        flags = self._shown(flags)
        rows = np.flatnonzero(flags).astype(np.int32)
        inside = int(np.searchsorted(rows, min(self._rows, len(flags))))
        if inside < len(rows):
            self._findings.add(
                "parquet-rows-outside-grid",
                self.name,
                f"{len(rows) - inside:,} rows beyond the {self._array.chunk_count:,} chunks of "
                f"`{self._array.path}` hold references, which are ignored.",
                "Check the shape in the metadata of the array.",
            )
        if self._told not in (None, inside):
            raise self._bad(f"it holds {inside:,} references, but {self._told:,} by its statistics")
        dense = not inside or int(rows[inside - 1]) == inside - 1
        return Held(inside, None if dense else rows[:inside])

    @cached_property
    def columns(self) -> Columns:
        """The references, `count` rows; those that cannot be used are `FAILED`."""
        if self._footer.rows == 0:
            return failed_rows(0)
        try:
            read = self._file.columns()
            if len(read.codes) != self._footer.rows:
                raise self._bad("it has changed since the set was opened")
            if "held" not in self.__dict__ and self._told is None:
                self.held = self._inside(read.held)
            held = self.held
            self._bad_numbers = note_bad_numbers(read, self._rows, self.name, self._findings)
            return read_rows(read, held.rows, held.count, self.name, self._findings)
        except BadRecords as bad:
            return self._note(bad, failed_rows(self.count))

    @cached_property
    def failed(self) -> int:
        """How many of the references failed."""
        return int(np.count_nonzero(self.columns.kinds == FAILED))

    def usable(self, positions: np.ndarray) -> np.ndarray:
        """Return those of some positions where the reference did not fail."""
        return positions[self.columns.kinds[positions] != FAILED] if self.failed else positions

    def reference_at(self, position: int) -> Reference | None:
        """Return a reference by its position among those that are held; None if it failed."""
        columns = self.columns
        return None if columns.kinds[position] == FAILED else columns.reference_at(position)

    def rejection(self, row: int) -> Reason | None:
        """Return why the reference in a row cannot be used; None if it can, or there is none."""
        if not self._footer.proved or self.held.position_of(row) is not None:
            self.columns  # noqa: B018  reading tells
        if self.bad is not None:
            return Reason(self.bad.code, str(self.bad))
        for name, rows in self._bad_numbers.items():
            if row in rows:
                said = f"The {name} of row {row:,} of `{self.name}` is {NO_COUNT}."
                return Reason(CODES[name], said)
        return None

    def rejected_rows(self) -> np.ndarray:
        """Return the rows whose references cannot be used, ascending; all of a bad file."""
        self.columns  # noqa: B018  reading tells
        if self.bad is not None:
            return np.arange(min(self._rows, self._room))
        return np.unique(np.concatenate([np.empty(0, np.int64), *self._bad_numbers.values()]))

    def release(self) -> None:
        """Forget the references; when they are read again, nothing is noted twice."""
        if self.__dict__.pop("columns", None) is not None:
            self._findings = Findings()

    def _bad(self, why: str) -> BadRecords:
        return BadRecords(
            "parquet-unreadable", f"The record file `{self.name}` cannot be read: {why}."
        )

    def _note(self, bad: BadRecords, instead: _T) -> _T:
        if self.bad is None:
            self.bad = bad
            self._findings.add(bad.code, self.name, str(bad))
        return instead
