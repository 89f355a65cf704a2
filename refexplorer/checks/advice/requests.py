"""Chunks that are read, and the requests that each reader makes of them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from refexplorer.checks.advice.connections import OURS, READERS, Connection, MergeRules
from refexplorer.formats.columns.references import exact_sum

_COVER = MergeRules("", "", 0, None, 1)
"""Merges what touches or overlaps alone, so that each byte is counted once."""


class Reads:
    """References that are read, of one read or several that follow each other.

    Only what is asked for together can be merged: the tasks of Dask are reads of their own.
    """

    def __init__(
        self, reads: np.ndarray, targets: np.ndarray, offsets: np.ndarray, lengths: np.ndarray
    ) -> None:
        self.count = len(reads)
        is_one = not reads.any()
        # one number for a file of a read, in the order of reads
        files = targets if is_one else reads * (int(targets.max()) + 1) + targets
        is_range = offsets >= 0
        self._whole = files[~is_range]
        columns = files, reads, offsets, lengths
        if self.whole:
            columns = files[is_range], reads[is_range], offsets[is_range], lengths[is_range]
        self._files, self._reads, self._starts, self._ends = _ordered(*columns)
        if self.whole:
            self.least_requests = len(np.unique(files))
        else:
            self.least_requests = int(_begins(self._files).sum())
        self.files = self.least_requests if is_one else len(np.unique(targets))
        _, starts, ends = self.requests(_COVER)
        self.least_bytes = exact_sum(ends - starts)

    @property
    def whole(self) -> int:
        """How many whole files are read, whose size is not known."""
        return len(self._whole)

    def whole_requests(self, rules: MergeRules) -> int:
        """Return how many requests ask for whole files."""
        return self.whole if rules.gap is None else len(np.unique(self._whole))

    def requests(self, rules: MergeRules) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the requests for ranges of a reader: numbers of their reads, starts and ends.

        One that merges does not ask for empty ranges.
        """
        files, reads, starts, ends = self._files, self._reads, self._starts, self._ends
        if rules.gap is None:
            return reads, starts, ends
        is_asked = np.asarray(starts != ends, np.bool_)
        if not is_asked.all():
            files, reads, starts, ends = (each[is_asked] for each in (files, reads, starts, ends))
        is_new = _begins(files)
        ends = _reach(is_new, ends)
        is_first = is_new.copy()
        is_first[1:] |= (starts[1:] - ends[:-1] > rules.gap).astype(np.bool_)
        first = np.flatnonzero(is_first)
        if rules.limit is not None:
            first = _cut(first, starts, ends, rules.limit)
        last = np.append(first[1:], len(starts))[: len(first)] - 1
        return reads[first], starts[first], ends[last]


def _begins(column: np.ndarray) -> np.ndarray:
    """Return where another value begins than the one before, shape ``(n,)`` bool."""
    is_new = np.ones(len(column), np.bool_)
    is_new[1:] = column[1:] != column[:-1]
    return is_new


def _ordered(
    files: np.ndarray, reads: np.ndarray, offsets: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return files, reads, starts and ends in the order of a reader that merges."""
    ends = offsets + lengths
    is_same, is_later = files[1:] == files[:-1], offsets[1:] > offsets[:-1]
    if ((files[1:] > files[:-1]) | (is_same & is_later)).all():  # as they nearly always are
        return files, reads, offsets, ends
    order = np.lexsort((ends, offsets, files))
    return files[order], reads[order], offsets[order], ends[order]


def _reach(is_new: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return how far each range of a file and those before it reach."""
    if (is_new[1:] | (ends[1:] >= ends[:-1])).all():
        return ends
    files = np.split(ends, np.flatnonzero(is_new)[1:])
    return np.concatenate([np.maximum.accumulate(each) for each in files])


def _cut(first: np.ndarray, starts: np.ndarray, ends: np.ndarray, limit: int) -> np.ndarray:
    """Return the rows with which requests begin once those that are too long are cut."""
    stops = np.append(first[1:], len(starts))[: len(first)]
    is_long = (ends[stops - 1] - starts[first] > limit) & (stops - first > 1)
    if not is_long.any():
        return first
    rows, reaches = [], ends.tolist()
    for row, stop in zip(first[is_long].tolist(), stops[is_long].tolist(), strict=True):
        while row < stop:
            rows.append(row)
            # a range longer than the limit is a request, and takes those that end with it
            row = bisect_right(reaches, max(int(starts[row]) + limit, reaches[row]), row, stop)
    return np.sort(np.concatenate([first[~is_long], np.array(rows, np.int64)]))


_LISTED = 64
"""Reads of one access that are told one by one."""
_WAITING = 2**16
"""Ranges of a file that wait for more of it."""


class OutOfOrderError(Exception):
    """Blocks of references that do not follow each other in the order of their files."""


@dataclass(frozen=True, slots=True)
class ReaderCost:
    """The requests of one reader; None is not known.

    Attributes
    ----------
    reader
        Its name; `Advice.readers` says what it is.
    requests
        Requests after merging.
    bytes, smallest, largest
        Bytes received, including gaps, and those of the smallest and largest request.
    seconds
        From the model of the place: transport only, without decoding.
    reads
        For each successive read: its requests, their bytes, and those of the largest.
        None if there are too many.
    """

    reader: str
    requests: int | None = None
    bytes: int | None = None
    smallest: int | None = None
    largest: int | None = None
    seconds: float | None = None
    reads: tuple[tuple[int, int, int], ...] | None = None


class RunningReads:
    """References that are read, of which a block and what its last file has before are held."""

    def __init__(self, place: Connection) -> None:
        self.count = self.whole = self.files = self.least_requests = self.least_bytes = 0
        self._tallies = [_RequestTally(rules, place) for rules in READERS]
        self._waiting: list[tuple[np.ndarray, ...]] = []  # of the last file, which may go on
        self._open_target = self._last_target = -1
        self._last_end = 0

    def add(self, *columns: np.ndarray, is_last: bool) -> None:
        """Count a block: the numbers of reads, targets, offsets and lengths."""
        self.count += len(columns[0])
        self._waiting.append(columns)
        is_more = not is_last and bool((columns[1] == self._open_target).all())
        if is_more and sum(len(each[0]) for each in self._waiting) < _WAITING:
            return
        joined = tuple(map(np.concatenate, zip(*self._waiting, strict=True)))
        self._waiting = []
        if not is_last:
            self._open_target = int(joined[1].max())
            is_open = _last_request(joined) if is_more else joined[1] == self._open_target
            self._waiting = [tuple(each[is_open] for each in joined)]
            joined = tuple(each[~is_open] for each in joined)
        if len(joined[1]):
            self._count(Reads(*joined), *joined[1:])

    def _count(
        self, reads: Reads, targets: np.ndarray, offsets: np.ndarray, lengths: np.ndarray
    ) -> None:
        first = int(targets.min())
        is_same = first == self._last_target
        is_behind = is_same and offsets[targets == first].min() < self._last_end
        if first < self._last_target or is_behind:
            raise OutOfOrderError
        self._last_target = int(targets.max())
        self._last_end = (offsets + lengths)[targets == self._last_target].max()
        self.whole += reads.whole
        self.files += reads.files - is_same
        self.least_requests += reads.least_requests - is_same
        self.least_bytes += reads.least_bytes
        for tally in self._tallies:
            tally.add(reads)

    def costs(self) -> tuple[ReaderCost, ...]:
        """Return what each reader asks for, once the last block was counted."""
        return tuple(tally.cost() for tally in self._tallies)


def _last_request(columns: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return which ranges of one file the last request has; all where it cannot be cut off."""
    offsets, lengths = columns[2:]
    _, starts, _ = Reads(*columns).requests(OURS)
    if len(starts) and not (offsets < 0).any():
        is_last = np.asarray(offsets >= starts[-1], np.bool_)
        if not is_last.all() and (offsets + lengths)[~is_last].max() <= starts[-1]:
            return is_last
    return np.ones(len(offsets), np.bool_)


class _RequestTally:
    """The requests of one reader; reads that follow each other have times of their own."""

    def __init__(self, rules: MergeRules, place: Connection) -> None:
        self._rules, self._place = rules, place
        self._whole = self._bytes = 0
        # of each read: requests, their bytes, those of the largest
        self._reads: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._smallest: list[int] = []

    def add(self, reads: Reads) -> None:
        """Count the requests for a block."""
        self._whole += reads.whole_requests(self._rules)
        numbers, starts, ends = reads.requests(self._rules)
        sizes = ends - starts
        if not len(sizes):
            return
        self._bytes += exact_sum(sizes)
        self._smallest.append(int(sizes.min()))
        starts = np.flatnonzero(_begins(numbers))  # of reads
        weights = sizes.astype(float)
        counts = np.diff(np.append(starts, len(sizes)))
        sums, largest = np.add.reduceat(weights, starts), np.maximum.reduceat(weights, starts)
        self._reads.append((counts, sums, largest))

    def cost(self) -> ReaderCost:
        """Return what was counted."""
        name, rules = self._rules.name, self._rules
        if not self._reads:
            is_known = not self._whole
            return ReaderCost(name, self._whole, *((0, None, None, 0.0, ()) if is_known else ()))
        columns = map(np.concatenate, zip(*self._reads, strict=True))
        counts, sizes, largest = columns
        count = int(counts.sum())
        if self._whole:
            return ReaderCost(name, count + self._whole)
        if len(self._reads) > 1:  # blocks of one read
            counts, sizes, largest = (
                np.array([each]) for each in (count, float(self._bytes), largest.max())
            )
        reads: tuple[tuple[int, int, int], ...] | None = None
        if len(counts) == 1:
            reads = ((count, self._bytes, int(largest[0])),)
        elif len(counts) <= _LISTED:
            rows = zip(counts, sizes, largest, strict=True)
            reads = tuple((int(n), int(size), int(most)) for n, size, most in rows)
        seconds = self._place.seconds(counts, sizes, largest, rules.at_once)
        most = int(largest.max())
        return ReaderCost(name, count, self._bytes, min(self._smallest), most, seconds, reads)
