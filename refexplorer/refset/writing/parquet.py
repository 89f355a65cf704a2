"""Sorts the references of a set into the record files of a parquet store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from refexplorer.core.errors import LeftOutWarning, RefexplorerError, warn
from refexplorer.core.files import Check, refused, unchecked
from refexplorer.core.limits import Limits
from refexplorer.core.text import counted, escape
from refexplorer.formats.columns.chunk_names import chunk_keys
from refexplorer.formats.columns.references import BASE64, INLINE, RANGE, Columns, joined_columns
from refexplorer.formats.columns.table import Table, build_table
from refexplorer.formats.parquet.store import (
    Chunks,
    ParquetStore,
    check_free,
    lost_record_message,
    read_store,
    write_store,
)
from refexplorer.formats.source import ZMETADATA
from refexplorer.refset.parquet_segment import RecordPart
from refexplorer.refset.writing.comparing import (
    ArraysByPath,
    ChunkOrder,
    InOrder,
    Spool,
    check_same,
    differs,
)
from refexplorer.spec.references import Base64, Inline, is_encoded
from refexplorer.spec.zarr_metadata import ArrayMeta


def write_parquet(
    blocks: Iterable[Table],
    arrays: ArraysByPath,
    path: Path,
    record_size: int,
    *,
    check: Check = unchecked,
    overwrite: bool = False,
) -> None:
    """Write references as a parquet store."""
    if record_size < 1:
        raise RefexplorerError(f"record_size must be at least 1, not {record_size}.")
    lost: dict[str, str] = {}
    check_free(path, overwrite)
    with refused(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with Spool(path.parent) as spool:
            order = ChunkOrder(blocks, arrays, record_size, spool)
            chunks = ((found.array, _chunks(*found)) for found in _noting(order, lost))
            metadata = order.metadata.items()
            write_store(path, metadata, chunks, record_size, check=check, overwrite=overwrite)
    if lost:
        _warn_of(lost)
    if order.has_copies:
        message = f"The key `{ZMETADATA}` is left out: a parquet store has its own consolidated "
        warn(f"{message}metadata.", LeftOutWarning)


def _noting(order: Iterable[InOrder], lost: dict[str, str]) -> Iterator[InOrder]:
    """Pass chunks on, and record why fsspec does not find those of an array, by path."""
    for found in order:
        why = lost_record_message(found.array)
        if why is not None:
            lost[found.array.path] = why
        yield found


def _warn_of(lost: Mapping[str, str]) -> None:
    path, why = next(iter(lost.items()))
    others = f" and {counted(len(lost) - 1, 'other')}" if len(lost) > 1 else ""
    name = f"`{escape(path)}`" if path else "the root array"
    warn(
        f"fsspec finds no chunk of {name}{others} in a parquet store and reads fill "
        f"values, since {why.removesuffix('.')}; read the store with refexplorer, or write JSON "
        "instead.",
        LeftOutWarning,
    )


def _chunks(array: ArrayMeta, numbers: np.ndarray, columns: Columns) -> Chunks:
    """Return chunks of an array, in order, in the representation of a parquet store."""
    if None in columns.urls:
        raise RefexplorerError(
            f"A chunk of {array.path_text()} has no URL, which a parquet store cannot contain."
        )
    is_range = columns.kinds == RANGE
    is_text = (columns.kinds == INLINE) | (columns.kinds == BASE64)
    raws = {row: _data(columns, row) for row in np.flatnonzero(is_text).tolist()}
    empty = is_range & (columns.lengths == 0)  # size 0 would mean the whole file
    raws |= dict.fromkeys(np.flatnonzero(empty).tolist(), b"")
    return Chunks(
        numbers,
        [url or "" for url in columns.urls],
        np.where(is_text | empty, -1, columns.targets),
        np.where(is_range & ~empty, columns.offsets, 0),
        np.where(is_range, columns.lengths, 0),
        raws,
    )


def _data(columns: Columns, row: int) -> bytes:
    """Return the data of a chunk; base64 that readers would decode again stays text."""
    reference = columns.reference_at(row)
    assert isinstance(reference, Inline | Base64)
    data = reference.data
    return reference.to_v0().encode() if is_encoded(data) else data


def check_store(
    wanted: Iterable[Table], arrays: ArraysByPath, written: Path, limits: Limits
) -> int:
    """Compare references with a store, in the order of its record files; return their number."""
    # absolute: fsspec takes `file:` at the start of a name for its protocol
    from fsspec.implementations.local import LocalFileSystem

    store = read_store(LocalFileSystem(), str(written.absolute()), limits)
    with Spool(written.parent) as spool:
        order = ChunkOrder(wanted, arrays, store.record_size, spool, proved=True)
        metadata = build_table(order.metadata.items())
        check_same(metadata, build_table(store.metadata.items()))
        count, files = metadata.count, set()
        for found in order:
            files |= _check_records(found, store)
            count += len(found.numbers)
    if store.files - files:
        raise differs(f"there is an additional file `{min(store.files - files)}`")
    return count


def _check_records(wanted: InOrder, store: ParquetStore) -> set[str]:
    """Compare the references of whole record files; return their names."""
    numbers = np.unique(wanted.numbers // store.record_size).tolist()
    parts = [RecordPart(store, wanted.array, number) for number in numbers]
    columns = joined_columns([part.columns for part in parts])  # first: they say what is held
    rows = [part.start + part.held.rows_at(np.arange(part.count)) for part in parts]
    read = np.concatenate(rows)
    keys = before = chunk_keys(wanted.array, read)
    if not np.array_equal(read, wanted.numbers):
        before = chunk_keys(wanted.array, wanted.numbers)
    check_same(Table(before, wanted.columns), Table(keys, columns))
    return {part.name for part in parts}
