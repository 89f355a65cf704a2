"""A target as a file that a library can seek in and read, in few requests."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from itertools import groupby
from typing import TYPE_CHECKING

from refexplorer.core.errors import cause_of
from refexplorer.core.text import size_text
from refexplorer.formats.datafiles.data_file import Unread
from refexplorer.formats.datafiles.streams import SeekableBytes
from refexplorer.io.access.urls import shown
from refexplorer.io.fetch.targets import Targets, explained
from refexplorer.spec.references import Range, Url

if TYPE_CHECKING:
    from refexplorer.io.fetch.failures import Facts
    from refexplorer.io.fetch.local import LocalFile

BLOCK = 2**16
"""Bytes of a block: at 10 MB/s they take 6 ms, less than the way to a server and back."""
LONGEST = 2**20
"""Who reads on where the last request ended is given twice as much each time, up to this."""
MOST_BYTES = 2**25
"""Bytes that may be read of one file over the network for its metadata: as many as the byte ranges
of half a million chunks take in HDF5."""
_KEY = "The metadata"


class TargetFile(SeekableBytes):
    """Reads a target through the access policy and fetcher of a set.

    A local file is read as it is. Of any other, blocks are read and kept: neighbours in one
    request, each of them once.
    """

    def __init__(self, targets: Targets, url: str, most: int | None = MOST_BYTES) -> None:
        super().__init__()
        self.url = url
        self.request_count = self.byte_count = 0
        self._targets, self._most = targets, most
        self._ahead = self._count = 0
        self._blocks: dict[int, bytes] = {}
        self._metadata: frozenset[int] | None = None
        self._spent = 0
        self._open = ExitStack()
        wanted = targets.wanted(_KEY, Url(url))
        self.place = wanted.place
        self._local: LocalFile | None = None
        try:
            if self.place.protocol == "file":
                self._local = self._open.enter_context(targets.local.opened(self.place))
                size: int | None = self._local.size
            else:
                size = self._begin()
        except Exception as error:  # each protocol has errors of its own
            said = explained(wanted, error)
            raise said from cause_of(said, error)
        if size is None:
            raise Unread("cost", "The server does not tell the size of the file.")
        self.size = size

    def _begin(self) -> int | None:
        """Read the first block while the size is asked for."""
        from refexplorer.io.fetch.background import wait_for

        facts, head = wait_for(self._first())
        self._has_ranges = facts.ranges
        self.request_count += 2
        self._keep(0, head)
        return facts.size

    async def _first(self) -> tuple[Facts, bytes]:
        head = asyncio.ensure_future(self._targets.read(self.place, 0, BLOCK))
        try:
            facts = await self._targets.facts(self.place)
            return facts, b"" if facts.size == 0 else (await head).cut(0, BLOCK)
        finally:
            head.cancel()
            await asyncio.gather(head, return_exceptions=True)

    def check_unchanged(self) -> None:
        """Raise `FetchError` if a local file changed; of others each answer is checked."""
        if self._local is None:
            return
        try:
            with self._targets.local.opened(self.place):
                pass
        except Exception as error:
            said = explained(self._targets.wanted(_KEY, Url(self.url)), error)
            raise said from cause_of(said, error)

    def close(self) -> None:
        """Close the file, and forget its blocks."""
        self._open.close()
        self._blocks.clear()
        super().close()

    def begin_values(self) -> None:
        """Forget values that were read before: the limit is for the values of each question.

        Blocks of metadata stay, since libraries read them again.
        """
        if self._metadata is None:
            self._metadata = frozenset(self._blocks)
        self._blocks = {number: self._blocks[number] for number in sorted(self._metadata)}
        self._spent = 0

    def readall(self) -> bytes:
        """Return all that follows, as far as the limits allow."""
        data = self.read_at(self._position, self.size)
        self._position += len(data)
        return data

    def read_at(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` to `end`, or as many of them as there are."""
        end = min(end, self.size)
        if start >= end:
            return b""
        if self._local is not None:
            return self._read_local(start, end)
        first, last = start // BLOCK, -(-end // BLOCK)
        for known, run in groupby(range(first, last), self._blocks.__contains__):
            if not known:
                numbers = list(run)
                self._fetch(numbers[0], numbers[-1] + 1)
        at = first * BLOCK
        blocks = [self._blocks[number] for number in range(first, last)]
        return b"".join(blocks)[start - at : end - at]

    def _read_local(self, start: int, end: int) -> bytes:
        assert self._local is not None
        try:
            return self._local.read(start, end, self._targets.limit)
        except Exception as error:
            wanted = self._targets.wanted(_KEY, Range(self.url, start, end - start))
            said = explained(wanted, error)
            raise said from cause_of(said, error)

    def _fetch(self, first: int, last: int) -> None:
        """Read blocks, and more of them where the last request ended."""
        if first == self._ahead:
            last = max(last, first + min(2 * self._count, LONGEST // BLOCK))
        known = (number for number in range(first, last) if number in self._blocks)
        last = next(known, last)
        if not self._has_ranges:
            first, last = 0, -(-self.size // BLOCK)
        start, end = first * BLOCK, min(last * BLOCK, self.size)
        self._admit(end - start)
        data = self._targets.fetch(_KEY, Range(self.url, start, end - start))
        self.request_count += 1
        self._keep(first, data)

    def _keep(self, first: int, data: bytes) -> None:
        self.byte_count += len(data)
        self._spent += len(data)
        for at in range(0, len(data), BLOCK):
            self._blocks[first + at // BLOCK] = data[at : at + BLOCK]
        self._count = -(-len(data) // BLOCK)
        self._ahead = first + self._count

    def _admit(self, count: int) -> None:
        if self._most is None or self._spent + count <= self._most:
            return
        if self._metadata is not None:
            if self._spent + count <= self._most + self._targets.limit:
                return
            raise Unread(
                "cost",
                f"The values of one chunk take more than "
                f"{size_text(self._most + self._targets.limit)} of {shown(self.url)} over the "
                "network; a copy on this machine can be compared.",
            )
        if not self._has_ranges:
            raise Unread(
                "cost",
                "The server does not support byte ranges, so that the whole file of "
                f"{size_text(self.size)} would have to be read, more than the limit of "
                f"{size_text(self._most)} for the metadata of one file.",
            )
        raise Unread(
            "cost",
            f"The metadata of {shown(self.url)} takes more than {size_text(self._most)} over the "
            "network, the limit for one file; a copy on this machine can be compared.",
        )
