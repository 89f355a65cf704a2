"""The keys as a tree of folders, one page of one level at a time.

Folders are numbered in the order of a walk, so that all that is below a folder is one run of
rows: sums and searches below a path are slices. A level is put in order when it is first shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.formats.arrow import (
    chunk_numbers,
    flags_of,
    number_column,
    numbers_of,
    text_column,
    without_start,
)
from refexplorer.refset.segments import Segment
from refexplorer.refset.table import Table
from refexplorer.spec.arrays import METADATA_NAMES
from refexplorer.spec.lint import parse_metadata
from refexplorer.spec.references import Inline, Kind, Range, Reference, Url

MAX_DEPTH = 64
_NATURAL = re.compile(r"(\d+)")


class NodeType(StrEnum):
    """What a row of the tree is."""

    GROUP = "group"
    ARRAY = "array"
    FOLDER = "folder"
    KEY = "key"


@dataclass(frozen=True, slots=True)
class Node:
    """One row of the tree.

    Attributes
    ----------
    path, name
        In full, and below its parent.
    kind, target, origin
        Of its reference; None where the path is no key.
    size
        Bytes; of a folder all that is below as far as it is known, None where nothing is.
    children
        How many rows are one level below.
    """

    path: str
    name: str
    type: NodeType
    kind: Kind | None
    size: int | None
    target: str | None
    origin: str | None
    children: int


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of one level, and how many there are in all."""

    rows: tuple[Node, ...]
    total: int
    start: int


@dataclass
class Folder:
    """A folder: its place in the walk, and what is directly in it."""

    path: str
    parent: Folder | None
    folders: dict[str, Folder]
    segments: list[Segment]
    number: int = -1
    end: int = -1
    """One more than the number of the last folder below."""

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path if self.parent is None else self.path[len(prefix(self.parent.path)) :]


def prefix(path: str) -> str:
    """Return what the paths below a folder start with."""
    return path + "/" if path else ""


class Tree:
    """The folders of a set and the rows in each.

    Parameters
    ----------
    table
        The explicit references.
    segments
        Those that are laid over it, each in its folder.
    """

    def __init__(self, table: Table, segments: Sequence[Segment]) -> None:
        self.table = table
        self.segments = segments
        self.root = Folder("", None, {}, [])
        self._by_path: dict[str, Folder] = {"": self.root}
        self._levels: dict[str, Level] = {}
        parents, codes = _parents(table.keys)
        made = [self._make(path) for path in parents]
        for segment in segments:
            self._make(segment.folder).segments.append(segment)
        self.folders = self._number()
        numbers = np.array([folder.number for folder in made], np.int64)[codes]
        self._order = np.argsort(numbers, kind="stable")
        self._starts = np.searchsorted(numbers[self._order], np.arange(len(self.folders) + 1))

    def _make(self, path: str) -> Folder:
        folder = self._by_path.get(path)
        if folder is None:
            head, slash, _ = path.rpartition("/")
            if path.count("/") >= MAX_DEPTH:
                return self._make("/".join(path.split("/", MAX_DEPTH)[:MAX_DEPTH]))
            parent = self._make(head) if slash else self.root
            folder = self._by_path[path] = Folder(path, parent, {}, [])
            parent.folders[path] = folder
        return folder

    def _number(self) -> list[Folder]:
        """Walk the folders and number them; return them in that order."""
        walked: list[Folder] = []
        waiting = [self.root]
        while waiting:
            folder = waiting.pop()
            if folder.number >= 0:
                folder.end = len(walked)
                continue
            folder.number = len(walked)
            walked.append(folder)
            waiting.append(folder)
            waiting.extend(reversed(folder.folders.values()))
        return walked

    def folder(self, path: str) -> Folder | None:
        """Return the folder of a path, or None."""
        return self._by_path.get(path)

    def rows_in(self, folder: Folder) -> np.ndarray:
        """Return the rows of the table that are directly in a folder."""
        return self._order[self._starts[folder.number] : self._starts[folder.number + 1]]

    def rows_below(self, folder: Folder) -> np.ndarray:
        """Return the rows of the table that are in a folder or in one below it."""
        return self._order[self._starts[folder.number] : self._starts[folder.end]]

    def segments_below(self, folder: Folder) -> list[Segment]:
        """Return the segments whose keys are all below a folder."""
        return [
            segment
            for below in self.folders[folder.number : folder.end]
            for segment in below.segments
        ]

    @cached_property
    def _bytes_before(self) -> np.ndarray:
        lengths = self.table.columns.lengths[self._order]
        return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])

    def size_below(self, folder: Folder) -> int | None:
        """Return the bytes of all references below a folder; None if not all are known."""
        sizes = [segment.size for segment in self.segments_below(folder)]
        known = [size for size in sizes if size is not None]
        return self.bytes_below(folder) + sum(known) if len(known) == len(sizes) else None

    def bytes_below(self, folder: Folder) -> int:
        """Return the bytes of the table's references below a folder."""
        before = self._bytes_before
        return int(before[self._starts[folder.end]] - before[self._starts[folder.number]])

    def level(self, folder: Folder) -> Level:
        """Return what is directly in a folder, put in order."""
        level = self._levels.get(folder.path)
        if level is None:
            level = self._levels[folder.path] = Level(self, folder)
        return level

    def type_of(self, folder: Folder) -> NodeType:
        """Say whether a folder is an array, a group, or neither."""
        key = prefix(folder.path)
        if self.table.find(key + ".zarray") is not None:
            return NodeType.ARRAY
        row = self.table.find(key + "zarr.json")
        reference = None if row is None else self.table.reference_at(row)
        if isinstance(reference, Inline):
            metadata = parse_metadata(reference.text) or {}
            is_array = metadata.get("node_type") == "array"
            return NodeType.ARRAY if is_array else NodeType.GROUP
        is_group = folder is self.root or self.table.find(key + ".zgroup") is not None
        return NodeType.GROUP if is_group else NodeType.FOLDER

    def node(self, path: str, reference: Reference | None, origin: str | None) -> Node | None:
        """Return the row of a path, given the reference if it is a key."""
        folder = self.folder(path)
        if folder is None and reference is None:
            return None
        if folder is None:
            assert reference is not None
            name = path.rpartition("/")[2]
            return _leaf(path, name, reference, origin)
        kind = None if reference is None else reference.kind
        below = self.size_below(folder) or None
        return Node(
            path,
            folder.name,
            self.type_of(folder),
            kind,
            below,
            _target(reference),
            origin,
            self._children(folder),
        )

    def _children(self, folder: Folder) -> int:
        """Count the rows below a folder without putting them in order."""
        listed = len(self.rows_in(folder)) + len(folder.folders)
        return listed + sum(segment.bound for segment in folder.segments)


class Level:
    """The children of one folder: metadata, folders, other keys, then generated ones."""

    def __init__(self, tree: Tree, folder: Folder) -> None:
        self._tree = tree
        self._folder = folder
        self._metadata, self._keys = self._rows()
        self._folders = sorted(folder.folders.values(), key=lambda below: _natural(below.name))
        self._runs = [len(self._metadata), len(self._folders), len(self._keys)]
        self._runs += [segment.count for segment in folder.segments]

    @property
    def total(self) -> int:
        """How many children there are."""
        return sum(self._runs)

    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of metadata keys and of the other keys, both in natural order."""
        rows = self._tree.rows_in(self._folder)
        names = self._names(rows)
        is_folder = _is_in(names, [folder.name for folder in self._folder.folders.values()])
        is_metadata = _is_in(names, sorted(METADATA_NAMES)) & ~is_folder
        others = ~is_metadata & ~is_folder
        kept = names.take(number_column(np.flatnonzero(others)))
        return rows[is_metadata], rows[others][natural_order(kept)]

    def _names(self, rows: np.ndarray) -> pa.Array:
        keys = self._tree.table.keys.take(number_column(rows))
        return without_start(keys, len(prefix(self._folder.path)))

    def page(self, start: int, stop: int) -> tuple[Node, ...]:
        """Return the rows from `start` to `stop`."""
        nodes: list[Node] = []
        before = 0
        for number, size in enumerate(self._runs):
            low, high = max(start - before, 0), min(stop - before, size)
            nodes += [self._node(number, place) for place in range(low, high)]
            before += size
        return tuple(nodes)

    def _node(self, run: int, place: int) -> Node:
        if run == 1:
            return self._folder_node(self._folders[place])
        if run > 2:
            return self._segment_node(self._folder.segments[run - 3], place)
        row = int((self._metadata if run == 0 else self._keys)[place])
        key = self._tree.table.key_at(row)
        return _leaf(
            key, self._name(key), self._tree.table.reference_at(row), self._tree.table.origin
        )

    def _name(self, key: str) -> str:
        return key[len(prefix(self._folder.path)) :]

    def _folder_node(self, folder: Folder) -> Node:
        row = self._tree.table.find(folder.path)
        reference = None if row is None else self._tree.table.reference_at(row)
        node = self._tree.node(
            folder.path, reference, None if row is None else self._tree.table.origin
        )
        assert node is not None
        return node

    def _segment_node(self, segment: Segment, place: int) -> Node:
        key = segment.key_at(place)
        return _leaf(key, self._name(key), segment.reference_at(place), segment.origin)

    def position(self, path: str) -> int | None:
        """Return the place of a child, from 0; None if it is not in this level."""
        for place, folder in enumerate(self._folders):
            if folder.path == path:
                return len(self._metadata) + place
        before = len(self._metadata) + len(self._folders) + len(self._keys)
        for segment in self._folder.segments:
            found = segment.find(path)
            if found is not None:
                return before + found
            before += segment.count
        return self._table_position(path)

    def _table_position(self, path: str) -> int | None:
        row = self._tree.table.find(path)
        if row is None:
            return None
        for rows, before in (
            (self._metadata, 0),
            (self._keys, len(self._metadata) + len(self._folders)),
        ):
            found = np.flatnonzero(rows == row)
            if len(found):
                return before + int(found[0])
        return None


def _leaf(path: str, name: str, reference: Reference | None, origin: str | None) -> Node:
    if reference is None:
        return Node(path, name, NodeType.KEY, None, None, None, origin, 0)
    return Node(
        path,
        name,
        NodeType.KEY,
        reference.kind,
        reference.size,
        _target(reference),
        origin,
        0,
    )


def _target(reference: Reference | None) -> str | None:
    return reference.url if isinstance(reference, Url | Range) else None


def _parents(keys: pa.LargeStringArray) -> tuple[list[str], np.ndarray]:
    """Return the distinct folders of the keys, and for each key the place of its folder."""
    inside = pc.match_substring(keys, "/")
    halves = pc.split_pattern(keys.filter(inside), "/", max_splits=1, reverse=True)
    parents = pc.list_element(halves, 0).dictionary_encode()
    codes = np.zeros(len(keys), np.int64)
    codes[flags_of(inside)] = numbers_of(parents.indices) + 1
    return ["", *parents.dictionary.to_pylist()], codes


def _is_in(names: pa.Array, wanted: list[str]) -> np.ndarray:
    return flags_of(pc.is_in(names, value_set=text_column(wanted)))


def natural_order(names: pa.Array) -> np.ndarray:
    """Return the order that counts: 2 before 10, and 0.2 before 0.10."""
    if len(names) < 2:
        return np.arange(len(names))
    first = names[0].as_py()
    separator = "/" if "/" in first else "."
    rank = first.count(separator) + 1
    rows, numbers = chunk_numbers(names, separator, rank)
    if len(rows) == len(names):
        return np.lexsort(numbers.T[::-1])
    texts = names.to_pylist()
    return np.array(sorted(range(len(texts)), key=lambda row: _natural(texts[row])), np.int64)


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts = _NATURAL.split(name)
    return [
        (0, int(part), "") if place % 2 and len(part) < 4000 else (1, 0, part)
        for place, part in enumerate(parts)
    ]
