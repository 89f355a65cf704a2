"""A local HTTP server of a folder, as slow as a distant one, that counts requests.

It measures the cost of reading over a network without needing one.
"""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from urllib.parse import unquote, urlsplit


@dataclass(frozen=True, slots=True)
class Traffic:
    """The requests to a server since the last query."""

    requests: int  # The number of responses sent
    bytes: int  # Of their bodies


class SlowServer:
    """Serves the files of a folder, whole or by byte ranges, to this machine only."""

    def __init__(
        self, folder: str | Path, *, latency: float = 0.0, bandwidth: float = float("inf")
    ) -> None:
        self.folder = Path(folder).resolve()
        self.latency = latency
        self.bandwidth = bandwidth
        self._counting = threading.Lock()
        self._traffic = Traffic(0, 0)
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The server's URL, such as ``"http://127.0.0.1:40123"``."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def traffic(self) -> Traffic:
        """Return the requests since the last call, and count from 0 again."""
        with self._counting:
            seen, self._traffic = self._traffic, Traffic(0, 0)
        return seen

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> SlowServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def file(self, address: str) -> Path | None:
        """Return the file named by a request path; None if there is none."""
        found = (self.folder / unquote(urlsplit(address).path).lstrip("/")).resolve()
        return found if found.is_relative_to(self.folder) and found.is_file() else None

    def count(self, size: int) -> None:
        """Count a response with a body of `size` bytes, and wait as long as the network would."""
        with self._counting:
            seen = self._traffic
            self._traffic = Traffic(seen.requests + 1, seen.bytes + size)
        time.sleep(self.latency + size / self.bandwidth)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256  # many clients connect at once; a rejected one waits a second

    def __init__(self, slow: SlowServer) -> None:
        self.slow = slow
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore disconnected clients."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_HEAD(self) -> None:
        """Respond without a body."""
        self._answer(with_body=False)

    def do_GET(self) -> None:
        """Respond with a file, or the requested range of it."""
        self._answer(with_body=True)

    def _answer(self, with_body: bool) -> None:
        file = self.server.slow.file(self.path)
        if file is None:
            self._send(HTTPStatus.NOT_FOUND, b"", 0)
            return
        size = file.stat().st_size
        status, start, end = _span(self.headers.get("Range", ""), size)
        body = b""
        if with_body:
            with file.open("rb") as opened:
                opened.seek(start)
                body = opened.read(end - start)
        headers = {"Accept-Ranges": "bytes"}
        if status is not HTTPStatus.OK:
            headers["Content-Range"] = f"bytes {_named(start, end)}/{size}"
        self._send(status, body, end - start, headers)

    def _send(
        self, status: HTTPStatus, body: bytes, length: int, headers: dict[str, str] | None = None
    ) -> None:
        self.server.slow.count(len(body))
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""


def _named(start: int, end: int) -> str:
    return f"{start}-{end - 1}" if start < end else "*"


def _span(header: str, size: int) -> tuple[HTTPStatus, int, int]:
    """Parse a ``Range`` header: the status of the response, and its bytes."""
    wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", header)
    if wanted is None or header == "bytes=-":
        return HTTPStatus.OK, 0, size
    first, last = wanted.groups()
    start = int(first) if first else max(size - int(last), 0)
    end = min(int(last) + 1, size) if first and last else size
    if start >= end:
        return HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, 0, 0
    return HTTPStatus.PARTIAL_CONTENT, start, end
