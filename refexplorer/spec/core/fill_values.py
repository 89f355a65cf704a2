"""Fill values as metadata write them: whether a data type has such a value.

Sources: Zarr v2, "Fill value encoding"; Zarr v3, "Data types", "Permitted fill values".
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable

import numpy as np

_WORDS = frozenset({"NaN", "Infinity", "-Infinity"})
_HEX = re.compile(r"0x[0-9a-fA-F]+")


def wrong_fill_value(dtype: np.dtype[np.generic], value: object, zarr_format: int) -> str:
    """Say what a fill value must be instead, as the end of a sentence; ``""`` if it is one.

    Parameters
    ----------
    dtype
        Of the array.
    value
        As written; null, which Zarr v2 allows, is none.
    zarr_format
        2 or 3: texts of bits (``"0x7fc00000"``) are of v3, base64 is of v2.
    """
    rule = _RULES.get(dtype.kind)
    return "" if value is None or rule is None else rule(dtype, value, zarr_format)


def _integer(dtype: np.dtype[np.generic], value: object, zarr_format: int) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int):
        return "it must be an integer"
    limits = np.iinfo(dtype)  # type: ignore[type-var]
    is_inside = limits.min <= value <= limits.max
    return "" if is_inside else f"it must lie between {limits.min} and {limits.max}"


def _float(dtype: np.dtype[np.generic], value: object, zarr_format: int) -> str:
    is_text = isinstance(value, str) and (value in _WORDS or _is_bits(value, zarr_format))
    if is_text or isinstance(value, int | float):
        return ""
    return 'it must be a number, "NaN", "Infinity" or "-Infinity"'


def _is_bits(value: str, zarr_format: int) -> bool:
    return zarr_format == 3 and _HEX.fullmatch(value) is not None


def _complex(dtype: np.dtype[np.generic], value: object, zarr_format: int) -> str:
    parts = value if isinstance(value, list) else []
    if len(parts) == 2 and not any(_float(dtype, part, zarr_format) for part in parts):
        return ""
    return "it must be a list of two numbers"


def _truth(dtype: np.dtype[np.generic], value: object, zarr_format: int) -> str:
    is_truth = isinstance(value, bool) or (zarr_format == 2 and value in (0, 1))
    return "" if is_truth else "it must be true or false"


def _text(dtype: np.dtype[np.generic], value: object, zarr_format: int) -> str:
    return "" if isinstance(value, str) else "it must be text"


def _bytes(dtype: np.dtype[np.generic], value: object, zarr_format: int) -> str:
    if zarr_format == 3 and isinstance(value, list):
        return ""
    try:
        base64.b64decode(value, validate=True)  # type: ignore[arg-type]
    except (binascii.Error, ValueError, TypeError):
        return "it must be text in base64"
    return ""


def _moment(dtype: np.dtype[np.generic], value: object, zarr_format: int) -> str:
    is_moment = value == "NaT" or (isinstance(value, int) and not isinstance(value, bool))
    return "" if is_moment else 'it must be an integer or "NaT"'


_FillCheck = Callable[["np.dtype[np.generic]", object, int], str]
_RULES: dict[str, _FillCheck] = {
    "i": _integer, "u": _integer, "f": _float, "c": _complex, "b": _truth, "U": _text,
    "S": _bytes, "V": _bytes, "M": _moment, "m": _moment,
}  # fmt: skip
"""By the kind of a data type, as numpy has it; objects may have any fill value."""
