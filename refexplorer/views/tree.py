"""The tree as a list of visible rows, found by arithmetic.

Only open levels are held. Where a row is, and what stands in a window, follows from how many
rows each open level shows, so that a level of 10^12 keys costs no more than one of ten.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from refexplorer.views.models import Row

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet
    from refexplorer.refset.tree import Node


@dataclass(slots=True, eq=False)
class _Level:
    """An open folder; `rows` counts its children and everything open below them."""

    path: str
    parent: _Level | None
    position: int
    depth: int
    count: int
    rows: int = 0
    positions: list[int] = field(default_factory=list)
    levels: list[_Level] = field(default_factory=list)


class Tree:
    """Which folders are open, and the rows that this makes.

    Parameters
    ----------
    refs
        The opened set.
    """

    def __init__(self, refs: ReferenceSet) -> None:
        self._refs = refs
        count = refs.children("", 0, 0).total
        self._root = _Level("", None, 0, -1, count, count)
        self._levels = {"": self._root}

    @property
    def total(self) -> int:
        """Visible rows."""
        return self._root.rows

    def window(self, start: int, n: int) -> list[Row]:
        """Return at most `n` visible rows from number `start` (0 is the first)."""
        rows = []
        for level, first, last in self._spans(start, start + n):
            nodes = self._refs.children(level.path, first, last).rows
            rows += [self._row(level, at, node) for at, node in enumerate(nodes, first)]
        return rows

    def index(self, path: str) -> int:
        """Return the number of a row; -1 if its folder is not open.

        Raises
        ------
        KeyError
            If there is no such path.
        """
        position, level = self._refs.position(path), self._levels.get(self._refs.parent(path))
        if level is None or path == "":
            return -1
        return _flat(level, position)

    def toggle(self, path: str, is_open: bool) -> int:
        """Open or close a folder and return the number of its row.

        Raises
        ------
        KeyError
            If there is no such path.
        """
        if self._refs.parent(path) not in self._levels:
            self.reveal(path)
        if is_open:
            self._open(path)
        else:
            self._close(path)
        return self.index(path)

    def reveal(self, path: str) -> int:
        """Open the folders above a path and return the number of its row; -1 if there is none."""
        try:
            self._refs.node(path)
        except KeyError:
            return -1
        ancestors: list[str] = []
        above = self._refs.parent(path)
        while above:
            ancestors.append(above)
            above = self._refs.parent(above)
        for ancestor in reversed(ancestors):
            self._open(ancestor)
        return self.index(path)

    def _open(self, path: str) -> None:
        if path in self._levels:
            return
        count = self._refs.children(path, 0, 0).total
        if not count:
            return
        parent = self._levels[self._refs.parent(path)]
        level = _Level(path, parent, self._refs.position(path), parent.depth + 1, count)
        at = bisect_left(parent.positions, level.position)
        parent.positions.insert(at, level.position)
        parent.levels.insert(at, level)
        self._levels[path] = level
        _grow(level, count)

    def _close(self, path: str) -> None:
        level = self._levels.get(path)
        if level is None or level.parent is None:
            return
        for below in _below(level):
            del self._levels[below.path]
        at = bisect_left(level.parent.positions, level.position)
        del level.parent.positions[at], level.parent.levels[at]
        _grow(level.parent, -level.rows)

    def _spans(self, start: int, stop: int) -> Iterator[tuple[_Level, int, int]]:
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

    def _row(self, level: _Level, position: int, node: Node) -> Row:
        is_open = node.path in self._levels
        return row(node, level.depth + 1, is_open, position + 1, level.count)


def row(node: Node, depth: int, is_open: bool, position: int, siblings: int) -> Row:
    """Return the model of a row; `position` counts from 1."""
    return Row(
        node.path,
        node.name,
        depth,
        node.type,
        node.kind,
        node.size,
        node.target,
        node.origin,
        node.children,
        is_open,
        position,
        siblings,
    )


def _flat(level: _Level, position: int) -> int:
    """Return the number of the visible row at a position of an open level."""
    index = 0
    while True:
        before = bisect_left(level.positions, position)
        index += position + sum(below.rows for below in level.levels[:before])
        if level.parent is None:
            return index
        level, position, index = level.parent, level.position, index + 1


def _grow(level: _Level, rows: int) -> None:
    above: _Level | None = level
    while above is not None:
        above.rows += rows
        above = above.parent


def _below(level: _Level) -> list[_Level]:
    found = [level]
    for each in found:
        found += each.levels
    return found
