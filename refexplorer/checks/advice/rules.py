"""What would make accesses cheaper, by how much, and which command or function does it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from refexplorer.checks.advice.connections import OURS, ZARR, Connection
from refexplorer.checks.advice.costs import LEAST_RECORD, AccessCost, ArrayCosts
from refexplorer.checks.advice.selections import PartOfArray
from refexplorer.core.masking import masks_repr
from refexplorer.core.text import counted, size_text
from refexplorer.formats.columns.table import Table
from refexplorer.refset.writing.rechunking import is_divisible
from refexplorer.spec.zarr_metadata import ArrayMeta


@masks_repr
@dataclass(frozen=True, slots=True)
class AdviceFinding:
    """A change and what it would gain; None is not known.

    Attributes
    ----------
    code
        ``"inline-coordinates"``, ``"subchunk"``, ``"asked-apart"``, ``"few-at-a-time"``,
        ``"small-chunks"``, ``"large-chunks"``, ``"groups-apart"``, ``"one-host"``,
        ``"large-manifest"``, ``"json-to-parquet"`` or ``"repeated-urls"``.
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
    copy_seconds
        To read all of the array and to write it without compression to the same place.
    seconds_gained
        Of each access, once the copy is there.
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
        said = f"{self.path}, {self.access}: the files allow {files}{size} at best"
        if self.copy_requests is None or self.copy_bytes is None:
            return f"{said}."
        said += (
            f"; a copy in chunks of the same size made for it, {size_text(self.copy_bytes)} "
            f"before compression, would take {counted(self.copy_requests, 'request')}"
        )
        if self.copy_seconds is None or self.seconds_gained is None:
            return f"{said}."
        if self.seconds_gained <= 0:
            return f"{said} and gain no time."
        times = counted(
            math.ceil(self.copy_seconds / self.seconds_gained), "such access", "such accesses"
        )
        return (
            f"{said}. It takes about {self.copy_seconds:.2g} s to write and gains "
            f"{self.seconds_gained:.2g} s each time: worth it from {times} on."
        )


MORE_AT_ONCE = 64
"""Requests at a time that far stores bear; zarr asks for ten."""
GOOD_CHUNK = 2**23
"""Bytes of a chunk that takes about as long to come as to be waited for."""
_SMALL_CHUNK = 2**20  # bytes of a chunk that is called small, if there are many requests, too
_MANY_REQUESTS = 100  # requests from which small chunks are worth a finding
_LITTLE = 0.05
"""Part of what is decoded that is too small to be worth fetching all."""
_LEAST_GAIN = 1.05
"""A smaller factor of time is not worth a sentence."""


def inline_coordinates(
    cost: AccessCost, coordinates: Sequence[str], arrays: Sequence[ArrayMeta], name: str
) -> Iterator[AdviceFinding]:
    """Find coordinates that opening reads from targets."""
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
        f"refexplorer convert {name} out.json --inline-coordinates; "
        f"{_inlining(arrays, coordinates)}",
        found.requests,
        0,
        found.bytes,
        None if found.bytes is None else 0,
        found.seconds,
    )


def _inlining(arrays: Sequence[ArrayMeta], coordinates: Sequence[str]) -> str:
    """Say how others bring coordinates into a set; kerchunk's function is for Zarr v2 alone."""
    names = [path.rpartition("/")[2] for path in coordinates]
    dotted = [path.replace("/", ".") for path in coordinates]
    loaded = f"VirtualiZarr, when the set is made: loadable_variables={names!r}"
    if any(array.zarr_format != 2 for array in arrays):
        return f"{loaded}."
    return f"kerchunk.utils.inline_array(refs.to_v0(), threshold=0, names={dotted!r}); {loaded}."


def subchunk(
    costs: ArrayCosts, cost: AccessCost, part: PartOfArray, name: str
) -> Iterator[AdviceFinding]:
    """Find uncompressed chunks of which an access needs one place along their slowest dimension."""
    array, found = costs.array, cost.reader(ZARR)
    axis = next((axis for axis, step in enumerate(array.chunks) if step > 1), None)
    if axis is None or found.bytes is None or not found.requests or len(part.places[axis]) != 1:
        return
    if not is_divisible(array) or not costs.is_uniform:
        return
    # the last chunk is divided like the others, and it is as long as they are
    factor = array.chunks[axis]
    remedy = f"refexplorer convert {name} out.json --subchunk {array.path}={factor}"
    if array.zarr_format == 2:
        remedy += f"; kerchunk.utils.subchunk(refs.to_v0(), {array.path!r}, {factor})"
    yield AdviceFinding(
        "subchunk",
        array.path,
        cost.name,
        f"{array.path}, {cost.name}: the chunks are not compressed, so the set can divide each "
        f"into {factor:,}: {size_text(found.bytes // factor)} instead of {size_text(found.bytes)} "
        f"are fetched; the array then has {array.chunk_count * factor:,} chunks.",
        f"{remedy}.",
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


def small_chunks(whole: AccessCost, place: Connection) -> Iterator[AdviceFinding]:
    """Find an array of which all is read mostly by waiting for the next of many small chunks."""
    found = whole.reader(ZARR)
    if not found.requests or not found.bytes or found.seconds is None:
        return
    size = found.bytes / found.requests
    after = math.ceil(found.bytes / GOOD_CHUNK)
    seconds = place.seconds_of_one(after, found.bytes, found.bytes / after, ZARR.at_once)
    if size >= _SMALL_CHUNK or found.requests < _MANY_REQUESTS or found.seconds < 2 * seconds:
        return
    yield AdviceFinding(
        "small-chunks",
        whole.path,
        whole.name,
        f"{whole.path}, {whole.name}: {found.requests:,} chunks of {size_text(round(size))} on "
        f"average; in chunks of {size_text(GOOD_CHUNK)} it takes {counted(after, 'request')}."
        f"{_copying(whole, place)}",
        f"refs.to_xarray(chunks={{}})[[{_name(whole)!r}]].chunk(…).to_zarr(…) writes a copy.",
        found.requests,
        after,
        found.bytes,
        found.bytes,
        found.seconds - seconds,
    )


def large_chunks(cost: AccessCost, whole: AccessCost, place: Connection) -> Iterator[AdviceFinding]:
    """Find an access that takes little of the large chunks that it fetches."""
    found = cost.reader(ZARR)
    if not found.requests or not found.bytes or found.seconds is None:
        return
    if not cost.decoded or not cost.used or cost.used > _LITTLE * cost.decoded:
        return
    size = math.ceil(found.bytes * (cost.used / cost.decoded))
    requests = math.ceil(size / GOOD_CHUNK)
    seconds = place.seconds_of_one(requests, size, size / requests, ZARR.at_once)
    if found.bytes < GOOD_CHUNK or found.seconds < 2 * seconds:
        return
    yield AdviceFinding(
        "large-chunks",
        cost.path,
        cost.name,
        f"{cost.path}, {cost.name}: of {size_text(found.bytes)} in "
        f"{counted(found.requests, 'chunk')}, {_share(cost.used / cost.decoded)} are used; in "
        f"chunks made for it about {size_text(size)} are fetched.{_copying(whole, place)}",
        f"refs.to_xarray(chunks={{}})[[{_name(cost)!r}]].chunk(…).to_zarr(…) writes a copy.",
        found.requests,
        requests,
        found.bytes,
        size,
        found.seconds - seconds,
    )


def _share(part: float) -> str:
    """Return a small share in per cent; never one of 0, which would be none."""
    return "less than 0.01%" if part < 0.00005 else f"{part:.2%}"


def _name(cost: AccessCost) -> str:
    return cost.path.rpartition("/")[2]


def _copying(whole: AccessCost, place: Connection) -> str:
    """Say what a copy of an array takes, or nothing where that is not known."""
    seconds = copy_seconds(whole, place)
    return "" if seconds is None else f" Writing a copy takes about {seconds:.2g} s."


def copy_seconds(whole: AccessCost, place: Connection) -> float | None:
    """Return the time to read all of an array and write it, uncompressed, to the same place."""
    found = whole.reader(ZARR)
    if found.seconds is None or whole.decoded is None:
        return None
    count = max(math.ceil(whole.decoded / GOOD_CHUNK), 1)
    writing = place.seconds_of_one(count, whole.decoded, whole.decoded / count, ZARR.at_once)
    return found.seconds + writing


def layout_bound(
    cost: AccessCost, whole: AccessCost, size: int | None, place: Connection
) -> Iterator[LayoutBound]:
    """Find what cannot be helped about an access that one request does not answer."""
    found = cost.reader(ZARR)
    if found.requests is None or cost.least_requests is None or cost.least_requests < 2:
        return
    copied = gained = None
    if cost.decoded and cost.used and cost.chunks:
        copied = math.ceil(cost.used / (cost.decoded / (cost.chunks + (cost.held or 0))))
        if found.seconds is not None and found.bytes is not None:
            fetched = found.bytes * (cost.used / cost.decoded)
            after = place.seconds_of_one(copied, fetched, fetched / copied, ZARR.at_once)
            gained = found.seconds - after
    yield LayoutBound(
        cost.path,
        cost.name,
        found.requests,
        found.bytes,
        cost.least_requests,
        cost.least_bytes,
        copied,
        size,
        copy_seconds(whole, place),
        gained,
    )


def _gain(seconds: float | None, requests: int, size: int, place: Connection) -> float | None:
    """Return what is gained by as many requests of one read for fewer bytes."""
    if seconds is None:
        return None
    return seconds - place.seconds_of_one(requests, size, size / requests, ZARR.at_once)


def _base64(size: int) -> str:
    return size_text(-(-size // 3) * 4)


MANY_KEYS = 100_000
"""References from which on a document takes long to open."""
MANY_BYTES = 2**20
"""Repeated text of URLs that is worth a template."""
RECORD_SIZES = (LEAST_RECORD, 10_000, 100_000)
_ROW_BYTES = 20
"""About what a reference takes in a compressed record file; what kerchunk writes takes 10 to 30."""
_MANIFEST_CHUNKS = 100_000
"""Chunk references of a manifest that is still loaded soon."""
_BUSY = 1_000
"""Requests to one web server that it may take for an attack."""


def groups_apart(
    groups: int, size: int | None, place: Connection, name: str
) -> Iterator[AdviceFinding]:
    """Find a document that is read again for each group that is opened by itself."""
    if groups < 2:
        return
    document = "the document" if size is None else f"a document of {size_text(size)}"
    again = groups - 1
    yield AdviceFinding(
        "groups-apart",
        None,
        "open",
        f"The set has arrays in {groups:,} groups; a program that opens each by itself reads "
        f"{document} {groups:,} times.",
        f"refs = rx.open_references({name!r}) reads it once; refs.to_datatree() opens all groups.",
        groups,
        1,
        None if size is None else size * groups,
        size,
        None if size is None else again * (place.latency + size / place.stream),
    )


def large_manifest(
    manifests: Sequence[tuple[int, int]], place: Connection
) -> Iterator[AdviceFinding]:
    """Find a manifest of Icechunk that takes long to load before its first chunk is asked for."""
    size, count = max(manifests, default=(0, 0))
    if size < GOOD_CHUNK or count <= _MANIFEST_CHUNKS:
        return
    parts = math.ceil(count / _MANIFEST_CHUNKS)
    after = size // parts
    seconds = [place.seconds_of_one(1, each, each, ZARR.at_once) for each in (size, after)]
    yield AdviceFinding(
        "large-manifest",
        None,
        "open",
        f"A manifest has {size_text(size)} with {count:,} chunks, and is loaded as a whole before "
        f"the first of them is read; split into {parts:,}, a chunk needs about "
        f"{size_text(after)}.",
        "icechunk.ManifestSplittingConfig in the configuration of the repository, and "
        "repository.rewrite_manifests(…).",
        1,
        1,
        size,
        after,
        seconds[0] - seconds[1],
    )


def one_host(hosts: Sequence[str], accesses: Sequence[AccessCost]) -> Iterator[AdviceFinding]:
    """Find a web server that one access asks very often."""
    known = [cost for cost in accesses if cost.reader(ZARR).requests]
    if len(hosts) != 1 or not known:
        return
    cost = max(known, key=lambda each: each.reader(ZARR).requests or 0)
    alone, merged = cost.reader(ZARR), cost.reader(OURS)
    if (alone.requests or 0) < _BUSY:
        return
    fewer = "" if merged.requests is None else f" in {counted(merged.requests, 'request')}"
    yield AdviceFinding(
        "one-host",
        cost.path,
        cost.name,
        f"{cost.path}, {cost.name}: {alone.requests:,} requests go to {hosts[0]} alone; web "
        "servers answer few of one visitor at a time, and refuse those that ask too often (429).",
        f"refs.filesystem().cat(keys) asks for the same{fewer}; keep async.concurrency small, or "
        "copy the files to an object store.",
        alone.requests,
        merged.requests,
        alone.bytes,
        merged.bytes,
    )


@dataclass
class RecordTally:
    """How many record files parts of the arrays are in, by the size of record files."""

    files: dict[int, int] = field(default_factory=lambda: dict.fromkeys(RECORD_SIZES, 0))
    accesses: int = 0

    def add(self, costs: ArrayCosts, part: PartOfArray) -> None:
        """Count those of one access."""
        least = costs.records(part)
        if least is None:
            return
        for size in RECORD_SIZES:
            records = least // (size // LEAST_RECORD)
            self.files[size] += int(np.count_nonzero(records[1:] != records[:-1])) + bool(
                len(records)
            )
        self.accesses += 1

    def best(self, place: Connection) -> int:
        """Return the size with which they take least time; a record file is read as a whole."""

        def seconds(size: int) -> float:
            rows = self.files[size] * size
            return self.files[size] * place.latency + rows * _ROW_BYTES / place.stream

        return min(self.files, key=seconds)


def json_to_parquet(
    table: Table, size: int | None, records: RecordTally, place: Connection, name: str
) -> Iterator[AdviceFinding]:
    """Find a document that is read as a whole, although an access needs little of it."""
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
        f"record size of {best:,}, one index of the first dimension, or all of it at one point, "
        f"reads record files of {rows:,} rows on average. What that gains is not known before both "
        "are opened.",
        f"refexplorer convert {name} out.parq --record-size auto.",
        bytes=size,
    )


def repeated_urls(table: Table, size: int | None, name: str) -> Iterator[AdviceFinding]:
    """Find a document much of which is the same URLs, again and again."""
    columns = table.columns
    if not len(columns.urls):
        return
    # a block at a time: numpy widens narrow numbers of places, and texts become objects
    times = np.zeros(len(columns.urls) + 1, np.int64)
    for start in range(0, len(columns), MANY_KEYS):
        np.add.at(times, columns.targets[start : start + MANY_KEYS], 1)
    used = np.flatnonzero(times[:-1])  # the last place is that of -1
    total = once = 0
    for start in range(0, len(used), MANY_KEYS):
        block = used[start : start + MANY_KEYS]
        lengths = np.array([len(url or "") for url in columns.urls_at(block)], np.int64)
        total, once = total + int(lengths @ times[block]), once + int(lengths.sum())
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
