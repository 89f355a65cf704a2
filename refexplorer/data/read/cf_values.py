"""Values as xarray decodes them by the CF conventions: missing values, scale and offset, times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from refexplorer.spec.core.zarr_metadata import ArrayMeta


def decode_as_xarray(
    array: ArrayMeta,
    values: np.ndarray[Any, Any],
    fill_value: object,
    *,
    scale: bool = True,
    times: bool = True,
) -> np.ndarray[Any, Any]:
    """Return values as `xarray.open_zarr` shows them.

    Parameters
    ----------
    values
        As Zarr gives them, of any shape.
    fill_value
        Of the array, as Zarr gives it. xarray takes it for `_FillValue` in Zarr v2, whatever the
        attribute of this name says; in Zarr v3 it has no such meaning.
    scale
        Whether missing values are masked, and scale and offset applied.
    times
        Whether times are decoded.

    Raises
    ------
    Exception
        What xarray raises of attributes that do not fit.
    """
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
    """Return values in the byte order that Zarr gives them to xarray in.

    Of big-endian integers with `_Unsigned` xarray (2026.9) swaps the bytes of the fill value.
    """
    try:
        dtype = np.dtype(array.dtype)
    except TypeError:
        return values
    is_alike = (dtype.kind, dtype.itemsize) == (values.dtype.kind, values.dtype.itemsize)
    return values.astype(dtype, copy=False) if is_alike and dtype.kind in "iufc" else values


def decoding_attributes(
    array: ArrayMeta, dtype: np.dtype[Any], fill_value: object
) -> dict[str, Any]:
    """Return the attributes that xarray decodes by; `_FillValue` is what it masks.

    Parameters are those of `decode_as_xarray`, `dtype` is that of the values.
    """
    from xarray.backends.zarr import FillValueCoder

    attributes = dict(array.attributes)
    if array.zarr_format == 2:
        if fill_value is not None:
            attributes["_FillValue"] = fill_value
    elif "_FillValue" in attributes:  # in base64 for floats, as xarray writes it
        attributes["_FillValue"] = FillValueCoder.decode(attributes["_FillValue"], dtype)  # type: ignore[arg-type]
    return attributes
