"""Byte ranges against each other: overlaps, repeats, and lengths that look like ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from refexplorer.core.text import counted
from refexplorer.formats.columns.references import RANGE, Columns
from refexplorer.formats.columns.spans import BLOCK
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.parquet_segment import Records
from refexplorer.refset.segments import Segment
from refexplorer.spec.lint import KeyFindings

_ENDS_NEEDED = 3  # such ranges in one target; fewer may be chance
_ALL_BUT_LAST, _REST = slice(None, -1), slice(1, None)


class _Sorted(NamedTuple):
    """Byte ranges in the order of target, offset, length and row, shape ``(n,)`` each."""

    targets: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray
    rows: np.ndarray


def lint_ranges(opened: OpenedSet, notes: KeyFindings) -> None:
    """Note ranges of explicit references and of parquet stores that cannot be meant."""
    for part, columns in opened.columns():
        rows, overlaps, ends, same = _in_order(columns)
        for _, first, count in _by_target(columns, rows, overlaps):
            _note_overlap(part, columns, rows[first : first + 2].tolist(), count, notes)
        for target, first, count in _by_target(columns, rows, ends):
            if count >= _ENDS_NEEDED:
                _note_ends(part, columns.urls[target], int(rows[first]), count, notes)
        _lint_repeats(opened, part, columns, rows, same, notes)


def _in_order(columns: Columns) -> tuple[np.ndarray, ...]:
    """Return the rows of byte ranges in order, int32, and what `_pairs` finds in that order."""
    is_range = (columns.kinds == RANGE) & (columns.lengths > 0)
    is_range[list(columns.large)] = False  # clipped, they would look like each other
    rows = np.flatnonzero(is_range).astype(np.int32)
    disorder, *found = _pairs(columns, rows)
    # sorting is what costs here, so an order is tried only where the one before left disorder
    for order in (_order_of_places, _full_order):
        if not len(disorder):
            break
        rows = rows[order(columns, rows)]
        disorder, *found = _pairs(columns, rows)
    return rows, *found


def _order_of_places(columns: Columns, rows: np.ndarray) -> np.ndarray:
    """Order by target and offset in one number, which is fast; equal ones come as they like."""
    span = int(columns.offsets[rows].max()) + 1
    if span * len(columns.urls) > np.iinfo(np.int64).max:
        return np.arange(len(rows))
    positions = columns.targets[rows].astype(np.int64)
    positions *= span
    positions += columns.offsets[rows]
    return np.argsort(positions)


def _full_order(columns: Columns, rows: np.ndarray) -> np.ndarray:
    return np.lexsort(_at(columns, rows)[::-1])


def _at(columns: Columns, rows: np.ndarray) -> _Sorted:
    return _Sorted(columns.targets[rows], columns.offsets[rows], columns.lengths[rows], rows)


def _pairs(columns: Columns, rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the positions of the ranges that, with the next one, pass each of the tests."""
    tests = (_out_of_order, _overlap, _look_like_ends, _are_same)
    found = [[np.empty(0, np.int64)] for _ in tests]
    for start in range(0, len(rows) - 1, BLOCK):
        ranges = _at(columns, rows[start : start + BLOCK + 1])
        first, second = (_Sorted(*(c[part] for c in ranges)) for part in (_ALL_BUT_LAST, _REST))
        for positions, test in zip(found, tests, strict=True):
            positions.append(start + np.flatnonzero(test(first, second)))
    return tuple(np.concatenate(positions) for positions in found)


def _out_of_order(one: _Sorted, two: _Sorted) -> np.ndarray:
    later = one.rows > two.rows
    for before, after in ((one.lengths, two.lengths), (one.offsets, two.offsets),
                          (one.targets, two.targets)):  # fmt: skip
        later = (before > after) | ((before == after) & later)
    return later


def _overlap(one: _Sorted, two: _Sorted) -> np.ndarray:
    """Say which share bytes without being the same range."""
    shared = one.lengths > two.offsets - one.offsets  # a sum might pass 64 bits
    differ = (one.offsets != two.offsets) | (one.lengths != two.lengths)
    found: np.ndarray = (one.targets == two.targets) & shared & differ
    return found


def _look_like_ends(one: _Sorted, two: _Sorted) -> np.ndarray:
    """Say where a length is the offset of the next range, as an end would be."""
    found: np.ndarray = (one.targets == two.targets) & (one.lengths == two.offsets)
    return found & (one.offsets > 0)


def _are_same(one: _Sorted, two: _Sorted) -> np.ndarray:
    same_start = (one.targets == two.targets) & (one.offsets == two.offsets)
    found: np.ndarray = same_start & (one.lengths == two.lengths)
    return found


def _lint_repeats(
    opened: OpenedSet,
    part: Segment,
    columns: Columns,
    rows: np.ndarray,
    same: np.ndarray,
    notes: KeyFindings,
) -> None:
    """Note the chunks of one array that have the range of another; `rows` are in order.

    `same` are the indices into `rows` where the next range is the same.
    """
    if not len(same):
        return
    paths, arrays = _arrays_of(opened, part)
    if np.any(arrays[rows[same]] != arrays[rows[same + 1]]):  # arrays that share ranges
        rows, same = _by_array(rows, same, arrays)
    owners = arrays[rows[same]]
    counts = np.bincount(owners + 1, minlength=len(paths) + 1)[1:]
    for owner in np.flatnonzero(counts).tolist():
        first = int(same[np.argmax(owners == owner)])
        pair = rows[first : first + 2].tolist()
        _note_repeats(part, paths[owner], pair, int(counts[owner]), notes)


def _by_array(
    rows: np.ndarray, same: np.ndarray, arrays: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Put rows of one range into the order of their arrays; return which are like the next one."""
    ranges = np.ones(len(rows), np.int64)
    ranges[same + 1] = 0
    ranges = np.cumsum(ranges)
    order = np.lexsort((arrays[rows], ranges))
    rows, ranges = rows[order], ranges[order]
    alike = (ranges[1:] == ranges[:-1]) & (arrays[rows[1:]] == arrays[rows[:-1]])
    return rows, np.flatnonzero(alike)


def _arrays_of(opened: OpenedSet, part: Segment) -> tuple[tuple[str, ...], np.ndarray]:
    """Return paths of arrays, and the position there of the array of each row; -1 for none."""
    if isinstance(part, Records):
        return (part.array.path,), np.zeros(len(part.columns.kinds), np.int32)
    paths = opened.arrays.paths
    positions = np.full(opened.table.count, -1, np.int32)
    for position, path in enumerate(paths):
        folder = opened.tree.folder(path)
        if folder is not None:
            positions[opened.tree.rows_below(folder)] = position
    return paths, positions


def _by_target(
    columns: Columns, rows: np.ndarray, positions: np.ndarray
) -> Iterator[tuple[int, int, int]]:
    """Yield each target with its first position and how many positions it has."""
    targets = columns.targets[rows[positions]]
    found = np.unique(targets, return_index=True, return_counts=True)
    for target, first, count in zip(*(column.tolist() for column in found), strict=True):
        yield target, int(positions[first]), count


def _note_overlap(
    part: Segment, columns: Columns, rows: list[int], count: int, notes: KeyFindings
) -> None:
    before, after = rows
    starts, lengths = columns.offsets[rows].tolist(), columns.lengths[rows].tolist()
    shared = min(map(sum, zip(starts, lengths, strict=True))) - starts[1]
    key = part.key_at(after)
    notes.add(
        "overlapping-ranges",
        key,
        f"The byte range of `{key}` shares {shared:,} bytes of "
        f"{columns.urls[columns.targets[after]]} with that of `{part.key_at(before)}`.",
        "Check whether an offset or a length is wrong.",
        count=count,
    )


def _note_repeats(
    part: Segment, array: str, rows: list[int], count: int, notes: KeyFindings
) -> None:
    before, key = map(part.key_at, rows)
    refer = "refers" if count == 1 else "refer"
    notes.add(
        "repeated-range",
        key,
        f"{counted(count, 'chunk')} of `{array}` {refer} to the byte range of another chunk: "
        f"`{key}` has that of `{before}`.",
        "This is correct only where their values are equal, as in empty regions; otherwise an "
        "offset was repeated.",
        count=count,
    )


def _note_ends(part: Segment, url: str | None, row: int, count: int, notes: KeyFindings) -> None:
    key = part.key_at(row)
    notes.add(
        "length-is-end",
        key,
        f"The lengths of {count:,} ranges of {url} equal the offset of the next range: they "
        "look like end offsets.",
        "The third element of a reference is the length in bytes, not the end.",
        count=count,
    )
