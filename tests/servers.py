"""A real HTTP server on this machine that answers byte ranges, redirects, and worse."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class RangeServer:
    """What the server has, and what it was asked.

    Attributes
    ----------
    files
        Bodies by path.
    redirects
        Locations by path.
    statuses
        Other answers by path, such as 403.
    ignores_ranges
        Answer 200 with the whole body, as some servers do.
    requests
        The paths that were asked for, in order.
    """

    port: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    ignores_ranges: bool = False
    requests: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def range_server() -> Iterator[RangeServer]:
    state = RangeServer()

    class Handler(_Handler):
        server_state = state

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server_state: RangeServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        state = self.server_state
        state.requests.append(self.path)
        if self.path in state.redirects:
            self._answer(302, b"", Location=state.redirects[self.path])
        elif self.path in state.statuses:
            self._answer(state.statuses[self.path], b"no")
        elif self.path not in state.files:
            self._answer(404, b"none")
        else:
            self._send(state.files[self.path])

    def _send(self, body: bytes) -> None:
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted is None or self.server_state.ignores_ranges:
            self._answer(200, body)
            return
        start, end = int(wanted[1]), int(wanted[2] or len(body) - 1)
        if start >= len(body):
            self._answer(416, b"")
            return
        part = body[start : end + 1]
        span = f"bytes {start}-{start + len(part) - 1}/{len(body)}"
        self._answer(206, part, **{"Content-Range": span})

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(ConnectionError):
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""
