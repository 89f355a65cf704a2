"""What `to_xarray` reads at opening: as much as xarray does, of what may be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import refexplorer as rx
from tests.helpers.earth_sets import inline_array
from tests.helpers.servers import RangeServer

DEMO = Path(rx.demo.path("sst.v0.json")).parent
TIMES = np.arange(3, dtype="<i4")
DAYS: dict[str, Any] = {"units": "days since 2000-01-01"}


def document(**elsewhere: str) -> dict[str, Any]:
    """Return a set of t, y and v; the values of those that are named lie at a URL."""
    keys = {".zgroup": {"zarr_format": 2}, **inline_array("t", TIMES, ["t"], **DAYS),
            **inline_array("y", TIMES + 10, ["y"]),
            **inline_array("v", np.ones((3, 3), "<i4"), ["t", "y"])}  # fmt: skip
    for name, url in elsewhere.items():
        keys[f"{name}/0"] = [url, 0, 12]
    return keys


def test_by_default_it_is_what_xarray_opens(tmp_path: Path) -> None:
    path = rx.demo.path("sst.v0.json")
    files = sorted(DEMO.glob("*.nc"))
    with (
        rx.open_references(path).to_xarray() as ours,
        xr.open_mfdataset(files, engine="h5netcdf", combine="nested", concat_dim="time") as theirs,
    ):
        assert set(ours.xindexes) == set(theirs.xindexes)
        assert ours["time"].dtype.kind == "M"
        np.testing.assert_array_equal(ours["time"], theirs["time"])
        assert ours.sel(time=theirs["time"][3])["sst"].shape == theirs["sst"].shape[1:]


def test_what_may_not_be_read_is_named_and_the_rest_has_its_index(server: RangeServer) -> None:
    refs = rx.open_references(document(t=f"{server.url}/f"))
    with pytest.warns(rx.errors.LeftOutWarning, match=r"times: t\. .*not allowed yet") as told:
        dataset = refs.to_xarray()
    assert told[0].filename == __file__
    assert list(dataset.xindexes) == ["y"]
    assert dataset["t"].dtype == np.int32
    with pytest.warns(rx.errors.LeftOutWarning, match="not allowed yet"):
        assert not refs.to_datatree().dataset.xindexes
    assert server.requests == []
    with pytest.raises(rx.errors.AccessError):
        refs.to_xarray(coordinates=True)
    server.files["/f"] = TIMES.tobytes()
    with refs.allowing(server.url).to_xarray() as dataset:
        assert dataset.sel(t="2000-01-02", y=11)["v"] == 1


def test_a_file_that_is_gone_and_a_time_that_cannot_be_decoded_warn(server: RangeServer) -> None:
    gone = rx.open_references(document(y=f"{server.url}/f")).allowing(server.url)
    with pytest.warns(rx.errors.LeftOutWarning, match=r"the coordinates\. .*there is no such file"):
        assert not gone.to_xarray().xindexes
    odd = {**document(), **inline_array("t", TIMES, ["t"], units="fortnights since 2000")}
    with pytest.warns(rx.errors.LeftOutWarning, match="fortnights since 2000"):
        assert rx.open_references(odd).to_xarray()["v"].sum() == 9


def test_a_coordinate_of_very_many_chunks_is_read_when_asked(server: RangeServer) -> None:
    keys = {**document(), **inline_array("t", np.arange(1001, dtype="<i4"), ["t"], [1], **DAYS)}
    keys |= {f"t/{number}": [f"{server.url}/f", 4 * number, 4] for number in range(1001)}
    keys |= inline_array("v", np.ones((1001, 3), "<i4"), ["t", "y"])
    server.files["/f"] = np.arange(1001, dtype="<i4").tobytes()
    refs = rx.open_references(keys).allowing(server.url)
    with pytest.warns(rx.errors.LeftOutWarning, match="t has more than 1,000 chunks to fetch"):
        assert list(refs.to_xarray().xindexes) == ["y"]
    assert server.requests == []
    with refs.to_xarray(coordinates=True) as dataset:
        assert dataset["t"].dtype.kind == "M"


def test_bounds_of_times_are_asked_for_too(server: RangeServer) -> None:
    """xarray decodes them by the units of their times."""
    keys = {**document(), **inline_array("t", TIMES, ["t"], bounds="b", **DAYS),
            **inline_array("b", np.zeros((3, 2), "<i4"), ["t", "n"])}  # fmt: skip
    keys["b/0.0"] = [f"{server.url}/f", 0, 24]
    with pytest.warns(rx.errors.LeftOutWarning, match=r"times: b\. "):
        dataset = rx.open_references(keys).to_xarray()
    assert sorted(map(str, dataset.xindexes)) == ["t", "y"]
    assert dataset["t"].dtype.kind == "M"


def test_options_of_xarray_win() -> None:
    refs = rx.open_references(document())
    assert refs.to_xarray(decode_times=False)["t"].dtype == np.int32
    assert not refs.to_xarray(create_default_indexes=False).xindexes
    assert not refs.to_xarray(coordinates=False).xindexes
