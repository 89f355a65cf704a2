"""Byte ranges from fsspec file systems: S3, GCS, Azure, memory and others."""

from __future__ import annotations

import asyncio
import ftplib
import logging
import weakref
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from refexplorer.core.errors import FetchError
from refexplorer.io.access import OBJECT_STORES, AccessPolicy, Options, Place, parse
from refexplorer.io.fetch.answers import (
    HEAD,
    ByteParts,
    Facts,
    Versions,
    check_encoding,
    check_sent,
    check_start,
)
from refexplorer.io.fetch.background import start_thread
from refexplorer.io.fetch.failures import DeniedByServer, http_failure, note_bytes, too_long
from refexplorer.io.fetch.http import (
    check_addresses,
    follow_allowed,
    redirect_trace,
    s3_session_class,
)

_READS_AT_A_TIME = 24  # Reads at a time of a filesystem that is not asynchronous, each in a thread
_BROKEN_CONNECTION = (EOFError, ConnectionError, ftplib.Error)  # A server closed the connection
_USERS = frozenset({"user", "username", "password"})

Answer = TypeVar("Answer")


@dataclass(eq=False)
class _StoreConnection:
    """A file system, and how many reads it may do concurrently."""

    filesystem: Any
    turn: asyncio.Semaphore
    has_answered: bool = False


class RemoteReader:
    """Reads on fsspec's event loop; a file system is created when its first target is read.

    Each file system belongs to one authority (host and port): it is created from the URL as fsspec
    parses it, and options cannot name another. Retries are those of each file system. An
    ``endpoint_url`` comes only from the options, so from the caller, and no target can change it;
    or from an Icechunk repository, if its server is allowed by name.
    """

    def __init__(self, policy: AccessPolicy, options: Options) -> None:
        self._policy, self._options = policy, options
        self._versions = Versions()
        self._connections: dict[tuple[str, str], _StoreConnection] = {}
        self._making: dict[tuple[str, str], asyncio.Lock] = {}

    async def read(self, place: Place, start: int, end: int | None, limit: int) -> ByteParts:
        stop = start + limit + 1 if end is None else end
        data, version, size = await self._ask(
            place, lambda filesystem: read(filesystem, place.url, start, stop)
        )
        self._versions.check(place.url, version, size)
        if end is not None and len(data) > end - start:
            raise FetchError(
                f"the store sent {len(data):,} bytes, but {end - start:,} were requested"
            )
        if len(data) > limit:
            raise too_long(limit + 1, limit)
        if not start and place.protocol in OBJECT_STORES:
            check_start(data[:HEAD], place)
        return ByteParts([data], size)

    async def facts(self, place: Place) -> Facts:
        return await self._ask(place, lambda filesystem: facts(filesystem, place.url))

    async def filesystem(self, place: Place) -> Any:
        """Return the file system for a target, before any request to it."""
        return (await self._connect(place)).filesystem

    async def _ask(self, place: Place, ask: Callable[[Any], Awaitable[Answer]]) -> Answer:
        """Send a request to a file system."""
        with follow_allowed(self._policy):
            while True:
                connection = await self._connect(place)
                if connection.filesystem.async_impl:
                    return await ask(connection.filesystem)
                async with connection.turn:
                    if connection not in self._connections.values():
                        continue
                    try:
                        answer = await ask(connection.filesystem)
                    except (FileNotFoundError, PermissionError):
                        raise
                    except BaseException as error:  # also cancellation: bytes are still arriving
                        kept = self._connections.items()
                        self._connections = {k: each for k, each in kept if each is not connection}
                        if not (connection.has_answered and isinstance(error, _BROKEN_CONNECTION)):
                            raise
                    else:
                        connection.has_answered = True
                        return answer

    async def _connect(self, place: Place) -> _StoreConnection:
        import fsspec

        await asyncio.to_thread(fsspec.get_filesystem_class, place.protocol)
        if place.host:
            await check_addresses(self._policy, place)
        name, options = self._options.of(place)
        if endpoint := self._options.endpoint_of(place, self._policy):
            await check_addresses(self._policy, parse(endpoint))
            name, options = endpoint, options | {"endpoint_url": endpoint}
        key = name, _root(place, options)
        async with self._making.setdefault(key, asyncio.Lock()):
            if key not in self._connections:
                try:
                    made = await in_thread(_make_filesystem, key[1], place, name, options)
                except ftplib.error_perm as error:
                    raise DeniedByServer(
                        f"the server refuses the login ({str(error)[:3]})"
                        f"{self._options.withheld_text(place)}"
                    ) from None
                turns = (
                    1 if place.protocol == "ftp" else _READS_AT_A_TIME
                )  # ftplib has one connection
                connection = _StoreConnection(made, asyncio.Semaphore(turns))
                session = None if made.async_impl else getattr(made, "session", None)
                if session is not None:  # from `requests`, which leaves sockets open
                    weakref.finalize(connection, session.close)
                self._connections[key] = connection
            return self._connections[key]


def _root(place: Place, options: dict[str, Any]) -> str:
    """Return the URL of the server, with its user unless options name one."""
    own = place.host and not _USERS & options.keys()
    authority = urlsplit(place.url).netloc if own else place.authority
    return f"{place.protocol}://{authority}/"


def _make_filesystem(root: str, place: Place, name: str, options: dict[str, Any]) -> Any:
    """Return a file system created from the URL as fsspec parses it."""
    import fsspec

    if place.protocol == "webhdfs":  # it redirects, and fsspec follows anywhere
        raise FetchError("WebHDFS is not supported: its servers redirect readers to other servers")
    given = dict(options)
    if place.protocol == "s3":
        client = {"http_session_cls": s3_session_class()}  # it follows only allowed redirects
        given["config_kwargs"] = client | given.get("config_kwargs", {})
    elif place.protocol == "gs":
        given = gcs_options(given)
    elif not fsspec.get_filesystem_class(place.protocol).async_impl:
        given["skip_instance_cache"] = True  # the connection is not shared
    where = f"{place.protocol}://{place.authority}"
    advice = f'name the place, as in storage_options={{"{where}": …}}'
    try:
        made, _ = fsspec.url_to_fs(root, **{place.protocol: given})
    except TypeError as error:
        raise FetchError(
            f"the URL and the storage options must name exactly one server ({error}); {advice}"
        ) from None
    is_of_url = bool(made.storage_options.keys() - options.keys())
    is_shared = place.protocol in OBJECT_STORES or place.protocol == "memory"
    if options and name == place.protocol and not (is_of_url or is_shared):
        raise FetchError(
            f"the URL does not say which server the storage options of {name} are for; {advice}"
        )
    return made


# gcsfs logs each refusal with a traceback, which Python writes to stderr if no log is set up
logging.getLogger("gcsfs").addHandler(logging.NullHandler())

_PIECE = 2**20  # bytes of a body that are read before the deadline is checked
_STORED = "X-Goog-Stored-Content-Encoding"

TaggedBytes = tuple[bytes, str | None, int | None]  # Bytes, version and size, if known


def gcs_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options for gcsfs that prevent decompression of responses, unless requested."""
    given = options.get("session_kwargs", {})
    headers = {"Accept-Encoding": "identity"} | given.get("headers", {})
    traces = [*given.get("trace_configs", ()), redirect_trace()]
    kept = {"auto_decompress": False, **given, "headers": headers, "trace_configs": traces}
    return {**options, "session_kwargs": kept}


async def read(filesystem: Any, url: str, start: int, end: int) -> TaggedBytes:
    """Return the bytes from `start` to `end` of an object; raise errors of the file system."""
    if is_s3(filesystem):
        return await _read_s3(filesystem, url, start, end)
    if _is_gcs(filesystem):
        return await _read_gcs(filesystem, url, start, end)
    if filesystem.async_impl:
        return await filesystem._cat_file(url, start=start, end=end), None, None
    return await in_thread(filesystem.cat_file, url, start=start, end=end), None, None


async def facts(filesystem: Any, url: str) -> Facts:
    """Return the facts about an object."""
    if _is_gcs(filesystem):
        bucket, key, _ = filesystem.split_path(url)
        found = await _ask_gcs(filesystem, "b/{}/o/{}", bucket, key, json_out=True)
        return Facts(int(found["size"]), found.get("etag"), found.get("updated"))
    if filesystem.async_impl:
        found = await filesystem._info(url)
    else:
        found = await in_thread(filesystem.info, url)
    if found.get("type") == "directory":
        raise FileNotFoundError(url)
    etag = found.get("ETag") or found.get("etag")
    modified = found.get("LastModified") or found.get("created")
    return Facts(found.get("size"), etag and str(etag), modified and str(modified))


async def in_thread(call: Callable[..., Answer], *given: Any, **named: Any) -> Answer:
    """Call a blocking function in a thread that does not keep the program from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Answer] = loop.create_future()

    def answer(error: BaseException | None, found: Any) -> None:
        if future.done():  # the caller no longer waits
            return
        future.set_result(found) if error is None else future.set_exception(error)

    def work() -> None:
        error, found = None, None
        try:
            found = call(*given, **named)
        except Exception as raised:
            error = raised
        with suppress(RuntimeError):  # the loop is gone: the program ends
            loop.call_soon_threadsafe(answer, error, found)

    start_thread(work, "refexplorer-store")
    return await future


def is_s3(filesystem: Any) -> bool:
    """Return whether a file system reads S3."""
    return hasattr(filesystem, "_call_s3")


def _is_gcs(filesystem: Any) -> bool:
    return "gs" in filesystem.protocol and hasattr(filesystem, "_call")


async def _read_s3(filesystem: Any, url: str, start: int, end: int) -> TaggedBytes:
    from s3fs.core import _error_wrapper  # repeats a truncated read, as s3fs's own reads do

    bucket, key, version = filesystem.split_path(url)
    which = {"VersionId": version} if version else {}

    async def read() -> tuple[bytes, Any]:
        span = f"bytes={start}-{end - 1}"
        answer = await filesystem._call_s3(
            "get_object", Bucket=bucket, Key=key, Range=span, **which
        )
        pieces = list[bytes]()
        async with answer["Body"] as body:
            async for piece in body.iter_chunks(_PIECE):
                pieces.append(piece)
                note_bytes(len(piece))
        return b"".join(pieces), answer

    data, answer = await _error_wrapper(read, retries=filesystem.retries)
    size = check_sent(answer.get("ContentRange"), start, end, len(data))
    return data, answer.get("ETag"), size


async def _read_gcs(filesystem: Any, url: str, start: int, end: int) -> TaggedBytes:
    asked = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "gzip"}
    headers, data = await _ask_gcs(filesystem, filesystem.url(url), headers=asked)
    sent, stored = headers.get("Content-Encoding", ""), headers.get(_STORED, "")
    if sent != stored:
        check_encoding(_STORED, stored)
        check_encoding("Content-Encoding", sent)
    size = check_sent(headers.get("Content-Range"), start, end, len(data))
    return data, headers.get("X-Goog-Generation") or headers.get("ETag"), size


async def _ask_gcs(filesystem: Any, path: str, *names: str, **options: Any) -> Any:
    from gcsfs.retry import HttpError

    try:
        return await filesystem._call("GET", path, *names, **options)
    except HttpError as error:
        raise http_failure(int(error.code), error.message) from None
    except OSError as error:
        if str(error).startswith("Forbidden"):
            raise http_failure(403, None) from None
        raise
