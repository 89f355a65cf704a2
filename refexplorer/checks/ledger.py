"""The ledger of a run: a state for every chunk, key, object and file, and further counts."""

from __future__ import annotations

import mmap
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import prod
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from refexplorer.checks.axes import CheckedAxis
from refexplorer.checks.references import LostFiles
from refexplorer.checks.states import (
    CHUNK_TERMS,
    DIFFERENT,
    KeyState,
    LedgerState,
    ObjectState,
    Rank,
)
from refexplorer.core.errors import LimitError
from refexplorer.core.text import counted, escape

DENSE_CHUNKS = 10**8
"""Chunks of an array that have a byte each; of a larger one only those looked at are kept."""
MAPPED_CHUNKS = 10**6
"""From so many chunks of a set on the bytes are mapped memory, so that memory stays flat."""
COUNTED_CHUNKS = 2**24  # Chunks that are counted at once
BAD_STATES = np.array([CHUNK_TERMS[state].rank is Rank.BAD for state in LedgerState])
DEPTHS = np.array([CHUNK_TERMS[state].depth for state in LedgerState], np.int8)
RANKS = np.array([CHUNK_TERMS[state].rank for state in LedgerState], np.int8)


class Ledger:
    """The state of every chunk, and of keys, objects and files.

    Parameters
    ----------
    grids
        The chunk grid of each array, by path.

    Attributes
    ----------
    keys, files
        Their states; see `Book`.
    followed
        References to chunks that were followed; None if this was not requested.
    decoded_inline
        Inline chunks among the decoded ones.
    seen
        Chunks at the right position, decoded, and compared with their file, whose state does not
        say so, since it is that of a fault.
    overlapping
        Chunks of files at positions for which the set refers to another file.
    by_length
        Chunks of which only the length was compared, as their files have no known format.
    of_one_file
        Arrays from one file whose values in the others were not compared.
    undecoded
        Arrays with references at the right position that no installed codec decodes.
    objects
        The objects of all files; see `ObjectBook`.
    listed
        Numbers of chunks with a reference or inline data, by array.
    unchosen
        Numbers of chunks outside the requested share, by array.
    """

    def __init__(self, grids: Mapping[str, tuple[int, ...]]) -> None:
        self.keys = Book("keys")
        self.files = Book("files")
        self.followed: int | None = None
        self.decoded_inline = 0
        self.seen = [0, 0, 0]
        self.overlapping = 0
        self.by_length = 0
        self.of_one_file: set[str] = set()
        self.undecoded: set[str] = set()
        self.objects = ObjectBook()
        self.listed: dict[str, int] = {}
        self._grids = dict(grids)
        sizes = {path: prod(grid) for path, grid in self._grids.items()}
        dense = {path: size for path, size in sizes.items() if size <= DENSE_CHUNKS}
        buffer = _bytes(sum(dense.values()))
        self._dense: dict[str, np.ndarray] = {}
        start = 0
        for path, size in dense.items():
            self._dense[path] = buffer[start : start + size]
            start += size
        self._sparse = {path: _Visited() for path in sizes if path not in dense}
        self._counted: dict[str, dict[LedgerState, int]] = {}
        self.unchosen: dict[str, int] = dict.fromkeys(sizes, 0)

    @property
    def paths(self) -> list[str]:
        """The arrays."""
        return list(self._grids)

    def total(self, path: str) -> int:
        """Return the number of chunks in the grid of an array."""
        return prod(self._grids[path])

    def mark(self, path: str, chunks: np.ndarray, states: np.ndarray | LedgerState) -> None:
        """Set the states of chunks by number; the larger of the old and new state is kept."""
        self._counted.pop(path, None)
        given = np.broadcast_to(np.asarray(states, np.uint8), chunks.shape)
        if path in self._dense:
            np.maximum.at(self._dense[path], chunks, given)
        else:
            self._sparse[path].add(chunks, given)

    def restate(self, path: str, chunks: np.ndarray, states: np.ndarray) -> None:
        """Replace the states of inline chunks after all files were compared."""
        self._counted.pop(path, None)
        if path in self._dense:
            self._dense[path][chunks] = np.where(
                BAD_STATES[self._dense[path][chunks]], self._dense[path][chunks], states
            )
        else:
            self.mark(path, chunks, states)

    def mark_free(self, path: str, chunks: np.ndarray, state: LedgerState) -> np.ndarray:
        """Set the state of the chunks that have none yet, and return these chunks."""
        free: np.ndarray = chunks[self.at(path, chunks) == LedgerState.UNTOUCHED]
        self.mark(path, free, state)
        return free

    def at(self, path: str, chunks: np.ndarray) -> np.ndarray:
        """Return the states of chunks by number, shape ``(n,)`` uint8."""
        dense = self._dense.get(path)
        found: np.ndarray = self._sparse[path].at(chunks) if dense is None else dense[chunks]
        return found

    def mark_region(
        self, path: str, start: Sequence[int], stop: Sequence[int], state: LedgerState
    ) -> None:
        """Set the state of the chunks in a box of the grid that have none yet."""
        # For an array with too many chunks for a byte each, nothing is recorded: chunks whose state
        # does not follow by arithmetic stay untouched.
        if path not in self._dense:
            return  # too many for a byte each: they stay untouched
        self._counted.pop(path, None)
        grid = self._grids[path]
        bounds = zip(start, stop, grid, strict=True)
        place = tuple(slice(max(first, 0), min(end, size)) for first, end, size in bounds)
        whole: Any = (*place, ...)  # without the ellipsis a scalar would be a copy
        box = self._dense[path].reshape(grid)[whole]
        box[box == LedgerState.UNTOUCHED] = state

    def mark_untouched(
        self, path: str, state: LedgerState, before: LedgerState = LedgerState.UNTOUCHED
    ) -> None:
        """Set the state of all chunks of an array that have none yet, or have `before`."""
        self._counted.pop(path, None)
        if path in self._dense:
            book = self._dense[path]
            for start in range(0, len(book), COUNTED_CHUNKS):
                part = book[start : start + COUNTED_CHUNKS]
                part[part == before] = state
        else:
            self._sparse[path].rest = state

    def note_listed(self) -> None:
        """Store how many chunks have a reference or are inline, before any state is set."""
        for path in self._grids:
            if path in self._dense:
                self.listed[path] = int(np.count_nonzero(self._dense[path]))
            else:
                self.listed[path] = self.total(path) - self.counts(path).get(
                    LedgerState.UNTOUCHED, 0
                )

    def counts(self, path: str) -> dict[LedgerState, int]:
        """Return how many chunks of an array are in each state, without empty states."""
        if path not in self._counted:
            self._counted[path] = self._count(path)
        return self._counted[path]

    def _count(self, path: str) -> dict[LedgerState, int]:
        if path in self._dense:
            book = self._dense[path]
            numbers = dict.fromkeys(LedgerState, 0)
            for start in range(0, len(book), COUNTED_CHUNKS):
                part = book[start : start + COUNTED_CHUNKS]
                for state in LedgerState:  # faster than `bincount`, which widens bytes eightfold
                    numbers[state] += int(np.count_nonzero(part == state))
        else:
            numbers = self._sparse[path].counts(self.total(path))
        return {state: number for state, number in numbers.items() if number}

    def all_counts(self) -> Counter[LedgerState]:
        """Return how many chunks of all arrays are in each state."""
        found: Counter[LedgerState] = Counter()
        for path in self._grids:
            found.update(self.counts(path))
        return found

    def states(self, path: str) -> np.ndarray:
        """Return the states of an array, in the shape of its grid, uint8, read-only.

        Raises
        ------
        LimitError
            If the array has more than `DENSE_CHUNKS` chunks.
        """
        if path not in self._dense:
            raise LimitError(
                f"{self.total(path):,} chunks of {escape(path) or 'the root array'} are too many "
                "to return a state for each; `counts` has the totals by state."
            )
        found = self._dense[path].reshape(self._grids[path]).view()
        found.flags.writeable = False
        return found

    def chunks_in(self, path: str, state: LedgerState, limit: int) -> np.ndarray:
        """Return the numbers of the first chunks of an array in a state, shape ``(n,)`` int64."""
        if path not in self._dense:
            return self._sparse[path].chunks_in(state, limit)
        parts, left = [np.empty(0, np.int64)], limit
        book = self._dense[path]
        for start in range(0, len(book), COUNTED_CHUNKS):
            found = np.flatnonzero(book[start : start + COUNTED_CHUNKS] == state)[:left] + start
            parts.append(found)
            left -= len(found)
            if left <= 0:
                break
        return np.concatenate(parts)

    def faults(self) -> list[str]:
        """Return a sentence for each inconsistent count."""
        found = []
        for path in self._grids:
            counts = self.counts(path)
            if (seen := sum(counts.values())) != self.total(path):
                name = escape(path, 200) or "the root array"
                found.append(f"{name} has {self.total(path):,} chunks, {seen:,} have a state.")
            untouched = (LedgerState.UNTOUCHED, LedgerState.REFERENCED)
            if self.unchosen[path] > sum(counts.get(state, 0) for state in untouched):
                name = escape(path, 200) or "the root array"
                found.append(f"{name} has fewer unchecked chunks than the share excludes.")
        in_chunks = self.keys.counts[KeyState.CHUNK]
        if self.followed is not None and in_chunks != self.followed:
            keys, references = counted(in_chunks, "key"), counted(self.followed, "reference")
            found.append(f"The set has {keys} of chunks, but {references} to chunks were followed.")
        for book in (self.keys, self.files):
            found += book.faults()
        return found + self.objects.faults()


@dataclass
class Book:
    """Counts by state."""

    name: str  # What they are, in the plural
    # How many there are, obtained in another way than by counting states; None: not known
    total: int | None = None
    counts: Counter[StrEnum] = field(default_factory=Counter)  # By state
    # The first things in a state, by their names
    examples: dict[StrEnum, list[str]] = field(default_factory=dict)

    def faults(self) -> list[str]:
        """Return a sentence if the states do not add up to the total."""
        seen = sum(self.counts.values())
        if self.total is None or seen == self.total:
            return []
        return [f"There are {self.total:,} {self.name}, {seen:,} have a state."]


class ObjectBook:
    """The objects of all files: datasets, variables, fields of messages."""

    def __init__(self) -> None:
        self.declared = 0
        self.counts: Counter[ObjectState] = Counter()
        self.files_by_name: dict[str, Counter[ObjectState]] = {}
        self.reasons: Counter[tuple[str, str]] = Counter()

    def add(self, name: str, state: ObjectState, reason: str = "") -> None:
        """Record an object of a file."""
        self.counts[state] += 1
        self.files_by_name.setdefault(name, Counter())[state] += 1
        if reason:
            self.reasons[name, reason] += 1

    def leave_out(self, name: str, reason: str) -> None:
        """Record an object that was omitted on opening the file, not by the set's maker."""
        if moved := self.files_by_name.get(name, Counter()).pop(ObjectState.NOT_TAKEN, 0):
            self.counts[ObjectState.NOT_TAKEN] -= moved
            self.counts[ObjectState.LEFT_OUT] += moved
            self.files_by_name[name][ObjectState.LEFT_OUT] += moved
            self.reasons[name, reason] += moved

    def names(self, *states: ObjectState) -> list[str]:
        """Return the names that have one of the given states in any file."""
        return [
            name
            for name, counts in self.files_by_name.items()
            if any(counts[state] for state in states)
        ]

    def faults(self) -> list[str]:
        """Return a sentence if the states do not add up to what the files declare."""
        seen = sum(self.counts.values())
        if seen == self.declared:
            return []
        return [f"The files declare {counted(self.declared, 'object')}, {seen:,} have a state."]


class _Visited:
    """The visited chunks of a very large array, and their states."""

    def __init__(self) -> None:
        self.rest = LedgerState.UNTOUCHED
        self._settled = np.empty(0, np.int64), np.empty(0, np.uint8)
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._size = 0

    def add(self, chunks: np.ndarray, states: np.ndarray) -> None:
        """Add chunks; the larger of two states is kept."""
        self._parts.append((chunks.astype(np.int64), states.astype(np.uint8)))
        self._size += len(chunks)
        if self._size > len(self._settled[0]) + COUNTED_CHUNKS:
            self._settle()

    def counts(self, total: int) -> dict[LedgerState, int]:
        """Return how many chunks are in each state, of `total` in all."""
        chunks, states = self._settle()
        found = np.bincount(states, minlength=len(LedgerState)).tolist()
        numbers = dict(zip(LedgerState, found, strict=True))
        numbers[self.rest] += total - len(chunks)
        return numbers

    def at(self, chunks: np.ndarray) -> np.ndarray:
        """Return the states of chunks."""
        known, states = self._settle()
        found = np.full(len(chunks), self.rest, np.uint8)
        places = np.searchsorted(known, chunks)
        has = places < len(known)
        has[has] = known[places[has]] == chunks[has]
        found[has] = states[places[has]]
        return found

    def chunks_in(self, state: LedgerState, limit: int) -> np.ndarray:
        """Return the first visited chunks in a state."""
        chunks, states = self._settle()
        found: np.ndarray = chunks[states == state][:limit]
        return found

    def _settle(self) -> tuple[np.ndarray, np.ndarray]:
        """Merge all parts, ascending, each chunk once."""
        if self._parts:
            pairs = zip(self._settled, *self._parts, strict=True)
            chunks, states = (np.concatenate(each) for each in pairs)
            order = np.lexsort((states, chunks))
            chunks, states = chunks[order], states[order]
            is_last = np.append(chunks[1:] != chunks[:-1], True)[: len(chunks)]
            self._settled = chunks[is_last], states[is_last]
            self._parts, self._size = [], 0
        return self._settled


def _bytes(count: int) -> np.ndarray:
    """Return zeros, in an unnamed memory-mapped file if there are many."""
    if count < MAPPED_CHUNKS:
        return np.zeros(count, np.uint8)
    with TemporaryFile() as file:
        file.truncate(count)
        return np.frombuffer(mmap.mmap(file.fileno(), count), np.uint8)


@dataclass(frozen=True, slots=True)
class CheckedArray:
    """One array.

    Attributes
    ----------
    path
        The path of the array.
    chunks
        The number of chunks in its grid.
    files
        The number of files it was compared with.
    states
        Chunk counts by state, without empty states.
    """

    path: str
    chunks: int
    files: int
    states: Mapping[LedgerState, int]

    @property
    def name(self) -> str:
        """The name used in reports."""
        return self.path or "(the root array)"

    @property
    def n_different(self) -> int:
        """The number of chunks that differ from their file."""
        return sum(n for state, n in self.states.items() if state in DIFFERENT)

    @property
    def n_compared(self) -> int:
        """The number of chunks that were compared."""
        good = (n for s, n in self.states.items() if CHUNK_TERMS[s].rank is Rank.GOOD)
        return self.n_different + sum(good)

    @property
    def states_text(self) -> str:
        """The number of chunks in each state, as text."""
        found = (f"{n:,} {CHUNK_TERMS[state].name}" for state, n in sorted(self.states.items()))
        return ", ".join(found) or "no chunks"


@dataclass
class Counts:
    """Counts that are not in the ledger."""

    references: int = 0  # All of the set
    unfinished: tuple[str, ...] = ()  # A sentence for each part that was given up
    stopped: bool = False  # Whether it was stopped before the end
    # Record files of a parquet store that are missing or cannot be read
    lost: LostFiles = field(default_factory=LostFiles)
    forms: dict[str, int] = field(default_factory=dict)  # Files by format
    # How many files each array was compared with, by path
    files: dict[str, int] = field(default_factory=dict)
    # Why references were not looked at: array, reason, how many
    reasons: tuple[tuple[str | None, str, int], ...] = ()
    # What of the metadata was not compared: array, what, in how many files
    unchecked: tuple[tuple[str, str, int], ...] = ()
    # The first files that could not be read, and why
    failures: dict[str, str] = field(default_factory=dict)
    # What is different of targets that changed, by their URLs as people may see them
    changed: dict[str, str] = field(default_factory=dict)
    grants: tuple[str, ...] = ()  # What `allow` needs for what was not asked
    at: float = field(default_factory=time.time)  # When, in seconds since 1970
    # values, largest, largest_at, false_nan: Values that were compared, the largest difference and
    # its key, and how many values of the files the set reads as missing
    values: int = 0
    largest: float | None = None
    largest_at: str | None = None
    false_nan: int = 0
    axes: tuple[CheckedAxis, ...] = ()  # The coordinates that were looked at
    unopened: tuple[str, ...] = ()  # Why xarray does not open it as it is, a sentence each
    since: str = ""  # What was compared with a lock
    # The shares whose results are of earlier runs, and when the oldest of each were written
    shares: dict[int, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()  # Other requested results that are unknown
