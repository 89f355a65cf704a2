"""Values decoded as in CF: unmasked, unscaled numbers; times in microseconds.

Only what comparing needs: two encodings of the same values become the same numbers. Times in
calendars other than the Gregorian are compared as stored, if both have the same units.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from refexplorer.formats.datafiles.data_file import Unread
from refexplorer.spec.references import prefix

AttributeOf = Callable[[str], Any]  # Returns an attribute of an array by its name, None without one
SECONDS = {
    "microsecond": 1e-6, "millisecond": 1e-3, "second": 1, "sec": 1, "s": 1, "minute": 60,
    "min": 60, "hour": 3600, "hr": 3600, "h": 3600, "day": 86400, "d": 86400,
}  # fmt: skip
_GREGORIAN = {"standard", "gregorian", "proleptic_gregorian"}
_REFORM = np.datetime64("1582-10-15", "us")
"""Before this date, the standard and the proleptic Gregorian calendars differ."""
_SINCE = re.compile(
    r"\s*(\w+?)s?\s+since\s+(-?\d{1,4}-\d{1,2}-\d{1,2})(?:[T\s]+(\d{1,2}:\d{1,2}(?::[\d.]+)?))?"
    r"\s*(?:Z|UTC|\+?0{1,2}:?0{0,2})?\s*",
    re.IGNORECASE,
)


def is_time(units: object) -> bool:
    """Return whether units are those of a time coordinate, such as ``"days since 2000-01-01"``."""
    return isinstance(units, str) and " since " in units


def attributes_of_bounds(
    attributes: Mapping[str, Mapping[str, Any]],
) -> dict[str, dict[str, Any]]:
    """Return the attributes of bounds of times, by path, with those of their coordinate.

    CF (7.1) lets bounds omit their units and calendar, and xarray decodes them accordingly.
    """
    found = {}
    for path, mine in attributes.items():
        if is_time(mine.get("units")):
            shared = {name: mine[name] for name in ("units", "calendar") if name in mine}
            for what in ("bounds", "climatology"):
                other = prefix(path.rpartition("/")[0]) + str(mine.get(what))
                if other in attributes:
                    found[other] = shared | {**attributes[other]}
    return found


def calendar_of(attribute: AttributeOf) -> str:
    """Return the calendar of a time coordinate; equivalent calendars share a name."""
    found = str(attribute("calendar") or "standard").lower()
    return "standard" if found in _GREGORIAN else {"365_day": "noleap"}.get(found, found)


def same_times(one: AttributeOf, other: AttributeOf) -> bool:
    """Return whether the numbers of two time coordinates mean the same."""
    units = [" ".join(str(each("units")).lower().split()) for each in (one, other)]
    if calendar_of(one) != calendar_of(other):
        return False
    if units[0] == units[1]:
        return True
    epochs = [epoch_of(each) for each in units]
    return epochs[0] is not None and epochs[0] == epochs[1]


def unpacked(values: np.ndarray, attribute: AttributeOf, missing: Any) -> np.ndarray:
    """Return values as float64, scaled, with NaN for missing values; other kinds unchanged."""
    if values.dtype.kind not in "iuf":
        return values
    if values.dtype.kind in "iu" and str(attribute("_Unsigned")).lower() == "true":
        values = values.view(values.dtype.str.replace("i", "u"))
    found: np.ndarray = values.astype(np.float64)
    for marks in (missing, attribute("missing_value")):
        for mark in np.ravel([] if marks is None else marks).tolist():
            if isinstance(mark, int | float) and mark == mark:
                cast = np.asarray(mark).astype(values.dtype) if values.dtype.kind == "f" else mark
                found[values == cast] = np.nan
    scale, offset = number(attribute("scale_factor")), number(attribute("add_offset"))
    if scale is not None:
        found = found * scale
    return found if offset is None else found + offset


def times(values: np.ndarray, attribute: AttributeOf, missing: Any) -> np.ndarray:
    """Return times in microseconds since 1970, float64, with NaN for missing values."""
    found = epoch_of(str(attribute("units")))
    if found is None or calendar_of(attribute) != "standard":
        raise Unread(
            "expression",
            f"Times in {attribute('units')!r}, calendar {calendar_of(attribute)!r}, can be "
            "compared only with times in the same units and calendar.",
        )
    step, start = found
    return unpacked(values, attribute, missing) * (step * 1e6) + start


def epoch_of(units: str) -> tuple[float, float] | None:
    """Return the seconds per unit, and the epoch in microseconds since 1970."""
    match = _SINCE.fullmatch(units)
    if match is None or match[1].lower() not in SECONDS:
        return None
    year, month, day = match[2].rsplit("-", 2)
    clock = [f"{float(part):09.6f}" if part else "00" for part in (match[3] or "0:0:0").split(":")]
    clock = [*(f"{int(float(part)):02d}" for part in clock[:2]), *(clock[2:] or ["00"])]
    try:
        text = f"{int(year):04d}-{int(month):02d}-{int(day):02d}T{':'.join(clock)}"
        start = np.datetime64(text, "us")
    except ValueError:
        return None
    if start < _REFORM:
        return None
    return SECONDS[match[1].lower()], float(start.astype(np.int64))


def number(value: object) -> float | None:
    """Return a number, also from a list of one; None for anything else."""
    if isinstance(value, list | tuple | np.ndarray) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return None
    return float(value)
