"""The references of one array to one file, put together by the array of the file they lead to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from refexplorer.checks.compare.file_chunks import NOWHERE, FileLayout, FoundChunks
from refexplorer.checks.compare.placing import (
    Alignment,
    aligned,
    file_starts,
    is_cut,
    origin_of,
    set_indices,
)
from refexplorer.checks.compare.set_array import SetArray
from refexplorer.checks.records import NAMED_KEYS, Finding
from refexplorer.checks.states import LedgerState
from refexplorer.formats.datafiles.data_file import FileArray, FileChunks
from refexplorer.markup import counted

SAME, MOVED, OUTSIDE = LedgerState.PLACED, LedgerState.WRONG_RANGE, LedgerState.UNTOUCHED
"""A reference that is where the file has the chunk; that is not; that is of no chunk."""


@dataclass
class FileReferences:
    """The references that one array has to one file, n of them."""

    numbers: np.ndarray  # Of the chunks in the grid, -1 outside, shape ``(n,)`` int64
    # offsets, lengths: Bytes; a whole file has the offset 0 and the length -1
    offsets: np.ndarray
    lengths: np.ndarray


@dataclass
class NativeReferences:
    """The references of an array that lead to one array of the file, n of them."""

    # ours, native, place, lie: The array of the set, that of the file, its place in
    # `FileLayout.arrays`, and how it lies in the dimensions of the set's
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
    findings: list[Finding] = field(default_factory=list)  # What is wrong with the ranges

    @property
    def is_placed(self) -> bool:
        """Whether both arrays have dimensions that can be compared."""
        return self.origin.ndim == 1

    @property
    def piece(self) -> int:
        """Bytes of a chunk of the set that is a piece of one of the file."""
        return prod(self.ours.meta.chunks) * self.native.dtype.itemsize

    @property
    def is_exact(self) -> np.ndarray:
        """Whether each range starts where a chunk does, or a piece of one, shape ``(n,)``."""
        step = max(self.piece, 1) if self.is_cut else np.iinfo(np.int64).max
        found: np.ndarray = self.inside % step == 0
        return found

    def meets(self, other: NativeReferences) -> bool:
        """Say whether two arrays of a file would lie in the same place of the set's array."""
        if not (self.is_placed and other.is_placed):
            return True
        starts = np.maximum(self.origin, other.origin)
        ends = (each.origin + np.array(each.lie.shape) for each in (self, other))
        return bool((starts < np.minimum(*ends)).all())


def grouped(
    ours: SetArray, found: FileReferences, filed: FileLayout
) -> tuple[list[NativeReferences], np.ndarray]:
    """Put references together that lead to the same array of the file."""
    states = np.full(len(found.numbers), MOVED, np.uint8)
    at = filed.find(found.offsets, found.lengths)
    usable = (at.owners != NOWHERE) & (found.numbers >= 0)
    places, counts = np.unique(at.owners[usable], return_counts=True)
    order = places[np.argsort(-counts, kind="stable")].tolist()
    named = filed.places.get(ours.meta.path)
    if named is not None and filed.chunks[named] is not None:
        order = [named] if named in order else []
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
        rank = f"{len(ours.meta.shape)} dimensions", f"{len(native.shape)} dimensions"
        group.findings.append(Finding("rank", *rank, count=len(rows)))
        return group
    cut = is_cut(ours, native, lie) and not (
        (inside == 0).all() and (found.lengths[rows] == known.lengths[chunks]).all()
    )
    group = NativeReferences(ours, place, native, lie, cut, rows, chunks, inside, inside, inside)
    exact = group.is_exact
    within = np.where(exact & cut, inside, 0)
    starts = file_starts(known, chunks, within, lie, native.dtype.itemsize)
    size = np.array(ours.meta.chunks if cut else lie.chunks, np.int64)
    group.moves = set_indices(ours, found.numbers[rows]) * size - starts
    good = exact if exact.any() else np.ones(len(rows), np.bool_)
    group.origin = origin_of(group.moves[good], lie, ours.meta.shape)
    return group


def _as_stored(native: FileArray, known: FileChunks, chunks: np.ndarray) -> FileArray:
    """Return an array with the filters that all of some chunks were encoded by."""
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
    keys = key_of(group.ours, found.numbers[group.rows])
    exact, chunks, name = group.is_exact, group.chunks, group.native.name
    states = np.full(len(group.rows), SAME, np.uint8)

    def note(cause: str, wrong: np.ndarray, message: str | None = None) -> None:
        rows = np.flatnonzero(wrong)
        states[rows] = MOVED
        named = first_keys(keys, rows)
        group.findings.append(Finding(cause, None, None, message, len(rows), named))

    if not exact.all():
        row = int(np.argmin(exact))
        where = known.indices[chunks[row]].tolist()
        inside = counted(int(group.inside[row]), "byte")
        note("offset", ~exact, f"{keys(row)} starts {inside} inside chunk {where} of `{name}`")
    lengths = np.full(len(chunks), group.piece) if group.is_cut else known.lengths[chunks]
    given = found.lengths[group.rows]
    wrong = exact & (given != lengths) & (given >= 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        has = counted(int(given[row]), "byte")
        note("length", wrong, f"{keys(row)} has {has}, the chunk of `{name}` {int(lengths[row]):,}")
    masks = np.zeros(len(chunks)) if known.masks is None else known.masks[chunks]
    if len(np.unique(masks)) > 1:  # else all are encoded alike, and `native` says how
        note("filter-mask", masks != 0)
    return states


def key_of(ours: SetArray, numbers: np.ndarray) -> Callable[[int], str]:
    """Return what names the key of a row; `numbers` are those of the chunks."""
    return lambda row: ours.meta.chunk_key(ours.meta.index_at(int(numbers[row])))


def first_keys(keys: Callable[[int], str], rows: np.ndarray) -> list[str]:
    """Return the keys of the first rows, as findings name them."""
    return [keys(row) for row in rows[:NAMED_KEYS].tolist()]
