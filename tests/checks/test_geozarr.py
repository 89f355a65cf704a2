"""Attributes of GeoZarr that do not fit, and sound ones that say nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from tests.helpers.earth_sets import UTM, inline_array, pyramid_set

GEO = ("malformed-convention", "spatial-differs", "crs-unusable", "level-missing", "level-differs")
DATA = np.ones((3, 4), "<f4")
X, Y = 500010 + 20.0 * np.arange(4), 4999985 - 30.0 * np.arange(3)


def findings(document: dict[str, Any]) -> dict[str, str]:
    refs = rx.open_references({".zgroup": {"zarr_format": 2}, **document})
    return {each.code: each.message for each in refs.diagnostics if each.code in GEO}


def of_array(dimensions: list[str] = ["y", "x"], **attributes: Any) -> dict[str, str]:  # noqa: B006
    named = {name.replace("_", ":", 1): value for name, value in attributes.items()}
    return findings(inline_array("v", DATA, dimensions, **{**UTM, **named}))


def with_coordinates(x: Any, y: Any, **attributes: Any) -> dict[str, str]:
    return findings(
        {
            **inline_array("x", x, ["x"]),
            **inline_array("y", y, ["y"], [1]),
            **inline_array("v", DATA, ["y", "x"], **{**UTM, **attributes}),
        }
    )


def test_sound_sets_have_no_finding() -> None:
    box = [500000, 4999910, 500080, 5000000]
    assert of_array(spatial_bbox=box, spatial_shape=[3, 4]) == {}
    centres = [500010, 4999925, 500070, 4999985]
    moved = [20.0, 0.0, 500010.0, 0.0, -30.0, 4999985.0]
    node: dict[str, Any] = {"spatial:registration": "node", "spatial:transform": moved}
    assert with_coordinates(X, Y, **node, **{"spatial:bbox": centres}) == {}
    assert with_coordinates(X.astype("<f4"), Y.astype("<f4")) == {}
    assert findings(pyramid_set((9, 5, 3))) == {}
    assert (
        findings(pyramid_set((8, 4), **{"spatial:bbox": [500000, 4999760, 500160, 5000000]})) == {}
    )


@pytest.mark.parametrize(
    ("attributes", "code", "sentence"),
    [
        (
            {"spatial_transform": [1, 2]},
            "malformed-convention",
            "`spatial:transform` in `v/.zattrs",
        ),
        ({"spatial_bbox": [2, 0, 1, 1]}, "malformed-convention", "the least x and y"),
        ({"spatial_registration": "cell"}, "malformed-convention", '"pixel" or "node"'),
        ({"proj_code": "4326"}, "malformed-convention", '"EPSG:4326"'),
        ({"proj_code": "EPSG:1"}, "crs-unusable", "The CRS EPSG:1 cannot be used"),
        ({"spatial_shape": [4, 3]}, "spatial-differs", "has 3 x 4 cells along y, x"),
        ({"spatial_dimensions": ["lat", "x"]}, "spatial-differs", "has no dimension `lat`"),
        (
            {"spatial_bbox": [500000, 0, 500080, 1]},
            "spatial-differs",
            "is in the box 500000, 4999910, 500080, 5000000 by `spatial:transform`",
        ),
    ],
)
def test_what_does_not_fit_is_said(attributes: Any, code: str, sentence: str) -> None:
    assert sentence in of_array(**attributes)[code]


def test_coordinates_that_disagree_are_said_with_the_cell() -> None:
    assert with_coordinates(X, Y) == {}
    shifted = with_coordinates(X - 10, Y + 15)
    assert "half a cell everywhere" in shifted["spatial-differs"]
    turned = with_coordinates(X, Y[::-1])
    assert "`y` says 4999925" in turned["spatial-differs"]


def test_levels_that_are_not_there_or_of_another_size() -> None:
    document = pyramid_set((8, 4, 3))
    assert "4 would fit" not in findings(pyramid_set())
    assert "has 3 elements along dimension 0" in findings(document)["level-differs"]
    layout = document[".zattrs"]["multiscales"]["layout"]
    layout[2]["asset"] = "r9"
    assert "names the level `r9`" in findings(document)["level-missing"]
    layout[2] = {"asset": "r1", "derived_from": "r7"}
    assert "derived from `r7`, which is not a level" in findings(document)["level-missing"]


@pytest.mark.parametrize(
    "layout",
    [
        [{"asset": "r0", "derived_from": ["r0"], "transform": 3}],
        [{"asset": "r0", "derived_from": "r0", "transform": {"scale": 2, "translation": 5}}],
        [{"asset": "r0", "derived_from": "r1"}, {"asset": "r1", "derived_from": "r0"}],
        [{"asset": ""}, {"asset": "../x"}, {"asset": 3}, None, {"asset": "r0/band/0.0"}],
        {"a": 1},
    ],
)
def test_odd_layouts_raise_nothing(layout: Any) -> None:
    document = pyramid_set()
    document[".zattrs"]["multiscales"] = {"layout": layout}
    findings(document)
