"""Ends reads to which no byte comes any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType

LOOKS = 6
"""How often a silent read is looked at before it is ended."""


class StallWatch:
    """Looks at all reads at once, now and then: a timer for each piece that comes costs too much.

    Parameters
    ----------
    seconds
        Without a byte, until a read is ended; up to a sixth longer.
    """

    def __init__(self, seconds: float) -> None:
        self._pause = seconds / LOOKS
        self._reads: set[_Read] = set()
        self._looking = False

    def reading(self) -> _Read:
        """Return what to read in; it ends with `TimeoutError` when nothing is heard for long."""
        return _Read(self)

    def add(self, read: _Read) -> None:
        """Look at a read from now on."""
        self._reads.add(read)
        if not self._looking:
            self._wait()

    def remove(self, read: _Read) -> None:
        """Look at it no more."""
        self._reads.discard(read)

    def _wait(self) -> None:
        self._looking = True
        asyncio.get_running_loop().call_later(self._pause, self._look)

    def _look(self) -> None:
        self._looking = False
        for read in self._reads:
            read.look()
        if self._reads:
            self._wait()


class _Read:
    """One read; entering it gives what is to be called whenever bytes come.

    It ends as in `asyncio.timeout`, which costs more, since it is made for timers.
    """

    def __init__(self, watch: StallWatch) -> None:
        self._watch = watch
        self._looks = 0
        self._is_ended = False

    def __enter__(self) -> Callable[[], None]:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelling = task.cancelling()
        self._watch.add(self)
        return self._heard

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._watch.remove(self)
        is_ours = self._is_ended and self._task.uncancel() <= self._cancelling
        if is_ours and isinstance(error, asyncio.CancelledError):
            raise TimeoutError from error

    def look(self) -> None:
        """End the read if nothing was heard the last few times."""
        self._looks += 1
        if self._looks > LOOKS and not self._is_ended:
            self._is_ended = True
            self._task.cancel()

    def _heard(self) -> None:
        self._looks = 0
