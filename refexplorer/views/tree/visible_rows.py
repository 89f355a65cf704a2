"""The tree as a list of visible rows, found by arithmetic.

Only open levels are held. Where a row is, and what stands in a window, follows from how many
rows each open level shows, so that a level of 10^12 keys costs no more than one of ten.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from refexplorer.errors import shorten
from refexplorer.refset.tree_nodes import Node, NodeType
from refexplorer.views.key.absent import origin_of
from refexplorer.views.wire.explorer.tree_messages import Row

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet


class TreeListing(Protocol):
    """What a tree shows below each folder; ``""`` is the root."""

    def count(self, path: str) -> int:
        """Return how many children are shown; 0 for what is no folder."""
        ...

    def nodes(self, path: str, first: int, last: int) -> Iterable[Node]:
        """Return some of them by their positions."""
        ...

    def place(self, path: str) -> tuple[str, int]:
        """Return the folder that shows a path, and its position there."""
        ...


class AllKeys:
    """All that a set has."""

    def __init__(self, refs: ReferenceSet) -> None:
        self._refs = refs

    def count(self, path: str) -> int:
        """As in `TreeListing`, which all its methods follow."""
        return self._refs.children(path, 0, 0).total

    def nodes(self, path: str, first: int, last: int) -> Iterable[Node]:
        """Return some children."""
        return self._refs.children(path, first, last).rows

    def place(self, path: str) -> tuple[str, int]:
        """Return where a path is shown."""
        return self._refs.parent(path), self._refs.position(path)


@dataclass(slots=True, eq=False)
class _OpenLevel:
    """An open folder; `rows` counts its children and everything open below them."""

    path: str
    parent: _OpenLevel | None
    position: int
    depth: int
    count: int
    rows: int = 0
    positions: list[int] = field(default_factory=list)
    levels: list[_OpenLevel] = field(default_factory=list)


class VisibleTree:
    """Which folders are open, and the rows that this makes."""

    listing: TreeListing

    def __init__(self, listing: TreeListing) -> None:
        self._levels: dict[str, _OpenLevel] = {}
        self.show(listing)

    def show(self, listing: TreeListing) -> None:
        """Show something else; what was open stays so if it is there."""
        opened = list(self._levels)[1:]
        self.listing = listing
        self._levels.clear()
        self._root = self._level("", None, 0)
        for path in opened:
            self._open(path)

    @property
    def total(self) -> int:
        """Visible rows."""
        return self._root.rows

    def window(self, start: int, n: int) -> list[Row]:
        """Return at most `n` visible rows from number `start` (0 is the first)."""
        return [
            row(node, level.depth + 1, node.path in self._levels, at, level.count)
            for level, first, last in self._spans(start, start + n)
            for at, node in enumerate(self.listing.nodes(level.path, first, last), first + 1)
        ]

    def index(self, path: str) -> int:
        """Return the number of a row; -1 if its folder is not open, and for the root."""
        if not path:
            return -1
        folder, position = self.listing.place(path)
        level = self._levels.get(folder)
        return -1 if level is None else _flat(level, position)

    def toggle(self, path: str, is_open: bool) -> int:
        """Open or close a folder and return the number of its row."""
        if path and self.listing.place(path)[0] not in self._levels:
            self.reveal(path)
        if is_open:
            self._open(path)
        else:
            self._close(path)
        return self.index(path)

    def reveal(self, path: str) -> int:
        """Open the folders above a path and return the number of its row; -1 if there is none."""
        ancestors: list[str] = []
        try:
            above = self.listing.place(path)[0] if path else ""
            while above:
                ancestors.append(above)
                above = self.listing.place(above)[0]
        except KeyError:
            return -1
        for ancestor in reversed(ancestors):
            self._open(ancestor)
        return self.index(path)

    def _level(self, path: str, parent: _OpenLevel | None, position: int) -> _OpenLevel:
        """Make and keep the level of a folder."""
        count = self.listing.count(path)
        depth = -1 if parent is None else parent.depth + 1
        level = _OpenLevel(path, parent, position, depth, count, count if parent is None else 0)
        self._levels[path] = level
        return level

    def _open(self, path: str) -> None:
        if path in self._levels or not self.listing.count(path):
            return
        folder, position = self.listing.place(path)
        if (parent := self._levels.get(folder)) is None:
            return
        level = self._level(path, parent, position)
        at = bisect_left(parent.positions, level.position)
        parent.positions.insert(at, level.position)
        parent.levels.insert(at, level)
        _grow(level, level.count)

    def _close(self, path: str) -> None:
        level = self._levels.get(path)
        if level is None or level.parent is None:
            return
        for below in _below(level):
            del self._levels[below.path]
        at = bisect_left(level.parent.positions, level.position)
        del level.parent.positions[at], level.parent.levels[at]
        _grow(level.parent, -level.rows)

    def _spans(self, start: int, stop: int) -> Iterator[tuple[_OpenLevel, int, int]]:
        """Yield runs of siblings in the window: their level, first and last position."""
        cursor, stack = 0, [(self._root, 0, 0)]
        while stack and cursor < stop:
            level, number, position = stack.pop()
            is_last = number == len(level.levels)
            end = level.count if is_last else level.positions[number] + 1
            first = position + max(start - cursor, 0)
            last = min(end, position + stop - cursor)
            if first < last:
                yield level, first, last
            cursor += end - position
            if is_last:
                continue
            below = level.levels[number]
            stack.append((level, number + 1, end))
            if cursor + below.rows <= start:
                cursor += below.rows
            else:
                stack.append((below, 0, 0))


def node_of(refs: ReferenceSet, path: str, name: str) -> Node:
    """Return what the set has at a path, or a row for a chunk that it does not have."""
    try:
        return replace(refs.node(path), name=name)
    except KeyError:
        return Node(path, name, NodeType.KEY, None, None, None, origin_of(refs, path), 0)


def row(node: Node, depth: int, is_open: bool, position: int, siblings: int) -> Row:
    """Return the model of a row; `position` counts from 1."""
    return Row(
        node.path,
        node.name,
        depth,
        node.type,
        node.kind,
        node.size,
        None if node.target is None else shorten(node.target),
        node.origin,
        node.children,
        is_open,
        position,
        siblings,
    )


def _flat(level: _OpenLevel, position: int) -> int:
    """Return the number of the visible row at a position of an open level."""
    index = 0
    while True:
        before = bisect_left(level.positions, position)
        index += position + sum(below.rows for below in level.levels[:before])
        if level.parent is None:
            return index
        level, position, index = level.parent, level.position, index + 1


def _grow(level: _OpenLevel, rows: int) -> None:
    above: _OpenLevel | None = level
    while above is not None:
        above.rows += rows
        above = above.parent


def _below(level: _OpenLevel) -> list[_OpenLevel]:
    found = [level]
    for each in found:
        found += each.levels
    return found
