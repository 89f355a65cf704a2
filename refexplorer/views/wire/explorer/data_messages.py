"""The values of a part of an array: what reading it takes, and what was read."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from refexplorer.spec.references import Kind
from refexplorer.views.wire.messages import Count, Event, Real, Request, named
from refexplorer.views.wire.models import ChunkRuns, EstimateModel, ReadOutcome


class Coordinate(Struct, frozen=True):
    """The positions along one dimension.

    Attributes
    ----------
    values
        Null where they are not known without more reads.
    times
        Whether they are milliseconds since 1970.
    texts
        In place of values that float64 cannot express, such as integers above 2^53; else null.
    along
        Whether they are degrees of latitude or longitude, so that coasts can be drawn.
    """

    name: str
    values: tuple[Real, ...] | None
    times: bool = False
    texts: tuple[str, ...] | None = None
    along: Literal["latitude", "longitude"] | None = None


class ChunkCounts(Struct, frozen=True):
    """The chunks of a reading, by state."""

    fetched: int
    fill: int
    failed: int


class LostChunks(Struct, frozen=True):
    """Chunks of a reading that have no reference, or failed.

    Attributes
    ----------
    index
        Of the first one.
    count
        How many there are, one after the other along the last dimension.
    """

    index: tuple[Count, ...]
    count: int
    state: Annotated[str, named("Loss", "fill", "failed")]


class Plan(Struct, frozen=True):
    """A part of an array, and what reading it takes.

    Attributes
    ----------
    slices
        One for each dimension, as Python writes them: ``3``, ``0:10:2``.
    estimate
        What is here already costs nothing.
    kept, kept_most
        Bytes of decoded chunks that are kept for all views of the set, and how many may be.
    budget
        Bytes that the first look at an array of the set fetches, where nobody chose others.
    grant
        What has to be allowed before it may be read, such as ``s3://bucket``; empty where this page
        may not read it at all; null where it may be read by now, so that a picture need not ask.
    """

    array: str
    dimensions: tuple[str, ...]
    sizes: tuple[Count, ...]
    slices: tuple[str, ...]
    shape: tuple[Count, ...]
    chunk_count: int
    estimate: EstimateModel
    kept: Count = 0
    kept_most: Count = 0
    budget: Count = 0
    grant: str | None = None


class Flag(Struct, frozen=True):
    """A value that stands for something, and what it is (CF: ``flag_values``)."""

    value: float
    meaning: str


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
    infinite
        How many values are negative and how many are positive infinity.
    value_type
        Of the values as they are decoded: ``int64``, ``float32``, ``datetime64[ns]``.
    extremes
        ``minimum`` and ``maximum`` with every digit of their type.
    is_complex
        Whether the values are magnitudes.
    grant
        State ``ask``: what `allow` needs.
    lost
        All chunks that were not fetched.
    texts
        Text and structured values, cut, in place of a buffer.
    blocks
        How many values along each dimension share one cell; none: each has its own.
    reduced
        What such a cell is: the mean of its values, or the one in the middle.
    flags
        What the values stand for, where they stand for something.
    channels
        The dimension of red, green, blue, and perhaps how opaque; null where there is none.
    chunk_runs
        Along each dimension the runs of chunks of one length; null where all have `chunk_shape`.
    fields, field
        Of structured values: all that have one value each, and the one that is shown; null for
        all as text.
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
    lost: tuple[LostChunks, ...]
    texts: tuple[str, ...] | None = None
    blocks: tuple[int, ...] = ()
    reduced: Literal["mean", "nearest"] | None = None
    flags: tuple[Flag, ...] = ()
    channels: int | None = None
    fields: tuple[str, ...] = ()
    chunk_runs: ChunkRuns | None = None
    field: str | None = None
    infinite: tuple[int, int] = (0, 0)
    value_type: str = ""
    extremes: tuple[str, str] | None = None
    is_complex: bool = False


class Planned(Struct, frozen=True):
    """The cost of a read."""

    plan: Plan


class PlanSlice(Request, frozen=True, tag="slice.plan"):
    """Say what reading a part of an array takes; without slices and index, what is shown first.

    Attributes
    ----------
    slices
        One for each dimension: ``3`` or ``0:10:2``.
    index
        Of a chunk.
    budget
        Bytes of what is shown first; null for that of the set.
    shown
        Whether the part is on screen, although it was not read: the front end had it.
    """

    reply = Planned

    array: str
    slices: tuple[str, ...] | None = None
    index: tuple[int, ...] | None = None
    budget: int | None = None
    shown: bool = False


class WasRead(Struct, frozen=True):
    """The values that were read."""

    reading: ReadingModel


class CellsCame(Event, frozen=True, tag="cells"):
    """Cells of a reading that is not done yet; their values travel beside it, box after box.

    Attributes
    ----------
    job
        The id of the request.
    reading
        What is known so far.
    boxes
        Start and end of the cells along each dimension.
    """

    job: str
    reading: ReadingModel
    boxes: tuple[tuple[tuple[int, int], ...], ...]


class ReadChunk(Request, frozen=True, tag="chunk.read"):
    """Read a part of an array; without slices and index, the whole.

    Attributes
    ----------
    slices
        One for each dimension: ``3`` or ``0:10:2``.
    index
        Of a chunk.
    scale, times
        What of the CF conventions is applied.
    field
        Of structured values; null for the first with numbers, empty for all as text.
    ahead
        Whether nobody looks at it yet: no code is made of it.
    """

    reply = WasRead
    is_later = True
    buffers = (
        "The values, float64 in C order; none of text and structured values. Where float64 cannot "
        "express them all, a second buffer has them as 64-bit integers: unsigned for ``uint64``, "
        "ticks of the unit for times."
    )

    array: str
    slices: tuple[str, ...] | None = None
    index: tuple[int, ...] | None = None
    scale: bool = True
    times: bool = True
    field: str | None = None
    ahead: bool = False


class WasReadAhead(Struct, frozen=True):
    """What is kept now.

    Attributes
    ----------
    kept
        In bytes.
    parts
        How many of the parts fitted into the budget.
    """

    kept: Count
    parts: int


class ReadAhead(Request, frozen=True, tag="chunk.ahead"):
    """Read parts of an array that will be asked for soon, and keep their chunks.

    Attributes
    ----------
    parts
        Slices of each part, in the order in which they will be asked for.
    budget
        Bytes to fetch; the parts after those that fit are left.
    """

    reply = WasReadAhead
    is_later = True

    array: str
    parts: tuple[tuple[str, ...], ...]
    budget: int


class PartSaved(Struct, frozen=True):
    """A file of values; it travels beside the answer."""

    name: str


class SavePart(Request, frozen=True, tag="slice.save"):
    """Write every value of a part of an array to a file.

    Attributes
    ----------
    form
        NetCDF has the values as they are stored, with attributes and coordinates; CSV and npy
        have them decoded, in their own data type.
    axes
        Of CSV and npy: the dimensions of the table or array, in this order; one place is read
        along all others.
    scale, times, field
        Of CSV and npy: as for ``chunk.read``.
    """

    reply = PartSaved
    is_later = True
    buffers = "The bytes of the file."

    array: str
    slices: tuple[str, ...]
    form: Literal["netcdf", "csv", "npy"] = "netcdf"
    axes: tuple[int, ...] = ()
    scale: bool = True
    times: bool = True
    field: str | None = None


class ValuePlace(Struct, frozen=True):
    """Where the bytes of a value are.

    Attributes
    ----------
    kind
        Of the reference; null where there is none.
    offset, length
        Of the byte range in the target; null for all of it.
    """

    key: str
    kind: Kind | None
    url: str | None
    offset: Count | None
    length: Count | None


class FindValue(Request, frozen=True, tag="value.place"):
    """Say where the bytes of a value are.

    Attributes
    ----------
    index
        A place for each dimension.
    """

    reply = ValuePlace

    array: str
    index: tuple[int, ...]


class ValueText(Struct, frozen=True):
    """A value with every digit of its type; null if its chunk would have to be fetched."""

    text: str | None


class ReadValue(Request, frozen=True, tag="value.read"):
    """Read one value whose chunk was decoded before: of a picture whose cells are means.

    Attributes
    ----------
    index
        The place of the value, one number for each dimension.
    scale, times, field
        As for ``chunk.read``.
    """

    reply = ValueText
    is_later = True

    array: str
    index: tuple[int, ...]
    scale: bool = True
    times: bool = True
    field: str | None = None


class ValueStep(Struct, frozen=True):
    """One step from a chunk to a value.

    Attributes
    ----------
    name
        As of `refexplorer.TraceStep`.
    text
        One sentence.
    is_broken
        Whether it fails, so that there is none after it.
    """

    name: str
    text: str
    is_broken: bool = False


class ValueTraced(Struct, frozen=True):
    """The reason for a value, in a sentence, and the steps that lead to it."""

    sentence: str
    steps: tuple[ValueStep, ...]


class TraceValue(Request, frozen=True, tag="value.why"):
    """Tell why a value of an array is what it is; its chunk is read.

    Attributes
    ----------
    index
        The place of the value, one number for each dimension.
    """

    reply = ValueTraced
    is_later = True

    array: str
    index: tuple[int, ...]
