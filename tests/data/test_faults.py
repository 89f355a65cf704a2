"""What servers do to their readers: each failure is one sentence with URL, range and cause."""

from __future__ import annotations

import socket
import ssl
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme

import refexplorer as rx
from refexplorer.data.access import AccessPolicy
from refexplorer.data.targets import Targets
from refexplorer.errors import AccessError, FetchError, LimitError
from refexplorer.limits import Limits
from refexplorer.spec.references import Range, Url
from tests.servers import RangeServer, range_server

BODY = bytes(range(256)) * 8


def targets(*allow: str, options: dict[str, Any] | None = None, limit: int = 10**6) -> Targets:
    return Targets(AccessPolicy(None, allow), options, Limits(fetch_bytes=limit))


def refusal(reader: Targets, url: str, kind: type[Exception] = FetchError) -> str:
    with pytest.raises(kind) as caught:
        reader.fetch("x/0", Range(url, 10, 4))
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


@pytest.fixture
def file(server: RangeServer) -> str:
    server.files["/f"] = BODY
    return f"{server.url}/f"


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (404, "there is no such file (404)"),
        (410, "the file is gone (410)"),
        (403, "the server denies access (403)"),
        (401, "the server wants a login (401)"),
        (418, "the server answered 418 I'm a Teapot"),
    ],
)
def test_a_refusal_is_asked_once(server: RangeServer, file: str, status: int, cause: str) -> None:
    server.statuses["/f"] = status
    said = refusal(targets(server.url), file)
    assert said.startswith(f"x/0 could not be read from {file}, bytes 10 to 14: {cause}")
    assert len(server.requests) == 1


def test_a_refused_access_names_the_option_that_would_help(server: RangeServer, file: str) -> None:
    server.statuses["/f"] = 403
    said = refusal(targets(server.url), file)
    assert f'storage_options={{"{server.url}": {{"headers": {{"Authorization": …}}}}}}' in said


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_failure_of_the_moment_is_tried_again(
    server: RangeServer, file: str, status: int
) -> None:
    server.statuses["/f"], server.failures["/f"] = status, 2
    assert targets(server.url).fetch("x/0", Range(file, 10, 4)) == BODY[10:14]
    assert len(server.requests) == 3


def test_a_server_that_goes_on_failing(server: RangeServer, file: str) -> None:
    server.statuses["/f"] = 500
    assert "the server answered 500" in refusal(targets(server.url), file)
    assert len(server.requests) == 4


def test_a_body_that_ends_too_early(server: RangeServer, file: str) -> None:
    server.truncated.add("/f")
    assert "the connection ended before all bytes came" in refusal(targets(server.url), file)


def test_a_server_without_ranges_gives_the_right_bytes(server: RangeServer, file: str) -> None:
    server.ignores_ranges = True
    assert targets(server.url).fetch("x/0", Range(file, 1500, 500)) == BODY[1500:2000]


def test_a_server_without_ranges_is_read_only_so_far(server: RangeServer, file: str) -> None:
    server.ignores_ranges = True
    with pytest.raises(LimitError, match=r"does not know byte ranges .* 1,504 bytes up to here"):
        targets(server.url, limit=1000).fetch("x/0", Range(file, 1500, 4))


def test_a_server_that_says_nothing_for_long() -> None:
    timeout = aiohttp.ClientTimeout(sock_read=0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        options = {"http": {"client_kwargs": {"timeout": timeout}}}
        assert "no answer came in time" in refusal(targets(url, options=options), f"{url}/f")


def test_a_server_that_never_goes_on(server: RangeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refexplorer.data.http.SILENCE", 0.05)
    server.files["/f"] = BODY
    server.stalled.add("/f")
    assert "no answer came in time" in refusal(targets(server.url), f"{server.url}/f")
    assert len(server.requests) == 4


def test_a_slow_server_may_take_as_long_as_it_needs(
    server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("refexplorer.data.http.SILENCE", 1)
    server.files["/f"] = BODY * 40
    server.dripping.add("/f")
    assert targets(server.url).fetch("x/0", Url(f"{server.url}/f")) == BODY * 40
    assert len(server.requests) == 1


def test_a_redirect_inside_is_named_and_not_followed(
    server: RangeServer, other_server: RangeServer
) -> None:
    server.redirects["/f"] = f"{other_server.url}/f"
    assert f'allow=["{other_server.url}"]' in refusal(
        targets(server.url), f"{server.url}/f", AccessError
    )
    assert other_server.requests == []


@pytest.mark.parametrize(
    ("location", "cause"),
    [
        (
            "file://{folder}/f",
            "redirects to file://{folder}/f, and only http and https are followed.",
        ),
        ("javascript:1", "redirects to javascript:1, and only http and https are followed."),
        ("s3://bucket/f", "redirects to s3://bucket/f, and only http and https are followed."),
        ("http://[zz/", "redirects to an address that is no URL."),
        ("http://host:99999/", "redirects to an address that is no URL."),
    ],
)
def test_a_redirect_elsewhere_is_said_and_grants_nothing(
    server: RangeServer, tmp_path: Path, location: str, cause: str
) -> None:
    (tmp_path / "f").write_bytes(BODY)
    server.redirects["/f"] = location.format(folder=tmp_path)
    said = refusal(targets(server.url, str(tmp_path), "s3://bucket"), f"{server.url}/f")
    assert said.endswith(cause.format(folder=tmp_path))
    assert len(server.requests) == 1


def test_a_range_past_64_bits_of_a_local_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(BODY)
    with pytest.raises(FetchError, match="reaches past the end of the file"):
        targets(str(tmp_path)).fetch("x/0", Range(f"{tmp_path}/f", 10**19, 4))


def test_a_redirect_takes_no_credentials_along(
    server: RangeServer, other_server: RangeServer
) -> None:
    server.redirects["/f"] = f"{other_server.url}/f"
    other_server.files["/f"] = BODY
    personal = {"headers": {"X-Key": "secret"}, "client_kwargs": {"headers": {"X-Me": "secret"}}}
    reader = targets(server.url, other_server.url, options={"http": personal})
    assert reader.fetch("x/0", Range(f"{server.url}/f", 0, 4)) == BODY[:4]
    assert {"X-Key", "X-Me"} <= server.seen_headers[0].keys()
    assert not {"X-Key", "X-Me"} & other_server.seen_headers[0].keys()


def test_options_of_a_place_are_for_that_place(
    server: RangeServer, other_server: RangeServer
) -> None:
    server.files["/f"] = other_server.files["/f"] = BODY
    reader = targets(
        server.url, other_server.url, options={server.url: {"headers": {"X-Key": "secret"}}}
    )
    for each in (server, other_server):
        reader.fetch("x/0", Range(f"{each.url}/f", 0, 4))
    assert "X-Key" in server.seen_headers[0]
    assert "X-Key" not in other_server.seen_headers[0]


def test_a_file_that_changes_between_two_reads(server: RangeServer, file: str) -> None:
    reader = targets(server.url)
    server.etags["/f"] = '"one"'
    assert reader.fetch("x/0", Range(file, 10, 4)) == BODY[10:14]
    server.etags["/f"] = '"two"'
    assert "the file changed while it was read (its version was one and is two)" in refusal(
        reader, file
    )


def test_a_local_file_that_changes_between_two_reads(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(BODY)
    reader = targets(str(tmp_path))
    reader.fetch("x/0", Range(f"{tmp_path}/f", 10, 4))
    (tmp_path / "f").write_bytes(BODY + b"more")
    assert "the file changed while it was read" in refusal(reader, f"{tmp_path}/f")


def test_no_connection_and_no_host() -> None:
    refused = refusal(targets("http://127.0.0.1:1"), "http://127.0.0.1:1/f")
    assert "no connection to 127.0.0.1:1 could be made" in refused
    unknown = refusal(targets("http://nowhere.invalid"), "http://nowhere.invalid/f")
    assert "the host nowhere.invalid cannot be found" in unknown


@pytest.mark.parametrize("host", ["x..y", "a" * 70 + ".com"])
def test_a_host_that_cannot_be(host: str) -> None:
    said = refusal(targets(f"http://{host}"), f"http://{host}/f")
    assert said.endswith(f": {host} is no name that a host can have.")


def test_a_certificate_that_nobody_vouches_for() -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with range_server(context) as server:
        server.files["/f"] = BODY
        said = refusal(targets(server.url), f"{server.url}/f")
        assert f"no safe connection to 127.0.0.1:{server.port} could be made" in said
        assert "certificate" in said
        trusting = ssl.create_default_context()
        authority.configure_trust(trusting)
        reader = targets(server.url, options={"https": {"ssl": trusting}})
        assert reader.fetch("x/0", Range(f"{server.url}/f", 10, 4)) == BODY[10:14]


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adlfs", None)
    said = refusal(targets("az://box"), "az://box/f")
    assert "the package adlfs is not installed" in said


def test_a_failure_is_no_fill_value(server: RangeServer) -> None:
    metadata = (
        '{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|i1", "compressor": null, '
        '"filters": null, "order": "C", "fill_value": 7}'
    )
    refs = rx.open_references({".zarray": metadata, "0": [f"{server.url}/gone", 0, 2]})
    array: Any = refs.to_zarr(allow=[server.url])
    assert array[2:].tolist() == [7, 7]
    with pytest.raises(FetchError, match="there is no such file"):
        array[:2]
