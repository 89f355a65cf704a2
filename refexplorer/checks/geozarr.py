"""Whether GeoZarr attributes (`spatial:`, `proj:`, `multiscales`) agree with the arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import Limits
from refexplorer.io.earth import crs_problem
from refexplorer.io.reading.cf import decode_plainly
from refexplorer.refset.conventions import (
    CODE,
    AffineGrid,
    Attributes,
    affine_grid,
    attributes_at,
    conventions_of,
    crs_of,
    has_conventions,
    is_list_of,
    layout_of,
    level_scale,
)
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.spec.findings import Findings, pointer
from refexplorer.spec.references import prefix
from refexplorer.spec.zarr_metadata import ArrayMeta

_NEAR = 0.01  # The tolerance of positions, in cells: coordinates are rounded to single precision
_ELEMENTS = 100_000  # of a coordinate that is compared
Rule = tuple[Callable[[Any], bool], str]


def _is_box(value: Any) -> bool:
    return is_list_of(int | float, 4, value) and value[0] <= value[2] and value[1] <= value[3]


_RULES: dict[str, Rule] = {
    "spatial:dimensions": (
        lambda value: is_list_of(str, 2, value) and value[0] != value[1],
        "a list of two names, first that of y",
    ),
    "spatial:transform": (
        lambda v: is_list_of(int | float, 6, v) and v[0] * v[4] != v[1] * v[3],
        "a list of six numbers that do not put all cells on one line",
    ),
    "spatial:bbox": (_is_box, "a list of four numbers: the smallest x and y, the largest x and y"),
    "spatial:shape": (lambda value: is_list_of(int, 2, value), "a list of two integers"),
    "spatial:registration": (lambda value: value in ("pixel", "node"), '"pixel" or "node"'),
    "proj:code": (
        lambda value: value is None or (isinstance(value, str) and bool(CODE.fullmatch(value))),
        'an authority and a code, such as "EPSG:4326"',
    ),
    "proj:wkt2": (lambda value: value is None or isinstance(value, str), "text"),
    "proj:projjson": (lambda value: value is None or isinstance(value, Mapping), "an object"),
}


_Remark = tuple[str, str]  # Code and message


def lint_geozarr(opened: OpenedSet, limits: Limits, base: str, findings: Findings) -> None:
    """Record attributes that violate the conventions or do not match an array."""
    if not has_conventions(opened.table):
        return
    problems: dict[str, str] = {}  # many arrays have the same CRS

    def note(key: str, found: Iterator[_Remark], array: str = "") -> None:
        for code, message in found:
            findings.add(code, base + pointer(key), message, key=key, array=array)

    for key in list(opened.table.metadata):
        path, _, name = key.rpartition("/")
        if name in (".zattrs", "zarr.json"):
            attributes = attributes_at(opened.table, key) or {}
            note(key, _malformed(key, attributes))
            note(key, _levels(opened, path, attributes))
    for array in opened.arrays.below(opened.tree.root):
        found = conventions_of(opened, array)
        if found:
            note(array.metadata_key, _differing(opened, limits, array, found), array.path)
            crs = crs_of(found)
            problem = problems.setdefault(repr(crs), crs_problem(crs) if crs else "")
            if problem:
                note(array.metadata_key, iter([("crs-unusable", problem)]), array.path)


def _malformed(key: str, attributes: Attributes) -> Iterator[_Remark]:
    for part in (attributes, *layout_of(attributes)):
        where = f" of the level `{part['asset']}`" if part is not attributes else ""
        for name, (is_right, what) in _RULES.items():
            if name in part and not is_right(part[name]):
                yield "malformed-convention", f"`{name}`{where} in `{key}` is not {what}."


def _levels(opened: OpenedSet, path: str, attributes: Attributes) -> Iterator[_Remark]:
    """Record pyramid levels that are missing, or whose size contradicts their scale."""
    layout = layout_of(attributes)
    names = {each["asset"] for each in layout}
    for level in layout:
        asset, source = level["asset"], level.get("derived_from")
        folder = opened.tree.folder(prefix(path) + asset)
        if folder is None:
            message = f"`multiscales` of `{path or '/'}` names the level `{asset}`, but the set has"
            yield "level-missing", f"{message} no such group or array."
        if isinstance(source, str) and source not in names:
            message = f"The level `{asset}` of `{path or '/'}` is derived from `{source}`, which"
            yield "level-missing", f"{message} is not a level."
        if folder is None or not isinstance(source, str):
            continue
        for array in opened.arrays.below(folder):
            below = array.path.removeprefix(prefix(path) + asset)
            source_array = opened.arrays.get(prefix(path) + source + below)
            yield from _scaled(array, source_array, level)


def _scaled(array: ArrayMeta, source: ArrayMeta | None, level: Attributes) -> Iterator[_Remark]:
    scale = level_scale(level)
    if source is None or len(scale) != len(array.shape) or len(source.shape) != len(scale):
        return
    for axis, (length, before, by) in enumerate(zip(array.shape, source.shape, scale, strict=True)):
        if by > 0 and abs(length - before / by) >= 1:
            message = f"{array.path_text(True)} has {length:,} elements along dimension {axis}, "
            message += f"but `{source.path}` has {before:,} and the scale is {by:g}"
            yield "level-differs", f"{message}: {before / by:,.6g} would fit."


def _differing(
    opened: OpenedSet, limits: Limits, array: ArrayMeta, found: Attributes
) -> Iterator[_Remark]:
    if not any(name.startswith("spatial:") for name in found):
        return
    names: Any = found.get("spatial:dimensions")
    known = array.dimensions or ()
    if not is_list_of(str, 2, names) or len(array.shape) < 2:
        return
    if absent := [name for name in names if name not in known]:
        if "spatial:dimensions" in array.attributes:
            yield _different(array, f"has no dimension `{absent[0]}`, which `spatial:dimensions` "
                             f"names: it has {', '.join(known) or 'none with a name'}")  # fmt: skip
        return
    shape = tuple(array.shape[known.index(name)] for name in names)
    written: Any = found.get("spatial:shape")
    if is_list_of(int, 2, written) and tuple(written) != shape:
        yield _different(array, f"has {shape[0]:,} x {shape[1]:,} cells along {', '.join(names)}, "
                         f"`spatial:shape` says {written[0]:,} x {written[1]:,}")  # fmt: skip
    try:
        grid = affine_grid(found, array)
    except RefexplorerError:
        return
    if grid is None:
        return
    is_node = found.get("spatial:registration") == "node"
    if _is_box(found.get("spatial:bbox")):
        yield from _box(array, shape, grid, found["spatial:bbox"], is_node)
    yield from _coordinates(opened, limits, array, grid, names)


def _different(array: ArrayMeta, what: str) -> _Remark:
    return "spatial-differs", f"{array.path_text(True)} {what}."


def _box(
    array: ArrayMeta, shape: tuple[int, ...], grid: AffineGrid, box: list[float], is_node: bool
) -> Iterator[_Remark]:
    """Compare the stored bounding box with that of the outermost edges or centres."""
    a, b, c, d, e, f = grid.transform
    inside = 0.5 if is_node else 0.0
    rows, columns = ((inside, size - inside) for size in shape)
    x = [a * column + b * row + c for row in rows for column in columns]
    y = [d * column + e * row + f for row in rows for column in columns]
    actual = (min(x), min(y), max(x), max(y))
    cell = math.hypot(a, d), math.hypot(b, e)
    gaps = [abs(one - other) for one, other in zip(actual, box, strict=True)]
    if any(gap > 0.5 * cell[number % 2] for number, gap in enumerate(gaps)):
        texts = (", ".join(f"{each:.9g}" for each in side) for side in (actual, box))
        yield _different(array, "is in the box {} by `spatial:transform` and its shape, "
                         "`spatial:bbox` says {}".format(*texts))  # fmt: skip


def _coordinates(
    opened: OpenedSet, limits: Limits, array: ArrayMeta, grid: AffineGrid, names: list[str]
) -> Iterator[_Remark]:
    """Compare inline coordinates with the centres of cells."""
    a, b, c, d, e, f = grid.transform
    if b or d:
        return
    folder = prefix(array.path.rpartition("/")[0])
    for name, step, start in ((names[0], e, f), (names[1], a, c)):
        side = opened.arrays.get(folder + name)
        values = None if side is None else _inline_values(opened, side, limits)
        if values is None or side is None:
            continue
        centres = start + step * (np.arange(len(values)) + 0.5)
        away = np.abs(values - centres) / abs(step)
        worst = int(np.argmax(away))
        if away[worst] > max(_NEAR, 1e-6 * float(np.abs(values).max()) / abs(step)):
            half = np.allclose(away, 0.5, atol=_NEAR)
            hint = ": half a cell everywhere, as if `spatial:registration` were the other one"
            yield _different(
                array, f"is at {name} = {centres[worst]:.9g} by `spatial:transform` in cell "
                f"{worst:,}, but `{side.path}` says {values[worst]:.9g}{hint if half else ''}"
            )  # fmt: skip


def _inline_values(
    opened: OpenedSet, array: ArrayMeta, limits: Limits
) -> np.ndarray[Any, Any] | None:
    """Return the values of an inline 1-d coordinate, in units; None if it is not inline."""
    if len(array.shape) != 1 or not 0 < array.shape[0] <= _ELEMENTS:
        return None
    from refexplorer.checks.compare.set_array import SetArray  # which few sets need
    from refexplorer.checks.look.coordinates import held_coordinate

    found = held_coordinate(opened, limits, SetArray(array))
    if found.stored is None or found.is_there is None or not found.is_there.all():
        return None
    values = decode_plainly(array, found.stored, array.fill_value)
    return values if values is not None and np.isfinite(values).all() else None
