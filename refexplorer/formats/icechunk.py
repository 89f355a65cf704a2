"""A snapshot of a local Icechunk repository as a reference set, read-only.

The `icechunk` package reads the repository, its metadata and which manifest holds which array; it
has no question for what a manifest says of a chunk, so manifests are read here. Source: Icechunk
specification, "Manifest files": a header of 39 bytes, then a FlatBuffer, mostly zstd.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zstandard

from refexplorer.errors import LimitError, SourceError
from refexplorer.limits import Limits

if TYPE_CHECKING:
    from icechunk import Repository, Session

_MAGIC = "ICE🧊CHUNK".encode()
_HEADER = 39
_COMPRESSION = 38
_ARRAYS = 1
_REFS = 1
_INDEX, _INLINE, _OFFSET, _LENGTH, _CHUNK, _LOCATION = range(6)
"""Places of fields in the tables Manifest, ArrayManifest and ChunkRef."""
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_BASE32 = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", _CROCKFORD)


def is_repository(path: Path) -> bool:
    """Say whether a folder looks like an Icechunk repository."""
    return (path / "snapshots").is_dir() and (path / "manifests").is_dir()


def split_version(path: Path) -> tuple[Path, str | None]:
    """Split ``repository@version``; a file of that very name comes first."""
    name, at, version = path.name.rpartition("@")
    if at and name and not path.exists() and is_repository(path.with_name(name)):
        return path.with_name(name), version
    return path, None


def read_repository(path: Path, version: str | None, limits: Limits) -> dict[str, Any]:
    """Return a snapshot as V0: virtual chunks, chunks in the repository, and metadata.

    Parameters
    ----------
    path
        The folder of the repository.
    version
        A branch, tag or snapshot id; None is the branch ``main``.

    Raises
    ------
    SourceError
        If `icechunk` is not installed, there is no such version, or a file cannot be read.
    """
    try:
        import icechunk
    except ImportError:
        raise SourceError(
            f"{path.name} is an Icechunk repository; install the package icechunk to open it."
        ) from None
    try:
        document, nodes = _opened(icechunk, path, version or "main")
    except icechunk.IcechunkError as error:
        said = re.findall(r"[\w'`/].*", str(error))[-1:] or [type(error).__name__]
        raise SourceError(f"{path.name} cannot be read by icechunk: {said[0]}.") from None
    for node in nodes:
        for manifest in node.get("manifest_refs", ()):
            file = path / "manifests" / manifest["id"]
            document |= _chunks(file, node, document, limits)
    return document


def _opened(icechunk: Any, path: Path, version: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the metadata of a version by key, and what the snapshot says of groups and arrays."""
    icechunk.set_logs_filter("off")  # it would write to stdout, which is for answers
    try:
        preload = icechunk.ManifestPreloadConfig(max_total_refs=0)
        config = icechunk.RepositoryConfig(manifest=icechunk.ManifestConfig(preload=preload))
        storage = icechunk.local_filesystem_storage(str(path))
        repository = icechunk.Repository.open(storage, config)
        session = _session(repository, version)
        nodes = _inspected(repository, session)
        keys = [f"{node['path'].strip('/')}/zarr.json".lstrip("/") for node in nodes]
        with ThreadPoolExecutor(1) as executor:  # a notebook has a loop of its own already
            return executor.submit(asyncio.run, _metadata(session, keys)).result(), nodes
    finally:
        icechunk.set_logs_filter(None)


def _inspected(repository: Repository, session: Session) -> list[dict[str, Any]]:
    """Return the nodes of a snapshot; Icechunk 1 tells them as JSON text, 2 as a dict."""
    told: Any = repository.inspect_snapshot(session.snapshot_id)
    snapshot: dict[str, Any] = json.loads(told) if isinstance(told, str) else told
    nodes: list[dict[str, Any]] = snapshot["nodes"]
    return nodes


def _session(repository: Repository, version: str) -> Session:
    if version in repository.list_branches():
        return repository.readonly_session(version)
    if version in repository.list_tags():
        return repository.readonly_session(tag=version)
    return repository.readonly_session(snapshot_id=version)


async def _metadata(session: Session, keys: list[str]) -> dict[str, Any]:
    from zarr.core.buffer import default_buffer_prototype

    found: dict[str, Any] = {}
    for key in keys:
        data = await session.store.get(key, default_buffer_prototype())
        if data is not None:
            found[key] = data.to_bytes().decode()
    return found


def _chunks(
    file: Path, node: dict[str, Any], metadata: dict[str, Any], limits: Limits
) -> dict[str, Any]:
    """Return the references of one array in one manifest."""
    folder = node["path"].strip("/")
    prefix = f"{folder}/" if folder else ""
    start, separator = _key_encoding(json.loads(metadata[f"{prefix}zarr.json"]))
    try:
        data = _content(file.read_bytes(), file, limits)
        found = {}
        for index, value in _references(_Table.root(data), node["id"]):
            key = separator.join(map(str, (*start, *index)))
            found[prefix + key] = value
    except (OSError, struct.error, IndexError, UnicodeDecodeError, zstandard.ZstdError) as error:
        raise SourceError(f"The manifest {str(file)!r} cannot be read: {error}.") from None
    return found


def _key_encoding(metadata: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    """Return what keys of chunks begin with, and what joins their parts."""
    encoding = metadata.get("chunk_key_encoding", {})
    default = encoding.get("name") != "v2"
    separator = encoding.get("configuration", {}).get("separator", "/" if default else ".")
    return (("c",) if default else ()), separator


def _content(data: bytes, file: Path, limits: Limits) -> bytes:
    if not data.startswith(_MAGIC):
        raise SourceError(f"{str(file)!r} is no Icechunk manifest.")
    body = data[_HEADER:]
    if data[_COMPRESSION] == 0:
        return body
    with zstandard.ZstdDecompressor().stream_reader(body) as stream:
        content = stream.read(limits.document_bytes + 1)
    if len(content) > limits.document_bytes:
        raise LimitError(
            f"The manifest {str(file)!r} is larger than `Limits.document_bytes`, "
            f"{limits.document_bytes:,}."
        )
    return content


class _Table:
    """A table of a FlatBuffer: its fields by their place in the schema."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at
        self._fields = at - int(self._number("<i", at))
        self._size = self._number("<H", self._fields)

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, struct.unpack_from("<I", data)[0])

    def _number(self, form: str, at: int) -> int:
        number: int = struct.unpack_from(form, self._data, at)[0]
        return number

    def _place(self, field: int) -> int | None:
        """Return where a field is; None if it is left out."""
        at = 4 + 2 * field
        offset = self._number("<H", self._fields + at) if at < self._size else 0
        return self._at + offset if offset else None

    def number(self, field: int) -> int:
        at = self._place(field)
        return 0 if at is None else self._number("<Q", at)

    def bytes_at(self, field: int, size: int) -> bytes | None:
        at = self._place(field)
        return None if at is None else self._data[at : at + size]

    def _vector(self, field: int) -> tuple[int, int] | None:
        """Return where the elements of a vector begin, and how many there are."""
        at = self._place(field)
        if at is None:
            return None
        at += self._number("<I", at)
        return at + 4, self._number("<I", at)

    def data(self, field: int) -> bytes | None:
        vector = self._vector(field)
        return None if vector is None else self._data[vector[0] : sum(vector)]

    def numbers(self, field: int) -> tuple[int, ...]:
        at, count = self._vector(field) or (0, 0)
        return struct.unpack_from(f"<{count}I", self._data, at)

    def tables(self, field: int) -> Iterator[_Table]:
        at, count = self._vector(field) or (0, 0)
        for place in range(at, at + 4 * count, 4):
            yield _Table(self._data, place + self._number("<I", place))


def _references(manifest: _Table, node: str) -> Iterator[tuple[tuple[int, ...], object]]:
    """Yield the index of each chunk of one array, and its V0 value."""
    for array in manifest.tables(_ARRAYS):
        if _crockford(array.bytes_at(0, 8) or b"") == node:
            for chunk in array.tables(_REFS):
                yield chunk.numbers(_INDEX), _value(chunk)


def _value(chunk: _Table) -> object:
    inline = chunk.data(_INLINE)
    if inline is not None:
        return "base64:" + base64.b64encode(inline).decode()
    location, own = chunk.data(_LOCATION), chunk.bytes_at(_CHUNK, 12)
    url = f"chunks/{_crockford(own)}" if own else (location or b"").decode()
    return [url, chunk.number(_OFFSET), chunk.number(_LENGTH)]


def _crockford(data: bytes) -> str:
    """Write an id as Icechunk does, in the alphabet of Crockford."""
    return base64.b32encode(data).decode().rstrip("=").translate(_BASE32)
