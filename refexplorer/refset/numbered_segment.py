"""The chunks of an array, by number in its grid: no keys, and parts that are read separately.

A part is a record file of a parquet store, or a manifest of an Icechunk repository.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from refexplorer.core.errors import PickledByFields
from refexplorer.core.files import Progress
from refexplorer.formats.columns.chunk_names import chunk_keys
from refexplorer.formats.columns.references import KINDS, URL, Columns, UrlColumn, joined_columns
from refexplorer.spec.findings import Finding, Reason
from refexplorer.spec.references import Reference
from refexplorer.spec.zarr_metadata import ArrayMeta

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Given = TypeVar("Given")
Made = TypeVar("Made")
_AHEAD = 2  # Results for each thread that are made before they are needed


def made_ahead(work: Callable[[Given], Made], given: Iterable[Given]) -> Iterator[Made]:
    """Yield the result for each item, in order; a few are computed ahead on all processors."""
    waiting: deque[Future[Made]] = deque()
    from concurrent.futures import ThreadPoolExecutor  # opening would wait for it

    threads = os.cpu_count() or 1
    with ThreadPoolExecutor(threads, "refexplorer-ahead") as pool:
        try:
            for each in given:
                waiting.append(_started(pool, work, each))
                if len(waiting) > _AHEAD * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _started(pool: ThreadPoolExecutor, work: Callable[[Given], Made], given: Given) -> Future[Made]:
    from concurrent.futures import Future

    try:
        return pool.submit(work, given)
    except RuntimeError:  # no thread can be started, as in a browser
        done: Future[Made] = Future()
        done.set_result(work(given))
        return done


FAILED = 255  # In place of a kind: a row that was counted and cannot be used; no key is found there


def failed_rows(count: int) -> Columns:
    """Return unusable rows."""
    numbers = np.zeros(count, np.int64)
    codes = np.full(count, -1, np.int32)
    return Columns(np.full(count, FAILED, np.uint8), codes, UrlColumn(), numbers, numbers, [])


@dataclass(frozen=True, slots=True)
class FilledRows:
    """The rows of a part with a reference: chunks, counted from the part's first one."""

    count: int  # How many
    # Their numbers, ascending, shape ``(count,)``; None where they are the first ones
    rows: np.ndarray | None = None

    def rows_at(self, positions: np.ndarray) -> np.ndarray:
        """Return the row numbers at some positions, shape ``(n,)`` int64."""
        return positions if self.rows is None else self.rows[positions].astype(np.int64)

    def row_at(self, position: int) -> int:
        """Return the row number at a position among those with a reference."""
        return position if self.rows is None else int(self.rows[position])

    def position_of(self, row: int) -> int | None:
        """Return the position of a row, None if it has no reference."""
        position = row if self.rows is None else int(np.searchsorted(self.rows, row))
        return position if position < self.count and self.row_at(position) == row else None


class Tally(NamedTuple):
    """Totals of references."""

    kinds: np.ndarray  # How many there are of each of `KINDS`, int64
    bytes: int  # Of byte ranges and inline data
    failed: int  # References that cannot be used

    @property
    def references(self) -> int:
        """The total number of references."""
        return int(self.kinds.sum()) + self.failed

    @classmethod
    def of(cls, columns: Columns) -> Tally:
        """Count references in columns."""
        kinds = np.bincount(columns.kinds, minlength=FAILED + 1)
        return cls(kinds[: len(KINDS)], columns.total(), int(kinds[FAILED]))


TargetTally = tuple[Tally, UrlColumn]  # What references come to, and their targets


class SegmentPart(ABC):
    """Some chunks of an array whose references are read together."""

    name: str  # The file that contains them
    start: int  # Number of the first chunk that it has room for
    room: int  # How many chunks it has room for
    _tally: Tally | None = None

    @property
    @abstractmethod
    def is_read(self) -> bool:
        """Whether the references were read."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of rows with a reference; as little as possible is read."""

    @property
    @abstractmethod
    def held(self) -> FilledRows:
        """The rows with a reference, inside the grid of the array."""

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """The references, `count` rows; unusable ones are `FAILED`."""

    def decode(self) -> None:
        """Decode the references ahead of `columns`, if any thread can; nothing is reported."""
        return

    def release(self) -> None:
        """Drop the references but keep the counts; when read again, nothing is reported twice."""
        if self.is_read:
            self._tally = Tally.of(self.columns)
            self._forget()

    @abstractmethod
    def _forget(self) -> None:
        """Drop the references that were read."""

    @abstractmethod
    def counted(self) -> TargetTally | None:
        """Count references without keeping any; None if all must be read, as by `tallied`."""
        # Nothing is reported, so any thread may call it.

    def tallied(self, counts: TargetTally | None) -> TargetTally:
        """Return the totals of its references, and their targets; all are read if not counted."""
        if counts is None:
            is_fresh, columns = not self.is_read, self.columns
            counts = Tally.of(columns), columns.urls_used()
            if is_fresh:
                self.release()
        self._tally = counts[0]
        return counts

    @property
    def is_tallied(self) -> bool:
        """Whether `tally` is known without reading."""
        return self._tally is not None or self.is_read

    @property
    def tally(self) -> Tally:
        """The totals of its references."""
        if self._tally is not None and not self.is_read:
            return self._tally
        return self.tallied(self.counted())[0]

    def usable(self, positions: np.ndarray) -> np.ndarray:
        """Return the positions whose reference did not fail."""
        kinds = self.columns.kinds[positions]
        return positions[kinds != FAILED] if (kinds == FAILED).any() else positions

    def reference_at(self, position: int) -> Reference | None:
        """Return a reference by its position; None if it failed."""
        columns = self.columns
        return None if columns.kinds[position] == FAILED else columns.reference_at(position)

    def rejection(self, row: int) -> Reason | None:
        """Return why the reference in a row cannot be used; None if it can, or there is none."""
        return None

    def rejected_rows(self) -> np.ndarray:
        """Return the rows with unusable references, ascending; all for a bad file."""
        return np.empty(0, np.int64)


class Loaded(NamedTuple):
    """The n references of an array."""

    numbers: np.ndarray  # Of their chunks, ascending, shape ``(n,)`` int64
    columns: Columns  # What they refer to


class Records(PickledByFields):
    """The references of one array by the numbers of its chunks."""

    array: ArrayMeta
    parts: tuple[SegmentPart, ...]  # Those that are there, in order
    origin: str
    counted_in_a_second: float  # References that `tallied` goes through, about

    @property
    def folder(self) -> str:
        """The path of the array."""
        return self.array.path

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        """The number of references before each part, and the total."""
        return tuple(accumulate((part.count for part in self.parts), initial=0))

    @property
    def count(self) -> int:
        """The number of chunks with a reference."""
        return self._starts[-1]

    @property
    def is_counted(self) -> bool:
        """Whether its references, and its chunks by state, can be counted without reading."""
        return "_starts" in self.__dict__ and self.is_tallied

    @property
    def bound(self) -> int:
        """The count once known, before that the capacity of the parts."""
        if "_starts" in self.__dict__:
            return self.count
        return min(sum(part.room for part in self.parts), self.array.chunk_count)

    @property
    def is_tallied(self) -> bool:
        """Whether its references were counted by kind, so that nothing has to be read."""
        return all(part.is_tallied for part in self.parts)

    @property
    def is_read(self) -> bool:
        """Whether all parts were read."""
        return all(part.is_read for part in self.parts)

    @property
    def size(self) -> int | None:
        """Bytes of all references; None before they were counted, and for whole files."""
        tallies = [part.tally for part in self.parts if part.is_tallied]
        if len(tallies) < len(self.parts) or any(each.kinds[URL] for each in tallies):
            return None
        return sum(each.bytes for each in tallies)

    def tallied(self) -> Iterator[tuple[Tally, UrlColumn]]:
        """Yield the totals of each record file's references, and their targets."""
        if len(self.parts) == 1:
            yield self.parts[0].tallied(self.parts[0].counted())
            return
        counts = made_ahead(lambda part: part.counted(), self.parts)
        yield from (part.tallied(each) for part, each in zip(self.parts, counts, strict=True))

    @property
    def present(self) -> int:
        """The number of chunks with a usable reference; the record files are read."""
        if not self.is_tallied:
            deque(self.tallied(), 0)
        return self.count - sum(part.tally.failed for part in self.parts)

    def read(self) -> None:
        """Read all record files; their faults are reported."""
        for part in self.parts:
            part.columns  # noqa: B018  reading notes

    @property
    def columns(self) -> Columns:
        """All rows, including `FAILED` ones; concatenated again on each access."""
        return joined_columns([part.columns for part in self.parts])

    def between(self, start: int, stop: int) -> Loaded:
        """Return the references of the rows from `start` to `stop`, without failed ones."""
        numbers, columns = [np.empty(0, np.int64)], []
        for part, positions in self._split(np.arange(start, min(stop, self.count))):
            good = part.usable(positions)
            numbers.append(part.start + part.held.rows_at(good))
            columns.append(part.columns.select(good))
        return Loaded(np.concatenate(numbers), joined_columns(columns))

    def blocks(self, size: int) -> Iterator[Loaded]:
        """Yield all usable references, `size` rows at a time."""
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

    def in_turn(
        self, progress: Progress | None = None
    ) -> Iterator[tuple[int, np.ndarray | None, Columns]]:
        """Yield the usable references of each part; release parts that had not been read before.

        With the number of the first chunk, and all numbers, or None if they are consecutive.
        """
        decoded = made_ahead(lambda part: part.decode(), self.parts)
        for done, (part, _) in enumerate(zip(self.parts, decoded, strict=True), 1):
            is_fresh, columns = not part.is_read, part.columns
            good = part.usable(np.arange(part.count))
            rows = part.held.rows
            if len(good) < len(columns):
                rows, columns = part.held.rows_at(good), columns.select(good)
            if len(columns):
                numbers = None if rows is None else part.start + rows.astype(np.int64)
                yield part.start if numbers is None else int(numbers[0]), numbers, columns
            if is_fresh:
                part.release()
            if progress is not None:
                progress(done, len(self.parts))

    def groups(self, size: int) -> Iterator[Loaded]:
        """Yield all usable references; record files are joined until they have `size` rows."""
        numbers, columns, count = list[np.ndarray](), list[Columns](), 0
        for part in self.parts:
            is_fresh = not part.is_read
            # the references first: reading them shows which rows have some
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

    def _part_of_row(self, row: int) -> tuple[SegmentPart, int]:
        """Return the record file of a row, and the position in it."""
        number = bisect_right(self._starts, row) - 1
        return self.parts[number], row - self._starts[number]

    def chunk_number(self, row: int) -> int:
        """Return the number of a chunk in its grid, in C order."""
        part, position = self._part_of_row(row)
        return part.start + part.held.row_at(position)

    def _split(self, rows: np.ndarray) -> Iterator[tuple[SegmentPart, np.ndarray]]:
        """Yield the record files of ascending rows, with the positions in them."""
        bounds = np.searchsorted(rows, self._starts)
        for part, start, low, high in zip(
            self.parts, self._starts, bounds, bounds[1:], strict=False
        ):
            if low < high:
                yield part, rows[low:high] - start

    def chunk_numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of the chunks of some rows, ascending, shape ``(n,)`` int64."""
        parts = (part.start + part.held.rows_at(places) for part, places in self._split(rows))
        return np.concatenate([np.empty(0, np.int64), *parts])

    def keys_at(self, rows: np.ndarray) -> pa.LargeStringArray:
        """Return the keys of ascending rows, shape ``(n,)``."""
        return chunk_keys(self.array, self.chunk_numbers(rows))

    def key_at(self, row: int) -> str:
        """Return a key by its row."""
        return self.array.key_at(self.chunk_number(row))

    def reference_at(self, row: int) -> Reference | None:
        """Return a reference by its row; None if unusable."""
        part, position = self._part_of_row(row)
        return part.reference_at(position)

    def _row(self, key: str) -> tuple[int, int] | None:
        """Return the part and the row for a key."""
        number = self.array.number_of_key(key)
        if number is None:
            return None
        file = bisect_right(self.parts, number, key=lambda part: part.start) - 1
        row = -1 if file < 0 else number - self.parts[file].start
        return (file, row) if 0 <= row < self.parts[file].room else None

    def _find(self, key: str) -> tuple[int, int] | None:
        """Return the part that contains a key, and its position there."""
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
        """Return whether a key exists; one record file is read."""
        return self._find(key) is not None

    def get(self, key: str) -> Reference | None:
        """Return the reference of a key, or None; one record file is read."""
        found = self._find(key)
        return None if found is None else self.parts[found[0]].reference_at(found[1])

    def rejected_numbers(self) -> np.ndarray:
        """Return the chunks with unusable references, shape ``(n,)`` int64."""
        found = [part.start + part.rejected_rows() for part in self.parts]
        return np.concatenate([np.empty(0, np.int64), *found])

    def iterate(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[str, Reference]]:
        """Yield keys and references in order; unusable ones are skipped."""
        for row in range(start, self.count if stop is None else min(stop, self.count)):
            reference = self.reference_at(row)
            if reference is not None:
                yield self.key_at(row), reference
