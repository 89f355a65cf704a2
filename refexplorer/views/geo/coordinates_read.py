"""Coordinates of a map: what reading them takes, and the places that they make."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from refexplorer.errors import LimitError, RefexplorerError
from refexplorer.io.earth.georeferencing import Georeference
from refexplorer.io.earth.places import AxesPlaces, EarthPlaces, GridPlaces, ProjectedPlaces
from refexplorer.io.reading.readings import ChunkState
from refexplorer.io.reading.selection import estimate_keys
from refexplorer.spec.references import Base64, Inline
from refexplorer.views.preview.region_reader import DecodedChunks
from refexplorer.views.preview.regions import chunks_touched, whole
from refexplorer.views.preview.values import Decoding, physical
from refexplorer.views.wire.jobs import JobReport
from refexplorer.views.wire.models import EstimateModel

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet
    from refexplorer.spec.zarr_metadata import ArrayMeta

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
