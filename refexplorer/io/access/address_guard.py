"""Connections that ask the policy for each address that a host name turns out to have."""

from __future__ import annotations

import socket

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from refexplorer.io.access.policy import AccessPolicy
from refexplorer.io.access.urls import default_port


def guarded_connector(policy: AccessPolicy) -> aiohttp.TCPConnector:
    """Return a connector whose connections raise `AccessError` where a policy says so.

    The address is checked that is then connected to, so no second look-up can change it.
    """
    return aiohttp.TCPConnector(resolver=_GuardedResolver(policy), use_dns_cache=False)


class _GuardedResolver(AbstractResolver):
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
