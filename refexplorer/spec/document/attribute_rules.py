"""Lint rules for the attributes of an array: what xarray does not open, or reads as missing.

Sources: "Zarr encoding specification" of xarray's documentation; CF conventions, sections 2.5.1
(missing data), 4.4 (time coordinate) and 8.1 (packed data).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from refexplorer.markup import counted
from refexplorer.spec.core.zarr_metadata import DIMENSIONS, ArrayMeta
from refexplorer.spec.document.lint_rules import Remark

_SINCE = re.compile(
    r"\s*(?:days?|d|hours?|hrs?|hr|h|minutes?|mins?|min|seconds?|secs?|sec|s|milliseconds?"
    r"|millisecs?|msecs?|ms|microseconds?|microsecs?|us|nanoseconds?|nsecs?|ns|weeks?|months?"
    r"|(?:common_)?years?)\s+since\s+[-+]?\d",
    re.IGNORECASE,
)
# 9.97e36 is netCDF's own, -1e34 that of Ferret; no measured value comes near
_FAR_AWAY = 1e30
_LARGE = 1e15
_NINES = re.compile(r"99[9.]*(?:\.0)?|3276[78](?:\.0)?")
"""What people choose where no value is like it: -999, -9999.0, -32768 in floats."""
_KINDS = re.compile(r"\|[iu]1|[<>](?:[iu][248]|f[248])")
_NCZARR = "_NCZARR_ARRAY"
"""Where netCDF-C writes names of dimensions; xarray reads those, too."""
_CALENDARS = frozenset(
    {
        "standard", "gregorian", "proleptic_gregorian", "noleap", "365_day", "all_leap", "366_day",
        "360_day", "julian", "",
    }
)  # fmt: skip


def remarks_on_attributes(array: ArrayMeta, attributes: Mapping[str, object]) -> Iterator[Remark]:
    """Say why xarray would not open an array because of its attributes, as they are written."""
    yield from _names(array, attributes)
    for name in ("scale_factor", "add_offset"):
        value = attributes.get(name)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is not None and not isinstance(value, int | float):
            yield _bad(array, f"`{name}` must be a number, but it is {value!r}")
    units, calendar = attributes.get("units"), attributes.get("calendar", "")
    if isinstance(units, str) and "since" in units:
        if not _SINCE.match(units):
            yield _bad(array, f"`units` {units!r} does not say a unit of time since a date")
        elif not isinstance(calendar, str) or calendar.lower() not in _CALENDARS:
            yield _bad(array, f"`calendar` {calendar!r} is none that xarray knows")
    coordinates = attributes.get("coordinates")
    if coordinates is not None and not isinstance(coordinates, str):
        yield _bad(array, f"`coordinates` must be names with spaces, but it is {coordinates!r}")


def _bad(array: ArrayMeta, said: str) -> Remark:
    return Remark(
        "bad-attribute",
        f"{said}, so xarray does not open `{array.path}`.",
        "Write the attribute as the file has it, or open the set with `decode_cf=False`.",
    )


def _names(array: ArrayMeta, attributes: Mapping[str, object]) -> Iterator[Remark]:
    is_v3, rank = array.zarr_format == 3, len(array.shape)
    field = "dimension_names" if is_v3 else DIMENSIONS
    within: Mapping[str, object] = array.metadata if is_v3 else attributes
    written = within.get(field)
    if written is None and (is_v3 or field not in within):
        if (rank or not is_v3) and _NCZARR not in array.metadata:
            yield Remark(
                "no-dimension-names",
                f"`{array.path}` has no `{field}`, so xarray does not open it.",
            )
        return
    if not isinstance(written, list) or len(written) != rank or not _are_texts(written):
        yield Remark(
            "bad-dimension-names",
            f"`{field}` of `{array.path}` must be a list of {counted(rank, 'name')}, one for each "
            f"dimension, but it is {written!r}; xarray refuses it, or names dimensions otherwise.",
        )


def _are_texts(names: list[object]) -> bool:
    return all(isinstance(name, str) for name in names)


def remark_on_ignored_fill_value(
    array: ArrayMeta, attributes: Mapping[str, object]
) -> Remark | None:
    """Say whether xarray ignores the `_FillValue` of an array, as it does for Zarr v2."""
    written, used = attributes.get("_FillValue"), array.fill_value
    if isinstance(written, list) and len(written) == 1:
        written = written[0]
    numbers = isinstance(written, int | float) and isinstance(used, int | float)
    if array.zarr_format != 2 or not numbers or written == used:
        return None
    return Remark(
        "fill-value-ignored",
        f"`_FillValue` of `{array.path}` is {written!r}, but the fill value of the array is "
        f"{used!r}: xarray reads {used!r} as missing and {written!r} as a value.",
        "Write the same number as `fill_value` of the array.",
    )


def may_be_a_value(array: ArrayMeta, attributes: Mapping[str, object]) -> bool:
    """Say whether the fill value of an array of Zarr v2 looks like one of its values.

    xarray reads it as missing, also where no attribute says that it stands for missing values.
    Not where it is the usual sign of a missing value, unless the array is a coordinate: those
    have none.
    """
    value = array.fill_value
    if array.zarr_format != 2 or isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if "_FillValue" in attributes or value != value or abs(value) >= _FAR_AWAY:
        return False
    is_coordinate = array.dimensions == (array.path.rpartition("/")[2],)
    return _KINDS.fullmatch(array.dtype) is not None and (is_coordinate or not _is_usual(array))


def _is_usual(array: ArrayMeta) -> bool:
    """Say whether a fill value is one that people choose since no value is like it."""
    dtype, value = np.dtype(array.dtype), array.fill_value
    assert isinstance(value, int | float)
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        if value in (limits.min, limits.min + 1, limits.max, limits.max - 1):
            return True
    return abs(value) >= _LARGE or _NINES.fullmatch(str(abs(value))) is not None
