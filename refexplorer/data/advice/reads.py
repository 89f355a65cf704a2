"""Chunks that are read, and the requests that each reader makes of them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from refexplorer.data.advice.connections import FSSPEC, OBSTORE, OURS, MergeRules
from refexplorer.refset.columns.sums import LARGEST, exact_sum


@dataclass(frozen=True)
class Requests:
    """n requests, in the order of their reads.

    Attributes
    ----------
    reads
        The number of the read that each belongs to, ascending, shape ``(n,)`` int64; the files of
        a reader that is called for each are reads of their own.
    sizes
        Bytes, shape ``(n,)``; whole numbers of Python where one does not fit into 64 bits.
    """

    reads: np.ndarray
    sizes: np.ndarray


class Reads:
    """References that are read, of one read or several that follow each other.

    Only what is asked for together can be merged: the tasks of Dask are reads of their own.

    Parameters
    ----------
    reads
        The number of the read that each belongs to, from 0, shape ``(n,)`` int64.
    targets
        A number for each target, int64.
    offsets, lengths
        In bytes, int64 or whole numbers of Python; -1 for a whole file.
    """

    def __init__(
        self, reads: np.ndarray, targets: np.ndarray, offsets: np.ndarray, lengths: np.ndarray
    ) -> None:
        is_whole = offsets < 0
        self.count = len(reads)
        self._whole = reads[is_whole], targets[is_whole]
        is_range = ~is_whole
        columns = reads[is_range], targets[is_range], offsets[is_range], lengths[is_range]
        self._reads, self._targets, self._starts, self._ends = _ordered(*columns)
        one_read = not self.whole and not reads.any()
        self.files = self.least_requests if one_read else len(np.unique(targets))

    @property
    def whole(self) -> int:
        """How many whole files are read, whose size is not known."""
        return len(self._whole[0])

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
        return len(np.unique(np.stack([reads, targets]), axis=1).T)

    @cached_property
    def least_bytes(self) -> int:
        """Bytes that ranges cover, each counted once for each read."""
        if self._is_plain and len(self._starts):
            shared = np.maximum(self._ends[:-1] - self._starts[1:], 0)
            return self.bytes - exact_sum(shared[~self._is_new[1:]])
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
        return bool((np.diff(self._ends) >= 0)[~self._is_new[1:]].all())

    def whole_requests(self, rules: MergeRules) -> int:
        """Return how many requests ask for whole files."""
        if rules.gap is None or rules is OBSTORE:
            return self.whole
        return len(np.unique(np.stack(self._whole), axis=1).T)

    def requests(self, rules: MergeRules) -> Requests:
        """Return the requests for ranges as a reader makes them."""
        if rules.gap is None:
            return Requests(self._reads, self._ends - self._starts)
        starts, ends, reads = self._starts, self._ends, self._reads
        is_new = self._is_new
        if not (kept := self._asked_for(rules)).all():
            starts, ends, reads = starts[kept], ends[kept], reads[kept]
            is_new = _begins(reads) | _begins(self._targets[kept])
        if rules.by_file:
            reads = np.cumsum(is_new) - 1
        if not self._is_plain:
            return _merged_one_by_one(reads, is_new, starts, ends, rules)
        first = _first_of_requests(is_new, starts, ends, rules)
        last = np.append(first[1:], len(starts)) - 1 if len(first) else first
        return Requests(reads[first], ends[last] - starts[first])

    def _asked_for(self, rules: MergeRules) -> np.ndarray:
        """Say which ranges a reader asks for, shape ``(n,)`` bool."""
        if rules is OURS:
            return np.asarray(self._starts != self._ends)
        kept = np.ones(len(self._starts), np.bool_)
        if rules is FSSPEC and self.whole:  # it takes the ranges of a file that it reads whole
            whole = set(zip(*(column.tolist() for column in self._whole), strict=True))
            rows = zip(self._reads.tolist(), self._targets.tolist(), strict=True)
            kept[:] = [row not in whole for row in rows]
        return kept


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
    equal = np.ones(max(len(columns[0]) - 1, 0), np.bool_)
    for column in columns:
        before, after = column[:-1], column[1:]
        if (equal & (after < before)).any():
            return False
        equal &= after == before
    return True


def _first_of_requests(
    is_new: np.ndarray, starts: np.ndarray, ends: np.ndarray, rules: MergeRules
) -> np.ndarray:
    """Return the rows with which requests begin; no range ends before the one before it does."""
    is_first = is_new.copy()
    is_first[1:] |= starts[1:] - ends[:-1] > rules.gap
    first = np.flatnonzero(is_first)
    if rules.most is None or not len(first):
        return first
    stops = np.append(first[1:], len(starts))
    long = (ends[stops - 1] - starts[first] > rules.most) & (stops - first > 1)
    found = [first]
    for start, stop in zip(first[long].tolist(), stops[long].tolist(), strict=True):
        begun, mine = starts[start:stop].tolist(), ends[start:stop].tolist()
        rows, row = [], 0
        # a range longer than `most` is a request, and takes those that end with it
        while (row := bisect_right(mine, max(begun[row] + rules.most, mine[row]))) < len(mine):
            rows.append(start + row)
        found.append(np.array(rows, np.int64))
    return np.sort(np.concatenate(found))


def _merged_one_by_one(
    reads: np.ndarray, is_new: np.ndarray, starts: np.ndarray, ends: np.ndarray, rules: MergeRules
) -> Requests:
    """Merge ranges of which one may lie inside another."""
    assert rules.gap is not None
    numbers: list[int] = []
    spans: list[tuple[int, int]] = []
    rows = zip(reads.tolist(), is_new.tolist(), starts.tolist(), ends.tolist(), strict=True)
    for read, begins, start, end in rows:
        if not begins:
            first, last = spans[-1]
            grown = max(last, end)
            fits = grown == last or rules.most is None or grown - first <= rules.most
            if fits and start - last <= rules.gap:
                spans[-1] = first, grown
                continue
        numbers.append(read)
        spans.append((start, end))
    sizes = [end - start for start, end in spans]
    kind = np.int64 if sum(sizes) < 2**63 else object
    return Requests(np.array(numbers, np.int64), np.array(sizes, kind))
