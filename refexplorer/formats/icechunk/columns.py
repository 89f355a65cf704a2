"""The chunks of a session in columns, as Icechunk 2 gives them for any storage.

`IcechunkStore.array_chunk_iterator` resolves locations that are compressed, or relative to a
virtual chunk container.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.errors import LimitError, SourceError
from refexplorer.formats.buffers.arrow import flags_of, number_column, text_column
from refexplorer.formats.buffers.entries import EntriesBuilder
from refexplorer.formats.icechunk.chunk_names import KeyEncoding
from refexplorer.formats.json.writer import joined
from refexplorer.limits import Limits

if TYPE_CHECKING:
    from icechunk import IcechunkStore

_BATCH = 100_000
"""Chunks that are taken together."""
NATIVE, VIRTUAL, INLINE = 1, 2, 3
"""What Icechunk calls the kinds of chunks."""
KINDS = {NATIVE: "native", VIRTUAL: "virtual", INLINE: "inline"}
_METADATA = "zarr.json"
_NODES = 1_000_000
"""Most groups and arrays of a repository."""


def is_columnar(store: object) -> bool:
    """Say whether the installed Icechunk gives chunks in columns, as it does from version 2."""
    return hasattr(store, "array_chunk_iterator")


async def add_snapshot(
    builder: EntriesBuilder,
    store: IcechunkStore,
    start: str,
    limits: Limits,
    paths: Sequence[str] | None = None,
) -> Counter[str]:
    """Append metadata and chunks of all groups and arrays; return how many chunks of each kind."""
    metadata = await _nodes(store, paths)
    builder.add_values({f"{path}/{_METADATA}".lstrip("/"): text for path, text in metadata.items()})
    counts: Counter[str] = Counter()
    for path, text in metadata.items():
        if is_array(text):
            encoding = KeyEncoding.of(path, text)
            async for batch in batches(store, path):
                counts += _add(builder, encoding, batch, start, limits)
    return counts


def batches(store: Any, path: str) -> AsyncIterator[tuple[Any, ...]]:
    """Return the chunks of an array: indices, kinds, paths, offsets, lengths, and inline bytes."""
    found: AsyncIterator[tuple[Any, ...]] = store.array_chunk_iterator(f"/{path}", _BATCH)
    return found


async def _nodes(store: IcechunkStore, paths: Sequence[str] | None) -> dict[str, str]:
    """Return the metadata of groups and arrays by path, in order.

    Folders are not gone through: Icechunk lists no folder that has no metadata of its own, and the
    root need not have any.
    """
    from zarr.core.buffer import default_buffer_prototype

    if paths is None:
        keys = [key async for key in store.list_prefix("") if key.endswith(_METADATA)]
        paths = [key.removesuffix(_METADATA).rstrip("/") for key in keys]
    if len(paths) > _NODES:
        raise LimitError(f"The repository has more than {_NODES:,} groups and arrays.")
    prototype, found = default_buffer_prototype(), dict[str, str]()
    for path in sorted(paths):
        data = await store.get(f"{path}/{_METADATA}".lstrip("/"), prototype)
        if data is not None:
            found[path] = data.to_bytes().decode()
    return found


def is_array(metadata: str) -> bool:
    """Say whether the text of a ``zarr.json`` is that of an array; what cannot be read is none."""
    try:
        return bool(json.loads(metadata).get("node_type") == "array")
    except (ValueError, AttributeError, RecursionError):
        return False


def _add(
    builder: EntriesBuilder, encoding: KeyEncoding, batch: Any, start: str, limits: Limits
) -> Counter[str]:
    """Append a batch; return how many chunks of each kind it has."""
    indices, kinds, paths, offsets, lengths, inline = batch
    found = Counter({kind: int(np.count_nonzero(kinds == kind)) for kind in KINDS})
    if found.total() != len(kinds):
        raise SourceError(
            "The repository has chunks of a kind that refexplorer does not know; it knows native, "
            "virtual and inline ones."
        )
    size = sum(map(len, inline.values()))
    if size > limits.document_bytes:
        raise LimitError(
            f"The chunks inside manifests have more than {limits.document_bytes:,} bytes; "
            "`Limits.document_bytes` raises the limit."
        )
    builder.add_ranges(
        encoding.keys(indices),
        located(text_column(paths), kinds, start),
        offsets,
        lengths,
        {row: f"base64:{base64.b64encode(data).decode()}" for row, data in inline.items()},
    )
    return Counter({KINDS[kind]: count for kind, count in found.items()})


def located(paths: pa.LargeStringArray, kinds: np.ndarray, start: str) -> pa.LargeStringArray:
    """Return the locations of chunks: of native ones Icechunk gives the id alone."""
    native = kinds == NATIVE
    if not native.any():
        return paths
    named = joined(f"{start}chunks/", paths)
    if native.all():
        return named
    rows = np.arange(len(paths))
    both = pa.concat_arrays([paths, named])
    return both.take(number_column(np.where(native, rows + len(paths), rows)))


def outside(urls: pa.LargeStringArray, starts: list[str]) -> pa.LargeStringArray:
    """Return the URLs that begin with none of some starts, and are not empty as of inline data."""
    rest = urls.filter(pc.not_equal(urls, ""))
    for start in starts:
        held = flags_of(pc.starts_with(rest, start)) if len(rest) else np.empty(0, np.bool_)
        rest = rest.take(number_column(np.flatnonzero(~held)))
    return rest
