"""Sets of one inline coordinate."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.helpers.sets import held_array


def axis(values: Any, name: str = "time", units: str = "days since 2020-01-01", **more: Any) -> Any:
    """Return a set of one coordinate; `more` are attributes, and `chunks`."""
    values = np.asarray(values)
    values = values.astype("<f8" if values.dtype.kind == "f" else "<i8")
    chunks = more.pop("chunks", [len(values)])
    document = held_array(values, values.dtype.str, [name], chunks)
    document["x/.zattrs"] |= more | ({"units": units} if units else {})
    return {key.replace("x/", f"{name}/"): value for key, value in document.items()}


def with_days(days: list[float]) -> Any:
    """Return a set of pictures, one per day, with all data inline."""
    values = np.arange(len(days) * 12, dtype="<i4").reshape(-1, 3, 4)
    return held_array(values, "<i4", ["time", "y", "x"], [1, 3, 4]) | axis(days)
