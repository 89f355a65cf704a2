"""Reading many references: merged, several at a time, with progress and cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from time import monotonic

from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.core.text import size_text
from refexplorer.io.fetch.answers import ByteParts
from refexplorer.io.fetch.background import POLL, NoLoopError, Stopped, wait_for
from refexplorer.io.fetch.targets import (
    LocalFile,
    RangeOfKey,
    RangeRequest,
    Targets,
    complete,
    explanation,
    inline_bytes,
    merged,
)
from refexplorer.spec.references import Base64, Inline, Reference

CONCURRENCY = 24  # Requests at a time

Fetched = dict[str, bytes | RefexplorerError]  # The bytes of each key, or why there are none


@dataclass(frozen=True, slots=True)
class FetchProgress:
    """The progress of a fetch."""

    # chunks, chunk_count: References done, and all of them
    chunks: int
    chunk_count: int
    # bytes, byte_count: Bytes received for them, and the expected total; None if whole files
    # are among them, whose size is unknown in advance
    bytes: int
    byte_count: int | None

    def __str__(self) -> str:
        of = "" if self.byte_count is None else f" of {size_text(self.byte_count)}"
        return f"{size_text(self.bytes)}{of}"


Advance = Callable[[FetchProgress], bool]  # Called ten times a second and at the end; False stops
Arrived = Callable[[str, bytes | RefexplorerError], None]  # Called with a key and bytes or error


def fetch_many(
    targets: Targets,
    references: Mapping[str, Reference],
    advance: Advance = lambda progress: True,
    arrived: Arrived | None = None,
) -> Fetched:
    """Return the bytes of several references by key, or the error for each."""
    fetched: Fetched = {}
    run = _FetchRun(targets, references, advance, arrived or fetched.__setitem__)
    try:
        run.read_local()
        run.read_remote()
        run.report()
    except Stopped:
        pass
    return fetched


class _FetchRun:
    """One call of `fetch_many`."""

    def __init__(
        self,
        targets: Targets,
        references: Mapping[str, Reference],
        advance: Advance,
        arrived: Arrived,
    ) -> None:
        self._targets, self._advance, self._arrived = targets, advance, arrived
        self._done = set[str]()
        self._count = len(references)
        self._bytes = 0
        self._reported = 0.0
        self._place_of = cache(targets.policy.place)
        prepared = (self._prepared(key, reference) for key, reference in references.items())
        wanted = [each for each in prepared if each is not None]
        known = self._bytes + sum(each.end - each.start for each in wanted if each.end is not None)
        self._byte_count = None if any(each.end is None for each in wanted) else known
        if known > targets.limit:
            raise LimitError(
                f"{self._count:,} references have {known:,} bytes, more than the limit of "
                f"{targets.limit:,} for one read (`Limits.fetch_bytes`)."
            )
        requests = list(merged(wanted))
        self._local = [each for each in requests if each.place.protocol == "file"]
        self._remote = [each for each in requests if each.place.protocol != "file"]

    def read_local(self) -> None:
        """Read local files, each opened once."""
        for _, group in groupby(self._local, key=lambda request: request.place.url):
            requests = list(group)
            try:
                with self._targets.local.opened(requests[0].place) as file:
                    for request in requests:
                        self._read_local(file, request)
            except (OSError, RefexplorerError) as error:
                for request in requests:
                    self._fail(request, error)

    def read_remote(self) -> None:
        """Read all others, several requests at a time."""
        if not self._remote:
            return
        try:
            wait_for(self._read_remote(), self._goes_on)
        except NoLoopError as error:
            for request in self._remote:
                self._fail(request, error)

    def report(self) -> None:
        """Report the progress; raise `Stopped` if cancelled."""
        if not self._goes_on():
            raise Stopped

    def _prepared(self, key: str, reference: Reference) -> RangeOfKey | None:
        """Return the range to read; references that need no reading, or fail, are completed."""
        try:
            if isinstance(reference, Inline | Base64):
                self._keep(key, inline_bytes(key, reference))
                return None
            wanted = self._targets.range_of(key, reference, place_of=self._place_of)
        except RefexplorerError as error:
            self._done_with(key, error)
            return None
        if wanted.start == wanted.end:
            self._keep(key, b"")
            return None
        return wanted

    def _read_local(self, file: LocalFile, request: RangeRequest) -> None:
        try:
            data = file.read(request.start, request.end, self._targets.limit)
            self._finish(request, ByteParts([data], file.size))
        except (OSError, RefexplorerError) as error:
            self._fail(request, error)
        if monotonic() - self._reported >= POLL:
            self.report()

    async def _read_remote(self) -> None:
        requests = iter(self._remote)

        async def work() -> None:
            for request in requests:
                try:
                    data = await self._targets.read(request.place, request.start, request.end)
                except Exception as error:  # each protocol raises its own errors
                    self._fail(request, error)
                else:  # an error of the receiver is not a failure of the target
                    self._finish(request, data)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(CONCURRENCY, len(self._remote))):
                group.create_task(work())

    def _goes_on(self) -> bool:
        self._reported = monotonic()
        return self._advance(
            FetchProgress(len(self._done), self._count, self._bytes, self._byte_count)
        )

    def _finish(self, request: RangeRequest, data: ByteParts) -> None:
        for part in request.parts:
            try:
                self._keep(part.key, complete(part, request.cut(data, part), data.size))
            except RefexplorerError as error:
                self._done_with(part.key, error)

    def _keep(self, key: str, data: bytes) -> None:
        if self._bytes + len(data) > self._targets.limit:
            raise LimitError(
                f"{key} was dropped, because one read can use at most {self._targets.limit:,} "
                "bytes in total (`Limits.fetch_bytes`)."
            )
        self._bytes += len(data)
        self._done_with(key, data)

    def _fail(self, request: RangeRequest, error: Exception) -> None:
        for part in request.parts:
            if part.key not in self._done:
                self._done_with(part.key, explanation(part, error))

    def _done_with(self, key: str, found: bytes | RefexplorerError) -> None:
        self._done.add(key)
        self._arrived(key, found)
