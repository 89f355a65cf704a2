"""What a snapshot says of its groups and arrays, and of the manifests of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from refexplorer.errors import SourceError

if TYPE_CHECKING:
    from icechunk import Repository, Session

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class SnapshotNode:
    """A group or an array."""

    id: str  # As Icechunk writes it
    path: str  # Without a slash before it; the root is ``""``
    manifests: tuple[str, ...]  # Ids of those that hold its chunks; a group has none

    @property
    def key(self) -> str:
        """The key of its metadata."""
        return f"{self.path}/zarr.json".lstrip("/")


def nodes_of(repository: Repository, session: Session, name: str) -> list[SnapshotNode]:
    """Return the nodes of a snapshot; Icechunk 1 tells them as JSON text, 2 as a dict."""
    told: Any = awaited(_inspected(repository, session))
    snapshot: dict[str, Any] = json.loads(told) if isinstance(told, str) else told
    return [_node(node, name) for node in snapshot["nodes"]]


async def _inspected(repository: Repository, session: Session) -> Any:
    """Return what Icechunk tells; its other way stops every thread while it waits for a server."""
    return await repository.inspect_snapshot_async(session.snapshot_id)


def awaited(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a coroutine in a thread: a notebook has a loop of its own already."""
    import asyncio  # every command would wait for it, and for threads
    from concurrent.futures import ThreadPoolExecutor

    run: Callable[[Coroutine[Any, Any, Answer]], Answer] = asyncio.run
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(run, work).result()


def _node(node: dict[str, Any], name: str) -> SnapshotNode:
    path = node["path"].strip("/")
    if node["node_type"] == "group":
        return SnapshotNode(node["id"], path, ())
    if node["node_type"] != "array" or "manifest_refs" not in node:
        raise SourceError(
            f"{name} has a node {node['path']!r} of an unknown kind ({node['node_type']}), or one "
            "without its manifests; refexplorer knows groups and arrays of Icechunk 1 and 2."
        )
    manifests = tuple(manifest["id"] for manifest in node["manifest_refs"])
    return SnapshotNode(node["id"], path, manifests)


async def metadata_of(session: Session, nodes: Sequence[SnapshotNode]) -> dict[str, str]:
    """Return the text of the metadata of nodes by its key."""
    from zarr.core.buffer import default_buffer_prototype

    found: dict[str, str] = {}
    for node in nodes:
        data = await session.store.get(node.key, default_buffer_prototype())
        if data is not None:
            found[node.key] = data.to_bytes().decode()
    return found
