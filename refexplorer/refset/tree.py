"""The keys as a tree of folders.

Folders are numbered in depth-first order, so that everything below a folder is one run of rows:
sums and searches below a path are slices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from refexplorer.core.text import masks_repr
from refexplorer.formats.columns.chunk_names import in_natural_order, natural
from refexplorer.formats.columns.references import LARGEST, URL, numbers_of, text_column
from refexplorer.formats.columns.table import Table
from refexplorer.formats.columns.texts import BLOCK, Spans, spans_of
from refexplorer.refset.segments import Segment
from refexplorer.spec.references import (
    MAX_DEPTH,
    Inline,
    Kind,
    NodeType,
    Range,
    Reference,
    Url,
    folders_above,
    prefix,
)
from refexplorer.spec.zarr_metadata import METADATA_NAMES, parse_metadata

_LONG = 64
"""Longer paths of folders are compared with others as they are, not eight bytes at a time."""


@masks_repr
@dataclass(frozen=True, slots=True)
class Node:
    """One row of the tree.

    Attributes
    ----------
    path, name
        The full path, and the name below its parent.
    kind, target, origin
        Those of its reference; None if the path is not a key.
    size
        Bytes, for a folder of everything below; None if not all are known, as for
        whole files.
    children
        The number of rows one level below.
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
    """Some rows of one level, and their total number."""

    rows: tuple[Node, ...]
    total: int
    start: int


def target_of(reference: Reference | None) -> str | None:
    """Return the URL of a reference."""
    return reference.url if isinstance(reference, Url | Range) else None


def leaf(path: str, name: str, reference: Reference | None, origin: str | None) -> Node:
    """Return the row of a key."""
    kind, size = (None, None) if reference is None else (reference.kind, reference.size)
    return Node(path, name, NodeType.KEY, kind, size, target_of(reference), origin, 0)


@dataclass
class Folder:
    """A folder: its number, and its direct contents."""

    path: str
    parent: Folder | None
    folders: dict[str, Folder]
    segments: list[Segment]
    number: int = -1
    end: int = -1  # One more than the number of the last folder below

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path if self.parent is None else self.path[len(prefix(self.parent.path)) :]


class Tree:
    """The folders of a set and the rows in each."""

    def __init__(self, table: Table, segments: Sequence[Segment]) -> None:
        self.table = table
        self.segments = segments
        self.root = Folder("", None, {}, [])
        self._by_path: dict[str, Folder] = {"": self.root}
        parents, firsts, codes = _parents(table.keys)
        made = [self._make(path) for path in parents]
        for segment in segments:
            self._make(segment.folder).segments.append(segment)
        self.folders = self._number()
        # two bytes sort much faster than four
        narrow = np.uint16 if len(self.folders) <= 2**16 else np.uint32
        numbers = np.array([folder.number for folder in made], narrow)[codes]
        self._levels: dict[str, Level] = {}
        self._order, self._starts = _grouped(numbers, firsts, len(table.keys), len(self.folders))

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
        """Return the folders in depth-first order, and number them."""
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

    def level(self, path: str) -> Level | None:
        """Return the children of a folder, sorted from then on, or None."""
        folder = self.folder(path)
        if folder is not None and path not in self._levels:
            self._levels[path] = Level(self, folder)
        return self._levels.get(path)

    def locate(self, path: str) -> tuple[str, int] | None:
        """Return the folder that shows a path, and its position there from 0, or None."""
        for parent in folders_above(path):
            level = self.level(parent)
            position = None if level is None else level.position(path)
            if position is not None:
                return parent, position
        return None

    def rows_in(self, folder: Folder) -> np.ndarray:
        """Return the table rows directly in a folder, in order."""
        return self._order[self._starts[folder.number] : self._starts[folder.number + 1]]

    def is_exact(self, folder: Folder) -> bool:
        """Return whether `rows_in` contains nothing from folders too deep to be created."""
        return folder.path.count("/") < MAX_DEPTH - 1

    def rows_below(self, folder: Folder) -> np.ndarray:
        """Return the table rows in or below a folder."""
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
        """Bytes of the rows before each folder, in depth-first order."""
        columns = self.table.columns
        # a cumulative sum in int64 wraps around silently; objects are exact, but slow
        if columns.total() <= LARGEST:
            return self._summed(lambda rows: columns.lengths[rows], np.int64)
        return self._summed(lambda rows: columns.lengths[rows].astype(object), object)

    @cached_property
    def _whole_before(self) -> np.ndarray | None:
        """Keys of whole files before each folder; None if the table has none at all."""
        is_whole = self.table.columns.kinds == URL
        return self._summed(is_whole.__getitem__, np.int64) if is_whole.any() else None

    def _summed(
        self, numbers: Callable[[np.ndarray], np.ndarray], kind: type[np.int64] | type[object]
    ) -> np.ndarray:
        """Return the cumulative sum of the rows before each folder."""
        before = np.zeros(len(self._starts), kind)
        total = 0
        for start in range(0, len(self._order), BLOCK):
            sums = np.cumsum(numbers(self._order[start : start + BLOCK]), dtype=kind)
            first, last = np.searchsorted(self._starts, [start, start + len(sums)], side="right")
            before[first:last] = total + sums[self._starts[first:last] - start - 1]
            total += int(sums[-1])
        return before

    def size_below(self, folder: Folder) -> int | None:
        """Return the bytes of all references below a folder; None if not all are known."""
        whole, before = self._whole_before, self._bytes_before
        if whole is not None and whole[folder.end] > whole[folder.number]:
            return None
        sizes = [segment.size for segment in self.segments_below(folder)]
        known = [size for size in sizes if size is not None]
        in_table = int(before[folder.end] - before[folder.number])
        return in_table + sum(known) if len(known) == len(sizes) else None

    def type_of(self, folder: Folder) -> NodeType:
        """Return whether a folder is an array, a group, or neither."""
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
            return leaf(path, name, reference, origin)
        kind = None if reference is None else reference.kind
        return Node(
            path,
            folder.name,
            self.type_of(folder),
            kind,
            self.size_below(folder),
            target_of(reference),
            origin,
            self._children(folder),
        )

    def _children(self, folder: Folder) -> int:
        """Count the rows below a folder without sorting them."""
        listed = len(self.rows_in(folder)) + len(folder.folders)
        return listed + sum(segment.bound for segment in folder.segments)


def _parents(keys: pa.LargeStringArray) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the distinct folders of the keys, and the runs of keys in the same folder."""
    positions: dict[str, int] = {"": 0}
    firsts, codes = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    for start in range(0, len(keys), BLOCK):
        names = spans_of(keys.slice(start, BLOCK))
        folders = Spans(names.data, names.starts, names.last_marks(ord("/")))
        rows = _firsts(folders)
        found = folders.take(rows).texts().dictionary_encode()
        new = [positions.setdefault(path, len(positions)) for path in found.dictionary.to_pylist()]
        firsts.append(start + rows)
        codes.append(np.array(new, np.int32)[numbers_of(found.indices)])
    return list(positions), np.concatenate(firsts), np.concatenate(codes)


def _firsts(texts: Spans) -> np.ndarray:
    """Return the rows whose text differs from the one before, and possibly others."""
    sizes = texts.sizes
    if int(sizes.max(initial=0)) > _LONG:
        return np.arange(len(sizes))
    is_new = np.append(True, sizes[1:] != sizes[:-1])[: len(sizes)]
    for rows, words, _ in texts.words():
        later = slice(1, None) if isinstance(rows, slice) else rows[1:]
        is_new[later] |= words[1:] != words[:-1]
    return np.flatnonzero(is_new)


def _grouped(
    numbers: np.ndarray, firsts: np.ndarray, count: int, groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows sorted by group, and where each group starts."""
    groups_of = np.repeat(numbers, np.diff(firsts, append=count))
    order = np.argsort(groups_of, kind="stable").astype(np.int32)
    return order, np.append(0, np.cumsum(np.bincount(groups_of, minlength=groups)))


class Level:
    """The children of one folder: metadata, folders, other keys, then generated ones."""

    def __init__(self, tree: Tree, folder: Folder) -> None:
        self._tree = tree
        self._folder = folder
        self._metadata, self._keys = self._rows()
        self._folders = sorted(folder.folders.values(), key=lambda below: natural(below.name))
        self._runs = [len(self._metadata), len(self._folders), len(self._keys)]
        self._runs += [segment.count for segment in folder.segments]

    @property
    def total(self) -> int:
        """How many children there are."""
        return sum(self._runs)

    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of metadata keys and of the other keys, both in natural order."""
        rows, start = self._tree.rows_in(self._folder), prefix(self._folder.path)
        folders = {folder.name for folder in self._folder.folders.values()}
        metadata = self._places([start + name for name in sorted(METADATA_NAMES - folders)], rows)
        others = np.ones(len(rows), np.bool_)
        others[metadata] = False
        others[self._places([start + name for name in folders], rows)] = False
        kept = rows if others.all() else rows[others]
        keys = self._tree.table.keys
        return rows[metadata], in_natural_order(keys, kept, len(start.encode()))

    def _places(self, keys: list[str], rows: np.ndarray) -> np.ndarray:
        """Return the positions of some keys among the rows of this level."""
        found = self._tree.table.index.find_many(text_column(keys))
        return np.searchsorted(rows, found[found >= 0])

    def page(self, start: int, stop: int) -> tuple[Node, ...]:
        """Return the rows from `start` to `stop`."""
        nodes: list[Node] = []
        before = 0
        for number, size in enumerate(self._runs):
            low, high = max(start - before, 0), min(stop - before, size)
            nodes += self._nodes(number, low, high) if low < high else []
            before += size
        return tuple(nodes)

    def _nodes(self, run: int, low: int, high: int) -> list[Node]:
        if run == 1:
            return [self._folder_node(folder) for folder in self._folders[low:high]]
        table, start = self._tree.table, len(prefix(self._folder.path))
        if run > 2:
            segment = self._folder.segments[run - 3]
            made = ((segment.key_at(row), segment.reference_at(row)) for row in range(low, high))
            return [leaf(key, key[start:], reference, segment.origin) for key, reference in made]
        rows = (self._metadata if run == 0 else self._keys)[low:high]
        keys, references = table.keys_at(rows).to_pylist(), table.columns.references_at(rows)
        return [
            leaf(key, key[start:], reference, table.origin)
            for key, reference in zip(keys, references, strict=True)
        ]

    def _folder_node(self, folder: Folder) -> Node:
        row = self._tree.table.find(folder.path)
        reference = None if row is None else self._tree.table.reference_at(row)
        node = self._tree.node(
            folder.path, reference, None if row is None else self._tree.table.origin
        )
        assert node is not None
        return node

    def position(self, path: str) -> int | None:
        """Return the position of a child, from 0; None if it is not in this level."""
        for position, folder in enumerate(self._folders):
            if folder.path == path:
                return len(self._metadata) + position
        before = len(self._metadata) + len(self._folders) + len(self._keys)
        for segment in self._folder.segments:
            found = segment.find(path)
            if found is not None:
                return before + found
            before += segment.count
        row = self._tree.table.find(path)
        before = len(self._metadata) + len(self._folders)
        for rows, first in ((self._metadata, 0), (self._keys, before)) if row is not None else ():
            places = np.flatnonzero(rows == row)
            if len(places):
                return first + int(places[0])
        return None
