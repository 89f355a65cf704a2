"""The map of the earth: where an array is, which chunk holds a point, the coastlines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec.structs import replace

from refexplorer.core.errors import AccessError, LimitError, RefexplorerError
from refexplorer.core.text import counted
from refexplorer.io.earth import (
    AxesPlaces,
    EarthPlaces,
    Georeference,
    GridPlaces,
    NoPlaceError,
    ProjectedPlaces,
    array_folders,
    georeference,
    parse_point,
)
from refexplorer.io.reading.chunks import ChunkState
from refexplorer.io.reading.selection import estimate_keys
from refexplorer.spec.references import Base64, Inline
from refexplorer.views.preview.regions import chunk_runs, chunks_touched, whole
from refexplorer.views.preview.values import DecodedChunks, Decoding, load_array_libraries, physical
from refexplorer.views.wire.answering import Operations, floats
from refexplorer.views.wire.context import ViewContext
from refexplorer.views.wire.explorer.map_messages import (
    EarthMap,
    EarthShown,
    FindOnEarth,
    LandShown,
    PointFound,
    ShowEarth,
    ShowLand,
)
from refexplorer.views.wire.jobs import JobAnswer, JobReport
from refexplorer.views.wire.models import EstimateModel

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta
    from refexplorer.verbs.referenceset import ReferenceSet

MOST = 2**23
"""Values of a coordinate: 2,900 by 2,900 of two dimensions, 64 MB each when decoded."""


def missing_cost(
    refs: ReferenceSet, found: Georeference, chunks: DecodedChunks
) -> EstimateModel | None:
    """Return what reading the coordinates takes; None if all are in the set or here already."""
    keys: list[str] = []
    for side in (found.y, found.x):
        size = math.prod(side.shape)
        if size > MOST:
            raise LimitError(
                f"There is no map: {side.path} has {size:,} values, more than the {MOST:,} that "
                "are read to place an array."
            )
        keys += [
            side.chunk_key(index)
            for index in chunks_touched(side, whole(side))
            if not chunks.holds(side.path, index)
        ]
    if all(isinstance(refs.get(key), Inline | Base64 | None) for key in keys):
        return None
    told = estimate_keys(refs, keys)
    return EstimateModel(told.bytes, told.requests, told.targets, told.label, told.chunks)


def places_of_array(found: Georeference, chunks: DecodedChunks, report: JobReport) -> EarthPlaces:
    """Read the coordinates."""
    y, x = (_numbers(side, chunks, report) for side in (found.y, found.x))
    if found.form == "axes":
        return AxesPlaces(y, x)
    if found.form == "grid":
        return GridPlaces(y, x)
    units = found.x.attributes.get("units")
    return ProjectedPlaces(y, x, found.mapping or {}, units if isinstance(units, str) else "")


def _numbers(side: ArrayMeta, chunks: DecodedChunks, report: JobReport) -> np.ndarray:
    found = chunks.read(side, whole(side), report)
    if found.count(ChunkState.FAILED) or found.values is None:
        said = f": {found.message}" if found.message else "."
        raise RefexplorerError(f"There is no map: {side.path} could not be read{said}")
    if found.count(ChunkState.FILL):
        raise RefexplorerError(
            f"There is no map: chunks of {side.path} have no reference, and a fill value is no "
            "place."
        )
    numbers = physical(side, found, Decoding(times=False)).numbers
    if numbers is None:
        raise RefexplorerError(f"There is no map: {side.path} has no numbers.")
    return np.asarray(numbers, "<f8").reshape(side.shape)


Detail = Literal["110m", "50m"]
# beside the bundles, which are built and shipped the same way
_FOLDER = Path(__file__).parents[2] / "hosts" / "static"


def land(detail: Detail) -> bytes:
    """Return the outlines, drawn for a map of a scale of 1 to 110 or 50 million."""
    path = _FOLDER / f"land-{detail}.json"
    if not path.is_file():
        raise RefexplorerError(
            f"{path.name} is not there: the front end was not built; run `python hatch_build.py`."
        )
    return path.read_bytes()


ARRAYS = 500
"""Arrays that are looked at to list those that have a place."""


class MapController:
    """Answers what a map of the earth asks; keeps the places of the last array."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._chunks = DecodedChunks(self._refs, context.targets, context.failure_log)
        self._listed: tuple[str, ...] | None = None
        self._kept: tuple[str, EarthPlaces] | None = None
        start = context.jobs.in_turn
        self.operations: Operations = {
            ShowEarth: start(self._show),
            FindOnEarth: start(self._find),
            ShowLand: start(self._land),
        }

    @property
    def listed(self) -> tuple[str, ...]:
        """The first arrays that have a place on earth, those of most values first, flags last."""
        if self._listed is None:
            found = []
            folders = array_folders(self._refs)
            for path in self._refs.arrays()[:ARRAYS]:
                array = self._refs.array(path)
                try:
                    georeference(self._refs, array, folders)
                except NoPlaceError:
                    continue
                are_flags = bool({"flag_values", "flag_masks"} & set(array.attributes))
                found.append((are_flags, -math.prod(array.shape), path))
            self._listed = tuple(path for *_, path in sorted(found))
        return self._listed

    def _show(self, request: ShowEarth, report: JobReport) -> JobAnswer:
        path = request.array
        if path is None:
            path = next(iter(self.listed), None)
        if path is None:
            sentence = "No array of this set says where on earth its values are."
            return EarthShown(EarthMap("", "none", sentence, ())), []
        blank = EarthMap(path, "none", None, self.listed)
        array = self._array(path)
        try:
            found = georeference(self._refs, array)
            blank = replace(blank, axes=(found.rows, found.columns), source=found.sentence)
            cost = None if self._is_kept(path) else missing_cost(self._refs, found, self._chunks)
            if cost is not None and not request.read:
                said = "The coordinates are not read yet."
                return EarthShown(replace(blank, state="offer", message=said, estimate=cost)), []
            places = self._places(array, found, report)
            window = request.window and _inside(request.window, places.shape)
            mesh = places.mesh(window)
        except AccessError as error:
            state = "ask" if error.grant else "failed"
            return EarthShown(
                replace(blank, state=state, message=str(error), grant=error.grant or None)
            ), []
        except NoPlaceError as error:
            return EarthShown(replace(blank, message=str(error))), []
        except RefexplorerError as error:
            return EarthShown(replace(blank, state="failed", message=str(error))), []
        shown = replace(
            blank,
            state="fetched",
            chunks=(_side(array, found.rows), _side(array, found.columns)),
            chunk_runs=chunk_runs(array, (found.rows, found.columns)),
        )
        columns = (mesh.rows, mesh.columns, mesh.longitude, mesh.latitude)
        return EarthShown(shown), [floats(each) for each in columns]

    def _find(self, request: FindOnEarth, report: JobReport) -> JobAnswer:
        array = self._array(request.array)
        latitude, longitude = parse_point(request.text)
        found = georeference(self._refs, array)
        if not self._is_kept(array.path) and missing_cost(self._refs, found, self._chunks):
            raise RefexplorerError("The coordinates are not read yet: show the map first.")
        place = self._places(array, found, report).find(longitude, latitude)
        said = f"{latitude:g}, {longitude:g}"
        if place is None:
            sentence = f"{said} is in no cell of {array.path or 'the root array'}."
            return PointFound(latitude, longitude, None, None, 0, sentence), []
        index = [0] * len(array.shape)
        for axis, at in enumerate(request.index[: len(index)]):
            index[axis] = min(max(at, 0), array.shape[axis] - 1)
        index[found.rows], index[found.columns] = place
        chunk = array.chunk_at(index)
        others = math.prod(
            size for axis, size in enumerate(array.grid) if axis not in (found.rows, found.columns)
        )
        key = array.chunk_key(chunk)
        sentence = f"{said} is in {counted(others, 'chunk')} of {array.path or 'the root array'}"
        sentence += f", such as {key}." if others > 1 else f": {key}."
        return PointFound(latitude, longitude, tuple(index), key, others, sentence), []

    def _land(self, request: ShowLand, report: JobReport) -> JobAnswer:
        return LandShown(request.detail), [land(request.detail)]

    def _is_kept(self, path: str) -> bool:
        return self._kept is not None and self._kept[0] == path

    def _places(self, array: ArrayMeta, found: Georeference, report: JobReport) -> EarthPlaces:
        if self._kept is None or self._kept[0] != array.path:
            load_array_libraries()
            self._kept = array.path, places_of_array(found, self._chunks, report)
        return self._kept[1]

    def _array(self, path: str) -> ArrayMeta:
        try:
            return self._refs.array(path)
        except KeyError:
            raise RefexplorerError(f"There is no array at {path!r}.") from None


def _side(array: ArrayMeta, axis: int) -> tuple[int, int]:
    """Return how many values a dimension has, and how many of them a chunk."""
    return array.shape[axis], array.chunks[axis]


def _inside(
    window: Sequence[tuple[int, int]], shape: tuple[int, int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return a window as far as it is in the array, and not empty."""
    rows, columns = (
        (max(0, min(start, size - 1)), max(1, min(stop, size)))
        for (start, stop), size in zip(window, shape, strict=True)
    )
    if rows[0] >= rows[1] or columns[0] >= columns[1]:
        raise RefexplorerError("The window holds no value.")
    return rows, columns
