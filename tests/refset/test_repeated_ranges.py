"""Chunks of one array with the very same bytes are told once, with an example."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import refexplorer as rx


def array_of(path: str, count: int) -> dict[str, Any]:
    """Metadata of an array of one dimension, a value in each chunk."""
    return {
        f"{path}/.zarray": {
            "zarr_format": 2, "shape": [count], "chunks": [1], "dtype": "<i4",
            "compressor": None, "filters": None, "order": "C", "fill_value": 0,
        }
    }  # fmt: skip


def repeats_in(source: Any) -> list[tuple[str, int | None]]:
    """Return the messages about repeated ranges, and how many chunks each is about."""
    found = rx.open_references(source).diagnostics
    return [(one.message, one.count) for one in found if one.code == "repeated-range"]


def test_a_fill_shared_by_all_is_one_finding(tmp_path: Path) -> None:
    refs = array_of("x", 500) | {f"x/{i}": ["s3://b/f", 8, 4] for i in range(500)}
    told = "499 chunks of `x` refer to the byte range of another chunk: `x/1` has that of `x/0`."
    assert repeats_in(refs) == [(told, 499)]
    rx.open_references(refs).to_parquet(tmp_path / "set.parq")
    assert [count for _, count in repeats_in(tmp_path / "set.parq")] == [499]


def test_arrays_that_share_a_range_are_no_mistake() -> None:
    refs = array_of("x", 3) | array_of("y", 3)
    refs |= {f"{name}/{i}": ["s3://b/f", 4 * i, 4] for i in range(3) for name in "xy"}
    assert repeats_in(refs) == []
    refs["y/2"] = refs["y/0"]
    assert repeats_in(refs) == [
        ("1 chunk of `y` refers to the byte range of another chunk: `y/2` has that of `y/0`.", 1)
    ]


def test_chunks_without_an_array_and_other_lengths_are_left_alone() -> None:
    assert repeats_in({"x/0": ["s3://b/f", 0, 4], "x/1": ["s3://b/f", 0, 4]}) == []
    refs = array_of("x", 2) | {"x/0": ["s3://b/f", 0, 4], "x/1": ["s3://b/f", 0, 8]}
    assert repeats_in(refs) == []


def test_a_gen_item_whose_offset_forgets_a_dimension_is_reported() -> None:
    item = {
        "key": "x/{{i}}.{{j}}",
        "url": "s3://b/f{{j}}",
        "offset": "{{8 * i}}",
        "length": "8",
        "dimensions": {"i": {"stop": 3}, "j": {"stop": 5}},
    }
    assert repeats_in({"version": 1, "gen": [item]}) == []
    said = (
        "gen[0] generates 5 keys for each byte range: neither `url` nor `offset` nor `length` uses "
        "`j`."
    )
    assert repeats_in({"version": 1, "gen": [{**item, "url": "s3://b/f"}]}) == [(said, 12)]
    alone = {**item, "url": "s3://b/f", "dimensions": {"i": {"stop": 3}, "j": [7]}}
    assert repeats_in({"version": 1, "gen": [alone]}) == []
