"""Arrays of data files in the words of Zarr's metadata, version 2."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from refexplorer.formats.datafiles.data_file import FileArray, Unread


def array_documents(
    name: str,
    shape: Sequence[int],
    chunks: Sequence[int],
    kind: Any,
    filters: list[dict[str, Any]],
    dimensions: Sequence[str],
    attributes: Mapping[str, Any],
) -> dict[str, str]:
    """Return the documents of an array whose chunks are all there."""
    array = FileArray(name, tuple(shape), tuple(chunks), np.dtype(kind), None, None, None, {})
    found = dict(attributes) | {"_ARRAY_DIMENSIONS": list(dimensions)}
    metadata = array_metadata(array, kind, tuple(chunks), filters, None)
    return {f"{name}/.zarray": json_text(metadata), f"{name}/.zattrs": json_text(found)}


def array_metadata(
    array: FileArray,
    kind: Any,
    chunks: tuple[int, ...],
    filters: list[dict[str, Any]],
    fill: Any,
) -> dict[str, Any]:
    """Return what ``.zarray`` holds."""
    return {
        "zarr_format": 2,
        "shape": array.shape,
        "chunks": [max(size, 1) for size in chunks],
        "dtype": kind,
        "fill_value": fill,
        "order": array.order,
        "filters": filters or None,
        "compressor": None,
        "dimension_separator": ".",
    }


def kind_of(array: FileArray) -> Any:
    """Return a data type as ``.zarray`` has it."""

    def fields(dtype: np.dtype[Any]) -> Any:
        if dtype.subdtype is not None:
            words = "It has a field of several values, which Zarr has no data type for."
            raise Unread("expression", words)
        if dtype.fields is None:
            return dtype.str
        if (
            dtype.names is None
            or sum(dtype[name].itemsize for name in dtype.names) != dtype.itemsize
        ):
            words = "Its records have bytes between the fields, which Zarr has no data type for."
            raise Unread("expression", words)
        if any(dtype[name].names for name in dtype.names):
            raise Unread("expression", "Its records have records in them, which Zarr cannot read.")
        return [[name, fields(dtype[name])] for name in dtype.names]

    return fields(array.dtype)


def grid_of(array: FileArray) -> tuple[int, ...]:
    """Return how many chunks there are along each axis."""
    pairs = zip(array.shape, array.chunks, strict=True)
    return tuple(-(-size // max(chunk, 1)) for size, chunk in pairs)


def declared_fill(array: FileArray) -> Any:
    """Return the missing value that the file declares, if it is one of the data type."""
    value = array.attributes.get("_FillValue")
    if value is None or array.dtype.kind not in "biufcS":
        return None
    try:
        found = np.array(value.encode() if isinstance(value, str) else value, array.dtype)
    except (ValueError, TypeError, OverflowError):
        return None
    is_number = array.dtype.kind in "biuf"
    return (
        found.item()
        if found.shape == () and (not is_number or is_same_value(value, found))
        else None
    )


def is_same_value(one: Any, other: Any) -> bool:
    """Say whether two fill values are equal; NaN equals itself."""
    if one is None or other is None:
        return one is other
    try:
        return bool(one == other) or bool(np.isnan(one) and np.isnan(other))
    except TypeError:
        return False


def json_fill(dtype: np.dtype[Any], value: Any) -> Any:
    """Return a fill value as ``.zarray`` has it."""
    if value is None:
        return None
    if dtype.kind in "SV":
        return base64.standard_b64encode(np.array(value, dtype).tobytes()).decode()
    if dtype.kind == "c":
        return [json_fill(np.dtype("f8"), part) for part in (value.real, value.imag)]
    if dtype.kind == "f" and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def inline_text(values: np.ndarray) -> str:
    """Return values as a reference that holds them."""
    return base64_text(values.tobytes())


def base64_text(data: bytes) -> str:
    """Return bytes as an inline reference."""
    return "base64:" + base64.b64encode(data).decode()


def index_text(index: Sequence[int]) -> str:
    """Return the last part of the key of a chunk."""
    return ".".join(map(str, index)) or "0"


def json_text(value: Mapping[str, Any]) -> str:
    """Return a document as compact JSON."""
    return json.dumps(value, separators=(",", ":"))
