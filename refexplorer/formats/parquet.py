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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from refexplorer.errors import SpecError
from refexplorer.formats.json_text import decode_text, parse_json
from refexplorer.formats.source import ZMETADATA
from refexplorer.limits import Limits
from refexplorer.spec.arrays import ArrayMeta, BadMetadata, read_array
from refexplorer.spec.diagnostics import Findings
from refexplorer.spec.lint import parse_metadata
from refexplorer.spec.reading import BadReference, read_reference
from refexplorer.spec.references import Inline, Reference

if TYPE_CHECKING:
    import pyarrow as pa
    from fsspec import AbstractFileSystem

COLUMNS = ("path", "offset", "size", "raw")
_RECORD = re.compile(r"refs\.(0|[1-9][0-9]*)\.parq")


class BadRecords(Exception):
    """A record file cannot be used: a diagnostic code and one sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class ParquetStore:
    """A store whose ``.zmetadata`` was read; record files are read when they are asked for.

    Attributes
    ----------
    metadata
        The metadata keys and their texts.
    arrays
        The arrays whose metadata can be read.
    record_size
        Rows of a record file.
    findings
        What was noted.
    """

    filesystem: AbstractFileSystem
    root: str
    metadata: Mapping[str, Reference]
    arrays: tuple[ArrayMeta, ...]
    record_size: int
    limits: Limits
    findings: Findings = field(default_factory=Findings)

    def record_file(self, array: ArrayMeta, number: int) -> str:
        """Return the path of a record file inside the store."""
        return f"{array.folder}refs.{number}.parq"

    def record_count(self, array: ArrayMeta) -> int:
        """Return how many record files an array has by its grid."""
        return -(-array.chunk_count // self.record_size)

    @cached_property
    def files(self) -> frozenset[str]:
        """Every file of the store but ``.zmetadata``, relative to its folder."""
        found = self.filesystem.find(self.root)
        names = (posixpath.relpath(path, self.root.rstrip("/")) for path in found)
        return frozenset(name for name in names if name != ZMETADATA)

    def note_strays(self) -> None:
        """Note the parquet files that no array asks for."""
        counts = {array.folder: self.record_count(array) for array in self.arrays}
        for name in sorted(self.files):
            folder, slash, base = name.rpartition("/")
            match = _RECORD.fullmatch(base)
            wanted = match is not None and int(match[1]) < counts.get(folder + slash, 0)
            if name.endswith((".parq", ".parquet")) and not wanted:
                self.findings.add(
                    "parquet-orphan-file",
                    name,
                    f"No array asks for `{name}`.",
                    "Record files are called refs.0.parq, refs.1.parq and so on.",
                )

    def read_records(self, name: str) -> pa.Table:
        """Read one record file: columns path (text), offset, size (int64) and raw (binary).

        Raises
        ------
        BadRecords
            If the file is no parquet, has too many rows, or lacks a column.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with self.filesystem.open(f"{self.root.rstrip('/')}/{name}", "rb") as file:
                self._check(pq.ParquetFile(file), name)
                table = pq.ParquetFile(file).read(columns=list(COLUMNS))
            return _typed(table)
        except (pa.ArrowException, OSError) as error:
            said = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else "empty"
            raise BadRecords(
                "parquet-unreadable", f"The record file `{name}` cannot be read: {said}."
            ) from None

    def _check(self, file: Any, name: str) -> None:
        rows = file.metadata.num_rows
        if rows > self.record_size:
            raise BadRecords(
                "parquet-too-many-rows",
                f"The record file `{name}` has {rows:,} rows, `record_size` is "
                f"{self.record_size:,}.",
            )
        lacking = [column for column in COLUMNS if column not in file.schema_arrow.names]
        if lacking:
            raise BadRecords(
                "parquet-bad-columns",
                f"The record file `{name}` lacks the column {' and '.join(map(repr, lacking))}.",
            )


def _typed(table: pa.Table) -> pa.Table:
    """Bring the columns to one type, whatever wrote them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    path, raw = table["path"].cast(pa.large_string()), table["raw"].cast(pa.large_binary())
    offset, size = (
        pc.fill_null(table[name].cast(pa.int64(), safe=False), 0) for name in ("offset", "size")
    )
    return pa.table([path, offset, size, raw], names=list(COLUMNS)).combine_chunks()


def read_store(filesystem: AbstractFileSystem, root: str, limits: Limits) -> ParquetStore:
    """Read the ``.zmetadata`` of a store.

    Raises
    ------
    SpecError
        If it is not JSON, has no ``metadata``, or no positive ``record_size``.
    """
    findings = Findings()
    with filesystem.open(f"{root.rstrip('/')}/{ZMETADATA}", "rb") as file:
        data = file.read(limits.document_bytes + 1)
    document = parse_json(decode_text(data), limits, findings)
    metadata = document.get("metadata") if isinstance(document, dict) else None
    size = document.get("record_size") if isinstance(document, dict) else None
    if not isinstance(metadata, dict):
        raise _bad_zmetadata("it has no object `metadata`")
    if type(size) is not int or size < 1:
        raise _bad_zmetadata(f"`record_size` must be a whole number, 1 or more, not {size!r}")
    if size > limits.record_rows:
        raise _bad_zmetadata(
            f"`record_size` is {size:,}, more than `Limits.record_rows`, {limits.record_rows:,}"
        )
    texts = dict(_read_metadata(metadata, findings))
    arrays = tuple(_read_arrays(texts))
    return ParquetStore(filesystem, root, texts, arrays, size, limits, findings)


def _bad_zmetadata(what: str) -> SpecError:
    return SpecError(
        f"`{ZMETADATA}` cannot be used: {what}.", code="parquet-bad-zmetadata", pointer=ZMETADATA
    )


def _read_metadata(
    metadata: Mapping[str, object], findings: Findings
) -> Iterator[tuple[str, Reference]]:
    for key, value in metadata.items():
        at = f"{ZMETADATA}/{key}"
        if key.startswith("/") or ".." in key.split("/"):
            findings.add("parquet-unsafe-path", at, f"`{key}` leaves the store.", key=key)
            continue

        def note(code: str, message: str, hint: str, at: str = at, key: str = key) -> None:
            findings.add(code, at, message, hint, key=key)

        try:
            yield key, read_reference(value, str, note)
        except BadReference as bad:
            note(bad.code, str(bad), bad.hint)


def _read_arrays(metadata: Mapping[str, Reference]) -> Iterator[ArrayMeta]:
    for key, reference in metadata.items():
        path, _, name = key.rpartition("/")
        if name not in (".zarray", "zarr.json") or not isinstance(reference, Inline):
            continue
        attributes = metadata.get(f"{path}/.zattrs" if path else ".zattrs")
        try:
            yield read_array(path, _object(reference), _object(attributes))
        except BadMetadata:
            continue


def _object(reference: Reference | None) -> Mapping[str, object]:
    """Return the JSON object of a metadata key, an empty one if it holds none."""
    found = parse_metadata(reference.text) if isinstance(reference, Inline) else None
    return found or {}
