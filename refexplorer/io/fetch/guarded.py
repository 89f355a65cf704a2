"""Reading the reference set itself from a URL: one's own, or one typed by a visitor."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Awaitable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, TypeVar, cast

from fsspec import AbstractFileSystem, filesystem
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractBufferedFile

from refexplorer.core.errors import AccessError, LimitError, SlowSourceError, SourceError
from refexplorer.core.files import Progress
from refexplorer.core.limits import Limits
from refexplorer.formats.finding import DOCUMENTS, read_source
from refexplorer.formats.icechunk.facts import MARKS
from refexplorer.formats.other_files import PROBE, is_web, kind_of, refuse_early, refuse_zarr
from refexplorer.formats.source import Locate, Source, options_for
from refexplorer.io.access import (
    OBJECT_STORES,
    AccessPolicy,
    Options,
    Place,
    StorageOptions,
    is_private,
    is_public,
    parse,
    protocol_of,
    shown,
)
from refexplorer.io.fetch import stores as versioned
from refexplorer.io.fetch.answers import ByteParts
from refexplorer.io.fetch.background import NoLoopError, wait_for
from refexplorer.io.fetch.failures import (
    ReadTime,
    TooLate,
    cause,
    connection_failure,
    lacks_credentials,
)
from refexplorer.io.fetch.http import HttpReader
from refexplorer.io.fetch.stores import RemoteReader
from refexplorer.io.fetch.targets import open_resolved

_PIECE = 2**20  # bytes that are copied before the limit is checked
_BULK = ("chunks",)  # The folder of an Icechunk repository that contains only data


class GuardedFiles:
    """Opens what a policy allows, always at the exact path that the policy checked."""

    guarded = True

    def __init__(self, policy: AccessPolicy) -> None:
        self._policy = policy

    def place(self, name: str) -> Path:
        return Path(self._policy.allowed(name).path)

    def open(self, path: str) -> BinaryIO:
        """Open a file at its current resolved path, if that may be read."""
        try:
            return open_resolved(self._policy.place(path).path)
        except AccessError:
            why = "it leads outside what this page may open"
            raise PermissionError(errno.EACCES, why, path) from None

    def filesystem(self) -> LocalFileSystem:
        """Return the files as an fsspec file system."""
        return _GuardedFileSystem(self)

    @contextmanager
    def unchanging(self, folder: Path, limits: Limits) -> Iterator[Path]:
        """Yield a copy of the metadata of an Icechunk repository, as the package follows links."""
        with TemporaryDirectory(prefix="refexplorer-") as copy:
            rest = limits.document_bytes
            for name in _names(folder, _BULK):
                target = Path(copy) / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with self.open(str(folder / name)) as source, target.open("wb") as file:
                    while piece := source.read(_PIECE):
                        rest -= len(piece)
                        if rest < 0:
                            raise LimitError(
                                f"The metadata of {folder.name} has more than "
                                f"{limits.document_bytes:,} bytes; `Limits.document_bytes` "
                                "raises the limit."
                            )
                        file.write(piece)
            yield Path(copy)


class _GuardedFileSystem(LocalFileSystem):  # type: ignore[misc]
    """Guarded files as an fsspec file system, read-only."""

    cachable = False

    def __init__(self, files: GuardedFiles) -> None:
        super().__init__()
        self._files = files

    def _open(self, path: str, mode: str = "rb", **_: Any) -> BinaryIO:
        return self._files.open(path)

    def find(self, path: str, *_: Any, **__: Any) -> list[str]:
        return [str(Path(path) / name) for name in _names(Path(path))]


def _names(folder: Path, without: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the files below a folder, relative to it, in order."""
    for place, folders, names in os.walk(folder):
        inner = Path(place).relative_to(folder)
        folders[:] = sorted(set(folders).difference(without if place == str(folder) else ()))
        yield from ((inner / name).as_posix() for name in sorted(names))


_BLOCK = 2**23  # bytes that a file read in sequence fetches ahead
Answer = TypeVar("Answer")


def _wait_in_time(path: str, seconds: float, work: Awaitable[Answer]) -> Answer:
    """Wait for a read, which ends when no bytes arrive for too long."""

    async def in_time() -> Answer:
        async with ReadTime(seconds):
            return await work

    try:
        return wait_for(in_time())
    except TooLate as error:
        raise SlowSourceError(f"{shown(path)} cannot be read: {error}.") from None


class StoreFiles(AbstractFileSystem):  # type: ignore[misc]
    """Reads with another file system; a read that takes too long is cancelled."""

    cachable = False

    def __init__(
        self, filesystem: AbstractFileSystem, seconds: float, place: Place | None = None
    ) -> None:
        super().__init__()
        self.protocol = filesystem.protocol
        self._place = place  # The typed location, for advice on credentials
        self._filesystem, self._seconds = filesystem, seconds

    def info(self, path: str, **named: Any) -> dict[str, Any]:
        return cast(dict[str, Any], self._ask("info", path, **named))

    def exists(self, path: str, **named: Any) -> bool:
        return bool(self._ask("exists", path, **named))

    def ls(self, path: str, detail: bool = True, **named: Any) -> list[Any]:
        return cast(list[Any], self._ask("ls", path, detail=detail, **named))

    def find(self, path: str, **named: Any) -> Any:
        return self._ask("find", path, **named)

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **named: Any
    ) -> bytes:
        if versioned.is_s3(self._filesystem) and end is not None and not named:
            # which counts each piece, so a slow connection is not taken for a stalled one
            work = versioned.read(self._filesystem, path, start or 0, end)
            return cast(bytes, self._in_time(path, work)[0])
        return cast(bytes, self._ask("cat_file", path, start=start, end=end, **named))

    def _open(self, path: str, mode: str = "rb", **named: Any) -> Any:
        size = self.info(path).get("size")
        if size is None:
            return io.BytesIO(self.cat_file(path))
        return AbstractBufferedFile(self, path, mode, size=size, **{"block_size": _BLOCK} | named)

    def _ask(self, name: str, *given: Any, **named: Any) -> Any:
        filesystem = self._filesystem
        if filesystem.async_impl:
            work = getattr(filesystem, f"_{name}")(*given, **named)
        else:
            work = versioned.in_thread(getattr(filesystem, name), *given, **named)
        return self._in_time(given[0], work)

    def _in_time(self, path: str, work: Awaitable[Any]) -> Any:
        try:
            return _wait_in_time(path, self._seconds, work)
        except Exception as error:
            if (place := self._place) is None:
                raise
            start = f"{shown(place.url)} cannot be read:"
            if isinstance(error, PermissionError) or lacks_credentials(error):
                raise _DeniedError(f"{start} {cause(error, place)}.") from None
            if (said := connection_failure(error, place)) is None:
                raise
            raise SourceError(f"{start} {said}.") from None

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path


class _DeniedError(SourceError, PermissionError):
    """A store requires authentication; the sentence names the option for it."""


_LOCAL = ("memory", ("file", "local"))  # Protocols of filesystems that need no server


def read_guarded(
    source: str, policy: AccessPolicy, limits: Limits, progress: Progress | None = None
) -> Source:
    """Find and read a source chosen by someone else, if the policy allows it."""
    files = GuardedFiles(policy)
    locate = _guarded(policy, limits)
    is_path = protocol_of(source) in (None, "file")
    return read_source(
        source, None, limits, locate, files=files, progress=progress, is_path=is_path
    )


def _guarded(policy: AccessPolicy, limits: Limits) -> Locate:
    """Return the reader of a URL; stores are read anonymously."""
    options = Options({}, None)

    def locate(url: str) -> tuple[AbstractFileSystem, str]:
        place = policy.place(url)
        if place.protocol in ("http", "https"):
            return _HttpFiles(policy, options, limits), place.url
        found = wait_for(RemoteReader(policy, options).filesystem(place))
        return StoreFiles(found, limits.read_seconds), found._strip_protocol(place.url)

    return locate


def typed(options: StorageOptions, limits: Limits) -> Locate:
    """Return the reader of a typed URL; on a web server, it makes one request."""

    def locate(url: str) -> tuple[AbstractFileSystem, str]:
        if not is_web(url):
            given, place = options_for(url, options), None
            if "::" not in url and protocol_of(url) in OBJECT_STORES:
                place = parse(url)
                given = Options(options, url).of(place)[1]  # without the user's credentials
            found, path = url_to_fs(url, **given)
            is_local = "::" in url or found.protocol in _LOCAL
            return found if is_local else StoreFiles(found, limits.read_seconds, place), path
        policy = _TypedPolicy(url)
        place = policy.place(url)
        files = _HttpFiles(policy, Options(options, url), limits)
        if not place.path.endswith(DOCUMENTS) and files.has(f"{url.rstrip('/')}/.zmetadata"):
            given = Options(options, url).of(place)[1]
            return StoreFiles(filesystem(place.protocol, **given), limits.read_seconds), url
        return files, place.url

    return locate


class _TypedPolicy(AccessPolicy):
    """Allows the typed server, wherever it is, and public locations that it redirects to."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._host = parse(url).host

    def place(self, url: str) -> Place:
        place = parse(url)
        if not (place.host == self._host or is_public(place)):
            raise _led_inside(place.host, url)
        return place

    def check_address(
        self, protocol: str, host: str, address: str, port: int | None = None
    ) -> None:
        if host != self._host and is_private(address):
            raise _led_inside(address, f"{protocol}://{host}")


def _led_inside(host: str, url: str) -> AccessError:
    return AccessError(
        f"The server redirects to {shown(url)}, which is inside this machine or network "
        f"({host}); to read it, open that URL directly.",
        target=url,
    )


class _HttpFiles(AbstractFileSystem):  # type: ignore[misc]
    """The files of HTTP servers, by URL, as permitted by a policy."""

    protocol = ("http", "https")
    cachable = False

    def __init__(self, policy: AccessPolicy, options: Options, limits: Limits) -> None:
        super().__init__()
        self._policy = policy
        self._reader = HttpReader(policy, options, documents=True)
        self._limit, self._seconds = limits.document_bytes, limits.read_seconds
        self._sizes: dict[str, int] = {}
        self._kept: dict[str, bytes] = {}

    def has(self, path: str) -> bool:
        place = self._policy.place(path)
        try:
            self._asked(place, self._reader.facts(place))
        except SlowSourceError:
            raise
        except SourceError:
            return False
        return True

    def info(self, path: str, **_: object) -> dict[str, Any]:
        return {"name": path, "type": "file", "size": self._sizes.get(path)}

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: object
    ) -> bytes:
        place, start = self._policy.place(path), start or 0
        return self._asked(place, self._reader.read(place, start, end, self._limit)).cut()

    def exists(self, path: str, **_: object) -> bool:
        if path.removesuffix("/.zmetadata").endswith((".parq", ".parquet", "/.zmetadata")):
            raise SourceError(
                f"{shown(path)} is part of a parquet store, which cannot be listed on a web "
                "server; open a copy on disk or in a bucket."
            )
        return path.endswith(tuple(f"/{name}" for name in MARKS)) and self.has(path)

    def _open(self, path: str, mode: str = "rb", **_: object) -> io.BytesIO:
        place, begun = self._policy.place(path), b""
        if path in self._kept:
            return io.BytesIO(self._kept.pop(path))
        if not place.path.endswith(DOCUMENTS):
            head = self._probe(place)
            if kind_of(head.cut(0, PROBE)) is not None:
                self._note_size(place)
                return io.BytesIO(head.cut(0, PROBE))
            if head.size is not None and head.size <= PROBE:
                return io.BytesIO(head.cut())
            if head.size is not None:
                begun = head.cut()  # not read again
        try:
            most = self._limit - len(begun)
            data = self._asked(place, self._reader.read(place, len(begun), None, most))
        except LimitError:
            raise LimitError(
                f"{shown(path)} has more than {self._limit:,} bytes; `Limits.document_bytes` "
                "raises the limit."
            ) from None
        whole = begun + data.cut()
        if not place.path.endswith(DOCUMENTS):
            self._kept[path] = whole  # it is opened to find its format, then to be read
        return io.BytesIO(whole)

    def _note_size(self, place: Place) -> None:
        facts = self._asked(place, self._reader.facts(place))
        if not facts.ranges or facts.size is None:
            raise SourceError(
                f"{shown(place.url)} is a data file on a server that sends no byte ranges, so "
                "that no chunk of it could be read alone; download it and open the copy."
            )
        self._sizes[place.url] = facts.size

    def _probe(self, place: Place) -> ByteParts:
        url = place.url.rstrip("/")
        name = url.rpartition("/")[2]
        try:
            head = self._asked(place, self._reader.read(place, 0, PROBE, self._limit))
            if kind_of(head.cut(0, PROBE)) is None:
                refuse_early(name, head.cut(0, PROBE))
        except SourceError:
            refuse_zarr(name, lambda key: self.has(f"{url}/{key}"))
            raise
        return head

    def _asked(self, place: Place, work: Coroutine[Any, Any, Answer]) -> Answer:
        try:
            return _wait_in_time(place.url, self._seconds, work)
        except (AccessError, LimitError, SlowSourceError):
            raise
        except Exception as error:
            if isinstance(error, NoLoopError):
                work.close()  # it was never started
            raise SourceError(
                f"{shown(place.url)} cannot be read: {cause(error, place)}."
            ) from None

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path
