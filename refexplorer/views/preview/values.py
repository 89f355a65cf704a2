"""From decoded values to what a picture shows: CF decoding, numbers or texts, thinning."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.data.read.array_decoder import ArrayValues
from refexplorer.data.read.cf_values import decode_as_xarray
from refexplorer.data.read.plain_cf import decode_plainly, decode_times_plainly
from refexplorer.data.read.readings import Reading
from refexplorer.markup import escape
from refexplorer.views.preview.libraries import load_xarray

if TYPE_CHECKING:
    from refexplorer.spec.core.zarr_metadata import ArrayMeta

VALUES_SHOWN = 1_000_000
"""Each is eight bytes on the wire, and few screens have more points; more are thinned."""
TEXTS_SHOWN = 1_000
_TEXT_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Decoding:
    """What is shown of values.

    Attributes
    ----------
    scale, times
        Of the CF conventions: scale, offset and missing values; times.
    field
        Of structured values; None for the first that has numbers, ``""`` for all as text.
    """

    scale: bool = True
    times: bool = True
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Physical:
    """Values with a meaning.

    Attributes
    ----------
    decoded
        As xarray decodes them.
    numbers
        The same as float64, times as milliseconds since 1970, of complex numbers the magnitude;
        None where they are no numbers.
    times
        Whether they are times.
    """

    decoded: ArrayValues
    numbers: ArrayValues | None
    times: bool = False


def physical(array: ArrayMeta, found: Reading, decoding: Decoding) -> Physical:
    """Apply what the attributes say of scale, offset, missing values and times.

    Attributes that do not fit are left aside, as is a fill value of Zarr format 3, which is no
    missing value there. Times of a calendar that numpy does not know stay numbers.
    """
    values = np.asarray(found.values)
    if decoding.times and "since" in str(array.attributes.get("units", "")):
        decoded = _decoded(array, found, values, decoding)
        if decoded.dtype.kind == "M":
            stamps = decoded.astype("datetime64[ms]")
            numbers = np.where(np.isnat(stamps), np.nan, stamps.astype("<f8"))
            return Physical(decoded, numbers, times=True)
    decoded = _decoded(array, found, values, Decoding(decoding.scale, times=False))
    if values.dtype.kind == "b" and decoded.dtype.kind == "O":
        # masked, they are objects to xarray: true, false and NaN
        return Physical(decoded, np.where(np.equal(decoded, values).astype(bool), values, np.nan))
    if decoded.dtype.kind == "c":
        return Physical(decoded, np.abs(decoded).astype("<f8"))
    return Physical(decoded, decoded.astype("<f8") if decoded.dtype.kind in "biuf" else None)


def _decoded(
    array: ArrayMeta, found: Reading, values: ArrayValues, decoding: Decoding
) -> ArrayValues:
    """Decode as xarray does, and ask it where that is not certain: it takes long to load."""
    if not decoding.scale:
        plain = None if decoding.times else values
    elif decoding.times:
        plain = decode_times_plainly(array, values, found.fill)
    else:
        plain = decode_plainly(array, values, found.fill)
    if plain is not None:
        return plain
    load_xarray()
    try:
        return decode_as_xarray(
            array, values, found.fill, scale=decoding.scale, times=decoding.times
        )
    except Exception:
        return values


def fields_of(values: ArrayValues) -> tuple[str, ...]:
    """Return the fields of structured values that have one value each."""
    fields = values.dtype.fields or {}
    return tuple(name for name, (dtype, *_) in fields.items() if not dtype.shape)


def field_of(values: ArrayValues, wanted: str | None) -> str | None:
    """Return the field of structured values that is shown; None for all of them."""
    fields = fields_of(values)
    if wanted is None:
        return next((each for each in fields if values.dtype[each].kind in "biuf"), None)
    return wanted if wanted in fields else None


def texts(values: ArrayValues) -> tuple[str, ...]:
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
