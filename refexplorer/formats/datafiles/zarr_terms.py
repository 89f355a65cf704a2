"""Arrays of data files in terms of Zarr v2 metadata."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from refexplorer.formats.datafiles.data_file import FileArray, Unread

_MADE_UP = "phony_dim_"
_AXES = ("z", "y", "x")


def dimension_names(arrays: Mapping[str, FileArray]) -> dict[str, list[str]]:
    """Return the names of all dimensions; unnamed ones are numbered as by netCDF4."""
    # To an unnamed axis, netCDF4 assigns a dimension of the group with the same length, equally
    # unlimited or not, that the array does not use yet; else ``phony_dim_N``. N counts all
    # dimensions of the file: named ones first, then those of subgroups before those of their parent
    # group.
    groups = dict[str, list[FileArray]]()
    for name, array in arrays.items():
        groups.setdefault(name.rpartition("/")[0], []).append(array)
    known = {path: _named(members) for path, members in groups.items()}
    count = sum(map(len, known.values()))
    found = dict[str, list[str]]()
    # a group comes after its subgroups
    for path in sorted(groups, key=lambda path: [*path.split("/"), _LAST] if path else [_LAST]):
        for array in groups[path]:
            names: list[str] = []
            for axis, length in enumerate(array.shape):
                name = array.dimensions[axis] if array.dimensions else _MADE_UP
                if name.startswith(_MADE_UP):
                    kind = length, axis in array.unlimited
                    free = (each for each, known_kind in known[path].items() if known_kind == kind)
                    name = next((each for each in free if each not in names), "")
                    if not name:
                        name, count = f"{_MADE_UP}{count}", count + 1
                        known[path][name] = kind
                names.append(name)
            found[array.name] = names
    return {name: found[name] for name in arrays}


def at_full_length(arrays: Mapping[str, FileArray], names: Iterable[str]) -> dict[str, FileArray]:
    """Return arrays with full shapes: netCDF4 makes all along a dimension equally long."""
    known, longest = set(names), dict[str, int]()
    scales = {name: tuple(_scales(array, known)) for name, array in arrays.items()}
    for name, array in arrays.items():
        for scale, length in zip(scales[name], array.shape, strict=False):
            longest[scale] = max(longest.get(scale, 0), length)
    found = dict(arrays)
    for name, array in arrays.items():
        shape = list(array.shape)
        for axis in array.unlimited:
            if scales[name] and scales[name][axis]:
                shape[axis] = longest[scales[name][axis]]
        found[name] = replace(array, shape=tuple(shape))
    return found


def _scales(array: FileArray, known: set[str]) -> Iterator[str]:
    """Yield the object that names each dimension, in the array's group or one above it."""
    for name in array.dimensions or ():
        group, found = array.name.rpartition("/")[0], ""
        while not found:
            path = f"{group}/{name}" if group else name
            if path in known:
                found = path
            elif not group:
                break
            group = group.rpartition("/")[0]
        yield found


_LAST = chr(0x10FFFF)


def _named(arrays: Sequence[FileArray]) -> dict[str, tuple[int, bool]]:
    """Return the lengths of the dimensions named by arrays, and whether they are unlimited."""
    return {
        name: (length, axis in array.unlimited)
        for array in arrays
        for axis, (name, length) in enumerate(
            zip(array.dimensions or (), array.shape, strict=False)
        )
        if not name.startswith(_MADE_UP)
    }


def axis_names(arrays: Mapping[str, FileArray]) -> dict[str, list[str]]:
    """Return the axes of FITS as named by kerchunk, with the array's name if shapes differ."""
    is_alike = len({array.shape for array in arrays.values()}) == 1
    found = {}
    for name, array in arrays.items():
        rank = len(array.shape)
        axes = [f"axis{rank - n}" for n in range(rank - len(_AXES))]
        axes += _AXES[max(len(_AXES) - rank, 0) :]
        found[name] = axes if is_alike else [f"{name}_{each}" for each in axes]
    return found


def array_documents(
    name: str,
    shape: Sequence[int],
    chunks: Sequence[int],
    kind: Any,
    filters: list[dict[str, Any]],
    dimensions: Sequence[str],
    attributes: Mapping[str, Any],
) -> dict[str, str]:
    """Return the documents of an array that has all of its chunks."""
    array = FileArray(name, tuple(shape), tuple(chunks), np.dtype(kind), None, None, None, {})
    found = dict(attributes) | {"_ARRAY_DIMENSIONS": list(dimensions)}
    metadata = array_metadata(array, kind, tuple(chunks), filters, None)
    return {f"{name}/.zarray": json_text(metadata), f"{name}/.zattrs": json_text(found)}


def array_metadata(
    array: FileArray, kind: Any, chunks: tuple[int, ...], filters: list[dict[str, Any]], fill: Any
) -> dict[str, Any]:
    """Return the contents of ``.zarray``."""
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
    """Return a data type in the format of ``.zarray``."""

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
    """Return the number of chunks along each axis."""
    pairs = zip(array.shape, array.chunks, strict=True)
    return tuple(-(-size // max(chunk, 1)) for size, chunk in pairs)


def declared_fill(array: FileArray) -> Any:
    """Return the missing value declared in the file, if it fits the data type."""
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
    """Return whether two fill values are equal; NaN equals itself."""
    if one is None or other is None:
        return one is other
    try:
        return bool(one == other) or bool(np.isnan(one) and np.isnan(other))
    except TypeError:
        return False


def json_fill(dtype: np.dtype[Any], value: Any) -> Any:
    """Return a fill value in the format of ``.zarray``."""
    if value is None:
        return None
    if dtype.kind in "SV":
        return base64.standard_b64encode(np.array(value, dtype).tobytes()).decode()
    if dtype.kind == "c":
        return [json_fill(np.dtype("f8"), part) for part in (value.real, value.imag)]
    if dtype.kind == "f" and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def base64_text(data: bytes) -> str:
    """Return bytes as an inline reference."""
    return "base64:" + base64.b64encode(data).decode()


def index_text(index: Sequence[int]) -> str:
    """Return the last part of a chunk key."""
    return ".".join(map(str, index)) or "0"


def json_text(value: Mapping[str, Any]) -> str:
    """Return a document as compact JSON."""
    return json.dumps(value, separators=(",", ":"))
