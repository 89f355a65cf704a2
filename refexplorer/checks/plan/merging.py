"""Sorted runs of references merged into one, an interval at a time.

Each run lies on disk in batches, of which only the first ranges are remembered. Batches are
read in the order of these: whatever comes before the first range of the next batch is in its
place for good, and the rest, at most a batch of each run, waits for what is read next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refexplorer.formats.buffers.arrow import number_column
from refexplorer.formats.columns.references import LARGEST

END = np.full((3, 1), LARGEST)
"""What comes after all ranges."""


class Interval(NamedTuple):
    """Some references that follow each other in the order of `ranges_of`."""

    rows: pa.Table  # n references
    ranges: np.ndarray  # Where they are, as `ranges_of` says, shape ``(3, n)`` int64
    # The last of these once more if others have it too, and the next one after it or `END`, shape
    # ``(3, 1)`` or ``(3, 2)``
    following: np.ndarray


class Batches:
    """The first ranges of each batch on disk: its first one, and the first other one."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._begins: list[np.ndarray] = []
        self._changes: list[np.ndarray] = []

    def add(self, ranges: np.ndarray) -> None:
        """Take in all ranges of a run, in order, shape ``(3, n)``."""
        begins = ranges[:, :: self.size]
        changes = np.tile(END, begins.shape[1])
        new = 1 + np.flatnonzero((ranges[:, 1:] != ranges[:, :-1]).any(axis=0))
        inside = new[new % self.size != 0]
        batches, first = np.unique(inside // self.size, return_index=True)
        changes[:, batches] = ranges[:, inside[first]]
        self._begins.append(begins.copy())
        self._changes.append(changes)

    def ordered(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the batches in the order of their first ranges."""
        begins, changes = (np.concatenate(each, 1) for each in (self._begins, self._changes))
        order = np.lexsort(begins[::-1])
        return order, begins[:, order], changes[:, order]


def ranges_of(rows: pa.Table) -> np.ndarray:
    """Return the target, start and end of references, shape ``(3, n)`` int64.

    What has no bytes that others could share, such as a whole file, starts and ends at -1, so that
    it comes before the byte ranges of its target.
    """
    numbers, starts, lengths = (rows[name].to_numpy() for name in ("number", "offset", "length"))
    apart = (numbers < 0) | (lengths == 0)
    ends = starts + np.minimum(lengths, LARGEST - starts)
    return np.stack([numbers, np.where(apart, -1, starts), np.where(apart, -1, ends)])


def in_order(rows: pa.Table) -> tuple[pa.Table, np.ndarray]:
    """Return references in the order of their ranges, and these."""
    rows = rows.combine_chunks()
    ranges = ranges_of(rows)
    order = np.lexsort(ranges[::-1])
    if (order[1:] > order[:-1]).all():
        return rows, ranges
    return rows.take(number_column(order)).combine_chunks(), ranges[:, order]


def merged(
    read: Callable[[int], pa.RecordBatch], batches: Batches, schema: pa.Schema, together: int
) -> Iterator[Interval]:
    """Yield all references in order."""
    numbers, begins, changes = batches.ordered()
    held = schema.empty_table()
    for start in range(0, len(numbers), together):
        stop = start + together
        loaded = pa.Table.from_batches([read(n) for n in numbers[start:stop].tolist()], schema)
        rows, ranges = in_order(pa.concat_tables([held, loaded]))
        end, following = rows.num_rows, END
        if stop < len(numbers):
            end = _count_until(ranges, begins[:, stop])
            last, held_ranges = ranges[:, end - 1], ranges[:, end:]
            following = _following(last, held_ranges, begins[:, stop:], changes[:, stop:])
        held = rows.slice(end)
        yield Interval(rows.slice(0, end), ranges[:, :end], following)


def _count_until(ranges: np.ndarray, bound: np.ndarray) -> int:
    """Return how many of some ranges in order do not come after a bound."""
    start = 0
    stop: int = ranges.shape[1]
    for numbers, number in zip(ranges, bound, strict=True):
        among = numbers[start:stop]  # where all numbers before are equal
        first, end = among.searchsorted(number, "left"), among.searchsorted(number, "right")
        start, stop = start + int(first), start + int(end)
    return stop


def _following(
    last: np.ndarray, held: np.ndarray, begins: np.ndarray, changes: np.ndarray
) -> np.ndarray:
    """Return the range after `last` among those held and in batches that were not read yet."""
    ties = _count_until(begins, last)  # batches that begin with that very range
    if not ties:
        return begins[:, :1]
    found = np.concatenate([changes[:, :ties], begins[:, ties : ties + 1], held[:, :1]], axis=1)
    return np.stack([last, found[:, np.lexsort(found[::-1])[0]]], axis=1)
