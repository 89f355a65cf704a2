"""Which metadata locate the values of an array on earth, by CF or GeoZarr."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from refexplorer.core.errors import RefexplorerError
from refexplorer.io.earth import INSTALL, is_installed
from refexplorer.refset.conventions import AffineGrid, affine_grid, conventions_of, crs_of
from refexplorer.refset.opened_set import SetLike, internals
from refexplorer.spec.zarr_metadata import ArrayMeta

DEGREES = "degrees of longitude and latitude"
Direction = Literal["latitude", "longitude"]
_STEMS: Mapping[Direction, tuple[str, ...]] = {
    "latitude": ("lat", "latitude", "nav_lat", "xlat", "lats", "yc"),
    "longitude": ("lon", "longitude", "nav_lon", "xlong", "lons", "xc"),
}
_UNITS: Mapping[Direction, str] = {"latitude": "n", "longitude": "e"}
_PLANE: Mapping[Direction, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
    "latitude": (("projection_y_coordinate", "grid_latitude"), "Y", ("y", "rlat")),
    "longitude": (("projection_x_coordinate", "grid_longitude"), "X", ("x", "rlon")),
}
"""Standard names, axis and names of the coordinates of a projection."""


_KNOWN = {name for names in _STEMS.values() for name in names}
_KNOWN |= {name for _, _, names in _PLANE.values() for name in names}
_NEAR = 200  # Arrays of a folder that are examined, in addition to those with known names
_NAMED = 100  # names that `coordinates` and `grid_mapping` may list
Folders = Mapping[str, Sequence[str]]  # The paths of the arrays of each folder


class NoPlaceError(RefexplorerError):
    """Nothing locates an array on earth; the text says what was searched for."""


@dataclass(frozen=True)
class Georeference:
    """The metadata that locate the values of an array."""

    # ``axes``: latitude and longitude are 1-d. ``grid``: both are 2-d. ``projection``: x and y are
    # 1-d, in the plane that the grid mapping describes. ``affine``: `affine` has the transform.
    form: Literal["axes", "grid", "projection", "affine"]
    # rows, columns: The dimensions along which latitude and longitude, or y and x, run
    rows: int
    columns: int
    sides: tuple[ArrayMeta, ...] = ()  # The coordinates, that of rows first; none if ``affine``
    # The attributes of the grid mapping, or `proj:`; None if x and y are longitude and latitude
    mapping: Mapping[str, Any] | None = None
    affine: AffineGrid | None = None

    @property
    def sentence(self) -> str:
        """The source of the positions, in words."""
        mapping = self.mapping or {}
        if self.affine is not None:
            name = mapping.get("proj:code") or mapping.get("grid_mapping_name") or "its CRS"
            return f"Places are computed by spatial:transform and {name if mapping else DEGREES}."
        y, x = (side.path for side in self.sides)
        if self.form == "projection":
            name = mapping.get("grid_mapping_name", "its crs_wkt")
            return f"Places are computed from {x} and {y} by {name}."
        return f"Places are those of {y} and {x}."


def georeference(refs: SetLike, array: ArrayMeta, folders: Folders | None = None) -> Georeference:
    """Return the metadata that locate an array; no target is read."""
    # One-dimensional latitude and longitude come first, then GeoZarr's `spatial:` or a grid
    # mapping, if pyproj is installed, then two-dimensional latitude and longitude.
    name = array.path or "The root array"
    if not array.dimensions or len(array.shape) < 2:
        raise NoPlaceError(f"{name} is not on the map: it has fewer than two named dimensions.")
    near = list(_near(refs, array, array_folders(refs) if folders is None else folders))
    lats, lons = (
        [each for each in near if is_along(side, each) and _lies_along(each, array)]
        for side in ("latitude", "longitude")
    )
    if (axes := _of_pair(array, lats, lons, 1)) is not None:
        return axes
    projected = _of_transform(refs, array, near) or _of_projection(array, near)
    if projected is not None and (projected.mapping is None or is_installed()):
        return projected
    if (grid := _of_pair(array, lats, lons, 2)) is not None:
        return grid
    if projected is not None:
        mapping = projected.mapping or {}
        crs = mapping.get("grid_mapping_name") or mapping.get("proj:code") or "a CRS"
        raise NoPlaceError(f"{name} is on a {crs} grid, which needs pyproj: {INSTALL}")
    if any(lat.dimensions == lon.dimensions for lat in lats for lon in lons):
        raise NoPlaceError(
            f"{name} is not on the map: latitude and longitude run along the same dimension, as "
            "for stations or a track, so there are no grid cells to draw."
        )
    raise NoPlaceError(f"{name} is not on the map: {_missing(array, near)}")


def _missing(array: ArrayMeta, near: Sequence[ArrayMeta]) -> str:
    """Return what an array lacks to be placed on a map, and unsuitable arrays nearby."""
    mapping = array.attributes.get("grid_mapping")
    named = mapping.split()[0].rstrip(":") if isinstance(mapping, str) and mapping.split() else ""
    if not named:
        text = "it has no grid_mapping with coordinates."
    elif any(each.path.rpartition("/")[2] == named for each in near):
        text = f"its grid_mapping {named} has no projection, or no coordinates y and x."
    else:
        text = f"its grid_mapping {named} is not an array of this set."
    lat, lon = (
        next((each for each in near if is_along(side, each)), None)
        for side in ("latitude", "longitude")
    )
    if lat is None and lon is None:
        return (
            "no array near it is a latitude or longitude (standard_name, or units degrees_north "
            f"and degrees_east), and {text}"
        )
    if lat is None or lon is None:
        found, side = (lat, "longitude") if lon is None else (lon, "latitude")
        assert found is not None
        return (
            f"{found.path} is near it, but no array is a {side} (standard_name, units), and {text}"
        )
    return (
        f"{lat.path} has the dimensions {_names(lat)} and {lon.path} {_names(lon)}, where one or "
        f"two of those of {array.path or 'the root array'} ({_names(array)}) would be drawn, and "
        f"{text}"
    )


def _names(array: ArrayMeta) -> str:
    return ", ".join(each or "without a name" for each in array.dimensions or ()) or "without names"


def array_folders(refs: SetLike) -> Folders:
    """Return the arrays of each folder."""
    found: dict[str, list[str]] = {}
    for path in refs.arrays():
        found.setdefault(path.rpartition("/")[0], []).append(path)
    return found


def _near(refs: SetLike, array: ArrayMeta, folders: Folders) -> Iterator[ArrayMeta]:
    """Yield possible coordinate arrays: those named by the array, then others in its folders."""
    above = [array.path.rpartition("/")[0]]
    while above[-1]:
        above.append(above[-1].rpartition("/")[0])
    listed, mapping = (array.attributes.get(each) for each in ("coordinates", "grid_mapping"))
    named = [each for text in (listed, mapping) if isinstance(text, str) for each in text.split()]
    names = [each.rstrip(":") for each in named[:_NAMED]] + list(array.dimensions or ())
    paths = [f"{folder}/{name}".lstrip("/") for folder in above for name in names]
    # a folder may have any number of arrays, and those named like coordinates are seldom last
    for folder in above:
        inside = folders.get(folder, ())
        paths += [path for path in inside if path.rpartition("/")[2].lower() in _KNOWN]
        paths += inside[:_NEAR]
    for path in dict.fromkeys(paths):
        try:
            if path != array.path:
                yield refs.array(path)
        except KeyError:
            continue


def is_along(side: Direction, array: ArrayMeta) -> bool:
    """Return whether an array is a latitude or a longitude: by its attributes, else by name."""
    attributes = array.attributes
    standard, units = attributes.get("standard_name"), attributes.get("units")
    if isinstance(standard, str) and standard:
        return standard == side
    if isinstance(units, str) and units.lower().startswith("degree"):
        direction = units.lower().removeprefix("degree").removeprefix("s").lstrip("_")
        if direction:
            return direction[0] == _UNITS[side]
    elif isinstance(units, str) and units:
        return False
    return array.path.rpartition("/")[2].lower() in _STEMS[side]


def _lies_along(side: ArrayMeta, array: ArrayMeta) -> bool:
    """Return whether a coordinate has one or two dimensions of an array, with their lengths."""
    dimensions, known = side.dimensions or (), array.dimensions or ()
    if not 1 <= len(side.shape) <= 2 or len(dimensions) != len(side.shape):
        return False
    return all(
        name in known and array.shape[known.index(name)] == size
        for name, size in zip(dimensions, side.shape, strict=True)
    )


def _of_pair(
    array: ArrayMeta, lats: list[ArrayMeta], lons: list[ArrayMeta], rank: int
) -> Georeference | None:
    """Return one-dimensional latitude and longitude, or two-dimensional ones on the same axes."""
    for lat, lon in product(lats, lons):
        is_same = lat.dimensions == lon.dimensions
        if rank == 1 == len(lat.shape) == len(lon.shape) and not is_same:
            return Georeference("axes", _axis(array, lat, 0), _axis(array, lon, 0), (lat, lon))
        if rank == 2 == len(lat.shape) and is_same and min(lat.shape) > 1:
            return Georeference("grid", _axis(array, lat, 0), _axis(array, lat, 1), (lat, lon))
    return None


def _of_transform(refs: SetLike, array: ArrayMeta, near: list[ArrayMeta]) -> Georeference | None:
    """Return the grid from `spatial:` and `proj:`, or `spatial:` and a grid mapping."""
    attributes = conventions_of(internals(refs).opened, array)
    try:
        grid = affine_grid(attributes, array)
    except RefexplorerError:  # reported by a finding
        return None
    crs = crs_of(attributes) or _mapping_of(array, near)
    if grid is None or crs is None:
        return None
    is_degrees = crs.get("proj:code") in ("EPSG:4326", "OGC:CRS84")
    return Georeference("affine", grid.rows, grid.columns, (), None if is_degrees else crs, grid)


def _mapping_of(array: ArrayMeta, near: list[ArrayMeta]) -> Mapping[str, Any] | None:
    """Return the attributes of the grid mapping that an array names."""
    named = array.attributes.get("grid_mapping")
    if not isinstance(named, str) or not named.split():
        return None
    name = named.split()[0].rstrip(":")
    mapping = next((each for each in near if each.path.rpartition("/")[2] == name), None)
    if mapping is None or not {"grid_mapping_name", "crs_wkt"} & set(mapping.attributes):
        return None
    return mapping.attributes


def _of_projection(array: ArrayMeta, near: list[ArrayMeta]) -> Georeference | None:
    mapping = _mapping_of(array, near)
    if mapping is None:
        return None
    y, x = (
        next((each for each in near if _is_plane(side, each) and _lies_along(each, array)), None)
        for side in ("latitude", "longitude")
    )
    if y is None or x is None or y.dimensions == x.dimensions:
        return None
    rows, columns = _axis(array, y, 0), _axis(array, x, 0)
    return Georeference("projection", rows, columns, (y, x), mapping)


def _is_plane(side: Direction, array: ArrayMeta) -> bool:
    if len(array.shape) != 1:
        return False
    standards, axis, names = _PLANE[side]
    standard = array.attributes.get("standard_name")
    if isinstance(standard, str) and standard:
        return standard.startswith(standards)
    axis_name = array.attributes.get("axis")
    if isinstance(axis_name, str) and axis_name:
        return axis_name == axis
    return array.path.rpartition("/")[2].lower() in names


def _axis(array: ArrayMeta, side: ArrayMeta, which: int) -> int:
    return (array.dimensions or ()).index((side.dimensions or ())[which])
