"""A connection measured on the host of a set, by a few requests for what the set refers to."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median

import numpy as np

from refexplorer.data.access.policy import AccessPolicy
from refexplorer.data.access.storage_options import StorageOptions
from refexplorer.data.access.urls import shown
from refexplorer.data.advice.connections import Connection
from refexplorer.data.fetch.target_reader import Targets
from refexplorer.errors import RefexplorerError
from refexplorer.markup import size_text
from refexplorer.masking import masks_repr
from refexplorer.refset.grids.chunk_grid import ChunkReferences
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.queries.internals import SetLike
from refexplorer.spec.core.references import Range

_LARGEST = 2**22
"""Bytes of a request that measures the bandwidth."""
_LEAST = 2**16
"""Fewer bytes come with the first ones, so that nothing is learned from them."""
_SMALL, _LARGE, _AT_ONCE = 5, 2, 4
# a request may take less than the latency that was measured: no bandwidth is infinite
_SHARE = 0.05
_ARRAYS = 50


@masks_repr
@dataclass(frozen=True)
class Measured:
    """A connection, and what was asked to know it.

    Attributes
    ----------
    place
        Named by the target.
    asked
        In words.
    """

    place: Connection
    asked: str


def measured(
    refs: SetLike,
    opened: OpenedSet,
    policy: AccessPolicy,
    storage_options: StorageOptions | None,
    assumed: Connection,
    going_on: Callable[[], None] = lambda: None,
) -> Measured:
    """Measure latency and bandwidth with one target of a set, by at most 15 requests.

    The latency is the median of requests for one byte, after those that open the connections. The
    bandwidth of a request is that of two for up to 4 MiB of the longest range of the set, that of
    all together is of four such at once.

    Parameters
    ----------
    refs, opened
        The set.
    policy
        Says whether the target may be read.
    storage_options
        For fsspec.
    assumed
        Of a set of short ranges, its bandwidth is taken.
    going_on
        Called before each request; what it raises ends the measurement.

    Raises
    ------
    AccessError
        If the target may not be read.
    FetchError
        If it does not give these bytes.
    RefexplorerError
        If the set has no byte range to ask for.
    """
    key, reference = _longest(opened)
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
        place = Connection(url, latency, assumed.stream, assumed.bandwidth)
        return Measured(
            place,
            f"{_SMALL + 1} requests for one byte of {url}; its ranges are too short to measure a "
            f"bandwidth, which is that of {assumed.name}",
        )
    stream = size / _sending(median(took(size) for _ in range(_LARGE)), latency)
    for reader in readers[1:]:
        took(1, reader)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        started = time.perf_counter()
        list(pool.map(took, [size] * _AT_ONCE, readers))
    together = _AT_ONCE * size / _sending(time.perf_counter() - started, latency)
    place = Connection(url, latency, stream, max(stream, together))
    return Measured(
        place,
        f"{_SMALL + _AT_ONCE} requests for one byte of {url}, and {_LARGE + _AT_ONCE} for "
        f"{size_text(size)}, {_AT_ONCE} of them at once",
    )


def _sending(seconds: float, latency: float) -> float:
    """Return what of a time is not waiting; near a fast disk the two are not told apart."""
    return max(seconds - latency, _SHARE * seconds)


def _longest(opened: OpenedSet) -> tuple[str, Range]:
    """Return the key with the longest byte range, of the first arrays."""
    best: tuple[int, str] | None = None
    for path in opened.arrays.paths[:_ARRAYS]:
        array = opened.arrays.get(path)
        grid = None if array is None else ChunkReferences(opened, array)
        if array is None or grid is None:
            continue
        if not grid.complete:
            best = best or (0, array.chunk_key((0,) * len(array.shape)))
            continue
        chunks = grid.chunks
        lengths = np.where((chunks.offsets >= 0) & (chunks.targets >= 0), chunks.lengths, -1)
        if len(lengths) and int(lengths.max()) > (best or (0, ""))[0]:
            row = int(lengths.argmax())
            best = int(lengths[row]), array.chunk_key(chunks.indices[row].tolist())
    found = None if best is None else opened.lookup(best[1])
    if best is None or found is None or not isinstance(found[1], Range) or not found[1].length:
        raise RefexplorerError("The set has no byte range to measure a connection with.")
    return best[1], found[1]
