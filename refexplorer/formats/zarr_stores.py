"""Zarr stores, v2 and v3, as references to their files: each chunk is a whole file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refexplorer.core.errors import LimitError, SourceError
from refexplorer.core.files import read_within
from refexplorer.core.text import escape
from refexplorer.formats.columns.table import EntriesBuilder
from refexplorer.formats.datafiles.zarr_terms import base64_text
from refexplorer.formats.source import (
    ZMETADATA,
    OpeningTerms,
    Source,
    SourceFolder,
    SourceForm,
    cause,
)

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

    from refexplorer.core.limits import Limits

MARKS = ("zarr.json", ".zgroup", ".zarray")  # A store has one of these, unless it is consolidated
_METADATA = (*MARKS, ".zattrs", ZMETADATA)
_CONSOLIDATED = b'"zarr_consolidated_format"'
_PARQUET = b'"record_size"'
_EDGE = 4096  # Bytes at each end of consolidated metadata that name the layout


class ZarrForm(SourceForm):
    """A folder or bucket that can be listed; metadata are read, but no chunks."""

    name = "Zarr"

    def of_folder(self, folder: SourceFolder, terms: OpeningTerms) -> Source | None:
        if (folder.local is None and not folder.is_sought) or folder.version is not None:
            return None
        filesystem, place = folder.filesystem(), folder.place
        if "http" in filesystem.protocol:  # whose files cannot be listed
            return None
        if not any(map(folder.has, MARKS)) and not is_consolidated(folder):
            return None
        try:
            entries = _listed(filesystem, folder, terms.limits)
        except OSError as error:
            raise SourceError(
                f"{escape(folder.name)} is a Zarr store that cannot be listed: {cause(error)}."
            ) from None
        # only its own files are allowed
        return Source(folder.name, self.name, place, entries=entries.finish(), place=place)


def is_consolidated(folder: SourceFolder) -> bool:
    """Return whether a folder has Zarr's consolidated metadata, not those of a parquet store."""
    if not folder.has(ZMETADATA):
        return False
    with folder.filesystem().open(f"{folder.path}/{ZMETADATA}", "rb") as file:
        edges = file.read(_EDGE)
        size = file.seek(0, 2)
        file.seek(max(0, size - _EDGE))
        edges += file.read(_EDGE)
    return _CONSOLIDATED in edges and _PARQUET not in edges


def _listed(filesystem: AbstractFileSystem, folder: SourceFolder, limits: Limits) -> EntriesBuilder:
    """Return references to the files of a store, its metadata as values."""
    root = f"{folder.path.rstrip('/')}/"
    keys = sorted(path.removeprefix(root) for path in filesystem.find(folder.path))
    if len(keys) > limits.expanded_keys:
        raise LimitError(
            f"{escape(folder.name)} has {len(keys):,} files, more than {limits.expanded_keys:,}; "
            "`Limits.expanded_keys` raises the limit."
        )
    builder, rest = EntriesBuilder(), limits.document_bytes
    values: dict[str, object] = {}
    for key in (each for each in keys if each.rpartition("/")[2] in _METADATA):
        with filesystem.open(root + key, "rb") as file:
            data = read_within(file, rest + 1)
        rest -= len(data)
        if rest < 0:
            raise LimitError(
                f"The metadata of {escape(folder.name)} have more than {limits.document_bytes:,} "
                "bytes; `Limits.document_bytes` raises the limit."
            )
        values[key] = _text(data)
    builder.add_values(values)
    chunks = [key for key in keys if key not in values]
    place = f"{folder.place.rstrip('/')}/"
    builder.add_whole(chunks, [place + key for key in chunks])
    return builder


def _text(data: bytes) -> str:
    """Return metadata as the value of a reference; other values than text are kept as is."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    return text if text[:1] in ("{", "[") else base64_text(data)
