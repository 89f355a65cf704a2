"""The size of an element of a Zarr data type, in bytes.

Sources: Zarr v2 and Zarr v3 storage specifications; the v3 data types that are objects are those
of the registry of Zarr extensions.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

FIELDS_OF_DTYPE = 1_000
STRUCTURED = "structured"
# numpy holds text as UTF-32
_CODE_POINT = 4
_TIMES = frozenset({"numpy.datetime64", "numpy.timedelta64"})
_UNITS = {"fixed_length_utf32": _CODE_POINT, "null_terminated_bytes": 1, "raw_bytes": 1}
"""Data types of Zarr v3 that say their own length, and what it is a multiple of, in bytes."""


def itemsize(dtype: object) -> int | None:
    """Return the bytes of an element, None where they vary or the data type is not known.

    Parameters
    ----------
    dtype
        ``dtype`` of a ``.zarray``, or ``data_type`` of a ``zarr.json``, as written.
    """
    if isinstance(dtype, Mapping):
        return _of_object(dtype)
    if isinstance(dtype, list):
        if len(dtype) > FIELDS_OF_DTYPE:
            return None
        dtype = [tuple(field) if isinstance(field, list) else field for field in dtype]
    try:
        size = np.dtype(dtype).itemsize  # type: ignore[call-overload]
    except (TypeError, ValueError):
        return None
    return int(size) or None


def _of_object(dtype: Mapping[str, object]) -> int | None:
    """Add up the fields, however deep they lie, of a data type of Zarr v3."""
    waiting: list[object] = [dtype]
    total = 0
    for each in waiting:
        if isinstance(each, Mapping) and each.get("name") == STRUCTURED:
            waiting += _fields(each)
            size: int | None = 0
        else:
            size = _of_field(each)
        if size is None or len(waiting) > FIELDS_OF_DTYPE:
            return None
        total += size
    return total or None


def _fields(dtype: Mapping[str, object]) -> list[object]:
    """Return the data types of the fields; None stands for one that is not understood."""
    fields = _configuration(dtype).get("fields")
    if not isinstance(fields, list):
        return [None]
    return [field[1] if isinstance(field, list) and len(field) == 2 else None for field in fields]


def _of_field(dtype: object) -> int | None:
    if isinstance(dtype, str):
        return itemsize(dtype)
    if not isinstance(dtype, Mapping):
        return None
    name = str(dtype.get("name"))
    if name in _TIMES:
        return 8
    length = _configuration(dtype).get("length_bytes")
    if name not in _UNITS or type(length) is not int or length < 1:
        return None
    return length - length % _UNITS[name] or None


def _configuration(dtype: Mapping[str, object]) -> Mapping[str, object]:
    found = dtype.get("configuration")
    return found if isinstance(found, Mapping) else {}
