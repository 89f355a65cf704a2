"""The chunks of a session in columns, as Icechunk 2 returns them for any storage.

`IcechunkStore.array_chunk_iterator` resolves locations that are compressed or relative to a virtual
chunk container.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.core.errors import LimitError, SourceError
from refexplorer.core.limits import Limits
from refexplorer.formats.columns.chunk_names import KeyEncoding
from refexplorer.formats.columns.references import (
    joined,
    number_column,
    text_column,
)
from refexplorer.formats.columns.table import EntriesBuilder
from refexplorer.formats.datafiles.zarr_terms import base64_text

if TYPE_CHECKING:
    from icechunk import IcechunkStore, Repository, Session


_BATCH = 100_000  # Chunks of a batch
NATIVE, VIRTUAL, INLINE = 1, 2, 3  # Icechunk's numbers for the kinds of chunks
KINDS = {NATIVE: "native", VIRTUAL: "virtual", INLINE: "inline"}
_METADATA = "zarr.json"
_WEB = ("http://", "https://")
_QUERY, _ESCAPED = re.compile("[?#]"), re.compile("[%?#]")
_NODES = 1_000_000  # Most groups and arrays of a repository


def is_columnar(store: object) -> bool:
    """Return whether the installed Icechunk returns chunks in columns, as version 2 does."""
    return hasattr(store, "array_chunk_iterator")


async def add_snapshot(
    builder: EntriesBuilder,
    store: IcechunkStore,
    start: str,
    limits: Limits,
    paths: Sequence[str] | None = None,
    later: Collection[str] = (),
) -> Counter[str]:
    """Append metadata and, except for arrays read later, chunks; return chunk counts by kind."""
    metadata = await metadata_of(store, paths)
    builder.add_values({metadata_key(path): text for path, text in metadata.items()})
    counts: Counter[str] = Counter()
    for path, text in metadata.items():
        if is_array(text) and path not in later:
            encoding = KeyEncoding.of(path, text)
            async for batch in batches(store, path):
                counts += _add(builder, encoding, batch, start, limits)
    return counts


def batches(store: Any, path: str) -> AsyncIterator[tuple[Any, ...]]:
    """Return the chunks of an array: indices, kinds, paths, offsets, lengths, inline bytes."""
    return store.array_chunk_iterator(f"/{path}", _BATCH)


async def metadata_of(store: IcechunkStore, paths: Sequence[str] | None = None) -> dict[str, str]:
    """Return the metadata of groups and arrays by path, in order; by default of all."""
    from zarr.core.buffer import default_buffer_prototype

    if paths is None:  # Icechunk lists no folder without metadata
        keys = [key async for key in store.list_prefix("") if key.endswith(_METADATA)]
        paths = [key.removesuffix(_METADATA).rstrip("/") for key in keys]
    if len(paths) > _NODES:
        raise LimitError(f"The repository has more than {_NODES:,} groups and arrays.")
    prototype, found = default_buffer_prototype(), dict[str, str]()
    for path in sorted(paths):
        data = await store.get(metadata_key(path), prototype)
        if data is not None:
            found[path] = data.to_bytes().decode()
    return found


def metadata_key(path: str) -> str:
    """Return the key of the metadata of a group or array."""
    return f"{path}/{_METADATA}".lstrip("/")


def is_array(metadata: str) -> bool:
    """Return whether the text of a ``zarr.json`` describes an array; False if unreadable."""
    try:
        return bool(json.loads(metadata).get("node_type") == "array")
    except (ValueError, AttributeError, RecursionError):
        return False


def _add(
    builder: EntriesBuilder, encoding: KeyEncoding, batch: Any, start: str, limits: Limits
) -> Counter[str]:
    """Append a batch; return its chunk counts by kind."""
    indices, kinds, paths, offsets, lengths, inline = batch
    found = Counter({kind: int(np.count_nonzero(kinds == kind)) for kind in KINDS})
    if found.total() != len(kinds):
        raise SourceError(
            "The repository has chunks of an unknown kind; refexplorer supports native, virtual "
            "and inline chunks."
        )
    size = sum(map(len, inline.values()))
    if size > limits.document_bytes:
        raise LimitError(
            f"The chunks inside manifests have more than {limits.document_bytes:,} bytes; "
            "`Limits.document_bytes` raises the limit."
        )
    builder.add_ranges(
        encoding.keys(indices),
        located(as_read(text_column(paths)), kinds, start),
        offsets,
        lengths,
        {row: base64_text(data) for row, data in inline.items()},
    )
    return Counter({KINDS[kind]: count for kind, count in found.items()})


def located(paths: pa.LargeStringArray, kinds: np.ndarray, start: str) -> pa.LargeStringArray:
    """Return the locations of chunks: for native ones, Icechunk returns only the id."""
    native = kinds == NATIVE
    if not native.any():
        return paths
    named = joined(f"{start}chunks/", paths)
    if native.all():
        return named
    rows = np.arange(len(paths))
    both = pa.concat_arrays([paths, named])
    return both.take(number_column(np.where(native, rows + len(paths), rows)))


def as_read(urls: pa.LargeStringArray) -> pa.LargeStringArray:
    """Return locations as other readers name them: those in Icechunk are encoded like URLs."""
    if not pc.any(pc.match_substring_regex(urls, "[%?#]")).as_py():
        return urls
    words = urls.dictionary_encode()
    return text_column([plain_location(url) for url in words.dictionary.to_pylist()]).take(
        words.indices
    )


def plain_location(url: str) -> str:
    """Return the file or object that Icechunk reads for a location."""
    if url.startswith(_WEB):  # web servers get the URL unchanged
        return url
    return unquote(_QUERY.split(url, maxsplit=1)[0])


def encoded_location(url: str) -> str:
    """Return the location for which Icechunk reads a file or object."""
    return url if url.startswith(_WEB) else _ESCAPED.sub(lambda m: quote(m[0]), url)


def outside(urls: pa.LargeStringArray, starts: list[str]) -> pa.LargeStringArray:
    """Return the URLs that match none of the prefixes and are not empty (inline data)."""
    remaining = urls.filter(pc.not_equal(urls, ""))
    for start in starts:
        remaining = remaining.filter(pc.invert(pc.starts_with(remaining, start)))
    return remaining


Awaited = TypeVar("Awaited")


class ManifestFile(NamedTuple):
    """A manifest as described by a snapshot."""

    id: str
    chunks: int | None  # Chunks of all arrays in it; None if unknown
    extents: tuple[tuple[int, int], ...]  # Where these are in the grid, for each dimension


@dataclass(frozen=True, slots=True)
class SnapshotNode:
    """A group or an array."""

    id: str  # As Icechunk writes it
    path: str  # Without a slash before it; the root is ``""``
    manifests: tuple[ManifestFile, ...]  # Those that hold its chunks; a group has none


def nodes_of(repository: Repository, session: Session, name: str) -> list[SnapshotNode]:
    """Return the nodes of a snapshot; Icechunk 1 gives JSON text, version 2 a dict."""
    inspected: Any = awaited(_inspected(repository, session))
    snapshot: dict[str, Any] = json.loads(inspected) if isinstance(inspected, str) else inspected
    counts = {each["id"]: each.get("num_chunk_refs") for each in snapshot.get("manifests", ())}
    return [_node(node, counts, name) for node in snapshot["nodes"]]


async def _inspected(repository: Repository, session: Session) -> Any:
    """Return Icechunk's answer; its other API blocks every thread while it waits for a server."""
    return await repository.inspect_snapshot_async(session.snapshot_id)


def awaited(work: Coroutine[Any, Any, Awaited]) -> Awaited:
    """Run a coroutine in a thread: a notebook already has its own event loop."""
    import asyncio  # slow, and most commands do not need it
    from concurrent.futures import ThreadPoolExecutor

    run: Callable[[Coroutine[Any, Any, Awaited]], Awaited] = asyncio.run
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(run, work).result()


def _node(node: dict[str, Any], counts: Mapping[str, int | None], name: str) -> SnapshotNode:
    path = node["path"].strip("/")
    if node["node_type"] == "group":
        return SnapshotNode(node["id"], path, ())
    if node["node_type"] != "array" or "manifest_refs" not in node:
        raise SourceError(
            f"{name} has a node {node['path']!r} of an unknown kind ({node['node_type']}), or an "
            f"array without manifests; refexplorer supports groups and arrays of Icechunk 1 and 2."
        )
    manifests = tuple(
        ManifestFile(each["id"], counts.get(each["id"]), tuple(map(tuple, each.get("extents", ()))))
        for each in node["manifest_refs"]
    )
    return SnapshotNode(node["id"], path, manifests)
