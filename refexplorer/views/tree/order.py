"""The order of keys on screen: data variables first, then coordinates, scalars, groups, keys."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from refexplorer.refset.contents import internals
from refexplorer.refset.conventions import finer_levels
from refexplorer.refset.tree import Node
from refexplorer.spec.keys import NodeType, prefix
from refexplorer.spec.references import Inline
from refexplorer.spec.zarr_metadata import ArrayMeta
from refexplorer.views.tree.rows import AllKeys

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet

ORDERED = 2_000
"""Folders of more children keep their own order: sorting them would read every array."""
_LOOKED_AT = 200
"""Arrays of which the data variables are looked for: the first screen waits for it."""
_SHORT = 4
"""Arrays of one dimension and so few values are bounds and the like, whatever they are called."""
_LINKS = ("coordinates", "bounds", "grid_mapping")
"""Attributes (CF conventions) that name variables which describe the one that has them."""


class ScienceOrder(AllKeys):
    """All that a set has, with what a person looks for first at the top of each group."""

    def __init__(self, refs: ReferenceSet) -> None:
        super().__init__(refs)
        self._orders: dict[str, tuple[list[int], dict[str, int]] | None] = {}

    def nodes(self, path: str, first: int, last: int) -> Iterable[Node]:
        """Return some children."""
        if (order := self._order(path)) is None:
            return super().nodes(path, first, last)
        own = list(super().nodes(path, 0, len(order[0])))
        return [own[place] for place in order[0][first:last]]

    def place(self, path: str) -> tuple[str, int]:
        """Return where a path is shown."""
        folder, position = super().place(path)
        order = self._order(folder)
        return folder, position if order is None else order[1].get(path, position)

    def _order(self, path: str) -> tuple[list[int], dict[str, int]] | None:
        """Return the places of the children of a group in this order, and that of each path."""
        if path not in self._orders:
            self._orders[path] = self._sort(path)
        return self._orders[path]

    def _sort(self, path: str) -> tuple[list[int], dict[str, int]] | None:
        count = self.count(path)
        if not 0 < count <= ORDERED:
            return None
        nodes = list(super().nodes(path, 0, count))
        if all(node.type is NodeType.KEY for node in nodes):
            return None
        ranks = _ranks(self._refs, path, nodes)
        order = sorted(range(count), key=lambda place: (ranks[place], place))
        return order, {nodes[place].path: at for at, place in enumerate(order)}


def _ranks(refs: ReferenceSet, folder: str, nodes: list[Node]) -> list[tuple[int, int]]:
    """Return for each child of a group its class, and what sorts it there: the largest first."""
    arrays = {node.path: refs.array(node.path) for node in nodes if node.type is NodeType.ARRAY}
    beside = described(refs, folder, arrays)
    ranks = []
    for node in nodes:
        array = arrays.get(node.path)
        if array is None:
            ranks.append((4 if node.type is NodeType.KEY else 3, 0))
        elif not array.shape or math.prod(array.shape) == 1:
            ranks.append((2, 0))
        elif node.path in beside or (len(array.shape) == 1 and array.shape[0] <= _SHORT):
            ranks.append((1, 0))
        else:
            ranks.append((0, -math.prod(array.shape) * (array.itemsize or 8)))
    return ranks


def described(refs: ReferenceSet, folder: str, arrays: Mapping[str, ArrayMeta]) -> set[str]:
    """Return the arrays of a group that describe others: coordinates, bounds, grid mappings."""
    names = set(_coordinates_of_group(refs, folder))
    for array in arrays.values():
        names.update(name for name in array.dimensions or () if name)
        for link in _LINKS:
            text = array.attributes.get(link)
            if isinstance(text, str):
                names.update(text.replace(":", " ").split())
    return {path for path in arrays if path[len(prefix(folder)) :] in names}


def data_variables(refs: ReferenceSet, most: int) -> list[str]:
    """Return the first arrays that are data, group by group, the largest first.

    Of a pyramid it is the coarsest level.
    """
    finer = finer_levels(internals(refs).opened)
    found: list[str] = []
    by_folder: dict[str, dict[str, ArrayMeta]] = {}
    for path in refs.arrays()[:_LOOKED_AT]:
        by_folder.setdefault(path.rpartition("/")[0], {})[path] = refs.array(path)
    for folder, arrays in by_folder.items():
        beside = described(refs, folder, arrays)
        data = [
            (math.prod(array.shape) * (array.itemsize or 8), path)
            for path, array in arrays.items()
            if path not in beside
            and path not in finer
            and math.prod(array.shape) > (_SHORT if len(array.shape) < 2 else 1)
        ]
        found += [path for _, path in sorted(data, key=lambda each: -each[0])]
    return found[:most]


def _coordinates_of_group(refs: ReferenceSet, folder: str) -> list[str]:
    """Return the coordinates that the attributes of a group name, as xarray and kerchunk write."""
    for name in (".zattrs", "zarr.json"):
        reference = refs.get(f"{folder}/{name}".lstrip("/"))
        if not isinstance(reference, Inline):
            continue
        with suppress(ValueError):
            document = json.loads(reference.data)
            attributes = document.get("attributes") if name == "zarr.json" else document
            text = attributes.get("coordinates") if isinstance(attributes, dict) else None
            return text.split() if isinstance(text, str) else []
    return []
