"""The keys that differ as a tree of folders: what changed below each, and which keys."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from refexplorer.refset.columns.table import Table
from refexplorer.refset.differences.comparing import CHANGES
from refexplorer.refset.tree.folders import Folder, Tree
from refexplorer.refset.tree.level import Level
from refexplorer.refset.tree.nodes import Node
from refexplorer.spec.core.paths import folders_above


class ChangeTree:
    """The keys that differ between two sets, by folder.

    Parameters
    ----------
    table
        The keys in the order of `Differences.rows`, each with its reference before or, where it
        is new, after.
    changes
        Their changes as places in `CHANGES`, int8, shape ``(n,)``.
    """

    def __init__(self, table: Table, changes: np.ndarray) -> None:
        self.table = table
        self._changes = changes
        self._levels: dict[str, Level] = {}

    @cached_property
    def tree(self) -> Tree:
        """The folders."""
        return Tree(self.table, ())

    def change_of(self, key: str) -> str | None:
        """Return the change of a key; None if it is the same in both, or in neither."""
        row = self.table.find(key)
        return None if row is None else CHANGES[self._changes[row]]

    def counts_below(self, path: str) -> np.ndarray:
        """Count the keys below a folder by their change, int64, in the order of `CHANGES`."""
        if (folder := self.tree.folder(path)) is None:
            return np.zeros(len(CHANGES), np.int64)
        return np.bincount(self._changes[self.tree.rows_below(folder)], minlength=len(CHANGES))

    def numbers(self, path: str, change: str | None = None) -> np.ndarray:
        """Return the numbers of the keys below a folder, of one change or of all, ascending."""
        if (folder := self.tree.folder(path)) is None:
            return np.empty(0, np.int64)
        rows: np.ndarray = np.sort(self.tree.rows_below(folder))
        if change is not None:
            rows = rows[self._changes[rows] == CHANGES.index(change)]
        return rows

    def count(self, path: str) -> int:
        """Return how many children a folder has; 0 for what is no folder."""
        level = self._level(path)
        return 0 if level is None else level.total

    def nodes(self, path: str, first: int, last: int) -> tuple[Node, ...]:
        """Return some children of a folder by their positions."""
        level = self._level(path)
        return () if level is None else level.page(first, last)

    def place(self, path: str) -> tuple[str, int]:
        """Return the folder that a path is in, and its position there.

        Raises
        ------
        KeyError
            If nothing differs there.
        """
        for above in folders_above(path):
            level = self._level(above)
            position = None if level is None else level.position(path)
            if position is not None:
                return above, position
        raise KeyError(path)

    def _level(self, path: str) -> Level | None:
        if path not in self._levels:
            folder: Folder | None = self.tree.folder(path)
            if folder is None:
                return None
            self._levels[path] = Level(self.tree, folder)
        return self._levels[path]
