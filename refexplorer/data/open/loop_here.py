"""Zarr where no thread can be started, as in a browser: its coroutines run where they are awaited.

`zarr.core.sync` starts a thread for its loop, and waits for good where that did not start; its
codecs ask the loop for more threads. A loop that does both at once, in the thread that asks, needs
none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from typing import Any


class LoopHere(asyncio.SelectorEventLoop):
    """A loop that runs what another thread would give it as soon as it is given."""

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Call a function, and run all that comes of it."""
        handle = self.call_soon(callback, *args, context=context)
        if not self.is_running() and callback != self.stop:
            outer = asyncio._get_running_loop()
            asyncio._set_running_loop(None)  # that of a notebook's kernel waits meanwhile
            try:
                self.run_until_complete(asyncio.sleep(0))
                while tasks := asyncio.all_tasks(self):
                    self.run_until_complete(asyncio.wait(tasks))
            finally:
                asyncio._set_running_loop(outer)
        return handle

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Call a function now, whoever was to call it."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # it is for who waits
            future.set_exception(error)
        return future


def ensure_loop() -> None:
    """Let Zarr have its thread, or do without."""
    from zarr.core import sync

    with suppress(RuntimeError):  # no thread can be started
        sync._get_loop()
    with sync._get_lock():  # else a thread that is about to start looks like one that did not
        thread = sync.iothread[0]
        if (thread is not None and thread.is_alive()) or isinstance(sync.loop[0], LoopHere):
            return
        if sync.loop[0] is not None:
            sync.loop[0].close()
        sync.loop[0], sync.iothread[0] = LoopHere(), None
