"""Frozen models of a set, a key and a reading in the explorer."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Struct

from refexplorer.refset.tree.nodes import NodeType
from refexplorer.spec.core.catalogue import Severity
from refexplorer.spec.core.references import Kind
from refexplorer.views.wire.messages import Count, Real, named

ReadOutcome = Annotated[str, named("ReadOutcome", "fetched", "fill", "failed", "ask")]
"""How a read came out; ``ask``: it may not be read until ``grant`` is allowed."""


class Badges(Struct, frozen=True):
    """What is wrong with a key, or with the arrays below a folder, as far as it is known.

    Attributes
    ----------
    failed
        Chunks that could not be fetched or decoded when they were read.
    errors, warnings
        Notes that name a key.
    """

    rejected: Count
    failed: Count
    absent: Count
    errors: Count
    warnings: Count


class Row(Struct, frozen=True):
    """A visible row of the tree, or a result of a search.

    Attributes
    ----------
    kind
        Null for what is no key.
    target
        Cut.
    origin
        ``refs`` or the gen item; ``absent`` for a chunk without a reference, ``rejected`` for
        a rejected key.
    position
        Among its siblings, from 1.
    form
        Shape and data type of an array.
    badges
        Null where nothing wrong is known.
    cause
        Why a chunk failed, or a key is rejected.
    """

    path: str
    name: str
    depth: int
    type: NodeType
    kind: Kind | None
    size: Count | None
    target: str | None
    origin: str | None
    children: Count
    open: bool
    position: Count
    siblings: Count
    form: str | None = None
    badges: Badges | None = None
    cause: str | None = None


class Note(Struct, frozen=True):
    """A diagnostic.

    Attributes
    ----------
    meaning
        What all diagnostics of the code have in common.
    pointer
        Into the document; cut.
    key
        What of the tree is nearest to the place.
    """

    code: str
    severity: Severity
    meaning: str
    message: str
    hint: str | None
    pointer: str
    line: int | None
    column: int | None
    count: Count
    key: str | None


class HealthCounts(Struct, frozen=True):
    """Chunks by state; null where it is not known.

    Attributes
    ----------
    chunks
        Of the grid.
    absent
        Without a reference.
    rejected
        With a reference that an error keeps out of the set.
    failed
        Of those that were tried in this session or in the last audit; null if none was.
    unread
        With a reference that was not tried.
    differing
        Of those that the last verification compared with their files; null if it compared none.
    """

    chunks: Count
    referenced: Count | None
    absent: Count | None
    rejected: Count | None
    failed: Count | None
    unread: Count | None
    differing: Count | None


class HealthRow(Struct, frozen=True):
    """An array in the health table.

    Attributes
    ----------
    chunks
        The shape of a chunk.
    bytes
        Of all its references; null where it is not known.
    errors, warnings
        Notes that name it or a key of it; null until those of the whole set are known.
    """

    path: str
    shape: tuple[Count, ...]
    chunks: tuple[Count, ...]
    dtype: str
    bytes: Count | None
    counts: HealthCounts
    errors: Count | None
    warnings: Count | None


class EstimateModel(Struct, frozen=True):
    """The cost of a read, known without a request.

    Attributes
    ----------
    bytes
        Null where whole files are read, whose size is not known.
    requests
        After merging.
    targets
        The first.
    label
        For a button: ``Read 57 kB from air.nc``.
    chunks
        With a reference.
    """

    bytes: Count | None
    requests: int
    targets: tuple[str, ...]
    label: str
    chunks: int = 0


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
    estimate
        Of reading the whole.
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
    estimate: EstimateModel | None


class ChunkItem(Struct, frozen=True):
    """One chunk of an array; its shape is cut at the edge of the array."""

    array: str
    index: tuple[Count, ...]
    shape: tuple[Count, ...]
    estimate: EstimateModel


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


class Coordinate(Struct, frozen=True):
    """The positions along one dimension.

    Attributes
    ----------
    values
        Null where they are not known without more reads.
    times
        Whether they are milliseconds since 1970.
    """

    name: str
    values: tuple[Real, ...] | None
    times: bool = False


class ChunkCounts(Struct, frozen=True):
    """The chunks of a reading, by state."""

    fetched: int
    fill: int
    failed: int


class LostChunk(Struct, frozen=True):
    """A chunk of a reading that has no reference, or failed."""

    key: str
    index: tuple[Count, ...]
    state: Annotated[str, named("Loss", "fill", "failed")]


class Plan(Struct, frozen=True):
    """A part of an array, and what reading it takes.

    Attributes
    ----------
    slices
        One for each dimension, as Python writes them: ``3``, ``0:10:2``.
    estimate
        What is here already costs nothing.
    """

    array: str
    dimensions: tuple[str, ...]
    sizes: tuple[Count, ...]
    slices: tuple[str, ...]
    shape: tuple[Count, ...]
    chunk_count: int
    estimate: EstimateModel


class ReadingModel(Struct, frozen=True):
    """Values that were read, or why they were not; numbers travel beside it as a buffer.

    Attributes
    ----------
    region
        Of the values: start, stop and step along each dimension.
    key_start, separator
        A chunk's key is ``key_start`` and its index joined by the separator.
    times
        Whether the values are milliseconds since 1970.
    missing
        Values that are NaN or the fill value.
    grant
        State ``ask``: what `allow` needs.
    lost
        The first chunks that were not fetched.
    texts
        Text and structured values, cut, in place of a buffer.
    """

    state: ReadOutcome
    array: str
    slices: tuple[str, ...]
    region: tuple[tuple[Count, Count, Count], ...]
    chunk_shape: tuple[Count, ...]
    key_start: str
    separator: str
    shape: tuple[int, ...]
    dtype: str
    dimensions: tuple[str, ...]
    units: str | None
    name: str
    times: bool
    minimum: float | None
    maximum: float | None
    missing: int
    seconds: float
    message: str | None
    grant: str | None
    coordinates: tuple[Coordinate, ...]
    chunks: ChunkCounts
    lost: tuple[LostChunk, ...]
    texts: tuple[str, ...] | None = None


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


class RungModel(Struct, frozen=True):
    """One step of a decode ladder.

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


class LadderReply(Struct, frozen=True):
    """The decode ladder of a key, or why it was not climbed.

    Attributes
    ----------
    grant
        State ``ask``: what `allow` needs.
    values
        The first, as text.
    """

    state: ReadOutcome
    rungs: tuple[RungModel, ...]
    message: str | None = None
    grant: str | None = None
    values: tuple[str, ...] = ()
