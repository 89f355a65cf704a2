"""A search for references of a table that a few gen items could generate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

import numpy as np

from refexplorer.formats.json.writer import json_text
from refexplorer.refset.columns.table import Table
from refexplorer.refset.inference.grids import LEAST_ROWS, additive_grids, full_grids
from refexplorer.refset.inference.groups import Group, groups_of
from refexplorer.refset.inference.items import FoundItem, pieces, write_items
from refexplorer.refset.inference.lattices import Lattice, fit_lattice, lattice_of

MOST_ITEMS = 1000
MOST_LATTICES = 8
BUDGET = 500
"""Parts of the rows of one group that are looked at."""


def find_items(table: Table, tell: Callable[[int], None]) -> list[FoundItem]:
    """Return gen items that promise to be shorter than what they stand for.

    Parameters
    ----------
    tell
        Called with how many rows of the table were looked at, each of them twice.
    """
    found = [item for group in groups_of(table, tell) for item in _items(group)]
    return sorted(found, key=lambda item: -len(item.rows))[:MOST_ITEMS]


def _items(group: Group) -> list[FoundItem]:
    """Return items of grids; where there are holes, of what makes the shorter document."""
    lattices = (
        lattice_of(group.fields, additive)
        for grid in full_grids(group.fields, group.keys, BUDGET)
        for additive in additive_grids(group.fields, grid, BUDGET)
    )
    first = list(islice(lattices, 1))
    if first and first[0].rows.size == len(group.rows):
        return list(islice(_written(group, first), MOST_ITEMS))
    holed = list(islice(_written(group, _lattices(group)), MOST_ITEMS))
    room = len(group.rows) * _written_out(group) - _saved(group, holed)
    whole: list[FoundItem] = []
    for item in islice(_written(group, chain(first, lattices)), MOST_ITEMS):
        whole.append(item)
        room -= len(json_text(item.source))
        if room < 0:
            return holed
    return max(whole, holed, key=lambda items: _saved(group, items))


def _lattices(group: Group) -> Iterator[Lattice]:
    """Yield lattices with holes, each of what the ones before have left, while many rows follow."""
    left = np.arange(len(group.rows), dtype=np.int32)
    for _ in range(MOST_LATTICES):
        lattice = fit_lattice(group.fields, group.keys, left) if len(left) >= LEAST_ROWS else None
        if lattice is None or np.count_nonzero(lattice.rows >= 0) < len(left) / MOST_LATTICES:
            return
        yield lattice
        left = np.setdiff1d(left, lattice.rows)


def _written(group: Group, lattices: Iterable[Lattice]) -> Iterator[FoundItem]:
    for lattice in lattices:
        for piece in pieces(group, lattice):
            yield from (item for item in write_items(group, piece) if _saved(group, [item]) > 0)


def _saved(group: Group, items: Iterable[FoundItem]) -> int:
    """Return how much shorter gen items are than their references, with short templates."""
    return sum(len(item.rows) * _written_out(group) - len(json_text(item.source)) for item in items)


def _written_out(group: Group) -> int:
    return len(group.key) + 10 + 14 * group.ranges
