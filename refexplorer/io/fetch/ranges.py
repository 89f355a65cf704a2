"""Byte ranges that are wanted, and the requests that bring them.

For example, ranges of one target, as `merged` takes them in order of their start::

    x/0        0 to     100  ┐
    x/1      100 to     300  ├ one request, 0 to 60,000: gaps below `MERGE_GAP` are read, too
    x/2   50,000 to  60,000  ┘
    x/3  200,000 to 200,100    a request of its own: the gap is too large

A range to the end of the target (`end` is None) is merged with its equals alone, since nobody
knows how long it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

from refexplorer.core.masking import masks_repr
from refexplorer.io.access.urls import Place, shown
from refexplorer.io.fetch.failures import ByteParts

MERGE_GAP = 2**16
"""Bytes that are read and thrown away to save a request: at 10 MB/s they take 6 ms, less than the
way to a server and back."""
MERGE_BYTES = 2**23
"""A request does not grow beyond this by merging: several run at once, and a failed one is
repeated as a whole."""


@masks_repr
@dataclass(frozen=True, slots=True)
class RangeOfKey:
    """Bytes that a key refers to."""

    # key, url: As in the set
    key: str
    url: str
    place: Place  # Where the URL leads
    # start, end: Offsets in the target; `end` is None for all that follows
    start: int
    end: int | None

    def __str__(self) -> str:
        span = "" if self.end is None and not self.start else f", bytes {self.start:,} to "
        stop = "" if not span else "the end" if self.end is None else f"{self.end:,}"
        return f"{self.key} could not be read from {shown(self.url)}{span}{stop}"


@dataclass(slots=True)
class RangeRequest:
    """One read of a target, for one key or several."""

    place: Place
    start: int
    end: int | None
    parts: list[RangeOfKey] = field(default_factory=list)

    def take(self, wanted: RangeOfKey) -> bool:
        """Take a range in that starts at `start` or later, if it belongs in here."""
        if wanted.end is None or self.end is None:
            same = (wanted.start, wanted.end) == (self.start, self.end)
        else:
            grown = max(wanted.end, self.end)
            fits = grown == self.end or grown - self.start <= MERGE_BYTES
            same = fits and wanted.start - self.end <= MERGE_GAP
            self.end = grown if same else self.end
        if same:
            self.parts.append(wanted)
        return same

    def cut(self, data: ByteParts, part: RangeOfKey) -> bytes:
        """Return the bytes of one part from all that came."""
        stop = None if part.end is None else part.end - self.start
        return data.cut(part.start - self.start, stop)


def merged(wanted: Iterable[RangeOfKey]) -> Iterator[RangeRequest]:
    """Yield the requests that bring these ranges: those that touch, or nearly, share one."""
    ordered = sorted(wanted, key=lambda each: (each.place.url, each.start, each.end or 0))
    for _, group in groupby(ordered, key=lambda each: each.place.url):
        last: RangeRequest | None = None
        for each in group:
            if last is not None and last.take(each):
                continue
            if last is not None:
                yield last
            last = RangeRequest(each.place, each.start, each.end, [each])
        if last is not None:
            yield last


BATCH_DELAY = 0.002
"""Seconds that a read waits for others: far less than a request takes, and enough for the threads
of one selection to arrive."""

ReadRange = Callable[[Place, int, int | None], Awaitable[ByteParts]]


class RequestBatcher:
    """Collects reads on fsspec's event loop."""

    def __init__(self, read: ReadRange) -> None:
        self._read = read
        self._waiting: dict[asyncio.Future[ByteParts], RangeOfKey] = {}

    async def get(self, wanted: RangeOfKey) -> ByteParts:
        """Return bytes of a target; the request ends when nobody waits for it any more."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[ByteParts] = loop.create_future()
        if not self._waiting:
            loop.call_later(BATCH_DELAY, self._send)
        self._waiting[future] = wanted
        return await future

    def _send(self) -> None:
        """Send the requests for all that waits now."""
        waiting, self._waiting = self._waiting, {}
        # by identity: two who want the same bytes are equal, and both are to be answered
        futures = {id(wanted): future for future, wanted in waiting.items() if not future.done()}
        for request in merged(wanted for wanted in waiting.values() if id(wanted) in futures):
            mine = [futures[id(part)] for part in request.parts]
            task = asyncio.ensure_future(self._answer(request, mine))
            for future in mine:
                future.add_done_callback(partial(_end, task, mine))

    async def _answer(
        self, request: RangeRequest, futures: list[asyncio.Future[ByteParts]]
    ) -> None:
        try:
            data = await self._read(request.place, request.start, request.end)
        except Exception as error:  # each protocol has errors of its own
            for future in futures:
                if not future.done():
                    future.set_exception(error)
            return
        for part, future in zip(request.parts, futures, strict=True):
            if not future.done():
                future.set_result(ByteParts([request.cut(data, part)], data.size))


def _end(task: asyncio.Future[None], futures: list[asyncio.Future[ByteParts]], _: object) -> None:
    """Cancel a request if all who waited for it went away; one that is done does not mind."""
    if all(future.done() for future in futures):
        task.cancel()
