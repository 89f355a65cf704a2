"""The parts of a run, processed by threads in any order: references sorted by target."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.checks.sorting import SHARE_BITS, Interval, PlanSizes
from refexplorer.formats.columns.references import text_column
from refexplorer.io.fetch.background import POLL, Stopped
from refexplorer.refset.target_layout import shared_ranges
from refexplorer.spec.zarr_metadata import ArrayMeta


def coded(column: pa.ChunkedArray) -> tuple[list[str | None], np.ndarray]:
    """Dictionary-encode a column of words: the words, None last, and the index for each row."""
    words = column.combine_chunks()
    codes = words.indices.fill_null(len(words.dictionary)).to_numpy(zero_copy_only=False)
    return [*words.dictionary.to_pylist(), None], codes.astype(np.int64)


def places_of(column: pa.ChunkedArray, names: Sequence[str]) -> np.ndarray:
    """Return the positions of a column's words in `names`, int64; the column has no nulls."""
    words, codes = coded(column)
    table = np.array([-1 if word is None else names.index(word) for word in words], np.int64)
    found: np.ndarray = table[codes]
    return found


ALONE, SAME, PARTLY = range(3)
OVERLAPS = ("alone", "same", "partly")
"""``same``: other keys have the very same range; ``partly``: others share some of its bytes."""


def overlaps(targets: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return how each range overlaps others, an index into `OVERLAPS`, shape ``(n,)`` uint8."""
    found = np.zeros(len(starts), np.uint8)
    rows = np.flatnonzero(ends > starts)
    if not len(rows):
        return found
    targets, starts, ends = targets[rows], starts[rows], ends[rows]
    bounds = np.flatnonzero(np.append(True, targets[1:] != targets[:-1]))
    is_new = np.zeros(len(rows), np.bool_)
    is_new[bounds] = True
    same = np.append(False, ~is_new[1:] & (starts[1:] == starts[:-1]) & (ends[1:] == ends[:-1]))
    first = np.flatnonzero(~same)  # of each distinct range
    shared = shared_ranges(starts[first], ends[first], is_new[first])
    partly = shared[np.cumsum(~same) - 1]
    equal = same | np.append(same[1:], False)
    found[rows] = np.where(partly, PARTLY, np.where(equal, SAME, ALONE))
    return found


class Meetings:
    """Finds the overlaps of very many ranges, one interval at a time."""

    def __init__(self) -> None:
        self._before = np.empty((3, 0), np.int64)

    def of(self, ranges: np.ndarray, following: np.ndarray) -> np.ndarray:
        """Return how the next ranges overlap all others, as `overlaps` does."""
        among = np.concatenate([self._before, ranges, following], axis=1)
        first = self._before.shape[1]
        last = first + ranges.shape[1]
        self._before = _summed_up(among[:, :last])
        return overlaps(*among)[first:last]


def _summed_up(ranges: np.ndarray) -> np.ndarray:
    """Return two ranges that replace these in later comparisons: the last, and all others."""
    target, start, _ = last = ranges[:, -1]
    mine = ranges[:, ranges[0] == target]
    others = mine[2, (mine != last[:, None]).any(axis=0)]
    rest = target, start - 1, others.max(initial=start - 1)
    return np.stack([rest, last], axis=1)


DECODING_COST = 100  # As so many references counts a chunk to be decoded
# another number here makes results of older versions start again, since they hold other columns
_FORM = 4
_PACKING = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", 1))


@dataclass(frozen=True)
class Part:
    """Some references of an audit, grouped by target unless there are very many."""

    number: int  # From 0; the plan of a set is always the same
    share: int  # Of the files that it is of, 0 for what all have, and where there are no shares
    place: int  # Among the parts of this share
    count: int  # References
    # The references: ``key, array`` (path or null), ``chunk, number, target`` (URL or null),
    # ``kind, offset, length, chosen`` (to be decoded), ``text, overlap`` (a place in `OVERLAPS`)
    rows: pa.Table = field(repr=False)
    arrays: dict[str, ArrayMeta]  # The arrays of what is decoded, by path

    @property
    def fingerprint(self) -> str:
        """A digest of everything the part depends on."""
        metadata = [[path, dict(array.metadata)] for path, array in sorted(self.arrays.items())]
        digest = blake2b(_packed(self.rows), digest_size=16)
        digest.update(json.dumps([_FORM, metadata], default=str).encode())
        return digest.hexdigest()


def parts(
    intervals: Iterable[Interval],
    urls: Sequence[str | None],
    arrays: Sequence[ArrayMeta],
    sizes: PlanSizes,
) -> Iterator[Part]:
    """Yield the parts of an audit, in order, created on demand."""
    meetings, places = Meetings(), Counter[int]()
    for rows, ranges, following in intervals:
        whole = rows.append_column("overlap", pa.array(meetings.of(ranges, following)))
        for start, stop in _cuts(rows, sizes):
            share = max(rows["number"][start].as_py() >> SHARE_BITS, 0)
            about = places.total(), share, places[share]
            yield _part(about, whole.slice(start, stop - start), urls, arrays)
            places[share] += 1


def _cuts(rows: pa.Table, sizes: PlanSizes) -> Iterator[tuple[int, int]]:
    """Yield the boundaries of parts of about equal cost."""
    numbers = rows["number"].to_numpy()
    is_new = np.append(True, numbers[1:] != numbers[:-1])
    chosen = rows["chosen"].to_numpy()
    cost = 1 + sizes.asking_cost * is_new + DECODING_COST * chosen
    sums, shares = np.cumsum(cost), numbers >> SHARE_BITS
    # each share is cut from its own start, so that a file more in another one changes nothing
    firsts = np.flatnonzero(np.append(True, shares[1:] != shares[:-1]))
    before = np.repeat(sums[firsts] - cost[firsts], np.diff(np.append(firsts, len(sums))))
    place = (sums - before) // sizes.part_cost
    is_first = (place[1:] != place[:-1]) | (shares[1:] != shares[:-1])
    bounds = np.flatnonzero(np.append(True, is_first)).tolist()
    yield from zip(bounds, [*bounds[1:], len(numbers)], strict=True)


def _part(
    about: tuple[int, int, int],
    rows: pa.Table,
    urls: Sequence[str | None],
    arrays: Sequence[ArrayMeta],
) -> Part:
    chosen = pc.unique(rows.filter(rows["chosen"])["array"]).to_pylist()
    at = rows.column_names.index("array")
    named = rows.set_column(at, "array", _named(rows["array"], [a.path for a in arrays]))
    if about[1]:
        numbers = rows["number"].to_numpy() & ((1 << SHARE_BITS) - 1)
        named = named.set_column(rows.column_names.index("number"), "number", pa.array(numbers))
    named = named.append_column("target", _named(named["number"], urls))
    decoded = {arrays[place].path: arrays[place] for place in chosen}
    return Part(*about, rows.num_rows, named, decoded)


def _packed(rows: pa.Table) -> bytes:
    """Return references as a small Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_PACKING) as writer:
        writer.write_table(rows)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _named(column: pa.ChunkedArray, names: Sequence[str | None]) -> pa.DictionaryArray:
    """Return names for numbers, null for -1; unused names are dropped."""
    numbers = column.to_numpy()
    is_new = np.append(True, numbers[1:] != numbers[:-1])  # mostly equal ones follow each other
    used, codes = np.unique(numbers[is_new], return_inverse=True)
    codes = codes[np.cumsum(is_new) - 1]
    found = [None if place < 0 else names[place] for place in used.tolist()]
    missing = np.array([name is None for name in found], np.bool_)[codes]
    texts = text_column([name or "" for name in found]).cast(pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=missing), texts)


_WAITING_PARTS = 2  # Parts that are handed out for each thread, so that none waits for the next one

Doing = Callable[[Part, Callable[[], bool]], pa.Table]  # Does a part, while the callable is true


def do_parts(
    doing: Doing, threads: int, parts: Iterator[Part], keep_on: Callable[[], bool]
) -> Generator[tuple[Part, pa.Table | Exception]]:
    """Process parts in threads; yield each as it ends, with its results or why there are none."""
    # At the end, running threads are stopped and joined.
    ended = threading.Event()
    waiting: dict[Future[pa.Table], Part] = {}
    with ThreadPoolExecutor(threads, "parts") as pool:
        try:
            while True:
                for part in islice(parts, _WAITING_PARTS * threads - len(waiting)):
                    waiting[pool.submit(doing, part, lambda: not ended.is_set())] = part
                if not waiting:
                    return
                if not keep_on():
                    raise Stopped
                done, _ = wait(waiting, timeout=POLL, return_when=FIRST_COMPLETED)
                for future in done:
                    error = future.exception()
                    if error is not None and not isinstance(error, Exception):
                        raise error
                    yield waiting.pop(future), error or future.result()
        finally:
            ended.set()
            pool.shutdown(wait=False, cancel_futures=True)
