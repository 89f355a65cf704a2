"""The place of chunks: that in the file's array against that in the set's grid.

When files are joined, the chunks of one file all move by the same number of elements along each
dimension: the file has its *origin* there. Dimensions that only the set has, since files are
stacked, come with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from refexplorer.checks.compare.set_array import SetArray
from refexplorer.formats.datafiles.data_file import FileArray, FileChunks

Lengths = tuple[int, ...]
MOST_PIECES = 1_000_000
"""Pieces of a file's chunks that are looked for in a set, of one array of one file."""


@dataclass(frozen=True)
class Alignment:
    """A file's array in the dimensions of the set's."""

    axes: Lengths  # The dimension of the set for each of the file
    # shape, chunks: Of the file's array, with a length of 1 along the dimensions that it has not
    shape: Lengths
    chunks: Lengths

    def spread(self, indices: np.ndarray) -> np.ndarray:
        """Return indices ``(n, rank of the file)`` as ``(n, rank of the set)``."""
        found = np.zeros((len(indices), len(self.shape)), np.int64)
        found[:, list(self.axes)] = indices
        return found


def aligned(ours: SetArray, native: FileArray) -> Alignment | None:
    """Return how a file's array lies in the dimensions of the set's; None if it has more."""
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
    return Alignment(axes, tuple(shape), tuple(chunks))


def is_cut(ours: SetArray, native: FileArray, lie: Alignment) -> bool:
    """Say whether chunks of the set are pieces of the file's, as kerchunk's `subchunk` makes them.

    Pieces that follow each other in the file: of uncompressed chunks in C order, cut along the
    first dimensions only.
    """
    pieces, whole = ours.meta.chunks, lie.chunks
    if native.filters != () or pieces == whole or prod(pieces) >= prod(whole):
        return False
    last = max(axis for axis, (p, w) in enumerate(zip(pieces, whole, strict=True)) if p != w)
    return all(p <= w for p, w in zip(pieces, whole, strict=True)) and prod(pieces[:last]) == 1


def file_starts(
    chunks: FileChunks, rows: np.ndarray, inside: np.ndarray, lie: Alignment, itemsize: int
) -> np.ndarray:
    """Return the first element of ranges in the file's array, in the dimensions of the set."""
    starts = lie.spread(chunks.indices[rows]) * np.array(lie.chunks, np.int64)
    if inside.any():
        within = np.unravel_index(inside // max(itemsize, 1), lie.chunks)
        starts = starts + np.stack(within, axis=1)
    return starts


def origin_of(moves: np.ndarray, lie: Alignment, whole: Lengths) -> np.ndarray:
    """Return where a file's array begins in the set's, as most of its chunks say."""
    room = np.array(whole, np.int64) - np.array(lie.shape, np.int64)
    free = np.maximum(room, 0)
    fits = ((moves >= 0) & (moves <= free)).all(axis=1)
    moves = moves[fits] if fits.any() else np.where(free > 0, moves, 0)
    kinds, counts = np.unique(moves, axis=0, return_counts=True)
    found: np.ndarray = kinds[np.argmax(counts)]
    return found


class ExpectedChunks(NamedTuple):
    """The chunks that the set should have of a file, n of them."""

    numbers: np.ndarray  # In the grid of the set's array, shape ``(n,)``
    rows: np.ndarray  # The chunks of the file, or those that have the pieces, shape ``(n,)``
    inside: np.ndarray  # Bytes from the start of each chunk to that of the piece, shape ``(n,)``


_NONE = ExpectedChunks(*(np.empty(0, np.int64) for _ in range(3)))


def expected(
    chunks: FileChunks, lie: Alignment, origin: np.ndarray, ours: SetArray, cut: bool
) -> ExpectedChunks:
    """Return the chunks that the set should have of a file, those in its grid."""
    meta = ours.meta
    starts = lie.spread(chunks.indices) * np.array(lie.chunks, np.int64)
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
    places, rest = np.divmod(starts + origin, size)
    grid = np.array(meta.narrow_grid, np.int64)
    good = ((rest == 0) & (places >= 0) & (places < grid)).all(axis=1)
    numbers: np.ndarray = np.ravel_multi_index(tuple(places[good].T), meta.narrow_grid)
    return ExpectedChunks(numbers, rows[good], inside[good])


def set_indices(ours: SetArray, numbers: np.ndarray) -> np.ndarray:
    """Return the indices of chunks of a set by their numbers, shape ``(n, rank)``."""
    if not ours.meta.grid:
        return np.zeros((len(numbers), 0), np.int64)
    return np.stack(np.unravel_index(numbers, ours.meta.narrow_grid), axis=1)
