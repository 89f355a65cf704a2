"""What servers do to their readers: each failure is one sentence with URL, range and cause."""

from __future__ import annotations

import socket
import ssl
import sys
import threading
import time as clock
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path
from typing import Any

import aiohttp
import fsspec
import pytest
import trustme
from botocore.exceptions import EndpointConnectionError

import refexplorer as rx
from refexplorer.checks.look.targets import ask
from refexplorer.core.errors import AccessError, FetchError, LimitError
from refexplorer.core.limits import Limits
from refexplorer.io.access import AccessPolicy
from refexplorer.io.fetch import http
from refexplorer.io.fetch.background import wait_for
from refexplorer.io.fetch.http import TIMEOUT
from refexplorer.io.fetch.many import fetch_many
from refexplorer.io.fetch.targets import Targets
from refexplorer.spec.references import Range, Reference, Url
from tests.helpers.servers import RangeServer, range_server, size_of

BODY = bytes(range(256)) * 8
CHUNKED = {"Transfer-Encoding": "chunked"}


def targets(*allow: str, options: dict[str, Any] | None = None, limit: int = 10**6) -> Targets:
    return Targets(AccessPolicy(None, allow), options, Limits(fetch_bytes=limit))


def refusal(reader: Targets, url: str, kind: type[Exception] = FetchError) -> str:
    with pytest.raises(kind) as caught:
        reader.fetch("x/0", Range(url, 10, 4))
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again soon where no server asks for a wait: four tries took a second and more."""
    monkeypatch.setattr(http, "FIRST_WAIT", 0.01)


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
        (401, "the server requires a login (401)"),
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


@pytest.mark.parametrize("times", [1, 3])
def test_a_connection_that_is_reset_is_tried_again(
    server: RangeServer, file: str, times: int
) -> None:
    server.resets["/f"] = times
    assert targets(server.url).fetch("x/0", Range(file, 10, 4)) == BODY[10:14]
    assert server.requests == ["/f"] * (times + 1)


def test_a_connection_that_is_always_reset(server: RangeServer, file: str) -> None:
    server.resets["/f"] = 100
    said = refusal(targets(server.url), file)
    assert said.endswith(": the connection ended before all bytes arrived.")


def later(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


def test_a_wait_that_a_server_asks_for(server: RangeServer) -> None:
    """Three at once, each of a file of its own: a wait has whole seconds."""
    asked = {"/503": (503, "1"), "/429": (429, " 1 "), "/date": (503, later(2))}
    for path, (status, wait) in asked.items():
        server.files[path], server.statuses[path], server.failures[path] = BODY, status, 1
        server.waits[path] = wait

    def fetch(path: str) -> bytes:
        return targets(server.url).fetch("x/0", Range(f"{server.url}{path}", 10, 4))

    with ThreadPoolExecutor() as pool:
        found = dict(zip(asked, pool.map(fetch, asked), strict=True))
    assert found == dict.fromkeys(asked, BODY[10:14])
    came: dict[str, list[float]] = {path: [] for path in asked}
    for path, time in zip(server.requests, server.times, strict=True):
        came[path].append(time)
    waited = {path: second - first for path, (first, second) in came.items()}
    assert waited["/503"] >= 1
    assert waited["/429"] >= 1
    until = parsedate_to_datetime(asked["/date"][1]).timestamp()
    assert came["/date"][1] + clock.time() - clock.monotonic() >= until - 0.1


@pytest.mark.parametrize("wait", ["31", "3600", "9" * 5000, "a date"])
def test_a_wait_that_is_too_long(server: RangeServer, file: str, wait: str) -> None:
    server.statuses["/f"], server.failures["/f"] = 503, 1
    server.waits["/f"] = later(3600) if wait == "a date" else wait
    said = refusal(targets(server.url), file)
    assert "the server answered 503 Service Unavailable and asks to wait " in said
    assert len(server.requests) == 1


@pytest.mark.parametrize("wait", ["", "-5", "1.5", "soon", "0", "Mon, 99 Foo 2020", "²", "past"])
def test_a_wait_that_is_none(server: RangeServer, file: str, wait: str) -> None:
    server.statuses["/f"], server.failures["/f"] = 503, 1
    server.waits["/f"] = later(-3600) if wait == "past" else wait.encode().decode("latin-1")
    assert targets(server.url).fetch("x/0", Range(file, 10, 4)) == BODY[10:14]


def test_what_lasts_is_asked_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    assert "could be made" in refusal(targets(url), f"{url}/f")


PAST_END = "the range reaches past the end of the file, which has 2,048 bytes."


@pytest.mark.parametrize("together", [False, True])
def test_a_range_past_the_end_of_which_the_size_is_known(
    server: RangeServer, file: str, together: bool
) -> None:
    wanted = {"x/0": Range(file, 2040, 20)} | ({"x/1": Range(file, 2000, 40)} if together else {})
    found = fetch_many(targets(server.url), wanted)
    assert str(found["x/0"]).endswith(f"only 8 of 20 bytes were received; {PAST_END}")
    assert found.get("x/1", BODY[2000:2040]) == BODY[2000:2040]
    with pytest.raises(FetchError, match="only 8 of 20 bytes were received; the range reaches"):
        targets(server.url).fetch("x/0", Range(file, 2040, 20))


def test_a_short_answer_of_which_no_size_is_known(server: RangeServer, file: str) -> None:
    server.hides_sizes = True
    with pytest.raises(FetchError) as caught:
        targets(server.url).fetch("x/0", Range(file, 2040, 20))
    said = "only 8 of 20 bytes were received, and the size of the file is not known."
    assert str(caught.value).endswith(said)


def test_a_whole_file_that_is_shorter(server: RangeServer) -> None:
    server.answers["/f"] = 200, CHUNKED, BODY
    with pytest.raises(FetchError) as caught:
        targets(server.url).fetch("x/0", Range(f"{server.url}/f", 2040, 20))
    assert str(caught.value).endswith(PAST_END)


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({}, "the server refuses this byte range (416)."),
        ({"Content-Range": "bytes */*"}, "the server refuses this byte range (416)."),
        ({"Content-Range": "bytes */2048"}, "the server refuses this byte range (416)."),
        ({"Content-Range": "bytes */²"}, "the server refuses this byte range (416)."),
        (
            {"Content-Range": "bytes */9"},
            "the range begins past the end of the file, which has 9 bytes.",
        ),
    ],
)
def test_a_range_that_a_server_refuses(
    server: RangeServer, headers: dict[str, str], said: str
) -> None:
    server.answers["/f"] = 416, headers, b""
    assert refusal(targets(server.url), f"{server.url}/f").endswith(f": {said}")


def test_a_server_that_does_not_speak_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"

        def answer() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
                    connection.close()

        threading.Thread(target=answer, daemon=True).start()
        said = refusal(targets(url), f"{url}/f")
        listening.shutdown(socket.SHUT_RDWR)
    assert said.endswith(": the server sent an answer that is not valid HTTP.")


class FailingFiles(fsspec.AbstractFileSystem):  # type: ignore[misc]
    """A file system whose errors are those that are put here."""

    protocol = "failing"
    error: Exception

    def cat_file(self, path: str, start: object = None, end: object = None, **_: object) -> bytes:
        raise self.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file"), "there is no such file"),
        (PermissionError(13, "Permission denied"), "access is denied"),
        (IsADirectoryError(21, "Is a directory"), "it is a folder, not a file"),
        (OSError(5, "Input/output error"), "Input/output error"),
        (OSError("Bucket is requester pays.\nmore"), "Bucket is requester pays"),
        (TimeoutError(), "the server did not answer in time"),
        (ConnectionResetError(104, "reset"), "the connection ended before all bytes arrived"),
        (ssl.SSLError(1, "[SSL] wrong version number"), "no secure connection to 127.0.0.1"),
        (
            EndpointConnectionError(endpoint_url="http://h"),
            "no connection to h could be made; storage_options=",
        ),
        (RuntimeError(), "reading failed without a message (RuntimeError)"),
        (KeyError("Body"), "reading failed unexpectedly (KeyError: 'Body')"),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else None,
)
def test_the_cause_is_a_sentence(error: Exception, said: str) -> None:
    fsspec.register_implementation("failing", FailingFiles)
    FailingFiles.error = error
    found = refusal(targets("failing://127.0.0.1"), "failing://127.0.0.1/f")
    assert f"bytes 10 to 14: {said}" in found
    if not isinstance(error, RuntimeError | KeyError):
        assert type(error).__name__ not in found


def test_a_server_that_goes_on_failing(server: RangeServer, file: str) -> None:
    server.statuses["/f"] = 500
    assert "the server answered 500" in refusal(targets(server.url), file)
    assert len(server.requests) == 4


def test_a_body_that_ends_too_early(server: RangeServer, file: str) -> None:
    server.truncated.add("/f")
    assert "the connection ended before all bytes arrived" in refusal(targets(server.url), file)


def test_a_server_without_ranges_gives_the_right_bytes(server: RangeServer, file: str) -> None:
    server.ignores_ranges = True
    assert targets(server.url).fetch("x/0", Range(file, 1500, 500)) == BODY[1500:2000]


def test_a_server_without_ranges_is_read_only_so_far(server: RangeServer, file: str) -> None:
    server.ignores_ranges = True
    with pytest.raises(LimitError, match=r"does not support byte ranges.* 1,504 bytes up to here"):
        targets(server.url, limit=1000).fetch("x/0", Range(file, 1500, 4))


def patient(seconds: float) -> dict[str, dict[str, object]]:
    return {"http": {"client_kwargs": {"timeout": aiohttp.ClientTimeout(sock_read=seconds)}}}


def test_silence_is_what_ends_a_read() -> None:
    assert (TIMEOUT.total, TIMEOUT.sock_read) == (None, 30)


LATE = "there was no complete answer within {} seconds, retries included (`Limits.read_seconds`)."


def hasty(*allow: str, seconds: float = 0.3, options: dict[str, Any] | None = None) -> Targets:
    return Targets(AccessPolicy(None, allow), options, Limits(read_seconds=seconds))


def test_a_read_has_one_budget_for_all_its_tries(server: RangeServer, file: str) -> None:
    """Four times half a minute of silence were two minutes, and more with the waits between."""
    server.stalled.add("/f")
    reader = hasty(server.url, seconds=0.5, options=patient(0.2))
    assert refusal(reader, file).endswith(f": {LATE.format(0.5)}")
    assert 1 < len(server.requests) < 4
    assert wait_for(ask(hasty(server.url), file)).cause == f"T{LATE.format(0.3)[1:]}"


def test_bytes_now_and_then_do_not_keep_a_read(server: RangeServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        done = threading.Event()

        def drip() -> None:
            connection, _ = listening.accept()
            with suppress(OSError), connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2048\r\n\r\n")
                while not done.wait(0.02):
                    connection.sendall(b"x")

        thread = threading.Thread(target=drip)
        thread.start()
        with pytest.raises(FetchError) as caught:
            hasty(url).fetch("x/0", Url(f"{url}/f"))
        assert str(caught.value).endswith(LATE.format(0.3))
        done.set()
        thread.join()


def test_time_does_not_count_while_enough_bytes_come(server: RangeServer) -> None:
    server.files["/f"] = BODY * 40
    server.dripping.add("/f")  # 50 kB in a second, for more than a second and a half
    assert hasty(server.url, seconds=0.5).fetch("x/0", Url(f"{server.url}/f")) == BODY * 40


def test_many_reads_of_a_silent_server_wait_once(server: RangeServer) -> None:
    wanted: dict[str, Reference] = {}
    for n in range(100):
        server.stalled.add(f"/{n}")
        wanted[f"x/{n}"] = Range(f"{server.url}/{n}", 0, 4)
    found = fetch_many(hasty(server.url), wanted)
    assert all(str(each).endswith(LATE.format(0.3)) for each in found.values())
    assert len(server.requests) <= 24


def test_a_server_that_says_nothing_for_long() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert "the server did not answer in time" in refusal(
            targets(url, options=patient(0.05)), f"{url}/f"
        )


def test_a_server_that_never_goes_on(server: RangeServer) -> None:
    server.files["/f"] = BODY
    server.stalled.add("/f")
    reader = targets(server.url, options=patient(0.05))
    assert "the server did not answer in time" in refusal(reader, f"{server.url}/f")
    assert len(server.requests) == 4


def test_a_server_that_stops_in_the_middle(server: RangeServer) -> None:
    headers = {"Content-Range": f"bytes 10-13/{len(BODY)}", "Content-Length": "4"}
    server.answers["/f"] = 206, headers, BODY[10:12]
    reader = targets(server.url, options=patient(0.05))
    assert "the server did not answer in time" in refusal(reader, f"{server.url}/f")
    assert len(server.requests) == 4


def test_a_slow_server_may_take_as_long_as_it_needs(server: RangeServer) -> None:
    server.files["/f"] = BODY * 40
    server.dripping.add("/f")
    reader = targets(server.url, options=patient(1))
    assert reader.fetch("x/0", Url(f"{server.url}/f")) == BODY * 40
    assert len(server.requests) == 1


PAGE = b"<!DOCTYPE html><title>Log in</title>"
SPAN = {"Content-Range": f"bytes 10-13/{len(BODY)}"}
FOREIGN = {
    "gzip": (206, SPAN | {"Content-Encoding": "gzip"}, "(Content-Encoding: gzip)"),
    "x-gzip": (206, SPAN | {"Content-Encoding": "X-GZip"}, "(Content-Encoding: X-GZip)"),
    "deflate": (206, SPAN | {"Content-Encoding": "deflate"}, "(Content-Encoding: deflate)"),
    "br": (206, SPAN | {"Content-Encoding": "br"}, "(Content-Encoding: br)"),
    "zstd": (206, SPAN | {"Content-Encoding": "zstd"}, "(Content-Encoding: zstd)"),
    "two encodings": (
        206,
        SPAN | {"Content-Encoding": "identity, gzip"},
        "(Content-Encoding: identity, gzip)",
    ),
    "no known encoding": (206, SPAN | {"Content-Encoding": "x-own"}, "(Content-Encoding: x-own)"),
    "the whole file in gzip": (200, {"Content-Encoding": "gzip"}, "(Content-Encoding: gzip)"),
    "gzip on the way": (
        206,
        SPAN | {"Transfer-Encoding": "gzip, chunked"},
        "(Transfer-Encoding: gzip, chunked)",
    ),
    "a page": (200, {"Content-Type": "text/html"}, "a web page (Content-Type: text/html)"),
    "part of a page": (
        206,
        SPAN | {"Content-Type": "Text/HTML; charset=utf-8"},
        "a web page (Content-Type: Text/HTML; charset=utf-8)",
    ),
    "a strict page": (
        200,
        {"Content-Type": "application/xhtml+xml"},
        "a web page (Content-Type: application/xhtml+xml)",
    ),
    "several parts": (
        206,
        {"Content-Type": "multipart/byteranges; boundary=x"},
        "several parts (Content-Type: multipart/byteranges; boundary=x)",
    ),
    "a part without a place": (206, {}, "without a Content-Range, so it is unknown which part"),
    "a place that is none": (206, {"Content-Range": "lines 1-4/9"}, "(Content-Range: lines 1-4/9)"),
    "a later part": (
        206,
        {"Content-Range": "bytes 11-14/2048"},
        "a different range from the requested one (Content-Range: bytes 11-14/2048)",
    ),
    "less than there is": (
        206,
        {"Content-Range": "bytes 10-11/2048"},
        "a different range from the requested one (Content-Range: bytes 10-11/2048)",
    ),
    "an end before the start": (206, {"Content-Range": "bytes 10-9/2048"}, "an invalid range"),
    "an end past the file": (206, {"Content-Range": "bytes 10-13/12"}, "an invalid range"),
    "part of a whole": (200, SPAN, "(the whole file), but with the range of a part"),
}
"""Status, headers and what is said of answers with a status of success that are not the bytes."""


@pytest.mark.parametrize(("status", "headers", "said"), FOREIGN.values(), ids=FOREIGN)
def test_an_answer_that_is_not_the_bytes_asked_for(
    server: RangeServer, status: int, headers: dict[str, str], said: str
) -> None:
    size = 2 if said.endswith("10-11/2048)") else 4
    server.answers["/f"] = status, headers, BODY[:size] if status == 206 else BODY
    url = f"{server.url}/f"
    assert said in refusal(targets(server.url), url)
    assert len(server.requests) == 1
    batch = fetch_many(targets(server.url), {"x/0": Range(url, 10, 4), "x/1": Range(url, 20, 4)})
    assert [isinstance(found, FetchError) for found in batch.values()] == [True, True]


@pytest.mark.parametrize("name", [each for each in FOREIGN if FOREIGN[each][0] == 200])
def test_a_whole_file_that_is_none(server: RangeServer, name: str) -> None:
    status, headers, said = FOREIGN[name]
    server.answers["/f"] = status, headers, BODY
    with pytest.raises(FetchError) as caught:
        targets(server.url).fetch("x/0", Url(f"{server.url}/f"))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("headers", "body", "said"),
    [
        (SPAN, BODY[10:20], "sent 10 bytes, but its Content-Range has 4 (10 to 14)"),
        (SPAN, BODY[10:12], "sent 2 bytes, but its Content-Range has 4 (10 to 14)"),
        (SPAN | CHUNKED, BODY, "sent 2,048 bytes, but its Content-Range has 4 (10 to 14)"),
        (SPAN | CHUNKED, BODY[10:12], "sent 2 bytes, but its Content-Range has 4 (10 to 14)"),
        (
            {"Content-Range": "bytes 0-99/2048"} | CHUNKED,
            BODY[:12],
            "sent 12 bytes, but its Content-Range has 100 (0 to 100)",
        ),
    ],
    ids=size_of,
)
def test_a_body_of_another_length_than_its_headers_say(
    server: RangeServer, headers: dict[str, str], body: bytes, said: str
) -> None:
    server.answers["/f"] = 206, headers, body
    assert said in refusal(targets(server.url), f"{server.url}/f")
    announced = int(said.rpartition(" has ")[2].partition(" ")[0])
    assert len(server.requests) == (2 if len(body) < announced else 1)


@pytest.mark.parametrize("headers", [SPAN, SPAN | CHUNKED], ids=["length", "chunked"])
def test_a_truncated_answer_is_asked_for_once_more(
    server: RangeServer, file: str, headers: dict[str, str]
) -> None:
    server.answers["/f"] = 206, headers, BODY[10:12]
    server.answer_counts["/f"] = 1
    assert targets(server.url).fetch("x/0", Range(file, 10, 4)) == BODY[10:14]
    assert len(server.requests) == 2


def test_a_truncated_answer_after_a_failure_of_the_moment(server: RangeServer, file: str) -> None:
    server.resets["/f"] = 1
    server.answers["/f"] = 206, SPAN, BODY[10:12]
    server.answer_counts["/f"] = 1
    assert targets(server.url).fetch("x/0", Range(file, 10, 4)) == BODY[10:14]
    assert len(server.requests) == 3


def test_a_whole_file_of_which_a_part_comes(server: RangeServer) -> None:
    server.answers["/f"] = 206, {"Content-Range": "bytes 0-99/2048"}, BODY[:100]
    with pytest.raises(FetchError, match=r"a different range .*bytes 0-99/2048"):
        targets(server.url).fetch("x/0", Url(f"{server.url}/f"))


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (206, SPAN, BODY[10:14]),
        (206, SPAN | CHUNKED, BODY[10:14]),
        (206, {"Content-Range": "bytes 10-13/*"}, BODY[10:14]),
        (206, {"Content-Range": "Bytes 8-99/2048"}, BODY[8:100]),
        (206, {"Content-Range": "bytes 0-2047/2048"} | CHUNKED, BODY),
        (206, SPAN | {"Content-Encoding": "identity"}, BODY[10:14]),
        (206, SPAN | {"Content-Encoding": "aws-chunked"}, BODY[10:14]),
        (206, SPAN | {"Content-Type": "text/plain"}, BODY[10:14]),
        (206, SPAN | {"Content-Type": "application/octet-stream"}, BODY[10:14]),
        (200, CHUNKED, BODY),
        (200, {"Content-Range": "bytes 0-2047/2048"}, BODY),
    ],
    ids=size_of,
)
def test_odd_answers_that_have_the_bytes(
    server: RangeServer, status: int, headers: dict[str, str], body: bytes
) -> None:
    server.answers["/f"] = status, headers, body
    assert targets(server.url).fetch("x/0", Range(f"{server.url}/f", 10, 4)) == BODY[10:14]


STARTS = {
    "plain": PAGE,
    "small letters": b"<!doctype html>\n<p>",
    "no doctype": b"<HTML lang='en'><body>",
    "no html": b"<head><title>",
    "space and a mark": b"\xef\xbb\xbf\r\n\t <!DOCTYPE\n HTML PUBLIC '-//W3C'>",
    "comments": b"<!-- a --><!----> <!-- " + b"<p>" * 2000 + b" -->\n<html>",
    "strict": b'<?xml version="1.0"?>\n<!DOCTYPE html>',
    "utf-16": "\ufeff<!DOCTYPE html><p>".encode("utf-16-le"),
    "short": b"<!DOCTYP",
}
UNTYPED: list[dict[str, str]] = [{}, {"Content-Type": "application/octet-stream"}]


@pytest.mark.parametrize("headers", UNTYPED, ids=["untyped", "typed as bytes"])
@pytest.mark.parametrize("body", STARTS.values(), ids=STARTS)
def test_a_page_that_does_not_say_so(
    server: RangeServer, headers: dict[str, str], body: bytes
) -> None:
    server.answers["/f"] = 200, headers, body
    url, said = f"{server.url}/f", r": the server sent a web page \(it begins with <"
    for reference in (Url(url), Range(url, 0, 4), Range(url, 3, 1), Range(url, 10**9, 4)):
        with pytest.raises(FetchError, match=said):
            targets(server.url).fetch("x/0", reference)
    assert len(server.requests) == 4


def test_a_page_of_a_server_that_gives_ranges(server: RangeServer) -> None:
    server.files["/f"] = PAGE
    with pytest.raises(FetchError, match=r"a web page \(it begins with <!DOCTYPE html\)"):
        targets(server.url).fetch("x/0", Range(f"{server.url}/f", 0, 20))

    with pytest.raises(FetchError, match=r"a web page \(it begins with <!DOCTYPE html\)"):
        targets(server.url).fetch("x/0", Range(f"{server.url}/f", 5, 4))
    reader, numbers, letters = targets(server.url), bytes(range(64)) * 20, b"abcd" * 300
    server.files |= {"/numbers": numbers, "/letters": letters}
    server.requests.clear()
    assert reader.fetch("x/0", Range(f"{server.url}/numbers", 64, 500)) == numbers[64:564]
    assert server.requests == ["/numbers"]
    for start in (4, 8, 12):
        assert reader.fetch("x/0", Range(f"{server.url}/letters", start, 4)) == b"abcd"
    assert server.requests == ["/numbers", *["/letters"] * 4]


@pytest.mark.parametrize("headers", UNTYPED, ids=["untyped", "typed as bytes"])
def test_a_page_that_is_only_asked_for(server: RangeServer, headers: dict[str, str]) -> None:
    server.answers["/whole"] = 200, headers, PAGE + b" " * 10**6
    server.files["/ranges"] = PAGE
    refs = rx.open_references(
        {name: [f"{server.url}/{name}", 0, 4] for name in ("whole", "ranges")}
    )
    for found in refs.allowing(server.url).check_targets().files().to_pylist():
        assert "sent a web page (it begins with <!DOCTYPE html)" in str(found["message"])
        assert found["state"] == "unreachable"
    assert set(server.spans) == {"bytes=0-255"}


@pytest.mark.parametrize(
    "body",
    [
        b"<htmlish>",
        b"<p><html>",
        b"<!-- a <html>",
        b"<!-->" * 3000,
        b"<?xml version='1'?><a/>",
        b"<!",
    ],
)
def test_data_that_only_looks_like_a_page(server: RangeServer, body: bytes) -> None:
    server.answers["/f"] = 200, {}, body
    assert targets(server.url).fetch("x/0", Url(f"{server.url}/f")) == body


@pytest.mark.parametrize("name", ["/page.html", "/PAGE.HTM", "/page.html?v=1"])
def test_a_target_that_is_a_page_by_its_name(server: RangeServer, name: str) -> None:
    server.answers[name] = 200, {"Content-Type": "text/html"}, PAGE
    reader = targets(server.url)
    assert reader.fetch("x/0", Url(f"{server.url}{name}")) == PAGE
    assert reader.fetch("x/0", Range(f"{server.url}{name}", 2, 7)) == b"DOCTYPE"
    server.answers[name] = 200, {}, PAGE
    assert reader.fetch("x/0", Url(f"{server.url}{name}")) == PAGE


def test_a_redirect_to_a_login_page(server: RangeServer) -> None:
    server.redirects["/f"] = "/login.html"
    server.answers["/login.html"] = 200, {"Content-Type": "text/html"}, PAGE
    assert "a web page (Content-Type: text/html)" in refusal(targets(server.url), f"{server.url}/f")


def test_a_size_that_changes_between_two_reads(server: RangeServer, file: str) -> None:
    reader = targets(server.url)
    assert reader.fetch("x/0", Range(file, 10, 4)) == BODY[10:14]
    server.files["/f"] = BODY * 2
    assert (
        "the file changed since its first read (it had 2,048 bytes and has 4,096 now)"
        in refusal(reader, file)
    )


def test_a_store_that_ignores_ranges() -> None:
    fsspec.register_implementation("whole", WholeFiles)
    url = "whole://127.0.0.1/f"
    reader = targets("whole://127.0.0.1")
    with pytest.raises(FetchError, match=r"the store sent 2,048 bytes, but 4 were requested"):
        reader.fetch("x/0", Range(url, 10, 4))
    batch = fetch_many(reader, {"x/0": Range(url, 10, 4), "x/1": Range(url, 20, 4)})
    assert [isinstance(found, FetchError) for found in batch.values()] == [True, True]
    assert reader.fetch("x/0", Url(url)) == BODY


class WholeFiles(fsspec.AbstractFileSystem):  # type: ignore[misc]
    """A file system that gives whole files whatever is asked for, as some do."""

    protocol = "whole"

    def cat_file(self, path: str, start: object = None, end: object = None, **_: object) -> bytes:
        return BODY


def test_a_redirect_inside_is_named_and_not_followed(
    server: RangeServer, other_server: RangeServer
) -> None:
    server.redirects["/f"] = f"{other_server.url}/f"
    assert f'allow=["{other_server.url}"]' in refusal(
        targets(server.url), f"{server.url}/f", AccessError
    )
    assert other_server.requests == []


def test_a_name_leads_to_no_other_port_of_a_named_address(
    server: RangeServer, other_server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up = socket.getaddrinfo

    def here(host: Any, *rest: Any, **named: Any) -> Any:
        return look_up("127.0.0.1" if host == "name.example" else host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", here)
    server.files["/f"] = other_server.files["/f"] = BODY
    names = [f"http://name.example:{each.port}" for each in (server, other_server)]
    reader = targets(server.url, *names)
    assert reader.fetch("x/0", Range(f"{names[0]}/f", 10, 4)) == BODY[10:14]
    said = refusal(reader, f"{names[1]}/f", AccessError)
    assert "name.example resolves to 127.0.0.1, an address inside" in said
    assert f'allow=["{other_server.url}"]' in said
    assert other_server.requests == []


@pytest.mark.parametrize(
    ("location", "cause"),
    [
        (
            "file://{folder}/f",
            "redirects to file://{folder}/f, but only http and https are followed.",
        ),
        ("javascript:1", "redirects to javascript:1, but only http and https are followed."),
        ("s3://bucket/f", "redirects to s3://bucket/f, but only http and https are followed."),
        ("http://[zz/", "redirects to an invalid URL."),
        ("http://host:99999/", "redirects to an invalid URL."),
    ],
)
def test_a_redirect_to_another_place_is_reported_and_grants_nothing(
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


def test_headers_without_a_place_are_for_the_place_of_the_set(
    server: RangeServer, other_server: RangeServer
) -> None:
    """Every other server that was allowed saw them, too."""
    server.files["/f"] = other_server.files["/f"] = BODY
    personal = {"headers": {"X-Key": "secret"}, "client_kwargs": {"headers": {"X-Me": "secret"}}}
    policy = AccessPolicy(f"{server.url}/sets", [server.url, other_server.url])
    for options in (personal, {"http": personal}):
        reader = Targets(policy, options, Limits())
        for each in (server, other_server):
            assert reader.fetch("x/0", Range(f"{each.url}/f", 0, 4)) == BODY[:4]
    assert all({"X-Key", "X-Me"} <= each.keys() for each in server.seen_headers)
    assert not any({"X-Key", "X-Me"} & each.keys() for each in other_server.seen_headers)
    other_server.statuses["/f"] = 401
    said = refusal(Targets(policy, personal, Limits()), f"{other_server.url}/f")
    assert said.endswith(
        ": the server requires a login (401); the storage_options without a place were sent to "
        f'{server.url} only; storage_options={{"{other_server.url}": {{"headers": '
        '{"Authorization": …}}} gives credentials.'
    )
    named = Targets(policy, personal | {other_server.url: {"headers": {"X-Key": "b"}}}, Limits())
    refusal(named, f"{other_server.url}/f")
    assert other_server.seen_headers[-1]["X-Key"] == "b"
    said = refusal(targets(other_server.url, options=personal), f"{other_server.url}/f")
    assert "; storage_options without a place were not sent, as the set is from no server; " in said


def test_a_login_behind_a_redirect_names_the_server_that_wants_it(
    server: RangeServer, other_server: RangeServer
) -> None:
    server.redirects["/f"] = f"{other_server.url}/f"
    other_server.statuses["/f"] = 403
    options = {"http": {"headers": {"X-Key": "secret"}}}
    reader = targets(server.url, other_server.url, options=options)
    said = refusal(reader, f"{server.url}/f")
    assert "were sent to the first server only" in said
    assert f'; storage_options={{"{other_server.url}": ' in said
    reader = targets(server.url, other_server.url, options={"http": {"client_kwargs": {}}})
    assert ": the server denies access (403); storage_options={" in refusal(
        reader, f"{server.url}/f"
    )


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
    assert "the file changed since its first read (its version was one and is two now)" in refusal(
        reader, file
    )


def test_a_local_file_that_changes_between_two_reads(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(BODY)
    reader = targets(str(tmp_path))
    reader.fetch("x/0", Range(f"{tmp_path}/f", 10, 4))
    (tmp_path / "f").write_bytes(BODY + b"more")
    assert "the file changed since its first read" in refusal(reader, f"{tmp_path}/f")


def test_no_connection_and_no_host() -> None:
    refused = refusal(targets("http://127.0.0.1:1"), "http://127.0.0.1:1/f")
    assert "no connection to 127.0.0.1:1 could be made" in refused
    unknown = refusal(targets("http://nowhere.invalid"), "http://nowhere.invalid/f")
    assert "the host nowhere.invalid cannot be found" in unknown


@pytest.mark.parametrize("host", ["x..y", "a" * 70 + ".com"])
def test_a_host_that_cannot_be(host: str) -> None:
    said = refusal(targets(f"http://{host}"), f"http://{host}/f")
    assert said.endswith(f": {host} is not a valid host name.")


def test_a_certificate_that_nobody_vouches_for() -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with range_server(context) as server:
        server.files["/f"] = BODY
        said = refusal(targets(server.url), f"{server.url}/f")
        assert f"no secure connection to 127.0.0.1:{server.port} could be made" in said
        assert "certificate" in said
        trusting = ssl.create_default_context()
        authority.configure_trust(trusting)
        reader = targets(server.url, options={"https": {"ssl": trusting}})
        assert reader.fetch("x/0", Range(f"{server.url}/f", 10, 4)) == BODY[10:14]


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adlfs", None)
    said = refusal(targets("az://box"), "az://box/f")
    assert "adlfs is not installed (`pip install adlfs`)" in said


def test_a_failure_is_no_fill_value(server: RangeServer) -> None:
    metadata = (
        '{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|i1", "compressor": null, '
        '"filters": null, "order": "C", "fill_value": 7}'
    )
    refs = rx.open_references({".zarray": metadata, "0": [f"{server.url}/gone", 0, 2]})
    array: Any = refs.allowing(server.url).to_zarr()
    assert array[2:].tolist() == [7, 7]
    with pytest.raises(FetchError, match="there is no such file"):
        array[:2]
