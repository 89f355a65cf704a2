from __future__ import annotations

import json
from typing import Any

import pytest

import refexplorer as rx
from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.io.fetch.targets import MERGE_GAP
from tests.helpers.servers import RangeServer

URL = "https://host.example/f"


def grid(url: str = URL, **more: Any) -> rx.ReferenceSet:
    """Open an array of 6 by 4 chunks of 100 bytes each; a row lies together."""
    metadata = {
        "zarr_format": 2,
        "shape": [60, 40],
        "chunks": [10, 10],
        "dtype": "|u1",
        "compressor": None,
        "filters": None,
        "order": "C",
        "fill_value": 0,
    }
    row = 4 * 100 + MERGE_GAP + 1
    chunks = {f"x/{i}.{j}": [url, i * row + j * 100, 100] for i in range(6) for j in range(4)}
    return rx.open_references({"x/.zarray": json.dumps(metadata | more)} | chunks)


@pytest.mark.parametrize(
    ("selection", "chunks", "requests"),
    [
        ((), 24, 6),
        ((0,), 4, 1),
        ((slice(0, 20),), 8, 2),
        ((slice(15, 25), slice(39, 40)), 2, 2),
        ((-1, -1), 1, 1),
        ((slice(None, None, 25),), 12, 3),
        ((slice(None, None, -25), 0), 3, 3),
        ((slice(5, 5),), 0, 0),
    ],
)
def test_a_selection_in_chunks_bytes_and_requests(
    selection: tuple[int | slice, ...], chunks: int, requests: int
) -> None:
    found = grid().estimate("x", selection)
    assert (found.chunks, found.bytes, found.requests) == (chunks, chunks * 100, requests)


def test_an_estimate_asks_nobody_and_is_kept(server: RangeServer) -> None:
    server.files["/f"] = bytes(500_000)
    refs = grid(f"{server.url}/f")
    expected = refs.estimate("x")
    assert server.requests == []
    keys = [key for key in refs if key != "x/.zarray"]
    refs.allowing(server.url).filesystem().cat(keys)
    assert len(server.requests) == expected.requests


def test_a_selection_that_is_none() -> None:
    with pytest.raises(RefexplorerError, match="x has 2 dimensions, not 3"):
        grid().estimate("x", (0, 0, 0))
    with pytest.raises(
        RefexplorerError, match="index 60 is out of bounds for a dimension of size 60"
    ):
        grid().estimate("x", (60,))


def test_a_part_that_is_too_large_to_be_counted() -> None:
    refs = grid(shape=[10**9, 10])
    with pytest.raises(LimitError, match="100,000,000 chunks"):
        refs.estimate("x")
    assert refs.estimate("x", (slice(20, 40),)).chunks == 2


@pytest.mark.parametrize("size", [10**12, 10**19])
def test_chunks_that_no_memory_can_list_are_counted(size: int) -> None:
    refs = grid(shape=[size, 10], chunks=[1, 10])
    for part in (slice(None), slice(None, None, 2), slice(None, None, -2)):
        count = size // (2 if part.step else 1)
        with pytest.raises(LimitError, match=f"{count:,} chunks"):
            refs.estimate("x", (part,))
    assert refs.estimate("x", (slice(0, size, size // 2),)).chunks == 1
    assert refs.estimate("x", (slice(5, None, -5),)).chunks == 2
