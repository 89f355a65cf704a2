"""The comparison as its front end sees it: numbers, pages of keys, one chunk in both sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer import demo
from refexplorer.hosts.page.library import Library
from tests.helpers.explorer import Host, later
from tests.helpers.sets import held_array

BEFORE = rx.open_references(demo.path("sst.v0.json"))
HOME = str(demo.path("sst.v0.json").parent)


def edited() -> dict[str, Any]:
    """The demo with a chunk removed, one moved, one that took the place of another, and a key."""
    v0: dict[str, Any] = {
        key: [f"{HOME}/{value[0]}", *value[1:]] if isinstance(value, list) else value
        for key, value in BEFORE.to_v0().items()
    }
    changed = dict(v0)
    del changed["sst/0.0.0"]
    changed["sst/1.0.0"] = ["other.nc", *v0["sst/1.0.0"][1:]]
    changed["sst/2.0.0"] = v0["sst/3.0.0"]
    changed["new/a"] = "text"
    return changed


def plain() -> rx.ReferenceSet:
    """The demo with targets that are named in full, as `edited` has them."""
    v0 = BEFORE.to_v0()
    return rx.open_references(
        {
            key: [f"{HOME}/{value[0]}", *value[1:]] if isinstance(value, list) else value
            for key, value in v0.items()
        }
    )


@pytest.fixture
def host() -> Host:
    return Host(edited(), compare=plain(), allow=[HOME])


def test_arrays_have_their_changes(host: Host) -> None:
    found = later(host, "compare.summary")[0]["sets"]
    names = [kind["name"] for kind in found["kinds"]]
    assert names == ["same", "removed", "added", "moved"]
    (sst,) = found["arrays"]
    assert sst["path"] == "sst"
    assert sst["before"].endswith("192 int16")
    assert sst["before"] == sst["after"]
    told = dict(zip(names, sst["counts"], strict=True))
    assert told["removed"] == 1
    assert sum(told.values()) == 3
    assert found["source"] == ""


def test_keys_that_differ_come_in_pages(host: Host) -> None:
    page = later(host, "compare.rows", start=0, n=2)[0]
    assert (page["total"], [row["key"] for row in page["rows"]]) == (4, ["sst/0.0.0", "sst/1.0.0"])
    assert page["rows"][0]["after"] == "nothing"
    page = later(host, "compare.rows", start=2, n=10)[0]
    assert [row["key"] for row in page["rows"]] == ["sst/2.0.0", "new/a"]
    page = later(host, "compare.rows", start=0, n=10, change="added")[0]
    assert [row["key"] for row in page["rows"]] == ["new/a"]
    page = later(host, "compare.rows", start=0, n=10, folder="sst", change="added")[0]
    assert page["total"] == 0
    assert "kind of change" in later(host, "compare.rows", start=0, n=1, change="no")[0]["error"]


def test_values_of_a_chunk_are_read_in_both_sets(host: Host) -> None:
    answer, (before, after, gap) = later(host, "compare.values", key="sst/2.0.0")
    values = BEFORE.allowing(HOME).to_xarray()["sst"].values
    assert np.array_equal(
        before.reshape(answer["shape"]), values[4:6, :, :96].astype("f8"), equal_nan=True
    )
    assert np.array_equal(
        after.reshape(answer["shape"]), values[6:8, :, :96].astype("f8"), equal_nan=True
    )
    assert np.array_equal(gap, after - before, equal_nan=True)
    told = answer["difference"]
    old, new = values[4:6, :, :96], values[6:8, :, :96]
    assert told["compared"] == old.size
    assert told["different"] == int(((old != new) & ~(np.isnan(old) & np.isnan(new))).sum())
    assert told["high"] == pytest.approx(np.nanmax(gap))


def test_what_is_not_there_is_compared_with_nothing(host: Host) -> None:
    answer, (before, after, gap) = later(host, "compare.values", key="sst/0.0.0")
    assert answer["after"]["state"] == "fill"
    assert "reads as the fill value, -32768" in answer["after"]["message"]
    assert answer["difference"] is None
    assert np.isfinite(before).any()
    assert np.isnan(after).all()
    assert np.isnan(gap).all()


def test_one_side_that_fails_says_why(host: Host) -> None:
    answer, _ = later(host, "compare.values", key="sst/1.0.0")
    assert answer["before"]["state"] == "fetched"
    assert answer["after"]["state"] == "ask"  # a folder that nobody allowed
    assert "other.nc" in answer["after"]["message"]
    assert answer["difference"] is None
    assert "not a chunk of either set" in later(host, "compare.values", key="new/a")[0]["error"]


def test_arrays_of_other_shapes_are_compared_where_both_have_values(tmp_path: Path) -> None:
    def grown(n: int, chunk: int) -> dict[str, Any]:
        meta = {
            "shape": [n], "chunks": [chunk], "dtype": "<i4", "compressor": None, "filters": None,
            "fill_value": -1, "order": "C", "zarr_format": 2,
        }  # fmt: skip
        parts = {
            f"x/{i}": "base64:"
            + __import__("base64")
            .b64encode(np.arange(i * chunk, (i + 1) * chunk, dtype="<i4").tobytes())
            .decode()
            for i in range(-(-n // chunk))
        }
        return {"x/.zarray": json.dumps(meta), **parts}

    host = Host(grown(10, 4), compare=rx.open_references(grown(6, 2)))
    answer, (before, after, gap) = later(host, "compare.values", key="x/1")
    assert answer["slices"] == ["4:6"]
    assert before.tolist() == after.tolist() == [4, 5]
    assert answer["before"]["reference"].startswith("x/2: ")
    assert answer["after"]["reference"].startswith("base64:")
    assert gap.tolist() == [0, 0]
    assert answer["difference"] == {"compared": 2, "different": 0, "low": 0.0, "high": 0.0}
    answer, _ = later(host, "compare.values", key="x/2")
    assert answer["difference"] is None
    assert "in common" in answer["before"]["message"]


def test_integers_that_are_one_as_float64_differ() -> None:
    old = np.full(4, 2**60, "<i8")
    new = old + np.array([0, 1, -1, 0])
    before, after = (held_array(each, "<i8", ["t"], [4]) for each in (old, new))
    host = Host(after, compare=rx.open_references(before))
    answer, (_, _, gap, *_) = later(host, "compare.values", key="x/0")
    assert gap.tolist() == [0, 1, -1, 0]
    assert answer["difference"] == {"compared": 4, "different": 2, "low": -1.0, "high": 1.0}


def test_a_removed_and_an_added_array_have_a_map_each() -> None:
    before = dict(plain().to_v0())
    after = {("air" + key[4:] if key.startswith("wind/") else key): v for key, v in before.items()}
    host = Host(after, compare=rx.open_references(before), allow=[HOME])
    arrays = later(host, "compare.summary")[0]["sets"]["arrays"]
    there = {each["path"]: (each["before"] is None, each["after"] is None) for each in arrays}
    assert there == {"wind": (False, True), "air": (True, False)}
    for array, change, is_before in (("wind", "removed", True), ("air", "added", False)):
        grid = later(host, "grid.show", array=array, before=is_before)[0]["map"]
        asked = {name: grid[name] for name in ("array", "axes", "window", "steps")}
        message, (cells,) = later(host, "changes.show", **asked)
        kinds = [kind["name"] for kind in message["changes"]["kinds"]]
        counted = dict(zip(kinds, cells.reshape(len(kinds), -1).sum(axis=1), strict=True))
        assert {name for name, n in counted.items() if n} == {change}
    answer, (_, after_values, _) = later(host, "compare.values", key="wind/0.0.0")
    assert (answer["before"]["state"], answer["after"]["state"]) == ("fetched", None)
    assert np.isnan(after_values).all()
    assert "There is no array" in later(host, "grid.show", array="wind")[0]["error"]
    assert "no set to compare" in later(Host(before), "grid.show", before=True)[0]["error"]


def test_a_chunk_that_lies_in_several_of_the_other_set_names_them() -> None:
    def cut(chunk: int) -> dict[str, Any]:
        meta = (
            '{"shape":[12],"chunks":[%d],"dtype":"|u1","compressor":null,"filters":null,'
            '"fill_value":0,"order":"C","zarr_format":2}'
        )
        parts = {f"x/{i}": ["f", i * chunk, chunk] for i in range(12 // chunk)}
        return {"x/.zarray": meta % chunk, **parts}

    host = Host(cut(4), compare=rx.open_references(cut(2)))
    answer, _ = later(host, "compare.values", key="x/1")
    assert answer["before"]["reference"] == "x/2: f 4+2; x/3: f 6+2"
    host = Host(cut(12), compare=rx.open_references(cut(1)))
    answer, _ = later(host, "compare.values", key="x/0")
    assert answer["before"]["reference"] == "in x/0, x/1, x/2, …"


@pytest.mark.parametrize("kind", ["<i8", ">u8"])
def test_large_integers_travel_with_every_digit(kind: str) -> None:
    whole = np.arange(2**60 + 1, 2**60 + 7)
    after, before = whole.astype(kind), (whole - 3).astype(kind)
    host = Host(
        held_array(after, kind, ["t"], [6]),
        compare=rx.open_references(held_array(before, kind, ["t"], [6])),
    )
    answer, buffers = later(host, "compare.values", key="x/0")
    own = np.dtype(kind).newbyteorder("<").name
    assert [answer[side]["value_type"] for side in ("before", "after")] == [own, own]
    as_read = [np.frombuffer(each.tobytes(), "<i8") for each in buffers[3:]]
    assert [each.tolist() for each in as_read] == [before.astype("<i8").tolist(), whole.tolist()]
    alone = list[dict[str, Any]]()
    for values in (after, before):
        held = held_array(values[0], values[0].dtype.str, [], [])
        alone.append({"x/0" if key == "x/" else key: each for key, each in held.items()})
    host = Host(alone[0], compare=rx.open_references(alone[1]))
    answer, (_, _, gap, *_) = later(host, "compare.values", key="x/0")
    assert (gap.tolist(), answer["difference"]["different"]) == ([3.0], 1)
    small = Host(
        held_array(after - after, "<i8", ["t"], [6]),
        compare=rx.open_references(held_array(after - after, "<i8", ["t"], [6])),
    )
    assert len(later(small, "compare.values", key="x/0")[1]) == 3


def test_texts_are_compared_without_numbers() -> None:
    def words(last: bytes) -> dict[str, Any]:
        meta = {
            "shape": [2], "chunks": [2], "dtype": "|S2", "compressor": None, "filters": None,
            "fill_value": None, "order": "C", "zarr_format": 2,
        }  # fmt: skip
        return {"x/.zarray": json.dumps(meta), "x/0": (b"ab" + last).decode()}

    host = Host(words(b"cd"), compare=rx.open_references(words(b"ce")))
    answer, buffers = later(host, "compare.values", key="x/0")
    assert buffers == []
    assert answer["difference"] == {"compared": 2, "different": 1, "low": None, "high": None}


def test_a_tree_is_marked_and_narrowed(host: Host) -> None:
    rows = host.ask("tree.rows", start=0, n=20)["rows"]
    assert all(row["changes"] is None for row in rows)  # nothing was compared yet
    later(host, "compare.summary")
    marks = {row["path"]: row["changes"] for row in host.ask("tree.rows", start=0, n=20)["rows"]}
    assert marks["sst"] == {"added": 0, "removed": 1, "changed": 2, "words": None}
    assert marks["new"]["added"] == 1
    assert marks["lat"] is None
    assert later(host, "tree.only", what="changes")[0]["total"] == 2
    host.ask("tree.toggle", path="sst", open=True)
    rows = {row["path"]: row for row in host.ask("tree.rows", start=0, n=20)["rows"]}
    assert set(rows) == {"new", "sst", "sst/0.0.0", "sst/1.0.0", "sst/2.0.0"}
    assert rows["sst/0.0.0"]["origin"] == "removed"
    assert rows["sst/0.0.0"]["target"].endswith("sst_2025-07.nc")
    assert rows["sst/1.0.0"]["changes"]["words"] == "moved to another file"
    assert host.ask("tree.reveal", path="sst/1.0.0")["index"] == 3
    later(host, "compare.with", source="")
    assert host.ask("tree.rows", start=0, n=1)["total"] > 5  # everything is shown again


def test_a_set_is_named_and_forgotten(tmp_path: Path) -> None:
    host = Host(demo.path("sst.v0.json"))
    assert later(host, "compare.summary")[0] == {"comparable": True, "offered": [], "sets": None}
    assert "no.json" in later(host, "compare.with", source=str(tmp_path / "no.json"))[0]["error"]
    path = tmp_path / "before.json"
    path.write_text(json.dumps(edited()))
    assert later(host, "compare.with", source=str(path))[0] == {}
    assert {"ev": "compared", "is_shown": False} in host.events
    found = later(host, "compare.summary")[0]["sets"]
    assert (found["source"], found["before"]) == (str(path), "before.json")
    later(host, "compare.with", source="")
    assert later(host, "compare.summary")[0]["sets"] is None


def test_visitors_of_a_page_compare_with_what_the_page_offers() -> None:
    library = Library()
    host = Host(BEFORE, served=True, others=library.others(), allow=library.grants(BEFORE))
    offered = later(host, "compare.summary")[0]["offered"]
    assert "demo/sst.v1.json" in [each["source"] for each in offered]
    refused = later(host, "compare.with", source="/etc/hostname")[0]["error"]
    assert "not opened on this page" in refused
    assert later(host, "compare.with", source="demo/sst.v1.json")[0] == {}
    found = later(host, "compare.summary")[0]["sets"]
    assert found["source"] == "demo/sst.v1.json"
    answer, _ = later(host, "compare.values", key="sst/2.0.0")
    assert (answer["before"]["state"], answer["after"]["state"]) == ("fetched", "fetched")


def test_visitors_of_a_page_that_offers_nothing_name_no_files() -> None:
    host = Host(BEFORE, served=True)
    assert "not allowed here" in later(host, "compare.with", source="/etc/hostname")[0]["error"]
    assert later(host, "compare.summary")[0] == {"comparable": False, "offered": [], "sets": None}


def test_a_widget_compares_with_what_its_trait_says() -> None:
    widget = rx.types.Explorer(edited(), selection="sst")
    assert widget.compare is None
    widget.compare = BEFORE
    assert widget._controller.comparison.other is BEFORE
    widget.references = BEFORE
    assert widget._controller.comparison.other is BEFORE  # kept for the next set
    widget.compare = None
    assert widget._controller.comparison.difference() is None
