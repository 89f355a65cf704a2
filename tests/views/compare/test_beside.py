"""Two parts side by side, and when they have a difference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from tests.helpers.earth_sets import global_set, inline_array
from tests.helpers.explorer import Host, ask, later


def beside(host: Host, left: dict[str, Any], right: dict[str, Any]) -> tuple[Any, list[Any]]:
    return later(host, "beside.read", left=left, right=right)


def part(array: str, *slices: str, other: bool = False) -> dict[str, Any]:
    return {"array": array, "slices": list(slices), "other": other}


def test_two_times_and_their_difference_are_those_of_xarray() -> None:
    host = Host(global_set())
    left, right = (part("t2m", time, "3:9", ":") for time in "01")
    found, (one, other, gap) = beside(host, left, right)
    values: Any = host.controller.references.to_xarray()["t2m"]
    np.testing.assert_array_equal(one, values[0, 3:9].values.ravel())
    np.testing.assert_array_equal(other, values[1, 3:9].values.ravel())
    np.testing.assert_array_equal(gap, other - one)
    assert (found["said"], found["has_difference"]) == ("Right minus left.", True)
    assert (found["low"], found["high"]) == pytest.approx((100, 100), abs=1e-4)


def test_two_sets_are_subtracted_where_both_have_values() -> None:
    before = global_set()
    after = global_set()
    del after["t2m/0.1.2"]
    host = Host(after, compare=rx.open_references(before))
    places = ("0", ":", ":")
    found, (_, other, gap) = beside(host, part("t2m", *places, other=True), part("t2m", *places))
    lost = np.isnan(other.reshape(18, 36))
    assert lost[6:12, 18:27].all()
    assert lost.sum() == 54
    np.testing.assert_array_equal(np.isnan(gap), lost.ravel())
    assert np.nanmax(np.abs(gap)) == 0
    assert (found["low"], found["high"]) == (0, 0)


def test_a_large_part_is_subtracted_as_it_is_drawn() -> None:
    values = np.add.outer(np.arange(1200.0), np.arange(1000.0))
    document = {".zgroup": {"zarr_format": 2},
                **inline_array("a", values, ["y", "x"], [400, 500]),
                **inline_array("b", values * 3, ["y", "x"], [400, 500])}  # fmt: skip
    found, (one, other, gap) = beside(Host(document), part("a", ":", ":"), part("b", ":", ":"))
    assert found["said"] == "Right minus left, from the block means that are drawn."
    np.testing.assert_allclose(gap, 2 * one)
    np.testing.assert_allclose(other, 3 * one)


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        (("t2m", "0", ":", ":"), ("t2m", "0", "1:", ":"),
         "lat has 18 cells on the left, lat 17 on the right."),
        (("t2m", "0", "1:9", ":"), ("t2m", "0", "2:10", ":"),
         "the grids differ: lat is 75 on the left, lat is 65 on the right."),
        (("t2m", "0", ":", ":"), ("rh", "0", ":", ":"), "the units differ (K and %)."),
        (("t2m", "0", ":", ":"), ("t2m", "0", "3", ":"),
         "the left part has 2 dimensions longer than 1, the right part 1."),
        (("t2m", "0", ":", ":"), ("empty", ":", ":"),
         "the right part has no reference."),
        (("kind", ":", ":"), ("kind", ":", ":"), "the left part has flags, not numbers."),
    ],
    ids=["sizes", "coordinates", "units", "dimensions", "no reference", "flags"],
)  # fmt: skip
def test_what_has_no_difference_says_why(
    left: tuple[str, ...], right: tuple[str, ...], said: str
) -> None:
    small = np.zeros((18, 36), "<f4")
    document = {
        **global_set(),
        **inline_array("rh", small[None], ["time", "lat", "lon"], units="%"),
        **inline_array("empty", small, ["lat", "lon"], units="K"),
        **inline_array("kind", small.astype("i1"), ["lat", "lon"],
                       None, flag_values=[0, 1], flag_meanings="sea land"),
    }  # fmt: skip
    del document["empty/0.0"]
    document["empty/.zarray"]["fill_value"] = 0
    found, buffers = beside(Host(document), part(*left), part(*right))
    assert found["said"] == f"No difference: {said}"
    assert not found["has_difference"]
    assert len(buffers) == 2


def test_more_than_two_dimensions_are_refused_and_the_first_look_has_two() -> None:
    host = Host(global_set())
    answer, _ = ask(host, "beside.read", left=part("t2m", ":", ":", ":"), right=part("lat", ":"))
    assert "time, lat, lon each have more than one value" in answer["error"]
    first = {"array": "t2m", "slices": None, "other": False}
    planned, _ = ask(host, "beside.plan", left=first, right=first)
    assert planned["left"]["slices"] == planned["right"]["slices"] == ["0", ":", ":"]
    assert planned["others"] == []


def test_without_a_set_to_compare_with_its_part_cannot_be_read() -> None:
    host = Host(global_set())
    answer, _ = ask(host, "beside.plan", left=part("lat", ":"), right=part("lat", ":", other=True))
    assert "There is no set to compare with" in answer["error"]
