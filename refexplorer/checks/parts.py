"""The parts of a run, done in any order: in threads here, or by workers of a Dask cluster.

A part carries all that is needed, the references as columns and the metadata of the arrays whose
chunks it decodes: who does it need not open the set, which may take gigabytes.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent import futures
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.checks.sorting import SHARE_BITS, Interval, PlanSizes
from refexplorer.core.errors import RefexplorerError
from refexplorer.formats.columns.references import text_column
from refexplorer.io.fetch.background import POLL, Stopped
from refexplorer.spec.zarr_metadata import ArrayMeta


def coded(column: pa.ChunkedArray) -> tuple[list[str | None], np.ndarray]:
    """Return the words of a column of words, None the last, and the place of each row's word."""
    words = column.combine_chunks()
    codes = words.indices.fill_null(len(words.dictionary)).to_numpy(zero_copy_only=False)
    return [*words.dictionary.to_pylist(), None], codes.astype(np.int64)


def places_of(column: pa.ChunkedArray, names: Sequence[str]) -> np.ndarray:
    """Return the places of the words of a column without nulls in `names`, int64."""
    words, codes = coded(column)
    table = np.array([-1 if word is None else names.index(word) for word in words], np.int64)
    found: np.ndarray = table[codes]
    return found


ALONE, SAME, PARTLY = range(3)
OVERLAPS = ("alone", "same", "partly")
"""``same``: other keys have the very same range; ``partly``: others share some of its bytes."""


def overlaps(targets: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return how each range meets the others, a place in `OVERLAPS`, shape ``(n,)`` uint8."""
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
    shared = _shared(starts[first], ends[first], is_new[first])
    partly = shared[np.cumsum(~same) - 1]
    equal = same | np.append(same[1:], False)
    found[rows] = np.where(partly, PARTLY, np.where(equal, SAME, ALONE))
    return found


class Meetings:
    """Finds the overlaps of very many ranges, an interval after the other."""

    def __init__(self) -> None:
        self._before = np.empty((3, 0), np.int64)

    def of(self, ranges: np.ndarray, following: np.ndarray) -> np.ndarray:
        """Return how the next ranges meet all others, as `overlaps` does."""
        among = np.concatenate([self._before, ranges, following], axis=1)
        first = self._before.shape[1]
        last = first + ranges.shape[1]
        self._before = _summed_up(among[:, :last])
        return overlaps(*among)[first:last]


def _summed_up(ranges: np.ndarray) -> np.ndarray:
    """Return two ranges that later ones meet as they meet these: the last, and one for the rest."""
    target, start, _ = last = ranges[:, -1]
    mine = ranges[:, ranges[0] == target]
    others = mine[2, (mine != last[:, None]).any(axis=0)]
    rest = target, start - 1, others.max(initial=start - 1)
    return np.stack([rest, last], axis=1)


def _shared(starts: np.ndarray, ends: np.ndarray, is_new: np.ndarray) -> np.ndarray:
    """Say which distinct ranges share bytes with another one of their target."""
    is_behind = ends[1:] < ends[:-1]
    has_longer = (is_behind & ~is_new[1:]).any()  # else each ends the furthest so far
    reach = _reach(ends, np.cumsum(is_new) - 1) if has_longer else ends
    meets_before = np.append(False, ~is_new[1:] & (starts[1:] < reach[:-1]))
    meets_after = np.append(~is_new[1:] & (starts[1:] < ends[:-1]), False)
    shared: np.ndarray = meets_before | meets_after
    return shared


def _reach(ends: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return the furthest end so far within each group, shape ``(n,)``."""
    ranks = np.argsort(np.argsort(ends, kind="stable"), kind="stable")
    furthest = np.maximum.accumulate(group * len(ends) + ranks) - group * len(ends)
    reach: np.ndarray = np.sort(ends)[furthest]
    return reach


DECODING_COST = 100
"""As so many references counts a chunk to be decoded."""
# another number here makes results of older versions start anew, since they hold other columns
_FORM = 4
_PACKING = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", 1))


@dataclass(frozen=True)
class Part:
    """Some references of an audit, those of a target together unless they are very many."""

    number: int  # From 0; the plan of a set is always the same
    share: int  # Of the files that it is of, 0 for what all have, and where there are no shares
    place: int  # Among the parts of this share
    count: int  # References
    # The references: ``key, array`` (path or null), ``chunk, number, target`` (URL or null),
    # ``kind, offset, length, chosen`` (to be decoded), ``text, overlap`` (a place in `OVERLAPS`)
    rows: pa.Table = field(repr=False)
    arrays: dict[str, ArrayMeta]  # The arrays of what is decoded, by path

    def __reduce__(self) -> tuple[Callable[..., Part], tuple[Any, ...]]:
        about = self.number, self.share, self.place, self.count
        return _unpacked, (*about, _packed(self.rows), self.arrays)

    @property
    def fingerprint(self) -> str:
        """A digest of everything that the part depends on."""
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
    """Yield the parts of an audit, in order, made as they are taken."""
    meetings, places = Meetings(), Counter[int]()
    for rows, ranges, following in intervals:
        whole = rows.append_column("overlap", pa.array(meetings.of(ranges, following)))
        for start, stop in _cuts(rows, sizes):
            share = max(rows["number"][start].as_py() >> SHARE_BITS, 0)
            about = places.total(), share, places[share]
            yield _part(about, whole.slice(start, stop - start), urls, arrays)
            places[share] += 1


def _cuts(rows: pa.Table, sizes: PlanSizes) -> Iterator[tuple[int, int]]:
    """Yield where parts of about the same cost start and stop."""
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


def _unpacked(
    number: int, share: int, place: int, count: int, packed: bytes, arrays: dict[str, ArrayMeta]
) -> Part:
    return Part(number, share, place, count, pa.ipc.open_stream(packed).read_all(), arrays)


def _named(column: pa.ChunkedArray, names: Sequence[str | None]) -> pa.DictionaryArray:
    """Return names for numbers, null for -1; only names that occur are carried along."""
    numbers = column.to_numpy()
    is_new = np.append(True, numbers[1:] != numbers[:-1])  # mostly equal ones follow each other
    used, codes = np.unique(numbers[is_new], return_inverse=True)
    codes = codes[np.cumsum(is_new) - 1]
    found = [None if place < 0 else names[place] for place in used.tolist()]
    missing = np.array([name is None for name in found], np.bool_)[codes]
    texts = text_column([name or "" for name in found]).cast(pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=missing), texts)


WAITING_PARTS = 2
"""Parts that are handed out for each worker thread, so that none waits for the next one."""
_SLOWER = 4
"""A part must also take so many times as long as the slowest that is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterTerms:
    """How long a cluster is waited for."""

    connect_seconds: float = 10  # To find the scheduler, and a worker
    # Seconds after which one of the last parts is given to a second worker, too
    patience: float = 30


Doing = Callable[..., pa.Table]
"""Does a part: takes it, and optionally what says whether to go on. Goes along with each part to
the workers of a cluster, so it is a method of something small."""
Finished = Callable[[Part, pa.Table | Exception], None]
"""Called with each part, in the order in which they end: its results, or why there are none."""


@dataclass(frozen=True)
class Executor:
    """Who does the parts."""

    pool: futures.Executor  # Takes parts
    threads: int  # How many are done at a time
    do: Callable[[Part], pa.Table]  # What is run for a part
    # Seconds after which one of the last parts is given away once more; None: never
    patience: float | None = None
    # Raises `RefexplorerError` if nothing that was handed out will ever come back
    check: Callable[[], None] = lambda: None


@contextmanager
def thread_executor(doing: Doing, count: int) -> Iterator[Executor]:
    """Do the parts here; at the end of the block what still runs is stopped and waited for."""
    ended = threading.Event()

    def do(part: Part) -> pa.Table:
        return doing(part, lambda: not ended.is_set())

    with ThreadPoolExecutor(count, "parts") as pool:
        try:
            yield Executor(pool, count, do)
        finally:
            ended.set()
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def dask_executor(doing: Doing, scheduler: object, terms: ClusterTerms) -> Iterator[Executor]:
    """Have the workers of a cluster do the parts."""
    with _client(scheduler, terms.connect_seconds) as client:
        try:
            client.wait_for_workers(1, timeout=terms.connect_seconds)
            threads = sum(client.nthreads().values())
        except Exception as error:  # what Dask raises is its own affair
            raise RefexplorerError(
                f"The scheduler at {_address(client)} has no worker; start one and try again."
            ) from error
        address = _address(client)

        def check() -> None:
            if client.status == "closed":
                raise RefexplorerError(
                    f"The scheduler at {address} does not answer any more; finished parts are kept."
                )

        pool = client.get_executor(pure=False)
        try:
            yield Executor(pool, max(threads, 1), doing, terms.patience, check)
        finally:
            with suppress(Exception):  # of a cluster that is gone nothing can be taken back
                pool.shutdown(wait=False)


@contextmanager
def _client(scheduler: object, seconds: float) -> Iterator[Any]:
    """Give a client; Dask has no types that say what it takes."""
    if not isinstance(scheduler, str):
        yield scheduler
        return
    try:
        import distributed
    except ImportError:
        raise RefexplorerError(
            "Working on a cluster requires Dask: `pip install 'refexplorer[dask]'`."
        ) from None
    try:
        connect: Any = distributed.Client
        client = connect(scheduler, timeout=seconds, set_as_default=False)
    except Exception as error:  # what Dask raises is its own affair
        raise RefexplorerError(
            f"No Dask scheduler answers at {scheduler}: {_first_line(error)}."
        ) from None
    with distributed.utils.silence_logging_cmgr(logging.CRITICAL), client:
        yield client


def _address(client: Any) -> str:
    return str(getattr(client.scheduler, "address", "the given client"))


def do_parts(
    executor: Executor, parts: Iterator[Part], finished: Finished, keep_on: Callable[[], bool]
) -> None:
    """Do all parts, handing out only as many at a time as are needed."""
    work = _HandedOut(executor, finished)
    while work.hand_out(parts):
        if not keep_on():
            raise Stopped
        executor.check()
        work.take_in()


@dataclass
class _Attempt:
    """A part that somebody does, and since when."""

    part: Part
    begun: float


class _HandedOut:
    """The parts that are being done."""

    def __init__(self, executor: Executor, finished: Finished) -> None:
        self._executor = executor
        self._finished = finished
        self._tries: dict[Future[Any], _Attempt] = {}
        self._longest = 0.0

    def hand_out(self, parts: Iterator[Part]) -> bool:
        """Give away more parts; say whether anything is left to wait for."""
        room = WAITING_PARTS * self._executor.threads
        is_last = False
        while len({mine.part.number for mine in self._tries.values()}) < room and not is_last:
            part = next(parts, None)
            if part is None:
                is_last = True
            else:
                self._give(part)
        if is_last or self._longest:
            self._repeat_stragglers()
        return bool(self._tries)

    def take_in(self) -> None:
        """Wait a moment, and pass on what is done."""
        done, _ = wait(self._tries, timeout=POLL, return_when=FIRST_COMPLETED)
        for future in done:
            mine = self._tries.pop(future, None)
            if mine is None:
                continue  # the other try of the same part was faster
            self._longest = max(self._longest, monotonic() - mine.begun)
            self._drop(mine.part.number)
            self._finished(mine.part, _outcome(future))

    def _give(self, part: Part) -> None:
        try:
            future = self._executor.pool.submit(self._executor.do, part)
        except Exception as error:
            self._executor.check()
            raise RefexplorerError(
                f"The work cannot continue: {_first_line(error)}; finished parts are kept."
            ) from error
        self._tries[future] = _Attempt(part, monotonic())

    def _drop(self, number: int) -> None:
        """Forget other tries of a part."""
        for future in [f for f, mine in self._tries.items() if mine.part.number == number]:
            del self._tries[future]
            future.cancel()

    def _repeat_stragglers(self) -> None:
        """Give parts that take very long away once more, each time after a longer wait.

        More than once: Dask may give it to the same worker, which stands still, if others are busy.
        """
        if self._executor.patience is None:
            return
        wait = max(self._executor.patience, _SLOWER * self._longest)
        tries: dict[int, list[_Attempt]] = {}
        for mine in self._tries.values():
            tries.setdefault(mine.part.number, []).append(mine)
        now = monotonic()
        for given in tries.values():
            if now - max(mine.begun for mine in given) > len(given) * wait:
                self._give(given[0].part)


def _outcome(future: Future[Any]) -> pa.Table | Exception:
    try:
        return future.result()
    except CancelledError:
        return RefexplorerError("The cluster gave it up")
    except Exception as error:
        return error


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
