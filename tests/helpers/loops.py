"""Calls of libraries that call `asyncio.run`.

It refuses a thread in which a loop runs, and a loop runs in the main thread of a test process as
soon as a browser was started there.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


def without_loop(
    call: Callable[Parameters, Answer], *args: Parameters.args, **options: Parameters.kwargs
) -> Answer:
    """Call in a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call, *args, **options).result()
