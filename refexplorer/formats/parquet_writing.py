"""Writes the parquet layout of fsspec's `LazyReferenceMapper`.

Source: reference specification, "Parquet references". The columns are typed so that fsspec's
default engine reads them back exactly: ``offset`` and ``size`` without nulls, ``path`` and ``raw``
with them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from refexplorer.errors import RefexplorerError
from refexplorer.formats.source import ZMETADATA
from refexplorer.spec.arrays import ArrayMeta
from refexplorer.spec.lint import parse_metadata
from refexplorer.spec.references import Base64, Inline, Range, Reference

if TYPE_CHECKING:
    import pyarrow as pa

RECORD_SIZE = 100_000
Chunks = Iterable[tuple[int, Reference]]
"""Numbers of chunks in the grid of an array, ascending, with their references."""


def write_store(
    path: Path,
    metadata: Iterable[tuple[str, Reference]],
    arrays: Iterable[tuple[ArrayMeta, Chunks]],
    record_size: int = RECORD_SIZE,
) -> None:
    """Write a store; the folder appears when all is written.

    Parameters
    ----------
    path
        The folder to make; it must not exist.
    metadata
        Metadata keys; each must hold a JSON object.
    arrays
        Each array with its chunks.
    record_size
        Rows of a record file.

    Raises
    ------
    RefexplorerError
        If the folder exists, or a reference cannot be written so that fsspec reads it back.
    """
    if path.exists():
        raise RefexplorerError(f"{str(path)!r} exists; choose another name or remove it first.")
    partial = path.with_name(path.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        texts = {key: _object(key, reference) for key, reference in metadata}
        document = {"metadata": texts, "record_size": record_size}
        (partial / ZMETADATA).write_text(json.dumps(document, ensure_ascii=False), "utf-8")
        for array, chunks in arrays:
            _write_array(partial / array.path, array, chunks, record_size)
        partial.replace(path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _object(key: str, reference: Reference) -> object:
    if isinstance(reference, Inline | Base64):
        found = parse_metadata(reference.data.decode(errors="replace"))
        if found is not None:
            return found
    raise RefexplorerError(f"`{key}` holds no JSON object, so a parquet store cannot hold it.")


def _write_array(folder: Path, array: ArrayMeta, chunks: Chunks, record_size: int) -> None:
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for number, rows in _records(chunks, record_size):
        size = min(record_size, array.chunk_count - number * record_size)
        pq.write_table(
            _table(array, rows, size),
            folder / f"refs.{number}.parq",
            compression="zstd",
            use_dictionary=["path"],
            write_statistics=["offset", "size"],
        )


def _records(chunks: Chunks, record_size: int) -> Iterator[tuple[int, dict[int, Reference]]]:
    """Gather the chunks of each record file that has any."""
    current, rows = 0, dict[int, Reference]()
    for number, reference in chunks:
        record, row = divmod(number, record_size)
        if record != current and rows:
            yield current, rows
            rows = {}
        current = record
        rows[row] = reference
    if rows:
        yield current, rows


def _table(array: ArrayMeta, rows: dict[int, Reference], size: int) -> pa.Table:
    import pyarrow as pa

    filled = [_cells(array, rows.get(row)) for row in range(size)]
    paths, offsets, sizes, raws = zip(*filled, strict=True)
    columns: list[tuple[str, pa.DataType, bool, Iterable[object]]] = [
        ("path", pa.string(), True, paths),
        ("offset", pa.int64(), False, offsets),
        ("size", pa.int64(), False, sizes),
        ("raw", pa.binary(), True, raws),
    ]
    schema = pa.schema([pa.field(name, kind, null) for name, kind, null, _ in columns])
    return pa.table([pa.array(values, kind) for _, kind, _, values in columns], schema=schema)


def _cells(
    array: ArrayMeta, reference: Reference | None
) -> tuple[str | None, int, int, bytes | None]:
    """Return path, offset, size and raw of one row."""
    if reference is None:
        return None, 0, 0, None
    if isinstance(reference, Inline | Base64):
        return None, 0, 0, reference.data
    if reference.url is None:
        raise RefexplorerError(
            f"A chunk of `{array.path}` has no URL, which a parquet store cannot say."
        )
    if not isinstance(reference, Range):
        return reference.url, 0, 0, None
    if reference.length == 0:  # size 0 would stand for the whole file
        return None, 0, 0, b""
    return reference.url, reference.offset, reference.length, None
