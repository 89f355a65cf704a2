"""The arrays of a set: their metadata, and which chunks have a reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np

from refexplorer.formats.buffers.arrow import number_column
from refexplorer.refset.chunks.array_metadata import ArrayReader
from refexplorer.refset.chunks.generated_counts import count_by_arithmetic
from refexplorer.refset.chunks.grid_counting import (
    count_in_folder,
    count_in_folders,
    count_inside,
    has_plain_names,
    is_counted,
)
from refexplorer.refset.chunks.grid_patterns import pattern_of_names
from refexplorer.refset.columns.chunk_names import chunk_indices
from refexplorer.refset.segments.generated_columns import generated_tables
from refexplorer.refset.segments.listing import EVALUATED_KEYS
from refexplorer.refset.segments.records import Records
from refexplorer.refset.segments.segment import Generated, Segment
from refexplorer.refset.tree.folders import Folder, Tree
from refexplorer.spec.core.paths import folders_above
from refexplorer.spec.core.zarr_metadata import METADATA_NAMES, ArrayMeta

LISTED_CHUNKS = 10_000
FEW_KEYS = 1_000
"""Of arrays with no more keys each, those of the same grid are counted together."""


class ArrayIndex:
    """The arrays of a tree; the metadata of each is read when it is first needed."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._reader = ArrayReader(tree.table)
        self._read: dict[str, ArrayMeta | None] = {}
        self._present: dict[str, int | None] = {}
        self._counted: dict[str, int] = {}

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Paths of all arrays whose metadata can be read, in the order of the tree."""
        return tuple(f.path for f in self._tree.folders if self.get(f.path) is not None)

    def get(self, path: str) -> ArrayMeta | None:
        """Return the metadata of the array at a path; None if there is none that can be read."""
        if path not in self._read:
            there = self._tree.folder(path) is not None
            self._read[path] = self._reader.at(path) if there else None
        return self._read[path]

    def of_key(self, key: str) -> tuple[ArrayMeta, tuple[int, ...]] | None:
        """Return the array that a key is a chunk of and the chunk's index, or None."""
        for path in folders_above(key):
            array = self.get(path)
            if array is not None:
                index = array.chunk_index(key)
                return None if index is None else (array, index)
        return None

    def chunk_rows(self, array: ArrayMeta) -> tuple[np.ndarray, np.ndarray]:
        """Return the explicit chunk keys of an array with the right number of dimensions.

        Returns
        -------
        rows, indices
            Rows of the table, shape ``(n,)``, and chunk indices, shape ``(n, rank)`` int64;
            they may lie outside the grid.
        """
        folder = self._tree.folder(array.path)
        if folder is None or not array.shape:
            return self._only_chunk(array)
        return self._chunks_among(self._tree.rows_below(folder), array)

    def chunk_row_blocks(
        self, array: ArrayMeta, size: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield what `chunk_rows` returns, of no more than `size` keys at a time."""
        folder = self._tree.folder(array.path)
        if folder is None or not array.shape:
            yield self._only_chunk(array)
            return
        rows = self._tree.rows_below(folder)
        for start in range(0, len(rows), size):
            yield self._chunks_among(rows[start : start + size], array)

    def _only_chunk(self, array: ArrayMeta) -> tuple[np.ndarray, np.ndarray]:
        """Return the chunk of an array without dimensions."""
        row = self._tree.table.find(array.chunk_key(()))
        rows = np.array([] if row is None else [row], np.int64)
        return rows, np.empty((len(rows), 0), np.int64)

    def _chunks_among(self, rows: np.ndarray, array: ArrayMeta) -> tuple[np.ndarray, np.ndarray]:
        keys, start = self._tree.table.keys, array.folder + array.prefix
        positions, indices = chunk_indices(keys, rows, start, array.separator, len(array.shape))
        return rows if len(positions) == len(rows) else rows[positions], indices

    def present(self, array: ArrayMeta) -> int | None:
        """Count the chunks inside the grid that have a reference; record files are read.

        None if too many generated keys would have to be made to tell. References of large gen
        items are counted whether or not their templates fail.
        """
        if array.path not in self._present:
            below, above = self._segments(array)
            found = [_present_in(segment, array) for segment in below]
            found += [_present_among(segment, array) for segment in above]
            known = [count for count in found if count is not None]
            is_known = len(known) == len(found)
            self._present[array.path] = self._explicit(array) + sum(known) if is_known else None
        return self._present[array.path]

    def segments(self, array: ArrayMeta) -> list[Segment]:
        """Return the segments that may hold chunks of an array."""
        below, above = self._segments(array)
        return [*below, *above]

    def _segments(self, array: ArrayMeta) -> tuple[list[Segment], list[Segment]]:
        """Return the segments of an array's folder, and those that also make keys of others."""
        folder = self._tree.folder(array.path)
        below = [] if folder is None else self._tree.segments_below(folder)
        return below, _segments_above(folder)

    def is_tidy(self, array: ArrayMeta) -> bool:
        """Say whether each explicit key below an array is metadata or a chunk inside the grid."""
        folder, table = self._tree.folder(array.path), self._tree.table
        if folder is None:
            return False
        metadata = sum(array.folder + name in table.metadata for name in METADATA_NAMES)
        return self._explicit(array) + metadata == len(self._tree.rows_below(folder))

    def _explicit(self, array: ArrayMeta) -> int:
        """Count the chunks inside the grid that have an explicit reference."""
        if array.path not in self._counted:
            self._counted[array.path] = self._count_explicit(array)
        return self._counted[array.path]

    def _count_explicit(self, array: ArrayMeta) -> int:
        folder, keys = self._tree.folder(array.path), self._tree.table.keys
        if folder is None or not is_counted(array):
            _, indices = self.chunk_rows(array)
            return int(array.inside(indices).sum())
        if array.path and self._is_flat(array, folder):
            return count_in_folder(keys, self._tree.rows_in(folder), array)
        return count_inside(keys.take(number_column(self._tree.rows_below(folder))), array)

    def _is_flat(self, array: ArrayMeta, folder: Folder) -> bool:
        """Say whether all chunks of an array are directly in its folder, and no deeper key is."""
        return has_plain_names(array) and self._tree.is_exact(folder)

    def count(self, arrays: Iterable[ArrayMeta]) -> None:
        """Count the explicit chunks of many small arrays, before each is asked for its own."""
        alike: dict[str, list[tuple[ArrayMeta, np.ndarray]]] = {}
        for array in arrays:
            folder = self._tree.folder(array.path)
            if folder is None or array.path in self._counted or not is_counted(array):
                continue
            rows = self._tree.rows_in(folder)
            if len(rows) <= FEW_KEYS and self._is_flat(array, folder):
                alike.setdefault(pattern_of_names(array), []).append((array, rows))
        for group in alike.values():
            members, rows_of = zip(*group, strict=True)
            counts = count_in_folders(self._tree.table.keys, rows_of, members[0])
            self._counted.update(zip((one.path for one in members), counts, strict=True))

    def below(self, folder: Folder) -> list[ArrayMeta]:
        """Return the arrays at a folder or below it."""
        found = (self.get(f.path) for f in self._tree.folders[folder.number : folder.end])
        return [array for array in found if array is not None]


def _present_in(segment: Segment, array: ArrayMeta) -> int | None:
    """Count the chunks of an array in a segment; None if they are too many to be told."""
    if isinstance(segment, Records):
        return segment.present
    if isinstance(segment, Generated) and is_counted(array):
        if segment.count <= EVALUATED_KEYS:
            return sum(count_inside(table.keys, array) for table in generated_tables(segment))
        return count_by_arithmetic(segment, array)
    if segment.count > LISTED_CHUNKS:
        return None
    indices = (array.chunk_index(key) for key, _ in segment.iterate())
    return sum(index is not None and array.contains(index) for index in indices)


def _segments_above(folder: Folder | None) -> list[Segment]:
    """Return the segments that also make keys of other folders, as ``{{v}}/{{i}}`` does."""
    found: list[Segment] = []
    while folder is not None and folder.parent is not None:
        folder = folder.parent
        found += folder.segments
    return found


def _present_among(segment: Segment, array: ArrayMeta) -> int | None:
    """Count the chunks of one array among keys of several; None if they are too many."""
    if array.chunk_count <= LISTED_CHUNKS < segment.count:
        keys = (array.chunk_key(array.index_at(number)) for number in range(array.chunk_count))
        return sum(segment.find(key) is not None for key in keys)
    return _present_in(segment, array) if segment.count <= EVALUATED_KEYS else None
