"""Bytes as they came from a target, and the time that they may take."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from contextvars import ContextVar, Token
from functools import cached_property
from itertools import accumulate
from types import TracebackType

from refexplorer.data.fetch.failures import TooLate

SLOWEST = 2**12
"""Bytes in a second that are worth waiting for."""
_STEP = 0.1
"""Seconds between two changes of the time; most reads take less, and need none."""
_read_time: ContextVar[ReadTime | None] = ContextVar("read_time", default=None)


class Pieces:
    """Bytes in the pieces in which they came: to join them before parts are cut is one copy more.

    Parameters
    ----------
    pieces
        In their order.
    size
        Of the whole target; None if it is not known.
    """

    def __init__(self, pieces: list[bytes], size: int | None = None) -> None:
        self._pieces = pieces
        self.size = size

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate(map(len, self._pieces), initial=0))

    def cut(self, start: int = 0, stop: int | None = None) -> bytes:
        """Return the bytes from `start` to `stop`, or as many of them as there are."""
        if len(self._pieces) == 1:
            return self._pieces[0][start:stop]
        size = self._starts[-1]
        stop = size if stop is None else min(stop, size)
        if start >= stop:
            return b""
        first, last = bisect_right(self._starts, start) - 1, bisect_left(self._starts, stop) - 1
        views = [memoryview(piece) for piece in self._pieces[first : last + 1]]
        views[-1] = views[-1][: stop - self._starts[last]]
        views[0] = views[0][start - self._starts[first] :]
        return b"".join(views)


class ReadTime:
    """The time that one read may take, retries included, as a context.

    Whatever comes adds the time that it took, up to that at `SLOWEST`: large files may take long,
    and a server that stops, or sends a byte now and then, ends the read.

    Parameters
    ----------
    seconds
        As `Limits.read_seconds`.

    Raises
    ------
    TooLate
        If the time is over.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timeout = asyncio.timeout(seconds)
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._count = self._new = 0
        self._token: Token[ReadTime | None]

    async def __aenter__(self) -> None:
        self._token = _read_time.set(self)
        await self._timeout.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _read_time.reset(self._token)
        try:
            await self._timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            late = TooLate(
                f"no complete answer came within {self._seconds:,g} seconds, retries included "
                "(limits: read_seconds)"
            )
            late.count = self._count
            raise late from None

    def add(self, count: int) -> None:
        """Note that bytes came."""
        self._count += count
        self._new += count
        now = self._loop.time()
        when = self._timeout.when()
        if now - self._last < _STEP or when is None or self._timeout.expired():
            return
        self._timeout.reschedule(when + min(now - self._last, self._new / SLOWEST))
        self._last, self._new = now, 0


def note_bytes(count: int) -> None:
    """Note that bytes of the read came that runs here."""
    read_time = _read_time.get()
    if read_time is not None:
        read_time.add(count)
