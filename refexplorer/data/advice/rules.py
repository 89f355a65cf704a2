"""Findings: what would make reading cheaper, by how much, and which command or function does it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from refexplorer.data.advice.access_costs import AccessCost, ArrayCosts
from refexplorer.data.advice.connections import OURS, ZARR, Connection
from refexplorer.data.advice.selections import PartOfArray
from refexplorer.markup import counted, size_text
from refexplorer.refset.columns.table import Table
from refexplorer.spec.core.zarr_metadata import ArrayMeta

MORE_AT_ONCE = 64
"""Requests at a time that far stores bear; zarr asks for ten."""
MANY_KEYS = 100_000
"""References from which on a document takes long to open."""
MANY_BYTES = 2**20
"""Repeated text of URLs that is worth a template."""
RECORD_SIZES = (1_000, 10_000, 100_000)
_ROW_BYTES = 20
"""About what a reference takes in a compressed record file; what kerchunk writes takes 10 to 30."""
_LEAST_GAIN = 1.05
"""A smaller factor of time is not worth a sentence."""


@dataclass(frozen=True, slots=True)
class AdviceFinding:
    """A change and what it would gain; None is not known.

    Attributes
    ----------
    code
        ``"inline-coordinates"``, ``"subchunk"``, ``"asked-apart"``, ``"few-at-a-time"``,
        ``"json-to-parquet"`` or ``"repeated-urls"``.
    path
        The array or group that is concerned; None for the whole set.
    access
        Which access becomes cheaper.
    message, remedy
        What was found, and the command or function that changes it.
    requests, requests_after, bytes, bytes_after
        Before and after, with the reader ``"zarr"``.
    seconds_gained
        By the model of the place.
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
    """What the layout of the files allows, and what a copy in other chunks would; None is unknown.

    Attributes
    ----------
    path, access
        The array, and what is asked of it.
    requests, bytes
        Today, with the reader ``"zarr"``.
    least_requests, least_bytes
        One request for each file, and the bytes of the chunks, each of which is read whole.
    copy_requests
        Of a copy whose chunks have the same size and hold the values of this access together.
    copy_bytes
        Decoded bytes of the array, which writing the copy takes.
    """

    path: str
    access: str
    requests: int
    bytes: int | None
    least_requests: int
    least_bytes: int | None
    copy_requests: int | None
    copy_bytes: int | None

    def __str__(self) -> str:
        files = counted(self.least_requests, "request")
        size = "" if self.least_bytes is None else f" and {size_text(self.least_bytes)}"
        said = f"{self.path}, {self.access}: the files allow {files}{size} at best"
        if self.copy_requests is None or self.copy_bytes is None:
            return f"{said}."
        return (
            f"{said}; a copy in chunks of the same size made for it, {size_text(self.copy_bytes)} "
            f"before compression, would take {counted(self.copy_requests, 'request')}."
        )


def inline_coordinates(
    cost: AccessCost, coordinates: Sequence[str], arrays: Sequence[ArrayMeta]
) -> Iterator[AdviceFinding]:
    """Find coordinates that opening reads from targets.

    Parameters
    ----------
    cost, coordinates
        Of opening a group, and the arrays that it reads from targets.
    arrays
        Those of the group.
    """
    found = cost.reader(ZARR)
    if not coordinates or not found.requests:
        return
    sizes = [
        None if each.itemsize is None else math.prod(each.shape) * each.itemsize
        for each in arrays
        if each.path in coordinates
    ]
    known = [size for size in sizes if size is not None]
    is_known = len(known) == len(sizes)
    grows = f"by up to about {_base64(sum(known))}" if is_known else "by an unknown size"
    where = f" of group {cost.path}" if cost.path else ""
    names = ", ".join(coordinates[:5]) + (", …" if len(coordinates) > 5 else "")
    yield AdviceFinding(
        "inline-coordinates",
        cost.path,
        cost.name,
        f"Opening{where} with xarray reads {names} in {counted(found.requests, 'request')}; held "
        f"in the set they take none, and it grows {grows}.",
        _inlining(arrays, coordinates),
        found.requests,
        0,
        found.bytes,
        None if found.bytes is None else 0,
        found.seconds,
    )


def _inlining(arrays: Sequence[ArrayMeta], coordinates: Sequence[str]) -> str:
    """Say how coordinates get into a set; kerchunk's function is for Zarr v2 alone."""
    names = [path.rpartition("/")[2] for path in coordinates]
    dotted = [path.replace("/", ".") for path in coordinates]
    loaded = f"VirtualiZarr, when the set is made: loadable_variables={names!r}"
    if any(array.zarr_format != 2 for array in arrays):
        return f"{loaded}."
    return f"kerchunk.utils.inline_array(refs.to_v0(), threshold=0, names={dotted!r}); {loaded}."


def subchunk(costs: ArrayCosts, cost: AccessCost, part: PartOfArray) -> Iterator[AdviceFinding]:
    """Find uncompressed chunks of which an access needs one place along their slowest dimension."""
    array, found = costs.array, cost.reader(ZARR)
    axis = next((axis for axis, step in enumerate(array.chunks) if step > 1), None)
    if axis is None or found.bytes is None or not found.requests or len(part.places[axis]) != 1:
        return
    metadata = array.metadata
    is_plain = array.zarr_format == 2 and metadata.get("order", "C") == "C"
    if not is_plain or array.codecs or not costs.is_uniform:
        return
    # kerchunk divides the last chunk like the others, and it is as long as they are
    factor = array.chunks[axis]
    yield AdviceFinding(
        "subchunk",
        array.path,
        cost.name,
        f"{array.path}, {cost.name}: the chunks are not compressed, so the set can divide each "
        f"into {factor:,}: {size_text(found.bytes // factor)} instead of {size_text(found.bytes)} "
        f"are fetched; the array then has {array.chunk_count * factor:,} chunks.",
        f"kerchunk.utils.subchunk(refs.to_v0(), {array.path!r}, {factor}).",
        found.requests,
        found.requests,
        found.bytes,
        found.bytes // factor,
        _gain(found.seconds, found.requests, found.bytes // factor, costs.place),
    )


def asked_apart(cost: AccessCost) -> Iterator[AdviceFinding]:
    """Find ranges that lie next to each other in their file and are asked for one by one."""
    alone, merged = cost.reader(ZARR), cost.reader(OURS)
    if alone.requests is None or merged.requests is None:
        return
    if alone.seconds is None or merged.seconds is None:
        return
    if merged.requests >= alone.requests or alone.seconds < merged.seconds * _LEAST_GAIN:
        return
    yield AdviceFinding(
        "asked-apart",
        cost.path,
        cost.name,
        f"{cost.path}, {cost.name}: Zarr asks for {counted(alone.requests, 'range')} one by one; "
        f"those that lie together, asked for together, take {counted(merged.requests, 'request')}.",
        "refs.filesystem().cat(keys) merges them all; refs.to_xarray() merges what Zarr asks for "
        "together, which zarr.config.set({'async.concurrency': 64}) makes more.",
        alone.requests,
        merged.requests,
        alone.bytes,
        merged.bytes,
        alone.seconds - merged.seconds,
    )


def few_at_a_time(cost: AccessCost, place: Connection) -> Iterator[AdviceFinding]:
    """Find accesses that wait because Zarr asks for ten chunks at a time."""
    found = cost.reader(ZARR)
    if found.requests is None or found.bytes is None or found.seconds is None:
        return
    if found.requests <= ZARR.at_once or found.largest is None:
        return
    seconds = place.seconds_of_one(found.requests, found.bytes, found.largest, MORE_AT_ONCE)
    if found.seconds < seconds * _LEAST_GAIN:
        return
    yield AdviceFinding(
        "few-at-a-time",
        cost.path,
        cost.name,
        f"{cost.path}, {cost.name}: {counted(found.requests, 'request')}, ten at a time, take "
        f"about {found.seconds:.2g} s; {MORE_AT_ONCE} at a time {seconds:.2g} s.",
        f"zarr.config.set({{'async.concurrency': {MORE_AT_ONCE}}}).",
        found.requests,
        found.requests,
        found.bytes,
        found.bytes,
        found.seconds - seconds,
    )


def layout_bound(cost: AccessCost, whole: int | None) -> Iterator[LayoutBound]:
    """Find what cannot be helped about an access that one request does not answer.

    Parameters
    ----------
    cost
        Of the access.
    whole
        Decoded bytes of the array.
    """
    found = cost.reader(ZARR)
    if found.requests is None or cost.least_requests is None or cost.least_requests < 2:
        return
    copied = None
    if cost.decoded and cost.used and cost.chunks:
        copied = math.ceil(cost.used / (cost.decoded / (cost.chunks + (cost.held or 0))))
    yield LayoutBound(
        cost.path,
        cost.name,
        found.requests,
        found.bytes,
        cost.least_requests,
        cost.least_bytes,
        copied,
        whole,
    )


@dataclass
class RecordTally:
    """How many record files maps and time series are in, by the size of record files."""

    files: dict[int, int] = field(default_factory=lambda: dict.fromkeys(RECORD_SIZES, 0))
    accesses: int = 0

    def add(self, costs: ArrayCosts, part: PartOfArray) -> None:
        """Count those of one access."""
        found = {size: costs.records(part, size) for size in RECORD_SIZES}
        known = {size: number for size, number in found.items() if number is not None}
        for size, number in known.items():
            self.files[size] += number
        self.accesses += bool(known)

    def best(self, place: Connection) -> int:
        """Return the size with which they take least time; a record file is read as a whole."""

        def seconds(size: int) -> float:
            rows = self.files[size] * size
            return self.files[size] * place.latency + rows * _ROW_BYTES / place.stream

        return min(self.files, key=seconds)


def json_to_parquet(
    table: Table, size: int | None, records: RecordTally, place: Connection, name: str
) -> Iterator[AdviceFinding]:
    """Find a document that is read as a whole, although an access needs little of it.

    Parameters
    ----------
    table, size
        The explicit references, and the bytes of the document, None if they are not known.
    records
        Of accesses that should be cheap.
    place
        Where the record files are assumed to be, too.
    name
        Of the set.
    """
    if table.count < MANY_KEYS or not records.accesses:
        return
    best = records.best(place)
    rows = min(-(-records.files[best] * best // records.accesses), table.count)
    document = "a document" if size is None else f"{size_text(size)} of JSON"
    yield AdviceFinding(
        "json-to-parquet",
        None,
        "open",
        f"Opening reads all {table.count:,} references, {document}. Of a parquet store with a "
        f"record size of {best:,}, a map or a time series reads record files of {rows:,} rows on "
        "average. What that gains is not known before both are opened.",
        f"refexplorer convert {name} out.parq --record-size {best}",
        bytes=size,
    )


def repeated_urls(table: Table, size: int | None, name: str) -> Iterator[AdviceFinding]:
    """Find a document much of which is the same URLs, again and again."""
    columns = table.columns
    targets = columns.targets[columns.targets >= 0]
    if not len(targets):
        return
    times = np.bincount(targets, minlength=len(columns.urls))
    used = np.flatnonzero(times)
    lengths = np.array([len(url or "") for url in columns.urls_at(used)], np.int64)
    total, once = int(lengths @ times[used]), int(lengths.sum())
    if total - once < MANY_BYTES:
        return
    part = "" if size is None else f" of {size_text(size)}"
    yield AdviceFinding(
        "repeated-urls",
        None,
        "open",
        f"The document has {size_text(total)} of URLs{part}, of which {size_text(once)} are "
        "different; templates write each once.",
        f"refexplorer infer {name} says by how much shorter it would be; -o writes it.",
        bytes=size,
    )


def _gain(seconds: float | None, requests: int, size: int, place: Connection) -> float | None:
    """Return what is gained by as many requests of one read for fewer bytes."""
    if seconds is None:
        return None
    return seconds - place.seconds_of_one(requests, size, size / requests, ZARR.at_once)


def _base64(size: int) -> str:
    return size_text(-(-size // 3) * 4)
