"""Threads that read for Zarr, and that no process waits for when it ends.

Python waits at its end for the threads of its own executors, so that a script which was interrupted
while a server said nothing would hang until that server answers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from typing import ParamSpec, TypeVar

Returned = TypeVar("Returned")
Arguments = ParamSpec("Arguments")


class ReaderThreads(Executor):
    """At most so many threads, each started when it is needed first.

    Parameters
    ----------
    most
        How many there may be.
    name
        What the names of the threads begin with.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
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
        """Call a function in one of the threads."""
        future: Future[Returned] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # it is for who waits
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
