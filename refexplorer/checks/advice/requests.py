"""Readers, the requests that each makes for references, and the time these take on a connection."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from refexplorer.core.errors import RefexplorerError
from refexplorer.formats.columns.references import exact_sum
from refexplorer.io.fetch.many import CONCURRENCY
from refexplorer.io.fetch.targets import MERGE_BYTES, MERGE_GAP
from refexplorer.refset.target_layout import furthest_ends


@dataclass(frozen=True, slots=True)
class MergeRules:
    """How one reader merges byte ranges into requests."""

    # name, description: What it is called, and whose reads are like that
    name: str
    description: str
    # Bytes between two ranges that it reads and throws away to save a request; None if it requests
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
    "requests together, so its cost is between those of this and zarr",
    MERGE_GAP,
    MERGE_BYTES,
    CONCURRENCY,
)
READERS = (ZARR, OURS)


@dataclass(frozen=True, slots=True)
class Connection:
    """Latency and bandwidth of the connection to the targets.

    Attributes
    ----------
    name
        Its name.
    latency
        Seconds from a request to its first byte.
    stream
        Bytes per second of one request.
    bandwidth
        Bytes per second of all requests together.
    concurrency
        Concurrent requests that the server allows; None leaves it to the reader.
    """

    name: str
    latency: float
    stream: float
    bandwidth: float
    concurrency: int | None = None

    def seconds(self, requests: int, size: float, largest: float, at_once: int) -> float:
        """Return the seconds of one read, from its requests, their bytes, and the largest request.

        `at_once` is the number of concurrent requests of the reader.
        """
        at_once = min(at_once, self.concurrency or at_once)
        line = min(min(requests, at_once) * self.stream, self.bandwidth)
        sending = max(largest / self.stream, size / max(line, 1.0))
        return -(-requests // at_once) * self.latency + sending

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
    """Return a connection by name."""
    if isinstance(place, Connection):
        return place
    if place not in PLACES:
        raise RefexplorerError(f"{place!r} is not a known location; use {', '.join(PLACES)}.")
    return PLACES[place]


_COVER = MergeRules("", "", 0, None, 1)
"""Merges only adjacent or overlapping ranges, so each byte is counted once."""


class Reads:
    """References that are read together: n of them."""

    def __init__(self, targets: np.ndarray, offsets: np.ndarray, lengths: np.ndarray) -> None:
        is_range = offsets >= 0
        whole = targets[~is_range]
        # References to whole files of unknown size, and how many files these are
        self.whole, self.whole_files = len(whole), len(np.unique(whole))
        if self.whole:
            self.files = len(np.unique(targets))
            columns = targets[is_range], offsets[is_range], lengths[is_range]
            self._targets, self._starts, self._ends = _ordered(*columns)
        else:
            self._targets, self._starts, self._ends = _ordered(targets, offsets, lengths)
            self.files = int(_begins(self._targets).sum())
        starts, ends = self.requests(_COVER)
        self.least_bytes = exact_sum(ends - starts)

    def requests(self, rules: MergeRules) -> tuple[np.ndarray, np.ndarray]:
        """Return the starts and ends of a reader's requests for the given ranges."""
        # A reader that merges ranges skips empty ones.
        targets, starts, ends = self._targets, self._starts, self._ends
        if rules.gap is None:
            return starts, ends
        is_asked = np.asarray(starts != ends, np.bool_)
        if not is_asked.all():
            targets, starts, ends = (each[is_asked] for each in (targets, starts, ends))
        is_new = _begins(targets)
        ends = furthest_ends(ends, is_new)
        is_first = is_new.copy()
        is_first[1:] |= (starts[1:] - ends[:-1] > rules.gap).astype(np.bool_)
        first = np.flatnonzero(is_first)
        if rules.limit is not None:
            first = _cut(first, starts, ends, rules.limit)
        last = np.append(first[1:], len(starts))[: len(first)] - 1
        return starts[first], ends[last]


def _begins(column: np.ndarray) -> np.ndarray:
    """Return where a value differs from the one before, shape ``(n,)`` bool."""
    is_new = np.ones(len(column), np.bool_)
    is_new[1:] = column[1:] != column[:-1]
    return is_new


def _ordered(
    targets: np.ndarray, offsets: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return targets, starts and ends in the order used by a reader that merges."""
    ends = offsets + lengths
    is_same, is_later = targets[1:] == targets[:-1], offsets[1:] > offsets[:-1]
    if ((targets[1:] > targets[:-1]) | (is_same & is_later)).all():  # as they nearly always are
        return targets, offsets, ends
    order = np.lexsort((ends, offsets, targets))
    return targets[order], offsets[order], ends[order]


def _cut(first: np.ndarray, starts: np.ndarray, ends: np.ndarray, limit: int) -> np.ndarray:
    """Return the rows that start a request after requests that are too long are split."""
    stops = np.append(first[1:], len(starts))[: len(first)]
    is_long = (ends[stops - 1] - starts[first] > limit) & (stops - first > 1)
    if not is_long.any():
        return first
    rows, reaches = [], ends.tolist()
    for row, stop in zip(first[is_long].tolist(), stops[is_long].tolist(), strict=True):
        while row < stop:
            rows.append(row)
            # a range longer than the limit is one request, with all ranges that end inside it
            row = bisect_right(reaches, max(int(starts[row]) + limit, reaches[row]), row, stop)
    return np.sort(np.concatenate([first[~is_long], np.array(rows, np.int64)]))


_LISTED = 64  # Reads of one access pattern that are listed individually
_WAITING = 2**16  # Ranges of a file that wait for more of it


class OutOfOrderError(Exception):
    """Blocks of references that are not in file order."""


@dataclass(frozen=True, slots=True)
class ReaderCost:
    """The requests of one reader; None if unknown.

    Attributes
    ----------
    reader
        Its name; `Advice.readers` says what it is.
    requests
        Requests after merging.
    bytes, smallest, largest
        Bytes received, including gaps, and those of the smallest and largest request.
    seconds
        From the connection model: transfer only, without decoding.
    reads
        For each successive read: its requests, their bytes, and those of the largest.
        None if there are too many.
    """

    reader: str
    requests: int | None = None
    bytes: int | None = None
    smallest: int | None = None
    largest: int | None = None
    seconds: float | None = None
    reads: tuple[tuple[int, int, int], ...] | None = None


def following(costs: Sequence[ReaderCost], reader: str) -> ReaderCost:
    """Return the cost of successive reads by one reader."""
    requests = sum(each.requests or 0 for each in costs)
    if any(each.bytes is None for each in costs):
        return ReaderCost(reader, requests)
    reads = tuple(read for each in costs for read in each.reads or ())
    return ReaderCost(
        reader,
        requests,
        sum(each.bytes or 0 for each in costs),
        min((each.smallest for each in costs if each.smallest is not None), default=None),
        max((each.largest for each in costs if each.largest is not None), default=None),
        sum((each.seconds or 0.0 for each in costs), 0.0),
        reads if len(reads) <= _LISTED else None,
    )


class RunningReads:
    """Reads counted block by block; only a block and the tail of its last file are kept."""

    def __init__(self, place: Connection) -> None:
        self.count = self.whole = self.files = self.least_bytes = 0
        self._tallies = [_RequestTally(rules, place) for rules in READERS]
        self._waiting: list[tuple[np.ndarray, ...]] = []  # of the last file, which may go on
        self._open_target = self._last_target = -1
        self._last_end = 0

    def add(self, *columns: np.ndarray, is_last: bool) -> None:
        """Count a block of targets, offsets and lengths."""
        self.count += len(columns[0])
        self._waiting.append(columns)
        is_more = not is_last and bool((columns[0] == self._open_target).all())
        if is_more and sum(len(each[0]) for each in self._waiting) < _WAITING:
            return
        joined = tuple(map(np.concatenate, zip(*self._waiting, strict=True)))
        self._waiting = []
        if not is_last:
            self._open_target = int(joined[0].max())
            is_open = _last_request(joined) if is_more else joined[0] == self._open_target
            self._waiting = [tuple(each[is_open] for each in joined)]
            joined = tuple(each[~is_open] for each in joined)
        if len(joined[0]):
            self._count(*joined)

    def _count(self, targets: np.ndarray, offsets: np.ndarray, lengths: np.ndarray) -> None:
        reads, first = Reads(targets, offsets, lengths), int(targets.min())
        is_same = first == self._last_target
        is_behind = is_same and offsets[targets == first].min() < self._last_end
        if first < self._last_target or is_behind:
            raise OutOfOrderError
        self._last_target = int(targets.max())
        self._last_end = (offsets + lengths)[targets == self._last_target].max()
        self.whole += reads.whole
        self.files += reads.files - is_same
        self.least_bytes += reads.least_bytes
        for tally in self._tallies:
            tally.add(reads)

    def costs(self) -> tuple[ReaderCost, ...]:
        """Return what each reader requests, after the last block has been counted."""
        return tuple(tally.cost() for tally in self._tallies)


def _last_request(columns: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return which ranges of one file belong to the last request; all if it cannot be separated."""
    _, offsets, lengths = columns
    starts, _ = Reads(*columns).requests(OURS)
    if len(starts) and not (offsets < 0).any():
        is_last = np.asarray(offsets >= starts[-1], np.bool_)
        if not is_last.all() and (offsets + lengths)[~is_last].max() <= starts[-1]:
            return is_last
    return np.ones(len(offsets), np.bool_)


class _RequestTally:
    """The requests of one reader."""

    def __init__(self, rules: MergeRules, place: Connection) -> None:
        self._rules, self._place = rules, place
        self._whole = self._count = self._bytes = 0
        self._sizes: list[int] = []  # The fewest and the most bytes of a request

    def add(self, reads: Reads) -> None:
        """Count the requests for a block."""
        self._whole += reads.whole if self._rules.gap is None else reads.whole_files
        starts, ends = reads.requests(self._rules)
        sizes = ends - starts
        if len(sizes):
            self._count += len(sizes)
            self._bytes += exact_sum(sizes)
            both = [*self._sizes, int(sizes.min()), int(sizes.max())]
            self._sizes = [min(both), max(both)]

    def cost(self) -> ReaderCost:
        """Return the counts."""
        name = self._rules.name
        if self._whole:
            return ReaderCost(name, self._count + self._whole)
        if not self._count:
            return ReaderCost(name, 0, 0, None, None, 0.0, ())
        least, most = self._sizes
        read = self._count, self._bytes, most
        seconds = self._place.seconds(*read, self._rules.at_once)
        return ReaderCost(name, *read[:2], least, most, seconds, (read,))
