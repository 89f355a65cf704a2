"""The model of a reading: values of a selection of an array, or why there are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Annotated, Literal

from msgspec import Struct

from refexplorer.core.text import escape
from refexplorer.io.decode.sizes import Index
from refexplorer.io.reading.readings import ChunkState
from refexplorer.spec.zarr_metadata import ArrayMeta, type_name
from refexplorer.views.preview.axes import Coordinate
from refexplorer.views.preview.regions import (
    ChunkRuns,
    Region,
    channels_of,
    chunk_runs,
    names_of,
    slices,
)
from refexplorer.views.wire.requests import Count, ReadOutcome, named

_FLAGS = 64  # entries of a legend; with more the values are a scale
_NAME = 80  # characters of a meaning: a file may hold any text


class ChunkCounts(Struct, frozen=True):
    """The chunks of a reading, by state."""

    fetched: int
    fill: int
    failed: int


class LostChunks(Struct, frozen=True):
    """Chunks of a reading without a reference, or that failed."""

    index: tuple[Count, ...]  # Of the first one
    count: int  # How many there are, one after the other along the last dimension
    state: Annotated[str, named("Loss", "fill", "failed")]


class Flag(Struct, frozen=True):
    """A value with a meaning (CF: ``flag_values``)."""

    value: float
    meaning: str


class ReadingModel(Struct, frozen=True, kw_only=True):
    """Values that were read, or why not; numbers are sent along as a buffer."""

    state: ReadOutcome
    array: str
    slices: tuple[str, ...]
    # Of the values: start, stop and step along each dimension
    region: tuple[tuple[Count, Count, Count], ...]
    chunk_shape: tuple[Count, ...]
    # key_start, separator: A chunk's key is ``key_start`` and its index joined by the separator
    key_start: str
    separator: str
    shape: tuple[int, ...] = ()
    dtype: str
    dimensions: tuple[str, ...]
    units: str | None
    name: str
    times: bool = False  # Whether the values are milliseconds since 1970
    minimum: float | None = None
    maximum: float | None = None
    missing: int = 0  # Values that are NaN or the fill value
    seconds: float = 0.0
    message: str | None = None
    grant: str | None = None  # State ``ask``: what `allow` needs
    coordinates: tuple[Coordinate, ...] = ()
    chunks: ChunkCounts = ChunkCounts(0, 0, 0)
    lost: tuple[LostChunks, ...] = ()  # All chunks that were not fetched
    texts: tuple[str, ...] | None = None  # Text and structured values, cut, in place of a buffer
    # How many values along each dimension share one cell; none: each has its own
    blocks: tuple[int, ...] = ()
    # What such a cell is: the mean of its values, or the one in the middle
    reduced: Literal["mean", "nearest"] | None = None
    flags: tuple[Flag, ...] = ()  # What the values stand for, where they stand for something
    # The dimension of red, green, blue, and perhaps how opaque; null where there is none
    channels: int | None = None
    # fields, field: Of structured values: all that have one value each, and the one that is
    # shown; null for all as text
    fields: tuple[str, ...] = ()
    field: str | None = None
    # How many values are negative and how many are positive infinity
    infinite: tuple[int, int] = (0, 0)
    # Of the values as they are decoded: ``int64``, ``float32``, ``datetime64[ns]``
    value_type: str = ""
    # ``minimum`` and ``maximum`` with every digit of their type
    extremes: tuple[str, str] | None = None
    is_complex: bool = False  # Whether the values are magnitudes
    chunk_runs: ChunkRuns | None = None  # Null where all chunks have `chunk_shape`


def triples(places: Region) -> tuple[tuple[int, int, int], ...]:
    """Return start, stop and step along each dimension."""
    return tuple((part.start, part.stop, part.step) for part in places)


def counts_of(states: Mapping[Index, ChunkState]) -> ChunkCounts:
    """Count chunks by state."""
    found = list(states.values())
    return ChunkCounts(*(found.count(state) for state in ChunkState))


def lost_of(states: Mapping[Index, ChunkState]) -> Iterator[LostChunks]:
    """Yield the chunks that were not fetched, grouping consecutive ones in the same state."""
    lost = sorted(
        (index, state) for index, state in states.items() if state is not ChunkState.FETCHED
    )

    def run_of(numbered: tuple[int, tuple[Index, ChunkState]]) -> tuple[Index, int, ChunkState]:
        place, (index, state) = numbered
        return index[:-1], sum(index[-1:]) - place, state

    for _, run in groupby(enumerate(lost), run_of):
        (_, (first, state)), *others = run
        yield LostChunks(first, 1 + len(others), state)


def blank_reading(array: ArrayMeta, places: Region) -> ReadingModel:
    """Return what is known about a reading before it begins."""
    units = array.attributes.get("units")
    name = array.attributes.get("long_name", array.path.rpartition("/")[2])
    return ReadingModel(
        state="failed",
        array=array.path,
        slices=slices(array, places),
        region=triples(places),
        chunk_shape=array.chunks,
        chunk_runs=chunk_runs(array),
        key_start=array.folder + array.prefix if array.shape else array.chunk_key(()),
        separator=array.separator,
        dtype=type_name(array.dtype),
        dimensions=names_of(array),
        units=units if isinstance(units, str) else None,
        name=name if isinstance(name, str) else array.path,
        flags=tuple(_flags(array)),
        channels=channels_of(array),
    )


def _flags(array: ArrayMeta) -> Iterator[Flag]:
    """Yield the flags of an array; none if values and meanings differ in number."""
    values, meanings = array.attributes.get("flag_values"), array.attributes.get("flag_meanings")
    names = meanings.split() if isinstance(meanings, str) else []
    numbers = values if isinstance(values, list) else []
    if len(names) == len(numbers) <= _FLAGS:
        for value, name in zip(numbers, names, strict=True):
            if isinstance(value, int | float):
                yield Flag(float(value), escape(name, _NAME))
