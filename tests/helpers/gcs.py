"""A small server on this machine that speaks what reading needs of Google's storage API (JSON).

And what Icechunk needs of the other one (XML), to read and to write.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from tests.helpers.servers import answering

TOKEN = "knows"
_OBJECT = re.compile(r"(/download)?/storage/v1/b/([^/]+)/o/(.+)")
_NAMED = re.compile(r"/([^/]+)/(.+)")
_ANONYMOUS = "Anonymous caller does not have storage.objects.get access to the object."


@dataclass
class GcsServer:
    """What the server has, and what it was asked.

    Attributes
    ----------
    objects
        Contents by bucket and name; a new content is a new generation.
    encodings
        What objects are stored with, by bucket and name: ``"gzip"`` is served as it is to who
        takes it, and unpacked, without ranges, to others.
    unpacks
        Unpack it for all.
    closed
        Buckets that want the token.
    redirects
        Locations by bucket and name.
    requests
        Method and path of all requests, in order.
    tokens
        The ``Authorization`` headers of all requests, by bucket.
    """

    port: int = 0
    objects: dict[tuple[str, str], bytes] = field(default_factory=dict)
    encodings: dict[tuple[str, str], str] = field(default_factory=dict)
    unpacks: bool = False
    closed: set[str] = field(default_factory=set)
    redirects: dict[tuple[str, str], str] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    tokens: dict[str, set[str | None]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def gcs_server() -> Iterator[GcsServer]:
    state = GcsServer()

    class Handler(_Handler):
        server_state = state

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with answering(server) as state.port:
        yield state


class _Handler(BaseHTTPRequestHandler):
    server_state: GcsServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits 40 ms for the answer to its headers

    def do_GET(self) -> None:
        state, parts = self.server_state, urlsplit(self.path)
        state.requests.append(f"GET {parts.path}")
        asked = _OBJECT.fullmatch(parts.path)
        if asked is None and "list-type" in (query := parse_qs(parts.query)):
            self._list_xml(parts.path.strip("/"), query.get("prefix", [""])[0])
            return
        if asked is None and (named := _NAMED.fullmatch(parts.path)):
            self._send_named(named[1], unquote(named[2]))
            return
        if asked is None:
            self._refuse(404, "Not Found")
            return
        bucket, name = asked[2], unquote(asked[3])
        token = self.headers.get("Authorization")
        state.tokens.setdefault(bucket, set()).add(token)
        body = state.objects.get((bucket, name))
        if bucket in state.closed and token != f"Bearer {TOKEN}":
            self._refuse(401, _ANONYMOUS)
        elif (bucket, name) in state.redirects:
            self._answer(307, b"", Location=state.redirects[bucket, name])
        elif body is None:
            self._refuse(404, f"No such object: {bucket}/{name}")
        elif "alt=media" in parts.query:
            self._send(body, state.encodings.get((bucket, name)))
        else:
            described = {"bucket": bucket, "name": name, "size": str(len(body))}
            if (bucket, name) in state.encodings:
                described["contentEncoding"] = state.encodings[bucket, name]
            tags = {"etag": _generation(body), "updated": "2026-01-01T00:00:00Z"}
            self._answer(200, json.dumps(described | tags).encode())

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_PUT(self) -> None:
        """Write an object with the XML API, if it is of the generation that is expected."""
        state, path = self.server_state, urlsplit(self.path).path
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        state.requests.append(f"PUT {path}")
        named = _NAMED.fullmatch(path)
        assert named is not None
        bucket, name = named[1], unquote(named[2])
        if bucket in state.closed and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._refuse(401, _ANONYMOUS)
            return
        if (source := self.headers.get("x-goog-copy-source")) is not None:
            other, _, copied = unquote(source).lstrip("/").partition("/")
            body = state.objects[other, copied]
        there = state.objects.get((bucket, name))
        wanted = self.headers.get("x-goog-if-generation-match")
        if wanted is not None and wanted != ("0" if there is None else _generation(there)):
            self._refuse(412, "conditionNotMet")
            return
        state.objects[bucket, name] = body
        self._answer(200, b"", **_tags(body))

    def _send_named(self, bucket: str, name: str) -> None:
        """Answer for an object with the XML API."""
        state = self.server_state
        body = state.objects.get((bucket, name))
        if bucket in state.closed and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._refuse(401, _ANONYMOUS)
        elif body is None:
            self._refuse(404, "NoSuchKey")
        elif self.headers.get("If-None-Match", "") == _tags(body)["ETag"]:
            self._answer(304, b"", **_tags(body))
        else:
            self._part(body, _tags(body))

    def _list_xml(self, bucket: str, prefix: str) -> None:
        moment = "2026-01-01T00:00:00.000Z"
        found = "".join(
            f"<Contents><Key>{name}</Key><LastModified>{moment}</LastModified>"
            f"<ETag>{_generation(body)}</ETag><Size>{len(body)}</Size></Contents>"
            for (of, name), body in self.server_state.objects.items()
            if of == bucket and name.startswith(prefix)
        )
        text = f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>"
        self._answer(200, text.encode())

    def _send(self, body: bytes, encoding: str | None) -> None:
        headers = {"X-Goog-Generation": _generation(body)}
        if encoding is not None:
            headers["X-Goog-Stored-Content-Encoding"] = encoding
            takes = self.headers.get("Accept-Encoding", "")
            if self.server_state.unpacks or "gzip" not in takes:
                self._answer(200, gzip.decompress(body), **headers)
                return
            headers["Content-Encoding"] = encoding
        self._part(body, headers)

    def _part(self, body: bytes, headers: dict[str, str]) -> None:
        span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if span is None:
            self._answer(200, body, **headers)
            return
        start, part = int(span[1]), body[int(span[1]) : int(span[2] or len(body)) + 1]
        if not part:
            self._refuse(416, "Request range not satisfiable")
            return
        came = f"bytes {start}-{start + len(part) - 1}/{len(body)}"
        self._answer(206, part, **headers, **{"Content-Range": came})

    def _refuse(self, status: int, message: str) -> None:
        said = {"error": {"code": status, "message": message}}
        self._answer(status, json.dumps(said).encode())

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""


def _tags(body: bytes) -> dict[str, str]:
    generation = _generation(body)
    now = formatdate(usegmt=True)  # Icechunk compares it with its clock
    return {"ETag": f'"{generation}"', "X-Goog-Generation": generation, "Last-Modified": now}


def _generation(body: bytes) -> str:
    return str(zlib.crc32(body))
