"""The cells of a set, decoded with numcodecs and NumPy alone, and those of its files by h5py."""

from __future__ import annotations

import base64
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numcodecs
import numpy as np

from tests.helpers.planted_sets import FILES, name_of

EPOCH = np.datetime64("2000-01-01T00")


_PACKING = (("scale_factor", 1), ("add_offset", 0))


class Cells(NamedTuple):
    """An array as xarray would show it.

    Attributes
    ----------
    values
        Unpacked, times as hours; NaN where missing.
    readable
        False where a chunk cannot be read.
    about
        Units, calendar and dimensions.
    """

    values: np.ndarray
    readable: np.ndarray
    about: tuple[str, ...]


def cells_of_set(refs: Mapping[str, Any], folder: Path) -> dict[str, Cells]:
    """Return the cells of all arrays of a set in Zarr v2, references as V0 has them.

    Consolidated metadata count, as they do for xarray.
    """
    if ".zmetadata" in refs:
        metadata = json.loads(refs[".zmetadata"])["metadata"]
        refs = {**refs, **{key: json.dumps(value) for key, value in metadata.items()}}
    names = [key.removesuffix("/.zarray") for key in refs if key.endswith("/.zarray")]
    return {name: _array(refs, name, folder) for name in names}


def cells_of_files(folder: Path) -> dict[str, Cells]:
    """Return what the files say that `planted_sets` writes, joined in time.

    The part of a file that is gone or damaged cannot be read.
    """
    parts = [_file(folder / name_of(number)) for number in range(FILES)]
    whole = next(part for part in parts if part)
    return {
        name: _joined(name, [part.get(name) for part in parts]) for name in whole if name != "extra"
    }


def _file(path: Path) -> dict[str, Cells]:
    try:
        with h5py.File(path) as file:
            return {name: _dataset(data) for name, data in file.items()}
    except OSError:
        return {}


def _dataset(data: h5py.Dataset) -> Cells:
    scales = [data.dims[axis] for axis in range(data.ndim)]
    dimensions = [scale[0].name[1:] if len(scale) else data.name[1:] for scale in scales]
    attributes = dict(data.attrs)
    values = _shown(data[...], attributes)
    return Cells(values, np.full(data.shape, True), _about(attributes, dimensions))


def _joined(name: str, parts: list[Cells | None]) -> Cells:
    usual = next(part for part in parts if part)
    if name in ("lat", "lon"):
        return usual
    lost = Cells(usual.values * np.nan, ~usual.readable, usual.about)
    found = [part or lost for part in parts]
    values = np.concatenate([part.values for part in found])
    return Cells(values, np.concatenate([part.readable for part in found]), usual.about)


def right(mine: Cells | None, theirs: Cells) -> np.ndarray:
    """Say of each cell of the files whether a set has it; it may be longer or shorter."""
    found = np.full(theirs.values.shape, False)
    if mine is None or mine.about != theirs.about or mine.values.ndim != found.ndim:
        return found
    both = tuple(map(slice, map(min, mine.values.shape, found.shape)))
    equal = np.isclose(mine.values[both], theirs.values[both], 1e-12, 0, equal_nan=True)
    found[both] = equal & mine.readable[both] & theirs.readable[both]
    return found


def inlined(refs: dict[str, Any], keys: list[str], folder: Path) -> None:
    """Put chunks into the set as the bytes that are referenced, where the file has them."""
    for key in keys:
        ref = refs[key]
        data = None if isinstance(ref, str) else _bytes(ref, folder)
        if data:
            refs[key] = "base64:" + base64.b64encode(data).decode()


def _array(refs: Mapping[str, Any], name: str, folder: Path) -> Cells:
    how = json.loads(refs[f"{name}/.zarray"])
    attributes = json.loads(refs.get(f"{name}/.zattrs", "{}"))
    dtype, shape, chunks = np.dtype(how["dtype"]), how["shape"], how["chunks"]
    fill = how["fill_value"]
    values = np.full(shape, 0 if fill is None else np.array(fill).astype(dtype), dtype)
    readable = np.full(shape, True)
    for place, box in _boxes(shape, chunks):
        key = f"{name}/{'.'.join(map(str, place)) or '0'}"
        if key in refs:
            try:
                chunk = _chunk(refs[key], how, folder)
            except Exception:  # whatever a codec says of bytes that are none of its own
                readable[box] = False
            else:
                values[box] = chunk[tuple(slice(0, each.stop - each.start) for each in box)]
    attributes.setdefault("_FillValue", fill)
    dimensions = attributes.get("_ARRAY_DIMENSIONS", [])
    return Cells(_shown(values, attributes), readable, _about(attributes, dimensions))


def _boxes(shape: list[int], chunks: list[int]) -> Iterator[tuple[Any, tuple[slice, ...]]]:
    counts = [-(-size // chunk) for size, chunk in zip(shape, chunks, strict=True)]
    for place in itertools.product(*map(range, counts)):
        starts = [n * chunk for n, chunk in zip(place, chunks, strict=True)]
        ends = [min(s + c, size) for s, c, size in zip(starts, chunks, shape, strict=True)]
        yield place, tuple(map(slice, starts, ends))


def _chunk(ref: str | list[Any], how: dict[str, Any], folder: Path) -> np.ndarray:
    data: Any = _bytes(ref, folder)
    compressor = [how["compressor"]] if how["compressor"] else []
    for filter_ in reversed([*(how["filters"] or []), *compressor]):
        data = numcodecs.get_codec(filter_).decode(data)
    chunk: np.ndarray = np.frombuffer(data, how["dtype"]).reshape(how["chunks"], order=how["order"])
    return chunk


def _bytes(ref: str | list[Any], folder: Path) -> bytes:
    if isinstance(ref, str):
        return base64.b64decode(ref[7:]) if ref.startswith("base64:") else ref.encode()
    data: bytes
    try:
        data = (folder / ref[0]).read_bytes()
    except OSError:
        return b""
    return data[ref[1] : ref[1] + ref[2]] if len(ref) > 1 else data


def _shown(stored: np.ndarray, attributes: dict[str, Any]) -> np.ndarray:
    if attributes.get("_Unsigned") == "true":
        stored = stored.view(stored.dtype.str.replace("i", "u"))
    missing = [attributes.get("_FillValue"), attributes.get("missing_value")]
    values = stored.astype("f8")
    for value in missing:
        values[stored == value] = np.nan
    scale, offset = (float(attributes.get(*each)) for each in _PACKING)
    values = values * scale + offset
    if since := re.match(r"(days|hours) since ([-\d]+)", attributes.get("units", "")):
        hours = float((np.datetime64(since[2], "h") - EPOCH) / np.timedelta64(1, "h"))
        values = values * (24 if since[1] == "days" else 1) + hours
    return values


def _about(attributes: dict[str, Any], dimensions: list[str]) -> tuple[str, ...]:
    units = attributes.get("units", "")
    return "time" if "since" in units else units, attributes.get("calendar", ""), *dimensions
