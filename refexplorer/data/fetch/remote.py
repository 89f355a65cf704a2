"""Byte ranges of what fsspec's filesystems reach: S3, GCS, Azure, memory and others."""

from __future__ import annotations

import asyncio
import ftplib
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from refexplorer.data.access.policy import AccessPolicy
from refexplorer.data.access.storage_options import Options
from refexplorer.data.access.urls import OBJECT_STORES, Place
from refexplorer.data.fetch import versioned
from refexplorer.data.fetch.answers import HEAD, check_start
from refexplorer.data.fetch.facts import Facts, Versions
from refexplorer.data.fetch.failures import Denied, too_long
from refexplorer.data.fetch.pieces import Pieces
from refexplorer.data.fetch.redirects import check_addresses, follow_allowed, hdfs_proxy
from refexplorer.errors import FetchError

_READS_AT_A_TIME = 24
"""Reads at a time of a filesystem that is not asynchronous, each in a thread."""
_BROKEN_CONNECTION = (EOFError, ConnectionError, ftplib.Error)
"""What a connection says that a server closed, since it was not used for a while."""
_USERS = frozenset({"user", "username", "password"})

Answer = TypeVar("Answer")


@dataclass(eq=False)
class _FtpConnection:
    """A filesystem, and how many may read with it."""

    filesystem: Any
    turn: asyncio.Semaphore
    has_answered: bool = False


class RemoteReader:
    """Reads on fsspec's event loop; a filesystem is made when its first target is read.

    Each belongs to one authority: it is made with what fsspec takes from the URL, and options can
    name no other. Retries are those of each filesystem. An ``endpoint_url`` comes only from the
    options, so from who gives them, and no target can change it.

    Parameters
    ----------
    policy
        Asked for the addresses of hosts.
    options
        For `fsspec.filesystem`.
    """

    def __init__(self, policy: AccessPolicy, options: Options) -> None:
        self._policy = policy
        self._options = options
        self._versions = Versions()
        self._connections: dict[tuple[str, str], _FtpConnection] = {}
        self._making: dict[tuple[str, str], asyncio.Lock] = {}

    async def read(self, place: Place, start: int, end: int | None, limit: int) -> Pieces:
        """Return the bytes from `start` to `end` (None: to the end of the file).

        Raises
        ------
        AccessError
            If the host has an address that is not allowed, or a redirect leads to such a place.
        FetchError
            If S3 or GCS says that the object changed since it was read first, or sends something
            else than these bytes; of other stores, if more than these bytes come.
        LimitError
            If more than `limit` bytes come.
        """
        stop = start + limit + 1 if end is None else end
        data, version, size = await self._ask(
            place, lambda filesystem: versioned.read(filesystem, place.url, start, stop)
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
        return Pieces([data], size)

    async def facts(self, place: Place) -> Facts:
        """Return the facts of a file."""
        return await self._ask(place, lambda filesystem: versioned.facts(filesystem, place.url))

    async def filesystem(self, place: Place) -> Any:
        """Return the filesystem that reads a target; it was not asked anything yet.

        Raises
        ------
        AccessError
            If the host has an address that is not allowed.
        FetchError
            If none can be made, or the options do not say which place they are for.
        """
        return (await self._connect(place)).filesystem

    async def _ask(self, place: Place, ask: Callable[[Any], Awaitable[Answer]]) -> Answer:
        """Ask a filesystem.

        One whose connection broke is replaced, and asked once more if it had answered before.
        """
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
                    except BaseException as error:  # also who waits no more: bytes are on the way
                        self._forget(connection)
                        if not (connection.has_answered and isinstance(error, _BROKEN_CONNECTION)):
                            raise
                    else:
                        connection.has_answered = True
                        return answer

    def _forget(self, connection: _FtpConnection) -> None:
        self._connections = {
            key: each for key, each in self._connections.items() if each is not connection
        }

    async def _connect(self, place: Place) -> _FtpConnection:
        import fsspec

        await asyncio.to_thread(fsspec.get_filesystem_class, place.protocol)
        if place.host:
            await check_addresses(self._policy, place)
        name, options = self._options.of(place)
        key = name, _root(place, options)
        async with self._making.setdefault(key, asyncio.Lock()):
            if key not in self._connections:
                try:
                    made = await versioned.in_thread(_make_filesystem, key[1], place, name, options)
                except ftplib.error_perm as error:
                    raise Denied(
                        f"the server refuses the login ({str(error)[:3]})"
                        f"{self._options.withheld_text(place)}"
                    ) from None
                turns = (
                    1 if place.protocol == "ftp" else _READS_AT_A_TIME
                )  # ftplib has one connection
                connection = _FtpConnection(made, asyncio.Semaphore(turns))
                session = None if made.async_impl else getattr(made, "session", None)
                if session is not None:  # of requests, which leaves sockets open
                    weakref.finalize(connection, session.close)
                self._connections[key] = connection
            return self._connections[key]


def _root(place: Place, options: dict[str, Any]) -> str:
    """Return the URL of the server, with the user that it names unless options have one."""
    own = place.host and not _USERS & options.keys()
    authority = urlsplit(place.url).netloc if own else place.authority
    return f"{place.protocol}://{authority}/"


def _check_hdfs(name_node: str, response: Any, **_: object) -> None:
    """Refuse an error of a data node, which fsspec takes for data, and a redirect anywhere."""
    is_name_node = response.url.startswith(name_node)
    if response.is_redirect and not (is_name_node and "op=OPEN" in response.url):
        response.close()
        raise FetchError("the server redirects to another one, which is not followed")
    if not (is_name_node or response.ok):
        response.close()
        response.raise_for_status()


def _make_filesystem(root: str, place: Place, name: str, options: dict[str, Any]) -> Any:
    """Return a filesystem made with what fsspec takes from the URL."""
    import fsspec

    given = dict(options)
    if place.protocol == "s3":
        given = versioned.s3_options(given)
    elif place.protocol == "gs":
        given = versioned.gcs_options(given)
    elif not fsspec.get_filesystem_class(place.protocol).async_impl:
        given["skip_instance_cache"] = True  # the connection is used by nobody else
    if place.protocol == "webhdfs":
        given["data_proxy"] = hdfs_proxy(place, given.get("data_proxy"))
    where = f"{place.protocol}://{place.authority}"
    advice = f'name the place, as in storage_options={{"{where}": …}}'
    try:
        made, _ = fsspec.url_to_fs(root, **{place.protocol: given})
    except TypeError as error:
        raise FetchError(
            f"the URL and the storage options do not name one server ({error}); {advice}"
        ) from None
    is_of_url = bool(made.storage_options.keys() - options.keys())
    is_shared = place.protocol in OBJECT_STORES or place.protocol == "memory"
    if options and name == place.protocol and not (is_of_url or is_shared):
        raise FetchError(
            f"the URL does not say which server the storage options of {name} are for; {advice}"
        )
    if place.protocol == "webhdfs":
        made.session.hooks["response"].append(partial(_check_hdfs, made.url))
    return made
