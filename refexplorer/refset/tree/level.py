"""One level of the tree, put in order when it is first shown."""

from __future__ import annotations

import numpy as np

from refexplorer.formats.buffers.arrow import text_column
from refexplorer.refset.columns.chunk_names import in_natural_order, natural
from refexplorer.refset.segments.segment import Segment
from refexplorer.refset.tree.folders import Folder, Tree
from refexplorer.refset.tree.nodes import Node, leaf
from refexplorer.spec.core.paths import prefix
from refexplorer.spec.core.zarr_metadata import METADATA_NAMES


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
        """Return where some keys stand among the rows of this level."""
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
        if run > 2:
            segment = self._folder.segments[run - 3]
            return [self._segment_node(segment, position) for position in range(low, high)]
        rows = (self._metadata if run == 0 else self._keys)[low:high]
        table, start = self._tree.table, len(prefix(self._folder.path))
        keys, references = table.keys_at(rows).to_pylist(), table.columns.references_at(rows)
        return [
            leaf(key, key[start:], reference, table.origin)
            for key, reference in zip(keys, references, strict=True)
        ]

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

    def _segment_node(self, segment: Segment, position: int) -> Node:
        key = segment.key_at(position)
        return leaf(key, self._name(key), segment.reference_at(position), segment.origin)

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
