"""Work of several threads, in order; where no thread can be started, that of one."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")
_AHEAD = 2
"""Results for each thread that are made before they are asked for."""


def made_ahead(work: Callable[[Given], Made], given: Iterable[Given]) -> Iterator[Made]:
    """Yield the result for each thing, in their order; a few are made ahead by all processors.

    For work that lets go of the interpreter, as Arrow and numpy do.
    """
    waiting = deque[Future[Made]]()
    threads = os.cpu_count() or 1
    with ThreadPoolExecutor(threads, "refexplorer-ahead") as pool:
        try:
            for each in given:
                waiting.append(_started(pool, work, each))
                if len(waiting) > _AHEAD * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _started(pool: ThreadPoolExecutor, work: Callable[[Given], Made], given: Given) -> Future[Made]:
    try:
        return pool.submit(work, given)
    except RuntimeError:  # no thread can be started, as in a browser
        done = Future[Made]()
        done.set_result(work(given))
        return done
