"""Writes the references of a set into an Icechunk repository; compares before the commit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import Limits
from refexplorer.formats.columns.references import BASE64, INLINE, RANGE, URL
from refexplorer.formats.columns.table import EntriesBuilder, Table, build_table
from refexplorer.formats.icechunk.columns import add_snapshot, awaited
from refexplorer.formats.icechunk.writer import RepositoryWriter, writing_repository
from refexplorer.refset.segments import BLOCK
from refexplorer.refset.writing.comparing import (
    ArraysByPath,
    ChunkOrder,
    InOrder,
    Spool,
    check_in_any_order,
    differs,
)
from refexplorer.spec.references import Base64, Inline, Range
from refexplorer.spec.zarr_metadata import written_grid

_OPTIONAL = {"consolidated_metadata"}
"""Fields that Icechunk omits from the metadata of a group: it lists nodes itself."""


def write_icechunk(
    blocks: Iterable[Table],
    again: Iterable[Table],
    arrays: ArraysByPath,
    place: Path | str,
    message: str,
    limits: Limits,
    *,
    check: Callable[[object], object],
    overwrite: bool = False,
    options: Mapping[str, Any] | None = None,
    endpoints: Mapping[str, str] | None = None,
) -> int:
    """Write references as virtual chunks, inline data as chunks; return the number of keys."""
    for array in arrays.values():
        if (array.prefix, array.separator) != ("c/", "/"):
            raise RefexplorerError(
                f"{array.path_text(True)} names its chunks differently from Icechunk, which has "
                "only `c/0/0`; its chunk_key_encoding must be the default."
            )
    with Spool(Path(gettempdir()) if isinstance(place, str) else place.parent) as spool:
        order = ChunkOrder(blocks, arrays, BLOCK, spool)
        chunks = list(order)
        urls = {url for found in chunks for url in found.columns.urls.at(_used(found))}
        targets = sorted(url for url in urls if url is not None)
        metadata = {key: _bytes(key, reference) for key, reference in order.metadata.items()}
        for array in arrays.values():
            if array.varying is not None:
                document = dict(array.metadata) | {"chunk_grid": written_grid(array.axes)}
                metadata[array.metadata_key] = json.dumps(document).encode()
        with writing_repository(
            place, targets, message, overwrite=overwrite, options=options, endpoints=endpoints
        ) as writer:
            writer.add_values(metadata.items())
            for found in chunks:
                _write(writer, found)
            count = _checked(writer, again, metadata, limits)
            check(writer.session)
            return count


def _used(found: InOrder) -> np.ndarray:
    return np.unique(found.columns.targets[found.columns.targets >= 0])


def _bytes(key: str, reference: object) -> bytes:
    if not isinstance(reference, Inline | Base64):
        raise RefexplorerError(
            f"`{key}` is metadata in another file; pass `inline` to write it into the set."
        )
    return reference.data


def _write(writer: RepositoryWriter, found: InOrder) -> None:
    columns, array = found.columns, found.array
    odd = np.flatnonzero(columns.kinds == URL)
    if len(odd):
        raise RefexplorerError(
            f"`{array.key_at(int(found.numbers[odd[0]]))}` refers to a whole file, but Icechunk "
            f"needs an offset and a length."
        )
    rows = np.flatnonzero(columns.kinds == RANGE)
    if len(rows):
        used = _used(found)
        names = dict(zip(used.tolist(), columns.urls.at(used), strict=True))
        urls = [names[code] or "" for code in columns.targets[rows].tolist()]
        indices = np.array([array.index_at(n) for n in found.numbers[rows].tolist()], np.int64)
        indices = indices.reshape(len(rows), len(array.grid))
        writer.add_ranges(array.path, indices, urls, columns.offsets[rows], columns.lengths[rows])
    rest = np.flatnonzero((columns.kinds == INLINE) | (columns.kinds == BASE64))
    writer.add_values(
        (array.key_at(int(found.numbers[row])), _data(columns.reference_at(row)))
        for row in rest.tolist()
    )


def _data(reference: object) -> bytes:
    assert isinstance(reference, Inline | Base64)
    return reference.data


def _checked(
    writer: RepositoryWriter, again: Iterable[Table], metadata: Mapping[str, bytes], limits: Limits
) -> int:
    """Compare the session with the references to write; return the number of keys."""
    builder = EntriesBuilder()
    awaited(add_snapshot(builder, writer.session.store, "", limits))
    read = builder.finish().as_v0()
    virtual = build_table(
        (key, Range(*value))
        for key, value in read.items()
        if isinstance(value, list) and not value[0].startswith("chunks/")
    )
    count = 0

    def ranges() -> Iterator[Table]:
        nonlocal count
        for block in again:
            count += block.count
            is_range = block.columns.kinds == RANGE
            _check_values(writer, block.select(np.flatnonzero(~is_range)), metadata)
            if is_range.any():
                yield block.select(np.flatnonzero(is_range))

    check_in_any_order(virtual, ranges())
    if count != len(read):
        raise differs(f"it has {len(read):,} keys, but {count:,} should have been written")
    return count


def _check_values(writer: RepositoryWriter, block: Table, metadata: Mapping[str, bytes]) -> None:
    """Compare bytes; metadata by their meaning."""
    for row, (key, data) in enumerate(writer.values(block.keys.to_pylist())):
        wanted = metadata.get(key) or _data(block.reference_at(row))
        if data is None:
            raise differs(f"`{key}` is missing")
        if data != wanted and not (row in block.metadata.values() and _alike(data, wanted)):
            raise differs(f"`{key}` has different bytes")


def _alike(one: bytes, other: bytes) -> bool:
    try:
        first, second = json.loads(one), json.loads(other)
    except ValueError:
        return False
    if isinstance(first, dict) and isinstance(second, dict):
        for name in _OPTIONAL:
            first.pop(name, None), second.pop(name, None)
    return bool(first == second)
