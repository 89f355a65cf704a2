"""Intervals of bytes that do not touch each other, in order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Intervals(NamedTuple):
    """n intervals.

    Attributes
    ----------
    starts, ends
        First byte, and the first byte after it, shape ``(n,)`` int64, or whole numbers of Python
        where 64 bits do not hold them.
    """

    starts: np.ndarray
    ends: np.ndarray

    @property
    def total(self) -> int:
        """Bytes of all intervals."""
        return int((self.ends - self.starts).sum())

    def within(self, edges: np.ndarray) -> np.ndarray:
        """Return how many bytes between neighbouring edges they cover, shape ``(m - 1,)``."""
        before = np.concatenate([[0], np.cumsum(self.ends - self.starts)])
        position = np.searchsorted(self.starts, edges, side="right")
        last = np.maximum(position - 1, 0)
        if not len(self.starts):
            return np.zeros(len(edges) - 1, np.int64)
        beyond = np.where(position > 0, np.maximum(self.ends[last] - edges, 0), 0)
        covered: np.ndarray = np.diff(before[position] - beyond)
        return covered


def merge(starts: np.ndarray, ends: np.ndarray) -> Intervals:
    """Merge ranges, ordered by their starts, that overlap or touch; empty ones vanish."""
    full = ends > starts
    starts, ends = starts[full], ends[full]
    if not len(starts):
        return Intervals(starts, ends)
    # a long range may end after the next ones, so the furthest end so far counts
    reach = np.maximum.accumulate(ends)
    first = np.concatenate([[True], starts[1:] > reach[:-1]])
    last = np.concatenate([first[1:], [True]])
    return Intervals(starts[first], reach[last])


def uncovered(intervals: Intervals, end: int) -> Intervals:
    """Return the gaps between the intervals, from 0 to `end`."""
    starts = np.insert(intervals.ends, 0, 0)
    ends = np.append(intervals.starts, np.array([end], intervals.starts.dtype))
    return Intervals(starts[ends > starts], ends[ends > starts])
