"""One key: its details, bytes, decoding and code."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from refexplorer.spec.keys import NodeType
from refexplorer.spec.references import Kind
from refexplorer.views.wire.messages import Count, Real, Request
from refexplorer.views.wire.models import Derived, Note, ReadOutcome


class ArrayItem(Struct, frozen=True):
    """An array, from its metadata alone.

    Attributes
    ----------
    attributes
        The first: each name with its value as JSON text.
    present
        Chunks with a reference; null where it is not known, as is the next.
    rejected
        Chunks whose reference an error keeps out of the set.
    bytes
        Null where it is not known.
    small
        Whether the whole may be read at once.
    inner_chunks
        The shape of the inner chunks, if its chunks are shards whose index can be read; else null.
    inner_count
        How many of them there are in all shards; null as above.
    """

    path: str
    shape: tuple[Count, ...]
    chunks: tuple[Count, ...]
    grid: tuple[Count, ...]
    dtype: str
    codecs: tuple[str, ...]
    fill: Any
    dimensions: tuple[str, ...] | None
    zarr_format: int
    attributes: tuple[tuple[str, str], ...]
    attribute_count: int
    chunk_count: Count
    present: Count | None
    rejected: Count | None
    bytes: Count | None
    small: bool
    inner_chunks: tuple[Count, ...] | None = None
    inner_count: Count | None = None


class ChunkItem(Struct, frozen=True):
    """One chunk of an array; its shape is cut at the edge of the array."""

    array: str
    index: tuple[Count, ...]
    shape: tuple[Count, ...]


class PathItem(Struct, frozen=True):
    """All that is known of a path without a request.

    Attributes
    ----------
    code
        Python for it.
    raw
        V0 JSON text; cut.
    resolved
        Where a relative URL leads.
    text
        Of inline data; the first 64 kB.
    text_total
        Characters of the whole text.
    notes
        Null until those of the whole set are known.
    array
        It, or the array that a chunk belongs to.
    """

    path: str
    name: str
    type: NodeType
    code: str
    kind: Kind | None = None
    raw: str | None = None
    url: str | None = None
    offset: Count | None = None
    length: Count | None = None
    resolved: str | None = None
    text: str | None = None
    text_total: int = 0
    origin: str | None = None
    size: Count | None = None
    notes: tuple[Note, ...] | None = None
    array: ArrayItem | None = None
    chunk: ChunkItem | None = None


class KeyShown(Struct, frozen=True):
    """The details of a path."""

    item: PathItem


class ShowKey(Request, frozen=True, tag="key.show"):
    """Choose a path: also a chunk without a reference, or a rejected key."""

    reply = KeyShown

    path: str


class KeyExplained(Struct, frozen=True):
    """How a key came about; places in the text are null."""

    origin: str
    steps: tuple[Derived, ...]


class ExplainKey(Request, frozen=True, tag="key.explain"):
    """Explain a key."""

    reply = KeyExplained
    is_later = True

    path: str


class BytesPage(Struct, frozen=True):
    """A page of raw bytes, which travel beside it as a buffer, or why there are none.

    Attributes
    ----------
    start
        Where the page begins, in bytes.
    total
        All bytes of the key; null where that is not known.
    grant
        State ``ask``: what `allow` needs.
    """

    state: ReadOutcome
    start: int
    total: Count | None
    message: str | None = None
    grant: str | None = None


class BytesReply(Struct, frozen=True):
    """Where a page of bytes is."""

    bytes: BytesPage


class ReadBytes(Request, frozen=True, tag="key.bytes"):
    """Read bytes of a key, at most 65,536; of a whole file its size is asked first."""

    reply = BytesReply
    is_later = True
    buffers = "The bytes, if they were fetched."

    path: str
    start: int
    n: int


class StepModel(Struct, frozen=True):
    """One step of reading and decoding a key.

    Attributes
    ----------
    seconds
        Of processor time; of the raw bytes until they came.
    head
        The first bytes, as hexadecimal digits.
    form
        dtype and shape, or the reference as JSON.
    message
        Why it failed: then it is the last one.
    """

    name: str
    size: Count | None
    seconds: float
    head: str
    form: str
    message: str | None


class TraceReply(Struct, frozen=True):
    """The steps of reading and decoding a key, or why it was not read.

    Attributes
    ----------
    grant
        State ``ask``: what `allow` needs.
    values
        The first, as text.
    """

    state: ReadOutcome
    steps: tuple[StepModel, ...]
    message: str | None = None
    grant: str | None = None
    values: tuple[str, ...] = ()


class KeyTraced(Struct, frozen=True):
    """How a key is decoded."""

    trace: TraceReply


class TraceKey(Request, frozen=True, tag="key.trace"):
    """Read and decode a key step by step; without a reference the first step is the last.

    Attributes
    ----------
    inner
        The index of an inner chunk in the grid of the shard; null reads all of the key.
    """

    reply = KeyTraced
    is_later = True

    path: str
    inner: tuple[int, ...] | None = None


class ShardModel(Struct, frozen=True):
    """A shard as its index describes it, or why that was not read.

    Attributes
    ----------
    grant
        State ``ask``: what `allow` needs.
    grid
        Inner chunks along each dimension.
    chunks
        The shape of an inner chunk.
    count
        How many inner chunks there are, empty ones among them.
    empty
        How many read as the fill value since the shard has none; null if that is not known.
    size
        Bytes of the shard; null if that is not known.
    start
        Where it begins in its target; null without a target.
    beyond
        How many reach past its end: the index is wrong.
    listed
        Whether their byte ranges travel beside the answer; there are too many otherwise.
    """

    state: ReadOutcome
    message: str | None = None
    grant: str | None = None
    grid: tuple[Count, ...] = ()
    chunks: tuple[Count, ...] = ()
    count: Count = 0
    empty: Count | None = None
    size: Count | None = None
    start: Count | None = None
    beyond: Count = 0
    listed: bool = False


class ShardShown(Struct, frozen=True):
    """The inside of a shard."""

    shard: ShardModel


class ReadShard(Request, frozen=True, tag="key.shard"):
    """Read the index of a shard, in one request for a byte range."""

    reply = ShardShown
    is_later = True
    buffers = (
        "If `listed`: offset and length in the shard of each inner chunk, in the order of the "
        "grid; -1 and 0 for empty ones."
    )

    path: str


class Code(Struct, frozen=True):
    """Python."""

    code: str


class WriteCode(Request, frozen=True, tag="key.code"):
    """Write Python for a key with fsspec, Zarr and xarray alone, as ``refs.code(path)``."""

    reply = Code
    is_later = True

    path: str


class WriteCell(Request, frozen=True, tag="code.cell"):
    """Write a cell of a notebook that makes the picture of a part of an array again.

    Attributes
    ----------
    slices
        One for each dimension; an index for those that are not drawn.
    mode
        ``heatmap``, ``channel``, ``line``, ``lines``, ``table`` or ``statistics``.
    scheme, low, high
        The colours, and the numbers that they are between; null: those of the values.
    bar
        ``linear``, ``log`` or ``symlog``.
    scale, times
        What of the CF conventions is applied.
    upward
        Whether the first row is at the bottom, as where latitudes rise.
    """

    reply = Code
    is_later = True

    library: Literal["xarray", "hvplot", "zarr", "fsspec"]
    array: str
    slices: tuple[str, ...]
    mode: str = "heatmap"
    scheme: str = "viridis"
    low: Real | None = None
    high: Real | None = None
    scale: bool = True
    times: bool = True
    bar: Literal["linear", "log", "symlog"] = "linear"
    upward: bool = False
