"""What is taken away of values: a NetCDF file that others read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from refexplorer import demo
from tests.helpers.explorer import Host, ask
from tests.helpers.sets import held_array


def saved(host: Host, folder: Path, **fields: Any) -> Path:
    """Return the file that the explorer makes of a part."""
    message, buffers = ask(host, "slice.save", **fields)
    assert "error" not in message, message
    path = folder / str(message["name"])
    path.write_bytes(buffers[0])
    return path


def test_netcdf_has_values_attributes_and_coordinates(tmp_path: Path) -> None:
    host = Host(demo.path("sst.v0.json"))
    path = saved(host, tmp_path, array="sst", slices=["5:7", "10:90:2", "3"])
    assert path.name == "sst.nc"
    refs = host.controller.references
    theirs = refs.to_xarray(mask_and_scale=False)["sst"][5:7, 10:90:2, 3:4]
    with xr.open_dataset(path, mask_and_scale=False, decode_times=False) as raw:
        np.testing.assert_array_equal(raw["sst"], theirs)
        assert raw["sst"].dtype == theirs.dtype
        assert raw["sst"].attrs["scale_factor"] == theirs.attrs["scale_factor"]
        assert set(raw.coords) >= {"time", "lat", "lon"}
    whole = refs.to_xarray(coordinates=True)["sst"][5:7, 10:90:2, 3:4]
    with xr.open_dataset(path) as decoded:
        xr.testing.assert_allclose(decoded["sst"], whole)
        np.testing.assert_array_equal(decoded["time"], whole["time"])


def test_what_netcdf_cannot_say_is_refused() -> None:
    values = np.zeros((2, 2), "<c8")
    host = Host(held_array(values, "<c8", ["y", "x"], [2, 2]))
    message, _ = ask(host, "slice.save", array="x", slices=[":", ":"])
    assert "NetCDF has no type for <c8" in message["error"]
    lost = held_array(np.zeros((4, 4), "<i2"), "<i2", ["y", "x"], [2, 2])
    lost["x/1.1"] = "base64:AAA="
    message, _ = ask(Host(lost), "slice.save", array="x", slices=[":", ":"])
    assert "1 chunk of x failed" in message["error"]
