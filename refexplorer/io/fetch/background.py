"""Waiting for coroutines on fsspec's event loop, with cancellation."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor, Future, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

from fsspec.asyn import get_loop

from refexplorer.core.errors import FetchError
from refexplorer.core.limits import is_out_of_memory

POLL = 0.1  # Seconds between two looks at whether to go on

Result = TypeVar("Result")
_keep_on: ContextVar[Callable[[], bool]] = ContextVar("keep_on", default=lambda: True)


class Stopped(Exception):
    """The user cancelled the read."""


class NoLoopError(FetchError):
    """No thread can be started for the loop that reads remote targets."""


@contextmanager
def stoppable(keep_on: Callable[[], bool]) -> Iterator[None]:
    """Let `keep_on` cancel every read waited for inside, also by Zarr's threads."""
    token = _keep_on.set(keep_on)
    try:
        yield
    finally:
        _keep_on.reset(token)


def is_wanted() -> bool:
    """Return whether the innermost `stoppable` still wants the result."""
    return _keep_on.get()()


def wait_for(
    work: Coroutine[Any, Any, Result], keep_on: Callable[[], bool] | None = None
) -> Result:
    """Run a coroutine on fsspec's loop and wait for it, from any other thread."""
    keep_on = keep_on or _keep_on.get()
    try:
        loop = get_loop()
    except RuntimeError as error:
        work.close()
        if is_out_of_memory(error):
            raise
        raise NoLoopError(
            "Only local files can be read here, because threads cannot be started."
        ) from error
    try:
        inside = asyncio.get_running_loop() is loop
    except RuntimeError:
        inside = False
    if inside:
        work.close()
        raise RuntimeError("Targets cannot be read by a blocking call on their own loop.")
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        while not wait([future], timeout=POLL).done:
            if _interrupted or not keep_on():
                raise Stopped
        return future.result()
    finally:
        future.cancel()


def start_thread(work: Callable[[], None], name: str) -> None:
    """Run a function in a thread; immediately if none can be started, as in a browser."""
    context = copy_context()
    try:
        threading.Thread(target=context.run, args=[work], name=name, daemon=True).start()
    except RuntimeError:
        context.run(work)


_interrupted = False


def _note_interrupt() -> None:
    """Record whether Ctrl-C ended the program, which then waits for threads such as Dask's."""
    # Dask's threads, for example, wait here in turn, and a silent server would block all of them.
    # Without an interrupt, threads may continue after the main program ends.
    global _interrupted
    _interrupted = isinstance(getattr(sys, "last_value", None), KeyboardInterrupt)


def _register_at_end(call: Callable[[], None]) -> None:
    """Register a callback that runs before Python waits for threads; `atexit` runs later."""
    import concurrent.futures.thread  # noqa: F401  so that its own callback is called later

    register = getattr(threading, "_register_atexit", None)  # has no public name
    if register is not None:
        with suppress(RuntimeError):  # too late: the interpreter is shutting down
            register(call)


_register_at_end(_note_interrupt)


Returned = TypeVar("Returned")
Arguments = ParamSpec("Arguments")


class ReaderThreads(Executor):
    """A limited number of threads, each started when first needed."""

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._starting = threading.Lock()
        self._count = 0

    def submit(
        self,
        fn: Callable[Arguments, Returned],
        /,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Future[Returned]:
        future: Future[Returned] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # passed to the waiting caller
                future.set_exception(error)
            else:
                future.set_result(result)

        self._calls.put(call)
        if not self._idle.acquire(blocking=False):
            self._start()
        return future

    def _start(self) -> None:
        with self._starting:
            if self._count < self._most:
                self._count += 1
                name = f"{self._name}_{self._count}"
                threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        while True:
            self._calls.get()()
            self._idle.release()
