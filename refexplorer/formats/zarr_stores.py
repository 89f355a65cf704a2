"""Stores of Zarr itself, v2 and v3, as references to their files: a chunk is a whole file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import product
from typing import TYPE_CHECKING, Any

from refexplorer.core.errors import LeftOutWarning, LimitError, SourceError, warn
from refexplorer.core.files import read_within
from refexplorer.core.text import counted, escape
from refexplorer.formats.columns.table import Entries, EntriesBuilder
from refexplorer.formats.datafiles.zarr_terms import base64_text
from refexplorer.formats.source import (
    ZMETADATA,
    OpeningTerms,
    Source,
    SourceFolder,
    SourceForm,
    cause,
)
from refexplorer.spec.zarr_metadata import ArrayMeta, BadMetadata, read_array

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

    from refexplorer.core.limits import Limits

_ROOT = "zarr.json"
WEB_MARKS = (_ROOT, ".zgroup")
"""Files of which a store has one; what has none is asked for nothing else."""


def of_web(folder: SourceFolder, limits: Limits) -> Entries | None:
    """Return references to all chunks that a store has room for; None without such metadata."""
    found = _metadata(folder)
    if found is None:
        return None
    arrays = list(_arrays(found))
    count = len(found) + sum(array.chunk_count for array in arrays)
    if count > limits.expanded_keys:
        raise LimitError(
            f"{escape(folder.name)} has {count:,} keys, more than {limits.expanded_keys:,}; "
            "`Limits.expanded_keys` raises the limit."
        )
    builder, place = EntriesBuilder(), f"{folder.place.rstrip('/')}/"
    builder.add_values({key: json.dumps(one) for key, one in found.items()})
    for array in arrays:
        keys = list(map(array.chunk_key, product(*map(range, array.grid))))
        builder.add_whole(keys, [place + key for key in keys])
    warn(
        f"{escape(folder.name)} is not listed, which no web server does: "
        f"{counted(count - len(found), 'chunk')} of its arrays are referred to whether they were "
        "written or not. One that the server has not (404) reads as the fill value, as in Zarr; "
        "one that it denies (403) fails, although S3 also answers that for missing files where "
        "listing is not allowed. In a set that is written from this one, missing files fail.",
        LeftOutWarning,
    )
    return builder.finish()


def _metadata(folder: SourceFolder) -> dict[str, Any] | None:
    """Return the metadata of all nodes by their keys."""
    marks = [name for name in WEB_MARKS if folder.has(name)]
    if not marks:
        return None
    if _ROOT in marks and (root := _read(folder, _ROOT)) is not None:
        held = root.get("consolidated_metadata")
        nodes = held.get("metadata") if isinstance(held, Mapping) else None
        if isinstance(nodes, Mapping):
            return {_ROOT: root} | {f"{path}/{_ROOT}": one for path, one in nodes.items()}
        return {_ROOT: root} if root.get("node_type") == "array" else None
    found = _read(folder, ZMETADATA)
    nodes = None if found is None or "record_size" in found else found.get("metadata")
    return dict(nodes) if isinstance(nodes, Mapping) else None


def _read(folder: SourceFolder, name: str) -> dict[str, Any] | None:
    try:
        data = folder.filesystem().cat_file(f"{folder.path}/{name}")
    except (OSError, SourceError):
        return None
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _arrays(found: Mapping[str, Any]) -> Iterator[ArrayMeta]:
    """Yield the arrays; of one whose metadata are wrong there are no chunks, and a diagnostic."""
    for key, metadata in found.items():
        path, _, name = key.rpartition("/")
        if not isinstance(metadata, Mapping):
            continue
        is_v3 = name == _ROOT and metadata.get("node_type") == "array"
        if name == ".zarray" or is_v3:
            attributes = found.get(f"{path}/.zattrs" if path else ".zattrs")
            if not isinstance(attributes, Mapping):
                attributes = None
            with suppress(BadMetadata):
                yield read_array(path, metadata, attributes)


MARKS = ("zarr.json", ".zgroup", ".zarray")
"""Files of which a store has one, unless all its metadata are consolidated."""
_METADATA = (*MARKS, ".zattrs", ZMETADATA)
_CONSOLIDATED = b'"zarr_consolidated_format"'
_PARQUET = b'"record_size"'
_EDGE = 4096
"""Bytes at each end of consolidated metadata in which the name of the layout stands."""


class ZarrForm(SourceForm):
    """A folder or bucket that can be listed, or a store of a web server with consolidated metadata.

    Metadata are read, and no chunk is.
    """

    name = "Zarr"
    guarded = True

    def of_folder(self, folder: SourceFolder, terms: OpeningTerms) -> Source | None:
        """List a store."""
        if (folder.local is None and not folder.is_sought) or folder.version is not None:
            return None
        filesystem, place = folder.filesystem(), folder.place
        if "http" in filesystem.protocol:  # whose files cannot be listed
            found = of_web(folder, terms.limits)
            if found is None:
                return None
            unlisted = f"{place.rstrip('/')}/"
            return Source(
                folder.name, self.name, place, entries=found, place=place, unlisted=unlisted
            )
        if not any(map(folder.has, MARKS)) and not is_consolidated(folder):
            return None
        try:
            entries = _listed(filesystem, folder, terms.limits)
        except OSError as error:
            raise SourceError(
                f"{escape(folder.name)} is a Zarr store that cannot be listed: {cause(error)}."
            ) from None
        # its own files are allowed, and nothing beside it
        return Source(folder.name, self.name, place, entries=entries.finish(), place=place)


def is_consolidated(folder: SourceFolder) -> bool:
    """Say whether a folder has consolidated metadata of Zarr, and not those of a parquet store."""
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
    """Return metadata as the value of a reference; what is no text is kept for what it is."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    return text if text[:1] in ("{", "[") else base64_text(data)
