"""Readers, which merge requests each in their way, and the time that a place takes to answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refexplorer.data.fetch.fetch_many import CONCURRENCY
from refexplorer.data.fetch.ranges import MERGE_BYTES, MERGE_GAP
from refexplorer.errors import RefexplorerError


@dataclass(frozen=True, slots=True)
class MergeRules:
    """How one reader asks for byte ranges.

    Attributes
    ----------
    name, says
        What it is called, and whose reads are like that.
    gap
        Bytes between two ranges that it reads and throws away to save a request; None if it asks
        for each range alone.
    most
        A request does not grow beyond this by merging; None if nothing bounds it.
    at_once
        Requests at a time.
    by_file
        Whether it is called for one file after the other.
    """

    name: str
    says: str
    gap: int | None
    most: int | None
    at_once: int
    by_file: bool = False


# read in zarr 3.1 (async.concurrency; `get` of FsspecStore and ObjectStore, one for each chunk),
# fsspec 2026.9 (reference.py: max_gap, max_block; aiohttp's connector bounds what runs at once)
# and obstore 0.12 (get_ranges: coalesce; object_store's OBJECT_STORE_COALESCE_PARALLEL)
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
FSSPEC = MergeRules(
    "fsspec",
    "`cat` of fsspec's ReferenceFileSystem, with all keys at once, which Zarr does not use",
    64_000,
    256_000_000,
    100,
)
OBSTORE = MergeRules(
    "obstore",
    "`obstore.get_ranges`, which Zarr does not use, of one file after the other",
    2**20,
    None,
    10,
    by_file=True,
)
READERS = (ZARR, OURS, FSSPEC, OBSTORE)


@dataclass(frozen=True, slots=True)
class Connection:
    """What a place of targets takes to answer.

    Attributes
    ----------
    name
        What it is called.
    latency
        Seconds from a request to its first byte.
    stream
        Bytes a second of one request.
    bandwidth
        Bytes a second of all requests together.
    concurrency
        Requests that the place answers at a time; None leaves it to the reader.
    """

    name: str
    latency: float
    stream: float
    bandwidth: float
    concurrency: int | None = None

    def seconds(
        self, requests: np.ndarray, size: np.ndarray, largest: np.ndarray, at_once: int
    ) -> float:
        """Return the seconds of reads that follow each other.

        Parameters
        ----------
        requests, size, largest
            Of each read: its requests, their bytes, and those of the largest.
        at_once
            Requests of the reader at a time.
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


def connection(place: str | Connection) -> Connection:
    """Return a place by its name.

    Raises
    ------
    RefexplorerError
        If there is none of that name.
    """
    if isinstance(place, Connection):
        return place
    if place not in PLACES:
        raise RefexplorerError(f"{place!r} is not a known place; use one of {', '.join(PLACES)}.")
    return PLACES[place]
