"""Where in an array of the set each message of a GRIB file belongs, by the coordinates it holds."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from refexplorer.checks.compare.cf import is_time, times
from refexplorer.checks.compare.held_values import HeldArray
from refexplorer.checks.compare.set_array import SetArray
from refexplorer.formats.datafiles.data_file import FileArray, Unread

GRID = ("latitude", "longitude")
_HOURS = {"hours": 1.0, "hour": 1.0, "h": 1.0, "minutes": 1 / 60, "seconds": 1 / 3600, "days": 24.0}
_SECOND = 1e6
"""Microseconds, in which times are compared."""
_KINDS = ("typeOfLevel", "stepType", "dataType", "gridType")
"""What tells messages of one name apart, besides coordinates."""


def codec_of(ours: SetArray) -> Mapping[str, Any]:
    """Return the settings of the codec that decodes messages."""
    for each in ours.filters or ():
        if each.name == "grib":
            return each.settings
    return {}


def names_of(native: FileArray) -> set[Any]:
    """Return what a message may be called."""
    return {native.attributes.get("shortName"), native.attributes.get("cfVarName")}


def name_of(ours: SetArray) -> Any:
    """Return what the messages of an array are called; None if it does not say."""
    return ours.attribute("GRIB_shortName") or codec_of(ours).get("var")


def told(mine: SetArray, held: HeldArray, name: str) -> np.ndarray | None:
    """Return a coordinate that the set holds as messages count it; None if of another kind."""
    units = mine.attribute("units")
    if held.values.dtype.kind not in "iuf":
        return None
    if name in ("time", "valid_time"):
        if not is_time(units):
            return None
        try:
            return times(held.values, mine.attribute, None) / _SECOND
        except Unread:
            return None
    if name == "step":
        factor = _HOURS.get(str(units).lower())
        return None if factor is None else held.values * factor
    return held.values.astype(np.float64)


def is_same(ours: Any, theirs: float) -> Any:
    """Say whether values of coordinates are the same."""
    return np.abs(ours - theirs) <= 1e-6 * max(abs(theirs), 1)


def chunk_of(
    ours: SetArray, native: FileArray, coordinates: Mapping[str, tuple[SetArray, np.ndarray]]
) -> int | None:
    """Return the number of the chunk that a message belongs to; None if it is none of the array."""
    meta = ours.meta
    if name_of(ours) not in names_of(native) or prod(meta.chunks) != prod(native.shape):
        return None
    for kind in _KINDS:
        mine, theirs = ours.attribute(f"GRIB_{kind}"), native.attributes.get(kind)
        if mine is not None and theirs is not None and mine != theirs:
            return None
    index = dict.fromkeys(meta.dimensions or (), 0)
    for name, (mine, values) in coordinates.items():
        theirs = native.attributes.get(name)
        if theirs is None:
            return None
        places = np.argwhere(is_same(values, float(theirs)))
        dimensions = mine.meta.dimensions or ()
        if not len(places) or (dimensions == (mine.name,) and len(places) > 1):
            return None
        if dimensions == (mine.name,):
            index[mine.name] = int(places[0][0])
    grid = [index[name] // size for name, size in zip(index, meta.chunks, strict=True)]
    return int(np.ravel_multi_index(grid, meta.grid))
