"""All targets of a set in columns, one row each: what a table is sorted and filtered by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refexplorer.refset.columns.reference_columns import RANGE
from refexplorer.refset.targets.layout import Rows

# offsets of one target are moved behind those of all before it, and two of them are added
_INT64 = 2**62


@dataclass(frozen=True)
class TargetColumns:
    """n targets, in the order in which the set first names them, shape ``(n,)`` each.

    Attributes
    ----------
    ranges, whole
        How many keys refer to a byte range, and how many to all of it.
    bytes
        That ranges cover, each counted once; of numbers of more than 64 bits -1, not known here.
    end
        Of the last range, likewise.
    """

    ranges: np.ndarray
    whole: np.ndarray
    bytes: np.ndarray
    end: np.ndarray


def target_columns(rows: Rows, starts: np.ndarray) -> TargetColumns:
    """Sum up references that are sorted by target and offset.

    Parameters
    ----------
    rows
        The references.
    starts
        Where those of each target begin, and where the last ends, shape ``(n + 1,)``.
    """
    count = len(starts) - 1
    is_range = rows.kinds == RANGE
    ranges = np.bincount(rows.codes[is_range], minlength=count)
    whole = np.bincount(rows.codes[~is_range], minlength=count)
    codes, offsets, lengths = (each[is_range] for each in (rows.codes, rows.offsets, rows.lengths))
    ends = offsets + lengths
    end, covered = np.zeros(count, np.int64), np.zeros(count, np.int64)
    # a target follows the one before it, so that one running maximum serves all of them
    width = int(ends.max(initial=0)) + 1
    if (len(ends) and (ends < offsets).any()) or width > _INT64 // max(count, 1):
        return TargetColumns(ranges, whole, np.full(count, -1), np.full(count, -1))
    np.maximum.at(end, codes, ends)
    base = codes.astype(np.int64) * width
    reached = np.maximum.accumulate(base + ends)
    before = np.concatenate([[0], reached[:-1]])[: len(reached)]
    news = np.maximum(base + ends - np.maximum(base + offsets, before), 0)
    np.add.at(covered, codes, news)
    return TargetColumns(ranges, whole, covered, end)
