"""One target: which of its bytes are referenced, by which keys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from refexplorer.core.limits import INT64_MAX
from refexplorer.core.text import masks_repr
from refexplorer.formats.columns.references import RANGE

if TYPE_CHECKING:
    from refexplorer.refset.targets import TargetIndex


class Intervals(NamedTuple):
    """n intervals."""

    # starts, ends: First byte, and the first byte after it, shape ``(n,)`` int64
    starts: np.ndarray
    ends: np.ndarray

    @property
    def total(self) -> int:
        """Bytes of all intervals."""
        return int((self.ends - self.starts).sum())

    def within(self, edges: np.ndarray) -> np.ndarray:
        """Return how many bytes between neighbouring edges are covered, shape ``(m - 1,)``."""
        before = np.concatenate([[0], np.cumsum(self.ends - self.starts)])
        position = np.searchsorted(self.starts, edges, side="right")
        last = np.maximum(position - 1, 0)
        if not len(self.starts):
            return np.zeros(len(edges) - 1, np.int64)
        beyond = np.where(position > 0, np.maximum(self.ends[last] - edges, 0), 0)
        return np.diff(before[position] - beyond)


def merge(starts: np.ndarray, ends: np.ndarray) -> Intervals:
    """Merge overlapping or adjacent ranges, sorted by start; empty ones are dropped."""
    full = ends > starts
    starts, ends = starts[full], ends[full]
    if not len(starts):
        return Intervals(starts, ends)
    # a long range may end after the next ones, so the furthest end so far counts
    reach = np.maximum.accumulate(ends)
    first = np.concatenate([[True], starts[1:] > reach[:-1]])
    last = np.concatenate([first[1:], [True]])
    return Intervals(starts[first], reach[last])


@masks_repr
@dataclass(frozen=True, slots=True)
class TargetSummary:
    """A target in one line.

    Attributes
    ----------
    url
        As in the references; None is the target chosen by the reader.
    ranges, whole
        How many keys refer to a byte range of it, and how many to the whole file.
    bytes
        Bytes covered by ranges, each counted once.
    end
        The end of the last range.
    arrays
        Paths of the arrays that use it, in tree order; None stands for other keys.
    kind
        ``"native"`` for a file of the Icechunk repository itself, ``"virtual"`` for an external
        file; None for sets in other formats.
    """

    url: str | None
    ranges: int
    whole: int
    bytes: int
    end: int
    arrays: tuple[str | None, ...]
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class TargetRange:
    """One byte range and the key that refers to it."""

    key: str
    array: str | None
    offset: int
    length: int


@dataclass(frozen=True)
class Bins:
    """A window of a target in n intervals of about equal length."""

    # Where they begin and end, shape ``(n + 1,)`` int64, or whole numbers of Python
    edges: np.ndarray
    # covered, shared: Bytes that at least one range covers, and that more than one does, shape
    # ``(n,)``
    covered: np.ndarray
    shared: np.ndarray
    ranges: np.ndarray  # How many ranges begin there, shape ``(n,)``
    # The array that covers most, an index into `TargetLayout.arrays`; -1 for none
    arrays: np.ndarray


class Rows(NamedTuple):
    """References of one segment with a target, shape ``(n,)`` each."""

    codes: np.ndarray
    kinds: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray
    arrays: np.ndarray
    parts: np.ndarray
    rows: np.ndarray

    def at(self, places: np.ndarray) -> Rows:
        """Return some of them."""
        return Rows(*(column[places] for column in self))


class TargetLayout:
    """The references to one target, ranges sorted by offset.

    Attributes
    ----------
    url
        The target.
    arrays
        Paths of the arrays that use it; None stands for keys outside arrays.
    numbers
        The index of each of them among all arrays of the set, -1 for None.
    offsets, lengths
        Bytes, shape ``(n,)`` int64.
    codes
        The array of each range, an index into `arrays`.
    whole
        How many keys refer to the whole target.
    """

    def __init__(self, index: TargetIndex, url: str | None, rows: Rows) -> None:
        is_range = rows.kinds == RANGE
        used, codes = np.unique(rows.arrays, return_inverse=True)
        self.url = url
        self.numbers: tuple[int, ...] = tuple(used.tolist())
        self.arrays = tuple(map(index.array_path, self.numbers))
        self.whole = int((~is_range).sum())
        located = rows.parts[is_range], rows.rows[is_range]
        self.offsets, self.lengths = rows.offsets[is_range], rows.lengths[is_range]
        self.codes = codes[is_range]
        self._index, self._located = index, located
        self._whole = rows.parts[~is_range], rows.rows[~is_range]

    def __len__(self) -> int:
        return len(self.offsets)

    @cached_property
    def ends(self) -> np.ndarray:
        """The first byte after each range."""
        return self.offsets + self.lengths

    @cached_property
    def end(self) -> int:
        """The end of the last range: the target has at least that many bytes."""
        return int(self.ends.max(initial=0))

    @cached_property
    def covered(self) -> Intervals:
        """The intervals covered by ranges."""
        return merge(self.offsets, self.ends)

    @cached_property
    def gaps(self) -> Intervals:
        """The intervals before `end` without any range."""
        covered = self.covered
        starts = np.insert(covered.ends, 0, 0)
        ends = np.append(covered.starts, np.array([self.end], covered.starts.dtype))
        return Intervals(starts[ends > starts], ends[ends > starts])

    @cached_property
    def shared(self) -> Intervals:
        """The intervals covered by more than one range."""
        before = np.maximum.accumulate(self.ends)[:-1]
        return merge(self.offsets[1:], np.minimum(self.ends[1:], before))

    def keys(self, start: int = 0, stop: int | None = None) -> list[str]:
        """Return the keys of some ranges, in the order of `offsets`."""
        parts, rows = self._located
        return self._index.keys(parts[start:stop], rows[start:stop])

    def whole_keys(self, most: int = 100) -> list[str]:
        """Return keys that refer to the whole target, up to a limit."""
        parts, rows = self._whole
        return self._index.keys(parts[:most], rows[:most])

    def place(self, key: str) -> TargetRange | None:
        """Return the range of a key, or None if it refers to no range of this target."""
        parts, rows = self._located
        for number in np.flatnonzero(self._index.is_key(key, parts, rows)).tolist():
            return self._range(number)
        return None

    def ranges(self, start: int, stop: int, most: int) -> list[TargetRange] | None:
        """Return the ranges that intersect a window, or None if there are more than `most`."""
        touching = np.flatnonzero((self.offsets < stop) & (self.ends > start))
        if len(touching) > most:
            return None
        return [self._range(number) for number in touching.tolist()]

    def _range(self, number: int) -> TargetRange:
        (key,) = self.keys(number, number + 1)
        array = self.arrays[self.codes[number]]
        return TargetRange(key, array, int(self.offsets[number]), int(self.lengths[number]))

    def bins(self, start: int, stop: int, most: int) -> Bins:
        """Divide a window into a limited number of bins."""
        count = max(1, min(most, stop - start))
        edges = np.array(
            [start + (stop - start) * n // count for n in range(count + 1)],
            np.int64 if stop <= INT64_MAX else object,
        )
        arrays = np.full(count, -1, np.int64)
        best = np.zeros(count, np.int64)
        for code, mine in enumerate(self._by_array):
            covered = merge(self.offsets[mine], self.ends[mine]).within(edges)
            arrays[covered > best] = code
            best = np.maximum(best, covered)
        counted = np.searchsorted(self.offsets, edges)
        return Bins(
            edges, self.covered.within(edges), self.shared.within(edges), np.diff(counted), arrays
        )

    @cached_property
    def _by_array(self) -> list[np.ndarray]:
        """The ranges of each array, sorted by offset."""
        order = np.argsort(self.codes, kind="stable")
        return np.split(order, np.searchsorted(self.codes[order], np.arange(1, len(self.arrays))))


def overlapping(rows: Rows) -> np.ndarray:
    """Return which references share bytes with another range, ascending, shape ``(n,)``."""
    is_usual = (rows.kinds == RANGE) & (rows.lengths > 0)
    places = np.flatnonzero(is_usual)
    codes, offsets, lengths = (each[places] for each in (rows.codes, rows.offsets, rows.lengths))
    is_new = np.ones(len(places), np.bool_)
    is_new[1:] = np.diff(codes).astype(bool) | np.diff(offsets).astype(bool)
    is_new[1:] |= np.diff(lengths).astype(bool)
    if not len(places):
        return places
    codes, starts, stops = codes[is_new], offsets[is_new], (offsets + lengths)[is_new]
    shares = shared_ranges(starts, stops, np.append(True, codes[1:] != codes[:-1]))
    return places[shares[np.cumsum(is_new) - 1]]


def shared_ranges(starts: np.ndarray, ends: np.ndarray, is_new: np.ndarray) -> np.ndarray:
    """Return which distinct sorted ranges, at least one, share bytes with another of a target."""
    reach = furthest_ends(ends, is_new)
    meets_before = np.append(False, ~is_new[1:] & (starts[1:] < reach[:-1]))
    meets_after = np.append(~is_new[1:] & (starts[1:] < ends[:-1]), False)
    shared: np.ndarray = meets_before | meets_after
    return shared


def furthest_ends(ends: np.ndarray, is_new: np.ndarray) -> np.ndarray:
    """Return the furthest end so far of each target, shape ``(n,)``; one begins at `is_new`."""
    if (is_new[1:] | (ends[1:] >= ends[:-1])).all():
        return ends
    ranks = np.argsort(np.argsort(ends, kind="stable"), kind="stable")
    # each target comes after the one before it, so one running maximum serves all of them
    before = np.cumsum(is_new) * len(ends)
    reach: np.ndarray = np.sort(ends)[np.maximum.accumulate(before + ranks) - before]
    return reach
