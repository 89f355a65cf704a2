"""A selection of an array as a NetCDF file: stored values, attributes, coordinates."""

from __future__ import annotations

import csv
import io
import json
import math
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.core.text import counted, size_text
from refexplorer.io.decode.sizes import place_count
from refexplorer.io.reading.chunks import ArrayValues
from refexplorer.io.reading.readings import ChunkState, Reading
from refexplorer.refset.conventions import group_attributes
from refexplorer.refset.opened_set import internals
from refexplorer.views.preview.axes import coordinate_texts, sides_of
from refexplorer.views.preview.regions import Region, names_of
from refexplorer.views.preview.values import (
    DecodedChunks,
    Decoding,
    hidden,
    load_xarray,
    shown_of,
    value_text,
)
from refexplorer.views.wire.jobs import JobReport

if TYPE_CHECKING:
    import xarray

    from refexplorer.spec.zarr_metadata import ArrayMeta
    from refexplorer.verbs.referenceset import ReferenceSet

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
    """Return a NetCDF file of a selection and its coordinates, as stored, with attributes."""
    engine = next((name for module, name in _WRITERS.items() if find_spec(module)), None)
    if engine is None:
        raise RefexplorerError(
            "No package that writes NetCDF is installed: install h5netcdf, or save as CSV or npy."
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
    group = group_attributes(internals(refs).opened.table, array.path.rpartition("/")[0])
    dataset = xarray.Dataset(variables, attrs=_plain(group))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part.nc"
        try:
            dataset.to_netcdf(path, engine=engine)  # type: ignore[call-overload]
        except (TypeError, ValueError) as error:
            raise RefexplorerError(
                f"NetCDF cannot store {array.path or 'the root array'} of the type {array.dtype}: "
                f"{error}"
            ) from error
        return path.read_bytes()


def require_size(refs: ReferenceSet, array: ArrayMeta, places: Region) -> None:
    """Reject a selection of more bytes than one read may take."""
    size = math.prod(map(place_count, places)) * (array.itemsize or 1)
    if size > refs.limits.fetch_bytes:
        raise LimitError(
            f"This part has {size_text(size)}, more than the {size_text(refs.limits.fetch_bytes)} "
            "that can be read at once (`Limits.fetch_bytes`): choose a smaller part."
        )


def read_all(array: ArrayMeta, places: Region, chunks: DecodedChunks, report: JobReport) -> Reading:
    """Read a selection, all of whose chunks can be read."""
    found = chunks.read(array, places, report)
    lost = found.count(ChunkState.FAILED)
    if found.values is None or lost:
        raise RefexplorerError(
            f"{counted(lost, 'chunk')} of {array.path or 'the root array'} failed, and this file "
            f"format cannot mark them: choose a part without them."
        )
    return found


def _variable(array: ArrayMeta, places: Region, found: Reading) -> xarray.Variable:
    import xarray

    values = _writable(array, np.asarray(found.values))
    attributes = _plain(array.attributes)
    fill = array.attributes.get("_FillValue") if array.zarr_format == 3 else found.fill
    encoding: dict[str, Any] = {"_FillValue": None}
    if values.dtype.kind in "iuf" and isinstance(fill, int | float | np.integer | np.floating):
        encoding["_FillValue"] = values.dtype.type(fill)
    return xarray.Variable(names_of(array), values, attributes, encoding)


def _writable(array: ArrayMeta, values: ArrayValues) -> ArrayValues:
    """Return values of a type supported by NetCDF."""
    if values.dtype.kind == "b":
        return values.astype("i1")
    if values.dtype == np.float16:
        return values.astype("f4")
    if values.dtype.kind in "iufSU":
        return values.astype(values.dtype.newbyteorder("="), copy=False)
    raise RefexplorerError(
        f"NetCDF has no type for {array.dtype} of {array.path or 'the root array'}: save as CSV or "
        f"npy."
    )


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes in NetCDF types; unsupported ones are written as JSON."""
    return {name: _attribute(each) for name, each in attributes.items() if name not in _RESERVED}


def _attribute(value: object) -> object:
    if isinstance(value, str | float) or type(value) is int:
        return value
    if isinstance(value, list) and value:
        kinds = {type(each) for each in value}
        if kinds <= {int, float} or kinds == {str}:
            return value
    return json.dumps(value)


_MOST = 2_000_000
"""Cells of a table: each takes some microseconds, and few programs open larger ones."""


@dataclass(frozen=True)
class Cells:
    """The cells of a line or a table."""

    _refs: ReferenceSet
    _array: ArrayMeta
    _places: Region
    _axes: tuple[int, ...]
    _decoding: Decoding

    def __post_init__(self) -> None:
        axes, places = self._axes, self._places
        long = {axis for axis, part in enumerate(places) if place_count(part) != 1}
        is_each_once = len(set(axes)) == len(axes) and set(axes) <= set(range(len(places)))
        if not is_each_once or not long <= set(axes):
            raise RefexplorerError(
                f"{list(axes)} are not the dimensions of this part of {self._array.path}: choose "
                "one position along every other dimension."
            )
        require_size(self._refs, self._array, places)

    def npy(self, chunks: DecodedChunks, report: JobReport) -> bytes:
        """Return a NumPy file: floats without a reference are NaN, all else as stored."""
        values, is_hidden, _ = self._values(chunks, report)
        if values.dtype.hasobject:
            raise RefexplorerError(
                f"{self._array.path or 'The root array'} has values of variable size, which npy "
                f"cannot store: save as CSV."
            )
        if values.dtype.kind in "fc" and is_hidden.any():
            values = np.where(is_hidden, values.dtype.type(np.nan), values)
        data = io.BytesIO()
        np.save(data, np.asarray(values, order="C"), allow_pickle=False)
        return data.getvalue()

    def csv(self, chunks: DecodedChunks, report: JobReport) -> bytes:
        """Return a table with the positions along each side; missing values are empty."""
        count = math.prod(map(place_count, self._places))
        if count > _MOST:
            raise LimitError(
                f"This part has {count:,} values, more than the {_MOST:,} of a table: choose a "
                f"smaller part, or save as npy or NetCDF."
            )
        if len(self._axes) > 2:
            raise RefexplorerError("A table has two dimensions: save it as npy or NetCDF instead.")
        values, is_hidden, is_missing = self._values(chunks, report)
        is_empty = is_hidden | is_missing
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerows(self._rows(np.atleast_2d(values), np.atleast_2d(is_empty), chunks))
        return text.getvalue().encode("utf-8", "backslashreplace")

    def _values(self, chunks: DecodedChunks, report: JobReport) -> tuple[ArrayValues, ...]:
        """Return the values along the axes, where they have no reference, and are missing."""
        found = read_all(self._array, self._places, chunks, report)
        meant, _ = shown_of(self._array, found, self._decoding)
        others = [axis for axis in range(len(self._places)) if axis not in self._axes]
        shape = [place_count(self._places[axis]) for axis in self._axes]
        lost = np.zeros(np.asarray(found.values).shape, np.bool_)
        if found.state is not ChunkState.FILL:
            lost = hidden(self._array, self._places, found.states)
        missing = np.zeros_like(lost) if meant.numbers is None else np.isnan(meant.numbers)
        parts = (np.asarray(meant.decoded), lost, missing)
        return tuple(np.transpose(each, [*others, *self._axes]).reshape(shape) for each in parts)

    def _rows(
        self, values: ArrayValues, is_empty: ArrayValues, chunks: DecodedChunks
    ) -> Iterator[list[str]]:
        array = self._array
        units = array.attributes.get("units")
        name = array.attributes.get("long_name", array.path.rpartition("/")[2])
        is_time = values.dtype.kind in "Mm"
        words = [str(name), str(units) if isinstance(units, str) and not is_time else ""]
        yield [f"# {'; '.join(filter(None, words))}"]
        names = names_of(array)
        sides = coordinate_texts(self._refs, array, self._places, chunks)
        *rows, columns = self._axes or (None,)
        corner = " \\ ".join(names[axis] for axis in self._axes) or "value"
        yield [corner, *(sides[columns] if columns is not None else [""])]
        heads = sides[rows[0]] if rows else [str(name)]
        for head, line, lost in zip(heads, values, is_empty, strict=True):
            pairs = zip(line, lost, strict=True)
            yield [head, *("" if is_none else value_text(value) for value, is_none in pairs)]
