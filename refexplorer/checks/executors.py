"""Doing the parts of a work: in threads of this process, or by the workers of a Dask cluster."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any

import pyarrow as pa

from refexplorer.checks.parts import Part
from refexplorer.core.errors import RefexplorerError
from refexplorer.io.fetch.background import POLL, Stopped

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
