"""A snapshot of a local Icechunk repository as a reference set, read-only.

The `icechunk` package reads the repository, its metadata and which manifest holds which array; it
has no question for what a manifest says of a chunk, so manifests are read by
`refexplorer.formats.icechunk.manifests`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from refexplorer.errors import SourceError
from refexplorer.formats.buffers.arrow import number_column, text_scalar
from refexplorer.formats.buffers.entries import Entries, EntriesBuilder
from refexplorer.formats.files.local_files import Files
from refexplorer.formats.icechunk.manifests import chunks_of
from refexplorer.formats.json.writer import joined
from refexplorer.limits import Limits

if TYPE_CHECKING:
    from icechunk import Repository, Session


def is_repository(path: Path) -> bool:
    """Say whether a folder looks like an Icechunk repository."""
    return (path / "snapshots").is_dir() and (path / "manifests").is_dir()


def read_repository(path: Path, version: str | None, limits: Limits, files: Files) -> Entries:
    """Return a snapshot in columns: metadata, virtual chunks and chunks in the repository.

    Parameters
    ----------
    path
        The folder of the repository.
    version
        A branch, tag or snapshot id; None is the branch ``main``.
    limits
        What a manifest may take.
    files
        Opens them.

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
        with files.unchanging(path, limits) as folder:
            metadata, nodes = _opened(icechunk, folder, version or "main")
    except icechunk.IcechunkError as error:
        said = re.findall(r"[\w'`/].*", str(error))[-1:] or [type(error).__name__]
        raise SourceError(f"{path.name} cannot be read by icechunk: {said[0]}.") from None
    builder = EntriesBuilder()
    builder.add_values(metadata)
    for node in nodes:
        for manifest in _manifests(node, path.name):
            file = path / "manifests" / manifest["id"]
            encoding = _KeyEncoding.of(node, metadata)
            for chunks in chunks_of(file, node["id"], limits, files):
                columns = chunks.urls, chunks.offsets, chunks.lengths
                values = {row: _base64(data) for row, data in chunks.inline.items()}
                builder.add_ranges(encoding.keys(chunks.indices), *columns, values)
    return builder.finish()


def _base64(data: bytes) -> str:
    return "base64:" + base64.b64encode(data).decode()


def _opened(icechunk: Any, path: Path, version: str) -> tuple[dict[str, str], list[dict[str, Any]]]:
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


def _manifests(node: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return which manifests hold the chunks of a node; a group has none."""
    if node["node_type"] == "group":
        return []
    if node["node_type"] != "array" or "manifest_refs" not in node:
        raise SourceError(
            f"{name} has a node {node['path']!r} of an unknown kind ({node['node_type']}), or one "
            "without its manifests; refexplorer knows groups and arrays of Icechunk 1 and 2."
        )
    manifests: list[dict[str, Any]] = node["manifest_refs"]
    return manifests


def _session(repository: Repository, version: str) -> Session:
    if version in repository.list_branches():
        return repository.readonly_session(version)
    if version in repository.list_tags():
        return repository.readonly_session(tag=version)
    return repository.readonly_session(snapshot_id=version)


async def _metadata(session: Session, keys: list[str]) -> dict[str, str]:
    from zarr.core.buffer import default_buffer_prototype

    found: dict[str, str] = {}
    for key in keys:
        data = await session.store.get(key, default_buffer_prototype())
        if data is not None:
            found[key] = data.to_bytes().decode()
    return found


@dataclass(frozen=True, slots=True)
class _KeyEncoding:
    """How an array calls its chunks: what keys begin with, and what joins the numbers."""

    start: str
    is_default: bool
    separator: str

    @classmethod
    def of(cls, node: dict[str, Any], metadata: dict[str, str]) -> _KeyEncoding:
        folder = node["path"].strip("/")
        prefix = f"{folder}/" if folder else ""
        encoding = json.loads(metadata[f"{prefix}zarr.json"]).get("chunk_key_encoding", {})
        is_default = encoding.get("name") != "v2"
        separator = encoding.get("configuration", {}).get("separator", "/" if is_default else ".")
        return cls(f"{prefix}c" if is_default else prefix, is_default, separator)

    def keys(self, indices: np.ndarray) -> pa.LargeStringArray:
        """Return the keys of chunks by their indices, shape ``(n, rank)``."""
        if not indices.shape[1]:
            key = self.start if self.is_default else f"{self.start}0"
            return pa.repeat(text_scalar(key), len(indices))
        parts: list[pa.LargeStringArray | str] = []
        for column in indices.T:
            parts += [self.separator, number_column(column).cast(pa.large_string())]
        return joined(self.start, *(parts if self.is_default else parts[1:]))
