"""The references of a set by array and chunk, whatever order they come in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from refexplorer.errors import RefexplorerError
from refexplorer.refset.columns.chunk_keys import chunk_keys
from refexplorer.refset.columns.chunk_names import chunk_indices
from refexplorer.refset.columns.reference_columns import Columns
from refexplorer.refset.columns.table import Table
from refexplorer.refset.opened.batches import BLOCK
from refexplorer.refset.write.sameness import differs
from refexplorer.refset.write.spool import Spool
from refexplorer.spec.core.paths import folders_above
from refexplorer.spec.core.references import Reference
from refexplorer.spec.core.zarr_metadata import ArrayMeta

ArraysByPath = Mapping[str, ArrayMeta]
"""By their paths."""
_CHUNKS = 10**18
"""Numbers of chunks are read up to 18 digits."""
_AHEAD = 64
"""How many times as many rows as the last array had are looked at for the next one."""


class InOrder(NamedTuple):
    """n references of an array.

    Attributes
    ----------
    array
        The array.
    numbers
        Of their chunks, ascending, int64, shape ``(n,)``.
    columns
        What they refer to.
    """

    array: ArrayMeta
    numbers: np.ndarray
    columns: Columns


class ChunkOrder:
    """A sorter of the references of a set by array and chunk.

    Those of chunks wait in a file, so that no more are held than a record file has, or a few
    small ones.

    Parameters
    ----------
    arrays
        The arrays that the references belong to.
    record_size
        Chunks of a record file.
    spool
        Where they wait.
    proved
        Write the key of each chunk by its number, and compare.

    Attributes
    ----------
    metadata
        The references of metadata keys.
    """

    def __init__(
        self, arrays: ArraysByPath, record_size: int, spool: Spool, proved: bool = False
    ) -> None:
        self.metadata: dict[str, Reference] = {}
        self._arrays = arrays
        self._together = record_size * -(-BLOCK // record_size)
        self._spool = spool
        self._proved = proved
        self._parts: dict[str, set[int]] = {}

    def add(self, block: Table) -> None:
        """Take references.

        Raises
        ------
        RefexplorerError
            If a key is neither metadata nor a chunk inside the grid of an array.
        """
        self.metadata |= {key: block.reference_at(row) for key, row in block.metadata.items()}
        rows = np.delete(np.arange(block.count), list(block.metadata.values()))
        for array, found, numbers in _by_array(block, rows, self._arrays):
            if self._proved and not chunk_keys(array, numbers).equals(block.keys_at(found)):
                raise differs(f"`{array.path}` also has chunks of differently formed names")
            parts = numbers // self._together
            for part in np.unique(parts).tolist():
                chosen = np.flatnonzero(parts == part)
                columns = block.columns.select(found[chosen])
                self._spool.put((array.path, part), numbers[chosen], columns)
                self._parts.setdefault(array.path, set()).add(part)

    def __iter__(self) -> Iterator[InOrder]:
        """Yield the references of chunks, those of one or more whole record files at a time."""
        for path, parts in self._parts.items():
            for part in sorted(parts):
                numbers, columns = self._spool.take((path, part))
                order = np.argsort(numbers)
                yield InOrder(self._arrays[path], numbers[order], columns.select(order))


def in_chunk_order(
    blocks: Iterable[Table],
    arrays: ArraysByPath,
    record_size: int,
    spool: Spool,
    proved: bool = False,
) -> ChunkOrder:
    """Return all references of some tables; errors as `ChunkOrder.add`."""
    order = ChunkOrder(arrays, record_size, spool, proved)
    for block in blocks:
        order.add(block)
    return order


def _by_array(
    block: Table, rows: np.ndarray, arrays: ArraysByPath
) -> Iterator[tuple[ArrayMeta, np.ndarray, np.ndarray]]:
    """Yield each array that has chunks among some rows, these rows, and the numbers of the chunks.

    Where arrays are small, the rows are not looked through to their end for each of them.
    """
    ahead = len(rows)
    while len(rows):
        array = _array_of(arrays, block.key_at(int(rows[0])))
        positions, numbers = _numbers(block, rows[:ahead], array)
        yield array, rows[positions], numbers
        is_run = int(positions[-1]) == len(positions) - 1
        rows = rows[len(positions) :] if is_run else np.delete(rows, positions)
        ahead = _AHEAD * len(positions)


def _array_of(arrays: ArraysByPath, key: str) -> ArrayMeta:
    for path in folders_above(key):
        if path in arrays:
            index = arrays[path].chunk_index(key)
            if index is not None and arrays[path].contains(index):
                return arrays[path]
            break
    raise _no_place(key)


def _numbers(block: Table, rows: np.ndarray, array: ArrayMeta) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows are chunks of an array, and their numbers in its grid."""
    if not array.grid:
        return np.array([0]), np.array([0])
    if array.chunk_count >= _CHUNKS:
        raise RefexplorerError(
            f"`{array.path}` has {array.chunk_count:,} chunks, too many to be written in order."
        )
    start, rank = array.folder + array.prefix, len(array.grid)
    positions, indices = chunk_indices(block.keys, rows, start, array.separator, rank)
    outside = np.flatnonzero(~array.inside(indices))
    if len(outside):
        raise _no_place(block.key_at(int(rows[positions[outside[0]]])))
    numbers = np.zeros(len(indices), np.int64)
    for column, size in zip(indices.T, array.grid, strict=True):  # numpy's own takes 64 at most
        numbers = numbers * size + column
    return positions, numbers


def _no_place(key: str) -> RefexplorerError:
    return RefexplorerError(
        f"`{key}` is neither metadata nor a chunk of an array, and the form that is written can "
        "hold nothing else."
    )
