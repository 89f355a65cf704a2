"""Coordinates: what is odd is said with its place, and what only looks odd is not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import refexplorer as rx
from refexplorer.checks.axes import FileAxis
from refexplorer.checks.compare.set_array import SetArray
from tests.helpers.axes import axis
from tests.helpers.commands import run


def odd(document: Any) -> dict[str, str]:
    """Return the codes of what is odd in the coordinates of a set, with their messages."""
    report = rx.open_references(document).check()
    return {f.code: f.message for f in report.findings if f.code.startswith("axis-")}


def dates(frequency: str, count: int, drop: Sequence[int] = (), **options: Any) -> Any:
    """Return a set with the dates that xarray makes and encodes."""
    times = xr.date_range("2000-01-01", periods=count, freq=frequency, **options)
    times = times[[n for n in range(count) if n not in drop]]
    encoded = xr.conventions.encode_cf_variable(xr.Variable("time", times))
    return axis(encoded.values, units=encoded.attrs["units"], calendar=encoded.attrs["calendar"])


def test_a_gap_is_named_with_its_dates_and_what_is_missing() -> None:
    found = odd(dates("D", 60, drop=[31, 32]))
    assert found == {
        "axis-gap": "`time`: 1 gap in steps of 1 day: between 2000-01-31 and 2000-02-03 "
        "(elements 30 and 31), 2 missing."
    }
    found = odd(dates("MS", 24, drop=[5]))
    assert found["axis-gap"].endswith(
        "between 2000-05-01 and 2000-07-01 (elements 4 and 5), 1 missing."
    )
    assert "steps of 1 month" in found["axis-gap"]
    found = odd(dates("6h", 30, drop=[10, 20], calendar="noleap", use_cftime=True))
    assert (
        "2 gaps in steps of 6 hours: between 2000-01-03T06:00 and 2000-01-03T18:00"
        in found["axis-gap"]
    )
    assert "axis-gap" in odd(axis([0, 1, 3, 4]))
    lat = np.delete(np.arange(-90, 90, 0.25), 100)
    assert "1 gap in steps of 0.25" in odd(axis(lat, "lat", "degrees_north"))["axis-gap"]


def test_what_repeats_goes_back_or_is_missing() -> None:
    found = odd(axis([0, 1, 2, 3, 2, 4, 5]))
    assert "2020-01-03 (elements 2 and 4)" in found["axis-duplicate"]
    assert "values go back between 2020-01-04 and 2020-01-03" in found["axis-order"]
    values = np.array([0.0, np.nan, 2, 3])
    assert odd(axis(values))["axis-nan"] == "`time`: 1 value is missing: element 1."
    marked = axis([0, -1, 2, 3], _FillValue=-1)
    assert "element 1" in odd(marked)["axis-nan"]
    document = axis(range(8), chunks=[2])
    del document["time/1"]
    assert "2 values are missing: element 2, 3" in odd(document)["axis-nan"]


def test_a_step_that_changes_is_worth_knowing() -> None:
    hours = [*range(121), *range(123, 241, 3)]
    found = odd(axis(hours, units="hours since 2020-01-01"))
    assert found == {
        "axis-step": "`time`: the step changes from 1 hour to 3 hours at 2020-01-06 (element 120)."
    }


EVEN = {
    "daily over leap years": dates("D", 1500),
    "noleap": dates("D", 1500, calendar="noleap", use_cftime=True),
    "360_day months": dates("MS", 40, calendar="360_day", use_cftime=True),
    "months": dates("MS", 40),
    "ends of months": dates("ME", 40),
    "years": dates("YS", 20),
    "quarters": dates("QS", 20),
    "middles of months": axis([15.5, 45, 74.5, 105, 135.5, 166, 196.5, 227.5, 258, 288.5, 319]),
    "eight days, again each year": axis([y * 365 + d for y in range(4) for d in range(0, 365, 8)]),
    "thirds of months": dates("SMS", 30),
    "working days": dates("B", 60),
    "hours of the day": axis(
        [d * 24 + h for d in range(30) for h in range(6, 20)], units="hours since 2020-01-01"
    ),
    "overpasses": axis(
        np.cumsum(np.random.default_rng(1).uniform(50, 200, 400)), units="minutes since 2020-01-01"
    ),
    "jitter": axis(
        np.arange(200) * 300 + np.random.default_rng(1).uniform(-1, 1, 200),
        units="seconds since 2020-01-01",
    ),
    "months since": axis(range(24), units="months since 1950-01-01", calendar="360_day"),
    "descending": axis(range(40)[::-1]),
    "one": axis([4]),
    "two": axis([4, 40]),
    "levels": axis([1000, 925, 850, 700, 500, 400, 300, 250, 200, 150, 100], "level", "hPa"),
    "many levels": axis([*range(10, 201, 10), 250, 300, 400, 500], "height", "m"),
    "latitudes": axis(np.arange(90, -90.1, -0.25), "lat", "degrees_north"),
    "longitudes that wrap": axis(
        [*np.arange(0, 180, 0.5), *np.arange(-180, 0, 0.5)], "lon", "degrees_east"
    ),
    "bands": axis([4, 3, 2, 8], "band", ""),
    "members": axis([1, 10, 2, 3, 4, 5, 6, 7, 8, 9], "member", ""),
    "Gaussian latitudes": axis(np.polynomial.legendre.leggauss(64)[0], "lat", "degrees_north"),
}  # fmt: skip


@pytest.mark.parametrize("name", EVEN)
def test_no_false_alarm(name: str) -> None:
    assert odd(EVEN[name]) == {}


def test_dates_are_those_of_xarray() -> None:
    for name, document in EVEN.items():
        (axis_found,) = rx.open_references(document).check().counts.axes
        refs = rx.open_references(document)
        if "units" not in refs.array(axis_found.path).attributes or "since" not in name + str(
            refs.array(axis_found.path).attributes["units"]
        ):
            continue
        if name == "months since":
            assert axis_found.step == "1 months"
            continue
        with refs.to_xarray(coordinates=True) as opened:
            ends = [opened["time"].values[n] for n in (0, -1)]
        texts = [t.isoformat() if hasattr(t, "isoformat") else str(t) for t in ends]
        for mine, theirs in zip((axis_found.first, axis_found.last), texts, strict=True):
            assert mine is not None
            assert theirs.startswith(mine[:16]) or name == "jitter", name


def test_coordinates_in_files_are_read_where_that_is_allowed(tmp_path: Path) -> None:
    np.array([0, 1, 2, 5, 6], "<i8").tofile(tmp_path / "time.bin")
    document = axis(range(5))
    document["time/0"] = ["time.bin"]
    source = tmp_path / "set.json"
    source.write_text(json.dumps(document))
    ran = run("check", source, "--fail-on", "warning")
    assert ran.status == 0
    assert "its files were not opened" in ran.out
    assert "Not checked: `time` is in files and was not read." in ran.out
    ran = run("check", source, "--fail-on", "warning", "--allow", tmp_path)
    assert ran.status == 1
    assert "between 2020-01-03 and 2020-01-06 (elements 2 and 3), 2 missing" in ran.out
    assert "its files were not opened" not in ran.out
    assert "No file was opened" not in ran.out
    (tmp_path / "time.bin").unlink()
    ran = run("check", source, "--allow", tmp_path)
    assert ran.status == 2
    assert "not known: 1 coordinate could not be read" in ran.out


def test_verify_says_the_same_of_inline_coordinates() -> None:
    document = dates("D", 60, drop=[31, 32])
    refs = rx.open_references(document)
    mine = [f for f in refs.verify().findings if f.code == "axis-gap"]
    assert [f.message for f in mine] == [odd(document)["axis-gap"]]


def test_a_million_times_are_read_at_once() -> None:
    (found,) = rx.open_references(axis(np.arange(10**6))).check().counts.axes
    assert (found.size, found.step) == (10**6, "1 day")


def test_a_coordinate_of_any_numbers_is_looked_at(tmp_path: Path) -> None:
    """Infinity is no place on an axis; numbers beyond all dates are shown as they are."""
    assert "1 value is missing: element 1" in odd(axis([0.0, np.inf, 2.0]))["axis-nan"]
    (found,) = rx.open_references(axis([0.0, 1e300, 1e301])).check().counts.axes
    assert found.last == "8.64e+305 seconds since 2020-01-01"
    (found,) = rx.open_references(axis([1.0, 2.0], scale_factor=1e308)).check().counts.axes
    assert found.why


def test_a_set_of_vast_coordinates_is_not_read_as_a_whole() -> None:
    document = axis(range(3), "small") | {
        key.replace("x/", "vast/"): value
        for key, value in axis(range(4), "x", chunks=[1]).items()
        if key != ".zgroup"
    }
    document["vast/.zarray"] |= {"shape": [10**12]}
    document["vast/.zattrs"] = {"_ARRAY_DIMENSIONS": ["vast"]}
    small, vast = sorted(rx.open_references(document).check().counts.axes, key=lambda a: a.size)
    assert (small.why, vast.size) == ("", 10**12)
    assert "too many" in vast.why


def test_more_stretches_than_are_judged_are_not_called_judged() -> None:
    refs = rx.open_references(axis(range(1000)))
    for every, is_partial in ((2, True), (50, False)):
        found = FileAxis()
        for number in range(0, 1000, every):
            found.add(SetArray(refs.array("time")), number, number, [float(number)])
        assert not list(found.findings(SetArray(refs.array("time")), ""))
        assert found.is_partial == is_partial
