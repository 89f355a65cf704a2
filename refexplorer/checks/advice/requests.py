"""Chunks that are read, and the requests that each reader makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from refexplorer.checks.advice.connections import (
    FSSPEC,
    OBSTORE,
    OURS,
    READERS,
    Connection,
    MergeRules,
)
from refexplorer.formats.columns.references import LARGEST, exact_sum

_NEAR = 32  # ranges of a request that are looked at together before a binary search begins


@dataclass(frozen=True)
class Requests:
    """n requests, in the order of their reads."""

    # The number of the read that each belongs to, ascending, shape ``(n,)`` int64; the files of a
    # reader that is called for each are reads of their own
    reads: np.ndarray
    # targets, starts, ends: What is asked for, shape ``(n,)``; whole numbers of Python where one
    # does not fit into 64 bits
    targets: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Bytes of each, shape ``(n,)``."""
        sizes: np.ndarray = self.ends - self.starts
        return sizes


class Reads:
    """References that are read, of one read or several that follow each other.

    Only what is asked for together can be merged: the tasks of Dask are reads of their own.
    """

    def __init__(
        self, reads: np.ndarray, targets: np.ndarray, offsets: np.ndarray, lengths: np.ndarray
    ) -> None:
        self.count = len(reads)
        is_whole = offsets < 0
        self._whole = reads[is_whole], targets[is_whole]
        columns = reads, targets, offsets, lengths
        if self.whole:
            is_range = ~is_whole
            columns = reads[is_range], targets[is_range], offsets[is_range], lengths[is_range]
        self._reads, self._targets, self._starts, self._ends = _ordered(*columns)
        one_read = not self.whole and not reads.any()
        self.files = self.least_requests if one_read else len(np.unique(targets))

    @property
    def whole(self) -> int:
        """How many whole files are read, whose size is not known."""
        return len(self._whole[0])

    @property
    def is_one_of_ranges(self) -> bool:
        """Whether this is a single read, of ranges in 64 bits alone."""
        return not self.whole and self._starts.dtype != object and not self._reads.any()

    def bounds(self) -> tuple[tuple[int, int, int], tuple[int, int, int], int]:
        """Return target, start and end of the first and of the last range, and its file's end."""
        targets, starts, ends = self._targets, self._starts, self._ends
        first = int(targets[0]), int(starts[0]), int(ends[0])
        last = int(targets[-1]), int(starts[-1]), int(ends[-1])
        return first, last, int(ends[np.searchsorted(targets, last[0]) :].max())

    def behind(self, target: int, start: int, end: int) -> Reads:
        """Return the same ranges behind another one."""
        columns = self._reads, self._targets, self._starts, self._ends - self._starts
        row = 0, target, start, end - start
        return Reads(*(np.append(one, column) for one, column in zip(row, columns, strict=True)))

    @cached_property
    def bytes(self) -> int:
        """Bytes of all ranges; those of whole files are not among them."""
        return exact_sum(self._ends - self._starts)

    @cached_property
    def least_requests(self) -> int:
        """One for each file of each read: no merging takes fewer."""
        if not self.whole:
            return int(np.count_nonzero(self._is_new))
        reads = np.concatenate([self._reads, self._whole[0]])
        targets = np.concatenate([self._targets, self._whole[1]])
        return _pairs(reads, targets)

    @cached_property
    def least_bytes(self) -> int:
        """Bytes that ranges cover, each counted once for each read."""
        if self._is_plain:
            gaps = self._gaps
            return self.bytes - exact_sum(-gaps[gaps < 0])
        total, last = 0, 0
        rows = zip(self._is_new.tolist(), self._starts.tolist(), self._ends.tolist(), strict=True)
        for begins, start, end in rows:
            last = start if begins else max(last, start)
            total, last = total + max(end - last, 0), max(last, end)
        return total

    @cached_property
    def _is_new(self) -> np.ndarray:
        """Where another read or target begins, shape ``(n,)`` bool."""
        begins: np.ndarray = _begins(self._reads) | _begins(self._targets)
        return begins

    @cached_property
    def _is_plain(self) -> bool:
        """Whether of no two ranges of a file one lies inside the other."""
        if self._starts.dtype == object:
            return False
        return bool((self._is_new[1:] | (self._ends[1:] >= self._ends[:-1])).all())

    @cached_property
    def _gaps(self) -> np.ndarray:
        """Bytes between each range and the one before; `LARGEST` where a read or target begins."""
        return _gaps(self._is_new, self._starts, self._ends)

    def whole_requests(self, rules: MergeRules) -> int:
        """Return how many requests ask for whole files."""
        if rules.gap is None or rules is OBSTORE:
            return self.whole
        return _pairs(*self._whole)

    def requests(self, rules: MergeRules) -> Requests:
        """Return the requests for ranges as a reader makes them."""
        if rules.gap is None:
            return Requests(self._reads, self._targets, self._starts, self._ends)
        starts, ends, reads, targets = self._starts, self._ends, self._reads, self._targets
        is_new, gaps = self._is_new, self._gaps if self._is_plain else None
        if not (kept := self._asked_for(rules)).all():
            starts, ends, reads, targets = (
                column[kept] for column in (starts, ends, reads, targets)
            )
            is_new = _begins(reads) | _begins(targets)
            gaps = None if gaps is None else _gaps(is_new, starts, ends)
        if rules.by_file:
            reads = np.cumsum(is_new) - 1
        if gaps is None:
            return _merged_one_by_one(reads, targets, is_new, starts, ends, rules)
        first = _first_of_requests(gaps, starts, ends, rules)
        last = np.append(first[1:], len(starts)) - 1 if len(first) else first
        return Requests(reads[first], targets[first], starts[first], ends[last])

    def _asked_for(self, rules: MergeRules) -> np.ndarray:
        """Say which ranges a reader asks for, shape ``(n,)`` bool."""
        if rules is OURS:
            return np.asarray(self._starts != self._ends)
        kept = np.ones(len(self._starts), np.bool_)
        if rules is not FSSPEC or not self.whole or not len(kept):
            return kept
        # it takes the ranges of a file that it reads whole
        if not self._reads.any() and not self._whole[0].any():
            kept = ~np.isin(self._targets, self._whole[1])
        else:
            whole = set(zip(*(column.tolist() for column in self._whole), strict=True))
            rows = zip(self._reads.tolist(), self._targets.tolist(), strict=True)
            kept[:] = [row not in whole for row in rows]
        return kept


def _pairs(reads: np.ndarray, targets: np.ndarray) -> int:
    """Count the files of each read."""
    if not reads.any():  # pairs take much more memory to be told apart
        return len(np.unique(targets))
    return len(np.unique(np.stack([reads, targets]), axis=1).T)


def _begins(column: np.ndarray) -> np.ndarray:
    """Say where another value begins than the one before, shape ``(n,)`` bool."""
    found = np.ones(len(column), np.bool_)
    found[1:] = column[1:] != column[:-1]
    return found


def _ordered(
    reads: np.ndarray, targets: np.ndarray, offsets: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return reads, targets, starts and ends in the order of a reader that merges."""
    furthest = int(offsets.max(initial=0)) + int(lengths.max(initial=0))
    if offsets.dtype == object or furthest > LARGEST:
        offsets, lengths = offsets.astype(object), lengths.astype(object)
        ends = offsets + lengths
        rows = list(zip(reads.tolist(), targets.tolist(), offsets, ends, strict=True))
        by_row = np.array(sorted(range(len(rows)), key=rows.__getitem__), np.int64)
        return reads[by_row], targets[by_row], offsets[by_row], ends[by_row]
    ends = offsets + lengths
    order = _order(reads, targets, offsets, ends)
    return reads[order], targets[order], offsets[order], ends[order]


def _order(
    reads: np.ndarray, targets: np.ndarray, starts: np.ndarray, ends: np.ndarray
) -> np.ndarray | slice:
    """Return the order by read, target, start and end; nothing is moved where it is in order."""
    if _is_ascending(reads, targets, starts, ends):
        return slice(None)
    if not reads.any():
        # one key sorts in a quarter of the time of three
        step = int(starts.max()) + 1
        if (int(targets.max()) + 1) * step < 2**63:
            order = np.argsort(targets * step + starts, kind="stable")
            if _is_ascending(*(column[order] for column in (reads, targets, starts, ends))):
                return order
    return np.lexsort((ends, starts, targets, reads))


def _is_ascending(*columns: np.ndarray) -> bool:
    """Say whether rows are in the order of their first column, of equal ones the next, and on."""
    equal = np.ones(1, np.bool_)
    for column in columns:
        before, after = column[:-1], column[1:]
        if (equal & (after < before)).any():
            return False
        equal = equal & (after == before)
        if not equal.any():
            break
    return True


def _gaps(is_new: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    gaps = np.full(len(starts), LARGEST, np.int64)
    np.subtract(starts[1:], ends[:-1], out=gaps[1:], where=~is_new[1:])
    return gaps


def _first_of_requests(
    gaps: np.ndarray, starts: np.ndarray, ends: np.ndarray, rules: MergeRules
) -> np.ndarray:
    """Return the rows with which requests begin; no range ends before the one before it does."""
    first = np.flatnonzero(gaps > rules.gap)
    if rules.most is None or not len(first):
        return first
    stops = np.append(first[1:], len(starts))
    is_long = (ends[stops - 1] - starts[first] > rules.most) & (stops - first > 1)
    found, begun, stops = [first], first[is_long], stops[is_long]
    while len(begun):  # all that are too long are cut once, then what is left of them
        # a range longer than `most` is a request, and takes those that end with it
        most = np.maximum(starts[begun] + rules.most, ends[begun])
        rows = _first_beyond(ends, most, begun, stops)
        left = rows < stops
        begun, stops = rows[left], stops[left]
        found.append(begun)
    return np.sort(np.concatenate(found))


def _first_beyond(
    ends: np.ndarray, most: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Return the first row of each span of rows whose end, in order there, lies beyond a place."""
    # most requests have few ranges: those are looked at together, of the others half after half
    near = np.minimum(low[:, None] + np.arange(_NEAR), len(ends) - 1)
    is_within = ends[near] <= most[:, None]
    is_further = is_within.all(axis=1)
    low = np.minimum(low + np.where(is_further, _NEAR, is_within.argmin(axis=1)), high)
    high = np.where(is_further, high, low)
    while (is_open := low < high).any():
        middle = (low + high) // 2
        is_within = ends[np.minimum(middle, len(ends) - 1)] <= most
        low = np.where(is_open & is_within, middle + 1, low)
        high = np.where(is_open & ~is_within, middle, high)
    return low


def _merged_one_by_one(
    reads: np.ndarray,
    targets: np.ndarray,
    is_new: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    rules: MergeRules,
) -> Requests:
    """Merge ranges of which one may lie inside another."""
    assert rules.gap is not None
    first: list[int] = []
    spans: list[tuple[int, int]] = []
    rows = zip(is_new.tolist(), starts.tolist(), ends.tolist(), strict=True)
    for row, (begins, start, end) in enumerate(rows):
        if not begins:
            begun, last = spans[-1]
            grown = max(last, end)
            fits = grown == last or rules.most is None or grown - begun <= rules.most
            if fits and start - last <= rules.gap:
                spans[-1] = begun, grown
                continue
        first.append(row)
        spans.append((start, end))
    found = np.array(spans, starts.dtype).reshape(-1, 2)
    return Requests(reads[first], targets[first], found[:, 0], found[:, 1])


_WAITING = 2**14
"""Ranges of a file that wait for more of it, so that all are put in order together."""
_SUMMED = 2**16
"""Reads from which on times are summed, so that few of them are held."""
_TOLD = 64
"""Reads of one access that are told one by one."""

Columns4 = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class OutOfOrderError(Exception):
    """Blocks of references that do not follow each other in the order of their files."""


@dataclass(frozen=True, slots=True)
class ReaderCost:
    """What one reader asks for; None is not known.

    Attributes
    ----------
    reader
        Its name; `Advice.readers` says what it is.
    requests
        Reads of targets, after its merging.
    bytes, smallest, largest
        Bytes that come, gaps among them, and those of single requests.
    seconds
        By the model of the place: transport alone, without decoding.
    reads
        Of each read, which follow each other: its requests, their bytes, and those of the largest.
        None where they are many.
    """

    reader: str
    requests: int | None
    bytes: int | None
    smallest: int | None
    largest: int | None
    seconds: float | None
    reads: tuple[tuple[int, int, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class _OpenRange:
    """Bytes of a target to which the next block may add."""

    target: int
    start: int
    end: int


class RunningReads:
    """References that are read, of which one block is held at a time.

    Each block is put in order by itself, together with what the one before had of its last file.
    Where that is much, only the last request is kept, and grows.
    """

    def __init__(self, place: Connection) -> None:
        self.count = self.whole = self.files = self.least_requests = self.least_bytes = 0
        self._tallies = [_RequestTally(rules, place) for rules in READERS]
        self._waiting: Columns4 | None = None
        self._is_begun = False
        self._open: _OpenRange | None = None
        self._last_target, self._last_range = -1, (0, 0)

    def add(
        self,
        reads: np.ndarray,
        targets: np.ndarray,
        offsets: np.ndarray,
        lengths: np.ndarray,
        is_last: bool,
    ) -> None:
        """Count a block."""
        columns = reads, targets, offsets, lengths
        self.count += len(reads)
        is_only, self._is_begun = is_last and not self._is_begun, True
        if self._waiting is not None:
            columns = _joined(self._waiting, columns)
        self._waiting, goes_on = None, False
        if not is_last:
            columns, self._waiting, goes_on = _settled(columns)
            if not len(columns[0]):
                return
        block = Reads(*columns)
        if is_only:
            self.whole, self.files = block.whole, block.files
            self.least_requests, self.least_bytes = block.least_requests, block.least_bytes
        else:
            self._follow(block, goes_on)
        for tally in self._tallies:
            tally.add(block, goes_on)

    def _follow(self, reads: Reads, goes_on: bool) -> None:
        """Count the files and the bytes of a block that is not the only one."""
        if not reads.is_one_of_ranges:
            raise OutOfOrderError
        if not reads.count:
            return
        first, last, furthest = reads.bounds()
        before = self._open
        self._open = _OpenRange(last[0], last[1], furthest) if goes_on else None
        is_same = before is not None and before.target == first[0]
        if first[0] <= self._last_target and not (is_same and first[1:] >= self._last_range):
            raise OutOfOrderError
        self._last_target, self._last_range = last[0], last[1:]
        self.least_requests += reads.least_requests - is_same
        self.files = self.least_requests
        if before is not None and is_same:
            reads = reads.behind(before.target, before.start, before.end)
            self.least_bytes -= before.end - before.start
        self.least_bytes += reads.least_bytes

    def costs(self) -> tuple[ReaderCost, ...]:
        """Return what each reader asks for, once the last block was counted."""
        return tuple(tally.cost() for tally in self._tallies)


def _joined(first: Columns4, second: Columns4) -> Columns4:
    reads, targets, offsets, lengths = map(np.concatenate, zip(first, second, strict=True))
    return reads, targets, offsets, lengths


def _settled(columns: Columns4) -> tuple[Columns4, Columns4 | None, bool]:
    """Return references that can be counted, those that wait, and whether a counted file goes on.

    Those of the last file wait, unless they are many.
    """
    targets = columns[1]
    if not len(targets):
        return columns, None, False
    last = targets.max()
    if (targets[1:] >= targets[:-1]).all():
        cut = int(np.searchsorted(targets, last))
        count = len(targets) - cut
        now, later = _rows_of(columns, slice(cut)), _rows_of(columns, slice(cut, None))
    else:
        is_last = targets == last
        count = int(np.count_nonzero(is_last))
        now, later = _rows_of(columns, ~is_last), _rows_of(columns, is_last)
    return (columns, None, True) if count > _WAITING else (now, later, False)


def _rows_of(columns: Columns4, rows: np.ndarray | slice) -> Columns4:
    reads, targets, offsets, lengths = columns
    return reads[rows], targets[rows], offsets[rows], lengths[rows]


class _RequestTally:
    """The requests of one reader; reads that follow each other have times of their own."""

    def __init__(self, rules: MergeRules, place: Connection) -> None:
        self._rules, self._place = rules, place
        self._count = self._bytes = self._largest = 0
        self._smallest: int | None = None
        self._whole: int | None = None
        self._open: tuple[_OpenRange, int] | None = None
        self._last_read = -1
        # of each read: requests, their bytes, those of the largest
        self._reads: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._held_reads = 0
        self._seconds: float | None = None

    def add(self, reads: Reads, goes_on: bool) -> None:
        """Count the requests for a block, but for the last one if its file goes on."""
        if reads.whole:
            self._whole = reads.whole_requests(self._rules)
        first_read = self._last_read + 1
        if self._open is not None:
            span, first_read = self._open
            reads, self._open = reads.behind(span.target, span.start, span.end), None
        found = reads.requests(self._rules)
        if not len(found.starts):
            return
        numbers = found.reads + first_read if self._rules.by_file else found.reads
        sizes = found.sizes
        if goes_on and self._rules.gap is not None:
            span = _OpenRange(int(found.targets[-1]), int(found.starts[-1]), int(found.ends[-1]))
            self._open = span, int(numbers[-1])
            numbers, sizes = numbers[:-1], sizes[:-1]
        if len(sizes):
            self._count_requests(numbers, sizes)

    def _count_requests(self, numbers: np.ndarray, sizes: np.ndarray) -> None:
        self._count += len(sizes)
        self._bytes += (size := exact_sum(sizes))
        smallest, largest = int(sizes.min()), int(sizes.max())
        self._smallest = smallest if self._smallest is None else min(self._smallest, smallest)
        self._largest = max(self._largest, largest)
        if numbers[0] == numbers[-1]:
            found = np.array([len(sizes)]), np.array([float(size)]), np.array([float(largest)])
        else:
            starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
            weights = sizes.astype(float)
            found = (
                np.diff(np.append(starts, len(sizes))),
                np.add.reduceat(weights, starts),
                np.maximum.reduceat(weights, starts),
            )
        if self._reads and numbers[0] == self._last_read:
            last = self._reads[-1]
            last[0][-1] += found[0][0]
            last[1][-1] += found[1][0]
            last[2][-1] = max(last[2][-1], found[2][0])
            found = found[0][1:], found[1][1:], found[2][1:]
        self._last_read = int(numbers[-1])
        if len(found[0]):
            self._reads.append(found)
            self._held_reads += len(found[0])
        if self._held_reads > _SUMMED and len(self._reads) > 1:
            self._sum()

    def _sum(self) -> None:
        """Take the times of all reads together but those that came last."""
        *before, last = self._reads
        self._seconds = (self._seconds or 0.0) + self._time(before)
        self._reads, self._held_reads = [last], len(last[0])

    def _time(self, reads: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> float:
        requests, sizes, largest = map(np.concatenate, zip(*reads, strict=True))
        return self._place.seconds(requests, sizes, largest, self._rules.at_once)

    def cost(self) -> ReaderCost:
        """Return what was counted."""
        name = self._rules.name
        if self._whole is not None:
            return ReaderCost(name, self._count + self._whole, None, None, None, None)
        if not self._count:
            return ReaderCost(name, 0, 0, None, None, 0.0, ())
        told: tuple[tuple[int, int, int], ...] | None = None
        if self._held_reads == 1 and self._seconds is None:
            numbers = self._count, self._bytes, self._largest
            seconds, told = self._place.seconds_of_one(*numbers, self._rules.at_once), (numbers,)
        else:
            seconds = (self._seconds or 0.0) + self._time(self._reads)
            if self._held_reads <= _TOLD and self._seconds is None:
                rows = zip(*map(np.concatenate, zip(*self._reads, strict=True)), strict=True)
                told = tuple((int(count), int(size), int(most)) for count, size, most in rows)
        return ReaderCost(
            name, self._count, self._bytes, self._smallest, self._largest, seconds, told
        )
