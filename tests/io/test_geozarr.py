"""Places by the conventions of GeoZarr, held against pyproj and against CF."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.io.earth import AffinePlaces, ProjectedPlaces
from refexplorer.io.georeference import NoPlaceError, georeference
from tests.helpers.earth_sets import UTM, inline_array, pyramid_set

pyproj = pytest.importorskip("pyproj")
TO_EARTH = pyproj.Transformer.from_crs("EPSG:32633", "EPSG:4326", always_xy=True).transform
DATA = np.zeros((3, 4), "<f4")


def places(document: dict[str, Any], path: str = "v") -> AffinePlaces:
    refs = rx.open_references({".zgroup": {"zarr_format": 2}, **document})
    array = refs.array(path)
    found = georeference(refs, array)
    assert found.form == "affine"
    assert found.affine is not None
    shape = array.shape[found.rows], array.shape[found.columns]
    return AffinePlaces(shape, found.affine, found.mapping)


def corner(found: AffinePlaces, row: float = 0, column: float = 0) -> tuple[float, float]:
    longitude, latitude = found.at(np.array([row]), np.array([column]))
    return float(longitude[0, 0]), float(latitude[0, 0])


def test_an_array_with_a_transform_is_where_pyproj_puts_it() -> None:
    found = places(inline_array("v", DATA, ["y", "x"], **UTM))
    assert corner(found) == pytest.approx(TO_EARTH(500000, 5000000))
    assert corner(found, 3, 4) == pytest.approx(TO_EARTH(500080, 4999910))
    assert found.find(*TO_EARTH(500050, 4999950)) == (1, 2)
    assert found.find(*TO_EARTH(500090, 4999950)) is None


@pytest.mark.parametrize("name", ["proj:wkt2", "proj:projjson"])
def test_each_way_to_name_the_crs_gives_the_same_places(name: str) -> None:
    crs = pyproj.CRS("EPSG:32633")
    value = crs.to_wkt() if name == "proj:wkt2" else crs.to_json_dict()
    attributes = {**UTM, "proj:code": None, name: value}
    found = places(inline_array("v", DATA, ["y", "x"], **attributes))
    assert corner(found, 1, 1) == pytest.approx(TO_EARTH(500020, 4999970))


def test_it_agrees_with_cf() -> None:
    """The same grid, once by coordinates of centres and a grid mapping."""
    x, y = 500010 + 20.0 * np.arange(4), 4999985 - 30.0 * np.arange(3)
    crs = pyproj.CRS("EPSG:32633").to_cf()
    cf = ProjectedPlaces(y.astype("f8"), x.astype("f8"), crs, "m")
    ours = places(inline_array("v", DATA, ["y", "x"], **UTM))
    at = np.arange(4.0), np.arange(5.0)
    for one, other in zip(cf.at(*at), ours.at(*at), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
    mixed = {key: each for key, each in UTM.items() if not key.startswith("proj:")}
    document = {**inline_array("crs", np.int32(0), [], None, **crs),
                **inline_array("v", DATA, ["y", "x"], grid_mapping="crs", **mixed)}  # fmt: skip
    assert corner(places(document), 3, 4) == pytest.approx(corner(ours, 3, 4))


def test_dimensions_are_named_nodes_are_centres_and_grids_may_be_turned() -> None:
    turned = places(inline_array("v", DATA.T, ["x", "y"], **UTM))
    assert turned.shape == (3, 4)
    assert corner(turned, 3, 0) == pytest.approx(TO_EARTH(500000, 4999910))
    node = {**UTM, "spatial:registration": "node"}
    found = places(inline_array("v", DATA, ["y", "x"], **node))
    assert corner(found, 0.5, 0.5) == pytest.approx(TO_EARTH(500000, 5000000))
    oblique = {**UTM, "spatial:transform": [0.0, 20.0, 500000.0, 30.0, 0.0, 5000000.0]}
    found = places(inline_array("v", DATA, ["y", "x"], **oblique))
    assert corner(found, 2, 1) == pytest.approx(TO_EARTH(500040, 5000030))
    assert found.find(*TO_EARTH(500050, 5000040)) == (2, 1)


def test_usual_names_of_dimensions_need_not_be_said() -> None:
    unsaid = {**UTM, "spatial:dimensions": None}
    found = places(inline_array("v", DATA.T, ["X", "Y"], **unsaid))
    assert corner(found, 3, 4) == pytest.approx(TO_EARTH(500080, 4999910))
    with pytest.raises(NoPlaceError):
        places(inline_array("v", DATA, ["a", "b"], **unsaid))


def test_what_a_group_says_holds_for_its_own_arrays_alone() -> None:
    deep = {".zattrs": UTM, "g/.zgroup": {"zarr_format": 2},
            **inline_array("v", DATA, ["y", "x"]),
            **inline_array("g/w", DATA, ["y", "x"])}  # fmt: skip
    assert corner(places(deep)) == pytest.approx(TO_EARTH(500000, 5000000))
    with pytest.raises(NoPlaceError):
        places(deep, "g/w")


def test_levels_of_a_pyramid_have_the_same_corners() -> None:
    document = pyramid_set()
    for number, size in enumerate((8, 4, 2)):
        found = places(document, f"r{number}/band")
        assert corner(found) == pytest.approx(TO_EARTH(500000, 5000000))
        assert corner(found, size, size) == pytest.approx(TO_EARTH(500160, 4999760))
    own = document[".zattrs"]["multiscales"]["layout"][1]
    own["spatial:transform"] = [40.0, 0.0, 600000.0, 0.0, -60.0, 5000000.0]
    assert corner(places(document, "r1/band")) == pytest.approx(TO_EARTH(600000, 5000000))


def test_degrees_need_no_pyproj_and_other_grids_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    degrees = {**UTM, "proj:code": "EPSG:4326", "spatial:transform": [1, 0, 179, 0, -1, 60]}
    found = places(inline_array("v", DATA, ["y", "x"], **degrees))
    assert corner(found, 1, 1) == (180, 59)
    assert found.find(-179.5, 58.5) == (1, 1)  # beyond the dateline
    with pytest.raises(NoPlaceError, match="EPSG:32633 grid, which needs pyproj: run `pip"):
        places(inline_array("v", DATA, ["y", "x"], **UTM))


@pytest.mark.parametrize(
    "attributes",
    [
        {"spatial:transform": [1, 2, 3]},
        {"spatial:transform": [1, 1, 0, 1, 1, 0]},
        {"spatial:transform": [1, 0, "a", 0, 1, 0]},
        {"spatial:dimensions": ["y", "lon"]},
        {"spatial:transform_type": "rpc"},
        {"proj:code": None},
    ],
)
def test_what_does_not_say_where_it_is_has_no_place(attributes: dict[str, Any]) -> None:
    with pytest.raises(NoPlaceError):
        places(inline_array("v", DATA, ["y", "x"], **{**UTM, **attributes}))


@pytest.mark.parametrize(
    "crs",
    [
        {"proj:code": "+proj=pipeline +step +proj=hgridshift +grids=/etc/passwd"},
        {"proj:code": "/etc/passwd"},
        {"proj:wkt2": "+proj=longlat +nadgrids=/etc/passwd"},
        {"proj:projjson": {"type": "BoundCRS", "source_crs": {}, "transformation": {}}},
        {"proj:projjson": {"type": "GeographicCRS", "name": "+init=/etc/passwd"}},
        {"proj:code": "EPSG:1"},
    ],
)
def test_a_crs_of_a_stranger_opens_no_file(crs: dict[str, Any]) -> None:
    document = inline_array("v", DATA, ["y", "x"], **{**UTM, "proj:code": None, **crs})
    with pytest.raises(rx.RefexplorerError, match=r"The CRS .* cannot be used: "):
        places(document)
