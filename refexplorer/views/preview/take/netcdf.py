"""A part of an array as a NetCDF file: the values as they are stored, attributes, coordinates."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.errors import LimitError, RefexplorerError
from refexplorer.io.decode.chunk_shapes import place_count
from refexplorer.io.reading.chunks import ArrayValues
from refexplorer.io.reading.readings import ChunkState, Reading
from refexplorer.markup import counted, size_text
from refexplorer.views.preview.coordinates import sides_of
from refexplorer.views.preview.libraries import load_xarray
from refexplorer.views.preview.region_reader import DecodedChunks
from refexplorer.views.preview.regions import Region, names_of
from refexplorer.views.wire.jobs import JobReport

if TYPE_CHECKING:
    import xarray

    from refexplorer.referenceset import ReferenceSet
    from refexplorer.spec.zarr_metadata import ArrayMeta

_WRITERS = {"h5netcdf": "h5netcdf", "netCDF4": "netcdf4", "scipy": "scipy"}
"""Modules that write NetCDF, and xarray's names of them; the last writes version 3 alone."""
_RESERVED = frozenset(
    {"_ARRAY_DIMENSIONS", "_FillValue", "_NCProperties", "_Netcdf4Dimid", "_nc3_strict",
     "_Netcdf4Coordinates", "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST"}
)  # fmt: skip
"""Attributes that a writer sets itself."""


def netcdf(
    refs: ReferenceSet, array: ArrayMeta, places: Region, chunks: DecodedChunks, report: JobReport
) -> bytes:
    """Return a NetCDF file of a part of an array, with the coordinates of its dimensions.

    Values are neither scaled nor masked: the attributes that say how stay with them.
    """
    engine = next((name for module, name in _WRITERS.items() if find_spec(module)), None)
    if engine is None:
        raise RefexplorerError(
            "Nothing is installed that writes NetCDF: install h5netcdf, or save CSV or npy."
        )
    require_size(refs, array, places)
    load_xarray()
    import xarray

    name = array.path.rpartition("/")[2] or "values"
    variables = {name: _variable(array, places, read_all(array, places, chunks, report))}
    for side, part in zip(sides_of(refs, array), places, strict=False):
        if side is not None:
            own = side.path.rpartition("/")[2]
            found = read_all(side, (part,), chunks, report)
            variables[own] = _variable(side, (part,), found)
    dataset = xarray.Dataset(variables, attrs=_plain(_group_attributes(refs, array)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part.nc"
        try:
            dataset.to_netcdf(path, engine=engine)  # type: ignore[call-overload]
        except (TypeError, ValueError) as error:
            raise RefexplorerError(
                f"NetCDF cannot hold {array.path or 'the root array'} of the type {array.dtype}: "
                f"{error}"
            ) from error
        return path.read_bytes()


def require_size(refs: ReferenceSet, array: ArrayMeta, places: Region) -> None:
    """Refuse a part of more bytes than one read may take."""
    size = math.prod(map(place_count, places)) * (array.itemsize or 1)
    if size > refs.limits.fetch_bytes:
        raise LimitError(
            f"This part has {size_text(size)}, more than the {size_text(refs.limits.fetch_bytes)} "
            "that are read at once (limits: fetch_bytes): choose a smaller part."
        )


def read_all(array: ArrayMeta, places: Region, chunks: DecodedChunks, report: JobReport) -> Reading:
    """Read a part whose chunks all can be read."""
    found = chunks.read(array, places, report)
    lost = found.count(ChunkState.FAILED)
    if found.values is None or lost:
        raise RefexplorerError(
            f"{counted(lost, 'chunk')} of {array.path or 'the root array'} failed, and a file of "
            "values cannot say so: choose a part without them."
        )
    return found


def _variable(array: ArrayMeta, places: Region, found: Reading) -> xarray.Variable:
    import xarray

    values = _writable(array, np.asarray(found.values))
    attributes = _plain({k: v for k, v in array.attributes.items() if k not in _RESERVED})
    fill = array.attributes.get("_FillValue") if array.zarr_format == 3 else found.fill
    encoding: dict[str, Any] = {"_FillValue": None}
    if values.dtype.kind in "iuf" and isinstance(fill, int | float | np.integer | np.floating):
        encoding["_FillValue"] = values.dtype.type(fill)
    return xarray.Variable(names_of(array), values, attributes, encoding)


def _writable(array: ArrayMeta, values: ArrayValues) -> ArrayValues:
    """Return values of a type that NetCDF has."""
    if values.dtype.kind == "b":
        return values.astype("i1")
    if values.dtype == np.float16:
        return values.astype("f4")
    if values.dtype.kind in "iufSU":
        return values.astype(values.dtype.newbyteorder("="), copy=False)
    raise RefexplorerError(
        f"NetCDF has no type for {array.dtype} of {array.path or 'the root array'}: save CSV or "
        "npy."
    )


def _group_attributes(refs: ReferenceSet, array: ArrayMeta) -> Mapping[str, Any]:
    folder = array.path.rpartition("/")[0]
    for name in (".zattrs", "zarr.json"):
        reference = refs.get(f"{folder}/{name}".lstrip("/"))
        data = getattr(reference, "data", None)
        try:
            found = {} if data is None else json.loads(data)
        except ValueError:
            continue
        if isinstance(found, dict):
            found = found.get("attributes", {}) if name == "zarr.json" else found
            if found and isinstance(found, dict):
                return {key: each for key, each in found.items() if key not in _RESERVED}
    return {}


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes in the types of NetCDF; what it has none for is written as JSON."""
    return {name: _attribute(value) for name, value in attributes.items()}


def _attribute(value: object) -> object:
    if isinstance(value, str | float) or type(value) is int:
        return value
    if isinstance(value, list) and value:
        kinds = {type(each) for each in value}
        if kinds <= {int, float} or kinds == {str}:
            return value
    return json.dumps(value)
