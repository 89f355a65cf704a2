"""Stores of Zarr on web servers: their consolidated metadata, and a key for each chunk.

Nobody can list the files of a web server, so that which chunks were written is not known.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import product
from typing import TYPE_CHECKING, Any

from refexplorer.errors import LeftOutWarning, LimitError, SourceError
from refexplorer.formats.buffers.entries import Entries, EntriesBuilder
from refexplorer.formats.source import ZMETADATA
from refexplorer.markup import counted, escape
from refexplorer.spec.zarr_metadata import ArrayMeta, BadMetadata, read_array

if TYPE_CHECKING:
    from refexplorer.formats.forms.form import SourceFolder
    from refexplorer.limits import Limits

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
    warnings.warn(
        f"{escape(folder.name)} is not listed, which no web server does: "
        f"{counted(count - len(found), 'chunk')} of its arrays are referred to whether they were "
        "written or not. One that the server has not (404) reads as the fill value, as in Zarr; "
        "one that it denies (403) fails, although S3 says that of missing files, too, where "
        "listing is not allowed. In a set that is written from this one, missing files fail.",
        LeftOutWarning,
        stacklevel=2,
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
