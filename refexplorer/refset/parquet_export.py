"""Sorts the keys of a set into what a parquet store can hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from refexplorer.errors import RefexplorerError
from refexplorer.formats.parquet_writing import Chunks, write_store
from refexplorer.refset.opened import OpenedSet
from refexplorer.spec.arrays import ArrayMeta
from refexplorer.spec.lint import is_metadata
from refexplorer.spec.references import Reference


def write_parquet(opened: OpenedSet, path: Path, record_size: int) -> None:
    """Write a set as a parquet store.

    Raises
    ------
    RefexplorerError
        If a key is neither metadata nor a chunk inside the grid of an array, since the layout
        has no place for it; and as `write_store`.
    """
    metadata: dict[str, Reference] = {}
    chunks: dict[str, dict[int, Reference]] = {array: {} for array in opened.arrays.paths}
    for key, reference in opened.iterate():
        if is_metadata(key):
            metadata[key] = reference
            continue
        array, number = _place(opened, key)
        chunks[array.path][number] = reference
    write_store(path, metadata.items(), _arrays(opened, chunks), record_size)


def _place(opened: OpenedSet, key: str) -> tuple[ArrayMeta, int]:
    found = opened.arrays.of_key(key)
    if found is None or not found[0].contains(found[1]):
        raise RefexplorerError(
            f"`{key}` is neither metadata nor a chunk of an array, so a parquet store has no "
            "place for it."
        )
    array, index = found
    return array, array.chunk_number(index)


def _arrays(
    opened: OpenedSet, chunks: dict[str, dict[int, Reference]]
) -> Iterator[tuple[ArrayMeta, Chunks]]:
    for path, found in chunks.items():
        array = opened.arrays.get(path)
        assert array is not None
        yield array, sorted(found.items(), key=lambda item: item[0])
