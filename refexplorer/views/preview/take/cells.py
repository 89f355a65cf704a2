"""Values of a part of an array as CSV and npy: decoded, every value, in their own data type."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from refexplorer.errors import LimitError, RefexplorerError
from refexplorer.io.decode.chunk_shapes import place_count
from refexplorer.io.reading.chunks import ArrayValues
from refexplorer.io.reading.readings import ChunkState
from refexplorer.views.preview.coordinates import coordinate_texts
from refexplorer.views.preview.region_reader import DecodedChunks, hidden
from refexplorer.views.preview.regions import Region, names_of
from refexplorer.views.preview.take.netcdf import read_all, require_size
from refexplorer.views.preview.values import Decoding, shown_of, value_text
from refexplorer.views.wire.jobs import JobReport

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet
    from refexplorer.spec.zarr_metadata import ArrayMeta

_MOST = 2_000_000
"""Cells of a table: each takes some microseconds, and few programs open larger ones."""


class Cells:
    """The cells of a line or a table."""

    def __init__(
        self,
        refs: ReferenceSet,
        array: ArrayMeta,
        places: Region,
        axes: tuple[int, ...],
        decoding: Decoding,
    ) -> None:
        long = {axis for axis, part in enumerate(places) if place_count(part) != 1}
        is_each_once = len(set(axes)) == len(axes) and set(axes) <= set(range(len(places)))
        if not is_each_once or not long <= set(axes):
            raise RefexplorerError(
                f"{list(axes)} are not the dimensions of this part of {array.path}: choose one "
                "place along every other dimension."
            )
        require_size(refs, array, places)
        self._refs, self._array, self._places = refs, array, places
        self._axes, self._decoding = axes, decoding

    def npy(self, chunks: DecodedChunks, report: JobReport) -> bytes:
        """Return an array of numpy: floats without a reference are NaN, all else is as stored."""
        values, is_hidden, _ = self._values(chunks, report)
        if values.dtype.hasobject:
            raise RefexplorerError(
                f"{self._array.path or 'The root array'} has values of no fixed size, which an npy "
                "file cannot have: save CSV."
            )
        if values.dtype.kind in "fc" and is_hidden.any():
            values = np.where(is_hidden, values.dtype.type(np.nan), values)
        data = io.BytesIO()
        np.save(data, np.asarray(values, order="C"), allow_pickle=False)
        return data.getvalue()

    def csv(self, chunks: DecodedChunks, report: JobReport) -> bytes:
        """Return a table with the places along each side; the first line says what it is.

        Values that are missing, or have no reference, are empty.
        """
        count = math.prod(map(place_count, self._places))
        if count > _MOST:
            raise LimitError(
                f"This part has {count:,} values, more than the {_MOST:,} of a table: choose a "
                "smaller part, or save npy or NetCDF."
            )
        if len(self._axes) > 2:
            raise RefexplorerError("A table has two dimensions: save npy or NetCDF.")
        values, is_hidden, is_missing = self._values(chunks, report)
        is_empty = is_hidden | is_missing
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerows(self._rows(np.atleast_2d(values), np.atleast_2d(is_empty), chunks))
        return text.getvalue().encode("utf-8", "backslashreplace")

    def _values(self, chunks: DecodedChunks, report: JobReport) -> tuple[ArrayValues, ...]:
        """Return the values along the axes, where they have no reference, and where they miss."""
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
