"""While a large document is read, somebody may look on, and stop it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import refexplorer as rx

REFS = {f"x/{number}": ["s3://bucket/file.nc", number * 100, 100] for number in range(60_000)}


class Stopped(Exception):
    pass


@pytest.fixture(params=["plain", "gzip"])
def large(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "large.json"
    text = json.dumps(REFS).encode()
    path.write_bytes(gzip.compress(text) if request.param == "gzip" else text)
    return path


def test_the_bytes_of_the_file_are_reported_as_they_are_read(large: Path) -> None:
    told: list[tuple[int, int]] = []
    refs = rx.open_references(large, progress=lambda done, size: told.append((done, size)))
    size = large.stat().st_size
    assert refs.count == len(REFS)
    assert len(told) > 2
    assert told == sorted(told)
    assert told[-1] == (size, size)


def test_what_is_raised_stops_the_opening(large: Path) -> None:
    def stop(done: int, size: int) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        rx.open_references(large, progress=stop)


def test_a_small_document_is_not_worth_reporting() -> None:
    told: list[int] = []
    rx.open_references({"a": "b"}, progress=lambda done, size: told.append(done))
    assert not told
