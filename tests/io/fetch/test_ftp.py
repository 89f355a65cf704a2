"""FTP servers: each is read by a connection of its own, which no options lead elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

import refexplorer as rx
from refexplorer.checks.look.targets import ask
from refexplorer.core.errors import AccessError, FetchError
from refexplorer.core.limits import Limits
from refexplorer.io.access import AccessPolicy
from refexplorer.io.fetch.background import wait_for
from refexplorer.io.fetch.many import fetch_many
from refexplorer.io.fetch.targets import Targets
from refexplorer.spec.references import Range, Reference, Url
from tests.helpers.ftp import RunningFtp, ftp_server
from tests.helpers.sets import bytes_at

pytestmark = pytest.mark.server

BODY = {"a": bytes(range(256)) * 8, "b": bytes(range(255, -1, -1)) * 8}
ME = {"username": "me", "password": "knows"}


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[RunningFtp, RunningFtp]]:
    for name, body in BODY.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "d.bin").write_bytes(body)
    with ftp_server(tmp_path / "a") as first, ftp_server(tmp_path / "b") as second:
        yield first, second


def targets(*allow: str, options: dict[str, Any] | None = None, location: str = "") -> Targets:
    return Targets(AccessPolicy(location or None, allow), options, Limits())


def test_a_server_is_read_without_options(servers: tuple[RunningFtp, RunningFtp]) -> None:
    """fsspec could, and this failed with a TypeError."""
    first, second = servers
    reader = targets(first.url, second.url)
    urls = {"a": f"{first.url}/d.bin", "b": f"{second.url}/d.bin"}
    for name, url in urls.items():
        got = reader.fetch("x/0", Range(url, 300, 7))
        assert got == BODY[name][300:307] == fsspec.open(url).open().read()[300:307]
        assert reader.fetch("x/0", Url(url)) == BODY[name]
    facts = wait_for(ask(reader, urls["a"])).facts
    assert facts is not None
    assert facts.size == len(BODY["a"])
    refs = rx.open_references(bytes_at(*urls.values()))
    found: dict[str, Any] = {"refs": refs}
    exec(refs.allowing(first.url).code("x/0"), found)
    assert found["data"] == BODY["a"][:4]
    group: Any = refs.allowing(first.url, second.url).to_zarr()
    assert bytes(group["x"][:]) == BODY["a"][:4] + BODY["b"][4:8]


def test_many_files_at_once(servers: tuple[RunningFtp, RunningFtp], tmp_path: Path) -> None:
    """Threads took each other's bytes from the one connection."""
    first, _ = servers
    for name in map(str, range(20)):
        (tmp_path / "a" / name).write_bytes(BODY["a"])
    wanted: dict[str, Reference] = {f"x/{n}": Range(f"{first.url}/{n}", n, 5) for n in range(20)}
    found = fetch_many(targets(first.url), wanted)
    assert found == {f"x/{n}": BODY["a"][n : n + 5] for n in range(20)}


@pytest.mark.parametrize("named", [False, True])
def test_options_of_one_server_lead_no_other_there(
    servers: tuple[RunningFtp, RunningFtp], named: bool
) -> None:
    """`d.bin` of the second was read from the first, although that was not allowed."""
    first, second = servers
    options = {"host": "127.0.0.1", "port": first.port}
    given = options if named else {"ftp": options}
    reader = targets(second.url, options=given, location=f"{second.url}/sets" if named else "")
    assert reader.fetch("x/0", Range(f"{second.url}/d.bin", 0, 4)) == BODY["b"][:4]
    assert first.users == []
    with pytest.raises(AccessError):
        reader.fetch("x/0", Range(f"{first.url}/d.bin", 0, 4))


def test_options_of_a_place_that_name_another_host_are_refused() -> None:
    with pytest.raises(AccessError, match=r"name another host, a\.example:2121\.$"):
        targets(options={"ftp://b.example": {"host": "a.example", "port": 2121}})
    with pytest.raises(AccessError, match=r"have a port, but no host\.$"):
        targets(options={"ftp": {"port": 2121}})


def test_users_are_for_the_server_that_they_were_given_for(tmp_path: Path) -> None:
    for name, body in BODY.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "d.bin").write_bytes(body)
    with ftp_server(tmp_path / "a", "knows") as own, ftp_server(tmp_path / "b", "knows") as other:
        reader = targets(own.url, other.url, options=ME, location=own.url)
        assert reader.fetch("x/0", Range(f"{own.url}/d.bin", 0, 4)) == BODY["a"][:4]
        with pytest.raises(FetchError) as caught:
            reader.fetch("x/0", Range(f"{other.url}/d.bin", 0, 4))
        said = str(caught.value)
        assert ": the server refuses the login (530); the storage_options without a place" in said
        assert f" were sent to {own.url} only; " in said
        assert f'; storage_options={{"{other.url}": {{"username": …, "password": …}}}}' in said
        assert other.users == []
        for options in ({own.url: ME, other.url: ME}, {"ftp": ME}):
            reader = targets(own.url, other.url, options=options)
            assert reader.fetch("x/0", Range(f"{other.url}/d.bin", 0, 4)) == BODY["b"][:4]
        signed = other.url.replace("://", "://me:knows@")
        reader = targets(other.url)
        assert reader.fetch("x/0", Range(f"{signed}/d.bin", 0, 4)) == BODY["b"][:4]


def test_a_connection_that_the_server_ended_is_made_again(
    servers: tuple[RunningFtp, RunningFtp],
) -> None:
    first, _ = servers
    reader, wanted = targets(first.url), Range(f"{first.url}/d.bin", 0, 4)
    assert reader.fetch("x/0", wanted) == BODY["a"][:4]
    first.hang_up()
    assert reader.fetch("x/0", wanted) == BODY["a"][:4]
    assert len(first.users) == 2


def test_what_a_server_lacks_is_one_sentence(servers: tuple[RunningFtp, RunningFtp]) -> None:
    first, _ = servers
    reader = targets(first.url, "ftp://127.0.0.1:1")
    with pytest.raises(FetchError, match=r"e\.bin, bytes 0 to 4: there is no such file\.$"):
        reader.fetch("x/0", Range(f"{first.url}/e.bin", 0, 4))
    with pytest.raises(FetchError, match=r"no connection to 127\.0\.0\.1:1 could be made\.$"):
        reader.fetch("x/0", Range("ftp://127.0.0.1:1/d.bin", 0, 4))
