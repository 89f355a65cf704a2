"""Byte ranges of what fsspec's filesystems reach: S3, GCS, Azure, memory and others."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from refexplorer.data.access.policy import AccessPolicy
from refexplorer.data.access.storage_options import Options
from refexplorer.data.access.urls import OBJECT_STORES, Place
from refexplorer.data.fetch import versioned
from refexplorer.data.fetch.answers import HEAD, check_start
from refexplorer.data.fetch.facts import Facts, Versions
from refexplorer.data.fetch.failures import too_long
from refexplorer.data.fetch.pieces import Pieces
from refexplorer.errors import FetchError


class RemoteReader:
    """Reads on fsspec's event loop; a filesystem is made when its first target is read.

    Retries are those of each filesystem. An ``endpoint_url`` comes only from the options, so
    from who gives them, and no target can change it.

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
        self._filesystems: dict[tuple[str, str], Any] = {}
        self._making = asyncio.Lock()

    async def read(self, place: Place, start: int, end: int | None, limit: int) -> Pieces:
        """Return the bytes from `start` to `end` (None: to the end of the file).

        Raises
        ------
        AccessError
            If the host has an address that is not allowed.
        FetchError
            If S3 or GCS says that the object changed since it was read first, or sends something
            else than these bytes; of other stores, if more than these bytes come.
        LimitError
            If more than `limit` bytes come.
        """
        stop = start + limit + 1 if end is None else end
        filesystem = await self.filesystem(place)
        data, version, size = await versioned.read(filesystem, place.url, start, stop)
        self._versions.check(place.url, version)
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
        return await versioned.facts(await self.filesystem(place), place.url)

    async def filesystem(self, place: Place) -> Any:
        """Return the filesystem that reads a target; it was not asked anything yet.

        Raises
        ------
        AccessError
            If the host has an address that is not allowed.
        """
        async with self._making:
            return await self._made(place)

    async def _made(self, place: Place) -> Any:
        import fsspec

        await asyncio.to_thread(fsspec.get_filesystem_class, place.protocol)
        if place.protocol not in OBJECT_STORES and place.host:
            for *_, address in await asyncio.to_thread(socket.getaddrinfo, place.host, None):
                found = str(address[0])
                self._policy.check_address(place.protocol, place.host, found, place.port)
        name, options = self._options.of(place)
        if (place.protocol, name) not in self._filesystems:
            if place.protocol == "gs":
                options = versioned.gcs_options(options)
            made = await asyncio.to_thread(fsspec.filesystem, place.protocol, **options)
            self._filesystems[place.protocol, name] = made
        return self._filesystems[place.protocol, name]
