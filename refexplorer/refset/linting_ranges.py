"""Byte ranges against each other: overlaps, and lengths that look like ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from refexplorer.refset.columns import RANGE, Columns
from refexplorer.refset.opened import OpenedSet
from refexplorer.refset.segments import Segment
from refexplorer.spec.diagnostics import Findings, pointer

_ENDS_NEEDED = 3


class _Ranges(NamedTuple):
    """Byte ranges of one segment, in the order of target and offset, shape ``(n,)`` each."""

    rows: np.ndarray
    targets: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray


def lint_ranges(opened: OpenedSet, base: str, findings: Findings) -> None:
    """Note ranges of explicit references and of parquet stores that cannot be meant."""
    for part, columns in opened.columns():
        ranges = _sorted(columns)
        if len(ranges.rows) > 1:
            _lint_overlaps(part, columns, ranges, base, findings)
            _lint_ends(part, columns, ranges, base, findings)


def _sorted(columns: Columns) -> _Ranges:
    rows = np.flatnonzero((columns.kinds == RANGE) & (columns.lengths > 0))
    order = np.lexsort((columns.lengths[rows], columns.offsets[rows], columns.targets[rows]))
    rows = rows[order]
    return _Ranges(rows, columns.targets[rows], columns.offsets[rows], columns.lengths[rows])


def _lint_overlaps(
    part: Segment, columns: Columns, ranges: _Ranges, base: str, findings: Findings
) -> None:
    """Note neighbours that share bytes without being the same range."""
    same = ranges.targets[1:] == ranges.targets[:-1]
    shared = ranges.offsets[:-1] + ranges.lengths[:-1] - ranges.offsets[1:]
    differ = (np.diff(ranges.offsets) != 0) | (np.diff(ranges.lengths) != 0)
    places = np.flatnonzero(same & (shared > 0) & differ)
    for target, first, count in _by_target(ranges, places):
        key, before = part.key_at(int(ranges.rows[first + 1])), part.key_at(int(ranges.rows[first]))
        findings.add(
            "overlapping-ranges",
            base + pointer(key),
            f"`{key}` shares {int(shared[first]):,} bytes of {columns.urls[target]} with "
            f"`{before}`.",
            "Is an offset or a length wrong?",
            key=key,
            count=count,
        )


def _lint_ends(
    part: Segment, columns: Columns, ranges: _Ranges, base: str, findings: Findings
) -> None:
    """Note targets where lengths are the offsets of the next range, as ends would be."""
    same = ranges.targets[1:] == ranges.targets[:-1]
    ends = same & (ranges.lengths[:-1] == ranges.offsets[1:]) & (ranges.offsets[:-1] > 0)
    for target, first, count in _by_target(ranges, np.flatnonzero(ends)):
        if count < _ENDS_NEEDED:
            continue
        key = part.key_at(int(ranges.rows[first]))
        findings.add(
            "length-is-end",
            base + pointer(key),
            f"The lengths of {count:,} ranges of {columns.urls[target]} are where the next range "
            "begins: they look like ends.",
            "The third element is the length in bytes, not the end.",
            key=key,
            count=count,
        )


def _by_target(ranges: _Ranges, places: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Yield each target with its first place and how many places it has."""
    found = np.unique(ranges.targets[places], return_index=True, return_counts=True)
    for target, first, count in zip(*(column.tolist() for column in found), strict=True):
        yield target, int(places[first]), count
