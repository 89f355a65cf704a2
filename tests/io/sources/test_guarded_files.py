"""A set that somebody else chose by URL is read only where a policy allows."""

from __future__ import annotations

import gzip
import json
import socket
import zlib
from typing import Any

import pytest
import zstandard

import refexplorer as rx
from refexplorer.core.errors import AccessError, SourceError
from refexplorer.core.limits import Limits
from refexplorer.io.access import InternetPolicy
from refexplorer.verbs.opening import open_guarded
from tests.helpers.servers import RangeServer, size_of

SET = json.dumps({"a": "text", "b": ["f.nc", 0, 4]}).encode()


def opened(url: str, *allow: str, limits: Limits | None = None) -> rx.ReferenceSet:
    return open_guarded(url, InternetPolicy(allow), limits or Limits())


def test_an_allowed_server_is_read(server: RangeServer) -> None:
    server.files |= {"/set.json": SET, "/set.json.gz": gzip.compress(SET)}
    for name in ("set.json", "set.json.gz"):
        refs = opened(f"{server.url}/{name}", server.url)
        assert list(refs) == ["a", "b"]
        assert refs.source.location == server.url


def test_an_address_inside_is_not_asked(server: RangeServer) -> None:
    with pytest.raises(AccessError, match=f"can add --allow {server.url}"):
        opened(f"{server.url}/set.json")
    assert server.requests == []


@pytest.fixture
def name_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have ``data.example`` lead to this machine."""
    real = socket.getaddrinfo

    def rebound(host: Any, *rest: Any, **more: Any) -> Any:
        return real("127.0.0.1" if host == "data.example" else host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", rebound)


def test_a_name_that_turns_out_to_lead_inside_is_not_asked(
    server: RangeServer, name_inside: None
) -> None:
    with pytest.raises(
        AccessError, match=r"data\.example resolves to 127\.0\.0\.1, inside the machine"
    ):
        opened(f"http://data.example:{server.port}/set.json")
    assert server.requests == []


def test_a_redirect_inside_is_not_followed(server: RangeServer, other_server: RangeServer) -> None:
    other_server.files["/secret.json"] = SET
    server.redirects["/set.json"] = f"{other_server.url}/secret.json"
    with pytest.raises(AccessError, match=f"can add --allow {other_server.url}"):
        opened(f"{server.url}/set.json", server.url)
    assert other_server.requests == []


def test_what_a_visitor_opens_is_bounded(server: RangeServer) -> None:
    server.files["/set.json"] = SET
    with pytest.raises(rx.errors.LimitError):
        opened(f"{server.url}/set.json", server.url, limits=Limits(document_bytes=10))


def test_what_cannot_be_read_is_one_sentence(server: RangeServer) -> None:
    with pytest.raises(SourceError, match=r"set\.json cannot be read: there is no such file"):
        opened(f"{server.url}/set.json", server.url)
    with pytest.raises(SourceError, match="parquet store, which cannot be listed on a web server"):
        opened(f"{server.url}/sst.parq", server.url)


def test_files_and_chains_are_not_opened_by_url() -> None:
    for url in ("file:///etc/hostname", "zip://x::http://127.0.0.1/a.zip", "memory://x"):
        with pytest.raises(AccessError):
            opened(url)


def test_options_by_protocol_are_for_the_set_too(server: RangeServer) -> None:
    server.files["/set.json"] = SET
    options = {"http": {"headers": {"X-Key": "mine"}}, "s3": {"anon": True}}
    refs = rx.open_references(f"{server.url}/set.json", storage_options=options)
    assert list(refs) == ["a", "b"]
    assert {headers.get("X-Key") for headers in server.seen_headers} == {"mine"}


@pytest.mark.parametrize(
    ("name", "asked"),
    [("/set.json", []), ("/set.json.gz", []), ("/set.json?v=1", []), ("/set", ["/set/.zmetadata"])],
)
def test_a_document_is_one_request(server: RangeServer, name: str, asked: list[str]) -> None:
    server.files[name] = SET
    assert list(rx.open_references(f"{server.url}{name}")) == ["a", "b"]
    assert server.requests == [*asked, name]
    assert server.spans[-1] == ("bytes=0-65535" if asked else None)  # it may be a file of data


def test_a_document_is_bounded_while_it_comes(server: RangeServer) -> None:
    server.files["/set.json"] = SET + b" " * 10**6
    server.dripping.add("/set.json")
    with pytest.raises(
        rx.errors.LimitError, match=r"more than 1,000 bytes; `Limits\.document_bytes`"
    ):
        rx.open_references(f"{server.url}/set.json", limits=Limits(document_bytes=1000))
    assert server.hung_up.wait(10)


def test_a_typed_url_leads_to_no_other_address_inside(
    server: RangeServer, name_inside: None
) -> None:
    server.files["/set.json"] = SET
    typed = f"http://data.example:{server.port}"
    assert list(rx.open_references(f"{typed}/set.json")) == ["a", "b"]
    server.redirects["/away.json"] = "/set.json"
    assert list(rx.open_references(f"{typed}/away.json")) == ["a", "b"]
    for secret in (f"{server.url}/set.json", "http://169.254.169.254/set.json"):
        server.redirects["/away.json"] = secret
        with pytest.raises(AccessError, match="inside this machine or network"):
            rx.open_references(f"{typed}/away.json")
    server.redirects["/away.json"] = "file:///set.json"
    with pytest.raises(SourceError, match="only http and https are followed"):
        rx.open_references(f"{typed}/away.json")


def test_a_set_on_a_server_that_stalls(server: RangeServer) -> None:
    server.stalled.add("/set.json")
    with pytest.raises(SourceError, match=r"there was no complete answer within 0\.3 seconds"):
        rx.open_references(f"{server.url}/set.json", limits=rx.Limits(read_seconds=0.3))


def test_a_redirect_takes_no_credentials_along(
    server: RangeServer, other_server: RangeServer
) -> None:
    other_server.files["/set.json"] = SET
    server.redirects["/set.json"] = f"{other_server.url}/set.json"
    options = {"headers": {"X-Key": "mine"}, "block_size": 0}
    assert list(rx.open_references(f"{server.url}/set.json", storage_options=options)) == ["a", "b"]
    assert "X-Key" in server.seen_headers[0]
    assert "X-Key" not in other_server.seen_headers[0]


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Content-Encoding": "gzip"}, gzip.compress(SET)),
        ({"Content-Encoding": "x-gzip", "Content-Type": "application/json"}, gzip.compress(SET)),
        ({"Content-Encoding": "zstd"}, zstandard.compress(SET)),
        ({"Content-Encoding": "gzip"}, SET),  # some proxies unpack the body and keep the header
        ({"Content-Type": "text/html"}, SET),
        ({"Content-Type": "text/plain"}, SET),
    ],
    ids=size_of,
)
@pytest.mark.parametrize("guarded", [True, False])
def test_a_set_that_a_server_sends_encoded_is_read(
    server: RangeServer, headers: dict[str, str], body: bytes, guarded: bool
) -> None:
    server.answers["/set.json"] = 200, headers, body
    url = f"{server.url}/set.json"
    assert list(opened(url, server.url) if guarded else rx.open_references(url)) == ["a", "b"]


@pytest.mark.parametrize(
    ("headers", "body", "said"),
    [
        (
            {"Content-Encoding": "deflate"},
            zlib.compress(SET),
            r"set\.json cannot be read: the server sent it encoded \(Content-Encoding: deflate\)",
        ),
        ({"Content-Encoding": "br"}, SET[::-1], r"encoded \(Content-Encoding: br\)"),
        (
            {"Content-Encoding": "gzip, gzip"},
            gzip.compress(gzip.compress(SET)),
            r"encoded \(Content-Encoding: gzip, gzip\)",
        ),
        ({"Content-Encoding": "gzip"}, gzip.compress(gzip.compress(SET)), "is not text"),
        (
            {"Content-Type": "text/html"},
            b"<!DOCTYPE html><p>Log in",
            "is an HTML page, not a ref",
        ),
        ({}, b"<html><p>Log in", "is an HTML page, not a ref"),
    ],
    ids=size_of,
)
@pytest.mark.parametrize("guarded", [True, False])
def test_a_set_that_is_something_else_is_refused(
    server: RangeServer, headers: dict[str, str], body: bytes, said: str, guarded: bool
) -> None:
    server.answers["/set.json"] = 200, headers, body
    url = f"{server.url}/set.json"
    with pytest.raises(rx.RefexplorerError, match=said):
        opened(url, server.url) if guarded else rx.open_references(url)


def test_a_page_is_no_parquet_store(server: RangeServer) -> None:
    server.answers["/set/.zmetadata"] = 200, {"Content-Type": "text/html"}, b"<p>No such page"
    server.files["/set"] = SET
    assert list(rx.open_references(f"{server.url}/set")) == ["a", "b"]
