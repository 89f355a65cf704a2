"""What a tree shows of a comparison: marks beside its rows, or nothing but what differs.

What is no longer there has a row where the set that is compared with has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from refexplorer.differing import Difference
from refexplorer.refset.moves import CHANGES
from refexplorer.refset.tree_nodes import Node
from refexplorer.views.maps.map_changes import WORDS
from refexplorer.views.wire.explorer.tree_messages import RowChanges

REMOVED = "removed"
_ADDED = CHANGES.index("added")
_REMOVED = CHANGES.index(REMOVED)
_CHANGED = [place for place, name in enumerate(CHANGES) if name not in ("same", "added", REMOVED)]


class ChangedKeys:
    """A listing of what differs."""

    def __init__(self, found: Difference) -> None:
        self._found = found
        self._tree = found.tree

    def count(self, path: str) -> int:
        """As in `TreeListing`, which all its methods follow."""
        return self._tree.count(path)

    def nodes(self, path: str, first: int, last: int) -> Iterable[Node]:
        """Return some children."""
        return [self._told(node) for node in self._tree.nodes(path, first, last)]

    def place(self, path: str) -> tuple[str, int]:
        """Return where a path is shown."""
        return self._tree.place(path)

    def _told(self, node: Node) -> Node:
        """Return what the sets themselves say of a row: of folders the tree knows a part alone."""
        for side, origin in ((self._found.after, None), (self._found.before, REMOVED)):
            try:
                found = side.node(node.path)
            except KeyError:
                continue
            return replace(found, name=node.name, origin=origin or found.origin)
        return node


class ChangeMarks:
    """What became of each path of a tree; folders are counted once."""

    def __init__(self, found: Difference) -> None:
        self._tree = found.tree
        self._below: dict[str, RowChanges | None] = {}

    def of(self, path: str, is_key: bool) -> RowChanges | None:
        """Return what became of a key, or of the keys below a folder; None if they are the same."""
        if is_key:
            change = self._tree.change_of(path)
            return None if change is None else _of_key(change)
        if path not in self._below:
            counts = self._tree.counts_below(path)
            changed = int(counts[_CHANGED].sum())
            marks = RowChanges(int(counts[_ADDED]), int(counts[_REMOVED]), changed)
            self._below[path] = marks if marks.added or marks.removed or changed else None
        return self._below[path]


def _of_key(change: str) -> RowChanges:
    return RowChanges(
        int(change == "added"),
        int(change == REMOVED),
        int(change not in ("added", REMOVED)),
        WORDS[change],
    )
