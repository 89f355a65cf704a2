"""The bytes of references: from local files, or from requests for merged ranges."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar
from weakref import WeakSet

from refexplorer.core.errors import (
    AccessError,
    DecodeError,
    FetchError,
    InternalError,
    LimitError,
    RefexplorerError,
    cause_of,
)
from refexplorer.core.limits import Limits
from refexplorer.core.text import masks_repr, secrets_of, without
from refexplorer.io.access import AccessPolicy, Options, Place, StorageOptions, shown
from refexplorer.io.fetch.answers import ByteParts, Facts, Versions
from refexplorer.io.fetch.failures import (
    ChangedError,
    DeniedByServer,
    NoReference,
    NotFoundError,
    ReadTime,
    ShortFileError,
    TooLate,
    cause,
    is_denied,
    rejection_text,
    too_long,
)
from refexplorer.spec.references import Base64, Inline, Range, Reference
from refexplorer.spec.zarr_metadata import is_metadata

if TYPE_CHECKING:
    from refexplorer.io.fetch.http import HttpReader
    from refexplorer.io.fetch.stores import RemoteReader
    from refexplorer.refset.opened_set import SetLike

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY)  # A folder need not be readable to pass through it


def open_resolved(path: str) -> BinaryIO:
    """Open a regular file by a path that was resolved and checked; links are not followed."""
    # No link is followed: a link that is there now was created since, and would point to an
    # unchecked file.
    descriptor = _descriptor(path)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _descriptor(path: str) -> int:
    if os.open not in os.supports_dir_fd:  # Windows
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        if os.path.realpath(path) == path:
            return descriptor
        os.close(descriptor)
        raise OSError(errno.ELOOP, "it was replaced by a link while it was opened", path)
    *folders, name = PurePath(path).parts[1:]
    at = os.open(os.sep, _FOLDER | os.O_DIRECTORY)
    try:
        for folder in folders:
            above, at = at, os.open(folder, _FOLDER | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(above)
        # A pipe would wait for a writer here.
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
    finally:
        os.close(at)


class LocalReader:
    """Reads immediately, in the calling thread."""

    def __init__(self) -> None:
        self._versions = Versions()

    @contextmanager
    def opened(self, place: Place) -> Iterator[LocalFile]:
        """Open a file for one or several reads."""
        with open_resolved(place.path) as file:
            found = os.fstat(file.fileno())
            self._versions.check(place.path, f"{found.st_size} bytes of {_modified(found)}")
            yield LocalFile(file, found.st_size)

    def facts(self, place: Place) -> Facts:
        """Return the facts about a file; OSError if there is none."""
        with open_resolved(place.path) as file:
            found = os.fstat(file.fileno())
        inode = 0 if os.name == "nt" else found.st_ino
        tag = f"{inode:x}-{found.st_mtime_ns // 1000:x}-{found.st_size:x}"
        return Facts(found.st_size, modified=_modified(found), disk_tag=tag)


class LocalFile:
    """An open file of known size in bytes."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self.size = file, size

    def read(self, start: int, end: int | None, limit: int) -> bytes:
        """Return the bytes from `start` to `end`; nothing past the end is requested."""
        stop = self.size if end is None else min(end, self.size)
        if stop - start > limit:
            raise too_long(self.size, limit)
        if stop <= start:
            return b""
        self._file.seek(start)
        return self._file.read(stop - start)


def _modified(found: os.stat_result) -> str:
    return datetime.fromtimestamp(found.st_mtime, UTC).isoformat()


MERGE_GAP = 2**16  # Unneeded bytes that are read to save a request
MERGE_BYTES = 2**23  # Most bytes of a merged request, which may have to be repeated


@masks_repr
@dataclass(frozen=True, slots=True)
class RangeOfKey:
    """The byte range of a key."""

    # key, url: As in the set
    key: str
    url: str
    place: Place  # The location of the URL
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
        """Add a range that starts at `start` or later, if it fits."""
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
        stop = None if part.end is None else part.end - self.start
        return data.cut(part.start - self.start, stop)


def merged(wanted: Iterable[RangeOfKey]) -> Iterator[RangeRequest]:
    """Yield requests for the ranges: adjacent or nearly adjacent ranges share one."""
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


BATCH_DELAY = 0.002  # Seconds that a read waits for others to merge with

ReadRange = Callable[[Place, int, int | None], Awaitable[ByteParts]]


class RequestBatcher:
    """Collects reads on fsspec's event loop."""

    def __init__(self, read: ReadRange) -> None:
        self._read = read
        self._waiting: dict[asyncio.Future[ByteParts], RangeOfKey] = {}

    async def get(self, wanted: RangeOfKey) -> ByteParts:
        """Return bytes of a target; the request is cancelled when nobody waits for it any more."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[ByteParts] = loop.create_future()
        if not self._waiting:
            loop.call_later(BATCH_DELAY, self._send)
        self._waiting[future] = wanted
        return await future

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, {}
        # by identity: requests for the same bytes are equal, and both need a response
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
        except Exception as error:  # each protocol raises its own errors
            for future in futures:
                if not future.done():
                    future.set_exception(error)
            return
        for part, future in zip(request.parts, futures, strict=True):
            if not future.done():
                future.set_result(ByteParts([request.cut(data, part)], data.size))


def _end(task: asyncio.Future[None], futures: list[asyncio.Future[ByteParts]], _: object) -> None:
    """Cancel a request if nobody waits for it any more; no effect on a finished one."""
    if all(future.done() for future in futures):
        task.cancel()


Answer = TypeVar("Answer")
_SILENCE = 1.0  # Seconds without new reads from a server that did not respond in time


class Targets:
    """Reads references; the reader of a protocol is created after its first target was allowed."""

    def __init__(
        self, policy: AccessPolicy, storage_options: StorageOptions | None, limits: Limits
    ) -> None:
        self.policy, self.limit = policy, limits.fetch_bytes
        self.seconds = limits.read_seconds
        self.local = LocalReader()
        self._options = Options(storage_options or {}, policy.location, policy.endpoints)
        self._connect()

    @property
    def storage_options(self) -> StorageOptions:
        """The options used for reading."""
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
        """Return the bytes of a reference, or a slice of them (offsets relative to its start)."""
        if isinstance(reference, Inline | Base64):
            return inline_bytes(key, reference)[start:end]
        wanted = self.range_of(key, reference, start, end)
        if wanted.end == wanted.start:
            return b""
        try:
            data = self._read_now(wanted)
        except Exception as error:
            failure = explanation(wanted, error)
            raise failure from cause_of(failure, error)
        return complete(wanted, data.cut(), data.size)

    def range_of(
        self,
        key: str,
        reference: Reference,
        start: int = 0,
        end: int | None = None,
        place_of: Callable[[str], Place] | None = None,
    ) -> RangeOfKey:
        """Return the target and byte range for a reference, or a slice of it."""
        url = None if isinstance(reference, Inline | Base64) else reference.url
        if url is None:
            raise FetchError(
                f"The reference of {key} has no URL: pass the target when you open the set."
            )
        place = (place_of or self.policy.place)(url)
        self._options.endpoint_of(place, self.policy)
        if isinstance(reference, Range):
            stop = reference.length if end is None else min(end, reference.length)
            start, end = reference.offset + start, reference.offset + max(stop, start)
        elif end is not None:
            end = max(start, end)
        if end is not None and end - start > self.limit:
            raise LimitError(
                f"{key} refers to {end - start:,} bytes of {shown(url)}, more than the limit of "
                f"{self.limit:,} for one read (`Limits.fetch_bytes`)."
            )
        return RangeOfKey(key, url, place, start, end)

    async def read(self, place: Place, start: int, end: int | None) -> ByteParts:
        """Return bytes of a remote target; runs on fsspec's event loop."""
        return await self._in_time(place, lambda reader: reader.read(place, start, end, self.limit))

    async def facts(self, place: Place) -> Facts:
        """Return the facts about a target without reading it; runs on fsspec's event loop."""
        if place.protocol == "file":
            return await asyncio.to_thread(self.local.facts, place)
        return await self._in_time(place, lambda reader: reader.facts(place))

    async def _in_time(
        self, place: Place, ask: Callable[[HttpReader | RemoteReader], Awaitable[Answer]]
    ) -> Answer:
        """Send a request with a time limit; one limit suffices for many waiting reads."""
        now, server = asyncio.get_running_loop().time, (place.protocol, place.authority)
        since, late = self._silent.get(server, (0.0, None))
        if late is not None and now() - since < _SILENCE:
            raise TooLate(str(late))  # an error raised twice would keep its first traceback
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


def _reconnect() -> None:
    """Leave the connections to the parent process after a fork; closing them would disturb it."""
    # They are kept, since closing one here would remove it from the epoll that both processes
    # share: the other one would then wait for its bytes forever.
    for targets in list(_all):
        _inherited.append(targets._readers)
        targets._connect()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reconnect)


def reference_of(refs: SetLike, key: str) -> Reference:
    """Return the reference of a key; `NoReference` if there is none, `FetchError` if rejected."""
    reference = refs.get(key)
    if reference is not None:
        return reference
    if (error := refs.rejection(key)) is not None:
        raise FetchError(rejection_text(error))
    if key in refs:
        raise InternalError(
            f"The set lists {key}, but looking it up does not find it; this "
            "is a bug in refexplorer, please report it."
        )
    if not is_metadata(key):  # Zarr asks for names of metadata that no set has
        from refexplorer.refset.opened_set import internals, require_lookup  # loads Arrow

        require_lookup(internals(refs).opened)
    raise NoReference(key)


def inline_bytes(key: str, reference: Inline | Base64) -> bytes:
    try:
        return reference.data
    except ValueError as error:
        form = "base64" if isinstance(reference, Base64) else "text"
        raise DecodeError(f"{key} is not valid {form}: {error}.") from None


def complete(wanted: RangeOfKey, data: bytes, size: int | None) -> bytes:
    if wanted.end is None or len(data) == wanted.end - wanted.start:
        return data
    failure = f"{wanted}: only {len(data):,} of {wanted.end - wanted.start:,} bytes were received"
    if size is None:
        raise ShortFileError(f"{failure}, and the size of the file is not known.")
    if wanted.end > size:
        raise ShortFileError(
            f"{failure}; the range reaches past the end of the file, which has {size:,} bytes."
        )
    raise ShortFileError(f"{failure}, although the file has {size:,} bytes.")


def explanation(wanted: RangeOfKey, error: Exception) -> RefexplorerError:
    """Return an error that names key, URL, range and cause."""
    if isinstance(error, AccessError):
        return error
    kept = LimitError, NotFoundError, ChangedError
    kind: type[LimitError | FetchError] = next(
        (each for each in kept if isinstance(error, each)), FetchError
    )
    if is_denied(error):
        kind = DeniedByServer
    failure = without(cause(error, wanted.place, wanted.url), secrets_of(wanted.place.url))
    return kind(f"{wanted}: {failure}.")
