"""Byte ranges that share bytes with others of the same target."""

from __future__ import annotations

import numpy as np

ALONE, SAME, PARTLY = range(3)
OVERLAPS = ("alone", "same", "partly")
"""``same``: other keys have the very same range; ``partly``: others share some of its bytes."""


def overlaps(targets: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return how each range meets the others, a place in `OVERLAPS`, shape ``(n,)`` uint8.

    Parameters
    ----------
    targets, starts, ends
        In the order of targets, starts and ends, shape ``(n,)`` int64; empty ranges meet none.
    """
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
