"""A place measured on a real server, by few requests that were allowed, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import refexplorer as rx
from refexplorer.core.errors import RefexplorerError
from tests.helpers.commands import run
from tests.helpers.servers import range_server


def made(url: str, length: int) -> dict[str, Any]:
    """Return a set of two chunks, the second of which is longer."""
    metadata = {"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "|u1", "order": "C",
                "compressor": {"id": "zlib"}, "filters": None, "fill_value": 0}  # fmt: skip
    keys = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(metadata)}
    return keys | {"x/0": [url, 0, 10], "x/1": [url, 100, length]}


def test_latency_and_bandwidth_come_from_few_requests_of_one_target() -> None:
    with range_server() as server:
        server.files["/f"] = bytes(6_000_000)
        refs = rx.open_references(made(f"{server.url}/f", 5_000_000))
        advice = refs.allowing("127.0.0.1", server.url).advise(measure=True)
        assert server.requests == ["/f"] * 15
        lengths = [_length(span) for span in server.spans]
    assert sorted(lengths) == [1] * 9 + [2**22] * 6
    assert advice.place.latency > 0
    assert advice.place.bandwidth >= advice.place.stream > 0
    assert advice.asked is not None
    assert "9 requests for one byte" in advice.asked
    assert "(measured by 9 requests for one byte of http://127.0.0.1" in str(advice)
    assert advice.to_dict()["asked"] == advice.asked


def _length(span: str | None) -> int:
    start, stop = (span or "").removeprefix("bytes=").split("-")
    return int(stop) - int(start) + 1


def test_of_short_ranges_the_bandwidth_is_not_said_to_be_measured() -> None:
    with range_server() as server:
        server.files["/f"] = bytes(10_000)
        refs = rx.open_references(made(f"{server.url}/f", 500))
        advice = refs.allowing("127.0.0.1", server.url).advise(measure=True, place="lustre")
        assert len(server.requests) == 6
    assert advice.place.bandwidth == 2e9
    assert "too short to measure a bandwidth, which is that of lustre" in str(advice)


def test_nothing_is_asked_that_was_not_allowed() -> None:
    with range_server() as server:
        server.files["/f"] = bytes(10_000)
        refs = rx.open_references(made(f"{server.url}/f", 500))
        with pytest.raises(rx.errors.AccessError):
            refs.advise(measure=True)
        refs.advise()
        assert server.requests == []


def test_a_target_that_is_not_there_is_an_error() -> None:
    with range_server() as server:
        refs = rx.open_references(made(f"{server.url}/f", 500))
        with pytest.raises(rx.errors.FetchError, match="x/1"):
            refs.allowing("127.0.0.1", server.url).advise(measure=True)


def test_a_set_without_byte_ranges_cannot_be_measured() -> None:
    for keys in ({"x/0": ["s3://b/f"]}, {"x/0": "base64:AAAA"}):
        refs = rx.open_references(made("s3://b/f", 1) | keys | {"x/1": "a"})
        with pytest.raises(RefexplorerError, match="no byte range"):
            refs.advise(measure=True)


def test_the_command_measures_what_it_may_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(200_000))
    (tmp_path / "a.json").write_text(json.dumps(made("f", 150_000)))
    ran = run("advise", tmp_path / "a.json", "--measure")
    assert (ran.status, ran.err) == (0, "")
    assert "measured by 9 requests for one byte of f, and 6 for 150 kB" in ran.out
    (tmp_path / "b.json").write_text(json.dumps(made("https://host.example/f", 150_000)))
    refused = run("advise", tmp_path / "b.json", "--measure")
    assert (refused.status, refused.out, len(refused.err.splitlines())) == (2, "", 1)
    assert "not allowed yet" in refused.err
