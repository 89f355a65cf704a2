"""The difference of two parts: only of numbers with the same units on the same grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refexplorer.views.preview.blocks import Numbers
from refexplorer.views.wire.explorer.data_messages import ReadingModel


def obstacle(left: ReadingModel, right: ReadingModel) -> str | None:
    """Say why two readings have no difference; None if they have one."""
    for side, reading in (("left", left), ("right", right)):
        if reading.state == "fill":
            return f"There is no difference: the {side} part has no reference, so nothing was read."
        if reading.state != "fetched" or reading.texts is not None:
            return f"There is no difference: the {side} part has no numbers."
        if reading.times or reading.flags:
            what = "times" if reading.times else "flags"
            return f"There is no difference: the {side} part holds {what}."
    if left.units != right.units:
        units = " and ".join(each.units or "none" for each in (left, right))
        return f"There is no difference: the units are not the same ({units})."
    return _grids(_drawn(left), _drawn(right))


def subtract(left: Numbers, right: Numbers) -> Numbers:
    """Return the right part less the left one; NaN where one of them has no number."""
    with np.errstate(invalid="ignore", over="ignore"):
        return right - left


def _drawn(reading: ReadingModel) -> list[tuple[str, int, Sequence[float | None] | None]]:
    """Return name, cells and coordinate of each dimension with more than one value."""
    known = [side.values for side in reading.coordinates]
    known += [None] * (len(reading.shape) - len(known))
    return [
        (name, size, values)
        for name, size, values in zip(reading.dimensions, reading.shape, known, strict=True)
        if size > 1
    ]


def _grids(
    left: list[tuple[str, int, Sequence[float | None] | None]],
    right: list[tuple[str, int, Sequence[float | None] | None]],
) -> str | None:
    if len(left) != len(right):
        return (
            "There is no difference: the left part has "
            f"{len(left)} dimensions of more than one value, the right one {len(right)}."
        )
    for (name, size, one), (other_name, other_size, other) in zip(left, right, strict=True):
        if size != other_size:
            return (
                f"There is no difference: {name} has {size:,} cells on the left, {other_name} "
                f"{other_size:,} on the right."
            )
        if one is None or other is None:
            continue
        ours, theirs = (np.array(each, "f8") for each in (one, other))
        step = float(np.abs(np.diff(ours)).min())
        if not np.allclose(ours, theirs, rtol=0, atol=step / 1000, equal_nan=True):
            at = int(np.argmax(~(np.abs(ours - theirs) <= step / 1000)))
            return (
                f"There is no difference: the grids are not the same, {name} is {ours[at]:g} on "
                f"the left where {other_name} is {theirs[at]:g} on the right."
            )
    return None
