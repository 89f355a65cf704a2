"""The cost of opening and reading."""

from __future__ import annotations

from msgspec import Struct

from refexplorer.views.wire.messages import Count, Real, Request


class PlaceModel(Struct, frozen=True):
    """A place of targets, and what it takes to answer.

    Attributes
    ----------
    latency
        Seconds from a request to its first byte.
    stream, bandwidth
        Bytes a second of one request, and of all together.
    concurrency
        Requests that it answers at a time; null leaves it to the reader.
    """

    name: str
    latency: float
    stream: float
    bandwidth: float
    concurrency: int | None


class ReaderModel(Struct, frozen=True):
    """What one reader asks for; null is not known.

    Attributes
    ----------
    at_once
        Requests at a time.
    reads
        Of each read, which follow each other: requests, bytes, bytes of the largest request. Null
        where they are many: then `seconds` are those of the place that was asked for.
    """

    name: str
    at_once: int
    requests: Count | None
    bytes: Count | None
    seconds: Real | None
    reads: tuple[tuple[Count, Count, Count], ...] | None


class CostBar(Struct, frozen=True):
    """What one access costs; null is not known.

    Attributes
    ----------
    path
        Of the array, or of the group that is opened.
    selection
        As it is written in Python.
    used, decoded
        Bytes of the values that were asked for, and of the chunks that hold them.
    unknown
        Why numbers are not known.
    """

    name: str
    path: str
    selection: str
    chunks: Count | None
    held: Count | None
    absent: Count | None
    files: Count | None
    used: Count | None
    decoded: Count | None
    readers: tuple[ReaderModel, ...]
    unknown: tuple[str, ...]


class FindingModel(Struct, frozen=True):
    """What would be cheaper, and what does it.

    Attributes
    ----------
    path
        Of the array or group; null for the whole set.
    seconds_gained
        Null where it is not known.
    """

    code: str
    path: str | None
    message: str
    remedy: str
    seconds_gained: Real | None


class CostModel(Struct, frozen=True):
    """What reading the set costs from a place.

    Attributes
    ----------
    places
        Those to choose from.
    place
        The one that was asked for.
    arrays
        Those to choose from; cut.
    array
        Whose accesses are among the bars; null if the set has none.
    bars
        What opening costs, and accesses to the array.
    findings, bounds
        By gain; cut.
    """

    places: tuple[PlaceModel, ...]
    place: PlaceModel
    arrays: tuple[str, ...]
    array: str | None
    dimensions: tuple[str, ...]
    bars: tuple[CostBar, ...]
    findings: tuple[FindingModel, ...]
    finding_count: int
    bounds: tuple[str, ...]
    notes: tuple[str, ...]


class MeasuredModel(Struct, frozen=True):
    """A place as it was measured.

    Attributes
    ----------
    place
        Null: nothing was measured.
    asked
        What was asked for it, or why it was not.
    grant
        What has to be allowed before it can be measured.
    """

    place: PlaceModel | None
    asked: str
    grant: str | None = None


class TouchesModel(Struct, frozen=True):
    """How often an access reads each chunk of an array.

    Attributes
    ----------
    grid
        Chunks along each dimension.
    axes
        The drawn ones, at most two: rows, columns.
    most
        Times that a chunk of the cell with most is read, on average.
    """

    array: str
    grid: tuple[Count, ...]
    dimensions: tuple[str, ...]
    axes: tuple[int, ...]
    rows: int
    columns: int
    most: float


class ShowCost(Request, frozen=True, tag="cost.show"):
    """Say what opening and reading cost, and what would help; no target is read.

    Attributes
    ----------
    array
        Whose accesses are told; null: the one of most chunks.
    place
        One of `places` of the answer.
    latency, bandwidth
        Seconds, and bytes a second of all requests together; null: those of the place.
    stream
        Bytes a second of one request; null: as much less than `bandwidth` as that of the place.
    given
        A part of the array, ``0, 10:20``, or lengths of Dask's chunks, ``time=10``.
    """

    reply = CostModel
    is_later = True

    array: str | None = None
    place: str = "object-store"
    latency: float | None = None
    bandwidth: float | None = None
    stream: float | None = None
    given: str = ""


class MeasureCost(Request, frozen=True, tag="cost.measure"):
    """Measure latency and bandwidth of a target of the set, by at most 15 requests.

    Attributes
    ----------
    place
        Of a set of short ranges its bandwidth is taken.
    """

    reply = MeasuredModel
    is_later = True

    place: str = "object-store"


class ShowTouches(Request, frozen=True, tag="cost.touches"):
    """Say how often an access reads each chunk of an array.

    Attributes
    ----------
    access
        The name of a bar.
    given
        As in ``cost.show``, for ``as given``.
    """

    reply = TouchesModel
    is_later = True
    buffers = "float64 (rows x columns): how often a chunk of each cell is read, on average."

    array: str | None
    access: str
    given: str = ""
