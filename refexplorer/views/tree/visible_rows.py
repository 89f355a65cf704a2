"""The tree as a list of visible rows, found by arithmetic.

Only open levels are held. Where a row is, and what stands in a window, follows from how many
rows each open level shows, so that a level of 10^12 keys costs no more than one of ten.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from refexplorer.errors import shorten
from refexplorer.refset.tree.nodes import Node, NodeType
from refexplorer.views.key.absent import AbsentChunks, origin_of
from refexplorer.views.wire.models import Row

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet


@dataclass(slots=True, eq=False)
class _OpenLevel:
    """An open folder; `rows` counts its children and everything open below them.

    Of its `count` children the first `listed` are in the set; the others are absent chunks.
    """

    path: str
    parent: _OpenLevel | None
    position: int
    depth: int
    listed: int
    count: int
    rows: int = 0
    positions: list[int] = field(default_factory=list)
    levels: list[_OpenLevel] = field(default_factory=list)


class VisibleTree:
    """Which folders are open, and the rows that this makes.

    Parameters
    ----------
    refs
        The opened set.
    """

    def __init__(self, refs: ReferenceSet) -> None:
        self._refs = refs
        self._absent: AbsentChunks | None = None
        self._levels: dict[str, _OpenLevel] = {}
        self._root = self._level("", None, 0)

    def show_absent(self, is_shown: bool) -> None:
        """Show or hide, below each array, the chunks that have no reference."""
        if is_shown != (self._absent is not None):
            opened = list(self._levels)[1:]
            self._absent = AbsentChunks(self._refs) if is_shown else None
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
        rows = []
        for level, first, last in self._spans(start, start + n):
            listed = min(last, level.listed)
            nodes = self._refs.children(level.path, first, listed).rows if first < listed else ()
            rows += [self._row(level, at, node) for at, node in enumerate(nodes, first)]
            rows += self._absent_rows(level, max(first, level.listed), last)
        return rows

    def _absent_rows(self, level: _OpenLevel, first: int, last: int) -> Iterator[Row]:
        if self._absent is None or first >= last:
            return
        keys = self._absent.keys(level.path, first - level.listed, last - level.listed)
        start = len(level.path) + 1 if level.path else 0
        for at, key in enumerate(keys, first + 1):
            node = Node(
                key, key[start:], NodeType.KEY, None, None, None, origin_of(self._refs, key), 0
            )
            yield row(node, level.depth + 1, False, at, level.count)

    def index(self, path: str) -> int:
        """Return the number of a row; -1 if its folder is not open, and for the root.

        Raises
        ------
        KeyError
            If there is no such path.
        """
        if not path:
            return -1
        absent = self._place_of_absent(path)
        if absent is not None:
            level = self._levels.get(absent[0])
            return -1 if level is None else _flat(level, level.listed + absent[1])
        position, level = self._refs.position(path), self._levels.get(self._refs.parent(path))
        if level is None:
            return -1
        return _flat(level, position)

    def _place_of_absent(self, path: str) -> tuple[str, int] | None:
        return None if self._absent is None else self._absent.place(path)

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
        ancestors: list[str] = []
        absent = self._place_of_absent(path)
        if absent is not None:
            ancestors.append(absent[0])
        elif not self._is_there(path):
            return -1
        above = self._refs.parent(path if absent is None else absent[0])
        while above:
            ancestors.append(above)
            above = self._refs.parent(above)
        for ancestor in reversed(ancestors):
            self._open(ancestor)
        return self.index(path)

    def _is_there(self, path: str) -> bool:
        try:
            self._refs.node(path)
        except KeyError:
            return False
        return True

    def _level(self, path: str, parent: _OpenLevel | None, position: int) -> _OpenLevel:
        """Make and keep the level of a folder."""
        listed = self._refs.children(path, 0, 0).total
        count = listed if self._absent is None else listed + self._absent.count(path)
        depth = -1 if parent is None else parent.depth + 1
        level = _OpenLevel(
            path, parent, position, depth, listed, count, count if parent is None else 0
        )
        self._levels[path] = level
        return level

    def _open(self, path: str) -> None:
        if path in self._levels or not self._refs.children(path, 0, 0).total:
            return
        parent = self._levels[self._refs.parent(path)]
        level = self._level(path, parent, self._refs.position(path))
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

    def _row(self, level: _OpenLevel, position: int, node: Node) -> Row:
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
