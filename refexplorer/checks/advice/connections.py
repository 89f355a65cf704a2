"""Readers that merge requests and that do not, and the time that a place takes to answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median

import numpy as np

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import size_text
from refexplorer.io.access import AccessPolicy, StorageOptions, shown
from refexplorer.io.fetch.many import CONCURRENCY
from refexplorer.io.fetch.targets import MERGE_BYTES, MERGE_GAP, Targets
from refexplorer.refset.chunk_grid import ChunkReferences
from refexplorer.refset.opened_set import OpenedSet, SetLike, internals
from refexplorer.spec.references import Range


@dataclass(frozen=True, slots=True)
class MergeRules:
    """How one reader asks for byte ranges."""

    # name, description: What it is called, and whose reads are like that
    name: str
    description: str
    # Bytes between two ranges that it reads and throws away to save a request; None if it asks for
    # each range alone
    gap: int | None
    limit: int | None  # A request does not grow beyond this by merging; None if nothing bounds it
    at_once: int  # Requests at a time


# read in zarr 3.1: async.concurrency; `get` of FsspecStore and ObjectStore, one for each chunk
ZARR = MergeRules(
    "zarr",
    "xarray and zarr over fsspec's ReferenceFileSystem, or over obstore as VirtualiZarr reads: "
    "each chunk is a request, ten at a time (async.concurrency)",
    None,
    None,
    10,
)
OURS = MergeRules(
    "refexplorer",
    "`cat` of `refs.filesystem()`, with all keys at once; `refs.to_xarray()` merges only what Zarr "
    "asks for together, and lies between this and zarr",
    MERGE_GAP,
    MERGE_BYTES,
    CONCURRENCY,
)
READERS = (ZARR, OURS)


@dataclass(frozen=True, slots=True)
class Connection:
    """Latency and bandwidth of the place of the targets.

    Attributes
    ----------
    name
        Its name.
    latency
        Seconds from a request to its first byte.
    stream
        Bytes a second of one request.
    bandwidth
        Bytes a second of all requests together.
    concurrency
        Concurrent requests that the place allows; None leaves it to the reader.
    """

    name: str
    latency: float
    stream: float
    bandwidth: float
    concurrency: int | None = None

    def seconds(
        self, requests: np.ndarray, size: np.ndarray, largest: np.ndarray, at_once: int
    ) -> float:
        """Return the seconds of successive reads.

        Parameters
        ----------
        requests, size, largest
            For each read: its requests, their bytes, and those of the largest.
        at_once
            Concurrent requests of the reader.
        """
        at_once = min(at_once, self.concurrency or at_once)
        waves = -(-requests // at_once)
        lines = np.minimum(np.minimum(requests, at_once) * self.stream, self.bandwidth)
        sending = np.maximum(largest / self.stream, size / np.maximum(lines, 1.0))
        return float((waves * self.latency + sending).sum())

    def seconds_of_one(self, requests: int, size: float, largest: float, at_once: int) -> float:
        """Return the seconds of one read."""
        columns = [np.array([float(number)]) for number in (requests, size, largest)]
        return self.seconds(columns[0], columns[1], columns[2], at_once)

    def __str__(self) -> str:
        some = "" if self.concurrency is None else f", {self.concurrency} requests at a time"
        return (
            f"{self.name}: {self.latency * 1e3:g} ms to the first byte, {self.stream / 1e6:g} MB/s "
            f"for a request, {self.bandwidth / 1e6:g} MB/s in all{some}"
        )


PLACES = {
    place.name: place
    for place in (
        Connection("object-store", 0.03, 90e6, 1.25e9),
        Connection("far-object-store", 0.15, 10e6, 50e6),
        Connection("http-server", 0.06, 20e6, 50e6, 6),
        Connection("lustre", 0.001, 500e6, 2e9),
    )
}
"""Usual orders of magnitude: an object store in the same region, one from afar, a web server and a
parallel file system."""
DEFAULT_PLACE = "object-store"


def connection_of(place: str | Connection) -> Connection:
    """Return a place by its name."""
    if isinstance(place, Connection):
        return place
    if place not in PLACES:
        raise RefexplorerError(f"{place!r} is not a known place; use one of {', '.join(PLACES)}.")
    return PLACES[place]


_LARGEST = 2**22
"""Bytes of a request that measures the bandwidth."""
_LEAST = 2**16
"""Fewer bytes come with the first ones, so that nothing is learned from them."""
# requests: for one byte, for a long range, and long ones at once
_SMALL, _LARGE, _AT_ONCE = 5, 2, 4
# a request may take less than the latency that was measured: no bandwidth is infinite
_SHARE = 0.05
_ARRAYS = 50  # arrays that are searched for the longest range, so that 10^5 arrays cost no more


def measure_connection(
    refs: SetLike,
    policy: AccessPolicy,
    storage_options: StorageOptions | None,
    assumed: Connection,
    going_on: Callable[[], None] = lambda: None,
) -> tuple[Connection, str]:
    """Measure latency and bandwidth with one target of a set; say by which requests, at most 15.

    The latency is the median of requests for one byte, after those that open the connections. The
    bandwidth of a request is that of two for up to 4 MiB of the longest range of the set, that of
    all together is of four such at once.
    """
    key, reference = _longest(internals(refs).opened)
    # what is asked of one reader at once is merged
    readers = [Targets(policy, storage_options, refs.limits) for _ in range(_AT_ONCE)]

    def took(size: int, reader: Targets = readers[0]) -> float:
        going_on()
        started = time.perf_counter()
        reader.fetch(key, reference, 0, size)
        return time.perf_counter() - started

    took(1)
    latency = median(took(1) for _ in range(_SMALL))
    size = min(reference.length, _LARGEST)
    url = shown(reference.url or "")
    if size < _LEAST:
        return Connection(url, latency, assumed.stream, assumed.bandwidth), (
            f"{_SMALL + 1} requests for one byte of {url}; its ranges are too short to measure a "
            f"bandwidth, which is that of {assumed.name}"
        )
    stream = size / _sending(median(took(size) for _ in range(_LARGE)), latency)
    for reader in readers[1:]:
        took(1, reader)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        started = time.perf_counter()
        list(pool.map(took, [size] * _AT_ONCE, readers))
    together = _AT_ONCE * size / _sending(time.perf_counter() - started, latency)
    return Connection(url, latency, stream, max(stream, together)), (
        f"{_SMALL + _AT_ONCE} requests for one byte of {url}, and {_LARGE + _AT_ONCE} for "
        f"{size_text(size)}, {_AT_ONCE} of them at once"
    )


def _sending(seconds: float, latency: float) -> float:
    """Return what of a time is not waiting; near a fast disk the two are not told apart."""
    return max(seconds - latency, _SHARE * seconds)


def _longest(opened: OpenedSet) -> tuple[str, Range]:
    """Return the key with the longest byte range, of the first arrays."""
    longest, key = 0, ""
    for array in filter(None, map(opened.arrays.get, opened.arrays.paths[:_ARRAYS])):
        grid = ChunkReferences(opened, array)
        if not grid.complete:
            key = key or array.chunk_key((0,) * len(array.shape))
            continue
        chunks = grid.chunks
        lengths = np.where((chunks.offsets >= 0) & (chunks.targets >= 0), chunks.lengths, -1)
        if int(lengths.max(initial=0)) > longest:
            row = int(lengths.argmax())
            longest, key = int(lengths[row]), array.chunk_key(chunks.indices[row].tolist())
    entry = opened.lookup(key)
    if entry is None or not isinstance(entry[1], Range) or not entry[1].length:
        raise RefexplorerError("The set has no byte range to measure a connection with.")
    return key, entry[1]
