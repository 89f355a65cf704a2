"""One path of a set with everything known without a request."""

from __future__ import annotations

import json
import math
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from refexplorer.core.text import secrets_among, shorten, without
from refexplorer.formats.json.positions import Positions
from refexplorer.io.access import AccessPolicy
from refexplorer.io.decode.sizes import is_small, region
from refexplorer.io.decode.steps import shard_layout
from refexplorer.refset.chunk_grid import chunk_counts
from refexplorer.refset.opened_set import internals
from refexplorer.spec.references import Kind, NodeType, Reference
from refexplorer.spec.zarr_metadata import ArrayMeta, type_name
from refexplorer.views.code.cells import code
from refexplorer.views.health.health import Checked, checked
from refexplorer.views.preview.regions import ChunkRuns, chunk_runs
from refexplorer.views.wire.context import Note, findings_of, note, notes_about
from refexplorer.views.wire.requests import Count, filled

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet

TEXT_SHOWN = 64 * 1024  # characters of a text in one answer
RAW_SHOWN = 4096  # characters of a reference as it is written
ATTRIBUTES = 300  # Attributes that are listed; how many there are is said
_ATTRIBUTE_SHOWN = 2000  # characters of an attribute


class ArrayItem(Struct, frozen=True):
    """An array, from its metadata only."""

    path: str
    shape: tuple[Count, ...]
    chunks: tuple[Count, ...]
    grid: tuple[Count, ...]
    dtype: str
    codecs: tuple[str, ...]
    fill: Any
    dimensions: tuple[str, ...] | None
    zarr_format: int
    attributes: tuple[tuple[str, str], ...]  # The first: each name with its value as JSON text
    attribute_count: int
    chunk_count: Count
    present: Count | None  # Chunks with a reference; null where it is not known, as is the next
    rejected: Count | None  # Chunks whose reference an error keeps out of the set
    bytes: Count | None  # Null where it is not known
    small: bool  # Whether the whole may be read at once
    # The shape of the inner chunks, if its chunks are shards whose index can be read; else
    # null
    inner_chunks: tuple[Count, ...] | None = None
    inner_count: Count | None = None  # How many of them there are in all shards; null as above
    chunk_runs: ChunkRuns | None = None  # As in `ReadingModel`


class ChunkItem(Struct, frozen=True):
    """One chunk of an array; its shape is clipped at the edge of the array."""

    array: str
    index: tuple[Count, ...]
    shape: tuple[Count, ...]


class PathItem(Struct, frozen=True):
    """Everything known about a path without a request."""

    path: str
    name: str
    type: NodeType
    code: str  # Python for it
    kind: Kind | None = None
    raw: str | None = None  # V0 JSON text; cut
    url: str | None = None
    offset: Count | None = None
    length: Count | None = None
    resolved: str | None = None  # Where a relative URL leads
    text: str | None = None  # Of inline data; the first 64 kB
    text_total: int = 0  # Characters of the whole text
    origin: str | None = None
    size: Count | None = None
    notes: tuple[Note, ...] | None = None  # Null until those of the whole set are known
    array: ArrayItem | None = None  # It, or the array that a chunk belongs to
    chunk: ChunkItem | None = None
    checked: Checked | None = None  # What an audit or a comparison with the files found of a chunk


def item(refs: ReferenceSet, path: str, policy: AccessPolicy) -> PathItem:
    """Describe a path."""
    node = refs.node(path)
    reference = refs[path] if node.kind is not None else None
    url, text = getattr(reference, "url", None), getattr(reference, "text", None)
    meta, chunk = _array_and_chunk(refs, path)
    index = None if chunk is None else chunk.index
    return filled(
        PathItem,
        node,
        path=path,
        code=code(refs, path, policy.granted),
        raw=None if reference is None else _raw(reference),
        url=url,
        offset=getattr(reference, "offset", None),
        length=getattr(reference, "length", None),
        resolved=_resolved(policy, url),
        text=None if text is None else text[:TEXT_SHOWN],
        text_total=0 if text is None else len(text),
        notes=notes_about(refs, path, node.origin),
        array=None if meta is None else describe_array(refs, meta),
        chunk=chunk,
        checked=None if meta is None or index is None else checked(refs, meta, index),
    )


def describe_array(refs: ReferenceSet, meta: ArrayMeta) -> ArrayItem:
    """Return the model of an array."""
    counts = chunk_counts(internals(refs).opened, meta)
    shards, attributes = shard_layout(meta), islice(meta.attributes.items(), ATTRIBUTES)
    return filled(
        ArrayItem,
        meta,
        dtype=type_name(meta.dtype),
        fill=_plain(meta.fill_value),
        attributes=tuple((name, _json(value)) for name, value in attributes),
        attribute_count=len(meta.attributes),
        present=counts.referenced,
        rejected=counts.rejected,
        bytes=internals(refs).counts(meta.path, within=1).size,
        small=is_small(meta),
        inner_chunks=None if shards is None else shards.inner.chunks,
        inner_count=None if shards is None else shards.inner.chunk_count,
        chunk_runs=chunk_runs(meta),
    )


def _array_and_chunk(refs: ReferenceSet, path: str) -> tuple[ArrayMeta | None, ChunkItem | None]:
    """Return the array at or above a path, and the chunk if it is one."""
    owner = refs.array_of(path)
    if owner is None:
        return internals(refs).opened.arrays.get(path), None
    meta, index = refs.array(owner[0]), owner[1]
    if not meta.contains(index):
        return meta, None
    shape = tuple(part.stop - part.start for part in region(meta, index))
    return meta, ChunkItem(meta.path, index, shape)


def _resolved(policy: AccessPolicy, url: str | None) -> str | None:
    """Return the resolved relative URL; folders of a server are not revealed."""
    if url is None or (place := policy.resolve(url)) == url:
        return None
    return None if policy.served and "://" not in place else place


def _raw(reference: Reference) -> str:
    value = reference.to_v0()
    if isinstance(value, str):
        value = value[:RAW_SHOWN]
    return json.dumps(value, ensure_ascii=False)[:RAW_SHOWN]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:_ATTRIBUTE_SHOWN]


def _plain(fill: object) -> object:
    """Return a fill value as JSON; numbers that JSON does not have become text."""
    if isinstance(fill, float) and not math.isfinite(fill):
        return str(fill)
    return fill if fill is None or isinstance(fill, str | int | float | bool) else _json(fill)


ORIGIN = "absent"  # The origin in the row of an absent chunk
REJECTED = "rejected"  # What a rejected key has in its place


def origin_of(refs: ReferenceSet, key: str) -> str:
    """Return the replacement for the origin of a key that is not in the set."""
    return ORIGIN if refs.rejection(key) is None else REJECTED


def absent_item(refs: ReferenceSet, key: str, policy: AccessPolicy) -> PathItem | None:
    """Describe a key that is not in the set: a chunk, or a rejected key; else None."""
    if refs.get(key) is not None:
        return None
    error, chunk = refs.rejection(key), _chunk_item(refs, key, policy)
    if error is None:
        return chunk
    if chunk is None and internals(refs).opened.tree.folder(key) is not None:
        return None
    found = chunk or PathItem(key, key.rpartition("/")[2], NodeType.KEY, code(refs, key))
    notes = (note(refs, error), *(found.notes or ()))
    return replace(found, origin=REJECTED, notes=notes)


def _chunk_item(refs: ReferenceSet, key: str, policy: AccessPolicy) -> PathItem | None:
    """Describe a chunk by its array; None if the key is not a chunk."""
    array, chunk = _array_and_chunk(refs, key)
    if array is None or chunk is None:
        return None
    return replace(
        item(refs, array.path, policy),
        path=key,
        name=key.removeprefix(array.folder),
        type=NodeType.KEY,
        size=None,
        origin=ORIGIN,
        chunk=chunk,
        checked=checked(refs, array, chunk.index),
        code=code(refs, key, policy.granted),
    )


LONGEST_TEXT = 2_000_000  # Characters of a text that is read again to show a part of it
_LINES = 3  # lines of the document before and after a place
_CHARS = 200  # characters of such a line


def surroundings(refs: ReferenceSet, pointer: str) -> tuple[tuple[int, str], ...] | None:
    """Return the lines around a position, numbered from 1; long ones are truncated."""
    source = refs.source
    if source.is_large or source.content is None or not (text := source.text):
        return None
    if len(text) > LONGEST_TEXT:
        return None
    whole = (found.pointer for found in findings_of(refs) if shorten(found.pointer) == pointer)
    place = Positions(text).locate(source.base + next(whole, pointer))
    if place is None:
        return None
    texts = [template.text for template in refs.templates.values()]
    urls = internals(refs).target_index.urls if texts else ()
    hide = partial(without, secrets=secrets_among(texts, urls))
    lines = text.splitlines()
    first = max(0, place.line - _LINES)
    before = hide(lines[place.line - 1][: place.column])
    shown = [hide(line) for line in lines[first : place.line + _LINES - 1]]
    start = max(0, len(before) - _CHARS // 2)
    cut = [line[start : start + _CHARS] if len(line) > _CHARS else line for line in shown]
    return tuple(enumerate(cut, first + 1))
