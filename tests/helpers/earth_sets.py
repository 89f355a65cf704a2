"""Reference sets with places on earth: their coordinates are in the set itself."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

GOES: dict[str, Any] = {
    "grid_mapping_name": "geostationary",
    "perspective_point_height": 35786023.0,
    "semi_major_axis": 6378137.0,
    "semi_minor_axis": 6356752.31414,
    "inverse_flattening": 298.2572221,
    "latitude_of_projection_origin": 0.0,
    "longitude_of_projection_origin": -75.0,
    "sweep_angle_axis": "x",
}
"""As in files of GOES-16."""


def inline_array(
    path: str,
    values: Any,
    dimensions: Sequence[str],
    chunks: Sequence[int] | None = None,
    **attributes: Any,
) -> dict[str, Any]:
    """Return the keys of an array whose values are in the set."""
    values = np.asarray(values)
    sizes = list(chunks or values.shape)
    metadata = {
        "zarr_format": 2, "shape": list(values.shape), "chunks": sizes, "dtype": values.dtype.str,
        "compressor": None, "filters": None, "order": "C", "fill_value": None,
    }  # fmt: skip
    keys: dict[str, Any] = {
        f"{path}/.zarray": metadata,
        f"{path}/.zattrs": {"_ARRAY_DIMENSIONS": list(dimensions), **attributes},
    }
    grid = [range(-(-size // chunk)) for size, chunk in zip(values.shape, sizes, strict=True)]
    for index in np.ndindex(*map(len, grid)):
        part = np.zeros(sizes, values.dtype)
        inside = values[
            tuple(slice(at * n, at * n + n) for at, n in zip(index, sizes, strict=True))
        ]
        part[tuple(map(slice, inside.shape))] = inside
        text = base64.b64encode(part.tobytes()).decode()
        keys[f"{path}/{'.'.join(map(str, index)) or '0'}"] = f"base64:{text}"
    return keys


def global_set(**attributes: Any) -> dict[str, Any]:
    """Return a global grid of 10 degrees: latitudes from the north, longitudes from 0 to 350."""
    lat, lon = np.arange(85.0, -90, -10), np.arange(0.0, 360, 10)
    values = lat[:, None] + lon / 1000
    times = np.stack([values, values + 100]).astype("<f4")
    return {
        ".zgroup": {"zarr_format": 2},
        **inline_array("lat", lat, ["lat"], units="degrees_north"),
        **inline_array("lon", lon, ["lon"], units="degrees_east"),
        **inline_array("t2m", times, ["time", "lat", "lon"], [1, 6, 9], units="K", **attributes),
    }


def goes_set(size: int = 60) -> dict[str, Any]:
    """Return a full disk as of GOES: angles in x and y, nothing else says where it is."""
    angles = np.linspace(-0.151844, 0.151844, size)
    disk = np.hypot(*np.meshgrid(angles, angles)).astype("<f4")
    return {
        ".zgroup": {"zarr_format": 2},
        **inline_array("x", angles, ["x"], units="rad", standard_name="projection_x_coordinate"),
        **inline_array(
            "y", angles[::-1], ["y"], units="rad", standard_name="projection_y_coordinate"
        ),
        **inline_array("goes", np.int32(0), [], None, **GOES),
        **inline_array("sst", disk, ["y", "x"], [20, 20], grid_mapping="goes", units="K"),
    }


UTM: dict[str, Any] = {
    "proj:code": "EPSG:32633",
    "spatial:dimensions": ["y", "x"],
    "spatial:transform": [20.0, 0.0, 500000.0, 0.0, -30.0, 5000000.0],
}
"""`proj:` and `spatial:` of GeoZarr: cells of 20 by 30 m from a corner on the central meridian."""


def pyramid_set(sizes: Sequence[int] = (8, 4, 2), **attributes: Any) -> dict[str, Any]:
    """Return levels `r0/band`, `r1/band` and so on, each of twice the cells of the one before."""
    keys: dict[str, Any] = {".zgroup": {"zarr_format": 2}}
    layout: list[dict[str, Any]] = []
    for number, size in enumerate(sizes):
        keys[f"r{number}/.zgroup"] = {"zarr_format": 2}
        values = np.full((size, size), number, "<f4")
        keys |= inline_array(f"r{number}/band", values, ["y", "x"])
        source = {"derived_from": f"r{number - 1}", "transform": {"scale": [2.0, 2.0]}}
        layout.append({"asset": f"r{number}", **(source if number else {})})
    keys[".zattrs"] = {**UTM, "multiscales": {"layout": layout}, **attributes}
    return keys
