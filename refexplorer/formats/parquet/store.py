"""The parquet layout of fsspec's `LazyReferenceMapper`, one record file at a time.

Source: reference specification, "Parquet references": a folder with ``.zmetadata`` (JSON:
``metadata`` and ``record_size``), and for each array record files with the columns ``path``,
``offset``, ``size`` and ``raw``. Chunk n is row ``n % record_size`` of
``refs.<n // record_size>.parq``, counted from 0; where the text of the specification calls the
second file ``refs.2.parquet``, that is a slip.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from refexplorer.core.errors import PickledByFields, SpecError
from refexplorer.core.files import read_within
from refexplorer.core.limits import Limits
from refexplorer.formats.json.text import decode_text, parse_json
from refexplorer.formats.parquet.records import RecordFile
from refexplorer.formats.source import ZMETADATA
from refexplorer.spec.findings import Findings, pointer
from refexplorer.spec.keys import folders_above
from refexplorer.spec.lint import parse_metadata
from refexplorer.spec.reference_parsing import BadReference, check_length, read_reference
from refexplorer.spec.references import Inline, Reference
from refexplorer.spec.zarr_metadata import ArrayMeta, BadMetadata, read_array

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_RECORD = re.compile(r"refs\.(0|[1-9][0-9]{0,17})\.parq")
_KEY_CHARS = 4000
"""More than the indices of any chunk have, and fewer digits than Python refuses to read."""
_CHUNKS = 2**63
"""Chunks are numbered in 64 bits; no store has files for more."""


@dataclass(frozen=True)
class ParquetStore(PickledByFields):
    """A store whose ``.zmetadata`` was read; record files are read when they are asked for."""

    filesystem: AbstractFileSystem
    root: str
    metadata: Mapping[str, Reference]  # The metadata keys and their texts
    arrays: tuple[ArrayMeta, ...]  # The arrays whose metadata can be read
    record_size: int  # Rows of a record file
    limits: Limits
    findings: Findings = field(default_factory=Findings)  # What was noted

    def __getstate__(self) -> dict[str, Any]:
        # where the folder is not, an empty list would make a fill value of every chunk
        return super().__getstate__() | {"files": self.files}

    def record_file(self, array: ArrayMeta, number: int) -> str:
        """Return the path of a record file inside the store."""
        return f"{array.folder}refs.{number}.parq"

    def record_count(self, array: ArrayMeta) -> int:
        """Return how many record files an array has by its grid."""
        return -(-array.chunk_count // self.record_size)

    def record_numbers(self, array: ArrayMeta) -> list[int]:
        """Return the numbers of the record files that are there and that the array asks for."""
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
        """Every file of the store but ``.zmetadata``, relative to its folder."""
        found = self.filesystem.find(self.root)
        names = (posixpath.relpath(path, self.root.rstrip("/")) for path in found)
        return frozenset(name for name in names if name != ZMETADATA)

    def metadata_chunks(self, array: ArrayMeta) -> list[int]:
        """Return the numbers of the chunks that ``.zmetadata`` itself holds, ascending.

        Readers find a key there first, so rows of record files for these chunks are never read.
        """
        return self._metadata_chunks.get(array.path, [])

    @cached_property
    def _metadata_chunks(self) -> dict[str, list[int]]:
        arrays = {array.path: array for array in self.arrays}
        found: dict[str, list[int]] = {}
        for key in self.metadata:
            name = key.rpartition("/")[2]
            if name.startswith(".") or name == "zarr.json":
                continue
            for path in folders_above(key):
                number = number_of_key(arrays[path], key) if path in arrays else None
                if number is not None:
                    found.setdefault(path, []).append(number)
        return {path: sorted(numbers) for path, numbers in found.items()}

    def note_strays(self) -> None:
        """Note the parquet files that no array asks for."""
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


def number_of_key(array: ArrayMeta, key: str) -> int | None:
    """Return the number of the chunk that has a key; None if that names no chunk of the grid."""
    if len(key) > len(array.folder) + _KEY_CHARS:
        return None
    index = array.chunk_index(key)
    if index is None or not array.contains(index) or array.chunk_key(index) != key:
        return None
    return array.chunk_number(index)


def lost_record_message(array: ArrayMeta) -> str | None:
    """Return why fsspec, and GDAL like it, finds no chunk of an array in a store; None if it does.

    Nothing is said of it there: chunks that are not found read as the fill value.
    """
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

        try:
            check_length(key, limits)
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
            findings.add(
                "parquet-lost-array",
                ZMETADATA + pointer(key),
                f"The record files of `{path}` cannot be used, since its metadata does not tell "
                f"which chunk a row is for: {bad}",
                key=key,
            )


def _note_lost(arrays: Iterable[ArrayMeta], findings: Findings) -> None:
    for array in arrays:
        why = lost_record_message(array) if array.chunk_count else None
        if why is not None:
            findings.add(
                "parquet-lost-chunks",
                ZMETADATA + pointer(array.metadata_key),
                f"fsspec finds no chunk of `{array.path}` and reads fill values: {why}",
                "Read the store with refexplorer, or convert it to JSON.",
                key=array.metadata_key,
            )


def _object(reference: Reference | None) -> Mapping[str, object]:
    """Return the JSON object of a metadata key, an empty one if it holds none."""
    found = parse_metadata(reference.text) if isinstance(reference, Inline) else None
    return found or {}
