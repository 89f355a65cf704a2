"""Byte ranges over HTTP, in one place: what is allowed is checked again at each connection."""

from __future__ import annotations

import asyncio
import re
import socket
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from fsspec.asyn import get_loop, sync

from refexplorer.data.access import AccessPolicy
from refexplorer.data.failures import too_long
from refexplorer.errors import FetchError

if TYPE_CHECKING:
    from aiohttp.client import ClientTimeout
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

_WORDS = {
    401: "the server wants a login (401)",
    403: "the server denies access (403)",
    404: "there is no such file (404)",
    410: "the file is gone (410)",
    416: "the file ends before this range (416)",
    429: "the server asks for fewer requests (429)",
}


class HttpReader:
    """Reads with one session, on fsspec's event loop, from any other thread.

    Parameters
    ----------
    policy
        Asked before each connection, so also for every redirect and for each address that
        a host name turns out to have.
    options
        As fsspec's: ``client_kwargs`` for the session, the rest for each request.
    """

    def __init__(self, policy: AccessPolicy, options: Mapping[str, Any]) -> None:
        self._policy = policy
        self._client = dict(options.get("client_kwargs", {}))
        self._request = {key: value for key, value in options.items() if key != "client_kwargs"}
        self._session: aiohttp.ClientSession | None = None

    def read(self, url: str, start: int, end: int | None, limit: int) -> bytes:
        """Return the bytes from `start` to `end` (None: to the end of the file).

        Raises
        ------
        AccessError
            If a redirect or an address leads to a place that is not allowed.
        FetchError
            If the server answers with anything else than these bytes.
        LimitError
            If more than `limit` bytes come.
        """
        data: bytes = sync(get_loop(), self._read, url, start, end, limit)
        return data

    async def _read(self, url: str, start: int, end: int | None, limit: int) -> bytes:
        headers = dict(self._request.get("headers", {}))
        # a compressed answer would be unpacked, and its offsets would be others
        headers |= {"Accept-Encoding": "identity"}
        if start or end is not None:
            headers["Range"] = f"bytes={start}-{'' if end is None else end - 1}"
        options = self._request | {"headers": headers}
        async with self._opened().get(url, **options) as response:
            if response.status not in (200, 206):
                raise FetchError(_WORDS.get(response.status) or _status(response))
            begin = _begin(response, start)
            wanted = None if end is None else end - begin
            body = await _body(response, wanted, limit)
        return body[start - begin : wanted]

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = _GuardedConnector(self._policy)
            self._session = aiohttp.ClientSession(connector=connector, **self._client)
            weakref.finalize(self, _close, self._session)
        return self._session


class _GuardedConnector(aiohttp.TCPConnector):
    def __init__(self, policy: AccessPolicy) -> None:
        super().__init__(resolver=_GuardedResolver(policy), use_dns_cache=False)
        self._policy = policy

    async def connect(
        self, req: ClientRequest, traces: list[Trace], timeout: ClientTimeout
    ) -> Connection:
        self._policy.check(str(req.url))
        return await super().connect(req, traces, timeout)


class _GuardedResolver(AbstractResolver):
    def __init__(self, policy: AccessPolicy) -> None:
        self._policy = policy
        self._names = aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._names.resolve(host, port, family)
        for result in found:
            self._policy.check_address("http", host, result["host"])
        return found

    async def close(self) -> None:
        await self._names.close()


def _begin(response: aiohttp.ClientResponse, start: int) -> int:
    """Return the offset of the first byte that comes: 0 if the server ignores ranges."""
    if response.status == 200:
        return 0
    said = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", f"bytes {start}-"))
    if said is None or int(said[1]) > start:
        raise FetchError("the server answered with another range than was asked for")
    return int(said[1])


async def _body(response: aiohttp.ClientResponse, wanted: int | None, limit: int) -> bytes:
    """Read `wanted` bytes and leave the rest, as a server that ignores ranges sends more."""
    announced = response.content_length or 0 if wanted is None else wanted
    if announced > limit:
        raise too_long(announced, limit)
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if wanted is not None and len(body) >= wanted:
            break
        if len(body) > limit:
            raise too_long(len(body), limit)
    return bytes(body)


def _status(response: aiohttp.ClientResponse) -> str:
    return f"the server answered {response.status} {response.reason}"


def _close(session: aiohttp.ClientSession) -> None:
    """Close on the session's own loop, without waiting: this runs in the garbage collector."""
    loop = get_loop()
    if loop.is_running():
        asyncio.run_coroutine_threadsafe(session.close(), loop)
