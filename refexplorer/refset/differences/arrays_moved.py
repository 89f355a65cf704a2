"""Arrays that were renamed: the same references below another path."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from refexplorer.formats.buffers.arrow import numbers_of
from refexplorer.refset.columns.table import Table
from refexplorer.refset.differences.comparing import METADATA, SAME, compare
from refexplorer.refset.tree.folders import Tree
from refexplorer.spec.core.paths import prefix

MOST_ARRAYS = 100
"""Arrays of each side that are held against each other; of more, the first in the tree."""


class ArrayMove(NamedTuple):
    """The array `old` was renamed to `new`, with its number of keys."""

    old: str
    new: str
    keys: int


@dataclass(frozen=True)
class _ArrayRows:
    """The rows of one array in a table."""

    path: str
    table: Table

    def __len__(self) -> int:
        return self.table.count


def find_array_moves(
    before: Table, after: Table, arrays: tuple[Iterable[str], Iterable[str]]
) -> tuple[ArrayMove, ...]:
    """Return the arrays whose references are all there, below another path.

    Parameters
    ----------
    before, after
        The references that are not the same on both sides under their keys.
    arrays
        Paths of the arrays of each side.
    """
    by_size: dict[int, list[_ArrayRows]] = defaultdict(list)
    for part in _parts(after, arrays[1]):
        by_size[len(part)].append(part)
    found = []
    for part in _parts(before, arrays[0]):
        other = next((other for other in by_size[len(part)] if _are_equal(part, other)), None)
        if other is not None:
            by_size[len(part)].remove(other)
            found.append(ArrayMove(part.path, other.path, len(part)))
    return tuple(found)


def _parts(table: Table, arrays: Iterable[str]) -> Iterator[_ArrayRows]:
    if not table.count:
        return
    tree = Tree(table, ())
    folders = (folder for path in arrays if (folder := tree.folder(path)) is not None)
    for folder, _ in zip(folders, range(MOST_ARRAYS), strict=False):
        yield _ArrayRows(folder.path, table.select(np.sort(tree.rows_below(folder))))


def _are_equal(one: _ArrayRows, two: _ArrayRows) -> bool:
    """Say whether two arrays have the same references, and metadata of whatever fields."""
    if one.path == two.path or not _first_is_equal(one, two):
        return False
    names = [pc.utf8_slice_codeunits(part.table.keys, _skipped(part)) for part in (one, two)]
    positions = pc.index_in(names[0], names[1])
    if positions.null_count:
        return False
    pairs = np.stack([np.arange(len(one)), numbers_of(positions).astype(np.int64)])
    changes = compare(one.table, two.table, pairs).changes
    return bool(np.isin(changes, (SAME, METADATA)).all())


def _first_is_equal(one: _ArrayRows, two: _ArrayRows) -> bool:
    """Say whether two arrays have the same first chunk, if they have one."""
    metadata = set(one.table.metadata.values())
    row = next((row for row in range(len(one)) if row not in metadata), None)
    if row is None:
        return False
    name = one.table.key_at(row)[_skipped(one) :]
    return two.table.get(prefix(two.path) + name) == one.table.reference_at(row)


def _skipped(part: _ArrayRows) -> int:
    return len(prefix(part.path))
