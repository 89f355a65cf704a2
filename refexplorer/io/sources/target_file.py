"""A target as a seekable file for libraries, read in few requests."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from refexplorer.core.errors import cause_of
from refexplorer.core.text import size_text
from refexplorer.formats.datafiles.data_file import Unread
from refexplorer.formats.datafiles.streams import RangeStream
from refexplorer.io.access import shown
from refexplorer.io.fetch.answers import Facts
from refexplorer.io.fetch.targets import LocalFile, Targets, explanation
from refexplorer.spec.references import Range, Url

BLOCK = 2**16  # Bytes of a block: at 10 MB/s they take 6 ms, less than a round trip
LONGEST = 2**20  # Bytes of a request; sequential reads double them up to this
MOST_BYTES = 2**25  # Bytes of metadata that may be read from one remote file
_KEY = "The metadata"


class TargetFile(RangeStream):
    """Reads a target through the access policy and fetcher of a set."""

    kept = longest = sys.maxsize

    def __init__(self, targets: Targets, url: str, budget: int = MOST_BYTES) -> None:
        super().__init__(self._fetched, 0, url, block=BLOCK)
        self.url = url
        self._targets, self._budget = targets, budget
        self._ahead = self._count = self._spent = 0
        self._metadata: frozenset[int] | None = None
        self._open = ExitStack()
        self.place = targets.range_of(_KEY, Url(url)).place
        self._local: LocalFile | None = None
        with self._explaining(Url(url)):
            if self.place.protocol == "file":
                self._local = self._open.enter_context(targets.local.opened(self.place))
                size: int | None = self._local.size
            else:
                size = self._begin()
        if size is None:
            raise Unread("cost", "The server does not report the size of the file.")
        self.size = size

    @contextmanager
    def _explaining(self, reference: Url | Range) -> Iterator[None]:
        """Raise errors like those of reading a reference."""
        try:
            yield
        except Exception as error:  # each protocol raises its own errors
            error_of_read = explanation(self._targets.range_of(_KEY, reference), error)
            raise error_of_read from cause_of(error_of_read, error)

    def _begin(self) -> int | None:
        """Read the first block while the size is requested."""
        from refexplorer.io.fetch.background import wait_for

        facts, head = wait_for(self._first())
        self._has_ranges = facts.ranges
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
        """Raise `FetchError` if a local file has changed; remote responses are checked instead."""
        if self._local is not None:
            with self._explaining(Url(self.url)), self._targets.local.opened(self.place):
                pass

    def close(self) -> None:
        """Close the file, and drop its blocks."""
        self._open.close()
        self._blocks.clear()
        super().close()

    def begin_values(self) -> None:
        if self._metadata is None:
            self._metadata = frozenset(self._blocks)
        for number in self._blocks.keys() - self._metadata:
            del self._blocks[number]
        self._spent = 0

    def read_at(self, start: int, end: int) -> bytes:
        if self._local is None:
            return super().read_at(start, end)
        if start >= min(end, self.size):
            return b""
        with self._explaining(Range(self.url, start, min(end, self.size) - start)):
            return self._local.read(start, end, self._targets.limit)

    def _load(self, first: int, stop: int) -> None:
        if not self._has_ranges:
            self._blocks.clear()
            first, stop = 0, self.size
        elif first == self._ahead:
            stop = max(stop, (first + min(2 * self._count, LONGEST // BLOCK)) * BLOCK)
        super()._load(first, stop)

    def _fetched(self, start: int, end: int) -> bytes:
        self._admit(end - start)
        return self._targets.fetch(_KEY, Range(self.url, start, end - start))

    def _keep(self, first: int, data: bytes) -> None:
        super()._keep(first, data)
        self._spent += len(data)
        self._count = -(-len(data) // BLOCK)
        self._ahead = first + self._count

    def _admit(self, count: int) -> None:
        """Raise an error if too much would be read of one file, or for one query."""
        limit = self._budget + (0 if self._metadata is None else self._targets.limit)
        if self._spent + count <= limit:
            return
        name, advice = shown(self.url), "a copy on this machine can be compared."
        if self._metadata is not None:
            sentence = (
                f"The values of one chunk take more than {size_text(limit)} of {name} over the "
                f"network; {advice}"
            )
        elif self._has_ranges:
            sentence = (
                f"The metadata of {name} takes more than {size_text(limit)} over the network, the "
                f"limit for one file; {advice}"
            )
        else:
            sentence = (
                "The server does not support byte ranges, so the whole file of "
                f"{size_text(self.size)} would have to be read, more than the limit of "
                f"{size_text(limit)} for the metadata of one file."
            )
        raise Unread("cost", sentence)
