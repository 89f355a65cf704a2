"""The chunks of an array in a parquet store: chunk numbers and columns, no keys."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa

from refexplorer.core.text import counted
from refexplorer.formats.columns.references import (
    BASE64,
    INLINE,
    KINDS,
    RANGE,
    URL,
    Columns,
    UrlColumn,
    number_column,
)
from refexplorer.formats.parquet.records import BadRecords, Footer, RecordColumns
from refexplorer.formats.parquet.store import ParquetStore
from refexplorer.formats.source import ZMETADATA
from refexplorer.refset.numbered_segment import (
    FAILED,
    FilledRows,
    Records,
    SegmentPart,
    Tally,
    TargetTally,
    failed_rows,
)
from refexplorer.spec.findings import Findings, Reason
from refexplorer.spec.references import Inline, read_inline
from refexplorer.spec.zarr_metadata import ArrayMeta

CODES = {"offset": "bad-offset", "size": "bad-length"}
"""The diagnostic codes for invalid numbers in a column."""
NO_COUNT = "not an integer number of bytes from 0 to 2**62 - 1"
_BOTH = "has both `raw` and `path`; `raw` is used"
_TYPES = "Write `path` as text and `raw` as bytes, even if all are null."
_ZEROS = "Write 0 in rows without a reference."
_WHOLE = "has an offset but size 0, which means the whole file"


def read_rows(
    read: RecordColumns, rows: np.ndarray | None, count: int, file: str, findings: Findings
) -> Columns:
    """Return the references of some rows; unusable ones are `FAILED`."""
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
    """Report offsets and sizes of byte ranges that are not integers, or are floats."""
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
            "float-offset", file, message, "Numbers without a fraction are read as integers."
        )
    elif ranged.any() and any(column.null_count for column in read.written.values()):
        message = "fsspec fails to read byte ranges of record files with null in `offset` or `size`"
        findings.add("readers-differ", file, f"{message}.", _ZEROS, together=True)
    return bad


def _note(findings: Findings, code: str, file: str, odd: np.ndarray, what: str) -> None:
    """Report odd rows of a file."""
    count = int(np.count_nonzero(odd))
    if count:
        findings.add(code, file, f"A row of `{file}` {what}.", count=count)


def _read_raw(
    values: pa.LargeBinaryArray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the kinds, sizes in bytes and texts of inline data, by indices into `values`."""
    # Rows with equal data share one text.
    used, positions = np.unique(codes, return_inverse=True)
    found = [read_inline(value) for value in values.take(number_column(used)).to_pylist()]
    kinds = np.array([INLINE if isinstance(one, Inline) else BASE64 for one in found], np.uint8)
    sizes = np.array([one.size for one in found], np.int64)
    texts = [found[position].text for position in positions.tolist()]
    return kinds[positions], sizes[positions], texts


_T = TypeVar("_T")


class RecordPart(SegmentPart):
    """One record file: its footer, which rows hold a reference, then the references."""

    # An unreadable file is reported once. References counted until then stay counted and are
    # `FAILED`, so that the numbers of keys never change.

    def __init__(self, store: ParquetStore, array: ArrayMeta, number: int) -> None:
        self.number = number
        self.name = store.record_file(array, number)
        self.start = number * store.record_size
        self._rows = array.chunk_count - self.start
        self.room = store.record_size
        # Rows for chunks stored in ``.zmetadata``, ascending
        numbers = store.metadata_chunks.get(array.path, [])
        low, high = (bisect_left(numbers, self.start + n) for n in (0, store.record_size))
        self._overridden = np.array(numbers[low:high], np.int64) - self.start
        self._array = array
        self._file = store.open_records(self.name)
        self._findings = store.findings
        self.bad: BadRecords | None = None
        self._bad_numbers: dict[str, np.ndarray] = {}
        self._decoded: RecordColumns | None = None

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
        if footer.mistyped and footer.held != 0:
            message = f"fsspec fails to read byte ranges of record files with {footer.mistyped}."
            self._findings.add("readers-differ", self.name, message, _TYPES, together=True)
        if footer.rows < (chunks := min(self._rows, self.room)):
            message = (
                f"The record file `{self.name}` has {counted(footer.rows, 'row')}, but is for "
            )
            message += f"{counted(chunks, 'chunk')} of `{self._array.path}`: fsspec fails to read "
            message += "the others."
            self._findings.add("parquet-too-few-rows", self.name, message)
        return footer

    @cached_property
    def _known_count(self) -> int | None:
        """The number of rows with a reference, if the footer has it."""
        is_plain = self._footer.rows <= self._rows and not len(self._overridden)
        return self._footer.held if is_plain else None

    @cached_property
    def count(self) -> int:
        """The number of rows with a reference; columns are read if the footer lacks it."""
        if self._known_count is not None:
            return self._known_count
        return self.held.count if self._tally is None else self._tally.references

    @cached_property
    def held(self) -> FilledRows:
        """The rows with a reference, inside the grid of the array."""
        if self._known_count in (0, self._footer.rows):
            return FilledRows(self._known_count)
        try:
            return self._inside(self._file.held())
        except BadRecords as bad:
            return self._note(bad, FilledRows(self._known_count or 0))

    def _without_overridden(self, flags: np.ndarray) -> np.ndarray:
        """Drop the rows that no reader uses, and report them."""
        overridden = self._overridden[self._overridden < len(flags)]
        twice = overridden[flags[overridden]]
        if not len(twice):
            return flags
        key = self._array.key_at(self.start + int(twice[0]))
        message = (
            f"Row {twice[0]:,} of `{self.name}` is overridden: `{ZMETADATA}` also has `{key}`."
        )
        self._findings.add("duplicate-key", self.name, message, key=key, count=len(twice))
        shown = flags.copy()
        shown[twice] = False
        return shown

    def _inside(self, flags: np.ndarray) -> FilledRows:
        flags = self._without_overridden(flags)
        rows = np.flatnonzero(flags).astype(np.int32)
        inside = int(np.searchsorted(rows, min(self._rows, len(flags))))
        if inside < len(rows):
            message = (
                f"{len(rows) - inside:,} rows beyond the {self._array.chunk_count:,} chunks of "
                f"`{self._array.path}` have references, which are ignored."
            )
            hint = "Check the shape in the metadata of the array."
            self._findings.add("parquet-rows-outside-grid", self.name, message, hint)
        if self._known_count not in (None, inside):
            raise self._bad(
                f"it has {inside:,} references, but {self._known_count:,} by its statistics"
            )
        dense = not inside or int(rows[inside - 1]) == inside - 1
        return FilledRows(inside, None if dense else rows[:inside])

    @cached_property
    def columns(self) -> Columns:
        """The references, `count` rows; unusable ones are `FAILED`."""
        if self._footer.rows == 0:
            return failed_rows(0)
        try:
            read, self._decoded = self._decoded or self._file.columns(), None
            if len(read.codes) != self._footer.rows:
                raise self._changed()
            is_known = self._known_count in (0, self._footer.rows)
            if "held" not in self.__dict__ and not is_known:
                self.held = self._inside(read.held)
            held = self.held
            self._bad_numbers = note_bad_numbers(read, self._rows, self.name, self._findings)
            return read_rows(read, held.rows, held.count, self.name, self._findings)
        except BadRecords as bad:
            return self._note(bad, failed_rows(self.count))

    def decode(self) -> None:
        """Decode the columns; an error is reported when they are read."""
        if not self.is_read and self.bad is None:
            with suppress(BadRecords):
                self._decoded = self._file.columns()

    @property
    def is_full(self) -> bool:
        """Whether every chunk in its range has a reference."""
        return self.count + len(self._overridden) >= min(self._rows, self.room)

    def tallied(self, counts: TargetTally | None) -> TargetTally:
        """Return the totals of its references, and their targets; all are read if not counted."""
        if counts is not None and "count" in vars(self) and counts[0].references != self.count:
            self._note(self._changed(), None)  # what is read now is not what was counted before
            counts = None
        if counts is not None and self._known_count not in (None, counts[0].references):
            counts = None
        return super().tallied(counts)

    def counted(self) -> TargetTally | None:
        """Count references without keeping any; None if all must be read."""
        if self.is_read or self._overridden.size or self.bad is not None:
            return None
        try:
            found = self._file.counts(self._rows)
        except BadRecords:  # is noted when all is read
            return None
        if found is None:
            return None
        kinds = np.zeros(len(KINDS), np.int64)
        kinds[RANGE], kinds[URL] = found.ranges, found.whole
        return Tally(kinds, found.bytes, 0), UrlColumn(found.urls)

    def rejection(self, row: int) -> Reason | None:
        """Return why the reference in a row cannot be used; None if it can, or there is none."""
        if not self._footer.proved or self.held.position_of(row) is not None:
            self.columns  # noqa: B018  reading shows it
        if self.bad is not None:
            return Reason(self.bad.code, str(self.bad))
        for name, rows in self._bad_numbers.items():
            if row in rows:
                message = f"The {name} of row {row:,} of `{self.name}` is {NO_COUNT}."
                return Reason(CODES[name], message)
        return None

    def rejected_rows(self) -> np.ndarray:
        """Return the rows with unusable references, ascending; all for a bad file."""
        self.tally  # noqa: B018  reading shows it
        if self.bad is not None:
            return np.arange(min(self._rows, self.room))
        return np.unique(np.concatenate([np.empty(0, np.int64), *self._bad_numbers.values()]))

    def _forget(self) -> None:
        del self.columns
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


def _are_equal(one: RecordPart, other: RecordPart) -> bool:
    """Return whether two record files have the same references, all of which can be used."""
    fresh = [part for part in (one, other) if not part.is_read]
    first, second = one.columns, other.columns
    positions = first.urls.joined(second.urls)[1]
    targets = np.array([*positions, -1], np.int32)[second.targets]
    pairs = (
        (one.held.rows_at(np.arange(one.count)), other.held.rows_at(np.arange(other.count))),
        (first.kinds, second.kinds),
        (first.targets, targets),
        (first.offsets, second.offsets),
        (first.lengths, second.lengths),
        (first.texts, second.texts),
    )
    is_equal = all(np.array_equal(*pair) for pair in pairs) and not (first.kinds == FAILED).any()
    for part in fresh:
        part.release()
    return is_equal


@dataclass(frozen=True)
class ParquetRecords(Records):
    """The references of one array of a parquet store: its record files, with footer counts."""

    store: ParquetStore
    array: ArrayMeta

    origin = "parquet"
    counted_in_a_second = 2e7

    @cached_property
    def parts(self) -> tuple[RecordPart, ...]:  # type: ignore[override]
        """The existing record files, in order."""
        numbers = self.store.record_numbers(self.array)
        return tuple(RecordPart(self.store, self.array, number) for number in numbers)

    def among(self, parts: Collection[RecordPart]) -> ParquetRecords:
        """Return the same with some of its record files alone."""
        found = replace(self)
        vars(found)["parts"] = tuple(parts)
        return found

    def equal_files(self, other: ParquetRecords) -> set[int]:
        """Return the numbers of record files that both have with the same references."""
        # Two are read at a time, and none is kept.
        if self.store.record_size != other.store.record_size or self._style != other._style:
            return set()
        theirs = {part.number: part for part in other.parts}
        pairs = ((part, theirs[part.number]) for part in self.parts if part.number in theirs)
        return {one.number for one, another in pairs if _are_equal(one, another)}

    @property
    def _style(self) -> object:
        """What determines the keys of its chunks."""
        return self.array.path, self.array.prefix, self.array.separator, self.array.grid

    def missing_files(self) -> Iterator[tuple[int, int, bool]]:
        """Yield the first and the last of consecutive missing record files."""
        # And whether they were probably lost: the files before and after have references to each
        # chunk, and kerchunk omits only files without any reference.
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
