"""What would make access patterns cheaper, by how much, and with which command or function."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from refexplorer.checks.advice.accesses import AccessCost, ArrayCosts, PartOfArray
from refexplorer.checks.advice.requests import OURS, ZARR, Connection
from refexplorer.core.text import counted, masks_repr, size_text
from refexplorer.refset.writing.rechunking import is_divisible
from refexplorer.spec.zarr_metadata import ArrayMeta


@masks_repr
@dataclass(frozen=True, slots=True)
class AdviceFinding:
    """A recommended change and its gain; None if unknown.

    Attributes
    ----------
    code
        ``"inline-coordinates"``, ``"subchunk"``, ``"asked-apart"``, ``"few-at-a-time"``,
        ``"small-chunks"``, ``"large-chunks"``, ``"groups-apart"`` or ``"json-to-parquet"``.
    path
        The array or group; None for the whole set.
    access
        The access pattern that becomes cheaper.
    message, remedy
        The finding, and the command or function that changes it.
    requests, requests_after, bytes, bytes_after
        Before and after, with the reader ``"zarr"``.
    seconds_gained
        From the connection model.
    """

    code: str
    path: str | None
    access: str
    message: str
    remedy: str
    requests: int | None = None
    requests_after: int | None = None
    bytes: int | None = None
    bytes_after: int | None = None
    seconds_gained: float | None = None

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}"


@dataclass(frozen=True, slots=True)
class LayoutBound:
    """The lowest cost with this file layout, and with a rechunked copy; None if unknown.

    Attributes
    ----------
    path, access
        The array and the access pattern.
    requests, bytes
        With the present layout and the reader ``"zarr"``.
    least_requests, least_bytes
        One request for each file, and the bytes of the chunks, each of which is read whole.
    copy_requests
        With a copy whose chunks have the same size and are shaped for this access.
    copy_bytes
        Decoded bytes of the array, which have to be read to write the copy.
    copy_seconds
        Time to read the whole array and write it uncompressed to the same location.
    seconds_gained
        Time saved per access once the copy exists.
    """

    path: str
    access: str
    requests: int
    bytes: int | None
    least_requests: int
    least_bytes: int | None
    copy_requests: int | None
    copy_bytes: int | None
    copy_seconds: float | None = None
    seconds_gained: float | None = None

    def __str__(self) -> str:
        files = counted(self.least_requests, "request")
        size = "" if self.least_bytes is None else f" and {size_text(self.least_bytes)}"
        name = self.path or "The root array"
        text = f"{name}, {self.access}: the files need at least {files}{size}"
        if self.copy_requests is None or self.copy_bytes is None:
            return f"{text}."
        text += (
            f"; a copy with chunks of the same size for this access, {size_text(self.copy_bytes)} "
            f"before compression, would need {counted(self.copy_requests, 'request')}"
        )
        if self.copy_seconds is None or self.seconds_gained is None:
            return f"{text}."
        if self.seconds_gained <= 0:
            return f"{text} and save no time."
        times = counted(
            math.ceil(self.copy_seconds / self.seconds_gained), "such access", "such accesses"
        )
        return (
            f"{text}. It takes about {self.copy_seconds:.2g} s to write and saves "
            f"{self.seconds_gained:.2g} s each time: worth it from {times} on."
        )


MORE_AT_ONCE = 64  # Concurrent requests that remote stores accept; zarr sends ten
GOOD_CHUNK = 2**23  # Bytes of a chunk whose transfer takes about as long as the latency
_SMALL_CHUNK = 2**20  # bytes of a chunk that is called small, if there are many requests, too
_MANY_REQUESTS = 100  # requests from which small chunks are worth a finding
_LITTLE = 0.05  # Part of what is decoded that is too small to be worth fetching all
_LEAST_GAIN = 1.05  # A smaller factor of time is not worth a sentence
LEAST_SECONDS = 1e-3  # The same of seconds: an inlined chunk in a local file saves microseconds


def _finding(
    code: str,
    cost: AccessCost,
    said: str,
    remedy: str,
    requests: int,
    size: int | None,
    took: float,
) -> AdviceFinding:
    """Return a finding about an access pattern: requests, bytes and seconds after the change."""
    now, what = cost.reader(ZARR), f"{cost.path or 'The root array'}, {cost.name}: "
    gained = None if now.seconds is None else now.seconds - took
    said = said if cost.name == "open" else what + said
    return AdviceFinding(code, cost.path, cost.name, said, remedy, now.requests, requests,
                         now.bytes, size, gained)  # fmt: skip


def _seconds(requests: int, size: float, place: Connection) -> float:
    """Return the time of one read by Zarr with equally sized requests."""
    return place.seconds(requests, size, size / requests, ZARR.at_once)


def inline_coordinates(
    cost: AccessCost, coordinates: Sequence[str], arrays: Sequence[ArrayMeta], name: str
) -> Iterator[AdviceFinding]:
    """Find coordinates that opening reads from targets."""
    now = cost.reader(ZARR)
    if not coordinates or not now.requests:
        return
    inlined = [each for each in arrays if each.path in coordinates]
    size = sum(math.prod(each.shape) * (each.itemsize or 0) for each in inlined)
    is_known = all(each.itemsize is not None for each in inlined)
    grows = f"up to about {size_text(-(-size // 3) * 4)}" if is_known else "an unknown size"
    where = f" of group {cost.path}" if cost.path else ""
    names = ", ".join(coordinates[:5]) + (", …" if len(coordinates) > 5 else "")
    said = (
        f"Opening{where} with xarray reads {names} in {counted(now.requests, 'request')}. Stored "
        f"in the set, they need no request; the set grows by {grows}."
    )
    remedy = f"refexplorer convert {name} out.json --inline-coordinates; "
    remedy += _inlining_text(arrays, coordinates)
    yield _finding("inline-coordinates", cost, said, remedy, 0, now.bytes and 0, 0.0)


def _inlining_text(arrays: Sequence[ArrayMeta], coordinates: Sequence[str]) -> str:
    """Return how other tools inline coordinates; kerchunk's function supports Zarr v2 only."""
    names = [path.rpartition("/")[2] for path in coordinates]
    dotted = [path.replace("/", ".") for path in coordinates]
    loaded = f"VirtualiZarr, when the set is made: loadable_variables={names!r}"
    if any(array.zarr_format != 2 for array in arrays):
        return f"{loaded}."
    return f"kerchunk.utils.inline_array(refs.to_v0(), threshold=0, names={dotted!r}); {loaded}."


def subchunk(
    costs: ArrayCosts, cost: AccessCost, part: PartOfArray, name: str
) -> Iterator[AdviceFinding]:
    """Find uncompressed chunks of which only one index of the slowest dimension is needed."""
    array, now = costs.array, cost.reader(ZARR)
    axis = next((axis for axis, step in enumerate(array.chunks) if step > 1), None)
    if axis is None or now.bytes is None or not now.requests or len(part.places[axis]) != 1:
        return
    if not is_divisible(array) or not costs.is_uniform:
        return
    # the last chunk is divided like the others, and it is as long as they are
    factor = array.chunks[axis]
    size = now.bytes // factor
    remedy = f"refexplorer convert {name} out.json --subchunk {array.path}={factor}"
    if array.zarr_format == 2:
        remedy += f"; kerchunk.utils.subchunk(refs.to_v0(), {array.path!r}, {factor})"
    said = (
        f"the chunks are not compressed, so the set can divide each into {factor:,}: "
        f"{size_text(size)} instead of {size_text(now.bytes)} are fetched; the array then has "
        f"{array.chunk_count * factor:,} chunks."
    )
    took = _seconds(now.requests, size, costs.place)
    yield _finding("subchunk", cost, said, f"{remedy}.", now.requests, size, took)


def asked_apart(cost: AccessCost) -> Iterator[AdviceFinding]:
    """Find adjacent ranges of a file that are requested separately."""
    now, merged = cost.reader(ZARR), cost.reader(OURS)
    if not now.requests or not now.seconds or not merged.requests or not merged.seconds:
        return
    if merged.requests >= now.requests or now.seconds < merged.seconds * _LEAST_GAIN:
        return
    said = (
        f"Zarr requests {counted(now.requests, 'range')} one by one; with neighbouring ranges "
        f"merged, {counted(merged.requests, 'request')} would do."
    )
    remedy = (
        "refs.filesystem().cat(keys) merges them all; refs.to_xarray() merges what Zarr requests "
        "together, which zarr.config.set({'async.concurrency': 64}) makes more."
    )
    after = merged.requests, merged.bytes, merged.seconds
    yield _finding("asked-apart", cost, said, remedy, *after)


def few_at_a_time(cost: AccessCost, place: Connection) -> Iterator[AdviceFinding]:
    """Find access patterns that are slow because Zarr requests ten chunks at a time."""
    now = cost.reader(ZARR)
    if now.requests is None or now.bytes is None or now.seconds is None:
        return
    if now.requests <= ZARR.at_once or now.largest is None:
        return
    seconds = place.seconds(now.requests, now.bytes, now.largest, MORE_AT_ONCE)
    if now.seconds < seconds * _LEAST_GAIN:
        return
    said = (
        f"{counted(now.requests, 'request')}, ten at a time, take about {now.seconds:.2g} s; "
        f"{MORE_AT_ONCE} at a time take about {seconds:.2g} s."
    )
    remedy = f"zarr.config.set({{'async.concurrency': {MORE_AT_ONCE}}})."
    yield _finding("few-at-a-time", cost, said, remedy, now.requests, now.bytes, seconds)


def small_chunks(full: AccessCost, place: Connection) -> Iterator[AdviceFinding]:
    """Find arrays whose complete read is dominated by the latency of many small chunks."""
    now = full.reader(ZARR)
    if not now.requests or not now.bytes or now.seconds is None:
        return
    size, after = now.bytes / now.requests, math.ceil(now.bytes / GOOD_CHUNK)
    seconds = _seconds(after, now.bytes, place)
    if size >= _SMALL_CHUNK or now.requests < _MANY_REQUESTS or now.seconds < 2 * seconds:
        return
    said = (
        f"{now.requests:,} requests of {size_text(round(size))} on average. With chunks of "
        f"{size_text(GOOD_CHUNK)}, {counted(after, 'request')} would do.{_copy_text(full, place)}"
    )
    yield _finding("small-chunks", full, said, _copy_code_text(full), after, now.bytes, seconds)


def large_chunks(cost: AccessCost, full: AccessCost, place: Connection) -> Iterator[AdviceFinding]:
    """Find access patterns that use only a small part of the large chunks they fetch."""
    now = cost.reader(ZARR)
    if not now.requests or not now.bytes or now.seconds is None:
        return
    if not cost.decoded or not cost.used or cost.used > _LITTLE * cost.decoded:
        return
    used = cost.used / cost.decoded
    size = math.ceil(now.bytes * used)
    requests = math.ceil(size / GOOD_CHUNK)
    seconds = _seconds(requests, size, place)
    if now.bytes < GOOD_CHUNK or now.seconds < 2 * seconds:
        return
    share = "less than 0.01%" if used < 0.00005 else f"{used:.2%}"  # 0 would be none
    said = (
        f"{share} of {size_text(now.bytes)} in {counted(now.requests, 'request')} are used. "
        f"With chunks for this access, about {size_text(size)} would do.{_copy_text(full, place)}"
    )
    yield _finding("large-chunks", cost, said, _copy_code_text(cost), requests, size, seconds)


def _copy_code_text(cost: AccessCost) -> str:
    name = cost.path.rpartition("/")[2]
    return f"refs.to_xarray(chunks={{}})[[{name!r}]].chunk(…).to_zarr(…) writes a copy."


def _copy_text(full: AccessCost, place: Connection) -> str:
    """Return what a copy of an array costs, or an empty text if unknown."""
    seconds = copy_seconds(full, place)
    return "" if seconds is None else f" Writing a copy takes about {seconds:.2g} s."


def copy_seconds(full: AccessCost, place: Connection) -> float | None:
    """Return the time to read all of an array and write it, uncompressed, to the same location."""
    now = full.reader(ZARR)
    if now.seconds is None or full.decoded is None:
        return None
    count = max(math.ceil(full.decoded / GOOD_CHUNK), 1)
    return now.seconds + _seconds(count, full.decoded, place)


def layout_bound(
    cost: AccessCost, full: AccessCost, size: int | None, place: Connection
) -> Iterator[LayoutBound]:
    """Find the lowest cost of an access pattern that one request cannot serve."""
    now = cost.reader(ZARR)
    if now.requests is None or cost.least_requests is None or cost.least_requests < 2:
        return
    copied = gained = None
    if cost.decoded and cost.used and cost.chunks:
        copied = math.ceil(cost.used / (cost.decoded / (cost.chunks + (cost.held or 0))))
        if now.seconds is not None and now.bytes is not None:
            fetched = now.bytes * (cost.used / cost.decoded)
            gained = now.seconds - _seconds(copied, fetched, place)
    least, took = (cost.least_requests, cost.least_bytes), copy_seconds(full, place)
    yield LayoutBound(
        cost.path, cost.name, now.requests, now.bytes, *least, copied, size, took, gained
    )


MANY_KEYS = 100_000  # References from which on a document takes long to open
RECORD_SIZES = (1_000, 10_000, 100_000)
_ROW_BYTES = 20
"""About the size of a reference in a compressed record file; kerchunk's have 10 to 30 bytes."""


def groups_apart(
    groups: int, size: int | None, place: Connection, name: str
) -> Iterator[AdviceFinding]:
    """Find documents that are read again for each group that is opened separately."""
    if groups < 2:
        return
    document = "the document" if size is None else f"a document of {size_text(size)}"
    message = f"The set has arrays in {groups:,} groups; a program that opens each one reads "
    message += f"{document} {groups:,} times."
    remedy = (
        f"refs = rx.open_references({name!r}) reads it once; refs.to_datatree() opens all groups."
    )
    read = None if size is None else size * groups
    gained = None if size is None else (groups - 1) * (place.latency + size / place.stream)
    costs = groups, 1, read, size, gained
    yield AdviceFinding("groups-apart", None, "open", message, remedy, *costs)


def records_read(arrays: Iterable[ArrayMeta], place: Connection) -> tuple[int, int]:
    """Return the best record size and the rows that one access reads with it; 0 without any."""
    # Access patterns are one index of the first dimension, and all of it at one point. Record files
    # are read as a whole.
    accesses = 0
    files = dict.fromkeys(RECORD_SIZES, 0)
    for array in arrays:
        if len(array.shape) < 2 or not all(array.shape):
            continue
        accesses += 2
        steps = array.grid[0]
        apart = array.chunk_count // steps  # from one chunk at the point to the next
        for size in RECORD_SIZES:
            files[size] += -(-apart // size)
            files[size] += steps if apart >= size else (steps - 1) * apart // size + 1

    def seconds(size: int) -> float:
        return files[size] * (place.latency + size * _ROW_BYTES / place.stream)

    best = min(files, key=seconds)
    return best, -(-files[best] * best // accesses) if accesses else 0


def json_to_parquet(
    count: int, size: int | None, arrays: Iterable[ArrayMeta], place: Connection, name: str
) -> Iterator[AdviceFinding]:
    """Find documents that are read completely although an access needs little of them."""
    best, rows = records_read(arrays, place)
    if count < MANY_KEYS or not rows:
        return
    document = "a document" if size is None else f"{size_text(size)} of JSON"
    message = (
        f"Opening reads all {count:,} references, {document}. From a parquet store with a record "
        f"size of {best:,}, reading one index of the first dimension, or all of it at one point, "
        f"takes record files of {min(rows, count):,} rows on average. How much faster this is can "
        "only be measured."
    )
    remedy = f"refexplorer convert {name} out.parq --record-size auto."
    yield AdviceFinding("json-to-parquet", None, "open", message, remedy, bytes=size)
