"""GeoZarr's conventions for an array: `spatial:`, `proj:` and `multiscales`.

Sources: the repositories `spatial`, `proj` and `multiscales` of zarr-conventions on GitHub.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from refexplorer.core.errors import RefexplorerError
from refexplorer.formats.columns.table import Table
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.spec.references import folders_above, prefix
from refexplorer.spec.zarr_metadata import ArrayMeta, parse_metadata

CODE = re.compile(r"[A-Za-z][\w.-]*:\w+", re.ASCII)
CRS = ("proj:code", "proj:wkt2", "proj:projjson")
_PREFIXES = ("spatial:", "proj:")
_USUAL = (("y", "x"), ("lat", "lon"), ("latitude", "longitude"), ("northing", "easting"))
_LEVELS = 100  # of one pyramid that are looked at
Attributes = Mapping[str, Any]


class AffineGrid(NamedTuple):
    """The positions of cells in the plane: x = a column + b row + c; y likewise with d, e, f."""

    # rows, columns: The dimensions that carry y and x
    rows: int
    columns: int
    # Of the edges of cells, so 0 is where the first cell starts
    transform: tuple[float, float, float, float, float, float]


class PyramidLevel(NamedTuple):
    """One array of a pyramid."""

    array: ArrayMeta
    # Lengths of a cell along y and x, in the units of the CRS; None where that is not said
    resolution: tuple[float, float] | None


def is_list_of(kind: Any, size: int, value: object) -> bool:
    """Return whether a value is a list of a given number of finite numbers, or of strings."""
    if not isinstance(value, list) or len(value) != size:
        return False
    is_kind = all(isinstance(each, kind) and not isinstance(each, bool) for each in value)
    return is_kind and (kind is str or all(abs(each) < math.inf for each in value))


def has_conventions(table: Table) -> bool:
    """Return whether any attribute may belong to a convention: most sets have none."""
    texts = filter(None, map(table.text, table.metadata))
    return any('"spatial:' in text or '"proj:' in text or '"layout"' in text for text in texts)


def attributes_at(table: Table, key: str) -> Attributes | None:
    """Return the attributes in a metadata key; None if it has none."""
    text = table.text(key)
    found: Any = None if text is None else parse_metadata(text)
    if isinstance(found, Mapping) and key.endswith("zarr.json"):
        found = found.get("attributes")
    return found if isinstance(found, Mapping) else None


def group_attributes(table: Table, path: str) -> Attributes:
    """Return the attributes of a group; empty if it has none."""
    found = (attributes_at(table, prefix(path) + name) for name in (".zattrs", "zarr.json"))
    return next((each for each in found if each is not None), {})


def layout_of(attributes: Attributes) -> list[Attributes]:
    """Return the levels of `multiscales` that name a group or an array."""
    multiscales = attributes.get("multiscales")
    layout = multiscales.get("layout") if isinstance(multiscales, Mapping) else None
    levels = layout[:_LEVELS] if isinstance(layout, list) else []
    return [
        level
        for level in levels
        if isinstance(level, Mapping) and isinstance(level.get("asset"), str)
    ]


def conventions_of(opened: OpenedSet, array: ArrayMeta) -> Attributes:
    """Return the attributes for an array: its own, else those of its level or its group."""
    found: dict[str, Any] = {}
    parent = array.path.rpartition("/")[0]
    for path in reversed([*folders_above(array.path)][not array.path :]):
        attributes = group_attributes(opened.table, path)
        layout = layout_of(attributes)
        assets = ((prefix(path) + each["asset"], each) for each in layout)
        level = next((each for name, each in assets if name in (array.path, parent)), None)
        own = _named(attributes)
        if level is not None:
            own.pop("spatial:shape", None)
            names = array.attributes.get("spatial:dimensions", own.get("spatial:dimensions"))
            scale = _scale(layout, level, _places(names, array), len(array.shape))
            transform = own.pop("spatial:transform", None)
            if scale is not None and is_list_of(int | float, 6, transform):
                across, down = scale
                factors = (across, down, 1, across, down, 1)
                own["spatial:transform"] = [
                    value * by for value, by in zip(transform, factors, strict=True)
                ]
            own |= _named(level)
        if level is not None or path == parent:
            found |= own
    return found | _named(array.attributes)


def affine_grid(attributes: Attributes, array: ArrayMeta) -> AffineGrid | None:
    """Return the cell positions from `spatial:`; None if not defined."""
    transform = attributes.get("spatial:transform")
    if transform is None or attributes.get("spatial:transform_type", "affine") != "affine":
        return None
    if not is_list_of(int | float, 6, transform):
        raise RefexplorerError("`spatial:transform` must be six numbers.")
    a, b, c, d, e, f = map(float, transform)
    if a * e == b * d:
        raise RefexplorerError("`spatial:transform` puts all cells on one line.")
    places = _places(attributes.get("spatial:dimensions"), array)
    if places is None:
        raise RefexplorerError(
            "`spatial:dimensions` must name the y and the x dimension of the array."
        )
    if attributes.get("spatial:registration", "pixel") == "node":  # refers to centres
        c, f = c - (a + b) / 2, f - (d + e) / 2
    return AffineGrid(*places, (a, b, c, d, e, f))


def crs_of(attributes: Attributes) -> Attributes:
    """Return the CRS from `proj:`."""
    return {name: attributes[name] for name in CRS if attributes.get(name) is not None}


def level_scale(level: Attributes) -> list[float]:
    """Return the ratio of cell sizes to those of the parent level; empty if unknown."""
    # Translated cells are not supported.
    transform = level.get("transform")
    if not isinstance(transform, Mapping):
        return []
    moved = transform.get("translation")
    if moved and not (isinstance(moved, list) and not any(moved)):
        return []
    scale = transform.get("scale")
    is_good = isinstance(scale, list) and is_list_of(int | float, len(scale), scale)
    return scale if is_good and scale is not None else []


def pyramids(opened: OpenedSet) -> dict[str, list[PyramidLevel]]:
    """Return the levels of each pyramid by the path of each of its arrays, the finest first."""
    found: dict[str, list[PyramidLevel]] = {}
    for path in _groups(opened.table):
        by_name: dict[str, list[PyramidLevel]] = {}
        for level in layout_of(group_attributes(opened.table, path)):
            asset = prefix(path) + level["asset"]
            for array in _arrays_at(opened, asset):
                name = array.path.removeprefix(asset)
                level_of = PyramidLevel(array, _resolution(opened, array))
                by_name.setdefault(name, []).append(level_of)
        for levels in by_name.values():
            if len(levels) > 1:
                levels.sort(key=lambda each: -math.prod(each.array.shape))
                found.update((level.array.path, levels) for level in levels)
    return found


def finer_levels(opened: OpenedSet) -> set[str]:
    """Return the arrays of pyramids except the coarsest, which represents its pyramid in lists."""
    return {path for path, levels in pyramids(opened).items() if levels[-1].array.path != path}


def _resolution(opened: OpenedSet, array: ArrayMeta) -> tuple[float, float] | None:
    try:
        grid = affine_grid(conventions_of(opened, array), array)
    except RefexplorerError:
        return None
    if grid is None:
        return None
    a, b, _, d, e, _ = grid.transform
    return math.hypot(b, e), math.hypot(a, d)


def _arrays_at(opened: OpenedSet, asset: str) -> Iterator[ArrayMeta]:
    """Yield the array named by a level, or the arrays of the group, without coordinates."""
    array = opened.arrays.get(asset)
    folder = opened.tree.folder(asset)
    if array is not None:
        yield array
    elif folder is not None:
        for each in opened.arrays.below(folder):
            parent, _, name = each.path.rpartition("/")
            if parent == asset and len(each.shape) > 1 and each.dimensions != (name,):
                yield each


def _groups(table: Table) -> Iterator[str]:
    """Yield groups that may have levels; in version 2 no array metadata are read."""
    for key in table.metadata:
        folder, _, name = key.rpartition("/")
        if name == ".zgroup" or (name == "zarr.json" and '"layout"' in (table.text(key) or "")):
            yield folder


def _named(attributes: Attributes) -> dict[str, Any]:
    return {
        name: value
        for name, value in attributes.items()
        if name.startswith(_PREFIXES) and value is not None
    }


def _places(names: object, array: ArrayMeta) -> tuple[int, int] | None:
    """Return the dimensions for y and x; without `names`, by dimension name."""
    known = array.dimensions or ()
    if names is None:  # an older draft required no names, and its examples have none
        lower = [name.lower() for name in known]
        names = next(([y, x] for y, x in _USUAL if y in lower and x in lower), None)
        return None if names is None else (lower.index(names[0]), lower.index(names[1]))
    if not is_list_of(str, 2, names):
        return None
    y, x = cast("list[str]", names)
    return (known.index(y), known.index(x)) if y != x and {y, x} <= set(known) else None


def _scale(
    layout: list[Attributes], level: Attributes, places: tuple[int, int] | None, rank: int
) -> tuple[float, float] | None:
    """Return the ratio of cell sizes to those of the first level, along x and y."""
    by_asset = {each["asset"]: each for each in layout}
    across = down = 1.0
    for _ in layout:
        source = level.get("derived_from")
        if not isinstance(source, str):
            return across, down
        scale = level_scale(level)
        y, x = (0, 1) if len(scale) == 2 < rank else places or (-1, -1)
        if not 0 <= min(x, y) <= max(x, y) < len(scale) or source not in by_asset:
            return None
        down, across = down * scale[y], across * scale[x]
        level = by_asset[source]
    return None
