"""The values of one chunk in two sets, and their difference."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from refexplorer.core.errors import AccessError, RefexplorerError
from refexplorer.core.text import counted
from refexplorer.io.access import AccessPolicy
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.reading.chunks import ArrayValues
from refexplorer.io.reading.readings import ChunkState
from refexplorer.refset.opened_set import internals
from refexplorer.spec.zarr_metadata import ArrayMeta, type_name
from refexplorer.verbs.differing import reference_text
from refexplorer.views.preview.regions import Region, chunks_touched, names_of, of_chunk, slices
from refexplorer.views.preview.values import (
    DecodedChunks,
    Decoding,
    Physical,
    hidden,
    integer_bytes,
    integers_of,
    physical,
    subtract_integers,
    thinning,
)
from refexplorer.views.wire.context import FailureLog, ViewContext
from refexplorer.views.wire.jobs import JobReport
from refexplorer.views.wire.requests import Buffers, Count, ReadOutcome, Real, floats

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet

_CHUNKS_NAMED = 3  # chunks that a sentence names
_TEXT = 200  # characters of a reference: a file may hold any text


class ComparedSide(Struct, frozen=True):
    """A chunk in one of the sets."""

    name: str
    reference: str  # In a few words
    state: ReadOutcome | None  # Null: the set has no such part
    dtype: str
    message: str | None  # Why there are no values
    grant: str | None  # State ``ask``: what `allow` needs
    value_type: str | None = None  # The data type of the decoded values; null where there are none


class ValueDifference(Struct, frozen=True):
    """A comparison of the values that both sets have."""

    compared: Count  # Values that were fetched on both sides
    different: Count  # Those of them that differ; missing values are equal to each other
    # low, high: Least and greatest difference, after less before; null where nothing can be
    # subtracted
    low: Real | None
    high: Real | None


class ComparedChunk(Struct, frozen=True):
    """The values of a chunk in both sets, decoded as defined in each."""

    key: str
    # array, index: Of the chunk
    array: str
    index: tuple[Count, ...]
    slices: tuple[str, ...]  # The part of the array, one text for each dimension
    dimensions: tuple[str, ...]
    shape: tuple[int, ...]  # Of the values, which are sent in a buffer
    step: tuple[int, ...]  # Of the values along each dimension, 1 where all of them are here
    times: bool
    units: str | None
    before: ComparedSide
    after: ComparedSide
    # low, high: Least and greatest value of both sides; null where there is none
    low: Real | None
    high: Real | None
    difference: ValueDifference | None  # Null where there is nothing to compare


@dataclass(frozen=True)
class ChunkSide:
    """One of the sets, and the reader of its chunks."""

    refs: ReferenceSet
    chunks: DecodedChunks


@dataclass(frozen=True)
class _ReadSide:
    """The result of one side."""

    told: ComparedSide  # What is said of it
    meant: Physical | None = None  # The values of the part; None where there are none
    fetched: ArrayValues | None = None  # Which of them were fetched


def compare_chunk(
    key: str, before: ChunkSide, after: ChunkSide, report: JobReport
) -> tuple[ComparedChunk, Buffers]:
    """Read the part of the array that a chunk of the later set covers, in both sets."""
    # It is the region of the chunk in the later set; for a chunk that was removed, in the earlier
    # one. If the arrays differ in shape, it is the region that both have.
    path, index, holder = _chunk(key, before.refs, after.refs)
    arrays = [internals(side.refs).opened.arrays.get(path) for side in (before, after)]
    places = _shared(of_chunk(holder, index), arrays)
    read = [
        _read(side, array, key, places, report)
        for side, array in zip((before, after), arrays, strict=True)
    ]
    sizes = tuple(map(len, places))
    steps = thinning(sizes)
    thin = tuple(slice(None, None, step) for step in steps)
    shown = [_numbers_of(each) for each in read]
    numbers = [each for each in shown if each is not None]
    gap, difference = _difference(read)
    low, high = _span(numbers)
    buffers = []
    if len(numbers) == sum(each.meant is not None for each in read) and numbers:
        blank = np.full(sizes, np.nan)
        parts = [blank if each is None else each for each in (*shown, gap)]
        buffers = [floats(part[thin]) for part in parts]
        integers = [_integers(each, thin) for each in read]
        buffers += integers if any(integers) else []
    units = holder.attributes.get("units")
    answer = ComparedChunk(
        key=key,
        array=path,
        index=index,
        slices=slices(holder, places),
        dimensions=names_of(holder),
        shape=tuple(-(-size // step) for size, step in zip(sizes, steps, strict=True)),
        step=steps,
        times=any(each.meant is not None and each.meant.times for each in read),
        units=units if isinstance(units, str) else None,
        before=read[0].told,
        after=read[1].told,
        low=low,
        high=high,
        difference=difference,
    )
    return answer, buffers


def _chunk(
    key: str, before: ReferenceSet, after: ReferenceSet
) -> tuple[str, tuple[int, ...], ArrayMeta]:
    """Return the array of a chunk, its index, and the array as the newest set has it."""
    for refs in (after, before):
        owner = refs.array_of(key)
        if owner is not None and refs.array(owner[0]).contains(owner[1]):
            return owner[0], owner[1], refs.array(owner[0])
    raise RefexplorerError(f"{key!r} is not a chunk of either set: choose a chunk to compare.")


def _shared(places: Region, arrays: list[ArrayMeta | None]) -> Region:
    """Clip a region to the part common to all arrays with as many dimensions."""
    for array in arrays:
        if array is not None and len(array.shape) == len(places):
            cut = zip(places, array.shape, strict=True)
            places = tuple(range(part.start, min(part.stop, size)) for part, size in cut)
    return places


def _reference(refs: ReferenceSet, array: ArrayMeta | None, key: str, places: Region) -> str:
    """Return the reference of a region as a short text; for other chunk shapes, several."""
    keys = [key]
    if array is not None and len(array.shape) == len(places) and all(map(len, places)):
        indices = chunks_touched(array, places)
        keys = [array.chunk_key(index) for index in islice(indices, _CHUNKS_NAMED + 1)]
    if len(keys) > _CHUNKS_NAMED:
        return f"in {', '.join(keys[:_CHUNKS_NAMED])}, …"
    said = [_reference_text(refs, each) for each in keys]
    if keys != [key]:
        said = [f"{each}: {text}" for each, text in zip(keys, said, strict=True)]
    return "; ".join(said)


def _reference_text(refs: ReferenceSet, key: str) -> str:
    """Return the reference of a key as a short text, or that it is rejected."""
    return "rejected" if refs.rejection(key) is not None else reference_text(refs.get(key))[:_TEXT]


def _read(
    side: ChunkSide, array: ArrayMeta | None, key: str, places: Region, report: JobReport
) -> _ReadSide:
    name, reference = side.refs.source.name, _reference(side.refs, array, key, places)

    dtype = "" if array is None else type_name(array.dtype)

    def told(state: str | None, message: str | None, grant: str | None = None) -> ComparedSide:
        return ComparedSide(name, reference, state, dtype, message, grant)

    if array is None:
        return _ReadSide(told(None, "The set has no such array."))
    if len(array.shape) != len(places):
        rank = f"The array has {counted(len(array.shape), 'dimension')} here, not {len(places)}."
        return _ReadSide(told(None, rank))
    if not all(map(len, places)):
        return _ReadSide(told(None, "The arrays have no part of this chunk in common."))
    try:
        found = side.chunks.read(array, places, report)
    except AccessError as error:
        state = "ask" if error.grant else "failed"
        return _ReadSide(told(state, error.fact, error.grant or None))
    except RefexplorerError as error:
        return _ReadSide(told("failed", str(error)))
    if found.values is None:
        return _ReadSide(told("failed", found.message))
    message = found.message
    if found.state is ChunkState.FILL:
        message = f"There is no reference: it reads as the fill value, {found.fill}."
    meant = physical(array, found, Decoding())
    side_told = replace(told(found.state.value, message), value_type=type_name(meant.decoded.dtype))
    return _ReadSide(side_told, meant, ~hidden(array, places, found.states))


def _numbers_of(read: _ReadSide) -> ArrayValues | None:
    """Return the numbers of a side, NaN where nothing was fetched; None if there are none."""
    if read.meant is None or read.meant.numbers is None or read.fetched is None:
        return None
    return np.where(read.fetched, read.meant.numbers, np.nan)


def _integers(read: _ReadSide, thin: tuple[slice, ...]) -> bytes:
    """Return the values as integers, or ticks of times, if float64 cannot represent them."""
    if (meant := read.meant) is None or meant.numbers is None:
        return b""
    return integer_bytes(meant.decoded[thin], meant.numbers[thin])


def _difference(read: list[_ReadSide]) -> tuple[ArrayValues | None, ValueDifference | None]:
    """Return after minus before, and how many of the values fetched on both sides differ."""
    (before, after), (first, second) = [each.meant for each in read], [e.fetched for e in read]
    if before is None or after is None or first is None or second is None:
        return None, None
    both = first & second
    compared = int(both.sum())
    if before.numbers is None or after.numbers is None:
        if not compared:
            return None, None
        unequal = np.asarray(before.decoded != after.decoded, bool) & both
        return None, ValueDifference(compared, int(unequal.sum()), None, None)
    if not compared:
        return None, None
    old, new = before.numbers, after.numbers
    with np.errstate(invalid="ignore"):
        gap = new - old
        unequal = both & (old != new) & ~(np.isnan(old) & np.isnan(new))
    sides = [before.decoded, after.decoded]
    is_integer = all(side.dtype.kind in "iu" for side in sides)
    if is_integer and any(integers_of(side, old) is not None for side in sides):
        gap = subtract_integers(*sides)
        unequal = both & ((gap != 0) | (np.isnan(old) != np.isnan(new)))
        gap[np.isnan(old) | np.isnan(new)] = np.nan
    gap = np.where(both, gap, np.nan)
    low, high = _span([gap])
    return gap, ValueDifference(compared, int(unequal.sum()), low, high)


def _span(parts: list[ArrayValues]) -> tuple[float | None, float | None]:
    """Return the minimum and the maximum of the finite values."""
    finite = np.concatenate([np.empty(0), *(part[np.isfinite(part)] for part in parts)])
    return (float(finite.min()), float(finite.max())) if finite.size else (None, None)


class OtherChunks:
    """Creates readers of the other set: from its own folder, and all allowed locations."""

    def __init__(self, context: ViewContext) -> None:
        self._context = context
        self._kept: tuple[ReferenceSet, tuple[str, ...], DecodedChunks] | None = None

    def of(self, other: ReferenceSet) -> DecodedChunks:
        """Return the reader of a set; the same as before unless something else was allowed."""
        policy, sets = self._context.targets.policy, self._context.comparison.sets
        granted = (*other.allowed, *policy.granted, *(() if sets is None else sets.grants(other)))
        kept = self._kept
        if kept is None or kept[0] is not other or kept[1] != granted:
            own = AccessPolicy(
                other.source.location,
                granted,
                served=policy.served,
                endpoints=other.source.endpoints,
            )
            targets = Targets(own, other.storage_options, other.limits)
            kept = other, granted, DecodedChunks(other, targets, FailureLog())
            self._kept = kept
        return kept[2]
