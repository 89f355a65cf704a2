"""What a reading says of itself, apart from its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from refexplorer.io.decode.chunk_shapes import Index
from refexplorer.io.reading.readings import ChunkState
from refexplorer.markup import escape
from refexplorer.views.preview.channels import channels_of
from refexplorer.views.preview.regions import Region, names_of, slices
from refexplorer.views.wire.explorer.data_messages import (
    ChunkCounts,
    Flag,
    LostChunks,
    ReadingModel,
)

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta

_FLAGS = 64
_NAME = 80


def triples(places: Region) -> tuple[tuple[int, int, int], ...]:
    """Return start, stop and step along each dimension."""
    return tuple((part.start, part.stop, part.step) for part in places)


def counts_of(states: Mapping[Index, ChunkState]) -> ChunkCounts:
    """Count chunks by state."""
    found = list(states.values())
    return ChunkCounts(*(found.count(state) for state in ChunkState))


def lost_of(states: Mapping[Index, ChunkState]) -> Iterator[LostChunks]:
    """Yield the chunks that were not fetched, those of one state in a row together."""
    lost = sorted(
        (index, state) for index, state in states.items() if state is not ChunkState.FETCHED
    )
    first: Index = ()
    state, count = ChunkState.FETCHED, 0
    for index, found in lost:
        if count and state is found and index == (*first[:-1], first[-1] + count):
            count += 1
            continue
        if count:
            yield LostChunks(first, count, state)
        first, state, count = index, found, 1
    if count:
        yield LostChunks(first, count, state)


def blank_reading(array: ArrayMeta, places: Region) -> ReadingModel:
    """Return what is known of a reading before it is begun."""
    units = array.attributes.get("units")
    name = array.attributes.get("long_name", array.path.rpartition("/")[2])
    return ReadingModel(
        state="failed",
        array=array.path,
        slices=slices(array, places),
        region=triples(places),
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
        flags=tuple(_flags(array)),
        channels=channels_of(array),
    )


def _flags(array: ArrayMeta) -> Iterator[Flag]:
    """Yield the flags of an array; none where values and meanings are not as many."""
    values, meanings = array.attributes.get("flag_values"), array.attributes.get("flag_meanings")
    names = meanings.split() if isinstance(meanings, str) else []
    numbers = values if isinstance(values, list) else []
    if len(names) == len(numbers) <= _FLAGS:
        for value, name in zip(numbers, names, strict=True):
            if isinstance(value, int | float):
                yield Flag(float(value), escape(name, _NAME))
