"""What differs between two sets: by key, by what a key means, and the rule behind it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx

ARRAY = {"shape": [4, 6], "chunks": [2, 2], "dtype": "<i2", "zarr_format": 2, "fill_value": 0}
BASE: dict[str, Any] = {
    "x/.zarray": json.dumps({**ARRAY, "compressor": None, "filters": None, "order": "C"}),
    **{f"x/{i}.{j}": [f"s3://a/d{i}/f.nc", 100 + 10 * j, 10] for i in range(2) for j in range(3)},
}


def changed(**keys: Any) -> dict[str, Any]:
    """Return the set with other values for ``x/…``; None takes a key out."""
    found = BASE | {f"x/{name[1:].replace('_', '.')}": value for name, value in keys.items()}
    return {key: value for key, value in found.items() if value is not None}


def test_equal_sets_in_every_form(demo: Path) -> None:
    for other in ("sst.v1.json", "sst.parq"):
        found = rx.diff(demo / "sst.v0.json", demo / other)
        assert not found, str(found)
        assert found.counts == {"same": 60}


@pytest.mark.parametrize(
    ("value", "change"),
    [
        (None, "removed"),
        (["s3://a/other.nc", 100, 10], "moved"),
        (["s3://a/d0/f.nc", 101, 10], "shifted"),
        (["s3://a/d0/f.nc", 100, 11], "resized"),
        (["s3://a/d0/f.nc"], "resized"),
        ("0123456789", "inlined"),
        ("012345678", "content"),
        (["s3://a/d0/f.nc", 2**61, 10], "shifted"),
        ([None, 100, 10], "moved"),
    ],
)
def test_one_change(value: Any, change: str) -> None:
    found = rx.diff(BASE, changed(_0_0=value))
    assert found.counts == {"same": 6, change: 1}
    (row,) = found.rows()
    assert (row.key, row.change) == ("x/0.0", change)
    assert row.before == rx.types.Range("s3://a/d0/f.nc", 100, 10)
    assert rx.diff(changed(_0_0=value), BASE).total == 1


def test_what_means_the_same_is_the_same() -> None:
    metadata = {"x/.zarray": json.loads(BASE["x/.zarray"]), "y": "base64:aGk="}
    assert not rx.diff(BASE | {"y": "hi"}, BASE | metadata)


def test_the_rename_that_explains_most() -> None:
    after: dict[str, Any] = {
        key: value
        if isinstance(value, str)
        else [value[0].replace("s3://a/", "https://b/c/"), *value[1:]]
        for key, value in BASE.items()
    }
    after["x/1.2"] = ["elsewhere.nc", 120, 10]
    found = rx.diff(BASE, after)
    assert str(found.renames[0]) == "s3://a/=https://b/c/"
    assert [rename.keys for rename in found.renames] == [5, 1]
    assert "'s3://a/' became 'https://b/c/' in 5 keys." in str(found)
    assert "another offset or length" not in str(found)
    after["x/0.1"][1] += 8
    found = rx.diff(BASE, after)
    assert found.counts["moved"] == 6
    assert "The moved key x/0.1 also has another offset or length." in str(found)
    after["x/0.0"][2] += 8
    assert "2 of 6 moved keys also have another offset or length, such as x/0.0." in str(
        rx.diff(BASE, after)
    )


def test_relative_targets_that_became_absolute() -> None:
    found = rx.diff({"x": ["d/f.nc"], "y": ["g.nc"]}, {"x": ["/data/d/f.nc"], "y": ["/data/g.nc"]})
    assert [tuple(rename) for rename in found.renames] == [("", "/data/", 2)]


def test_the_shift_that_explains_most() -> None:
    after = {
        key: value if isinstance(value, str) else [value[0], value[1] + 16, value[2]]
        for key, value in BASE.items()
    }
    found = rx.diff(BASE, after)
    assert [tuple(shift) for shift in found.shifts] == [(16, 6)]
    assert "6 byte ranges begin 16 bytes later." in str(found)


def test_metadata_field_by_field() -> None:
    after = dict(BASE)
    after["x/.zarray"] = json.dumps(
        {**json.loads(BASE["x/.zarray"]), "chunks": [1, 2], "order": "F"}
    )
    found = rx.diff(BASE, after)
    assert [tuple(field) for field in found.fields] == [
        ("x/.zarray", "/chunks", "[2, 2]", "[1, 2]"),
        ("x/.zarray", "/order", '"C"', '"F"'),
    ]


def named(*names: str) -> dict[str, Any]:
    """Return the set with its array under other names, each with targets of its own."""
    return {
        key.replace("x/", f"{name}/"): value
        if isinstance(value, str)
        else [f"{value[0]}.{place}", *value[1:]]
        for place, name in enumerate(names)
        for key, value in BASE.items()
    }


def test_an_array_of_another_name_is_reported_so() -> None:
    found = rx.diff(named("x", "y"), named("z", "y") | {"y/1.2": ["s3://a/f.nc", 1, 2]})
    assert [tuple(move) for move in found.arrays_moved] == [("x", "z", 7)]
    assert "The array 'x' is now named 'z' (7 keys)." in str(found)
    less = named("z", "y")
    del less["z/0.0"]
    assert rx.diff(named("x", "y"), less).arrays_moved == ()


def test_arrays_that_changed_places() -> None:
    found = rx.diff(named("x", "y"), named("y", "x"))
    assert found.counts == {"same": 2, "moved": 12}
    assert [tuple(move) for move in found.arrays_moved] == [("x", "y", 6), ("y", "x", 6)]
    both = {key: json.dumps({"fill_value": key}) for key in ("x/.zarray", "y/.zarray")}
    assert rx.diff(named("x", "y"), named("x", "y") | both).arrays_moved == ()


def test_how_much_is_equal() -> None:
    found = rx.diff(BASE, changed(_0_0=None))
    assert (found.equal, found.keys) == (6, 7)
    assert str(found).startswith("dict → dict: 1 key differs, 6 of 7 keys equal (85.7 %).")
    same = rx.diff(BASE, BASE)
    assert str(same).startswith("dict → dict: the same references, 7 of 7 keys equal (100.0 %).")
    many = {f"x/{i}": "1" for i in range(3000)}
    assert "(99.9 %)" in str(rx.diff(many, many | {"x/0": "2"}))


def test_two_keys_of_one_target_that_part() -> None:
    before = {"x/0": ["s3://a/f", 0, 4], "x/1": ["s3://a/f", 0, 4]}
    found = rx.diff(before, before | {"x/1": ["s3://a/g", 0, 4]})
    assert [(row.key, row.change) for row in found.rows()] == [("x/1", "moved")]
    assert [tuple(rule) for rule in found.renames] == [("s3://a/f", "s3://a/g", 1)]


def test_grid_of_changes() -> None:
    after = changed(_0_0=None, _0_1=["s3://b", 1, 2], _1_2="text")
    grid = rx.diff(BASE, after).grid("x")
    assert grid.dtype == np.int8
    assert grid.tolist() == [[1, 3, 0], [0, 0, 8]]
    with pytest.raises(KeyError):
        rx.diff(BASE, after).grid("nope")


def test_grid_of_what_both_generate_and_of_a_single_chunk() -> None:
    meta = json.loads(BASE["x/.zarray"])
    refs = {
        "x/.zarray": json.dumps({**meta, "shape": [6], "chunks": [1]}),
        "s/.zarray": json.dumps({**meta, "shape": [], "chunks": []}),
        "x/4": ["s3://b/4"],
        "s/0": "abcd",
    }
    made = {"key": "x/{{i}}", "url": "s3://b/{{i}}", "dimensions": {"i": {"stop": 4}}}
    before = {"version": 1, "gen": [made], "refs": refs}
    after = {**before, "refs": refs | {"x/4": ["s3://c/4"], "s/0": "abce"}}
    found = rx.diff(before, after)
    assert found.grid("x").tolist() == [0, 0, 0, 0, 3, -1]
    assert found.grid("s").tolist() == 8
    assert rx.diff(before, before).grid("s").tolist() == 0


def test_pages_come_in_order() -> None:
    after = changed(_0_0=None, _1_0=["s3://b", 1, 2]) | {"new": "1"}
    found = rx.diff(BASE, after)
    assert [row.key for row in found.rows()] == ["x/0.0", "x/1.0", "new"]
    assert [row.key for row in found.rows(1, 2)] == ["x/1.0"]
    assert [row.key for row in found.rows(change="added")] == ["new"]
    with pytest.raises(rx.RefexplorerError, match="'lost' is not a kind of change"):
        found.rows(change="lost")


def test_gen_items_of_both_are_not_expanded() -> None:
    item = {"key": "v/{{i}}", "url": "{{u}}/{{i}}", "dimensions": {"i": {"stop": 10**12}}}
    document = {"version": 1, "templates": {"u": "s3://a"}, "gen": [item], "refs": {"x": "1"}}
    found = rx.diff(document, {**document, "refs": {"x": "2"}})
    assert found.counts == {"same": 10**12, "content": 1}
    with pytest.raises(rx.errors.LimitError, match="1,000,000,000,001 keys"):
        rx.diff(document, {**document, "templates": {"u": "s3://b"}})


def test_bytes_are_compared_when_they_may_be_read(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(b"abcdefgh")
    ranges = {"x": ["data.bin", 0, 4], "y": ["data.bin", 4, 4]}
    (tmp_path / "set.json").write_text(json.dumps(ranges))
    texts = {"x": "abcd", "y": "base64:AAAAAA=="}
    assert rx.diff(tmp_path / "set.json", texts).counts == {"inlined": 2}
    assert rx.diff(tmp_path / "set.json", texts, read=True).counts == {"embedded": 1, "content": 1}
    assert rx.diff(texts, tmp_path / "set.json", read=True).counts == {"embedded": 1, "content": 1}
    far = {"x": ["s3://bucket/data.bin", 0, 4], "y": "base64:AAAAAA=="}
    assert rx.diff(far, texts, read=True).counts == {"same": 1, "inlined": 1}
    elsewhere = {"x": [str(tmp_path / "data.bin"), 0, 4]}
    found = rx.diff(elsewhere, {"x": "abcd"}, read=True, allow=[str(tmp_path)])
    assert found.counts == {"embedded": 1}


def test_text_of_a_file_is_shown_as_text() -> None:
    found = rx.diff({"<b>\x1b": ["<i>"]}, {"<b>\x1b": ["</i>\u202e"]})
    assert "<b>\\x1b" in str(found)
    assert "\x1b" not in str(found)
    assert "&lt;b&gt;" in found._repr_html_()
    assert "<i>" not in found._repr_html_()
