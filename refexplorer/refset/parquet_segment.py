"""The chunks of an array in a parquet store: numbers of chunks beside columns, no keys."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from refexplorer.core.errors import PickledByFields
from refexplorer.core.threads import made_ahead
from refexplorer.formats.columns.chunk_names import chunk_keys
from refexplorer.formats.columns.references import (
    BASE64,
    INLINE,
    KINDS,
    RANGE,
    URL,
    Columns,
    UrlColumn,
    joined_columns,
    number_column,
)
from refexplorer.formats.parquet.records import BadRecords, Footer, RecordColumns, RecordCounts
from refexplorer.formats.parquet.store import ParquetStore, number_of_key
from refexplorer.formats.source import ZMETADATA
from refexplorer.spec.findings import Finding, Findings, Reason
from refexplorer.spec.references import Inline, Reference, read_inline
from refexplorer.spec.zarr_metadata import ArrayMeta

FAILED = 255
"""In place of a kind: a row that was counted and cannot be used; no key is found there."""

CODES = {"offset": "bad-offset", "size": "bad-length"}
"""What is found where a number of a column is no count of bytes."""
NO_COUNT = "not an integer number of bytes from 0 to 2**62 - 1"
_BOTH = "has both `raw` and `path`; `raw` is used"
_WHOLE = "has an offset but size 0, which means the whole file"


def failed_rows(count: int) -> Columns:
    """Return rows none of which can be used."""
    numbers = np.zeros(count, np.int64)
    codes = np.full(count, -1, np.int32)
    return Columns(np.full(count, FAILED, np.uint8), codes, UrlColumn(), numbers, numbers, [])


def read_rows(
    read: RecordColumns, rows: np.ndarray | None, count: int, file: str, findings: Findings
) -> Columns:
    """Return the references of some rows; those that cannot be used are `FAILED`."""
    chosen = slice(count) if rows is None else rows
    codes, offsets, sizes = read.codes[chosen], read.offsets[chosen], read.sizes[chosen]
    kinds = np.where(sizes == 0, np.uint8(URL), np.uint8(RANGE))
    texts: list[str] = []
    inline = np.flatnonzero(read.raw_codes[chosen] >= 0)
    if len(inline):
        codes, offsets, sizes = codes.copy(), offsets.copy(), sizes.copy()
        _note(findings, "parquet-raw-and-path", file, codes[inline] >= 0, _BOTH)
        raw_codes = read.raw_codes[chosen][inline]
        kinds[inline], sizes[inline], texts = _read_raw(read.raw, raw_codes)
        codes[inline], offsets[inline] = -1, np.arange(len(texts))
    _note(findings, "parquet-offset-without-size", file, (kinds == URL) & (offsets != 0), _WHOLE)
    bad = (kinds > BASE64) & ((offsets < 0) | (sizes < 0) | (codes < 0))
    if bad.any():
        kinds[bad] = FAILED
        codes, sizes = np.where(bad, np.int32(-1), codes), np.where(bad, 0, sizes)
    return Columns(kinds, codes, UrlColumn(read.urls), offsets, sizes, texts)


def note_bad_numbers(
    read: RecordColumns, stop: int, file: str, findings: Findings
) -> dict[str, np.ndarray]:
    """Note offsets and sizes of byte ranges that are no whole numbers of bytes, or floats."""
    ranged = ((read.codes >= 0) & (read.raw_codes < 0))[:stop]
    bad: dict[str, np.ndarray] = {}
    for name, numbers in (("offset", read.offsets), ("size", read.sizes)):
        rows, written = np.flatnonzero(ranged & (numbers[:stop] < 0)), read.written[name]
        if len(rows):
            bad[name] = rows
            row = int(rows[0])
            message = (
                f"The {name} of row {row:,} of `{file}` is {written[row].as_py()}, {NO_COUNT}."
            )
            findings.add(CODES[name], file, message, count=len(rows))
    floats = [name for name, column in read.written.items() if pa.types.is_floating(column.type)]
    if floats and ranged.any():
        message = f"The numbers in {' and '.join(floats)} of `{file}` are floats."
        findings.add(
            "float-offset", file, message, "Those without a fraction are read as integers."
        )
    return bad


def _note(findings: Findings, code: str, file: str, odd: np.ndarray, what: str) -> None:
    """Note that some rows of a file are odd."""
    count = int(np.count_nonzero(odd))
    if count:
        findings.add(code, file, f"A row of `{file}` {what}.", count=count)


def _read_raw(
    values: pa.LargeBinaryArray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the kinds, the sizes in bytes and the texts of inline data, by indices into `values`.

    Rows of equal data share one text.
    """
    used, positions = np.unique(codes, return_inverse=True)
    found = [read_inline(value) for value in values.take(number_column(used)).to_pylist()]
    kinds = np.array([INLINE if isinstance(one, Inline) else BASE64 for one in found], np.uint8)
    sizes = np.array([one.size for one in found], np.int64)
    texts = [found[position].text for position in positions.tolist()]
    return kinds[positions], sizes[positions], texts


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class FilledRows:
    """The rows of a record file that hold a reference."""

    count: int  # How many
    # Their numbers, ascending, shape ``(count,)`` int32; None where they are the first ones
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


class Tally(NamedTuple):
    """What references come to."""

    kinds: np.ndarray  # How many there are of each of `KINDS`, int64
    bytes: int  # Of byte ranges and inline data
    failed: int  # References that cannot be used

    @property
    def references(self) -> int:
        """How many there are in all."""
        return int(self.kinds.sum()) + self.failed

    @classmethod
    def of(cls, columns: Columns) -> Tally:
        """Count references in columns."""
        kinds = np.bincount(columns.kinds, minlength=FAILED + 1)
        return cls(kinds[: len(KINDS)], columns.total(), int(kinds[FAILED]))

    @classmethod
    def of_counts(cls, found: RecordCounts) -> Tally:
        """Take over what was counted in a record file."""
        kinds = np.zeros(len(KINDS), np.int64)
        kinds[RANGE], kinds[URL] = found.ranges, found.whole
        return cls(kinds, found.bytes, 0)


class RecordPart:
    """One record file: its footer, which rows hold a reference, then the references.

    What cannot be read is noted once. What had been counted by then stays counted and is
    `FAILED`, so that the numbers of keys never change.
    """

    def __init__(self, store: ParquetStore, array: ArrayMeta, number: int) -> None:
        self.number = number
        self.name = store.record_file(array, number)
        self.start = number * store.record_size
        self._rows = array.chunk_count - self.start
        self._room = store.record_size
        self._overridden = self._rows_in_metadata(store, array)
        self._array = array
        self._file = store.open_records(self.name)
        self._findings = store.findings
        self.bad: BadRecords | None = None
        self._tally: Tally | None = None
        self._bad_numbers: dict[str, np.ndarray] = {}

    @property
    def is_tallied(self) -> bool:
        """Whether `tally` is known without reading."""
        return self._tally is not None or self.is_read

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
            message = f"GDAL reads no chunk of record files without {columns}; fsspec does."
            self._findings.add("readers-differ", self.name, message, together=True)
        return footer

    @cached_property
    def _known_count(self) -> int | None:
        """How many rows hold a reference by the footer, where it tells."""
        is_plain = self._footer.rows <= self._rows and not len(self._overridden)
        return self._footer.held if is_plain else None

    @cached_property
    def count(self) -> int:
        """How many rows hold a reference; columns are read where the footer does not tell."""
        if self._known_count is not None:
            return self._known_count
        return self.held.count if self._tally is None else self._tally.references

    @cached_property
    def held(self) -> FilledRows:
        """The rows that hold a reference, inside the grid of the array."""
        if self._known_count in (0, self._footer.rows):
            return FilledRows(self._known_count)
        try:
            return self._inside(self._file.held())
        except BadRecords as bad:
            return self._note(bad, FilledRows(self._known_count or 0))

    def _rows_in_metadata(self, store: ParquetStore, array: ArrayMeta) -> np.ndarray:
        """Return the rows for chunks that ``.zmetadata`` holds itself, ascending."""
        numbers = store.metadata_chunks(array)
        low = bisect_left(numbers, self.start)
        high = bisect_left(numbers, self.start + store.record_size)
        return np.array(numbers[low:high], np.int64) - self.start

    def _without_overridden(self, flags: np.ndarray) -> np.ndarray:
        """Take away the rows that no reader looks at, and note them."""
        overridden = self._overridden[self._overridden < len(flags)]
        twice = overridden[flags[overridden]]
        if not len(twice):
            return flags
        key = self._array.chunk_key(self._array.index_at(self.start + int(twice[0])))
        self._findings.add(
            "duplicate-key",
            self.name,
            f"Row {twice[0]:,} of `{self.name}` is overridden: `{ZMETADATA}` also has `{key}`.",
            key=key,
            count=len(twice),
        )
        shown = flags.copy()
        shown[twice] = False
        return shown

    def _inside(self, flags: np.ndarray) -> FilledRows:
        flags = self._without_overridden(flags)
        rows = np.flatnonzero(flags).astype(np.int32)
        inside = int(np.searchsorted(rows, min(self._rows, len(flags))))
        if inside < len(rows):
            self._findings.add(
                "parquet-rows-outside-grid",
                self.name,
                f"{len(rows) - inside:,} rows beyond the {self._array.chunk_count:,} chunks of "
                f"`{self._array.path}` have references, which are ignored.",
                "Check the shape in the metadata of the array.",
            )
        if self._known_count not in (None, inside):
            raise self._bad(
                f"it has {inside:,} references, but {self._known_count:,} by its statistics"
            )
        dense = not inside or int(rows[inside - 1]) == inside - 1
        return FilledRows(inside, None if dense else rows[:inside])

    @cached_property
    def columns(self) -> Columns:
        """The references, `count` rows; those that cannot be used are `FAILED`."""
        if self._footer.rows == 0:
            return failed_rows(0)
        try:
            read = self._file.columns()
            if len(read.codes) != self._footer.rows:
                raise self._changed()
            if "held" not in self.__dict__ and self._known_count is None:
                self.held = self._inside(read.held)
            held = self.held
            self._bad_numbers = note_bad_numbers(read, self._rows, self.name, self._findings)
            return read_rows(read, held.rows, held.count, self.name, self._findings)
        except BadRecords as bad:
            return self._note(bad, failed_rows(self.count))

    @property
    def is_full(self) -> bool:
        """Whether each chunk that it has room for has a reference."""
        return self.count + len(self._overridden) >= min(self._rows, self._room)

    @property
    def failed(self) -> int:
        """How many of the references failed."""
        return self.tally.failed

    @property
    def tally(self) -> Tally:
        """What its references come to."""
        if self._tally is not None and not self.is_read:
            return self._tally
        return self.tallied(self.counts())[0]

    def tallied(self, counts: RecordCounts | None) -> tuple[Tally, UrlColumn]:
        """Return what its references come to, and their targets; without counts all is read."""
        if counts is not None and "count" in vars(self) and counts.references != self.count:
            self._note(self._changed(), None)  # what is read now is not what was counted before
        elif counts is not None and self._known_count in (None, counts.references):
            self._tally, urls = Tally.of_counts(counts), UrlColumn(counts.urls)
            return self._tally, urls
        is_fresh, columns = not self.is_read, self.columns
        tally = Tally.of(columns)
        if is_fresh:
            self.release()
        self._tally = tally
        return tally, columns.urls_used()

    def counts(self) -> RecordCounts | None:
        """Count references without reading all of them; None where that has to be done.

        Nothing is noted, so any thread may call it.
        """
        if self.is_read or self._overridden.size or self.bad is not None:
            return None
        try:
            return self._file.counts(self._rows)
        except BadRecords:  # is noted when all is read
            return None

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
                message = f"The {name} of row {row:,} of `{self.name}` is {NO_COUNT}."
                return Reason(CODES[name], message)
        return None

    def rejected_rows(self) -> np.ndarray:
        """Return the rows whose references cannot be used, ascending; all of a bad file."""
        self.tally  # noqa: B018  reading tells
        if self.bad is not None:
            return np.arange(min(self._rows, self._room))
        return np.unique(np.concatenate([np.empty(0, np.int64), *self._bad_numbers.values()]))

    def release(self) -> None:
        """Forget the references; when they are read again, nothing is noted twice."""
        if self.__dict__.pop("columns", None) is not None:
            self._findings = Findings()

    def _changed(self) -> BadRecords:
        return self._bad("it has changed since the set was opened")

    def _bad(self, why: str) -> BadRecords:
        return BadRecords(
            "parquet-unreadable", f"The record file `{self.name}` cannot be read: {why}."
        )

    def _note(self, bad: BadRecords, instead: _T) -> _T:
        if self.bad is None:
            self.bad, self._tally = bad, None
            self._findings.add(bad.code, self.name, str(bad))
        return instead


class Loaded(NamedTuple):
    """The n references of an array."""

    numbers: np.ndarray  # Of their chunks, ascending, shape ``(n,)`` int64
    columns: Columns  # What they refer to


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
        """The record files that are there, in order."""
        numbers = self.store.record_numbers(self.array)
        return tuple(RecordPart(self.store, self.array, number) for number in numbers)

    def missing_files(self) -> Iterator[tuple[int, int, bool]]:
        """Yield the first and the last of record files that are missing side by side.

        And whether they were probably lost: the files before and after refer to each chunk, and
        kerchunk leaves out only files without any reference.
        """
        end = self.store.record_count(self.array)
        before: RecordPart | None = None
        for part in self.parts:
            first = 0 if before is None else before.number + 1
            if first < part.number:
                is_lost = before is not None and before.is_full and part.is_full
                yield first, part.number - 1, is_lost
            before = part
        # kerchunk writes none for an array without references, which has a finding
        if before is not None and before.number + 1 < end:
            yield before.number + 1, end - 1, False

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
        """Bytes of all references; None before they were counted, and of whole files."""
        tallies = [part.tally for part in self.parts if part.is_tallied]
        if len(tallies) < len(self.parts) or any(each.kinds[URL] for each in tallies):
            return None
        return sum(each.bytes for each in tallies)

    def tallied(self) -> Iterator[tuple[Tally, UrlColumn]]:
        """Yield what the references of each record file come to, and their targets.

        Few files are held at once.
        """
        if len(self.parts) == 1:
            yield self.parts[0].tallied(self.parts[0].counts())
            return
        yield from map(RecordPart.tallied, self.parts, made_ahead(RecordPart.counts, self.parts))

    @property
    def present(self) -> int:
        """How many chunks have a reference that can be used; the record files are read."""
        if not all(part.is_tallied for part in self.parts):
            deque(self.tallied(), 0)
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

    def _part_of_row(self, row: int) -> tuple[RecordPart, int]:
        """Return the record file that a row is in, and its position there."""
        number = bisect_right(self._starts, row) - 1
        return self.parts[number], row - self._starts[number]

    def chunk_number(self, row: int) -> int:
        """Return the number of a chunk in its grid, in C order."""
        part, position = self._part_of_row(row)
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
        part, position = self._part_of_row(row)
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

    def rejection(self, key: str) -> Finding | None:
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
