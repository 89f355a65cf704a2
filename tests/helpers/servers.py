"""A real HTTP server on this machine that answers byte ranges, redirects, and worse."""

from __future__ import annotations

import re
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIECE = 1024
"""Bytes that a dripping server sends at a time."""


def size_of(value: object) -> str | None:
    """Return what names a body in the name of a test, which must be the same in every process."""
    return f"{len(value)} bytes" if isinstance(value, bytes) else None


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
        Other answers by path, such as 403; after `failures` answers of them, the file.
    failures
        How often a status is answered before the file is; without an entry always.
    answers
        Status, headers and body by path, sent whatever is asked for; chunked if a header says so.
        A path with the value of ``Range`` after it is for that alone.
    answer_counts
        How often such an answer is sent before the file is; without an entry always.
    etags
        ETags by path.
    truncated
        Paths whose answers end in the middle, with the connection.
    dripping
        Paths that are sent a little at a time, without end as far as a test waits.
    stalled
        Paths for which no answer comes as long as a test waits.
    resets
        How often the connection is reset before a path is answered.
    waits
        The ``Retry-After`` of a status by path.
    ignores_ranges
        Answer 200 with the whole body, as some servers do.
    requests
        The paths that were asked for, in order.
    spans
        The ``Range`` headers of all requests, in order.
    times
        When they came, in seconds.
    seen_headers
        All headers of all requests, in order.
    ports
        The port of the client that asked for a path last.
    hung_up
        Set when a client went away before all was sent.
    """

    port: int = 0
    scheme: str = "http"
    files: dict[str, bytes] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    answer_counts: dict[str, int] = field(default_factory=dict)
    etags: dict[str, str] = field(default_factory=dict)
    truncated: set[str] = field(default_factory=set)
    dripping: set[str] = field(default_factory=set)
    stalled: set[str] = field(default_factory=set)
    resets: dict[str, int] = field(default_factory=dict)
    waits: dict[str, str] = field(default_factory=dict)
    ignores_ranges: bool = False
    hides_sizes: bool = False
    requests: list[str] = field(default_factory=list)
    spans: list[str | None] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    seen_headers: list[dict[str, str]] = field(default_factory=list)
    ports: dict[str, int] = field(default_factory=dict)
    hung_up: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"


@contextmanager
def range_server(tls: ssl.SSLContext | None = None) -> Iterator[RangeServer]:
    state = RangeServer(scheme="http" if tls is None else "https")

    class Handler(_Handler):
        server_state = state

    server = _Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    with answering(server) as state.port:
        try:
            yield state
        finally:
            state.closing.set()


@contextmanager
def answering(server: ThreadingHTTPServer) -> Iterator[int]:
    """Let a server answer on a thread; give its port."""
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    """Connections that wait to be taken; with five, a sixth at a time tries again after 1 s."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that go away."""


class _Handler(BaseHTTPRequestHandler):
    server_state: RangeServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits 40 ms for the answer to its headers

    def do_GET(self) -> None:
        state = self.server_state
        state.requests.append(self.path)
        state.times.append(time.monotonic())
        state.spans.append(self.headers.get("Range"))
        state.seen_headers.append(dict(self.headers))
        state.ports[self.path] = self.client_address[1]
        asked = f"{self.path} {self.headers.get('Range')}"
        if self.path in state.stalled:
            state.closing.wait(600)
        if state.resets.get(self.path):
            state.resets[self.path] -= 1
            self._reset()
        elif self.path in state.redirects:
            self._answer(302, b"", Location=state.redirects[self.path])
        elif (given := self._given(asked)) is not None:
            status, headers, body = given
            self._answer(status, body, **headers)
        elif self._fails():
            wait = state.waits.get(self.path)
            headers = {} if wait is None else {"Retry-After": wait}
            self._answer(state.statuses[self.path], b"no", **headers)
        elif self.path not in state.files:
            self._answer(404, b"none")
        else:
            self._send(state.files[self.path])

    def _reset(self) -> None:
        """End the connection as a machine does that was switched off."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True
        self.connection.close()

    def _given(self, asked: str) -> tuple[int, dict[str, str], bytes] | None:
        """Return the answer that is sent whatever is asked for, if it is sent still."""
        state = self.server_state
        given = state.answers.get(asked, state.answers.get(self.path))
        left = state.answer_counts.get(self.path)
        if given is None or left == 0:
            return None
        if left is not None:
            state.answer_counts[self.path] = left - 1
        return given

    def _fails(self) -> bool:
        state = self.server_state
        left = state.failures.get(self.path)
        if left is not None:
            state.failures[self.path] = max(left - 1, 0)
        return self.path in state.statuses and left != 0

    def _send(self, body: bytes) -> None:
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted is None or self.server_state.ignores_ranges:
            self._answer(200, body)
            return
        start, end = int(wanted[1]), int(wanted[2] or len(body) - 1)
        if start >= len(body):
            size = "*" if self.server_state.hides_sizes else len(body)
            self._answer(416, b"", **{"Content-Range": f"bytes */{size}"})
            return
        part = body[start : end + 1]
        size = "*" if self.server_state.hides_sizes else len(body)
        span = f"bytes {start}-{start + len(part) - 1}/{size}"
        self._answer(206, part, **{"Content-Range": span})

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        state = self.server_state
        self.send_response(status)
        if self.path in state.etags:
            headers |= {"ETag": state.etags[self.path]}
        for name, value in headers.items():
            self.send_header(name, value)
        if "chunked" in headers.get("Transfer-Encoding", ""):
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        elif "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self._write(body)
        except ConnectionError:
            state.hung_up.set()

    def _write(self, body: bytes) -> None:
        state = self.server_state
        if self.path in state.truncated:
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        elif self.path in state.dripping:
            for start in range(0, len(body), PIECE):
                self.wfile.write(body[start : start + PIECE])
                if state.closing.wait(0.02):
                    return
        else:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""
