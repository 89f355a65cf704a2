"""A snapshot of a local Icechunk repository as a reference set, read-only.

The `icechunk` package reads the repository, its metadata and which manifest holds which array; it
has no question for what a manifest says of a chunk, so manifests are read by
`refexplorer.formats.icechunk.manifests`.
"""

from __future__ import annotations

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refexplorer.errors import SourceError
from refexplorer.formats.files.local_files import Files
from refexplorer.formats.icechunk.manifests import chunks_of
from refexplorer.limits import Limits

if TYPE_CHECKING:
    from icechunk import Repository, Session


def is_repository(path: Path) -> bool:
    """Say whether a folder looks like an Icechunk repository."""
    return (path / "snapshots").is_dir() and (path / "manifests").is_dir()


def read_repository(
    path: Path, version: str | None, limits: Limits, files: Files
) -> dict[str, Any]:
    """Return a snapshot as V0: virtual chunks, chunks in the repository, and metadata.

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
            document, nodes = _opened(icechunk, folder, version or "main")
    except icechunk.IcechunkError as error:
        said = re.findall(r"[\w'`/].*", str(error))[-1:] or [type(error).__name__]
        raise SourceError(f"{path.name} cannot be read by icechunk: {said[0]}.") from None
    for node in nodes:
        for manifest in _manifests(node, path.name):
            file = path / "manifests" / manifest["id"]
            document |= _chunks(file, node, document, limits, files)
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


async def _metadata(session: Session, keys: list[str]) -> dict[str, Any]:
    from zarr.core.buffer import default_buffer_prototype

    found: dict[str, Any] = {}
    for key in keys:
        data = await session.store.get(key, default_buffer_prototype())
        if data is not None:
            found[key] = data.to_bytes().decode()
    return found


def _chunks(
    file: Path, node: dict[str, Any], metadata: dict[str, Any], limits: Limits, files: Files
) -> dict[str, Any]:
    """Return the references of one array in one manifest."""
    folder = node["path"].strip("/")
    prefix = f"{folder}/" if folder else ""
    start, separator = _key_encoding(json.loads(metadata[f"{prefix}zarr.json"]))
    return {
        prefix + separator.join(map(str, (*start, *index))): value
        for index, value in chunks_of(file, node["id"], limits, files)
    }


def _key_encoding(metadata: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    """Return what keys of chunks begin with, and what joins their parts."""
    encoding = metadata.get("chunk_key_encoding", {})
    default = encoding.get("name") != "v2"
    separator = encoding.get("configuration", {}).get("separator", "/" if default else ".")
    return (("c",) if default else ()), separator
