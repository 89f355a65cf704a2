"""The time that arrays cover, and what is said of where it is from."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

from tests.helpers.explorer import Host, ask, later
from tests.helpers.sets import metadata

HOURS = {"units": "hours since 2000-01-01", "_ARRAY_DIMENSIONS": ["time"]}


def rows(host: Host, sort: str = "path", descending: bool = False) -> list[Any]:
    asked = {"start": 0, "n": 100, "sort": sort, "descending": descending}
    found: list[Any] = later(host, "health.rows", **asked)[0]["rows"]
    return found


def ranges(host: Host) -> dict[str, tuple[str | None, str | None, str | None]]:
    return {
        row["path"]: tuple(row["times"][name] for name in ("first", "last", "source"))
        for row in rows(host)
    }


def inline(values: Any, dtype: str = "<f8") -> str:
    return "base64:" + base64.b64encode(np.asarray(values, dtype).tobytes()).decode()


def coordinate(values: Any, chunk: int | None = None, **attributes: Any) -> dict[str, str]:
    """A time coordinate that the set holds itself."""
    n = len(values)
    parts = [values[at : at + (chunk or n)] for at in range(0, n, chunk or n)]
    return {
        "time/.zarray": metadata([n], [chunk or n], dtype="<f8", fill_value=None),
        "time/.zattrs": json.dumps(HOURS | attributes),
        **{f"time/{at}": inline(part) for at, part in enumerate(parts)},
    }


def variable(name: str, n: int, *dimensions: str) -> dict[str, str]:
    return {
        f"{name}/.zarray": metadata([n, 1]),
        f"{name}/.zattrs": json.dumps({"_ARRAY_DIMENSIONS": [*dimensions]}),
    }


def test_a_coordinate_that_the_set_holds_shows_the_times_of_all_arrays_along_it() -> None:
    # in no order, and of two chunks: the first and the last value would tell something else
    refs = coordinate([24.0, 48.5, 0.0, 12.0], 2) | variable("x", 4, "time", "y")
    refs |= variable("g/x", 4, "time", "y") | variable("mask", 4, "z", "y")
    host = Host(refs)
    found = ranges(host)
    assert found["x"] == found["g/x"] == found["time"]
    assert found["x"] == ("2000-01-01", "2000-01-03 00:30", "coordinate")
    assert found["mask"] == (None, None, None)
    said = {row["path"]: row["times"]["said"] for row in rows(host)}
    assert said["x"] == "By the time coordinate `time`."
    assert said["mask"].startswith("It has no time coordinate;")
    ordered = [row["path"] for row in rows(host, "times")]
    assert ordered[-1] == "mask"
    assert [row["path"] for row in rows(host, "times", descending=True)][-1] == "mask"


def test_missing_chunks_and_fill_values_are_no_times() -> None:
    refs = coordinate([0.0, 24.0, 48.0, -1.0], 2, _FillValue=-1.0) | variable("x", 4, "time", "y")
    del refs["time/0"]
    assert ranges(Host(refs))["x"] == ("2000-01-03", "2000-01-03", "coordinate")
    del refs["time/1"]
    found = {row["path"]: row["times"] for row in rows(Host(refs))}["x"]
    assert (found["first"], found["source"]) == (None, None)
    assert "`time` has no values" in found["said"]


def test_dates_as_numpy_writes_them_are_times() -> None:
    dates = np.array(["2000-01-03T06", "NaT", "2000-01-01"], "<M8[s]")
    refs = variable("x", 3, "time", "y") | {
        "time/.zarray": metadata([3], [3], dtype="<M8[s]", fill_value=None),
        "time/.zattrs": json.dumps({"_ARRAY_DIMENSIONS": ["time"]}),
        "time/0": "base64:" + base64.b64encode(dates.tobytes()).decode(),
    }
    assert ranges(Host(refs))["x"] == ("2000-01-01", "2000-01-03 06:00", "coordinate")


def test_a_scalar_coordinate_that_the_attributes_name() -> None:
    refs = variable("x", 4, "a", "b")
    refs["x/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": ["a", "b"], "coordinates": "lat t"})
    refs |= {
        "t/.zarray": metadata([], [], dtype="<f8", fill_value=None), "t/0": inline([36.0]),
        "t/.zattrs": json.dumps({"units": "hours since 2000-01-01", "_ARRAY_DIMENSIONS": []}),
    }  # fmt: skip
    assert ranges(Host(refs))["x"] == ("2000-01-02 12:00",) * 2 + ("coordinate",)


def test_what_was_not_read_is_reported_by_the_names_of_files_and_what_cannot_be_is_empty() -> None:
    refs: dict[str, Any] = coordinate([0.0, 1.0]) | variable("x", 2, "time", "y")
    refs |= variable("lat", 1, "y", "z")
    refs |= {"lat/0.0": ["sst_2000-01.nc", 0, 1]}
    refs |= {f"time/{n}": [f"sst_2000-0{n + 1}.nc", 0, 8] for n in range(2)}
    refs |= {f"x/{n}.0": [f"sst_2000-0{n + 1}.nc", 8, 8] for n in range(2)}
    refs["time/.zarray"] = metadata([2], [1], dtype="<f8", fill_value=None)
    host = Host(refs)
    before = {row["path"]: row["times"] for row in rows(host)}["x"]
    assert before["first"] is None
    assert "has not been read yet" in before["said"]
    assert "have not been checked yet" in before["said"]
    ask(host, "targets.summary")
    found = ranges(host)
    assert found["x"] == ("2000-01-01", "2000-02-01", "names")
    assert found["lat"] == (None, None, None)  # it is no array of the month of the file it is in
    said = {row["path"]: row["times"]["said"] for row in rows(host)}["x"]
    assert said.startswith("By the dates in the names of 2 files. The coordinate `time`")


def test_other_calendars_say_so() -> None:
    refs = coordinate([0.0, 24.0 * 59], calendar="360_day") | variable("x", 2, "time", "y")
    found = {row["path"]: row["times"] for row in rows(Host(refs))}["x"]
    assert found["first"] is None
    assert "360_day" in found["said"]  # the 30th of February


def test_dates_of_other_calendars_are_reported_where_cftime_is_there() -> None:
    pytest.importorskip("cftime")
    refs = coordinate([0.0, 24.0 * 60], calendar="noleap") | variable("x", 2, "time", "y")
    assert ranges(Host(refs))["x"] == ("2000-01-01", "2000-03-02", "coordinate")


def test_a_coordinate_that_was_read_is_known_from_then_on(demo: Any) -> None:
    host = Host(demo / "sst.v0.json")
    known = ranges(host)["sst"]
    times = next(row for row in rows(host) if row["path"] == "sst")["times"]
    if known[2] is None:
        assert "not been read yet" in times["said"]
    host.read("sst", [0, 0, 0])
    assert ranges(host)["sst"][2] == "coordinate"
