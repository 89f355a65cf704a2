"""The health table against a walk through all chunks, and the lists behind its numbers."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import refexplorer as rx
from refexplorer.checks.states import UNREADABLE, LedgerState
from refexplorer.refset.opened_set import internals
from tests.helpers.explorer import Host, ask, later
from tests.helpers.sets import GEN, metadata

STATES = ("referenced", "absent", "rejected", "failed", "unread")


@pytest.fixture
def broken(demo: Path) -> Host:
    return Host(demo / "broken.json")


def table(host: Host, sort: str = "trouble", descending: bool = True, n: int = 100) -> Any:
    asked = {"start": 0, "n": n, "sort": sort, "descending": descending}
    return later(host, "health.rows", **asked)[0]


def listed(host: Host, state: str, array: str | None) -> list[str]:
    found, _ = later(host, "tree.state", state=state, array=array)
    if "error" in found:
        raise AssertionError(found["error"])
    rows = host.ask("tree.rows", start=0, n=1000)
    assert rows["total"] == found["total"]
    return [row["path"] for row in rows["rows"]]


def walked(refs: rx.ReferenceSet, path: str) -> dict[str, list[str]]:
    """The chunks of an array that nobody read, one by one."""
    array = refs.array(path)
    found: dict[str, list[str]] = {state: [] for state in STATES}
    for number in range(array.chunk_count):
        key = array.chunk_key(array.index_at(number))
        if refs.get(key) is not None:
            found["referenced"].append(key)
            found["unread"].append(key)
        else:
            found["absent" if refs.rejection(key) is None else "rejected"].append(key)
    return found


def test_the_rows_are_there_before_their_chunks_are_counted(demo: Path) -> None:
    host = Host(demo / "sst.v1.json")
    early = host.ask("health.arrays", n=2)
    assert not internals(host.controller.references).is_counted
    late = table(host, sort="path", descending=False)
    assert early["total"] == late["total"] > 2 == len(early["rows"])
    known = ("path", "shape", "chunks", "dtype", "inner_chunks", "varying")
    for row, counted in zip(early["rows"], late["rows"], strict=False):
        assert [row[name] for name in known] == [counted[name] for name in known]
        assert row["counts"].pop("chunks") == counted["counts"]["chunks"]
        assert not any(row["counts"].values())
    assert {*early["rows"][0]["counts"].values()} == {None}


@pytest.mark.parametrize("name", ["broken.json", "sst.v1.json", "sst.parq"])
def test_each_number_is_that_of_a_walk_and_lists_those_keys(demo: Path, name: str) -> None:
    host = Host(demo / name)
    refs = host.controller.references
    for row in table(host)["rows"]:
        expected = walked(refs, row["path"])
        for state in ("referenced", "absent", "rejected", "unread"):
            assert row["counts"][state] == len(expected[state]), (row["path"], state)
            assert listed(host, state, row["path"]) == expected[state]
        assert row["counts"]["failed"] is None  # nobody read anything


def test_the_sums_and_the_keys_of_all_arrays(broken: Host) -> None:
    answer = table(broken)
    for state in ("chunks", "referenced", "absent", "rejected", "unread"):
        assert answer["sums"][state] == sum(row["counts"][state] for row in answer["rows"])
    assert listed(broken, "rejected", None) == [
        "lat/0", "sst/5.0.0", "sst/6.0.0", "sst/7.0.0", "sst/8.0.0",
    ]  # fmt: skip
    assert listed(broken, "absent", None) == ["sst/4.0.1"]


def test_rows_of_chunks_that_the_set_does_not_have(broken: Host) -> None:
    listed(broken, "absent", "sst")
    row = broken.ask("tree.rows", start=0, n=1)["rows"][0]
    assert (row["origin"], row["kind"], row["position"]) == ("absent", None, 1)
    listed(broken, "rejected", "lat")
    assert broken.ask("tree.rows", start=0, n=1)["rows"][0]["origin"] == "rejected"
    assert broken.ask("tree.reveal", path="sst/4.0.1")["total"] > 1  # the list has ended


def test_what_was_read_is_distinguished_from_what_was_not(broken: Host) -> None:
    assert broken.read("sst", [0, 0, 0])[0]["state"] == "fetched"
    assert broken.read("sst", [3, 0, 0])[0]["state"] == "failed"  # its file is missing
    assert broken.read("sst", [4, 0, 1])[0]["state"] == "fill"
    assert broken.read("sst", [5, 0, 0])[0]["state"] == "failed"  # rejected, and counted so
    row = next(row for row in table(broken)["rows"] if row["path"] == "sst")
    assert row["counts"] == {
        "chunks": 18, "referenced": 13, "absent": 1, "rejected": 4, "failed": 1, "unread": 11,
        "differing": None, "overlapping": None,
    }  # fmt: skip
    assert listed(broken, "failed", "sst") == ["sst/3.0.0"]
    assert "sst/0.0.0" not in listed(broken, "unread", "sst")
    failed = {each["path"]: each["counts"]["failed"] for each in table(broken)["rows"]}
    assert failed["wind"] is None
    assert failed["lon"] == 0  # read as a coordinate of the part


def test_the_last_audit_counts_and_what_may_not_be_read_is_not_failed(demo: Path) -> None:
    refs = rx.open_references(demo / "broken.json")
    host = Host(refs)
    audit = refs.audit(decode="all")
    for row in table(host)["rows"]:
        states = next(each.states for each in audit.arrays if each.path == row["path"])
        lost = sum(states.get(state, 0) for state in UNREADABLE)
        decoded = states.get(LedgerState.DECODED, 0)
        assert row["counts"]["failed"] == (lost if lost + decoded else None)
        assert row["counts"]["unread"] == 0
    assert len(listed(host, "failed", None)) == table(host)["sums"]["failed"]
    away = rx.open_references({"a/.zarray": _metadata(2), "a/0": ["s3://bucket/f", 0, 1]})
    away.audit()
    counts = table(Host(away))["rows"][0]["counts"]
    assert (counts["failed"], counts["unread"], counts["absent"]) == (None, 1, 1)


def test_what_differs_from_a_file_is_reported_once_it_was_compared(
    demo: Path, tmp_path: Path
) -> None:
    for file in demo.glob("*.nc"):
        shutil.copy(file, tmp_path)
    document = json.loads((demo / "sst.v0.json").read_text())
    references = document.get("refs", document)
    references["wind/3.0.0"][1] += 8
    (tmp_path / "set.json").write_text(json.dumps(document))
    refs = rx.open_references(tmp_path / "set.json")
    host = Host(refs)
    before = table(host)
    assert {row["counts"]["differing"] for row in before["rows"]} == {None}
    assert before["sums"]["differing"] is None
    refs.verify()
    counts = {row["path"]: row["counts"]["differing"] for row in table(host)["rows"]}
    assert counts["wind"] == 1
    assert counts["sst"] == 0
    assert counts["land"] is None  # its file says nothing of itself
    assert table(host)["sums"]["differing"] == 1
    assert next(row["path"] for row in table(host)["rows"]) == "wind"
    assert listed(host, "differing", "wind") == listed(host, "differing", None) == ["wind/3.0.0"]
    badges = {row["path"]: row["badges"] for row in host.ask("tree.rows", start=0, n=9)["rows"]}
    assert badges["wind/3.0.0"]["differing"] == 1


def test_the_list_behind_differs_is_whole(tmp_path: Path) -> None:
    """A finding names ten keys; the list has all of them, also of values that the set holds."""
    with h5py.File(tmp_path / "f.h5", "w") as file:
        values = np.arange(60, dtype="<i2").reshape(30, 2)
        stored = file.create_dataset("v", data=values, chunks=(1, 2))
        places = [stored.id.get_chunk_info(n).byte_offset for n in range(30)]
        file.create_dataset("x", data=np.arange(30, dtype="<i2"))
    meta = metadata([30, 2], [1, 2], dtype="<i2")
    right = {n for n in range(30) if n % 3 == 0}
    refs = {
        "v/.zarray": meta,
        **{f"v/{n}.0": ["f.h5", places[n if n in right else (n + 1) % 30], 4] for n in range(30)},
        "x/.zarray": metadata([30], [5], dtype="<i2"),
        **{f"x/{n}": _base64(np.arange(5 * n, 5 * n + 5) + (n > 3)) for n in range(6)},
    }
    (tmp_path / "set.json").write_text(json.dumps(refs))
    opened = rx.open_references(tmp_path / "set.json")
    opened.verify()
    host = Host(opened)
    counts = {row["path"]: row["counts"]["differing"] for row in table(host)["rows"]}
    assert counts == {"v": 20, "x": 2}  # of `x`, the other chunks have the values of the file
    assert listed(host, "differing", "v") == [f"v/{n}.0" for n in range(30) if n not in right]
    assert listed(host, "differing", None)[20:] == ["x/4", "x/5"]
    later(host, "tree.only", what="trouble")
    assert host.ask("tree.toggle", path="v", open=True)["total"] >= 20


def test_ranges_that_share_bytes_are_counted_once_the_targets_are_sorted() -> None:
    refs = {
        "a/.zarray": _metadata(4), "a/0": ["f", 0, 10], "a/1": ["f", 10, 10], "a/2": ["f", 15, 2],
        "a/3": ["g", 15, 2], "g/b/.zarray": _metadata(3), "g/b/0": ["h", 0, 5],
        "g/b/1": ["h", 0, 5], "g/b/2": ["h", 5, 5],
    }  # fmt: skip
    host = Host(refs)
    assert {row["counts"]["overlapping"] for row in table(host)["rows"]} == {None}
    ask(host, "targets.summary")
    page = table(host)
    assert [(row["path"], row["counts"]["overlapping"]) for row in page["rows"]] == [
        ("a", 2), ("g/b", 0),
    ]  # fmt: skip
    assert page["sums"]["overlapping"] == 2
    assert listed(host, "overlapping", None) == ["a/1", "a/2"]
    marked = host.ask("tree.rows", start=0, n=9)["rows"]
    assert [row["badges"]["overlapping"] for row in marked] == [1, 1]
    host.ask("tree.reveal", path="")
    badges = {row["path"]: row["badges"] for row in host.ask("tree.rows", start=0, n=9)["rows"]}
    assert badges["a"]["overlapping"] == 2
    assert badges["g"]["overlapping"] == 0  # the same range twice is another matter
    later(host, "tree.only", what="trouble")
    host.ask("tree.toggle", path="a", open=True)
    shown = {row["path"] for row in host.ask("tree.rows", start=0, n=9)["rows"]}
    assert {"a/1", "a/2"} < shown


def test_only_trouble_looks_for_overlaps_itself() -> None:
    host = Host({"a/.zarray": _metadata(2), "a/0": ["f", 0, 10], "a/1": ["f", 9, 10]})
    later(host, "tree.only", what="trouble")
    assert host.ask("tree.rows", start=0, n=9)["rows"][-1]["path"] == "a"


def test_what_is_wrong_comes_first_and_what_is_unknown_last() -> None:
    gen = {**GEN, "key": "v/{{i}}.{{j}}"}
    refs = {
        "v/.zarray": _metadata(10**6, 10**6), "w/.zarray": _metadata(3), "x/.zarray": _metadata(2),
        "x/0": "a", "x/1": "b", "y/.zarray": _metadata(1), "y/0": "base64:!", "w/0": "c",
    }  # fmt: skip
    host = Host({"version": 1, "gen": [gen], "refs": refs})
    assert [row["path"] for row in table(host)["rows"]][:2] == ["y", "w"]
    assert next(row["path"] for row in table(host, "absent")["rows"]) == "w"
    first = table(host, "path", descending=False, n=2)["rows"]
    assert [row["path"] for row in first] == ["v", "w"]
    sizes = [row["bytes"] for row in table(host, "bytes", descending=False)["rows"]]
    known = [size for size in sizes if size is not None]
    assert sizes == [*sorted(known), *[None] * (len(sizes) - len(known))]


def test_what_cannot_be_counted_is_null_and_not_zero() -> None:
    gen = {
        "key": "{{'v' if i % 2 else 'w'}}/{{i}}", "url": "f", "offset": "{{i}}", "length": "1",
        "dimensions": {"i": {"stop": 10**9}},
    }  # fmt: skip
    document = {"version": 1, "gen": [gen], "refs": {"v/.zarray": _metadata(10**9)}}
    host = Host(rx.open_references(document))
    page = table(host)
    assert page["rows"][0]["counts"]["absent"] is page["sums"]["absent"] is None
    assert page["rows"][0]["counts"]["unread"] is None
    assert "too many" in later(host, "tree.state", state="unread", array="v")[0]["error"].lower()


def test_counts_beyond_64_bits() -> None:
    host = Host({"a/.zarray": _metadata(10**12, 10**12), "a/3.4": "x"})
    counts = table(host)["rows"][0]["counts"]
    assert int(counts["absent"]) == 10**24 - 1
    assert listed(host, "referenced", "a") == ["a/3.4"]
    assert "more than" in later(host, "tree.state", state="absent", array="a")[0]["error"]


def test_notes_are_counted_where_they_name_the_array(broken: Host) -> None:
    rows = {row["path"]: (row["errors"], row["warnings"]) for row in table(broken)["rows"]}
    assert min(rows["sst"]) > 0
    assert rows["lat"][0] == 1
    assert rows["wind"] == (0, 0)


def test_nothing_is_counted_twice(broken: Host) -> None:
    table(broken)
    states = internals(broken.controller.references).array_states
    table(broken, "absent")
    assert internals(broken.controller.references).array_states is states


def test_sets_without_arrays_and_arrays_that_are_not_there() -> None:
    host = Host({"loose": "text"})
    assert table(host)["total"] == 0
    assert "no array" in later(host, "tree.state", state="absent", array="z")[0]["error"]


def test_targets_by_place_and_what_was_found_of_them(demo: Path) -> None:
    host = Host(
        {"a": ["s3://one/x"], "b": ["s3://one/y/z", 0, 4], "c": ["https://h:8/f"], "d": ["near.nc"]}
    )
    answer, _ = ask(host, "targets.summary")
    assert [tuple(place.values()) for place in answer["places"]] == [
        ("s3://one", 2), ("https://h:8", 1), ("", 1),
    ]  # fmt: skip
    assert (answer["total"], answer["checked"], answer["lost"]) == (4, 0, [])
    host = Host(demo / "broken.json")
    ask(host, "targets.check")
    answer, _ = ask(host, "targets.summary")
    assert [(row["url"], row["state"]) for row in answer["lost"]] == [
        ("sst_2025-10.nc", "unreachable")
    ]
    assert answer["checked"] == answer["total"] == 5


def _base64(values: Any) -> str:
    return "base64:" + base64.b64encode(np.asarray(values, "<i2").tobytes()).decode()


def _metadata(*shape: int) -> str:
    text = '{"zarr_format":2,"shape":%s,"chunks":%s,"dtype":"|u1","fill_value":0,'
    text += '"order":"C","filters":null,"compressor":null}'
    return text % (list(shape), [1] * len(shape))
