"""The position of chunks in the file's array, compared with that in the set's grid.

When files are concatenated, the chunks of one file all move by the same number of elements along
each dimension: the *origin* of the file. Dimensions that only the set has, because files are
stacked, are part of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from refexplorer.checks.compare.set_array import NO_POSITION, FileLayout, FoundChunks, SetArray
from refexplorer.checks.records import FileDifference
from refexplorer.checks.states import LedgerState
from refexplorer.core.text import counted
from refexplorer.formats.datafiles.data_file import FileArray, FileChunks
from refexplorer.io.sources.zarr_files import INNER
from refexplorer.spec.chunk_axes import ChunkAxis

Lengths = tuple[int, ...]
MOST_PIECES = 1_000_000
"""Pieces of a file's chunks that are looked for in a set, of one array of one file."""


@dataclass(frozen=True)
class Alignment:
    """A file's array in terms of the dimensions of the set's array."""

    axes: Lengths  # For each dimension of the file, its number in the set
    # shape, chunks: Of the file's array, with a length of 1 along the dimensions that it has not
    shape: Lengths
    chunks: Lengths
    varying: tuple[ChunkAxis, ...] | None = None  # Of chunks that have several lengths

    def starts_of(self, indices: np.ndarray) -> np.ndarray:
        """Return the first elements of the file's chunks, in the dimensions of the set."""
        found = self.spread(indices)
        if self.varying is None:
            return found * np.array(self.chunks, np.int64)
        return np.stack([a.starts_of(i) for a, i in zip(self.varying, found.T, strict=True)], 1)

    def shapes_of(self, indices: np.ndarray) -> np.ndarray:
        """Return the shapes of the file's chunks, in the dimensions of the set."""
        if self.varying is None:
            return np.broadcast_to(self.chunks, (len(indices), len(self.chunks)))
        found = self.spread(indices)
        return np.stack([a.lengths_of(i) for a, i in zip(self.varying, found.T, strict=True)], 1)

    def spread(self, indices: np.ndarray) -> np.ndarray:
        """Return indices ``(n, rank of the file)`` as ``(n, rank of the set)``."""
        found = np.zeros((len(indices), len(self.shape)), np.int64)
        found[:, list(self.axes)] = indices
        return found


def aligned(ours: SetArray, native: FileArray) -> Alignment | None:
    """Return the file's array in the dimensions of the set's; None if it has more dimensions."""
    rank, extra = len(ours.meta.shape), len(ours.meta.shape) - len(native.shape)
    if extra < 0:
        return None
    axes = tuple(range(extra, rank))
    names = ours.meta.dimensions
    if extra and names and native.dimensions and set(native.dimensions) <= set(names):
        named = tuple(names.index(name) for name in native.dimensions)
        axes = named if sorted(set(named)) == list(named) else axes
    shape, chunks = [1] * rank, [1] * rank
    for axis, length, chunk in zip(axes, native.shape, native.chunks, strict=True):
        shape[axis], chunks[axis] = length, max(chunk, 1)
    varying = None
    if native.varying is not None:
        along = dict(zip(axes, native.varying, strict=True))
        varying = tuple(along.get(axis, ChunkAxis(1, (1,))) for axis in range(rank))
    return Alignment(axes, tuple(shape), tuple(chunks), varying)


def is_cut(ours: SetArray, native: FileArray, lie: Alignment) -> bool:
    """Return whether chunks of the set are pieces of the file's, as kerchunk's `subchunk` makes."""
    # The pieces are contiguous in the file: uncompressed chunks in C order, cut along the first
    # dimensions only.
    pieces, whole = ours.meta.chunks, lie.chunks
    if (
        ours.meta.varying
        or native.varying
        or native.filters != ()
        or pieces == whole
        or prod(pieces) >= prod(whole)
    ):
        return False
    last = max(axis for axis, (p, w) in enumerate(zip(pieces, whole, strict=True)) if p != w)
    return all(p <= w for p, w in zip(pieces, whole, strict=True)) and prod(pieces[:last]) == 1


def file_starts(
    chunks: FileChunks, rows: np.ndarray, inside: np.ndarray, lie: Alignment, itemsize: int
) -> np.ndarray:
    """Return the first element of ranges in the file's array, in the dimensions of the set."""
    starts = lie.starts_of(chunks.indices[rows])
    if inside.any():
        within = np.unravel_index(inside // max(itemsize, 1), lie.chunks)
        starts = starts + np.stack(within, axis=1)
    return starts


def origin_of(moves: np.ndarray, lie: Alignment, whole: Lengths) -> np.ndarray:
    """Return where a file's array starts in the set's, according to most of its chunks."""
    room = np.array(whole, np.int64) - np.array(lie.shape, np.int64)
    free = np.maximum(room, 0)
    fits = ((moves >= 0) & (moves <= free)).all(axis=1)
    moves = moves[fits] if fits.any() else np.where(free > 0, moves, 0)
    kinds, counts = np.unique(moves, axis=0, return_counts=True)
    found: np.ndarray = kinds[np.argmax(counts)]
    return found


class ExpectedChunks(NamedTuple):
    """The chunks of a file that the set should have, n of them."""

    numbers: np.ndarray  # In the grid of the set's array, shape ``(n,)``
    rows: np.ndarray  # The chunks of the file, or those that have the pieces, shape ``(n,)``
    inside: np.ndarray  # Bytes from the start of each chunk to that of the piece, shape ``(n,)``


_NONE = ExpectedChunks(*(np.empty(0, np.int64) for _ in range(3)))


def expected(
    chunks: FileChunks, lie: Alignment, origin: np.ndarray, ours: SetArray, cut: bool
) -> ExpectedChunks:
    """Return the chunks of a file that the set should have, within its grid."""
    meta = ours.meta
    starts = lie.starts_of(chunks.indices)
    rows, inside = np.arange(len(starts)), np.zeros(len(starts), np.int64)
    size = np.array(meta.chunks, np.int64)
    if cut:
        steps = [range(0, w, p) for w, p in zip(lie.chunks, meta.chunks, strict=True)]
        if prod(map(len, steps)) * len(starts) > MOST_PIECES:
            return _NONE
        within = np.array(list(product(*steps)), np.int64).reshape(-1, len(size))
        starts = (starts[:, None, :] + within[None]).reshape(-1, len(size))
        elements = np.ravel_multi_index(tuple(within.T), lie.chunks)
        inside = np.tile(elements * (ours.meta.itemsize or 0), len(rows))
        rows = np.repeat(rows, len(within))
        filled = (starts < np.array(lie.shape, np.int64)).all(axis=1)
        starts, rows, inside = starts[filled], rows[filled], inside[filled]
    else:
        size = np.array(lie.chunks, np.int64)
    if not meta.grid:
        return ExpectedChunks(np.zeros(len(starts), np.int64), rows, inside)
    if meta.varying is None:  # files may have other chunks than the set says
        places = (starts + origin) // size
    else:
        columns = zip(meta.varying, (starts + origin).T, strict=True)
        places = np.stack([axis.numbers_at(column) for axis, column in columns], axis=1)
    rest = starts + origin - _starts(ours, places, size)
    grid = np.array(meta.narrow_grid, np.int64)
    good = ((rest == 0) & (places >= 0) & (places < grid)).all(axis=1)
    numbers: np.ndarray = np.ravel_multi_index(tuple(places[good].T), meta.narrow_grid)
    return ExpectedChunks(numbers, rows[good], inside[good])


def _starts(ours: SetArray, indices: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return the first elements of chunks of a set, shape ``(n, rank)``."""
    if ours.meta.varying is None:
        return indices * size
    return ours.meta.starts_of(indices)


def set_indices(ours: SetArray, numbers: np.ndarray) -> np.ndarray:
    """Return the indices of chunks of a set by number, shape ``(n, rank)``."""
    if not ours.meta.grid:
        return np.zeros((len(numbers), 0), np.int64)
    return np.stack(np.unravel_index(numbers, ours.meta.narrow_grid), axis=1)


SAME, MOVED, OUTSIDE = LedgerState.PLACED, LedgerState.WRONG_RANGE, LedgerState.UNTOUCHED
"""A reference to the right range of the file; to a wrong one; to no chunk."""


@dataclass
class FileReferences:
    """The references of one array to one file, n of them."""

    numbers: np.ndarray  # Of the chunks in the grid, -1 outside, shape ``(n,)`` int64
    # offsets, lengths: Bytes; a whole file has the offset 0 and the length -1
    offsets: np.ndarray
    lengths: np.ndarray


@dataclass
class NativeReferences:
    """The references of an array to one array of the file, n of them."""

    # ours, native, place, lie: The array of the set, that of the file, its place in
    # `FileLayout.arrays`, and how it is in the dimensions of the set's
    ours: SetArray
    place: int
    native: FileArray
    lie: Alignment
    is_cut: bool  # Whether chunks of the set are pieces of those of the file
    rows: np.ndarray  # Places in `FileReferences`, shape ``(n,)``
    # chunks, inside: Chunks of the file's array, and bytes from the start of each to that of the
    # range, shape ``(n,)``
    chunks: np.ndarray
    inside: np.ndarray
    # Where each chunk is in the set's array less where it is in the file's, shape ``(n, rank)``
    moves: np.ndarray
    # Where the file's array begins in the set's, as most of them say, shape ``(rank,)``
    origin: np.ndarray
    findings: list[FileDifference] = field(default_factory=list)  # What is wrong with the ranges

    @property
    def is_placed(self) -> bool:
        """Whether both arrays have dimensions that can be compared."""
        return self.origin.ndim == 1

    @property
    def piece(self) -> int:
        """Bytes of a chunk of the set that is a piece of a file chunk."""
        return prod(self.ours.meta.chunks) * self.native.dtype.itemsize

    @property
    def is_exact(self) -> np.ndarray:
        """Whether each range starts where a chunk or a piece of one starts, shape ``(n,)``."""
        step = max(self.piece, 1) if self.is_cut else np.iinfo(np.int64).max
        found: np.ndarray = self.inside % step == 0
        return found

    def meets(self, other: NativeReferences) -> bool:
        """Return whether two arrays of a file would occupy the same region of the set's array."""
        if not (self.is_placed and other.is_placed):
            return True
        starts = np.maximum(self.origin, other.origin)
        ends = (each.origin + np.array(each.lie.shape) for each in (self, other))
        return bool((starts < np.minimum(*ends)).all())


def found_chunks(ours: SetArray, found: FileReferences, filed: FileLayout) -> FoundChunks:
    """Return the chunks of the file in which ranges start; of a shard, it or those inside."""
    at = filed.find(found.offsets, found.lengths)
    shard = next((each for each in filed.arrays if each.name + INNER in filed.places), None)
    if shard is None or ours.meta.chunks != shard.chunks:
        return at
    place, inner = filed.places[shard.name], filed.arrays[filed.places[shard.name + INNER]]
    if inner.chunks == shard.chunks:
        return at
    whole = filed.chunks[place]
    assert whole is not None
    has = found.offsets < whole.lengths[0]
    return FoundChunks(
        np.where(has, place, NO_POSITION),
        np.where(has, 0, NO_POSITION),
        np.where(has, found.offsets, 0),
    )


def grouped(
    ours: SetArray, found: FileReferences, filed: FileLayout
) -> tuple[list[NativeReferences], np.ndarray]:
    """Group references that point to the same array of the file."""
    states = np.full(len(found.numbers), MOVED, np.uint8)
    at = found_chunks(ours, found, filed)
    usable = (at.owners != NO_POSITION) & (found.numbers >= 0)
    places, counts = np.unique(at.owners[usable], return_counts=True)
    order = places[np.argsort(-counts, kind="stable")].tolist()
    named = filed.places.get(ours.meta.path)
    if named is not None and filed.chunks[named] is not None:
        inner = filed.places.get(filed.arrays[named].name + INNER)
        order = [place for place in order if place in (named, inner)]
    groups: list[NativeReferences] = []
    for place in order:
        rows = np.flatnonzero(usable & (at.owners == place))
        group = _group(ours, filed, place, found, rows, at)
        if not any(group.meets(other) for other in groups):
            groups.append(group)
            if group.is_placed:
                states[rows] = _ranges_compared(group, found, filed)
    states[found.numbers < 0] = OUTSIDE
    return groups, states


def _group(
    ours: SetArray,
    filed: FileLayout,
    place: int,
    found: FileReferences,
    rows: np.ndarray,
    at: FoundChunks,
) -> NativeReferences:
    native, known = filed.arrays[place], filed.chunks[place]
    assert known is not None
    chunks, inside = at.rows[rows], at.inside[rows]
    native = _as_stored(native, known, chunks)
    lie = aligned(ours, native)
    if lie is None:
        nowhere = np.zeros((0, 0), np.int64)
        group = NativeReferences(ours, place, native, Alignment((), (), ()), False, rows, chunks,
                                 inside, nowhere, nowhere)  # fmt: skip
        mine, its = (counted(len(each), "dimension") for each in (ours.meta.shape, native.shape))
        group.findings.append(FileDifference("rank", mine, its, count=len(rows)))
        return group
    cut = is_cut(ours, native, lie) and not (
        (inside == 0).all() and (found.lengths[rows] == known.lengths[chunks]).all()
    )
    group = NativeReferences(ours, place, native, lie, cut, rows, chunks, inside, inside, inside)
    exact = group.is_exact
    within = np.where(exact & cut, inside, 0)
    starts = file_starts(known, chunks, within, lie, native.dtype.itemsize)
    size = np.array(ours.meta.chunks if cut else lie.chunks, np.int64)
    group.moves = _starts(ours, set_indices(ours, found.numbers[rows]), size) - starts
    good = exact if exact.any() else np.ones(len(rows), np.bool_)
    group.origin = origin_of(group.moves[good], lie, ours.meta.shape)
    return group


def _as_stored(native: FileArray, known: FileChunks, chunks: np.ndarray) -> FileArray:
    """Return an array with the filters used to encode all of the given chunks."""
    if known.masks is None or native.filters is None:
        return native
    masks = np.unique(known.masks[chunks])
    if len(masks) != 1 or not masks[0]:
        return native
    skipped = int(masks[0])
    kept = (each for at, each in enumerate(native.filters) if not skipped >> at & 1)
    return replace(native, filters=tuple(kept))


def _ranges_compared(
    group: NativeReferences, found: FileReferences, filed: FileLayout
) -> np.ndarray:
    """Compare starts and lengths with those of the chunks; return the states, shape ``(n,)``."""
    known = filed.chunks[group.place]
    assert known is not None
    meta, numbers = group.ours.meta, found.numbers[group.rows]
    exact, chunks, name = group.is_exact, group.chunks, group.native.name
    states = np.full(len(group.rows), SAME, np.uint8)

    def note(cause: str, wrong: np.ndarray, message: str | None = None) -> None:
        states[wrong] = MOVED
        group.findings.append(FileDifference.of_chunks(cause, meta, numbers[wrong], message))

    if not exact.all():
        row = int(np.argmin(exact))
        where = known.indices[chunks[row]].tolist()
        inside = f"{counted(int(group.inside[row]), 'byte')} inside chunk {where} of `{name}`"
        note("offset", ~exact, f"{meta.key_at(numbers[row])} starts {inside}")
    lengths = np.full(len(chunks), group.piece) if group.is_cut else known.lengths[chunks]
    given = found.lengths[group.rows]
    wrong = exact & (given != lengths) & (given >= 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        has = counted(int(given[row]), "byte")
        said = f"{meta.key_at(numbers[row])} has {has}, the chunk of `{name}`"
        note("length", wrong, f"{said} {int(lengths[row]):,}")
    if axes := meta.varying:
        indices = set_indices(group.ours, numbers)
        shapes = np.stack([a.lengths_of(i) for a, i in zip(axes, indices.T, strict=True)], axis=1)
        theirs = group.lie.shapes_of(known.indices[chunks])
        odd = np.flatnonzero((shapes != theirs).any(axis=1))
        if len(odd):
            of_odd = FileDifference.of_chunks("chunk-shape", meta, numbers[odd])
            of_odd.ours, of_odd.theirs = (str((*s[odd[0]].tolist(),)) for s in (shapes, theirs))
            group.findings.append(of_odd)
    masks = np.zeros(len(chunks)) if known.masks is None else known.masks[chunks]
    if len(np.unique(masks)) > 1:  # otherwise all chunks have the filters in `native`
        note("filter-mask", masks != 0)
    return states
