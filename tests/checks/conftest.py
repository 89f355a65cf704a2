from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.helpers.servers import RangeServer, range_server


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running


@pytest.fixture
def other_server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail what opens a connection or resolves a name."""

    def blocked(*_: Any, **__: Any) -> None:
        raise AssertionError("a socket was opened")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, blocked)
    monkeypatch.setattr(socket, "getaddrinfo", blocked)
