"""Byte ranges of one target that share bytes without being the same range."""

from __future__ import annotations

import numpy as np

from refexplorer.refset.columns.reference_columns import RANGE
from refexplorer.refset.targets.layout import Rows


def overlapping(rows: Rows) -> np.ndarray:
    """Return which references share bytes with another range, ascending places, shape ``(n,)``.

    Parameters
    ----------
    rows
        Sorted by target, offset and length.
    """
    is_usual = (rows.kinds == RANGE) & (rows.lengths > 0)
    is_usual &= rows.lengths <= np.iinfo(np.int64).max - rows.offsets  # past 64 bits they are cut
    places = np.flatnonzero(is_usual)
    codes, offsets, lengths = (each[places] for each in (rows.codes, rows.offsets, rows.lengths))
    is_new = np.ones(len(places), np.bool_)
    is_new[1:] = np.diff(codes).astype(bool) | np.diff(offsets).astype(bool)
    is_new[1:] |= np.diff(lengths).astype(bool)
    codes, starts, stops = codes[is_new], offsets[is_new], (offsets + lengths)[is_new]
    reaches = (codes[1:] == codes[:-1]) & (starts[1:] < stops[:-1])
    if not reaches.any():  # where any two share bytes, two neighbours do
        return np.empty(0, np.int64)
    shares = np.append(reaches, False)
    # a running maximum of the ends serves all targets, since each comes after the one before it
    order = np.argsort(stops, kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    reached = np.maximum.accumulate(codes.astype(np.int64) * len(order) + ranks)[:-1]
    is_same = reached // len(order) == codes[1:]
    shares[1:] |= is_same & (stops[order[reached % len(order)]] > starts[1:])
    found: np.ndarray = places[shares[np.cumsum(is_new) - 1]]
    return found
