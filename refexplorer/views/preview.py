"""Values for a picture: read, decoded as CF says, thinned to what a screen can show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from refexplorer.data import chunks
from refexplorer.data.chunks import Progress, State
from refexplorer.data.estimates import Estimate, estimate_keys
from refexplorer.data.grid import Index, chunk_indices, region
from refexplorer.data.targets import Targets
from refexplorer.errors import AccessError, RefexplorerError
from refexplorer.views.models import ChunkCounts, Coordinate, Reading
from refexplorer.views.values import Values, hide_unread, numbers, physical, texts, thinning

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet
    from refexplorer.spec.arrays import ArrayMeta

_COORDINATE_CHUNKS = 8
_COORDINATE_BYTES = 2**20


def estimate(refs: ReferenceSet, array: ArrayMeta, index: Index | None = None) -> Estimate:
    """Say what `preview` reads: the chunk or the array, and the coordinates along its sides."""
    indices = [index] if index is not None else chunk_indices(array)
    keys = [array.chunk_key(each) for each in indices]
    for side in _sides(refs, array):
        if side is not None:
            keys += map(side.chunk_key, chunk_indices(side))
    return estimate_keys(refs, dict.fromkeys(keys))


def preview(
    refs: ReferenceSet, path: str, index: Index | None, targets: Targets, progress: Progress
) -> tuple[Reading, bytes | None]:
    """Read one chunk, or the whole of a small array (`index` None).

    Returns
    -------
    tuple
        The model, and the values as little-endian float64 in C order; None where there are no
        numbers to show. Chunks of a whole that were not fetched are NaN.

    Raises
    ------
    KeyError
        If there is no such array.
    """
    array = refs.array(path)
    started = perf_counter()
    blank = _blank(array, index)
    try:
        if index is None:
            found = chunks.read_array(refs, path, targets, progress)
        else:
            found = chunks.read_chunk(refs, path, index, targets)
    except AccessError as error:
        state = "ask" if error.grant else "failed"
        return replace(blank, state=state, message=str(error), grant=error.grant or None), None
    except RefexplorerError as error:
        return replace(blank, state="failed", message=str(error)), None
    if found.values is None:
        return replace(blank, message=found.message, chunks=_counts(found)), None
    reading, buffer = _shown(array, found, blank)
    steps = thinning(found.values.shape)
    sides = tuple(_coordinates(refs, array, index, steps, targets))
    return replace(reading, coordinates=sides, seconds=perf_counter() - started), buffer


def _shown(array: ArrayMeta, found: chunks.Reading, blank: Reading) -> tuple[Reading, bytes | None]:
    """Return the reading with its summary, which is of all values, and the thinned values."""
    decoded = physical(array, found)
    steps = thinning(decoded.shape)
    values = numbers(decoded)
    reading = replace(
        blank,
        state=found.state,
        shape=decoded.shape,
        message=_message(found, steps, blank.dimensions),
        chunks=_counts(found),
    )
    if values is None:
        return replace(reading, texts=texts(decoded)), None
    hide_unread(array, found, values)
    finite = values[np.isfinite(values)]
    thin = values[tuple(slice(None, None, step) for step in steps)]
    return replace(
        reading,
        shape=thin.shape,
        minimum=float(finite.min()) if finite.size else None,
        maximum=float(finite.max()) if finite.size else None,
        missing=int(np.isnan(values).sum()),
    ), thin.tobytes()


def _message(
    found: chunks.Reading, steps: tuple[int, ...], dimensions: tuple[str, ...]
) -> str | None:
    if found.message is not None or max(steps, default=1) == 1:
        return found.message
    thinned = zip(steps, dimensions, strict=True)
    along = ", ".join(f"1 of {step} along {name}" for step, name in thinned if step > 1)
    return f"Too many values for one picture: shown is {along}."


def _counts(found: chunks.Reading) -> ChunkCounts:
    return ChunkCounts(*(found.count(state) for state in State))


def _sides(refs: ReferenceSet, array: ArrayMeta) -> Iterator[ArrayMeta | None]:
    """Yield the small 1-d array that stands beside each dimension and has its name, or None."""
    folder = array.path.rpartition("/")[0]
    for name, length in zip(array.dimensions or (), array.shape, strict=False):
        path = f"{folder}/{name}".lstrip("/")
        try:
            side = refs.array(path) if name and path != array.path else None
        except KeyError:
            side = None
        yield side if side is not None and _fits(side, length) else None


def _fits(side: ArrayMeta, length: int) -> bool:
    size = length * (side.itemsize or 8)
    return (
        side.shape == (length,)
        and side.chunk_count <= _COORDINATE_CHUNKS
        and size <= _COORDINATE_BYTES
    )


def _coordinates(
    refs: ReferenceSet,
    array: ArrayMeta,
    index: Index | None,
    steps: tuple[int, ...],
    targets: Targets,
) -> Iterator[Coordinate]:
    parts = region(array, index) if index is not None else (slice(None),) * len(steps)
    sides = zip(array.dimensions or (), _sides(refs, array), parts, steps, strict=False)
    for name, side, part, step in sides:
        values = None if side is None else _positions(refs, side, targets)
        if values is None:
            yield Coordinate(name, None)
        else:
            yield Coordinate(name, tuple(map(float, values[part][::step])))


def _positions(refs: ReferenceSet, side: ArrayMeta, targets: Targets) -> Values | None:
    """Read a coordinate; a picture does without one that cannot be read."""
    try:
        found = chunks.read_array(refs, side.path, targets)
    except RefexplorerError:
        return None
    if found.values is None or found.count(State.FAILED):
        return None
    return numbers(physical(side, found))


def _blank(array: ArrayMeta, index: Index | None) -> Reading:
    units = array.attributes.get("units")
    name = array.attributes.get("long_name", array.path.rpartition("/")[2])
    dimensions = array.dimensions or tuple(f"dim_{axis}" for axis in range(len(array.shape)))
    return Reading(
        state="failed",
        array=array.path,
        index=index,
        shape=(),
        dtype=array.dtype,
        dimensions=dimensions,
        units=units if isinstance(units, str) else None,
        name=name if isinstance(name, str) else array.path,
        minimum=None,
        maximum=None,
        missing=0,
        seconds=0.0,
        message=None,
        grant=None,
        coordinates=(),
        chunks=ChunkCounts(0, 0, 0),
    )
