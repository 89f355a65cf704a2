"""Reading the bytes that references point to."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from refexplorer.core.errors import (
    AccessError,
    DecodeError,
    FetchError,
    LimitError,
    RefexplorerError,
    cause_of,
)
from refexplorer.core.limits import Limits
from refexplorer.core.masking import secrets_of, without
from refexplorer.io.access.policy import AccessPolicy
from refexplorer.io.access.urls import Options, Place, StorageOptions, shown
from refexplorer.io.fetch.failures import (
    ByteParts,
    DeniedByServer,
    Facts,
    NotFoundError,
    ReadTime,
    TooLate,
    cause,
)
from refexplorer.io.fetch.local import LocalReader
from refexplorer.io.fetch.ranges import RangeOfKey, RequestBatcher
from refexplorer.spec.references import Base64, Inline, Range, Reference

if TYPE_CHECKING:
    from refexplorer.io.fetch.http import HttpReader
    from refexplorer.io.fetch.stores import RemoteReader

Answer = TypeVar("Answer")
_SILENCE = 1.0
"""Seconds in which no other read begins of a server that just sent nothing in all its time: those
that wait for their turn would wait as long, one after the other."""


class Targets:
    """Reads references; whatever reads a protocol is made after its first target was allowed."""

    def __init__(
        self, policy: AccessPolicy, storage_options: StorageOptions | None, limits: Limits
    ) -> None:
        self.policy = policy
        self.limit = limits.fetch_bytes
        self.seconds = limits.read_seconds
        self.local = LocalReader()
        self._options = Options(storage_options or {}, policy.location)
        self._connect()

    @property
    def storage_options(self) -> StorageOptions:
        """The options that it reads with."""
        return self._options.given

    def _connect(self) -> None:
        """Start without connections."""
        _all.add(self)
        self._readers: dict[str, HttpReader | RemoteReader] = {}
        self._gathering = RequestBatcher(self.read)
        self._silent: dict[tuple[str, str], tuple[float, TooLate]] = {}

    def __getstate__(self) -> dict[str, Any]:
        names = ("policy", "limit", "seconds", "local", "_options")
        return {name: self.__dict__[name] for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._connect()

    def fetch(
        self, key: str, reference: Reference, start: int = 0, end: int | None = None
    ) -> bytes:
        """Return the bytes of a reference, or a slice of them (offsets count from its start)."""
        if isinstance(reference, Inline | Base64):
            return inline_bytes(key, reference)[start:end]
        wanted = self.wanted(key, reference, start, end)
        if wanted.end == wanted.start:
            return b""
        try:
            data = self._read_now(wanted)
        except Exception as error:
            failure = explanation(wanted, error)
            raise failure from cause_of(failure, error)
        return complete(wanted, data.cut(), data.size)

    def wanted(
        self,
        key: str,
        reference: Reference,
        start: int = 0,
        end: int | None = None,
        place_of: Callable[[str], Place] | None = None,
    ) -> RangeOfKey:
        """Say which bytes of which target a reference, or a slice of it, needs."""
        url = None if isinstance(reference, Inline | Base64) else reference.url
        if url is None:
            raise FetchError(
                f"The reference of {key} names no target: it has to be given when "
                "the set is opened."
            )
        place = (place_of or self.policy.place)(url)
        if isinstance(reference, Range):
            stop = reference.length if end is None else min(end, reference.length)
            start, end = reference.offset + start, reference.offset + max(stop, start)
        elif end is not None:
            end = max(start, end)
        if end is not None and end - start > self.limit:
            raise LimitError(
                f"{key} refers to {end - start:,} bytes of {shown(url)}, more than the limit of "
                f"{self.limit:,} for one read (limits: fetch_bytes)."
            )
        return RangeOfKey(key, url, place, start, end)

    async def read(self, place: Place, start: int, end: int | None) -> ByteParts:
        """Return bytes of a target that is not local; runs on fsspec's event loop."""
        return await self._in_time(place, lambda reader: reader.read(place, start, end, self.limit))

    async def facts(self, place: Place) -> Facts:
        """Return the facts of a target without reading it; runs on fsspec's event loop."""
        if place.protocol == "file":
            return await asyncio.to_thread(self.local.facts, place)
        return await self._in_time(place, lambda reader: reader.facts(place))

    async def _in_time(
        self, place: Place, ask: Callable[[HttpReader | RemoteReader], Awaitable[Answer]]
    ) -> Answer:
        """Ask, and give up when the time is over; of many waiting reads one such wait is enough."""
        now, server = asyncio.get_running_loop().time, (place.protocol, place.authority)
        since, late = self._silent.get(server, (0.0, None))
        if late is not None and now() - since < _SILENCE:
            raise TooLate(str(late))  # an error that is raised twice keeps its first trace
        try:
            async with ReadTime(self.seconds):
                return await ask(self._reader(place))
        except TooLate as error:
            if not error.count:
                self._silent[server] = now(), error
            raise

    def _read_now(self, wanted: RangeOfKey) -> ByteParts:
        if wanted.place.protocol == "file":
            with self.local.opened(wanted.place) as file:
                return ByteParts([file.read(wanted.start, wanted.end, self.limit)], file.size)
        from refexplorer.io.fetch.background import wait_for

        return wait_for(self._gathering.get(wanted))

    def _reader(self, place: Place) -> HttpReader | RemoteReader:
        name = "http" if place.protocol in ("http", "https") else "store"
        if name not in self._readers:
            self._readers[name] = self._made(name)
        return self._readers[name]

    def _made(self, name: str) -> HttpReader | RemoteReader:
        if name == "http":
            from refexplorer.io.fetch.http import HttpReader

            return HttpReader(self.policy, self._options)
        from refexplorer.io.fetch.stores import RemoteReader

        return RemoteReader(self.policy, self._options)


_all: WeakSet[Targets] = WeakSet()
_inherited: list[object] = []


def _connect_anew() -> None:
    """Leave the connections to the process before, of which this one is a fork.

    They are kept, since closing one here would take it out of the epoll that both processes share:
    the other one would then wait for its bytes in vain.
    """
    for targets in list(_all):
        _inherited.append(targets._readers)
        targets._connect()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_connect_anew)


def inline_bytes(key: str, reference: Inline | Base64) -> bytes:
    """Return bytes that the set itself holds."""
    try:
        return reference.data
    except ValueError as error:
        form = "base64" if isinstance(reference, Base64) else "text"
        raise DecodeError(f"{key} is not valid {form}: {error}.") from None


def complete(wanted: RangeOfKey, data: bytes, size: int | None) -> bytes:
    """Return the bytes if they are all that was wanted."""
    if wanted.end is None or len(data) == wanted.end - wanted.start:
        return data
    failure = f"{wanted}: only {len(data):,} of {wanted.end - wanted.start:,} bytes were received"
    if size is None:
        raise FetchError(f"{failure}, and the size of the file is not known.")
    if wanted.end > size:
        raise FetchError(
            f"{failure}; the range reaches past the end of the file, which has {size:,} bytes."
        )
    raise FetchError(f"{failure}, although the file has {size:,} bytes.")


def explanation(wanted: RangeOfKey, error: Exception) -> RefexplorerError:
    """Return an error that names key, URL, range and cause."""
    if isinstance(error, AccessError):
        return error
    kept = LimitError, NotFoundError, DeniedByServer
    kind = next((each for each in kept if isinstance(error, each)), FetchError)
    failure = without(cause(error, wanted.place), secrets_of(wanted.place.url))
    return kind(f"{wanted}: {failure}.")
