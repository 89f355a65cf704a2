"""Where on earth the values of an array are, and which one contains a point."""

from __future__ import annotations

import importlib.util
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from refexplorer.core.errors import RefexplorerError
from refexplorer.refset.conventions import CODE, AffineGrid

_PART = r"(\d+(?:\.\d*)?)\s*"
_NUMBER = rf"([+-]?\d+(?:\.\d*)?)\s*°?\s*(?:{_PART}['\u2032]\s*)?(?:{_PART}[\"\u2033]\s*)?"
_POINT = re.compile(
    rf"\s*(?:{_NUMBER}([NSEW])?)\s*[,;\s]\s*(?:{_NUMBER}([NSEW])?)\s*", re.ASCII | re.IGNORECASE
)
"""Degrees, minutes, seconds and direction, twice."""


def parse_point(text: str) -> tuple[float, float]:
    """Parse latitude and longitude; without letters, latitude comes first."""
    found = _POINT.fullmatch(text)
    wanted = "write latitude and longitude, such as 52.5, 13.4 or 52.5N 13.4E"
    if found is None:
        raise RefexplorerError(f"{text.strip()!r} is not a position: {wanted}.")
    groups = found.groups()
    first, second = _value(*groups[:4]), _value(*groups[4:])
    one, two = ((each or "").upper() for each in (groups[3], groups[7]))
    if one in ("E", "W") or two in ("N", "S"):
        first, second, one, two = second, first, two, one
    if one in ("E", "W") or two in ("N", "S"):
        raise RefexplorerError(f"{text.strip()!r} names the same direction twice: {wanted}.")
    if abs(first) > 90 or abs(second) > 360:
        raise RefexplorerError(
            f"{text.strip()!r} is not a position: latitude is -90 to 90, longitude -180 to 360."
        )
    return first, second


def _value(degrees: str, minutes: str | None, seconds: str | None, letter: str | None) -> float:
    size = abs(float(degrees)) + float(minutes or 0) / 60 + float(seconds or 0) / 3600
    sign = -1 if degrees.startswith("-") else 1
    return size * (-sign if (letter or "").upper() in ("S", "W") else sign)


INSTALL = "run `pip install 'refexplorer[maps]'`."
Floats = np.ndarray[Any, np.dtype[np.float64]]
Transform = Callable[[Floats, Floats], tuple[Floats, Floats]]
_METRES = {"m": 1.0, "metre": 1.0, "meter": 1.0, "metres": 1.0, "meters": 1.0, "km": 1000.0}


def is_installed() -> bool:
    return importlib.util.find_spec("pyproj") is not None


def transforms(mapping: Mapping[str, Any], units: str) -> tuple[Transform, Transform]:
    """Return the transforms from x and y to longitude and latitude, and back."""
    import pyproj

    crs = _crs(mapping)
    base = crs.source_crs or crs.geodetic_crs
    plane = pyproj.Transformer.from_crs(crs, base, always_xy=True)
    scale = _scale(mapping, units)
    is_rotated = mapping.get("grid_mapping_name") == "rotated_latitude_longitude"

    def to_earth(x: Floats, y: Floats) -> tuple[Floats, Floats]:
        return plane.transform(x * scale, y * scale)

    def to_plane(lon: Floats, lat: Floats) -> tuple[Floats, Floats]:
        x, y = plane.transform(lon, lat, direction="INVERSE")
        return (x + 180) % 360 - 180 if is_rotated else x / scale, y / scale

    return to_earth, to_plane


def _crs(mapping: Mapping[str, Any]) -> Any:
    """Return the CRS of a grid mapping, or of `proj:`."""
    import pyproj
    from pyproj.exceptions import ProjError

    try:
        if not any(name.startswith("proj:") for name in mapping):
            # pyproj reads CF, including the sweep axis of a geostationary satellite
            return pyproj.CRS.from_cf(_safe(mapping))
        if "proj:code" in mapping:
            code = mapping["proj:code"]
            if not isinstance(code, str) or not CODE.fullmatch(code):
                raise ValueError("its proj:code is not an authority and a code, such as EPSG:4326")
            return pyproj.CRS.from_authority(*code.split(":"))
        if "proj:wkt2" in mapping:
            return pyproj.CRS.from_cf(_safe({"crs_wkt": mapping["proj:wkt2"]}))
        text = json.dumps(mapping["proj:projjson"])
        if _FILES.search(text) or _FILES_OF_JSON.search(text):
            raise ValueError("its proj:projjson is not a plain CRS")
        return pyproj.CRS.from_json(text)
    except (ProjError, KeyError, TypeError, ValueError) as error:
        said = str(error).partition("\n")[0].partition(": (")[0]
        raise RefexplorerError(f"{_crs_name(mapping)} cannot be used: {said}.") from None


def _crs_name(mapping: Mapping[str, Any]) -> str:
    if "proj:code" in mapping:
        return f"The CRS {mapping['proj:code']}"
    if any(name.startswith("proj:") for name in mapping):
        return f"The CRS of {next(iter(mapping))}"
    return f"The grid mapping {mapping.get('grid_mapping_name', 'without a name')}"


def crs_problem(mapping: Mapping[str, Any]) -> str:
    """Return why a CRS cannot be used; empty if it can, or if pyproj is not installed."""
    try:
        if is_installed():
            _crs(mapping)
    except RefexplorerError as error:
        return str(error)
    return ""


def _safe(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return the CRS attributes that are safe to pass to PROJ: some CRS strings name files."""
    if "grid_mapping_name" in mapping:
        taken = {name: value for name, value in mapping.items() if name not in _TEXTS}
        if not _ELLIPSOID.isdisjoint(taken) and _PRIME_MERIDIAN.isdisjoint(taken):
            # the default of CF; else pyproj looks it up by name, 0.16 s for each grid mapping
            taken["longitude_of_prime_meridian"] = 0.0
        return taken
    text = mapping.get("crs_wkt")
    if not isinstance(text, str) or not _WKT.match(text) or _FILES.search(text):
        raise ValueError("its crs_wkt is not the WKT of a plain CRS")
    return {"crs_wkt": text}


_TEXTS = {"crs_wkt", "spatial_ref", "esri_pe_string", "proj4", "proj4_string", "proj4text"}
_ELLIPSOID = {"semi_major_axis", "earth_radius"}
_PRIME_MERIDIAN = {
    "prime_meridian_name", "longitude_of_prime_meridian", "horizontal_datum_name",
    "reference_ellipsoid_name",
}  # fmt: skip
_WKT = re.compile(r"\s*(PROJ|GEO[GD])(CS|CRS)\s*\[", re.ASCII)
_FILES_OF_JSON = re.compile(r"BoundCRS|Operation|Transformation| file\"", re.IGNORECASE)
_FILES = re.compile(r"EXTENSION|PARAMETERFILE|\+\w+=", re.ASCII | re.IGNORECASE)


def _scale(mapping: Mapping[str, Any], units: str) -> float:
    """Return the factor that converts x and y to PROJ's units."""
    if mapping.get("grid_mapping_name") == "geostationary" and units.lower() in _ANGLES:
        # PROJ needs the viewing angle times the height, CF may give the angle itself
        height = mapping.get("perspective_point_height")
        if not isinstance(height, int | float):
            raise RefexplorerError(
                "The grid mapping geostationary cannot be used: it has no perspective_point_height."
            )
        return float(height) * _ANGLES[units.lower()]
    return _METRES.get(units.strip().lower(), 1.0)


_ANGLES = {
    "rad": 1.0, "radian": 1.0, "radians": 1.0, "microradian": 1e-6, "degree": np.pi / 180,
    "degrees": np.pi / 180,
}  # fmt: skip


LINES = 256  # Most intervals of a mesh along each dimension
_LEAST = 96  # Fewest: the edge of a large cell is curved on a map
_AHEAD = 3  # Cells around the nearest centre that may hold a point of a 2-d grid


@dataclass(frozen=True)
class Mesh:
    """Points on the earth by array position: cell ``i`` is between ``i`` and ``i + 1``."""

    # rows, columns: The array positions; fractions are inside a cell
    rows: Floats
    columns: Floats
    # longitude, latitude: In degrees, one for each pair of places; NaN off the earth
    longitude: Floats
    latitude: Floats


class EarthPlaces(ABC):
    """The geographic positions of the values of an array."""

    shape: tuple[int, int]  # Rows and columns

    @abstractmethod
    def at(self, rows: Floats, columns: Floats) -> tuple[Floats, Floats]:
        """Return longitude and latitude of each pair of positions."""

    @abstractmethod
    def find(self, longitude: float, latitude: float) -> tuple[int, int] | None:
        """Return row and column of the value whose cell contains a point."""

    def mesh(self, window: tuple[tuple[int, int], tuple[int, int]] | None = None) -> Mesh:
        """Return the mesh of a window, by default of everything; start and stop for each side."""
        sides = window or ((0, self.shape[0]), (0, self.shape[1]))
        rows, columns = (_lines(*side) for side in sides)
        longitude, latitude = self.at(rows, columns)
        off = ~(np.isfinite(longitude) & np.isfinite(latitude))
        return Mesh(
            rows, columns, np.where(off, np.nan, longitude), np.where(off, np.nan, latitude)
        )


class AxesPlaces(EarthPlaces):
    """Positions from 1-d latitude and longitude, with any direction and range."""

    def __init__(self, latitude: Floats, longitude: Floats) -> None:
        self.shape = (latitude.size, longitude.size)
        self._lat = np.clip(edges(latitude, "latitude"), -90, 90)
        # 0 to 359, -180 to 179, and 170 to -170 are monotonic once full turns are added
        turned = np.unwrap(longitude, period=360) if np.isfinite(longitude).all() else longitude
        self._lon = edges(turned, "longitude")

    def at(self, rows: Floats, columns: Floats) -> tuple[Floats, Floats]:
        lon, lat = np.meshgrid(_between(self._lon, columns), _between(self._lat, rows))
        return lon, lat

    def find(self, longitude: float, latitude: float) -> tuple[int, int] | None:
        row = _interval(self._lat, latitude)
        low = min(self._lon[0], self._lon[-1])
        turned = low + (longitude - low) % 360
        column = _interval(self._lon, turned)
        if column is None:
            column = _interval(self._lon, turned - 360)
        return None if row is None or column is None else (row, column)


class ProjectedPlaces(EarthPlaces):
    """Positions from 1-d y and x in the plane of a grid mapping."""

    def __init__(self, y: Floats, x: Floats, mapping: Mapping[str, Any], units: str) -> None:
        self.shape = (y.size, x.size)
        self._y, self._x = edges(y, "y"), edges(x, "x")
        self._to_earth, self._to_plane = transforms(mapping, units)

    def at(self, rows: Floats, columns: Floats) -> tuple[Floats, Floats]:
        x, y = np.meshgrid(_between(self._x, columns), _between(self._y, rows))
        return self._to_earth(x, y)

    def find(self, longitude: float, latitude: float) -> tuple[int, int] | None:
        x, y = self._to_plane(np.array([longitude]), np.array([latitude]))
        row, column = _interval(self._y, float(y[0])), _interval(self._x, float(x[0]))
        return None if row is None or column is None else (row, column)


class AffinePlaces(EarthPlaces):
    """Positions from an affine transform into the plane of a CRS."""

    def __init__(
        self, shape: tuple[int, int], grid: AffineGrid, crs: Mapping[str, Any] | None
    ) -> None:
        self.shape, self._grid = shape, grid.transform
        unchanged: Transform = lambda x, y: (x, y)  # noqa: E731
        self._to_earth, self._to_plane = transforms(crs, "") if crs else (unchanged, unchanged)

    def at(self, rows: Floats, columns: Floats) -> tuple[Floats, Floats]:
        a, b, c, d, e, f = self._grid
        column, row = np.meshgrid(columns, rows)
        return self._to_earth(a * column + b * row + c, d * column + e * row + f)

    def find(self, longitude: float, latitude: float) -> tuple[int, int] | None:
        a, b, c, d, e, f = self._grid
        for turned in (longitude, longitude - 360, longitude + 360):
            x, y = (float(each[0]) for each in self._to_plane(*np.array([[turned], [latitude]])))
            across, down = x - c, y - f
            column = (e * across - b * down) / (a * e - b * d)
            row = (a * down - d * across) / (a * e - b * d)
            if 0 <= row < self.shape[0] and 0 <= column < self.shape[1]:
                return int(row), int(column)
        return None


class GridPlaces(EarthPlaces):
    """Positions from 2-d latitude and longitude of cell centres, computed with vectors."""

    def __init__(self, latitude: Floats, longitude: Floats) -> None:
        self.shape = latitude.shape[0], latitude.shape[1]
        self._lat, self._lon = latitude, longitude

    def at(self, rows: Floats, columns: Floats) -> tuple[Floats, Floats]:
        row, column = np.meshgrid(rows, columns, indexing="ij")
        top, left = np.floor(row).astype(int), np.floor(column).astype(int)
        down, across = (row - top)[..., None], (column - left)[..., None]
        found = self._corner(top, left) * (1 - down) * (1 - across)
        if down.any():
            found = found + self._corner(top + 1, left) * down * (1 - across)
        if across.any():
            found = found + self._corner(top, left + 1) * (1 - down) * across
            found = found + self._corner(top + 1, left + 1) * down * across
        x, y, z = np.moveaxis(found, -1, 0)
        return np.degrees(np.arctan2(y, x)), np.degrees(np.arctan2(z, np.hypot(x, y)))

    def find(self, longitude: float, latitude: float) -> tuple[int, int] | None:
        point = _vectors(np.array(longitude), np.array(latitude))
        lat, lon = np.radians(self._lat), np.radians(self._lon)
        cosine = np.sin(lat) * point[2] + np.cos(lat) * np.cos(lon - np.radians(longitude)) * (
            np.cos(np.radians(latitude))
        )
        if np.isnan(cosine).all():
            return None
        row, column = np.unravel_index(int(np.nanargmax(cosine)), self.shape)
        rows, columns = (
            np.arange(max(0, int(at) - _AHEAD), min(size, int(at) + _AHEAD + 1))
            for at, size in zip((row, column), self.shape, strict=True)
        )
        near = [(int(i), int(j)) for i in rows for j in columns]
        near.sort(key=lambda place: abs(place[0] - row) + abs(place[1] - column))
        return next((place for place in near if self._holds(place, point)), None)

    def _holds(self, place: tuple[int, int], point: Floats) -> bool:
        """Return whether a cell contains a point, in the tangent plane there."""
        i, j = place
        corners = self._corner(np.array([i, i, i + 1, i + 1]), np.array([j, j + 1, j + 1, j]))
        heights = corners @ point
        if not np.isfinite(heights).all() or (heights <= 0).any():
            return False
        east = np.cross([0.0, 0.0, 1.0], point)
        if np.linalg.norm(east) < 1e-9:
            east = np.array([0.0, 1.0, 0.0])
        east /= np.linalg.norm(east)
        flat = np.stack([corners @ east, corners @ np.cross(point, east)], -1) / heights[:, None]
        after = np.roll(flat, -1, axis=0)
        turns = flat[:, 0] * after[:, 1] - flat[:, 1] * after[:, 0]
        return bool((turns >= -1e-15).all() or (turns <= 1e-15).all())

    def _corner(self, row: np.ndarray, column: np.ndarray) -> Floats:
        """Return the upper left corner of a cell as a vector, not of length 1."""
        places = [(row - 1, column - 1), (row - 1, column), (row, column - 1), (row, column)]
        return sum((self._centre(*place) for place in places), np.zeros(3)) / 4

    def _centre(self, row: np.ndarray, column: np.ndarray) -> Floats:
        """Return a centre; outside the grid, the extrapolated one."""
        height, width = self.shape
        i, j = np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)
        at = self._vector(i, j)
        # twice the border less what is as far inside
        inner = self._vector(
            np.clip(2 * i - row, 0, height - 1), np.clip(2 * j - column, 0, width - 1)
        )
        is_out = ((i != row) | (j != column))[..., None]
        return np.where(is_out, 2 * at - inner, at)

    def _vector(self, row: np.ndarray, column: np.ndarray) -> Floats:
        return _vectors(self._lon[row, column], self._lat[row, column])


def edges(centres: Floats, name: str) -> Floats:
    """Return the edges of cells: halfway between centres, half a step outside."""
    steps = np.diff(centres)
    if centres.size < 2 or not np.isfinite(centres).all():
        raise RefexplorerError(
            f"There is no map: the coordinate {name} has a single value, or some are missing."
        )
    if not ((steps > 0).all() or (steps < 0).all()):
        raise RefexplorerError(f"There is no map: the coordinate {name} is not monotonic.")
    middle = centres[:-1] + steps / 2
    first, last = centres[0] - steps[0] / 2, centres[-1] + steps[-1] / 2
    return np.concatenate([[first], middle, [last]])


def _lines(start: int, stop: int) -> Floats:
    count = max(1, stop - start)
    if count > LINES:
        return np.unique(np.round(np.linspace(start, stop, LINES + 1)))
    return np.linspace(start, stop, count * -(-_LEAST // count) + 1)


def _between(found: Floats, places: Floats) -> Floats:
    return np.interp(places, np.arange(found.size), found)


def _interval(found: Floats, value: float) -> int | None:
    """Return the interval between edges that contains a value."""
    if not np.isfinite(value):
        return None
    sign = 1 if found[-1] > found[0] else -1
    at = int(np.searchsorted(sign * found, sign * value, "right")) - 1
    if at == found.size - 1 and value == found[-1]:
        at -= 1
    return at if 0 <= at < found.size - 1 else None


def _vectors(longitude: np.ndarray, latitude: np.ndarray) -> Floats:
    lon, lat = np.radians(longitude), np.radians(latitude)
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], -1)
