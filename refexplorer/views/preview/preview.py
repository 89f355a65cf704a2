"""Values for a picture: read, decoded as CF says, thinned to what a screen can show."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from refexplorer.data.decode.chunk_arithmetic import Index, place_count
from refexplorer.data.read.chunk_reader import ChunkState, Reading
from refexplorer.data.read.estimates import estimate_keys
from refexplorer.errors import AccessError, RefexplorerError
from refexplorer.views.preview.region_reader import DecodedChunks, hide_unread
from refexplorer.views.preview.regions import (
    Region,
    chunks_touched,
    names_of,
    of_chunk,
    slices,
    whole,
)
from refexplorer.views.preview.values import Decoding, physical, texts, thinning
from refexplorer.views.wire.jobs import Report
from refexplorer.views.wire.models import (
    ChunkCounts,
    Coordinate,
    EstimateModel,
    LostChunk,
    Plan,
    ReadingModel,
)

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet
    from refexplorer.spec.core.zarr_metadata import ArrayMeta

_COORDINATE_CHUNKS = 8
_COORDINATE_BYTES = 2**20
_LOST_SHOWN = 200
_FORGOTTEN = EstimateModel(0, 0, (), "Show what was read before")


def estimate(refs: ReferenceSet, array: ArrayMeta, index: Index | None = None) -> EstimateModel:
    """Estimate the cost of reading a chunk or the whole array, with its coordinates."""
    places = whole(array) if index is None else of_chunk(array, index)
    return _estimate(refs, dict.fromkeys(_keys(refs, array, places)))


def plan(refs: ReferenceSet, array: ArrayMeta, places: Region, chunks: DecodedChunks) -> Plan:
    """Estimate the cost of reading a part of an array, without the chunks that are here already.

    Raises
    ------
    LimitError
        If the part has values of too many chunks.
    """
    keys = dict.fromkeys(_keys(refs, array, places, chunks))
    return Plan(
        array.path,
        names_of(array),
        array.shape,
        slices(array, places),
        tuple(map(place_count, places)),
        sum(1 for _ in chunks_touched(array, places)),
        _estimate(refs, keys) if keys else _FORGOTTEN,
    )


def _estimate(refs: ReferenceSet, keys: Iterable[str]) -> EstimateModel:
    found = estimate_keys(refs, keys)
    return EstimateModel(found.bytes, found.requests, found.targets, found.label, found.chunks)


def _keys(
    refs: ReferenceSet, array: ArrayMeta, places: Region, chunks: DecodedChunks | None = None
) -> Iterator[str]:
    """Yield the keys to read; those of chunks that are here are left out."""
    parts = [(array, places)]
    parts += [(side, whole(side)) for side in _sides(refs, array) if side is not None]
    for each, part in parts:
        for index in chunks_touched(each, part):
            if chunks is None or not chunks.holds(each.path, index):
                yield each.chunk_key(index)


def preview(
    refs: ReferenceSet,
    array: ArrayMeta,
    places: Region,
    chunks: DecodedChunks,
    decoding: Decoding,
    report: Report,
) -> tuple[ReadingModel, bytes | None]:
    """Read a part of an array.

    Returns
    -------
    tuple
        The model, and the values as little-endian float64 in C order, times in milliseconds
        since 1970; None where there are no numbers to show. Where some chunks were fetched, the
        others are NaN.

    Raises
    ------
    LimitError
        If the part has values of too many chunks.
    """
    started = perf_counter()
    blank = _blank(array, places)
    try:
        found = chunks.read(array, places, report)
    except AccessError as error:
        state = "ask" if error.grant else "failed"
        return replace(blank, state=state, message=str(error), grant=error.grant or None), None
    except RefexplorerError as error:
        return replace(blank, state="failed", message=str(error)), None
    blank = replace(blank, chunks=_counts(found), lost=tuple(_lost(array, found)))
    if found.values is None:
        return replace(blank, message=found.message), None
    reading, buffer = _shown(array, places, found, decoding, blank)
    thin = tuple(range(*part) for part in reading.region)
    sides = tuple(_coordinates(refs, array, thin, chunks, decoding))
    return replace(reading, coordinates=sides, seconds=perf_counter() - started), buffer


def _shown(
    array: ArrayMeta, places: Region, found: Reading, decoding: Decoding, blank: ReadingModel
) -> tuple[ReadingModel, bytes | None]:
    """Return the reading with its summary, which is of all values, and the thinned values."""
    meant = physical(array, found, decoding)
    reading = replace(
        blank,
        state=found.state,
        shape=meant.decoded.shape,
        times=meant.times,
        message=found.message,
    )
    if meant.numbers is None:
        return replace(reading, texts=texts(meant.decoded)), None
    values = meant.numbers
    if found.state is not ChunkState.FILL:
        hide_unread(array, places, found.states, values)
    finite = values[np.isfinite(values)]
    steps = thinning(values.shape)
    thin = values[tuple(slice(None, None, step) for step in steps)]
    kept = tuple(part[::step] for part, step in zip(places, steps, strict=True))
    return replace(
        reading,
        shape=thin.shape,
        region=_triples(kept),
        message=reading.message or _thinned(array, kept),
        minimum=float(finite.min()) if finite.size else None,
        maximum=float(finite.max()) if finite.size else None,
        missing=int(np.isnan(values).sum()),
    ), np.ascontiguousarray(thin, "<f8").tobytes()


def _thinned(array: ArrayMeta, places: Region) -> str | None:
    """Say which values are left out."""
    sides = zip(places, names_of(array), strict=True)
    along = [f"1 of {part.step} along {name}" for part, name in sides if part.step > 1]
    return f"Shown: {', '.join(along)}." if along else None


def _triples(places: Region) -> tuple[tuple[int, int, int], ...]:
    return tuple((part.start, part.stop, part.step) for part in places)


def _counts(found: Reading) -> ChunkCounts:
    return ChunkCounts(*(found.count(state) for state in ChunkState))


def _lost(array: ArrayMeta, found: Reading) -> Iterator[LostChunk]:
    """Yield the first chunks that were not fetched."""
    lost = [
        (index, state) for index, state in found.states.items() if state is not ChunkState.FETCHED
    ]
    for index, state in lost[:_LOST_SHOWN]:
        yield LostChunk(array.chunk_key(index), index, state)


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
    refs: ReferenceSet, array: ArrayMeta, places: Region, chunks: DecodedChunks, decoding: Decoding
) -> Iterator[Coordinate]:
    sides = zip(array.dimensions or (), _sides(refs, array), places, strict=False)
    for name, side, part in sides:
        yield Coordinate(name, None) if side is None else _along(name, side, part, chunks, decoding)


def _along(
    name: str, side: ArrayMeta, part: range, chunks: DecodedChunks, decoding: Decoding
) -> Coordinate:
    """Read a coordinate; a picture does without one that cannot be read."""
    try:
        found = chunks.read(side, whole(side))
    except RefexplorerError:
        return Coordinate(name, None)
    if found.values is None or found.count(ChunkState.FAILED):
        return Coordinate(name, None)
    meant = physical(side, found, dataclasses.replace(decoding, scale=True))
    if meant.numbers is None:
        return Coordinate(name, None)
    shown = meant.numbers[part.start : part.stop : part.step]
    return Coordinate(name, tuple(map(float, shown)), meant.times)


def _blank(array: ArrayMeta, places: Region) -> ReadingModel:
    units = array.attributes.get("units")
    name = array.attributes.get("long_name", array.path.rpartition("/")[2])
    return ReadingModel(
        state="failed",
        array=array.path,
        slices=slices(array, places),
        region=_triples(places),
        chunk_shape=array.chunks,
        key_start=array.folder + array.prefix if array.shape else array.chunk_key(()),
        separator=array.separator,
        shape=(),
        dtype=array.dtype,
        dimensions=names_of(array),
        units=units if isinstance(units, str) else None,
        name=name if isinstance(name, str) else array.path,
        times=False,
        minimum=None,
        maximum=None,
        missing=0,
        seconds=0.0,
        message=None,
        grant=None,
        coordinates=(),
        chunks=ChunkCounts(0, 0, 0),
        lost=(),
    )
