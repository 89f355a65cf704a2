"""Waiting for what runs on fsspec's event loop, so that it can be stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import wait
from typing import Any, TypeVar

from fsspec.asyn import get_loop

POLL = 0.1
"""Seconds between two looks at whether to go on."""

Result = TypeVar("Result")


class Stopped(Exception):
    """The person who waited wants no more."""


def wait_for(
    work: Coroutine[Any, Any, Result], keep_on: Callable[[], bool] = lambda: True
) -> Result:
    """Run a coroutine on fsspec's loop and wait for it, from any other thread.

    Parameters
    ----------
    work
        The coroutine; it is cancelled, with its requests, if this is interrupted.
    keep_on
        Asked ten times a second; False cancels.

    Raises
    ------
    Stopped
        If `keep_on` returned False.
    """
    loop = get_loop()
    try:
        inside = asyncio.get_running_loop() is loop
    except RuntimeError:
        inside = False
    if inside:
        work.close()
        raise RuntimeError("Targets cannot be waited for on the loop that reads them.")
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        while not wait([future], timeout=POLL).done:
            if not keep_on():
                raise Stopped
        return future.result()
    finally:
        future.cancel()
