"""Requests of one access, counted while its references come block by block, and then forgotten."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refexplorer.data.advice.connections import READERS, Connection, MergeRules
from refexplorer.data.advice.reads import Reads
from refexplorer.refset.columns.sums import exact_sum

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

    Parameters
    ----------
    place
        Where the targets are.

    Attributes
    ----------
    count, whole
        References, and those to whole files, whose sizes are not known.
    files, least_requests, least_bytes
        Targets; one request for each of them in each read; bytes, each counted once in each read.
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
        """Count a block.

        Parameters
        ----------
        reads, targets, offsets, lengths
            As `Reads` takes them.
        is_last
            Whether no further block comes.

        Raises
        ------
        OutOfOrderError
            If there are several blocks, and they are no single read of ranges, file after file.
        """
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
