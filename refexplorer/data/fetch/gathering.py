"""Merging of reads that threads request at about the same time, as Zarr does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from refexplorer.data.access.urls import Place
from refexplorer.data.fetch.pieces import Pieces
from refexplorer.data.fetch.ranges import RangeRequest, Wanted, merged

LINGER = 0.002
"""Seconds that a read waits for others: far less than a request takes, and enough for the threads
of one selection to arrive."""

ReadRange = Callable[[Place, int, int | None], Awaitable[Pieces]]


class Gathering:
    """Collects reads on fsspec's event loop.

    Parameters
    ----------
    read
        Brings bytes of a target.
    """

    def __init__(self, read: ReadRange) -> None:
        self._read = read
        self._waiting: dict[asyncio.Future[Pieces], Wanted] = {}

    async def get(self, wanted: Wanted) -> Pieces:
        """Return bytes of a target; the request ends when nobody waits for it any more."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Pieces] = loop.create_future()
        if not self._waiting:
            loop.call_later(LINGER, self._send)
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

    async def _answer(self, request: RangeRequest, futures: list[asyncio.Future[Pieces]]) -> None:
        try:
            data = await self._read(request.place, request.start, request.end)
        except Exception as error:  # each protocol has errors of its own
            for future in futures:
                if not future.done():
                    future.set_exception(error)
            return
        for part, future in zip(request.parts, futures, strict=True):
            if not future.done():
                future.set_result(Pieces([request.cut(data, part)], data.size))


def _end(task: asyncio.Future[None], futures: list[asyncio.Future[Pieces]], _: object) -> None:
    """Cancel a request if all who waited for it went away; one that is done does not mind."""
    if all(future.done() for future in futures):
        task.cancel()
