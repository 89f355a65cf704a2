"""From the plane of a CF grid mapping to longitude and latitude and back, by pyproj."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from refexplorer.errors import RefexplorerError

INSTALL = "run `pip install 'refexplorer[maps]'`."
Floats = np.ndarray[Any, np.dtype[np.float64]]
Transform = Callable[[Floats, Floats], tuple[Floats, Floats]]
_METRES = {"m": 1.0, "metre": 1.0, "meter": 1.0, "metres": 1.0, "meters": 1.0, "km": 1000.0}


def is_installed() -> bool:
    """Say whether pyproj is."""
    return importlib.util.find_spec("pyproj") is not None


def transforms(mapping: Mapping[str, Any], units: str) -> tuple[Transform, Transform]:
    """Return what makes longitude and latitude of x and y, and what makes x and y of these.

    What has no place gives infinite or NaN.

    Parameters
    ----------
    mapping
        The attributes of the grid mapping.
    units
        Of x and y; of a geostationary grid these may be angles.

    Raises
    ------
    RefexplorerError
        If pyproj does not understand the grid mapping.
    """
    import pyproj
    from pyproj.exceptions import ProjError

    try:
        # it understands CF, with the axis of the sweep of a geostationary satellite
        crs = pyproj.CRS.from_cf(_safe(mapping))
        base = crs.source_crs or crs.geodetic_crs
        plane = pyproj.Transformer.from_crs(crs, base, always_xy=True)
    except (ProjError, KeyError, TypeError, ValueError) as error:
        name = mapping.get("grid_mapping_name", "without a name")
        said = str(error).partition("\n")[0].partition(": (")[0]
        raise RefexplorerError(f"The grid mapping {name} cannot be used: {said}.") from None
    scale = _scale(mapping, units)
    is_rotated = mapping.get("grid_mapping_name") == "rotated_latitude_longitude"

    def to_earth(x: Floats, y: Floats) -> tuple[Floats, Floats]:
        return plane.transform(x * scale, y * scale)

    def to_plane(lon: Floats, lat: Floats) -> tuple[Floats, Floats]:
        x, y = plane.transform(lon, lat, direction="INVERSE")
        return (x + 180) % 360 - 180 if is_rotated else x / scale, y / scale

    return to_earth, to_plane


def _safe(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return what PROJ may be given of a stranger's attributes.

    Some texts that it takes for a CRS name files, which it would open.

    Raises
    ------
    ValueError
        If the CRS is nothing but such a text.
    """
    if "grid_mapping_name" in mapping:
        taken = {name: value for name, value in mapping.items() if name not in _TEXTS}
        if not _ELLIPSOID.isdisjoint(taken) and _PRIME_MERIDIAN.isdisjoint(taken):
            # the default of CF; else pyproj looks it up by name, 0.16 s for each grid mapping
            taken["longitude_of_prime_meridian"] = 0.0
        return taken
    text = mapping.get("crs_wkt")
    if not isinstance(text, str) or not _WKT.match(text) or _FILES.search(text):
        raise ValueError("its crs_wkt is no plain WKT of a CRS")
    return {"crs_wkt": text}


_TEXTS = {"crs_wkt", "spatial_ref", "esri_pe_string", "proj4", "proj4_string", "proj4text"}
_ELLIPSOID = {"semi_major_axis", "earth_radius"}
_PRIME_MERIDIAN = {
    "prime_meridian_name", "longitude_of_prime_meridian", "horizontal_datum_name",
    "reference_ellipsoid_name",
}  # fmt: skip
_WKT = re.compile(r"\s*(PROJ|GEO[GD])(CS|CRS)\s*\[", re.ASCII)
_FILES = re.compile(r"EXTENSION|PARAMETERFILE|\+\w+=", re.ASCII | re.IGNORECASE)


def _scale(mapping: Mapping[str, Any], units: str) -> float:
    """Return by what x and y are multiplied to be what PROJ takes."""
    if mapping.get("grid_mapping_name") == "geostationary" and units.lower() in _ANGLES:
        # PROJ takes the angle of view times the height, CF may say the angle itself
        height = mapping.get("perspective_point_height")
        if not isinstance(height, int | float):
            raise RefexplorerError(
                "The grid mapping geostationary cannot be used: it has no perspective_point_height."
            )
        return float(height) * _ANGLES[units.lower()]
    return _METRES.get(units.strip().lower(), 1.0)


_ANGLES = {
    "rad": 1.0,
    "radian": 1.0,
    "radians": 1.0,
    "microradian": 1e-6,
    "degree": np.pi / 180,
    "degrees": np.pi / 180,
}
