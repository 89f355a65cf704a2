"""Files behind a login of another server, as of NASA Earthdata: netrc, redirects, a cookie."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from tests.helpers.commands import run
from tests.helpers.servers import answering

pytestmark = pytest.mark.server
BODY = np.arange(4, dtype="<i4").tobytes()
TRUST = {"http": {"client_kwargs": {"trust_env": True}}}
PASS = "Basic " + base64.b64encode(b"me:secret").decode()


class Servers:
    """An archive at `localhost`, and the server that knows the passwords at `127.0.0.1`."""

    archive: str
    login: str

    def __init__(self) -> None:
        self.files = {"/data.bin": BODY}
        self.seen: dict[str, list[dict[str, str]]] = {"archive": [], "login": []}


@pytest.fixture(params=["127.0.0.1"])
def servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Servers]:
    found = Servers()

    class Base(BaseHTTPRequestHandler):
        name = ""

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

        def do_GET(self) -> None:
            found.seen[self.name].append(dict(self.headers))
            status, headers, body = self.answer(*self.path.partition("?")[::2])
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def answer(self, path: str, query: str) -> tuple[int, dict[str, str], bytes]:
            raise NotImplementedError

    class Archive(Base):
        name = "archive"

        def answer(self, path: str, query: str) -> tuple[int, dict[str, str], bytes]:
            if path == "/login":
                cookie = {"Set-Cookie": "session=good; Path=/"}
                return 302, cookie | {"Location": query.partition("to=")[2]}, b""
            if "session=good" not in self.headers.get("Cookie", ""):
                return 302, {"Location": f"{found.login}/authorize?to={path}"}, b""
            body = found.files[path]
            first, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")
            part = body[int(first) : int(last or len(body)) + 1]
            span = f"bytes {first}-{int(first) + len(part) - 1}/{len(body)}"
            return 206, {"Content-Range": span}, part

    class Login(Base):
        name = "login"

        def answer(self, path: str, query: str) -> tuple[int, dict[str, str], bytes]:
            if self.headers.get("Authorization") != PASS:
                return 401, {"WWW-Authenticate": "Basic"}, b""
            return 302, {"Location": f"{found.archive}/login?{query}"}, b""

    (tmp_path / "netrc").write_text(f"machine {request.param} login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with ExitStack() as stack:
        ports = [
            stack.enter_context(answering(ThreadingHTTPServer(("127.0.0.1", 0), handler)))
            for handler in (Archive, Login)
        ]
        found.archive, found.login = f"http://localhost:{ports[0]}", f"http://127.0.0.1:{ports[1]}"
        yield found


def document(url: str) -> dict[str, Any]:
    metadata = {"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i4", "compressor": None,
                "filters": None, "order": "C", "fill_value": None}  # fmt: skip
    return {".zgroup": {"zarr_format": 2}, "x/.zarray": metadata, "x/0": [f"{url}/data.bin", 0, 16]}


def test_a_password_of_netrc_goes_to_its_server_alone(servers: Servers) -> None:
    refs = rx.open_references(document(servers.archive), storage_options=TRUST)
    with pytest.raises(rx.RefexplorerError, match="not allowed yet") as caught:
        refs.allowing(servers.archive).read("x")
    assert servers.login in str(caught.value)
    assert servers.seen["login"] == []
    found = refs.allowing(servers.archive, servers.login).read("x")
    np.testing.assert_array_equal(found, np.arange(4))
    assert {each.get("Authorization") for each in servers.seen["login"]} == {PASS}
    assert {each.get("Authorization") for each in servers.seen["archive"]} == {None}
    assert {each.get("Cookie") for each in servers.seen["login"]} == {None}


def test_without_being_asked_nothing_is_sent(servers: Servers) -> None:
    refs = rx.open_references(document(servers.archive)).allowing(servers.archive, servers.login)
    with pytest.raises(rx.RefexplorerError, match="401"):
        refs.read("x")
    assert {each.get("Authorization") for each in servers.seen["login"]} == {None}


def test_a_token_goes_to_the_archive_alone(servers: Servers) -> None:
    """As people with a token of Earthdata have it, who need no netrc."""
    options = {servers.archive: {"headers": {"Authorization": "Bearer mine"}}}
    refs = rx.open_references(document(servers.archive), storage_options=options)
    with pytest.raises(rx.RefexplorerError, match="401"):
        refs.allowing(servers.archive, servers.login).read("x")
    assert {each.get("Authorization") for each in servers.seen["archive"]} == {"Bearer mine"}
    assert {each.get("Authorization") for each in servers.seen["login"]} == {None}


@pytest.mark.parametrize("servers", ["localhost"], indirect=True)
def test_a_set_behind_the_login_on_the_command_line(servers: Servers) -> None:
    """Which leads to servers of the internet, or of the host that was typed, alone."""
    servers.login = servers.login.replace("127.0.0.1", "localhost")
    servers.files["/set.json"] = json.dumps(document(servers.archive)).encode()
    option = ["--storage-option", 'http.client_kwargs={"trust_env": true}']
    allow = ["--allow", servers.archive, "--allow", servers.login]
    ran = run("audit", f"{servers.archive}/set.json", *option, *allow)
    assert (ran.status, ran.err) == (0, "")
