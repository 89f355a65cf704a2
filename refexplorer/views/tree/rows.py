"""The tree as a list of visible rows, found by arithmetic.

Only open levels are stored. The positions of rows follow from the number of rows in each open
level, so that a level of 10^12 keys costs no more than one of ten.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc
from msgspec import Struct

from refexplorer.core.errors import LimitError
from refexplorer.core.text import shorten
from refexplorer.formats.columns.chunk_names import natural
from refexplorer.refset.moves import CHANGES
from refexplorer.refset.opened_set import internals
from refexplorer.refset.targets import TargetIndex
from refexplorer.refset.tree import Folder, Node
from refexplorer.spec.references import Kind, NodeType, folders_above, prefix
from refexplorer.spec.zarr_metadata import ArrayMeta
from refexplorer.verbs.differing import Difference
from refexplorer.views.health.health import (
    Badges,
    ChunkHealth,
    StateName,
    number_type,
    numbers_in_state,
)
from refexplorer.views.key.inspector import origin_of
from refexplorer.views.maps.chunk_map import WORDS
from refexplorer.views.wire.requests import Count, filled

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet

REMOVED = "removed"
_ADDED = CHANGES.index("added")
_REMOVED = CHANGES.index(REMOVED)
_CHANGED = [place for place, name in enumerate(CHANGES) if name not in ("same", "added", REMOVED)]


class RowChanges(Struct, frozen=True):
    """How a key, or the keys below a folder, changed since the set used for comparison."""

    added: Count
    removed: Count
    changed: Count
    words: str | None = None  # The change of a key; null of a folder


class Row(Struct, frozen=True):
    """A visible row of the tree, or a result of a search."""

    path: str
    name: str
    depth: int
    type: NodeType
    kind: Kind | None  # Null for what is not a key
    size: Count | None
    target: str | None  # Cut
    # ``refs`` or the gen item; ``absent`` for a chunk without a reference, ``rejected`` for a
    # rejected key, ``removed`` for one that only the set has that this one is compared with
    origin: str | None
    children: Count
    open: bool
    position: Count  # Among its siblings, from 1
    siblings: Count
    form: str | None = None  # Shape and data type of an array
    label: str | None = None  # Long name and units of an array, as far as it has them
    # The chunks of an array along its first dimension, a letter for each part; null until its
    # chunks are counted
    strip: str | None = None
    badges: Badges | None = None  # Null where nothing wrong is known
    cause: str | None = None  # Why a chunk failed, or a key is rejected
    changes: RowChanges | None = None  # Null where nothing changed, or nothing is compared


class ChangedKeys:
    """A listing of the differences."""

    def __init__(self, found: Difference) -> None:
        self._found = found
        self._tree = found.tree

    def count(self, path: str) -> int:
        """Return the number of children shown."""
        return self._tree.count(path)

    def nodes(self, path: str, first: int, last: int) -> Iterable[Node]:
        """Return some children."""
        return [self._whole_node(node) for node in self._tree.nodes(path, first, last)]

    def place(self, path: str) -> tuple[str, int]:
        """Return where a path is shown."""
        return self._tree.place(path)

    def _whole_node(self, node: Node) -> Node:
        """Return the sets' own row: folders in the tree are only a part of it."""
        for side, origin in ((self._found.after, None), (self._found.before, REMOVED)):
            try:
                found = side.node(node.path)
            except KeyError:
                continue
            return replace(found, name=node.name, origin=origin or found.origin)
        return node


class ChangeMarks:
    """The changes at each path of a tree; folders are counted once."""

    def __init__(self, found: Difference) -> None:
        self._tree = found.tree
        self._below: dict[str, RowChanges | None] = {}

    def of(self, path: str, is_key: bool) -> RowChanges | None:
        """Return the changes of a key, or of the keys below a folder; None if unchanged."""
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


class TargetKeys(Sequence[str]):
    """The keys of the references to a target, by offset."""

    def __init__(self, index: TargetIndex, url: str | None) -> None:
        self._index = index
        self._parts, self._rows = index.located(url)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int | slice) -> str | list[str]:  # type: ignore[override]
        if isinstance(place, slice):
            return self._index.keys(self._parts[place], self._rows[place])
        return self[place : place + 1][0]


class AllKeys:
    """All keys of a set: the rows below each folder of the tree; ``""`` is the root."""

    def __init__(self, refs: ReferenceSet) -> None:
        self._refs = refs

    def count(self, path: str) -> int:
        """Return the number of children shown; 0 if it is not a folder."""
        return self._refs.children(path, 0, 0).total

    def nodes(self, path: str, first: int, last: int) -> Iterable[Node]:
        """Return some children."""
        return self._refs.children(path, first, last).rows

    def place(self, path: str) -> tuple[str, int]:
        """Return the folder that shows a path, and its position there."""
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
    """Which folders are open, and the resulting rows."""

    def __init__(self, listing: TreeListing) -> None:
        self._levels: dict[str, _OpenLevel] = {}
        self.show(listing)

    def show(self, listing: TreeListing) -> None:
        """Show a different listing; open folders stay open if they exist."""
        opened = list(self._levels)[1:]
        self.listing = listing
        self._levels.clear()
        self._root = self._level("", None, 0)
        for path in opened:
            self._open(path)

    @property
    def total(self) -> int:
        """The number of visible rows."""
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
        try:
            folder = self.listing.place(path)[0] if path else ""
        except KeyError:  # the row is of what was listed before
            return -1
        if folder not in self._levels:
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
        """Create and keep the level of a folder."""
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
    """Return the set's node at a path, or a row for a chunk without a reference."""
    try:
        return replace(refs.node(path), name=name)
    except KeyError:
        return Node(path, name, NodeType.KEY, None, None, None, origin_of(refs, path), 0)


def row(node: Node, depth: int, is_open: bool, position: int, siblings: int) -> Row:
    """Return the model of a row; `position` counts from 1."""
    own = {"open": is_open, "position": position, "siblings": siblings}
    target = None if node.target is None else shorten(node.target)
    return filled(Row, node, depth=depth, target=target, **own)


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


_BAD: tuple[StateName, ...] = ("absent", "rejected", "failed", "overlapping", "differing")


@dataclass(frozen=True)
class _BadLevel:
    """The children of a folder: folders and keys by path, then chunks by number."""

    paths: list[str]
    array: ArrayMeta | None
    numbers: np.ndarray

    def __len__(self) -> int:
        return len(self.paths) + len(self.numbers)

    def path(self, position: int) -> str:
        """Return a child."""
        if position < len(self.paths):
            return self.paths[position]
        assert self.array is not None
        number = self.numbers[position - len(self.paths)].item()
        return self.array.key_at(number)


class TroubleKeys:
    """A listing of the faults of a set, as known at its creation."""

    @property
    def is_current(self) -> bool:
        """Whether nothing more is known by now."""
        return self._columns is self._health.columns()

    def __init__(self, refs: ReferenceSet, health: ChunkHealth) -> None:
        self._refs = refs
        self._health = health
        self._columns = health.columns()
        self._opened = internals(refs).opened
        self._levels: dict[str, _BadLevel] = {}

    def count(self, path: str) -> int:
        """Return the number of children shown."""
        return len(self._level(path))

    def nodes(self, path: str, first: int, last: int) -> Iterable[Node]:
        """Return some children."""
        level, start = self._level(path), len(prefix(path))
        for position in range(first, last):
            child = level.path(position)
            yield node_of(self._refs, child, child[start:])

    def place(self, path: str) -> tuple[str, int]:
        """Return where a path is shown."""
        for folder in folders_above(path):
            level = self._level(folder)
            if path in level.paths:
                return folder, level.paths.index(path)
            if level.array is not None:
                index = level.array.chunk_index(path)
                if index is None or not level.array.contains(index):
                    continue
                number = level.array.chunk_number(index)
                at = int(np.searchsorted(level.numbers, number))
                if at < len(level.numbers) and level.numbers[at] == number:
                    return folder, len(level.paths) + at
        raise KeyError(path)

    def _level(self, path: str) -> _BadLevel:
        if path not in self._levels:
            self._levels[path] = self._make(path)
        return self._levels[path]

    def _make(self, path: str) -> _BadLevel:
        folder, none = self._opened.tree.folder(path), np.empty(0, np.int64)
        if folder is None:
            return _BadLevel([], None, none)
        below = sorted(folder.folders.values(), key=lambda each: natural(each.name))
        paths = [each.path for each in below if self._has_trouble(each)]
        array = self._opened.arrays.get(path)
        numbers = none if array is None else self._bad_chunks(array)
        keys = [key for key in self._loose if self._folder_of(key) == path]
        return _BadLevel([*dict.fromkeys([*keys, *paths])], array, numbers)

    def _has_trouble(self, folder: Folder) -> bool:
        sums = self._columns.below(folder.number, folder.end)
        return any(sums.values()) or folder.path in self._above_loose

    def _folder_of(self, key: str) -> str:
        """Return the nearest folder of the tree above a key."""
        found = (path for path in folders_above(key) if self._opened.tree.folder(path) is not None)
        return next(found, "")

    @cached_property
    def _loose(self) -> list[str]:
        """Keys that are not chunks, rejected or named by a note."""
        keys = self._opened.rejected.keys
        folders = pc.replace_substring_regex(keys, pattern="[^/]*$", replacement="")
        inside = [
            each
            for each in folders.unique().to_pylist()
            if any(self._opened.arrays.get(path) is not None for path in folders_above(each + "x"))
        ]
        is_inside = np.isin(np.array(folders.to_pylist(), object), inside)
        rejected = [keys[int(row)].as_py() for row in np.flatnonzero(~is_inside)]
        noted = [key for key in self._columns.noted if not self._is_chunk(key)]
        return sorted({*rejected, *noted}, key=natural)

    def _is_chunk(self, key: str) -> bool:
        owner = self._opened.arrays.of_key(key)
        return owner is not None and owner[0].contains(owner[1])

    @cached_property
    def _above_loose(self) -> set[str]:
        return {folder for key in self._loose for folder in folders_above(key)}

    def _bad_chunks(self, array: ArrayMeta) -> np.ndarray:
        """Return the numbers of the faulty chunks; states with too many are omitted."""
        kind = number_type(array)
        found = [np.array([], kind)]
        for state in _BAD:
            with suppress(LimitError):
                found.append(numbers_in_state(self._health, state, array))
        noted = (array.chunk_index(key) for key in self._columns.noted)
        numbers = [array.chunk_number(i) for i in noted if i is not None and array.contains(i)]
        return np.unique(np.concatenate([*found, np.array(numbers, kind)]))


TreeListing = AllKeys | ChangedKeys | TroubleKeys
"""What a tree may show."""
