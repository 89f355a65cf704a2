"""Values for a picture: read, decoded as CF says, reduced to what a screen can show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from refexplorer.errors import AccessError, RefexplorerError
from refexplorer.io.decode.chunk_shapes import WHOLE_CHUNKS, place_count
from refexplorer.io.reading.readings import ChunkState, Reading
from refexplorer.io.reading.selection import estimate_keys
from refexplorer.views.preview.coordinates import coordinates_of, sides_of
from refexplorer.views.preview.outcomes import blank_reading, counts_of, lost_of, triples
from refexplorer.views.preview.picture import Picture, TellCells, is_pictured, untold
from refexplorer.views.preview.region_reader import DecodedChunks, hide_unread
from refexplorer.views.preview.regions import (
    PICTURE_CHUNKS,
    Region,
    chunks_touched,
    names_of,
    slices,
    whole,
)
from refexplorer.views.preview.values import (
    Decoding,
    extremes_of,
    fields_of,
    integers_of,
    shown_of,
    texts,
    thinning,
    type_name,
)
from refexplorer.views.wire.explorer.data_messages import Plan, ReadingModel
from refexplorer.views.wire.jobs import JobReport
from refexplorer.views.wire.models import EstimateModel

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet
    from refexplorer.spec.zarr_metadata import ArrayMeta

_FORGOTTEN = EstimateModel(0, 0, (), "Show what was read before")


def plan(refs: ReferenceSet, array: ArrayMeta, places: Region, chunks: DecodedChunks) -> Plan:
    """Estimate the cost of reading a part of an array, without the chunks that are here already."""
    keys = dict.fromkeys(keys_to_read(refs, array, places, chunks))
    return Plan(
        array.path,
        names_of(array),
        array.shape,
        slices(array, places),
        tuple(map(place_count, places)),
        sum(1 for _ in chunks_touched(array, places, _most(array))),
        _estimate(refs, keys) if keys else _FORGOTTEN,
        chunks.cache.size,
        chunks.cache.most,
        refs.limits.picture_bytes,
    )


def _estimate(refs: ReferenceSet, keys: Iterable[str]) -> EstimateModel:
    found = estimate_keys(refs, keys)
    return EstimateModel(found.bytes, found.requests, found.targets, found.label, found.chunks)


def keys_to_read(
    refs: ReferenceSet, array: ArrayMeta, places: Region, chunks: DecodedChunks | None = None
) -> Iterator[str]:
    """Yield the keys to read; those of chunks that are here are left out."""
    parts = [(array, places)]
    parts += [(side, whole(side)) for side in sides_of(refs, array) if side is not None]
    for each, part in parts:
        for index in chunks_touched(each, part, _most(each)):
            if chunks is None or not chunks.holds(each.path, index):
                yield each.chunk_key(index)


def _most(array: ArrayMeta) -> int:
    """Return how many chunks of an array one reading may take."""
    return PICTURE_CHUNKS if is_pictured(array) else WHOLE_CHUNKS


def preview(
    refs: ReferenceSet,
    array: ArrayMeta,
    places: Region,
    chunks: DecodedChunks,
    decoding: Decoding,
    report: JobReport,
    tell: TellCells = untold,
) -> tuple[ReadingModel, list[bytes]]:
    """Read a part of an array."""
    started = perf_counter()
    blank = blank_reading(array, places)
    try:
        if is_pictured(array, decoding) and all(places):
            drawn = Picture(refs, array, places, chunks, decoding, blank, tell).read(report)
            return replace(drawn[0], seconds=perf_counter() - started), drawn[1]
        found = chunks.read(array, places, report)
    except AccessError as error:
        state = "ask" if error.grant else "failed"
        return replace(blank, state=state, message=error.fact, grant=error.grant or None), []
    except RefexplorerError as error:
        return replace(blank, state="failed", message=str(error)), []
    blank = replace(blank, chunks=counts_of(found.states), lost=tuple(lost_of(found.states)))
    if found.values is None:
        return replace(blank, message=found.message), []
    reading, buffers = _shown(array, places, found, decoding, blank)
    thin = tuple(range(*part) for part in reading.region)
    sides = tuple(coordinates_of(refs, array, thin, chunks, decoding))
    return replace(reading, coordinates=sides, seconds=perf_counter() - started), buffers


def _shown(
    array: ArrayMeta, places: Region, found: Reading, decoding: Decoding, blank: ReadingModel
) -> tuple[ReadingModel, list[bytes]]:
    """Return the reading with its summary, which is of all values, and the thinned values."""
    meant, field = shown_of(array, found, decoding)
    decoded = np.asarray(meant.decoded)
    reading = replace(
        blank,
        fields=fields_of(np.asarray(found.values)),
        field=field,
        state=found.state,
        shape=decoded.shape,
        times=meant.times,
        message=found.message,
        value_type="" if meant.numbers is None else type_name(decoded),
    )
    if decoded.dtype.kind == "c":
        magnitudes = reading.message or "Shown: the magnitudes."
        reading = replace(reading, message=magnitudes, is_complex=True, value_type="float64")
    if meant.numbers is None:
        return replace(reading, texts=texts(decoded)), []
    values = meant.numbers
    if found.state is not ChunkState.FILL:
        hide_unread(array, places, found.states, values)
    known = np.isfinite(values)
    finite = values[known]
    steps = thinning(values.shape)
    every = tuple(slice(None, None, step) for step in steps)
    thin = values[every]
    buffers = [np.ascontiguousarray(thin, "<f8").tobytes()]
    integers = integers_of(decoded, values)
    if integers is not None:
        buffers.append(integers[every].astype(f"<{integers.dtype.kind}8").tobytes())
    kept = tuple(part[::step] for part, step in zip(places, steps, strict=True))
    return replace(
        reading,
        shape=thin.shape,
        region=triples(kept),
        message=reading.message or _thinned(array, kept),
        minimum=float(finite.min()) if finite.size else None,
        maximum=float(finite.max()) if finite.size else None,
        extremes=extremes_of(finite if reading.is_complex else decoded[known]),
        missing=int(np.isnan(values).sum()),
        infinite=(int(np.isneginf(values).sum()), int(np.isposinf(values).sum())),
    ), buffers


def _thinned(array: ArrayMeta, places: Region) -> str | None:
    """Say which values are left out."""
    sides = zip(places, names_of(array), strict=True)
    along = [f"1 of {part.step} along {name}" for part, name in sides if part.step > 1]
    return f"Shown: {', '.join(along)}." if along else None
