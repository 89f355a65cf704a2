"""The map of the earth: where an array is, which chunk contains a point, coastlines."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from refexplorer.core.errors import AccessError, LimitError, RefexplorerError
from refexplorer.core.text import counted, escape
from refexplorer.io.earth import (
    AffinePlaces,
    AxesPlaces,
    EarthPlaces,
    GridPlaces,
    ProjectedPlaces,
    parse_point,
)
from refexplorer.io.georeference import Georeference, NoPlaceError, array_folders, georeference
from refexplorer.io.reading.readings import ChunkState
from refexplorer.io.reading.selection import Estimate, estimate_keys
from refexplorer.refset.conventions import finer_levels
from refexplorer.refset.opened_set import internals
from refexplorer.spec.references import Base64, Inline
from refexplorer.views.preview.axes import labels_of
from refexplorer.views.preview.regions import (
    ChunkRuns,
    chunk_runs,
    chunks_touched,
    names_of,
    parse,
    places_of,
    whole,
)
from refexplorer.views.preview.values import DecodedChunks, Decoding, load_array_libraries, physical
from refexplorer.views.wire.context import ExplorerPart, ViewContext, array_at
from refexplorer.views.wire.jobs import JobReport
from refexplorer.views.wire.requests import Buffers, Count, floats, job

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta
    from refexplorer.verbs.referenceset import ReferenceSet


_LABEL = re.compile(r"([^\W\d][\w.-]*)\s*=\s*([^,;]+)")
_INDEX = re.compile(r"(\[)?\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*(?(1)\])")


def point_parts(text: str) -> tuple[dict[str, str], str]:
    """Return the labels by dimension, and the remainder: a geographic position or an index."""
    labels = {name: label.strip() for name, label in _LABEL.findall(text)}
    return labels, _LABEL.sub("", text).strip(" ,;")


def index_of(text: str, array: ArrayMeta) -> tuple[int, ...] | None:
    """Return an index; None for a geographic position: two numbers without brackets."""
    found = _INDEX.fullmatch(text)
    if found is None:
        return None
    numbers = [int(number) for number in found[2].split(",")]
    if found[1] is None and (len(numbers) == 2 or len(numbers) != len(array.shape)):
        return None
    regions = parse(array, [str(number) for number in numbers])
    return tuple(region[0] for region in regions)


def place_of_label(
    refs: ReferenceSet,
    array: ArrayMeta,
    name: str,
    text: str,
    chunks: DecodedChunks,
    index: list[int],
) -> int:
    """Insert the position selected by a label or index into an index; return its dimension."""
    names = names_of(array)
    if name not in names:
        raise RefexplorerError(
            f"{array.path or 'The root array'} has no dimension {escape(name)}: it has "
            f"{', '.join(names)}."
        )
    axis = names.index(name)
    texts = [str(at) for at in index]
    texts[axis] = text

    def named(place: int, label: str) -> range:
        return places_of(label, names[place], labels_of(refs, array, place, chunks))

    index[axis] = parse(array, texts, named)[axis][0]
    return axis


MOST = 2**23  # Values of a coordinate: 2,900 by 2,900 of two dimensions, 64 MB each when decoded


def missing_cost(refs: ReferenceSet, found: Georeference, chunks: DecodedChunks) -> Estimate | None:
    """Return the cost of reading the coordinates; None if all are inline or loaded."""
    keys: list[str] = []
    for side in found.sides:
        size = math.prod(side.shape)
        if size > MOST:
            raise LimitError(
                f"There is no map: {side.path} has {size:,} values, more than the {MOST:,} that "
                "are read to locate an array."
            )
        keys += [
            side.chunk_key(index)
            for index in chunks_touched(side, whole(side))
            if not chunks.holds(side.path, index)
        ]
    if all(isinstance(refs.get(key), Inline | Base64 | None) for key in keys):
        return None
    return estimate_keys(refs, keys)


def places_of_array(
    array: ArrayMeta, found: Georeference, chunks: DecodedChunks, report: JobReport
) -> EarthPlaces:
    """Read the coordinates."""
    if found.affine is not None:
        shape = array.shape[found.rows], array.shape[found.columns]
        return AffinePlaces(shape, found.affine, found.mapping)
    y, x = (_numbers(side, chunks, report) for side in found.sides)
    if found.form == "axes":
        return AxesPlaces(y, x)
    if found.form == "grid":
        return GridPlaces(y, x)
    units = found.sides[1].attributes.get("units")
    return ProjectedPlaces(y, x, found.mapping or {}, units if isinstance(units, str) else "")


def _numbers(side: ArrayMeta, chunks: DecodedChunks, report: JobReport) -> np.ndarray:
    found = chunks.read(side, whole(side), report)
    if found.count(ChunkState.FAILED) or found.values is None:
        said = f": {found.message}" if found.message else "."
        raise RefexplorerError(f"There is no map: {side.path} could not be read{said}")
    if found.count(ChunkState.FILL):
        raise RefexplorerError(
            f"There is no map: chunks of {side.path} have no reference, so the locations of "
            "their values are unknown."
        )
    numbers = physical(side, found, Decoding(times=False)).numbers
    if numbers is None:
        raise RefexplorerError(f"There is no map: {side.path} is not numeric.")
    return np.asarray(numbers, "<f8").reshape(side.shape)


Detail = Literal["110m", "50m"]
# next to the bundles, which are built and shipped the same way
_FOLDER = Path(__file__).parents[2] / "hosts" / "static"


ARRAYS = 500  # Arrays that are examined to list those with a geographic position


class EarthMap(Struct, frozen=True):
    """Where on earth an array is; a mesh of points is sent with it."""

    array: str
    # ``none``: nothing says where it is. ``offer``: its coordinates are to be read.
    state: Literal["none", "offer", "ask", "failed", "fetched"]
    message: str | None
    arrays: tuple[str, ...]  # The first that have a place
    grant: str | None = None  # State ``ask``: what `allow` needs
    estimate: Estimate | None = None  # State ``offer``: the cost of reading the coordinates
    source: str | None = None  # Which coordinates say where it is, in words
    axes: tuple[int, int] | None = None  # The dimensions along which they run: down and across
    # Along these, how many values there are in all and in a chunk
    chunks: tuple[tuple[Count, Count], tuple[Count, Count]] | None = None
    chunk_runs: ChunkRuns | None = None  # Along these, as in `ReadingModel`


class PointFound(Struct, frozen=True):
    """The value whose cell contains a point."""

    # latitude, longitude: Null where an index or labels alone name the point
    latitude: float | None
    longitude: float | None
    # index, key: Its place in the array, and its chunk; null if no cell holds the point
    index: tuple[int, ...] | None
    key: str | None
    chunks: Count  # How many chunks hold the point, along all other dimensions
    sentence: str


class MapController:
    """Handles the requests of the map; keeps the positions of the last array."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._chunks = DecodedChunks(self._refs, context.targets, context.failure_log)
        self._listed: tuple[str, ...] | None = None
        self._kept: dict[str, EarthPlaces] = {}

    @property
    def listed(self) -> tuple[str, ...]:
        """The first arrays with a geographic position, the largest first, flags last."""
        if self._listed is None:
            found = []
            folders = array_folders(self._refs)
            finer = finer_levels(internals(self._refs).opened)
            for path in [path for path in self._refs.arrays() if path not in finer][:ARRAYS]:
                array = self._refs.array(path)
                try:
                    georeference(self._refs, array, folders)
                except NoPlaceError:
                    continue
                are_flags = bool({"flag_values", "flag_masks"} & set(array.attributes))
                found.append((are_flags, -math.prod(array.shape), path))
            self._listed = tuple(path for *_, path in sorted(found))
        return self._listed

    @job(
        "earth.show",
        unsaved="The coordinates of this array were not read when the page was saved",
        in_turn=True,
        buffers="If `fetched`: the rows and the columns of a mesh, which are places in the array "
        "between its values, and longitude and latitude of each pair, NaN off the earth; float64.",
        sends="earth",
    )
    def show(
        self,
        report: JobReport,
        array: str | None = None,  # Null: the largest that has a place
        # Start and stop along the two dimensions; null: all of them
        window: tuple[tuple[int, int], tuple[int, int]] | None = None,
        read: bool = False,  # Whether coordinates may be fetched that are not here
    ) -> tuple[EarthMap, Buffers]:
        """Return where on earth an array is."""
        path = next(iter(self.listed), None) if array is None else array
        if path is None:
            sentence = "This set has no georeferenced arrays."
            return EarthMap("", "none", sentence, ()), []
        blank = EarthMap(path, "none", None, self.listed)
        meta = array_at(self._refs, path)
        try:
            found = georeference(self._refs, meta)
            blank = replace(blank, axes=(found.rows, found.columns), source=found.sentence)
            cost = None if path in self._kept else missing_cost(self._refs, found, self._chunks)
            if cost is not None and not read:
                said = "The coordinates are not read yet."
                return replace(blank, state="offer", message=said, estimate=cost), []
            places = self._places(meta, found, report)
            mesh = places.mesh(window and _inside(window, places.shape))
        except AccessError as error:
            state = "ask" if error.grant else "failed"
            grant = error.grant or None
            return replace(blank, state=state, message=str(error), grant=grant), []
        except NoPlaceError as error:
            return replace(blank, message=str(error)), []
        except RefexplorerError as error:
            return replace(blank, state="failed", message=str(error)), []
        shown = replace(
            blank,
            state="fetched",
            chunks=(_side(meta, found.rows), _side(meta, found.columns)),
            chunk_runs=chunk_runs(meta, (found.rows, found.columns)),
        )
        columns = (mesh.rows, mesh.columns, mesh.longitude, mesh.latitude)
        return shown, [floats(each) for each in columns]

    @job(
        "earth.find",
        unsaved="This saved page cannot find the value at a position",
        in_turn=True,
    )
    def find(
        self,
        report: JobReport,
        array: str,
        text: str,  # Such as ``52.5N 13.4E, time=2021-05-18`` or ``[3, 40, 80]``
        # Where along the dimensions that the text does not name; one number for each
        index: tuple[int, ...] = (),
    ) -> PointFound:
        """Find the value at a point: a geographic position, labels of dimensions, or an index."""
        meta = array_at(self._refs, array)
        name = array or "the root array"
        if math.prod(meta.shape) == 0:
            raise RefexplorerError(f"{name} has no values.")
        given = (*index, *[0] * len(meta.shape))[: len(meta.shape)]
        places = [min(max(at, 0), size - 1) for at, size in zip(given, meta.shape, strict=True)]
        labels, rest = point_parts(text)
        numbers = index_of(rest, meta)
        point: tuple[float, float] | None = None
        axes: tuple[int, ...] = ()
        if numbers is not None:
            places, axes = list(numbers), tuple(range(len(places)))
        elif rest or not labels:
            point = parse_point(rest)
            found = georeference(self._refs, meta)
            place = self._places(meta, found, report).find(point[1], point[0])
            if place is None:
                return PointFound(
                    *point, None, None, 0, f"{_point_text(point)} is in no cell of {name}."
                )
            places[found.rows], places[found.columns] = place
            axes = (found.rows, found.columns)
        for label, at in labels.items():
            axes += (place_of_label(self._refs, meta, label, at, self._chunks, places),)
        key = meta.chunk_key(meta.chunk_at(places))
        others = math.prod(size for axis, size in enumerate(meta.grid) if axis not in axes)
        said = _point_text(point) if point is not None and not labels else text.strip()
        sentence = f"{said} is in {counted(others, 'chunk')} of {name}"
        sentence += f", such as {key}." if others > 1 else f": {key}."
        latitude, longitude = point or (None, None)
        return PointFound(latitude, longitude, tuple(places), key, others, sentence)

    @job(
        "earth.land",
        unsaved="Finer coastlines were not saved with the page",
        in_turn=True,
        buffers="TopoJSON of world-atlas.",
        sends="detail",
    )
    def land(self, detail: Detail) -> tuple[Detail, Buffers]:
        """Return Natural Earth's land at a scale of 1:110 million or 1:50 million."""
        path = _FOLDER / f"land-{detail}.json"
        if not path.is_file():
            raise RefexplorerError(
                f"{path.name} is missing: the front end was not built; run `python hatch_build.py`."
            )
        return detail, [path.read_bytes()]

    def _places(self, array: ArrayMeta, found: Georeference, report: JobReport) -> EarthPlaces:
        if array.path not in self._kept:
            load_array_libraries()
            self._kept = {array.path: places_of_array(array, found, self._chunks, report)}
        return self._kept[array.path]


def _point_text(point: tuple[float, float]) -> str:
    return f"{point[0]:g}, {point[1]:g}"


def _side(array: ArrayMeta, axis: int) -> tuple[int, int]:
    """Return the length of a dimension, and that of a chunk along it."""
    return array.shape[axis], array.chunks[axis]


def _inside(
    window: Sequence[tuple[int, int]], shape: tuple[int, int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Clip a window to the array, without making it empty."""
    rows, columns = (
        (max(0, min(start, size - 1)), max(1, min(stop, size)))
        for (start, stop), size in zip(window, shape, strict=True)
    )
    if rows[0] >= rows[1] or columns[0] >= columns[1]:
        raise RefexplorerError("The window has no values.")
    return rows, columns


PART = ExplorerPart(
    "map", "Map", "Map of the earth", (MapController,), place=2, alone=False, under="data",
    address=("earth",),
)  # fmt: skip
