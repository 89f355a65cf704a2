"""Byte ranges against each other: overlaps, and lengths that look like ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from refexplorer.formats.spans import BLOCK
from refexplorer.refset.columns import RANGE, Columns
from refexplorer.refset.opened import OpenedSet
from refexplorer.refset.segments import Segment
from refexplorer.spec.diagnostics import Findings, pointer

_ENDS_NEEDED = 3
_ALL_BUT_LAST, _REST = slice(None, -1), slice(1, None)


class _Ranges(NamedTuple):
    """Byte ranges in the order of target, offset and length, shape ``(n,)`` each."""

    targets: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray


def lint_ranges(opened: OpenedSet, base: str, findings: Findings) -> None:
    """Note ranges of explicit references and of parquet stores that cannot be meant."""
    for part, columns in opened.columns():
        rows = _sorted_rows(columns)
        overlaps = _pairs(columns, rows, _overlap)
        for _, first, count in _by_target(columns, rows, overlaps):
            _note_overlap(part, columns, rows[first : first + 2].tolist(), count, base, findings)
        ends = _pairs(columns, rows, _look_like_ends)
        for target, first, count in _by_target(columns, rows, ends):
            if count >= _ENDS_NEEDED:
                _note_ends(part, columns.urls[target], int(rows[first]), count, base, findings)


def _sorted_rows(columns: Columns) -> np.ndarray:
    """Return the rows of byte ranges in order, int32."""
    rows = np.flatnonzero((columns.kinds == RANGE) & (columns.lengths > 0)).astype(np.int32)
    if len(_pairs(columns, rows, _out_of_order)):  # often the targets alone, and that is cheap
        rows = rows[np.argsort(columns.targets[rows], kind="stable")]
    if len(_pairs(columns, rows, _out_of_order)):
        ranges = _at(columns, rows)
        rows = rows[np.lexsort((ranges.lengths, ranges.offsets, ranges.targets))]
    return rows


def _at(columns: Columns, rows: np.ndarray) -> _Ranges:
    return _Ranges(columns.targets[rows], columns.offsets[rows], columns.lengths[rows])


def _pairs(
    columns: Columns, rows: np.ndarray, test: Callable[[_Ranges, _Ranges], np.ndarray]
) -> np.ndarray:
    """Return the places of the ranges that, with the next one, pass a test of both."""
    found = [np.empty(0, np.int64)]
    for at in range(0, len(rows) - 1, BLOCK):
        ranges = _at(columns, rows[at : at + BLOCK + 1])
        first, second = (_Ranges(*(c[part] for c in ranges)) for part in (_ALL_BUT_LAST, _REST))
        found.append(at + np.flatnonzero(test(first, second)))
    return np.concatenate(found)


def _out_of_order(one: _Ranges, two: _Ranges) -> np.ndarray:
    same_target, same_offset = one.targets == two.targets, one.offsets == two.offsets
    later = (one.offsets > two.offsets) | (same_offset & (one.lengths > two.lengths))
    found: np.ndarray = (one.targets > two.targets) | (same_target & later)
    return found


def _overlap(one: _Ranges, two: _Ranges) -> np.ndarray:
    """Say which share bytes without being the same range."""
    shared = one.offsets + one.lengths > two.offsets
    differ = (one.offsets != two.offsets) | (one.lengths != two.lengths)
    found: np.ndarray = (one.targets == two.targets) & shared & differ
    return found


def _look_like_ends(one: _Ranges, two: _Ranges) -> np.ndarray:
    """Say where a length is the offset of the next range, as an end would be."""
    found: np.ndarray = (one.targets == two.targets) & (one.lengths == two.offsets)
    return found & (one.offsets > 0)


def _by_target(
    columns: Columns, rows: np.ndarray, places: np.ndarray
) -> Iterator[tuple[int, int, int]]:
    """Yield each target with its first place and how many places it has."""
    targets = columns.targets[rows[places]]
    found = np.unique(targets, return_index=True, return_counts=True)
    for target, first, count in zip(*(column.tolist() for column in found), strict=True):
        yield target, int(places[first]), count


def _note_overlap(
    part: Segment, columns: Columns, rows: list[int], count: int, base: str, findings: Findings
) -> None:
    before, after = rows
    shared = columns.offsets[before] + columns.lengths[before] - columns.offsets[after]
    key = part.key_at(after)
    findings.add(
        "overlapping-ranges",
        base + pointer(key),
        f"`{key}` shares {int(shared):,} bytes of {columns.urls[columns.targets[after]]} with "
        f"`{part.key_at(before)}`.",
        "Is an offset or a length wrong?",
        key=key,
        count=count,
    )


def _note_ends(
    part: Segment, url: str | None, row: int, count: int, base: str, findings: Findings
) -> None:
    key = part.key_at(row)
    findings.add(
        "length-is-end",
        base + pointer(key),
        f"The lengths of {count:,} ranges of {url} are where the next range begins: they look "
        "like ends.",
        "The third element is the length in bytes, not the end.",
        key=key,
        count=count,
    )
