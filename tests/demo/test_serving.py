"""The slow server of the notebooks: ranges, waiting, counting, and nothing but its folder."""

from __future__ import annotations

import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from refexplorer.demo.serving import SlowServer, Traffic


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SlowServer]:
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "ten.bin").write_bytes(b"0123456789")
    (tmp_path / "secret").write_bytes(b"no")
    with SlowServer(folder) as server:
        yield server


def ask(
    server: SlowServer, path: str, span: str | None = None, method: str = "GET"
) -> tuple[int, bytes, dict[str, str]]:
    connection = HTTPConnection(server.url.removeprefix("http://"), timeout=10)
    connection.request(method, path, headers={} if span is None else {"Range": span})
    answer = connection.getresponse()
    found = answer.status, answer.read(), dict(answer.getheaders())
    connection.close()
    return found


@pytest.mark.parametrize(
    ("span", "body", "said"),
    [
        ("bytes=2-4", b"234", "bytes 2-4/10"),
        ("bytes=7-", b"789", "bytes 7-9/10"),
        ("bytes=-2", b"89", "bytes 8-9/10"),
        ("bytes=8-99", b"89", "bytes 8-9/10"),
    ],
)
def test_a_range(server: SlowServer, span: str, body: bytes, said: str) -> None:
    status, found, headers = ask(server, "/ten.bin", span)
    assert (status, found, headers["Content-Range"]) == (206, body, said)


def test_a_range_past_the_end(server: SlowServer) -> None:
    status, body, headers = ask(server, "/ten.bin", "bytes=10-12")
    assert (status, body, headers["Content-Range"]) == (416, b"", "bytes */10")


def test_a_whole_file_and_its_size(server: SlowServer) -> None:
    assert ask(server, "/ten.bin")[:2] == (200, b"0123456789")
    status, body, headers = ask(server, "/ten.bin", method="HEAD")
    assert (status, body, headers["Content-Length"]) == (200, b"", "10")


@pytest.mark.parametrize("path", ["/none", "/", "/../secret", "/%2e%2e/secret", "//etc/passwd"])
def test_nothing_outside_of_the_folder(server: SlowServer, path: str) -> None:
    assert ask(server, path)[:2] == (404, b"")


def test_counts_and_starts_again(server: SlowServer) -> None:
    ask(server, "/ten.bin", "bytes=0-3")
    ask(server, "/ten.bin")
    ask(server, "/none")
    assert server.traffic() == Traffic(requests=3, bytes=14)
    assert server.traffic() == Traffic(requests=0, bytes=0)


def test_waits_before_each_answer(server: SlowServer) -> None:
    server.latency, server.bandwidth = 0.05, 200.0
    start = time.monotonic()  # a lower bound, which no busy machine can miss
    ask(server, "/ten.bin")
    assert time.monotonic() - start >= 0.05 + 10 / 200
