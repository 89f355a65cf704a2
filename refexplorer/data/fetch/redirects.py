"""Redirects that the libraries of stores follow themselves: the policy is asked before."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import aiohttp
from yarl import URL

from refexplorer.data.access.policy import AccessPolicy
from refexplorer.data.access.urls import Place, parse, protocol_of, shown
from refexplorer.errors import AccessError, FetchError, RefexplorerError

_policy: ContextVar[AccessPolicy | None] = ContextVar("policy", default=None)
"""Of who reads now: filesystems and their sessions are shared."""


class _Refused(BaseException):
    """Ends a request whose library would catch any other error, and repeat the request."""

    def __init__(self, refusal: RefexplorerError) -> None:
        super().__init__()
        self.refusal = refusal


@contextmanager
def follow_allowed(policy: AccessPolicy) -> Iterator[None]:
    """Let the requests inside follow redirects to where a policy allows, and to no other host.

    Raises
    ------
    AccessError
        If a redirect leads to a place that is not allowed.
    FetchError
        If it leads to none that is read.
    """
    token = _policy.set(policy)
    try:
        yield
    except _Refused as refused:
        raise refused.refusal from None
    finally:
        _policy.reset(token)


def redirect_target(response: aiohttp.ClientResponse, location: str) -> str:
    """Return where a redirect leads, which is never a local file: no grant may follow from it."""
    try:
        url = str(response.url.join(URL(location)))
    except ValueError:
        raise FetchError("the server redirects to an invalid URL") from None
    if protocol_of(url) not in ("http", "https"):
        raise FetchError(
            f"the server redirects to {shown(url)}, but only http and https are followed"
        )
    return url


async def check_addresses(policy: AccessPolicy, place: Place) -> None:
    """Raise `AccessError` if the host of a target has an address that is not allowed."""
    await asyncio.to_thread(_check_addresses, policy, place)


def _check_addresses(policy: AccessPolicy, place: Place) -> None:
    for *_, address in socket.getaddrinfo(place.host, None):
        policy.check_address(place.protocol, place.host, str(address[0]), place.port)


def hdfs_proxy(server: Place, given: Any) -> Callable[[str], str]:
    """Return what WebHDFS passes each URL through: the policy is asked for data nodes.

    Parameters
    ----------
    server
        The name node, which was asked for already.
    given
        The ``data_proxy`` of the options: of hosts or a function, as fsspec describes it.
    """

    def allow(url: str) -> str:
        if callable(given):
            url = given(url)
        for name, other in given.items() if isinstance(given, Mapping) else ():
            url = url.replace(name, other, 1)
        place, policy = parse(url), _policy.get()
        if (place.host, place.port) != (server.host, server.port):
            if policy is None:
                raise AccessError(f"The name node leads to {shown(url)}.", target=url, grant="")
            _check_addresses(policy, policy.place(url))
        return url

    return allow


async def _ask_policy(
    session: object, context: object, redirect: aiohttp.TraceRequestRedirectParams
) -> None:
    """Refuse a redirect to another host that is not allowed, before it is followed."""
    headers, policy = redirect.response.headers, _policy.get()
    location = headers.get("Location") or headers.get("URI")
    if location is None:
        return
    try:
        url = redirect_target(redirect.response, location)
        if URL(url).origin() == redirect.response.url.origin():
            return
        if policy is None:
            raise AccessError(f"The store redirects to {shown(url)}.", target=url, grant="")
        await check_addresses(policy, policy.place(url))
    except RefexplorerError as error:
        if policy is None:
            raise
        raise _Refused(error) from None


@cache
def redirect_trace() -> aiohttp.TraceConfig:
    """Return what makes a session of aiohttp ask the policy."""
    trace = aiohttp.TraceConfig()
    trace.on_request_redirect.append(_ask_policy)
    trace.freeze()
    return trace


@cache
def s3_session_class() -> type[Any]:
    """Return the class of sessions of S3 that ask the policy."""
    from aiobotocore.httpsession import AIOHTTPSession

    class S3Session(AIOHTTPSession):  # type: ignore[misc]
        async def _get_session(self, proxy_url: str | None) -> aiohttp.ClientSession:
            # there is no public way to the session; a test has a store that redirects
            session: aiohttp.ClientSession = await super()._get_session(proxy_url)
            if redirect_trace() not in session.trace_configs:
                session.trace_configs.append(redirect_trace())
            return session

    return S3Session
