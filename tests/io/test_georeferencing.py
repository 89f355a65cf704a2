from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
import xarray as xr

import refexplorer as rx
from refexplorer.io.georeference import NoPlaceError, georeference
from tests.helpers.earth_sets import global_set, goes_set, inline_array

LAT, LON = np.arange(3.0), np.arange(4.0)
DATA = np.zeros((3, 4), "<f4")


def found(document: dict[str, Any], path: str) -> tuple[Any, ...]:
    refs = rx.open_references({".zgroup": {"zarr_format": 2}, **document})
    each = georeference(refs, refs.array(path))
    return (each.form, *(side.path for side in each.sides), each.rows, each.columns)


def test_axes_by_units_standard_name_and_name() -> None:
    assert found(global_set(), "t2m") == ("axes", "lat", "lon", 1, 2)
    by_name = {**inline_array("y", LAT, ["y"], standard_name="latitude"),
               **inline_array("longitude", LON, ["longitude"]),
               **inline_array("v", DATA.T, ["longitude", "y"])}  # fmt: skip
    assert found(by_name, "v") == ("axes", "y", "longitude", 1, 0)


def test_a_coordinate_of_a_group_above_counts() -> None:
    nested = {**inline_array("lat", LAT, ["lat"]), **inline_array("lon", LON, ["lon"]),
              "g/.zgroup": {"zarr_format": 2},
              **inline_array("g/v", DATA, ["lat", "lon"])}  # fmt: skip
    assert found(nested, "g/v")[:3] == ("axes", "lat", "lon")


def test_a_grid_that_the_array_names() -> None:
    lat, lon = np.meshgrid(LAT, LON, indexing="ij")
    named = {**inline_array("a", lat, ["j", "i"], units="degrees_north"),
             **inline_array("b", lon, ["j", "i"], units="degree_E"),
             **inline_array("v", DATA, ["j", "i"], coordinates="b a")}  # fmt: skip
    assert found(named, "v") == ("grid", "a", "b", 0, 1)


def test_a_grid_mapping_and_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    refs = rx.open_references(goes_set(9))
    if importlib.util.find_spec("pyproj"):
        assert found(goes_set(9), "sst") == ("projection", "y", "x", 0, 1)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(NoPlaceError, match=r"pyproj: run `pip install 'refexplorer\[maps\]'"):
        georeference(refs, refs.array("sst"))


def test_rotated_coordinates_are_no_latitudes() -> None:
    rotated = {**inline_array("lat", LAT, ["lat"], standard_name="grid_latitude", units="degrees"),
               **inline_array("lon", LON, ["lon"], standard_name="grid_longitude", units="degrees"),
               **inline_array("v", DATA, ["lat", "lon"])}  # fmt: skip
    with pytest.raises(NoPlaceError, match="no array near it is a latitude"):
        found(rotated, "v")


def test_what_is_near_and_does_not_serve_is_named() -> None:
    moving = np.broadcast_to(LAT[:, None], (2, 3, 4))
    lat = inline_array("lat", moving, ["time", "j", "i"], units="degrees_north")
    lon = inline_array("lon", moving, ["time", "j", "i"], units="degrees_east")
    array = inline_array("v", np.zeros((2, 3, 4)), ["time", "j", "i"], grid_mapping="crs")
    with pytest.raises(NoPlaceError) as told:
        found({**lat, **lon, **array}, "v")
    assert "lat has the dimensions time, j, i and lon time, j, i, where one or two of" in str(
        told.value
    )
    assert "its grid_mapping crs is not an array of this set" in str(told.value)
    with pytest.raises(NoPlaceError, match="lat is near it, but no array is a longitude"):
        found({**lat, **array}, "v")
    crs = inline_array("crs", np.zeros(()), [])
    with pytest.raises(NoPlaceError, match="its grid_mapping crs has no projection, or no coord"):
        found({**crs, **array}, "v")


def test_a_track_and_a_line_are_reported() -> None:
    track = {**inline_array("lat", LAT, ["obs"], units="degrees_north"),
             **inline_array("lon", LAT, ["obs"], units="degrees_east"),
             **inline_array("v", DATA, ["obs", "z"]),
             **inline_array("w", LAT, ["obs"])}  # fmt: skip
    with pytest.raises(NoPlaceError, match="along the same dimension, as for stations or a track"):
        found(track, "v")
    with pytest.raises(NoPlaceError, match="fewer than two named dimensions"):
        found(track, "w")


def test_the_places_are_the_coordinates_that_xarray_finds() -> None:
    refs = rx.open_references(global_set())
    each = georeference(refs, refs.array("t2m"))
    dataset: xr.Dataset = refs.to_xarray()
    sides = dataset["t2m"].coords
    y, x = (side.path for side in each.sides)
    assert {y, x} <= {str(name) for name in sides}
    assert dataset["t2m"].dims[each.rows] == sides[y].dims[0]
    assert dataset["t2m"].dims[each.columns] == sides[x].dims[0]


def test_in_a_folder_of_many_arrays_few_are_looked_at() -> None:
    many: dict[str, Any] = {}
    for number in range(2000):
        many |= inline_array(f"a{number:04}", LAT, ["lat"])
    document = {**many, **inline_array("lat", LAT, ["lat"]), **inline_array("lon", LON, ["lon"]),
                **inline_array("v", DATA, ["lat", "lon"])}  # fmt: skip
    refs = rx.open_references({".zgroup": {"zarr_format": 2}, **document})
    asked: list[str] = []

    class Counted:
        def arrays(self) -> tuple[str, ...]:
            return refs.arrays()

        def array(self, path: str) -> Any:
            asked.append(path)
            return refs.array(path)

    each = georeference(Counted(), refs.array("v"))  # type: ignore[arg-type]
    assert tuple(side.path for side in each.sides) == ("lat", "lon")
    assert len(asked) < 300
