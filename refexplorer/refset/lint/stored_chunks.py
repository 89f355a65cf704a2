"""The stored references of each array, as the lint rules of chunks ask for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from refexplorer.refset.columns.reference_columns import Columns
from refexplorer.refset.columns.sums import LARGEST
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.segments.records import Records
from refexplorer.refset.segments.segment import Segment
from refexplorer.spec.core.zarr_metadata import METADATA_NAMES, ArrayMeta


class StoredChunks(NamedTuple):
    """The references of one array that are not generated.

    Attributes
    ----------
    array
        Whose chunks they are.
    part
        The segment that holds them.
    columns
        All references of that segment.
    rows
        Which of them, shape ``(n,)``, in no order: all that are below the array and no metadata,
        so that some keys may be no chunk.
    """

    array: ArrayMeta
    part: Segment
    columns: Columns
    rows: np.ndarray

    def numbers(self, opened: OpenedSet) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that are chunks of the grid, and numbers in its order, both ``(n,)``."""
        if isinstance(self.part, Records):
            return self.rows, self.part.chunk_numbers(self.rows)
        rows, indices = opened.arrays.chunk_rows(self.array)
        inside = self.array.inside(indices)
        rows, indices = rows[inside], indices[inside]
        if not self.array.shape:
            return rows, np.zeros(len(rows), np.int64)
        if self.array.chunk_count <= LARGEST:
            return rows, np.ravel_multi_index(tuple(indices.T), self.array.narrow_grid)
        order = np.lexsort(indices.T[::-1])  # the numbers are too large, their order is not
        return rows[order], np.arange(len(order))


def stored_chunks(opened: OpenedSet) -> Iterator[StoredChunks]:
    """Yield the stored references of every array, those of a parquet store by themselves."""
    table = opened.table
    for path in opened.arrays.paths:
        array, folder = opened.arrays.get(path), opened.tree.folder(path)
        assert array is not None
        assert folder is not None
        rows = opened.tree.rows_below(folder)
        own = [table.metadata.get(array.folder + name) for name in METADATA_NAMES]
        rows = rows[~np.isin(rows, [row for row in own if row is not None])]
        if len(rows):
            yield StoredChunks(array, table, table.columns, rows)
    for part in opened.segments:
        if isinstance(part, Records):
            columns = part.columns
            yield StoredChunks(part.array, part, columns, np.arange(len(columns)))
