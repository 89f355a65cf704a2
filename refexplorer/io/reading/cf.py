"""Missing values, scale and offset of numbers, and times, decoded as by xarray but without it.

xarray takes half a second for its first variable (it then imports Dask and SciPy), which is longer
than fetching and decoding all chunks of a picture.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta


def decode_as_xarray(
    array: ArrayMeta,
    values: np.ndarray[Any, Any],
    fill_value: object,
    *,
    scale: bool = True,
    times: bool = True,
) -> np.ndarray[Any, Any]:
    """Return values as shown by `xarray.open_zarr`."""
    import xarray

    values = _in_stored_order(array, values)
    names = tuple(f"dim_{axis}" for axis in range(values.ndim))
    attributes = decoding_attributes(array, values.dtype, fill_value)
    decoded = xarray.conventions.decode_cf_variable(
        array.path,
        xarray.Variable(names, values, attributes),
        mask_and_scale=scale,
        decode_times=times,
        decode_timedelta=False,
        concat_characters=False,
    )
    return np.asarray(decoded.values)


def _in_stored_order(array: ArrayMeta, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return values in stored byte order, as xarray (2026.9) swaps fill values with `_Unsigned`."""
    try:
        dtype = np.dtype(array.dtype)
    except TypeError:
        return values
    is_alike = (dtype.kind, dtype.itemsize) == (values.dtype.kind, values.dtype.itemsize)
    return values.astype(dtype, copy=False) if is_alike and dtype.kind in "iufc" else values


def decoding_attributes(
    array: ArrayMeta, dtype: np.dtype[Any], fill_value: object
) -> dict[str, Any]:
    """Return the attributes that xarray uses for decoding; `_FillValue` is the value it masks."""
    from xarray.backends.zarr import FillValueCoder

    attributes = dict(array.attributes)
    if array.zarr_format == 2:
        if fill_value is not None:
            attributes["_FillValue"] = fill_value
    elif "_FillValue" in attributes:  # in base64 for floats, as xarray writes it
        attributes["_FillValue"] = FillValueCoder.decode(attributes["_FillValue"], dtype)  # type: ignore[arg-type]
    return attributes


_MASKS = ("missing_value", "_FillValue")
_SCALES = ("scale_factor", "add_offset")
_OTHER = frozenset({"_Unsigned", "dtype"})  # Attributes that need xarray
_SINCE = re.compile(
    r"(seconds|minutes|hours|days) since"
    r" (\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.0+)?)?)?Z?",
    re.ASCII,
)
_UNITS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400}
_CALENDARS = ("standard", "gregorian", "proleptic_gregorian")
_FIRST = np.datetime64("1678-01-01", "s")
_LAST = np.datetime64("2262-01-01", "s")  # Between these, all calendars here are the same


def decode_plainly(array: ArrayMeta, values: np.ndarray, fill_value: object) -> np.ndarray | None:
    """Return values as `decode_as_xarray` does without times; None if xarray is needed."""
    attributes = array.attributes
    if values.dtype.kind not in "iuf" or _OTHER & attributes.keys():
        return None
    scales = [attributes.get(name) for name in _SCALES]
    if any(name in attributes and type(attributes[name]) is not float for name in _SCALES):
        return None  # xarray chooses the result type by the type of an integer
    masks = _masks(array, values.dtype, fill_value)
    if masks is None:
        return None
    is_scaled = any(each is not None for each in scales)
    known = {each for each in masks if each == each}
    if len(known) > 1 or (masks and not known and values.dtype.kind != "f"):
        return None
    if known:
        (mask,) = known
        narrow = np.float32 if values.dtype.itemsize <= 2 else np.float64
        own = values.dtype if values.dtype.kind == "f" else narrow
        decoded = values.astype(np.float64 if is_scaled else own)
        decoded[decoded == mask] = np.nan
    elif is_scaled:
        decoded = values.astype(values.dtype if masks else np.float64)
    else:
        decoded = values
    scale, offset = scales
    if scale is not None:
        decoded *= scale
    if offset is not None:
        decoded += offset
    return decoded.astype(decoded.dtype.newbyteorder("="), copy=False)


def decode_times_plainly(
    array: ArrayMeta, values: np.ndarray, fill_value: object
) -> np.ndarray | None:
    """Return times in seconds as `decode_as_xarray` does; None if xarray is needed."""
    attributes = array.attributes
    since = _SINCE.fullmatch(str(attributes.get("units", "")).strip())
    others = _OTHER | set(_SCALES)
    is_calendar = attributes.get("calendar", "standard") in _CALENDARS
    if values.dtype.kind not in "iuf" or since is None or others & attributes.keys():
        return None
    masks = _masks(array, values.dtype, fill_value)
    if masks is None or not is_calendar or len({each for each in masks if each == each}) > 1:
        return None
    is_known = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(values.shape, bool)
    for mask in masks:
        is_known &= values != mask
    if not is_known.any():
        return None
    numbers = np.where(is_known, values, 0).astype(np.float64)
    seconds = numbers * _UNITS[since[1]]
    if not np.array_equal(numbers, np.floor(numbers)) or (np.abs(seconds) >= 2**53).any():
        return None
    try:
        parts = [each or "00" for each in since.groups()[1:]]
        begin = np.datetime64("{:0>4}-{:0>2}-{:0>2}T{:0>2}:{}:{}".format(*parts), "s")
    except ValueError:
        return None
    times = np.asarray(begin + seconds.astype("timedelta64[s]"))  # else a scalar of one time
    if begin < _FIRST or (times < _FIRST).any() or (times > _LAST).any():
        return None
    times[~is_known] = np.datetime64("NaT", "s")
    return times


def _masks(array: ArrayMeta, dtype: np.dtype[Any], fill_value: object) -> list[Any] | None:
    """Return the values that mark missing data; None if xarray has to read them."""
    found = {name: array.attributes[name] for name in _MASKS if name in array.attributes}
    if array.zarr_format == 2:
        if fill_value is not None:
            found["_FillValue"] = fill_value
    elif "_FillValue" in found and dtype.kind == "f":
        found["_FillValue"] = _unpacked(found["_FillValue"])
    masks: list[Any] = list(found.values())
    is_number = all(
        isinstance(each, int | float | np.integer | np.floating) and not isinstance(each, bool)
        for each in masks
    )
    # as in xarray: a number with a type, which matters for the comparison
    return [np.ravel(each)[0] for each in masks] if is_number else None


def _unpacked(text: object) -> object:
    """Decode the base64 that xarray writes into Zarr v3 for floats."""
    try:
        (value,) = struct.unpack("<d", base64.standard_b64decode(str(text)))
    except (binascii.Error, struct.error, ValueError):
        return None
    return value
