"""The parquet layout of fsspec's `LazyReferenceMapper`, one record file at a time.

Source: reference specification, "Parquet references": a folder with ``.zmetadata`` (JSON:
``metadata`` and ``record_size``), and for each array record files with the columns ``path``,
``offset``, ``size`` and ``raw``. Chunk n is row ``n % record_size`` of
``refs.<n // record_size>.parq``, counted from 0; the name
``refs.2.parquet`` for the second file in the specification is a mistake.
"""

from __future__ import annotations

import io
import json
import posixpath
import re
import shutil
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import BadZipFile, ZipFile

import numpy as np

from refexplorer.core.errors import (
    LimitError,
    PickledByFields,
    RefexplorerError,
    SourceError,
    SpecError,
)
from refexplorer.core.files import Check, Readable, read_within, unchecked, writing_alone
from refexplorer.core.limits import Limits
from refexplorer.core.text import escape
from refexplorer.formats.columns.references import number_column, text_column
from refexplorer.formats.documents import parse_json
from refexplorer.formats.parquet.records import RecordFile
from refexplorer.formats.source import RECORD_SIZE, ZMETADATA, decode_text
from refexplorer.spec.findings import Findings, pointer
from refexplorer.spec.references import (
    BadReference,
    Base64,
    Inline,
    Reference,
    check_key_length,
    folders_above,
    read_reference,
)
from refexplorer.spec.zarr_metadata import (
    ArrayMeta,
    BadMetadata,
    is_metadata,
    parse_metadata,
    read_array,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from fsspec import AbstractFileSystem

_RECORD = re.compile(r"refs\.(0|[1-9][0-9]{0,17})\.parq")
_CHUNKS = 2**63  # Chunks are numbered in 64 bits; no store has more files


@dataclass(frozen=True)
class ParquetStore(PickledByFields):
    """A store whose ``.zmetadata`` was read; record files are read on demand."""

    filesystem: AbstractFileSystem
    root: str
    metadata: Mapping[str, Reference]  # The metadata keys and their texts
    arrays: tuple[ArrayMeta, ...]  # The arrays whose metadata can be read
    record_size: int  # Rows of a record file
    limits: Limits
    findings: Findings = field(default_factory=Findings)  # Problems found on reading

    def __getstate__(self) -> dict[str, Any]:
        # for a missing folder, an empty list would turn every chunk into the fill value
        return super().__getstate__() | {"files": self.files}

    def record_file(self, array: ArrayMeta, number: int) -> str:
        """Return the path of a record file inside the store."""
        return f"{array.folder}refs.{number}.parq"

    def record_count(self, array: ArrayMeta) -> int:
        """Return how many record files an array has according to its grid."""
        return -(-array.chunk_count // self.record_size)

    def record_numbers(self, array: ArrayMeta) -> list[int]:
        """Return the numbers of the existing record files that the array uses."""
        numbers = self._numbers.get(array.folder, [])
        end = min(self.record_count(array), _CHUNKS // self.record_size)
        return numbers[: bisect_left(numbers, end)]

    @cached_property
    def _numbers(self) -> dict[str, list[int]]:
        """The numbers of all record files, ascending, by folder."""
        found: dict[str, list[int]] = {}
        for name in self.files:
            folder, slash, base = name.rpartition("/")
            match = _RECORD.fullmatch(base)
            if match is not None:
                found.setdefault(folder + slash, []).append(int(match[1]))
        return {folder: sorted(numbers) for folder, numbers in found.items()}

    @cached_property
    def files(self) -> frozenset[str]:
        """Every file of the store except ``.zmetadata``, relative to its folder."""
        found = self.filesystem.find(self.root)
        names = (posixpath.relpath(path, self.root.rstrip("/")) for path in found)
        return frozenset(name for name in names if name != ZMETADATA)

    @cached_property
    def metadata_chunks(self) -> dict[str, list[int]]:
        """The numbers of chunks in ``.zmetadata``, ascending, by array."""
        # Readers look there first, so the rows of record files for these chunks are never read.
        arrays = {array.path: array for array in self.arrays}
        found: dict[str, list[int]] = {}
        for key in self.metadata:
            name = key.rpartition("/")[2]
            if name.startswith(".") or name == "zarr.json":
                continue
            for path in folders_above(key):
                number = arrays[path].number_of_key(key) if path in arrays else None
                if number is not None:
                    found.setdefault(path, []).append(number)
        return {path: sorted(numbers) for path, numbers in found.items()}

    def note_strays(self) -> None:
        """Record the parquet files that belong to no array."""
        wanted = {
            self.record_file(array, number)
            for array in self.arrays
            for number in self.record_numbers(array)
        }
        for name in sorted(self.files - wanted):
            if name.endswith((".parq", ".parquet")):
                self.findings.add(
                    "parquet-orphan-file",
                    name,
                    f"No array of `.zmetadata` uses the record file `{name}`.",
                    "Record files are named refs.0.parq, refs.1.parq and so on.",
                )

    def open_records(self, name: str) -> RecordFile:
        """Return a record file by its path inside the store; nothing is read yet."""
        return RecordFile(self.filesystem, self.root, name, self.record_size, self.limits)


def lost_record_message(array: ArrayMeta) -> str | None:
    """Return why fsspec and GDAL silently find no chunk of an array; None if they do."""
    # They report nothing: chunks that are not found read as the fill value.
    if array.zarr_format == 3:
        return "it reads the `.zarray` of Zarr v2 only."
    if not array.path:
        return "it does not read arrays at the root."
    if array.separator != "." and len(array.shape) > 1:
        return "it expects dots between chunk indices, but Zarr requests slashes."
    return None


def read_store(filesystem: AbstractFileSystem, root: str, limits: Limits) -> ParquetStore:
    """Read the ``.zmetadata`` of a store."""
    findings = Findings()
    with filesystem.open(f"{root.rstrip('/')}/{ZMETADATA}", "rb") as file:
        data = read_within(file, limits.document_bytes + 1)
    document = parse_json(decode_text(data), limits, findings)
    metadata = document.get("metadata") if isinstance(document, dict) else None
    size = document.get("record_size") if isinstance(document, dict) else None
    if not isinstance(metadata, dict):
        raise _bad_zmetadata("it has no object `metadata`")
    if isinstance(document, dict) and size is None and "zarr_consolidated_format" in document:
        raise _bad_zmetadata(
            "it is the consolidated metadata of a Zarr v2 store, not of references; open that "
            "store with `zarr.open` or `xarray.open_zarr`"
        )
    if type(size) is not int or size < 1:
        raise _bad_zmetadata(f"`record_size` must be a positive integer, not {size!r}")
    if size > limits.record_rows:
        raise _bad_zmetadata(
            f"`record_size` is {size:,}, more than the limit of {limits.record_rows:,}; "
            "`Limits.record_rows` raises the limit"
        )
    texts = dict(_read_metadata(metadata, limits, findings))
    arrays = tuple(_read_arrays(texts, findings))
    _note_lost(arrays, findings)
    return ParquetStore(filesystem, root, texts, arrays, size, limits, findings)


def _bad_zmetadata(what: str) -> SpecError:
    return SpecError(
        f"`{ZMETADATA}` is not valid: {what}.", code="parquet-bad-zmetadata", pointer=ZMETADATA
    )


def _read_metadata(
    metadata: Mapping[str, object], limits: Limits, findings: Findings
) -> Iterator[tuple[str, Reference]]:
    for key, value in metadata.items():
        at = ZMETADATA + pointer(key)
        if key.startswith("/") or ".." in key.split("/"):
            findings.add("parquet-unsafe-path", at, f"`{key}` points outside the store.", key=key)
            continue

        def note(code: str, message: str, hint: str, at: str = at, key: str = key) -> None:
            findings.add(code, at, message, hint, key=key)

        is_node = is_metadata(key) and key.rpartition("/")[2] != ZMETADATA
        if not is_node or isinstance(value, str):
            wrong = "metadata as text, not as objects" if is_node else "a key that is no metadata"
            message = f"`{ZMETADATA}` has {wrong}: with fsspec, Zarr cannot open the store"
            message += "." if is_node else " without `use_consolidated=False`."
            findings.add("readers-differ", at, message, key=key, together=True)
        try:
            check_key_length(key, limits)
            yield key, read_reference(value, str, note)
        except BadReference as bad:
            note(bad.code, str(bad), bad.hint)


def _read_arrays(metadata: Mapping[str, Reference], findings: Findings) -> Iterator[ArrayMeta]:
    for key, reference in metadata.items():
        path, _, name = key.rpartition("/")
        if name not in (".zarray", "zarr.json") or not isinstance(reference, Inline):
            continue
        folder = f"{path}/" if path else ""
        if name == "zarr.json" and f"{folder}.zarray" in metadata:
            continue
        written, attributes = _object(reference), metadata.get(f"{folder}.zattrs")
        if name == "zarr.json" and written.get("node_type") != "array":
            continue
        try:
            yield read_array(path, written, _object(attributes))
        except BadMetadata as bad:
            message = (
                f"The record files of `{path}` cannot be used, since its metadata does not say "
                f"which chunk a row is for: {bad}"
            )
            findings.add("parquet-lost-array", ZMETADATA + pointer(key), message, key=key)


def _note_lost(arrays: Iterable[ArrayMeta], findings: Findings) -> None:
    for array in arrays:
        why = lost_record_message(array) if array.chunk_count else None
        if why is not None:
            findings.add(
                "parquet-lost-chunks",
                ZMETADATA + pointer(array.metadata_key),
                f"fsspec finds no chunk of {array.path_text()} and reads fill values: {why}",
                "Read the store with refexplorer, or convert it to JSON.",
                key=array.metadata_key,
            )


def _object(reference: Reference | None) -> Mapping[str, object]:
    """Return the JSON object of a metadata key, an empty one if there is none."""
    found = parse_metadata(reference.text) if isinstance(reference, Inline) else None
    return found or {}


_ZIP_MARK = b'"record_size"'
_ZIP_ERRORS = (
    BadZipFile,
    RuntimeError,
    NotImplementedError,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
)
"""Errors of `zipfile` for archives that are damaged, encrypted or use another compression."""


def zipped_store(
    file: Readable, name: str, limits: Limits
) -> tuple[AbstractFileSystem, str] | None:
    """Return the only store of an archive, kept in memory; None if there is none."""
    # Nothing is unpacked into a folder, so no name in an archive can point outside of it.
    from fsspec.implementations.zip import ZipFileSystem

    data = io.BytesIO(read_within(file, limits.document_bytes + 1))
    try:
        with ZipFile(data) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > limits.document_bytes:
                raise LimitError(
                    f"{escape(name)} has more than {limits.document_bytes:,} bytes once "
                    "decompressed; `Limits.document_bytes` raises the limit."
                )
            documents = (each for each in members if each.filename.split("/")[-1] == ZMETADATA)
            stores = [each.filename for each in documents if _ZIP_MARK in archive.read(each)]
            damaged = archive.testzip() if stores else None
    except _ZIP_ERRORS as error:
        why = escape(str(error).rstrip("."), 200)
        raise SourceError(f"{escape(name)} is a zip archive that cannot be read: {why}.") from None
    if damaged is not None:
        raise SourceError(f"{escape(name)} is damaged: {escape(damaged, 200)} cannot be read.")
    if len(stores) > 1:
        raise SourceError(
            f"{escape(name)} has {len(stores):,} parquet stores; unpack it and open one of them."
        )
    roots = [store.removesuffix(ZMETADATA).rstrip("/") for store in stores]
    return (ZipFileSystem(fo=data), roots[0]) if roots else None


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
    """Write a store; the folder appears when complete."""
    partial = path.with_name(path.name + ".partial")
    with writing_alone(path):
        check_free(path, overwrite)  # another process may have written it since
        shutil.rmtree(partial, ignore_errors=True)
        try:
            partial.mkdir(parents=True)
            texts = {key: _object_of_key(key, reference) for key, reference in metadata}
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
    """Reject an existing folder, unless it is a store and may be replaced."""
    if path.exists() and not (overwrite and (path / ZMETADATA).is_file()):
        raise RefexplorerError(f"{str(path)!r} exists; choose another name or remove it first.")


@contextmanager
def _aside(path: Path) -> Iterator[None]:
    """Move a replaced store aside, and delete it when the new one is in place."""
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
    """Return the path of an array if it is inside the store."""
    if path and {"", ".", ".."} & set(path.split("/")):
        raise RefexplorerError(
            f"`{path}` points outside the store, so a parquet store cannot contain it."
        )
    if "\0" in path:
        raise RefexplorerError(
            f"`{escape(path)}` is not a valid folder name, so a parquet store cannot contain it."
        )
    return path


def _encoded(document: Mapping[str, object]) -> bytes:
    """Write JSON as UTF-8; lone surrogates, which UTF-8 cannot represent, are escaped."""
    try:
        return json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(document).encode()


def _object_of_key(key: str, reference: Reference) -> object:
    if isinstance(reference, Inline | Base64):
        found = parse_metadata(reference.data.decode(errors="replace"))
        if found is not None:
            return found
    raise RefexplorerError(f"`{key}` is not a JSON object, so a parquet store cannot contain it.")


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
    """Return the raw data of a record file, null if there are none."""
    import pyarrow as pa

    if not chunks.raws:
        return pa.nulls(size, pa.binary())
    found: list[bytes | None] = [None] * size
    for place, row in zip(range(held.start, held.stop), rows.tolist(), strict=True):
        found[row] = chunks.raws.get(place)
    return pa.array(found, pa.binary())
