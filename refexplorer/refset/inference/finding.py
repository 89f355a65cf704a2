"""A search for references of a table that a few gen items could generate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from refexplorer.formats.json.writer import json_text
from refexplorer.refset.columns.table import Table
from refexplorer.refset.inference.grids import additive_grids, even_grids, full_grids
from refexplorer.refset.inference.groups import Group, groups_of
from refexplorer.refset.inference.items import FoundItem, write_item

MOST_ITEMS = 1000
BUDGET = 500
"""Parts of the rows of one group that are looked at."""


def find_items(table: Table, tell: Callable[[int], None]) -> list[FoundItem]:
    """Return gen items that promise to be shorter than what they stand for.

    Parameters
    ----------
    tell
        Called with how many rows of the table were looked at, each of them twice.
    """
    found = [item for group in groups_of(table, tell) for item in islice(_items(group), MOST_ITEMS)]
    return sorted(found, key=lambda item: -len(item.rows))[:MOST_ITEMS]


def _items(group: Group) -> Iterator[FoundItem]:
    """Yield the items of full grids that are shorter than their references; the rest stays."""
    for grid in full_grids(group.fields, group.keys, BUDGET):
        for additive in additive_grids(group.fields, grid, BUDGET):
            for even in even_grids(group.fields, additive, group.keys, BUDGET):
                item = write_item(group, even)
                if item is not None and _saved(group, item) > 0:
                    yield item


def _saved(group: Group, item: FoundItem) -> int:
    """Return how much shorter a gen item is than its references, with short templates."""
    return len(item.rows) * (len(group.key) + 10 + 14 * group.ranges) - len(json_text(item.source))
