from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import xarray as xr

import refexplorer as rx
from refexplorer.core.errors import RefexplorerError
from refexplorer.views.preview.preview import PreviewReader
from refexplorer.views.preview.regions import Labels, is_label, places_of
from tests.helpers.explorer import Host, later
from tests.helpers.servers import RangeServer, range_server
from tests.helpers.sets import DEMO, ZARRAY

DAYS = np.arange("2000-01-01", "2001-01-01", dtype="datetime64[D]").astype("datetime64[ms]")
TIME = Labels(DAYS.astype(float), times=True)
LATITUDE = Labels(np.arange(90.0, -90.1, -10.0), times=False)


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running


@pytest.mark.parametrize(
    "text", ["2000-06", "2000-06-03", "2000-06-03T12", "2000-06:", ":2000-06", "45.5", "-1.:2.5"]
)
def test_what_is_a_label(text: str) -> None:
    assert is_label(text)


@pytest.mark.parametrize("text", ["2000", "1:2", "-1", ":", "", "::2", "x", "1.5.2", "2000-6"])
def test_what_is_none(text: str) -> None:
    assert not is_label(text)


@pytest.mark.parametrize(
    "text", ["2000-06", "2000-06-03", "2000-02:2000-04-10", "2000-11:", ":2000-01-05"]
)
def test_dates_select_as_in_xarray(text: str) -> None:
    series = xr.DataArray(np.arange(366), dims="time", coords={"time": DAYS})
    start, colon, stop = text.partition(":")
    asked = slice(start or None, stop or None) if colon else text
    expected = np.atleast_1d(series.sel(time=asked).values)
    assert list(places_of(text, "time", TIME)) == expected.tolist()


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("47.0", range(4, 5)),
        ("30.0:-10.0", range(6, 11)),
        ("-10.0:30.0", range(6, 11)),
        ("70.0:", range(3)),
    ],
)
def test_numbers_select_the_nearest_or_what_lies_between(text: str, places: range) -> None:
    assert places_of(text, "lat", LATITUDE) == places


@pytest.mark.parametrize(
    "text", ["~1990-01-01", "~2000-03-05T11:30", "~2000-03-05T12:30:30", "~2000-12-31T23:59"]
)
def test_the_nearest_time_is_that_of_xarray(text: str) -> None:
    assert is_label(text)
    series = xr.DataArray(np.arange(366), dims="time", coords={"time": DAYS})
    expected = series.sel(time=text[1:], method="nearest")
    assert list(places_of(text, "time", TIME)) == [int(expected)]


@pytest.mark.parametrize(
    ("text", "labels", "said"),
    [
        ("1999-06", TIME, "time: 1999-06 selects nothing from 2000-01-01T00:00:00 to 2000-12-31"),
        ("45.5", TIME, "its coordinate has times"),
        ("2000-06", LATITUDE, "its coordinate has numbers"),
        ("3.0:7.0", Labels(np.array([5.0, 1.0, 6.0]), times=False), "are not next to each other"),
    ],
)
def test_what_selects_nothing_says_what_there_is(text: str, labels: Labels, said: str) -> None:
    with pytest.raises(RefexplorerError, match=said):
        places_of(text, "time", labels)


def dated(server: RangeServer, inline: bool) -> Host:
    """Return a host of four days whose coordinate is in the set, or on the server."""
    days = np.arange(4, dtype="<i2").tobytes()
    server.files["/t"], server.files["/x"] = days, days
    document: dict[str, Any] = {
        ".zgroup": {"zarr_format": 2},
        "x/.zarray": ZARRAY | {"shape": [4], "chunks": [4]},
        "x/.zattrs": {"_ARRAY_DIMENSIONS": ["time"]},
        "x/0": [f"{server.url}/x", 0, 8],
        "time/.zarray": ZARRAY | {"shape": [4], "chunks": [4]},
        "time/.zattrs": {"_ARRAY_DIMENSIONS": ["time"], "units": "days since 2000-05-30"},
        "time/0": days.decode() if inline else [f"{server.url}/t", 0, 8],
    }
    return Host(document, allow=[server.url])


def test_a_date_is_found_in_a_coordinate_of_the_set_without_a_request(server: RangeServer) -> None:
    plan = dated(server, inline=True).ask("slice.plan", array="x", slices=["2000-06"])["plan"]
    assert plan["slices"] == ["2:"]
    assert server.requests == []


def test_a_coordinate_elsewhere_has_to_be_read_first(server: RangeServer) -> None:
    host = dated(server, inline=False)
    refused = host.ask("slice.plan", array="x", slices=["2000-06"])
    assert "The coordinate time has not been read yet" in refused["error"]
    assert server.requests == []
    host.read("x", None, slices=["0"])
    assert host.ask("slice.plan", array="x", slices=["2000-06"])["plan"]["slices"] == ["2:"]
    assert "has no coordinate" in host.ask("slice.plan", array="time", slices=["2000-06"])["error"]


def test_where_a_value_is(server: RangeServer) -> None:
    host = dated(server, inline=True)
    found = host.ask("value.place", array="x", index=[3])
    assert found == {
        "key": "x/0",
        "kind": "range",
        "url": f"{server.url}/x",
        "offset": 0,
        "length": 8,
    }
    assert host.ask("value.place", array="time", index=[0])["kind"] == "inline"
    assert "has no element [4]" in host.ask("value.place", array="x", index=[4])["error"]
    assert server.requests == []


def test_what_comes_next_is_read_ahead_within_a_budget() -> None:
    host = Host(DEMO / "sst.v0.json")
    host.read("sst", None, slices=["6", ":", ":"])  # with the coordinates
    costs = [
        host.ask("slice.plan", array="sst", slices=[step, ":", ":"])["plan"]["estimate"]
        for step in ("0", "2", "4")
    ]
    budget = costs[0]["bytes"] + costs[1]["bytes"]
    parts = [[step, ":", ":"] for step in ("0", "2", "4")]
    answer, _ = later(host, "chunk.ahead", array="sst", parts=parts, budget=budget)
    assert answer["kept"] > 0
    assert answer["parts"] == 2
    requests = [
        host.ask("slice.plan", array="sst", slices=part)["plan"]["estimate"]["requests"]
        for part in parts
    ]
    assert requests[:2] == [0, 0]
    assert requests[2] > 0


def codes(host: Host) -> list[str]:
    """Return the code of what was done since it was asked last."""
    said = []
    while not host.posted.empty():
        message, _ = host.posted.get()
        said += [str(message)] if message.get("ev") == "code" else []
    return said


def test_code_is_of_what_is_on_screen() -> None:
    host = Host(DEMO / "sst.v0.json")
    host.read("sst", None, slices=["6", ":", ":"])
    codes(host)
    reader = host.controller.part(PreviewReader)
    seen = reader.last
    assert seen is not None
    request = {"id": "t:8", "op": "chunk.read", "array": "sst", "index": None, "ahead": True}
    host.controller.handle(request | {"slices": ["2", ":", ":"]})
    host.answer()
    assert codes(host) == []
    assert reader.last is seen
    host.ask("slice.plan", array="sst", slices=["2", ":", ":"], shown=True)
    assert "[2, :, :]" in "".join(codes(host))
    for _ in range(500):
        if reader.last is not seen:
            break
        time.sleep(0.01)
    assert reader.last is not None
    assert reader.last[0].slices == ("2", ":", ":")


def test_views_of_a_set_share_what_was_decoded() -> None:
    refs = rx.open_references(DEMO / "sst.v0.json")
    one, other = Host(refs), Host(refs)
    one.read("sst", None, slices=["0", ":", ":"])
    plan = other.ask("slice.plan", array="sst", slices=["0", ":", ":"])["plan"]
    assert plan["estimate"]["requests"] == 0
    assert plan["kept"] > 0


def test_magnitudes_and_flags_are_said() -> None:
    complex_array = ZARRAY | {"shape": [1], "chunks": [1], "dtype": "<c8", "fill_value": None}
    host = Host({"c/.zarray": json.dumps(complex_array), "c/0": "base64:AABAQAAAgEA="})
    reading, values = host.read("c", None)
    assert values.tolist() == [5]
    assert reading["message"] == "Shown: the magnitudes."
    flags = {"flag_values": [0, 1], "flag_meanings": "land sea"}
    host = Host({"x/.zarray": ZARRAY | {"shape": [2]}, "x/.zattrs": flags, "x/0": "\0\0\1\0"})
    reading, _ = host.read("x", None)
    assert reading["flags"] == [{"value": 0, "meaning": "land"}, {"value": 1, "meaning": "sea"}]
