"""Sorts the keys of a set into what a parquet store can hold, by the column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from refexplorer.errors import RefexplorerError
from refexplorer.formats.atomic import Check, unchecked
from refexplorer.formats.parquet_writing import Chunks, write_store
from refexplorer.refset.arrays import ArrayIndex
from refexplorer.refset.chunk_names import chunk_indices
from refexplorer.refset.columns import BASE64, INLINE, RANGE, Columns
from refexplorer.refset.joining import joined_columns
from refexplorer.refset.table import Table
from refexplorer.spec.arrays import ArrayMeta
from refexplorer.spec.references import Range, Reference

_Parts = dict[str, list[tuple[np.ndarray, Columns]]]
"""For each array numbers of chunks, and their references."""


def write_parquet(
    blocks: Iterable[Table],
    arrays: ArrayIndex,
    path: Path,
    record_size: int,
    *,
    check: Check = unchecked,
    overwrite: bool = False,
) -> None:
    """Write references as a parquet store.

    Parameters
    ----------
    blocks
        All references.
    arrays
        The arrays that they belong to.
    path, record_size, check, overwrite
        As `write_store`.

    Raises
    ------
    RefexplorerError
        If a key is neither metadata nor a chunk inside the grid of an array, since the layout
        has no place for it; and as `write_store`.
    """
    metadata: dict[str, Reference] = {}
    parts: _Parts = {path: [] for path in arrays.paths}
    for block in blocks:
        metadata |= {key: block.reference_at(row) for key, row in block.metadata.items()}
        rows = np.delete(np.arange(block.count), list(block.metadata.values()))
        for array, numbers, columns in _by_array(block, rows, arrays):
            parts[array.path].append((numbers, columns))
    write_store(
        path,
        metadata.items(),
        _arrays(arrays, parts),
        record_size,
        check=check,
        overwrite=overwrite,
    )


def _by_array(
    block: Table, rows: np.ndarray, arrays: ArrayIndex
) -> Iterator[tuple[ArrayMeta, np.ndarray, Columns]]:
    """Yield the chunks of each array that has some in a block."""
    while len(rows):
        array = _array_of(arrays, block.key_at(int(rows[0])))
        places, numbers = _numbers(block, rows, array)
        yield array, numbers, block.columns.select(rows[places])
        rows = np.delete(rows, places)


def _array_of(arrays: ArrayIndex, key: str) -> ArrayMeta:
    found = arrays.of_key(key)
    if found is None or not found[0].contains(found[1]):
        raise _no_place(key)
    return found[0]


def _numbers(block: Table, rows: np.ndarray, array: ArrayMeta) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows are chunks of an array, and their numbers in its grid."""
    if not array.grid:
        return np.array([0]), np.array([0])
    start, rank = array.folder + array.prefix, len(array.grid)
    places, indices = chunk_indices(block.keys, rows, start, array.separator, rank)
    outside = np.flatnonzero(np.any(indices >= np.array(array.grid), axis=1))
    if len(outside):
        raise _no_place(block.key_at(int(rows[places[outside[0]]])))
    return places, np.ravel_multi_index(tuple(indices.T), array.grid)


def _no_place(key: str) -> RefexplorerError:
    return RefexplorerError(
        f"`{key}` is neither metadata nor a chunk of an array, so a parquet store has no "
        "place for it."
    )


def _arrays(arrays: ArrayIndex, parts: _Parts) -> Iterator[tuple[ArrayMeta, Chunks]]:
    for path, found in parts.items():
        array = arrays.get(path)
        assert array is not None
        yield array, _chunks(array, found)


def _chunks(array: ArrayMeta, parts: list[tuple[np.ndarray, Columns]]) -> Chunks:
    """Return the chunks of an array as a parquet store says them, in their order."""
    columns = joined_columns([columns for _, columns in parts])
    numbers = np.concatenate([np.empty(0, np.int64), *(numbers for numbers, _ in parts)])
    if columns.large or None in columns.urls:
        raise _unspeakable(array, bool(columns.large))
    order = np.argsort(numbers)
    columns, is_range = columns.select(order), (columns.kinds == RANGE)[order]
    is_text = (columns.kinds == INLINE) | (columns.kinds == BASE64)
    raws = {row: _data(columns, row) for row in np.flatnonzero(is_text).tolist()}
    empty = is_range & (columns.lengths == 0)  # size 0 would stand for the whole file
    raws |= dict.fromkeys(np.flatnonzero(empty).tolist(), b"")
    return Chunks(
        numbers[order],
        [url or "" for url in columns.urls],
        np.where(is_text | empty, -1, columns.targets),
        np.where(is_range & ~empty, columns.offsets, 0),
        np.where(is_range, columns.lengths, 0),
        raws,
    )


def _data(columns: Columns, row: int) -> bytes:
    reference = columns.reference_at(row)
    assert not isinstance(reference, Range)
    data: bytes = reference.data  # type: ignore[union-attr]
    return data


def _unspeakable(array: ArrayMeta, large: bool) -> RefexplorerError:
    what = "an offset or length of more than 64 bits" if large else "no URL"
    return RefexplorerError(
        f"A chunk of `{array.path}` has {what}, which a parquet store cannot say."
    )
