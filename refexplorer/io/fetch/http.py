"""Byte ranges over HTTP: the access policy is checked again at each redirect."""

from __future__ import annotations

import asyncio
import random
import socket
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, ParamSpec, TypeVar

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from fsspec.asyn import get_loop
from yarl import URL

from refexplorer.core.errors import AccessError, FetchError, RefexplorerError
from refexplorer.io.access import AccessPolicy, Options, Place, default_port, protocol_of, shown
from refexplorer.io.fetch.answers import (
    HEAD,
    SELF_DESCRIBING,
    START,
    TEXT,
    ByteParts,
    ContentRange,
    Facts,
    TruncatedAnswer,
    Versions,
    check_body_length,
    check_encoding,
    check_start,
    check_type,
    check_whole,
    is_text,
    part_of,
)
from refexplorer.io.fetch.failures import (
    DeniedByServer,
    TransientError,
    http_failure,
    note_bytes,
    retry_after,
    too_long,
)

_policy: ContextVar[AccessPolicy | None] = ContextVar("policy", default=None)
"""The policy of the current read: file systems and sessions are shared."""


class _RefusedRedirect(BaseException):
    """Raised to end a request whose library would catch any other error and retry."""

    def __init__(self, refusal: RefexplorerError) -> None:
        super().__init__()
        self.refusal = refusal


@contextmanager
def follow_allowed(policy: AccessPolicy) -> Iterator[None]:
    """Let the enclosed requests follow only redirects that a policy allows."""
    token = _policy.set(policy)
    try:
        yield
    except _RefusedRedirect as refused:
        raise refused.refusal from None
    finally:
        _policy.reset(token)


def redirect_target(response: aiohttp.ClientResponse, location: str) -> str:
    """Return the target of a redirect, never a local file: no grant may follow from it."""
    try:
        url = str(response.url.join(URL(location)))
    except ValueError:
        raise FetchError("the server redirects to an invalid URL") from None
    if protocol_of(url) not in ("http", "https"):
        raise FetchError(
            f"the server redirects to {shown(url)}, but only http and https are followed"
        )
    return url


class _GuardedResolver(AbstractResolver):
    """Resolves to addresses that a policy has checked."""

    # The checked address is the one connected to, so no second look-up can change it.

    def __init__(self, policy: AccessPolicy) -> None:
        self._policy = policy
        self._names = aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._names.resolve(host, port, family)
        for result in found:
            protocol = "https" if port == default_port("https") else "http"
            self._policy.check_address(protocol, host, result["host"], port)
        return found

    async def close(self) -> None:
        await self._names.close()


async def check_addresses(policy: AccessPolicy, place: Place) -> None:
    """Raise `AccessError` if the host of a target resolves to an address that is not allowed."""
    for *_, address in await asyncio.to_thread(socket.getaddrinfo, place.host, None):
        policy.check_address(place.protocol, place.host, str(address[0]), place.port)


async def _ask_policy(
    session: object, context: object, redirect: aiohttp.TraceRequestRedirectParams
) -> None:
    """Reject a redirect to another host that is not allowed, before it is followed."""
    headers, policy = redirect.response.headers, _policy.get()
    location = headers.get("Location") or headers.get("URI")
    if location is None:
        return
    try:
        url = redirect_target(redirect.response, location)
        if URL(url).origin() == redirect.response.url.origin():
            return
        if policy is None:
            raise AccessError(f"The store redirects to {shown(url)}.", target=url)
        await check_addresses(policy, policy.place(url))
    except RefexplorerError as error:
        if policy is None:
            raise
        raise _RefusedRedirect(error) from None


@cache
def redirect_trace() -> aiohttp.TraceConfig:
    """Return a trace configuration that makes an aiohttp session ask the policy."""
    trace = aiohttp.TraceConfig()
    trace.on_request_redirect.append(_ask_policy)
    trace.freeze()
    return trace


@cache
def s3_session_class() -> type[Any]:
    """Return a class of S3 sessions that ask the policy."""
    from aiobotocore.httpsession import AIOHTTPSession

    class S3Session(AIOHTTPSession):  # type: ignore[misc]
        async def _get_session(self, proxy_url: str | None) -> aiohttp.ClientSession:
            # the session has no public name; a test uses a store that redirects
            session: aiohttp.ClientSession = await super()._get_session(proxy_url)
            if redirect_trace() not in session.trace_configs:
                session.trace_configs.append(redirect_trace())
            return session

    return S3Session


# sock_read sets a timer for each piece that comes: for 1,000 ranges of 64 kB that took 1.02 times
# the processor time of a timer of our own, which is within the noise
TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=30)
"""Seconds without any byte; a large file over a slow line may take as long as it needs."""
ATTEMPTS = 4  # requests for one range, the first among them, until its failure is reported
FIRST_WAIT, LONGEST_WAIT = 0.25, 8.0
"""Seconds before a retry: a random part of a time that doubles up to a limit, so requests that
failed together are not repeated together."""
LONGEST_ASKED = 30.0  # Longest additional wait that a server may ask for
REDIRECTS = 10  # As many as aiohttp follows itself; here the access policy is asked before each
Answer = TypeVar("Answer")
Asked = ParamSpec("Asked")
_REDIRECTED = frozenset({301, 302, 303, 307, 308})
# 2^64 has 20 digits; a server could send any number of them, and `int` rejects more than 4,300
_DIGITS = 20
_BUFFER = 2**20  # Bytes buffered in memory before a server is paused
# in a decompressed response, the offsets of a reference would point to other bytes
_CLIENT: dict[str, Any] = {"timeout": TIMEOUT, "read_bufsize": _BUFFER, "auto_decompress": False}
_FILESYSTEM = frozenset({
    "client_kwargs", "get_client", "simple_links", "block_size", "same_scheme", "encoded",
    "size_policy", "cache_type", "cache_options", "asynchronous", "loop", "skip_instance_cache",
    "use_listings_cache", "listings_expiry_time", "max_paths",
})  # fmt: skip
"""Options for fsspec's file system that do not affect requests."""
_TRANSIENT = (
    TransientError, TimeoutError, ConnectionError, aiohttp.ServerDisconnectedError,
    aiohttp.ClientPayloadError, aiohttp.ClientOSError,
)  # fmt: skip
"""Errors after which a retry may succeed."""
_LASTING = (aiohttp.ClientSSLError, ConnectionRefusedError)  # Those that a retry cannot fix


class HttpReader:
    """Reads on fsspec's event loop, with one session per set of options."""

    def __init__(self, policy: AccessPolicy, options: Options, documents: bool = False) -> None:
        self._policy, self._options, self._documents = policy, options, documents
        self._versions = Versions()
        self._begun: set[str] = set()
        self._sessions: dict[str, tuple[aiohttp.ClientSession, dict[str, Any]]] = {}

    async def read(self, place: Place, start: int, end: int | None, limit: int) -> ByteParts:
        return await _retry(self._read, place, start, end, limit)

    async def facts(self, place: Place) -> Facts:
        """Return the facts about a file; its first bytes are read, as some servers reject HEAD."""
        return await _retry(self._facts, place)

    async def _read(self, place: Place, start: int, end: int | None, limit: int) -> ByteParts:
        response, asked = await self._answer(place, start, end)
        try:
            self._refuse(response, start, asked, place)
            self._check_form(response, place, pages=self._documents)
            span = _part_sent(response, start, end)
            self._versions.check(place.url, _version(response), span.size)
            data, head = await _body(response, span, start, end, limit)
        finally:
            response.release()
        if head and not self._documents:
            check_start(head, place)
        elif not self._documents and is_text(data.cut(0, TEXT)) and place.url not in self._begun:
            await self._facts(place)  # the middle of a web page cannot be recognized otherwise
            self._begun.add(place.url)
        return data

    async def _facts(self, place: Place) -> Facts:
        count = 1 if self._documents else START
        try:
            response, asked = await self._answer(place, 0, count)
            async with response:
                self._refuse(response, 0, asked, place)
                self._check_form(response, place)
                size, headers = _part_sent(response, 0, count).size, response.headers
                if not self._documents:
                    check_start(await _start(response, count), place)
                tags = headers.get("ETag"), headers.get("Last-Modified")
                return Facts(size, *tags, ranges=response.status == 206)
        except _Empty:
            return Facts(0)

    def _check_form(
        self, response: aiohttp.ClientResponse, place: Place, pages: bool = False
    ) -> None:
        """Reject a response that is not the file itself."""
        allowed = SELF_DESCRIBING if self._documents else frozenset[str]()
        for name in ("Content-Encoding", "Transfer-Encoding"):
            check_encoding(name, ",".join(response.headers.getall(name, ())), allowed)
        if not pages:
            check_type(response.headers, place)

    async def _answer(
        self, place: Place, start: int, end: int | None
    ) -> tuple[aiohttp.ClientResponse, Place]:
        """Request a range and follow redirects, each with its own options."""
        asked = place
        for _ in range(REDIRECTS):
            redirected = asked.authority != place.authority
            session, options = self._session(asked, redirected)
            headers = _headers(options, start, end)
            response = await session.get(asked.url, **options | {"headers": headers})
            if response.status not in _REDIRECTED:
                return response, asked
            location = response.headers.get("Location")
            if location is None:
                return response, asked
            response.release()
            asked = self._policy.place(redirect_target(response, location))
        raise FetchError("the server redirects endlessly")

    def _refuse(
        self, response: aiohttp.ClientResponse, start: int, asked: Place, place: Place
    ) -> None:
        """Raise unless the response has bytes; name options that would help but were not sent."""
        try:
            _check_status(response, start)
        except DeniedByServer as error:
            withheld = self._options.withheld_text(asked, asked.authority != place.authority)
            raise DeniedByServer(f"{error}{withheld}", asked) from None

    def _session(
        self, place: Place, redirected: bool
    ) -> tuple[aiohttp.ClientSession, dict[str, Any]]:
        """Return the session for a target, and the options of a request."""
        name, options = self._options.of(place, redirected)
        if name not in self._sessions:
            client = _CLIENT | options.get("client_kwargs", {})
            # a login by netrc (NASA Earthdata) sets a cookie, for its own host only
            jar = aiohttp.CookieJar if client.get("trust_env") else aiohttp.DummyCookieJar
            client.setdefault("cookie_jar", jar())
            resolver = _GuardedResolver(self._policy)
            connector = aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False)
            session = aiohttp.ClientSession(connector=connector, **client)
            # a function of the module: a bound method would keep this reader alive for good
            weakref.finalize(self, _close, session)
            request = {key: options[key] for key in options if key not in _FILESYSTEM}
            self._sessions[name] = session, request | {"allow_redirects": False}
        return self._sessions[name]


class _Empty(FetchError):
    """The file ends before the range."""


async def _retry(
    ask: Callable[Asked, Awaitable[Answer]], *asked: Asked.args, **named: Asked.kwargs
) -> Answer:
    """Retry with increasing delays while the failure is temporary."""
    was_truncated = False
    for attempt in range(ATTEMPTS - 1):
        try:
            return await ask(*asked, **named)
        except TruncatedAnswer:  # only one retry: a cache that stored it would repeat it
            if was_truncated:
                raise
            was_truncated = True
        except _TRANSIENT as error:
            asked_for = error.wait if isinstance(error, TransientError) else 0.0
            if _is_lasting(error) or asked_for > LONGEST_ASKED:
                raise
            longest = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt)
            await asyncio.sleep(asked_for + random.uniform(0, longest))
    return await ask(*asked, **named)


def _is_lasting(error: Exception) -> bool:
    """Return whether a connection failure is permanent."""
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, _LASTING):
        return not isinstance(error.os_error, ConnectionResetError | TimeoutError)
    return isinstance(error, _LASTING)


def _headers(options: dict[str, Any], start: int, end: int | None) -> dict[str, str]:
    # a compressed response would have different offsets
    headers = dict(options.get("headers", {})) | {"Accept-Encoding": "identity"}
    if start or end is not None:
        headers["Range"] = f"bytes={start}-{'' if end is None else end - 1}"
    return headers


def _check_status(response: aiohttp.ClientResponse, start: int) -> None:
    """Raise unless the response has bytes."""
    if response.status in (200, 206):
        return
    if response.status == 416:
        raise _unsatisfied(response, start)
    wait = retry_after(response.headers.get("Retry-After"))
    raise http_failure(response.status, response.reason, wait)


def _unsatisfied(response: aiohttp.ClientResponse, start: int) -> FetchError:
    """Return the failure for a range that the server does not have, whatever its reason."""
    said = response.headers.get("Content-Range", "").rpartition("/")[2]
    size = int(said) if said.isascii() and said.isdigit() and len(said) < _DIGITS else None
    if not start and (size == 0 or said in ("", "*")):
        return _Empty("the file is empty (416)")
    if size is not None and start >= size:
        return FetchError(f"the range begins past the end of the file, which has {size:,} bytes")
    return http_failure(416, response.reason)


def _part_sent(response: aiohttp.ClientResponse, start: int, end: int | None) -> ContentRange:
    """Return which part of the file is sent: all of it if the server ignores ranges."""
    length = response.content_length
    if response.status == 200:
        check_whole(response.headers)
        return ContentRange(0, length or 0, length)
    span = part_of(response.headers, start, end)
    check_body_length(span, length)
    return span


async def _start(response: aiohttp.ClientResponse, count: int) -> bytes:
    """Return the first bytes of a response; the rest is not read."""
    head = b""
    async for piece in response.content.iter_any():
        note_bytes(len(piece))
        head += piece
        if len(head) >= count:
            break
    return head[:count]


def _version(response: aiohttp.ClientResponse) -> str | None:
    return response.headers.get("ETag") or response.headers.get("Last-Modified")


async def _body(
    response: aiohttp.ClientResponse, span: ContentRange, start: int, end: int | None, limit: int
) -> tuple[ByteParts, bytes]:
    """Return the bytes from `start` to `end`, and the first ones of the file if received."""
    # Reading stops soon after `end`. Bytes before `start`, sent by servers that ignore ranges, are
    # discarded. If the server announces no more than was requested, the body is read to its end, to
    # compare its length with the announced one.
    unwanted = start - span.first
    needed = None if end is None else end - span.first
    length = response.content_length
    expected = length or 0 if needed is None else min(needed, length or needed)
    if expected > limit:
        raise too_long(expected, limit, ranges=response.status == 206 or not unwanted)
    span_size = span.end - span.first if response.status == 206 else None
    stop_at = None if needed is None or (span_size is not None and span_size <= needed) else needed
    pieces, count, size, head = list[bytes](), 0, span.size, b""
    async for piece in response.content.iter_any():
        note_bytes(len(piece))
        if not span.first and count < HEAD:
            head += piece[:HEAD]
        pieces.append(piece[max(unwanted - count, 0) :])
        count += len(piece)
        if (stop_at is not None and count >= stop_at) or (
            span_size is not None and count > span_size
        ):
            break
        if count > limit:
            raise too_long(count, limit)
    else:
        size = count if span_size is None else size  # the whole file was received
    if span_size is not None and (stop_at is None or count < stop_at):
        check_body_length(span, count)
    return ByteParts(pieces, size), head


def _close(session: aiohttp.ClientSession) -> None:
    """Close on the session's own loop, without waiting: this runs in the garbage collector."""
    loop = get_loop()
    if loop.is_running():
        asyncio.run_coroutine_threadsafe(session.close(), loop)
