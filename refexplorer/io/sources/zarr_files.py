"""Files that are chunks of a Zarr array, v2 or v3, with metadata in a folder above.

A shard belongs to two arrays: ``name``, whose chunks are shards, and ``name/inner``, of which it
has several chunks. Both know only the chunks in this file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from refexplorer.core.errors import AccessError, DecodeError, FetchError, LimitError
from refexplorer.core.limits import Limits
from refexplorer.core.text import escape
from refexplorer.formats.datafiles.data_file import (
    FileArray,
    FileChunks,
    FileFilter,
    FileObject,
    SizedDataFile,
    Unread,
    UnreadReason,
    error_text,
    why_of,
)
from refexplorer.io.decode.codecs import is_installed, refuse_unsafe
from refexplorer.io.decode.sizes import region
from refexplorer.io.decode.steps import ABSENT, ShardCodec, decoded, shard_layout
from refexplorer.io.fetch.failures import TransientError
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.sources.target_file import TargetFile
from refexplorer.spec.zarr_metadata import ArrayMeta, BadMetadata, read_array

INNER = "/inner"
METADATA_BYTES = 2**24  # of a metadata document on the web; it is read whole
_KEY_PARTS = 33  # Folders above a chunk: one for each dimension that NumPy can have, and ``c``
_PART = re.compile(r"c|(c\.)?\d+(\.\d+)*")
_LEVELS = frozenset({"level", "clevel", "cname", "blocksize", "shuffle", "preset", "acceleration"})
"""Settings of compression only; the decoder reads them from the bytes, or needs none."""
_SELF_DESCRIBING = frozenset({"blosc", "zlib", "gzip", "zstd", "lz4", "bz2"})
_FOLDERS = 10_000  # Folders whose metadata are kept

Metadata = dict[str, Any]
Documents = tuple[Metadata, Metadata]
_known: WeakKeyDictionary[Targets, dict[str, Documents | None]] = WeakKeyDictionary()


class ZarrChunkFile(SizedDataFile):
    """A chunk of a Zarr array."""

    form = "Zarr"

    def __init__(
        self, file: TargetFile, array: ArrayMeta, index: tuple[int, ...], limit: int
    ) -> None:
        self._file, self._index, self.size = file, index, file.size
        self._limits = Limits(fetch_bytes=limit)
        self._metas = {array.path: array}
        self._arrays = {array.path: _native(array)}
        self._inner = f"{array.path}{INNER}"
        self._shard = None
        if len(array.codecs) == 1:
            self._shard = shard_layout(array.chunk_array(index))
        if self._shard is not None:
            inner = replace(self._shard.inner, path=self._inner, shape=array.shape)
            self._metas[self._inner] = inner
            self._arrays[self._inner] = _native(inner)

    def names(self) -> tuple[str, ...]:
        return tuple(self._arrays)

    def other_names(self) -> Mapping[str, str]:
        return {"": next(iter(self._arrays))}

    def objects(self) -> Iterator[FileObject]:
        # One: a set refers to the shard, or to the chunks in it
        name = self.names()[0]
        yield FileObject(name, "array", self.array(name).shape, self._file.size)

    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        return {}

    def array(self, name: str) -> FileArray:
        return self._arrays[self.other_names().get(name, name)]

    def chunks(self, name: str) -> FileChunks:
        name = self.array(name).name
        if self._shard is None or name != self._inner:
            indices = np.array([self._index], np.int64).reshape(1, -1)
            return FileChunks(indices, np.zeros(1, np.int64), np.array([self._file.size]))
        return self._parts(self._shard)

    def _parts(self, shard: ShardCodec) -> FileChunks:
        start = 0 if shard.leads else self._file.size - shard.size
        data = self._file.read_at(max(start, 0), max(start, 0) + shard.size)
        if len(data) != shard.size:
            raise Unread("damaged", "The file is too short for a shard index.")
        count = math.prod(shard.grid)
        entries = np.frombuffer(data, f"{shard.order}u8", 2 * count).reshape(-1, 2)
        (there,) = np.nonzero(entries[:, 0] != ABSENT)
        offsets, lengths = entries[there].T
        size = np.uint64(self._file.size)
        if np.any(offsets > size) or np.any(lengths > size - offsets):
            raise Unread("damaged", "The shard index points outside the file.")
        begin = self._metas[next(iter(self._metas))].starts_of(np.array([self._index], np.int64))
        first = begin[0] // np.array(shard.inner.chunks, np.int64)
        places = np.stack(np.unravel_index(there, shard.grid), axis=1).reshape(len(there), -1)
        return FileChunks(first + places, offsets.astype(np.int64), lengths.astype(np.int64))

    def values(self, name: str, selection: tuple[slice, ...]) -> np.ndarray:
        meta, chunks = self._metas[self.array(name).name], self.chunks(name)
        spans = [range(*each.indices(n)) for each, n in zip(selection, meta.shape, strict=True)]
        index = meta.chunk_at([span.start for span in spans])
        (found,) = np.nonzero((chunks.indices == np.array(index, np.int64)).all(axis=1))
        places = region(meta, index)
        inside = all(span.stop <= place.stop for span, place in zip(spans, places, strict=True))
        if not len(found) or not inside:
            raise Unread("expression", "The file has one chunk, and these values are in others.")
        offset, length = int(chunks.offsets[found[0]]), int(chunks.lengths[found[0]])
        data = self._file.read_at(offset, offset + length)
        try:
            values = decoded(meta.chunk_array(index), data, self._limits)
        except Exception as error:  # codecs raise any error
            why = _why_undecoded(meta, error)
            raise Unread(why, f"The chunk cannot be decoded: {error_text(error)}.") from error
        cut = (
            slice(span.start - place.start, span.stop - place.start)
            for span, place in zip(spans, places, strict=True)
        )
        return values[tuple(cut)]

    def close(self) -> None:
        self._file.close()


def find_array(targets: Targets, file: TargetFile) -> ZarrChunkFile | None:
    """Find the array of which a file may be a chunk, from its name and the folders above."""
    parts = file.url.split("/")
    for count in range(1, min(len(parts), _KEY_PARTS + 1)):
        if not _PART.fullmatch(parts[-count]):
            return None
        folder, key = "/".join(parts[:-count]), "/".join(parts[-count:])
        found = _metadata(targets, folder)
        if found is None:
            continue
        metadata, attributes = found
        try:
            array = read_array("", metadata, attributes)
        except BadMetadata as error:
            raise Unread(
                "damaged", f"The metadata of the Zarr array are broken: {error}"
            ) from error
        index = array.chunk_index(key)
        if index is not None and array.contains(index):
            named = replace(array, path=parts[-count - 1])
            return ZarrChunkFile(file, named, index, targets.limit)
    return None


def _metadata(targets: Targets, folder: str) -> Documents | None:
    """Return the metadata and attributes of the array in a folder, if there is one."""
    known = _known.setdefault(targets, {})
    if folder not in known:
        if len(known) >= _FOLDERS:
            known.clear()
        known[folder] = _documents(targets, folder)
    return known[folder]


def _documents(targets: Targets, folder: str) -> Documents | None:
    document = _document(targets, f"{folder}/zarr.json")
    if document is not None:
        return (document, {}) if document.get("node_type") == "array" else None
    document = _document(targets, f"{folder}/.zarray")
    if document is None:
        return None
    return document, _document(targets, f"{folder}/.zattrs") or {}


def _document(targets: Targets, url: str) -> Metadata | None:
    """Read JSON; None if there is no such file, or it may not be read."""
    try:
        with TargetFile(targets, url, METADATA_BYTES) as file:
            if file.size > METADATA_BYTES:
                return None
            text = file.read()
        refuse_unsafe(url, text)
        found = json.loads(text)
    except FetchError as error:
        if isinstance(error.__cause__, TransientError | TimeoutError):
            raise
        return None
    except DecodeError as error:
        raise Unread("format", str(error)) from error
    except (AccessError, Unread, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _native(array: ArrayMeta) -> FileArray:
    from zarr.core.dtype import get_data_type_from_json

    written: Any = array.metadata
    fill: Any
    try:
        if array.zarr_format == 3:
            kind = get_data_type_from_json(written["data_type"], zarr_format=3)
            fill = kind.from_json_scalar(written.get("fill_value"), zarr_format=3)
        else:
            # the first filter defines the objects
            codec = next((name for name, _ in array.pipeline if written["dtype"] == "|O"), None)
            name: Any = {"name": written["dtype"], "object_codec_id": codec}
            kind = get_data_type_from_json(name, zarr_format=2)
            given = written.get("fill_value")
            fill = None if given is None else kind.from_json_scalar(given, zarr_format=2)
        dtype = kind.to_native_dtype()
    except Exception as error:  # Zarr's data types raise any error
        raise Unread(
            "library", f"Zarr cannot read the data type {escape(array.dtype)}: {error_text(error)}."
        ) from error
    codecs = [(name.removeprefix("numcodecs."), each) for name, each in array.pipeline]
    if any(name == "bytes" and each.get("endian") == "big" for name, each in codecs):
        dtype = dtype.newbyteorder(">")
    filters = (
        FileFilter(
            name,
            {k: v for k, v in each.items() if name not in _SELF_DESCRIBING and k not in _LEVELS},
        )
        for name, each in codecs
        if name != "bytes"
    )
    return FileArray(
        array.path,
        array.shape,
        array.chunks,
        dtype,
        tuple(filters),
        fill.item() if isinstance(fill, np.generic) else fill,
        array.dimensions,
        dict(array.attributes),
        order=str(written.get("order", "C")),
        varying=array.varying,
    )


def _why_undecoded(array: ArrayMeta, error: Exception) -> UnreadReason:
    """Return whether a chunk is too large, its codec is not installed, or it is damaged."""
    if isinstance(error, LimitError):
        return "cost"
    names = (name for name, _ in array.pipeline if name != "bytes")
    has_all = all(is_installed(name, array.zarr_format) for name in names)
    return why_of(error) if has_all else "library"
