"""Connections that ask the policy first: for each URL, and for each address of its host."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from refexplorer.data.access import AccessPolicy

if TYPE_CHECKING:
    from aiohttp.client import ClientTimeout
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace


class GuardedConnector(aiohttp.TCPConnector):
    """Connects only to what a policy allows, so also after a redirect."""

    def __init__(self, policy: AccessPolicy) -> None:
        super().__init__(resolver=_GuardedResolver(policy), use_dns_cache=False)
        self._policy = policy

    async def connect(
        self, req: ClientRequest, traces: list[Trace], timeout: ClientTimeout
    ) -> Connection:
        """Connect, or raise `AccessError`."""
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
