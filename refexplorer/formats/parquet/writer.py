"""Writes the parquet layout of fsspec's `LazyReferenceMapper`.

Source: reference specification, "Parquet references". The columns are typed so that fsspec's
default engine reads them back exactly: ``offset`` and ``size`` without nulls, ``path`` and ``raw``
with them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import escape
from refexplorer.core.writing import Check, unchecked, writing_alone
from refexplorer.formats.columns.arrow import number_column, text_column
from refexplorer.formats.source import ZMETADATA
from refexplorer.spec.lint import parse_metadata
from refexplorer.spec.references import Base64, Inline, Reference
from refexplorer.spec.zarr_metadata import ArrayMeta

if TYPE_CHECKING:
    import pyarrow as pa

RECORD_SIZE = 100_000
"""As VirtualiZarr writes; fsspec's own writer takes 10,000, ten times as many files."""


class Chunks(NamedTuple):
    """n chunks of an array, ascending."""

    numbers: np.ndarray  # In the grid, int64, shape ``(n,)``
    urls: Sequence[str]  # The distinct URLs
    codes: np.ndarray  # Positions in `urls`, -1 for raw data, shape ``(n,)``
    # offsets, sizes: In bytes, 0 for a whole file and raw data, int64, shape ``(n,)``
    offsets: np.ndarray
    sizes: np.ndarray
    raws: Mapping[int, bytes]  # Raw data by its place


def write_store(
    path: Path,
    metadata: Iterable[tuple[str, Reference]],
    arrays: Iterable[tuple[ArrayMeta, Chunks]],
    record_size: int = RECORD_SIZE,
    *,
    check: Check = unchecked,
    overwrite: bool = False,
) -> None:
    """Write a store; the folder appears when all is written."""
    with writing_alone(path):
        check_free(path, overwrite)  # another process may have written it since
        _write(path, metadata, arrays, record_size, check)


def _write(
    path: Path,
    metadata: Iterable[tuple[str, Reference]],
    arrays: Iterable[tuple[ArrayMeta, Chunks]],
    record_size: int,
    check: Check,
) -> None:
    partial = path.with_name(path.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        texts = {key: _object(key, reference) for key, reference in metadata}
        document = {"metadata": texts, "record_size": record_size}
        (partial / ZMETADATA).write_bytes(_encoded(document))
        for array, chunks in arrays:
            _write_array(partial / _inside(array.path), array, chunks, record_size)
        check(partial)
        with _aside(path):
            partial.replace(path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def check_free(path: Path, overwrite: bool) -> None:
    """Refuse a folder that is there, unless it is a store and may be replaced."""
    if path.exists() and not (overwrite and (path / ZMETADATA).is_file()):
        raise RefexplorerError(f"{str(path)!r} exists; choose another name or remove it first.")


@contextmanager
def _aside(path: Path) -> Iterator[None]:
    """Put a store that is replaced aside, and away when the new one is in its place."""
    old = path.with_name(path.name + ".replaced")
    if path.exists():
        shutil.rmtree(old, ignore_errors=True)
        path.replace(old)
    try:
        yield
    except BaseException:
        if old.exists():
            old.replace(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _inside(path: str) -> str:
    """Return the path of an array if it stays inside the store."""
    if path and {"", ".", ".."} & set(path.split("/")):
        raise RefexplorerError(
            f"`{path}` points outside the store, so a parquet store cannot hold it."
        )
    if "\0" in path:
        raise RefexplorerError(
            f"`{escape(path)}` is not a valid folder name, so a parquet store cannot hold it."
        )
    return path


def _encoded(document: Mapping[str, object]) -> bytes:
    """Write JSON as UTF-8; with half a surrogate pair in it, which that cannot hold, escaped."""
    try:
        return json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(document).encode()


def _object(key: str, reference: Reference) -> object:
    if isinstance(reference, Inline | Base64):
        found = parse_metadata(reference.data.decode(errors="replace"))
        if found is not None:
            return found
    raise RefexplorerError(
        f"`{key}` does not hold a JSON object, so a parquet store cannot hold it."
    )


def _write_array(folder: Path, array: ArrayMeta, chunks: Chunks, record_size: int) -> None:
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    records = chunks.numbers // record_size
    urls = text_column(["", *chunks.urls])
    for number in np.unique(records).tolist():
        first, end = np.searchsorted(records, [number, number + 1]).tolist()
        size = min(record_size, array.chunk_count - number * record_size)
        # an open file: Arrow takes a name such as `s3:x` for a URL
        with (folder / f"refs.{number}.parq").open("wb") as file:
            pq.write_table(
                _table(chunks, slice(first, end), number * record_size, size, urls),
                file,
                compression="zstd",
                use_dictionary=["path"],
                write_statistics=["offset", "size"],
            )


def _table(chunks: Chunks, held: slice, start: int, size: int, urls: pa.Array) -> pa.Table:
    """Return one record file: rows without a chunk are empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = chunks.numbers[held] - start
    codes, offsets, sizes = np.zeros((3, size), np.int64)
    codes[rows] = chunks.codes[held] + 1
    offsets[rows], sizes[rows] = chunks.offsets[held], chunks.sizes[held]
    places = number_column(codes)
    named = pc.not_equal(places, number_column(np.zeros(size)))
    paths = pc.if_else(named, urls.take(places), pa.nulls(size, pa.large_string()))
    schema = pa.schema(
        [
            pa.field("path", pa.string()),
            pa.field("offset", pa.int64(), nullable=False),
            pa.field("size", pa.int64(), nullable=False),
            pa.field("raw", pa.binary()),
        ]
    )
    columns = [paths.cast(pa.string()), number_column(offsets), number_column(sizes)]
    return pa.table([*columns, _raw_column(chunks, held, rows, size)], schema=schema)


def _raw_column(chunks: Chunks, held: slice, rows: np.ndarray, size: int) -> pa.Array:
    """Return the raw data of a record file, null where there is none."""
    import pyarrow as pa

    if not chunks.raws:
        return pa.nulls(size, pa.binary())
    found: list[bytes | None] = [None] * size
    for place, row in zip(range(held.start, held.stop), rows.tolist(), strict=True):
        found[row] = chunks.raws.get(place)
    return pa.array(found, pa.binary())
