"""The table of targets: narrowed, sorted, folded, written as a list, by date."""

from __future__ import annotations

import base64
import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from tests.helpers.explorer import Host, ask, later
from tests.helpers.sets import DEMO, metadata, raw_set


def monthly() -> dict[str, Any]:
    """An array of 24 chunks in 24 files of two folders, and one of a single file."""
    months = [f"{2000 + n // 12}-{n % 12 + 1:02}" for n in range(24)]
    chunks = {
        f"x/{n}.0": [f"s3://b/{month[:4]}/sst_{month}.nc", 10 * n, 5 + n]
        for n, month in enumerate(months)
    }
    extra = {
        "y/.zarray": metadata([4]),
        "y/0": ["https://h/mask.nc", 0, 4],
        "y/1": ["https://h/mask.nc", 2, 4],
    }
    return {"x/.zarray": metadata([24, 1]), "y/.zarray": metadata([4]), **chunks, **extra}


def page(host: Host, n: int = 100, start: int = 0, **query: Any) -> dict[str, Any]:
    found: dict[str, Any] = later(host, "targets.rows", start=start, n=n, query=query)[0]
    return found


def names(found: dict[str, Any]) -> list[str]:
    return [row["url"].rsplit("/", 1)[-1] for row in found["rows"]]


def test_columns_are_what_the_layouts_say() -> None:
    refs = rx.open_references(DEMO / "broken.json")
    index = refs._internals.target_index
    for code, target in enumerate(refs.targets()):
        columns = index.columns
        found = (columns.ranges, columns.whole, columns.bytes, columns.end)
        told = (target.ranges, target.whole, target.bytes, target.end)
        assert tuple(int(each[code]) for each in found) == told


@pytest.mark.parametrize("seed", range(20))
def test_columns_of_any_ranges_are_what_the_layouts_say(seed: int) -> None:
    random = np.random.default_rng(seed)
    keys = {
        f"k{n}": [f"f{random.integers(5)}", int(random.integers(50)), int(random.integers(0, 20))]
        for n in range(60)
    }
    refs = rx.open_references(keys)
    columns = refs._internals.target_index.columns
    assert columns.bytes.tolist() == [target.bytes for target in refs.targets()]
    assert columns.end.tolist() == [target.end for target in refs.targets()]


def test_targets_are_found_by_a_part_of_their_name_or_a_glob() -> None:
    host = Host(monthly())
    assert page(host)["total"] == 25
    assert names(page(host, find="2001-0")) == [f"sst_2001-{month:02}.nc" for month in range(1, 10)]
    assert names(page(host, find="SST_2000-1")) == [f"sst_2000-1{n}.nc" for n in range(3)]
    assert names(page(host, find="200?-02*nc")) == ["sst_2000-02.nc", "sst_2001-02.nc"]
    assert page(host, find="nothing")["total"] == 0


def test_targets_are_sorted_by_any_column() -> None:
    host = Host(monthly())
    assert names(page(host, 2, sort="bytes", descending=True)) == [
        "sst_2001-12.nc",
        "sst_2001-11.nc",
    ]
    assert names(page(host, 1, sort="ranges", descending=True)) == ["mask.nc"]
    assert names(page(host, 1, sort="name")) == ["mask.nc"]  # https: is before s3:
    assert names(page(host, 1, start=23, sort="date")) == ["sst_2001-12.nc"]
    for descending in (False, True):  # what has no date is last either way
        assert names(page(host, 1, start=24, sort="date", descending=descending)) == ["mask.nc"]
    assert page(host, sort="size")["total"] == page(host, sort="state")["total"] == 25
    assert "sort" in host.ask("targets.rows", start=0, n=1, query={"sort": "no"})["error"]


def test_targets_are_folded_by_folder_and_host() -> None:
    host = Host(monthly())
    rows = page(host, fold="folder")["rows"]
    told = [(row["url"], row["fold"]["targets"], row["ranges"]) for row in rows]
    assert told == [("https://h/", 1, 2), ("s3://b/2000/", 12, 12), ("s3://b/2001/", 12, 12)]
    found = page(host, fold="folder", open=["s3://b/2000/"], sort="bytes", descending=True)
    assert (found["total"], found["targets"]) == (15, 25)
    assert [row["fold"] is None for row in found["rows"]] == [False] * 2 + [True] * 12 + [False]
    assert names(found)[2] == "sst_2000-12.nc"
    whole = page(host, fold="host", open=["s3://b"])["rows"]
    for start in range(len(whole)):
        part = page(host, 3, start=start, fold="host", open=["s3://b"])["rows"]
        assert part == whole[start : start + 3]
    assert page(host, fold="host", find="mask")["total"] == 1


def test_what_a_part_of_an_array_needs() -> None:
    host = Host(monthly())
    assert names(page(host, array="x", slices=["3:6", ":"])) == [
        "sst_2000-04.nc", "sst_2000-05.nc", "sst_2000-06.nc"
    ]  # fmt: skip
    assert page(host, array="x", slices=["::12", ":"])["total"] == 2
    assert names(page(host, array="y")) == ["mask.nc"]
    assert "neither an index" in page(host, array="x", slices=["a", ":"])["error"]
    assert "2 dimensions" in page(host, array="x", slices=["1"])["error"]


def test_a_part_needs_the_targets_of_its_chunks() -> None:
    host = Host(DEMO / "sst.v1.json")
    refs = host.controller.references
    parts: list[tuple[list[str], list[int], list[int]]] = [
        (["0:2", ":", ":"], [0], [0, 1]),
        (["5", "3", "100:"], [2], [1]),
        (["::7", ":", ":"], [0, 3, 7], [0, 1]),
    ]
    for part, times, longitudes in parts:
        keys = [f"sst/{time}.0.{longitude}" for time in times for longitude in longitudes]
        needed = {refs[key].to_v0()[0] for key in keys}
        assert {row["url"] for row in page(host, array="sst", slices=part)["rows"]} == needed


def test_a_list_is_text_or_a_table() -> None:
    host = Host(monthly())
    told, buffers = ask(host, "targets.list", query={"find": "2000-1"}, form="text")
    assert bytes(buffers[0]).decode().split() == [f"s3://b/2000/sst_2000-1{n}.nc" for n in range(3)]
    assert (told["targets"], told["total"], told["name"]) == (3, 3, "dict.targets.txt")
    _, buffers = ask(host, "targets.list", query={"array": "y"}, form="csv")
    (line,) = csv.DictReader(io.StringIO(bytes(buffers[0]).decode()))
    assert line == {
        "target": "https://h/mask.nc", "ranges": "2", "whole": "0", "bytes": "6", "end": "6",
        "size": "", "state": "unknown", "date": "", "arrays": "y",
    }  # fmt: skip


def test_dates_are_counted_by_period() -> None:
    host = Host(monthly())
    found = later(host, "targets.dates", query={})[0]
    assert (found["dated"], found["total"], len(found["bins"])) == (24, 25, 24)
    january = found["bins"][0]
    assert np.datetime64(int(january["start"]), "ms") == np.datetime64("2000-01-01")
    since, until = found["bins"][3]["start"], found["bins"][5]["start"]
    assert names(page(host, since=since, until=until)) == ["sst_2000-04.nc", "sst_2000-05.nc"]
    assert later(host, "targets.dates", query={"array": "y"})[0]["bins"] == []


def test_dates_far_apart_make_few_periods() -> None:
    names_ = ["f_18500101T000000.nc", "f_18500101T000001.nc", "f_20991231T235959.nc"]
    host = Host({f"k{n}": [name, 0, 1] for n, name in enumerate(names_)})
    found = later(host, "targets.dates", query={})[0]
    assert 1 < len(found["bins"]) <= 120
    assert sum(each["targets"] for each in found["bins"]) == 3
    ends = [str(np.datetime64(int(each), "ms")) for each in found["ends"]]
    assert ends == ["1850-01-01T00:00:00.000", "2099-12-31T23:59:59.000"]


def test_files_of_a_century_each_have_no_gap_between_them() -> None:
    host = Host({f"k{n}": [f"f_{n}50-07-02.nc", 0, 1] for n in (18, 19, 20)})
    bins = later(host, "targets.dates", query={})[0]["bins"]
    assert [each["targets"] for each in bins] == [1, 1, 1]
    starts = [str(np.datetime64(int(each["start"]), "ms"))[:10] for each in bins]
    assert starts == ["1800-01-01", "1900-01-01", "2000-01-01"]


def test_a_date_has_as_much_of_its_time_as_it_needs() -> None:
    times = ["20200101T000000", "20200101T123000", "20200101T123015"]
    host = Host({f"k{n}": [f"f_{time}.nc", 0, 1] for n, time in enumerate(times)})
    shown = [row["date"] for row in page(host, sort="date")["rows"]]
    assert shown == ["2020-01-01", "2020-01-01 12:30", "2020-01-01 12:30:15"]


def test_a_gap_is_a_period_without_targets() -> None:
    days = [f"f_2020-01-{day:02}.nc" for day in (1, 2, 3, 7, 8)]
    host = Host({f"k{n}": [name, 0, 1] for n, name in enumerate(days)})
    counts = [each["targets"] for each in later(host, "targets.dates", query={})[0]["bins"]]
    assert counts == [1, 1, 1, 0, 0, 0, 1, 1]


def test_the_state_is_a_filter_once_it_is_known(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(6))
    refs = raw_set(["f", 0, 4], ["f", 4, 4], ["g", 0, 4], shape=[6])
    (tmp_path / "refs.json").write_text(json.dumps(refs))
    host = Host(tmp_path / "refs.json")
    assert page(host, state="unknown")["total"] == 2
    ask(host, "targets.check")
    assert page(host, state="unknown")["total"] == 0
    assert [row["url"] for row in page(host, state="short")["rows"]] == ["f"]
    assert page(host, fold="folder")["rows"][0]["fold"]["lost"] == 2


def timed(**attributes: Any) -> dict[str, Any]:
    """Six steps in three files whose names tell nothing, and a file that has no time."""
    hours = {"units": "hours since 2000-01-01", "_ARRAY_DIMENSIONS": ["time"], **attributes}
    values = np.array([24.0, 30.0, 0.0, 6.0, 48.0, 54.0]).tobytes()
    fields = {"dtype": "<f8", "fill_value": None}
    return {
        "x/.zarray": metadata([6, 1], [2, 1]),
        "x/.zattrs": '{"_ARRAY_DIMENSIONS":["time","y"]}',
        **{f"x/{n}.0": [f"{name}.nc", 0, 8] for n, name in enumerate("bac")},
        "time/.zarray": metadata([6], [6], **fields),
        "time/.zattrs": json.dumps(hours),
        "time/0": "base64:" + base64.b64encode(values).decode(),
        "mask/.zarray": metadata([1]), "mask/0": ["mask.nc", 0, 4],
    }  # fmt: skip


def test_dates_are_those_of_the_time_coordinate_where_the_set_has_it() -> None:
    host = Host(timed())
    found = later(host, "targets.dates", query={})[0]
    assert (found["dated"], found["by_coordinate"], found["total"]) == (3, 3, 4)
    assert [each["targets"] for each in found["bins"]] == [1, 1, 1]
    shown = page(host, sort="date")["rows"]
    assert [(row["url"], row["date"]) for row in shown] == [
        ("a.nc", "2000-01-01"), ("b.nc", "2000-01-02"), ("c.nc", "2000-01-03"), ("mask.nc", None),
    ]  # fmt: skip
    middle = found["bins"][1]
    assert names(page(host, since=middle["start"], until=middle["stop"])) == ["b.nc"]


def test_a_coordinate_counts_before_names_and_names_where_it_ends() -> None:
    dated = {**timed(), **{f"x/{n}.0": [f"f_1999-0{n + 1}.nc", 0, 8] for n in range(3)}}
    dated["mask/0"] = ["f_1999-04.nc", 0, 4]
    found = later(Host(dated), "targets.dates", query={})[0]
    assert (found["dated"], found["by_coordinate"]) == (4, 3)
    unknown = {**dated, "time/.zattrs": '{"units":"hours since the flood"}'}
    found = later(Host(unknown), "targets.dates", query={})[0]
    assert (found["dated"], found["by_coordinate"]) == (4, 0)


def test_a_coordinate_that_is_read_later_dates_the_targets_from_then_on(tmp_path: Path) -> None:
    refs = timed()
    (tmp_path / "t.bin").write_bytes(base64.b64decode(refs["time/0"][7:]))
    (tmp_path / "set.json").write_text(json.dumps(refs | {"time/0": ["t.bin", 0, 48]}))
    host = Host(tmp_path / "set.json")
    assert later(host, "targets.dates", query={})[0]["bins"] == []
    assert page(host, sort="date")["rows"][0]["date"] is None
    host.read("time", [0])
    assert later(host, "targets.dates", query={})[0]["by_coordinate"] == 4  # its own file, too
    assert page(host, sort="date")["rows"][0]["date"] == "2000-01-01"
