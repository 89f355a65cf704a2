"""Byte ranges that share bytes with others of the same target."""

from __future__ import annotations

import numpy as np

ALONE, SAME, PARTLY = range(3)
OVERLAPS = ("alone", "same", "partly")
"""``same``: other keys have the very same range; ``partly``: others share some of its bytes."""


def overlaps(targets: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return how each range meets the others, a place in `OVERLAPS`, shape ``(n,)`` uint8."""
    found = np.zeros(len(starts), np.uint8)
    rows = np.flatnonzero(ends > starts)
    if not len(rows):
        return found
    targets, starts, ends = targets[rows], starts[rows], ends[rows]
    bounds = np.flatnonzero(np.append(True, targets[1:] != targets[:-1]))
    is_new = np.zeros(len(rows), np.bool_)
    is_new[bounds] = True
    same = np.append(False, ~is_new[1:] & (starts[1:] == starts[:-1]) & (ends[1:] == ends[:-1]))
    first = np.flatnonzero(~same)  # of each distinct range
    shared = _shared(starts[first], ends[first], is_new[first])
    partly = shared[np.cumsum(~same) - 1]
    equal = same | np.append(same[1:], False)
    found[rows] = np.where(partly, PARTLY, np.where(equal, SAME, ALONE))
    return found


class Meetings:
    """Finds the overlaps of very many ranges, an interval after the other."""

    def __init__(self) -> None:
        self._before = np.empty((3, 0), np.int64)

    def of(self, ranges: np.ndarray, following: np.ndarray) -> np.ndarray:
        """Return how the next ranges meet all others, as `overlaps` does."""
        among = np.concatenate([self._before, ranges, following], axis=1)
        first = self._before.shape[1]
        last = first + ranges.shape[1]
        self._before = _summed_up(among[:, :last])
        return overlaps(*among)[first:last]


def _summed_up(ranges: np.ndarray) -> np.ndarray:
    """Return two ranges that later ones meet as they meet these: the last, and one for the rest."""
    target, start, _ = last = ranges[:, -1]
    mine = ranges[:, ranges[0] == target]
    others = mine[2, (mine != last[:, None]).any(axis=0)]
    rest = target, start - 1, others.max(initial=start - 1)
    return np.stack([rest, last], axis=1)


def _shared(starts: np.ndarray, ends: np.ndarray, is_new: np.ndarray) -> np.ndarray:
    """Say which distinct ranges share bytes with another one of their target."""
    group = np.cumsum(is_new) - 1
    reach = _reach(ends, group)
    meets_before = np.append(False, ~is_new[1:] & (starts[1:] < reach[:-1]))
    meets_after = np.append(~is_new[1:] & (starts[1:] < ends[:-1]), False)
    shared: np.ndarray = meets_before | meets_after
    return shared


def _reach(ends: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return the furthest end so far within each group, shape ``(n,)``."""
    ranks = np.argsort(np.argsort(ends, kind="stable"), kind="stable")
    furthest = np.maximum.accumulate(group * len(ends) + ranks) - group * len(ends)
    reach: np.ndarray = np.sort(ends)[furthest]
    return reach
