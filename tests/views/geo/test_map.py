"""The map of the earth as its front end sees it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.helpers.earth_sets import global_set, goes_set, inline_array, pyramid_set
from tests.helpers.explorer import Host, ask, later
from tests.helpers.servers import range_server


def earth(host: Host, array: str | None = None, **fields: Any) -> tuple[Any, list[Any]]:
    message, buffers = later(host, "earth.show", array=array, **fields)
    return message.get("earth", message), buffers


def test_a_mesh_of_a_global_grid() -> None:
    found, (rows, columns, longitude, latitude) = earth(Host(global_set()))
    assert (found["array"], found["state"], found["arrays"]) == ("t2m", "fetched", ["t2m"])
    assert found["axes"] == [1, 2]
    assert found["chunks"] == [[18, 6], [36, 9]]
    assert found["source"] == "Places are those of lat and lon."
    mesh = longitude.reshape(rows.size, columns.size)
    assert (rows[-1], columns[-1]) == (18, 36)
    # the edge before the first column is half a step west of Greenwich, that before the 19th in
    # the middle between 170 and 180
    at = [int(np.flatnonzero(columns == place)[0]) for place in (0, 18)]
    np.testing.assert_allclose(mesh[0, at], [-5, 175])
    assert latitude[0] == 90
    assert latitude[-1] == -90


def test_a_window_is_part_of_the_array() -> None:
    host = Host(global_set())
    _, (rows, columns, _, latitude) = earth(host, "t2m", window=[[6, 9], [30, 99]])
    assert (rows[0], rows[-1], columns[0], columns[-1]) == (6, 9, 30, 36)
    assert latitude[0] == 30
    refused, _ = earth(host, "t2m", window=[[5, 2], [0, 1]])
    assert (refused["state"], refused["message"]) == ("failed", "The window has no values.")


@pytest.mark.parametrize("text", ["-12, 187", "12S 173W"])
def test_a_point_leads_to_value_and_chunk(text: str) -> None:
    host = Host(global_set())
    found, _ = later(host, "earth.find", array="t2m", text=text, index=[1, 0, 0])
    # -12 is in the cell from -10 to -20, the 11th of the north; 187 in that of 190
    assert found["index"] == [1, 10, 19]
    assert found["key"] == "t2m/1.1.2"
    assert found["chunks"] == 2
    assert found["sentence"].endswith("is in 2 chunks of t2m, such as t2m/1.1.2.")
    reading, values = host.read("t2m", None, slices=["1", "10", "19"])
    assert reading["state"] == "fetched"
    assert values[0] == pytest.approx(100 - 15 + 0.19)


def test_a_point_of_a_geostationary_disk_and_one_behind_the_earth() -> None:
    pytest.importorskip("pyproj")
    host = Host(goes_set(61))
    found, _ = later(host, "earth.find", array="sst", text="0, -75")
    assert found["index"] == [30, 30]
    assert found["key"] == "sst/1.1"
    behind, _ = later(host, "earth.find", array="sst", text="0, 105")
    assert (behind["index"], behind["key"]) == (None, None)
    assert behind["sentence"] == "0, 105 is in no cell of sst."
    nowhere, _ = later(host, "earth.find", array="sst", text="here")
    assert "write latitude and longitude" in nowhere["error"]


def test_coordinates_of_a_target_are_read_when_asked_under_the_access_policy() -> None:
    with range_server() as server:
        document = global_set()
        lat = np.arange(85.0, -90, -10)
        server.files["/lat"] = lat.tobytes()
        document["lat/0"] = [f"{server.url}/lat", 0, lat.nbytes]
        host = Host(document)
        offered, _ = earth(host)
        assert offered["state"] == "offer"
        assert offered["estimate"]["requests"] == 1
        assert not server.requests
        refused, _ = earth(host, read=True)
        assert refused["state"] == "ask"
        assert refused["grant"] in refused["message"]
        assert not server.requests
        host.ask("allow", grant=refused["grant"])
        shown, buffers = earth(host, read=True)
        assert shown["state"] == "fetched"
        assert len(buffers) == 4
        requests = len(server.requests)
        assert earth(host)[0]["state"] == "fetched"
        assert len(server.requests) == requests


def test_a_coordinate_that_is_not_there_makes_no_map() -> None:
    document = global_set()
    del document["lon/0"]
    found, buffers = earth(Host(document))
    assert found["state"] == "failed"
    assert found["message"] == (
        "There is no map: chunks of lon have no reference, so the locations of their values are "
        "unknown."
    )
    assert buffers == []


def test_a_grid_of_a_billion_places_is_not_read() -> None:
    huge = {"zarr_format": 2, "shape": [40_000, 40_000], "chunks": [4000, 4000], "dtype": "<f8",
            "compressor": None, "filters": None, "order": "C", "fill_value": None}  # fmt: skip
    document: dict[str, Any] = {".zgroup": {"zarr_format": 2}}
    for path, units in (("lat", "degrees_north"), ("lon", "degrees_east"), ("v", "K")):
        document[f"{path}/.zarray"] = huge
        document[f"{path}/.zattrs"] = {"_ARRAY_DIMENSIONS": ["y", "x"], "units": units}
        document[f"{path}/0.0"] = ["s3://b/f", 0, 10]
    found, _ = earth(Host(document), "v", read=True)
    assert found["state"] == "failed"
    assert "lat has 1,600,000,000 values, more than the 8,388,608" in found["message"]


def test_a_set_without_places_says_so() -> None:
    document = {".zgroup": {"zarr_format": 2}, **inline_array("v", np.zeros((2, 2)), ["a", "b"])}
    found, _ = earth(Host(document))
    assert (found["state"], found["array"]) == ("none", "")
    assert found["message"] == "This set has no georeferenced arrays."
    found, _ = earth(Host(document), "v")
    assert "no array near it is a latitude" in found["message"]


@pytest.mark.parametrize(("detail", "least"), [("110m", 100), ("50m", 1000)])
def test_the_land_comes_with_the_package(detail: str, least: int) -> None:
    message, (data,) = ask(Host(global_set()), "earth.land", detail=detail)
    assert message["detail"] == detail
    found = json.loads(data)
    assert found["type"] == "Topology"
    assert len(found["arcs"]) > least


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("12S 173W, time=1", [1, 10, 19]),
        ("[1, 10, 19]", [1, 10, 19]),
        ("1, 10, 19", [1, 10, 19]),
        ("time=-1", [1, 3, 4]),
        ("lat=-12.0, lon=187.0", [0, 10, 19]),
    ],
)
def test_a_point_is_named_by_place_labels_or_index(text: str, index: list[int]) -> None:
    host = Host(global_set())
    found, _ = later(host, "earth.find", array="t2m", text=text, index=[0, 3, 4])
    assert found["index"] == index
    assert found["key"] == host.controller.references.array("t2m").chunk_key(
        tuple(at // size for at, size in zip(index, (1, 6, 9), strict=True))
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("level=3", "no dimension level: it has time, lat, lon"),
        ("[1, 2]", "3 dimensions, not 2"),
        ("[9, 0, 0]", "time"),
        ("somewhere", "not a position"),
    ],
)
def test_a_point_that_is_none_is_reported(text: str, said: str) -> None:
    answer, _ = later(Host(global_set()), "earth.find", array="t2m", text=text, index=[])
    assert said in answer["error"]


def test_a_pyramid_is_listed_once_by_its_coarsest_level() -> None:
    """Which the front end draws first; the plan of a level lists the others."""
    host = Host(pyramid_set())
    found, _ = earth(host)
    assert (found["state"], found["array"], found["arrays"]) == ("fetched", "r2/band", ["r2/band"])
    assert host.ask("hello")["variables"] == ["r2/band"]
    levels = host.ask("slice.plan", array="r2/band")["plan"]["levels"]
    assert [(each["array"], each["sizes"], each["resolution"]) for each in levels] == [
        ("r0/band", [8, 8], [30, 20]),
        ("r1/band", [4, 4], [60, 40]),
        ("r2/band", [2, 2], [120, 80]),
    ]
    finest, _ = earth(host, "r0/band")
    assert finest["source"] == "Places are computed by spatial:transform and EPSG:32633."
    assert Host(global_set()).ask("slice.plan", array="t2m")["plan"]["levels"] == []
