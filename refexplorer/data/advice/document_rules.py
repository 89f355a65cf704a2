"""What would make the set itself cheaper to open: its document, record files, manifests, hosts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from refexplorer.data.advice.access_costs import LEAST_RECORD, AccessCost, ArrayCosts
from refexplorer.data.advice.connections import OURS, ZARR, Connection
from refexplorer.data.advice.findings import AdviceFinding
from refexplorer.data.advice.rules import GOOD_CHUNK
from refexplorer.data.advice.selections import PartOfArray
from refexplorer.markup import counted, size_text
from refexplorer.refset.columns.table import Table

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
    """Find a manifest of Icechunk that takes long to load before its first chunk is asked for.

    Parameters
    ----------
    manifests
        Bytes and chunk references of each.
    place
        Where the repository is assumed to be, too.
    """
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
    """Find a web server that one access asks very often.

    Parameters
    ----------
    hosts
        All that the set refers to; an object store takes many requests, and is none of them.
    accesses
        To all arrays.
    """
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
