"""From decoded values to what a picture shows: CF decoding, numbers or texts, thinning."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.data.chunks import Reading, State
from refexplorer.data.grid import region
from refexplorer.markup import escape

if TYPE_CHECKING:
    from refexplorer.spec.arrays import ArrayMeta

VALUES_SHOWN = 1_000_000
TEXTS_SHOWN = 1_000
_TEXT_SHOWN = 200

Values = np.ndarray[Any, Any]


def physical(array: ArrayMeta, found: Reading) -> Values:
    """Apply the scale, the offset and the missing values that the attributes name.

    Times stay numbers. Attributes that do not fit are left aside, as is a fill value of Zarr
    format 3, which is no missing value there.
    """
    import xarray

    values = np.asarray(found.values)
    attributes = dict(array.attributes)
    if array.zarr_format == 2 and found.fill is not None:
        attributes.setdefault("_FillValue", found.fill)
    names = tuple(f"dim_{axis}" for axis in range(values.ndim))
    variable = xarray.Variable(names, values, attributes)
    try:
        decoded = xarray.conventions.decode_cf_variable(
            array.path,
            variable,
            decode_times=False,
            decode_timedelta=False,
            concat_characters=False,
        )
        return np.asarray(decoded.values)
    except Exception:
        return values


def numbers(values: Values) -> Values | None:
    """Return the values as float64, or None where they are no real numbers."""
    return values.astype("<f8") if values.dtype.kind in "biuf" else None


def hide_unread(array: ArrayMeta, found: Reading, values: Values) -> None:
    """Set to NaN what no chunk was fetched for, so that a fill value is not taken for data."""
    if found.index is None:
        for index, state in found.states.items():
            if state is not State.FETCHED:
                values[region(array, index)] = np.nan


def texts(values: Values) -> tuple[str, ...]:
    """Return the first values as text."""
    first = values.reshape(-1)[:TEXTS_SHOWN]
    return tuple(escape(_text(value), _TEXT_SHOWN) for value in first)


def _text(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def thinning(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the step along each dimension that leaves at most `VALUES_SHOWN` values."""
    steps = [1] * len(shape)
    left = list(shape)
    while math.prod(left) > VALUES_SHOWN:
        axis = left.index(max(left))
        steps[axis] += 1
        left[axis] = -(-shape[axis] // steps[axis])
    return tuple(steps)
