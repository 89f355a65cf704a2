"""The arrays of a set and the states of their chunks, as far as known.

The chunks in the metadata are counted once. The states of read chunks change with each reading, so
these columns are rebuilt after something was read, audited or linted.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from msgspec import Struct

from refexplorer.checks.states import CHUNK_TERMS, UNREADABLE, LedgerState, Rank
from refexplorer.core.errors import LimitError
from refexplorer.core.limits import INT64_MAX
from refexplorer.io.decode.sizes import Index
from refexplorer.refset.chunk_grid import DENSE_CHUNKS, ChunkColumns, ChunkReferences
from refexplorer.refset.opened_set import internals
from refexplorer.refset.summary import ArrayStates
from refexplorer.spec.codes import Severity
from refexplorer.spec.references import folders_above
from refexplorer.spec.zarr_metadata import ArrayMeta
from refexplorer.views.wire.context import FailureLog, known
from refexplorer.views.wire.requests import Count

if TYPE_CHECKING:
    from refexplorer.checks.report import Report
    from refexplorer.refset.targets import TargetIndex
    from refexplorer.verbs.referenceset import ReferenceSet


StateName = Literal[
    "referenced", "absent", "rejected", "failed", "unread", "differing", "overlapping"
]
"""A state of `HealthCounts`."""


class Badges(Struct, frozen=True):
    """Known problems of a key, or of the arrays below a folder."""

    rejected: Count = 0
    failed: Count = 0  # Chunks that could not be fetched or decoded when they were read
    absent: Count = 0
    # errors, warnings: Notes that name a key
    errors: Count = 0
    warnings: Count = 0
    # overlapping, differing: As `HealthCounts` has them
    overlapping: Count = 0
    differing: Count = 0


class HealthCounts(Struct, frozen=True):
    """Chunks by state; null if unknown."""

    chunks: Count  # Of the grid
    referenced: Count | None
    absent: Count | None  # Without a reference
    rejected: Count | None  # With a reference that an error keeps out of the set
    # Of those that were tried in this session or in the last audit; null if none was
    failed: Count | None
    unread: Count | None  # With a reference that was not tried
    # Of those that the last verification compared with their files; null if it compared none. Not
    # those that only metadata decode differently: a finding names these metadata
    differing: Count | None
    # Whose byte range shares bytes with another one; null until the references were sorted by
    # their targets
    overlapping: Count | None


class Outcomes(NamedTuple):
    """The tried chunks of an array with a reference, as columns of indices."""

    # failed, read: Numbers in the grid, ascending, shape ``(n,)`` int64; no chunk is in both
    failed: np.ndarray
    read: np.ndarray


@dataclass(frozen=True)
class HealthColumns:
    """The state of all arrays, in the order of the set: each column has one entry per array."""

    states: ArrayStates  # The counts that follow from the set itself
    # failed, read: Chunks that were tried: those that could not be fetched or decoded, and the
    # others
    failed: tuple[int, ...]
    read: tuple[int, ...]
    # errors, warnings: Notes that name the array or a key of it, and differences of its metadata
    # from those of its files; None as long as those of the set are not known
    errors: tuple[int, ...] | None
    warnings: tuple[int, ...] | None
    # Chunks whose reference or values differ from their file, those that failed left out; None
    # where none was compared
    differing: tuple[int | None, ...]
    lacking: tuple[int, ...]  # Of these, chunks without a reference
    # References that share bytes with another one; None until they were sorted by targets
    overlapping: tuple[int, ...] | None
    # The keys that an error or a warning names, each with the worse of them
    noted: Mapping[str, Severity]

    def unread(self, place: int) -> int | None:
        """Return how many chunks with a reference were not tried; None if unknown."""
        referenced = self.states.counts[place].referenced
        if referenced is None:
            return None
        return max(referenced - self.failed[place] - self.read[place], 0)

    def counts(self, place: int) -> HealthCounts:
        """Return the chunks of an array by state."""
        failed, read = self.failed[place], self.read[place]
        tried = failed if failed + read else None
        shared = None if self.overlapping is None else self.overlapping[place]
        counts, unread = self.states.counts[place], self.unread(place)
        return HealthCounts(*counts, tried, unread, self.differing[place], shared)

    def notes(self, place: int) -> tuple[int | None, int | None]:
        """Return the errors and the warnings that name an array or a key of it."""
        if self.errors is None or self.warnings is None:
            return None, None
        return self.errors[place], self.warnings[place]

    @property
    def sums(self) -> HealthCounts:
        """The sums over all arrays; for differing chunks over the compared ones."""
        total, failed, read = self.states.total, sum(self.failed), sum(self.read)
        unread = None if total.referenced is None else max(total.referenced - failed - read, 0)
        compared = [each for each in self.differing if each is not None]
        differing = sum(compared) if compared else None
        overlapping = None if self.overlapping is None else sum(self.overlapping)
        tried = failed if failed + read else None
        return HealthCounts(*total, tried, unread, differing, overlapping)

    @cached_property
    def _before(self) -> dict[str, list[int]]:
        """The cumulative sum of each column before each array."""
        counts = self.states.counts
        columns: dict[str, Sequence[int]] = {
            # a chunk that differs counts as that alone
            "absent": [
                max((each.absent or 0) - lacking, 0)
                for each, lacking in zip(counts, self.lacking, strict=True)
            ],
            "rejected": [each.rejected or 0 for each in counts],
            "failed": self.failed,
            "errors": self.errors or (0,) * len(counts),
            "warnings": self.warnings or (0,) * len(counts),
            "overlapping": self.overlapping or (0,) * len(counts),
            "differing": [each or 0 for each in self.differing],
        }
        return {name: list(accumulate(each, initial=0)) for name, each in columns.items()}

    def below(self, first: int, last: int) -> dict[str, int]:
        """Return the problems of the arrays in the folders numbered `first` to `last`."""
        low, high = (bisect_left(self.states.folders, number) for number in (first, last))
        return {name: sums[high] - sums[low] for name, sums in self._before.items()}


class ChunkHealth:
    """The known states of the chunks of a set."""

    def __init__(self, refs: ReferenceSet, failure_log: FailureLog) -> None:
        self.references = refs
        self._log = failure_log
        self._made: tuple[tuple[object, ...], HealthColumns] | None = None
        self._outcomes: dict[str, Outcomes] = {}
        self._marked: dict[tuple[str, str], np.ndarray] = {}

    def columns(self) -> HealthColumns:
        """Return the state of all arrays; their chunks are counted on first use."""
        refs, is_linted = self.references, known(self.references) is not None
        now = (self._log.version, refs.audited, refs.verified, is_linted, self._index is not None)
        if self._made is None or self._made[0] != now:
            self._outcomes, self._marked = {}, {}
            self._made = now, self._make()
        return self._made[1]

    def _make(self) -> HealthColumns:
        states = internals(self.references).array_states
        reports = _reports(self.references)
        failed, read = [0] * len(states.arrays), [0] * len(states.arrays)
        for each in (each for report in reports for each in report.arrays):
            if each.path in states.places:
                place = states.places[each.path]
                failed[place] = sum(each.states.get(state, 0) for state in UNREADABLE)
                read[place] = sum(each.states.get(state, 0) for state in _READ)
        # a chunk in several reports is counted once
        told = self._log.arrays().union(states.places if len(reports) > 1 else ())
        for path in told & states.places.keys():
            place = states.places[path]
            outcomes = self.outcomes(states.arrays[place])
            failed[place], read[place] = len(outcomes.failed), len(outcomes.read)
        errors, warnings = self._noted(states)
        shared = None if (index := self._index) is None else index.shared_counts
        return HealthColumns(
            states,
            tuple(failed),
            tuple(read),
            errors,
            warnings,
            *self._differing(states),
            None if shared is None else tuple(shared.get(each.path, 0) for each in states.arrays),
            self._noted_keys(),
        )

    @property
    def _index(self) -> TargetIndex | None:
        """The references by file, if already computed."""
        inside = internals(self.references)
        return inside.target_index if "target_index" in vars(inside) else None

    def overlapping(self, array: ArrayMeta) -> np.ndarray:
        """Return the numbers of the chunks that overlap another reference, as of `columns`."""
        index = self._index
        if index is None or not index.shared_counts.get(array.path):
            return np.empty(0, number_type(array))
        found = map(array.chunk_index, index.shared_keys(array.path))
        numbers = {array.chunk_number(each) for each in found if each and array.contains(each)}
        return np.array(sorted(numbers), number_type(array))

    def differing(self, array: ArrayMeta) -> np.ndarray:
        """Return the numbers of the chunks that differ from their files, ascending."""
        verified = self.references.verified
        if verified is None:
            return np.empty(0, np.int64)
        found = verified.differing(array.path)
        found = found[found < array.chunk_count]  # the array may have changed since
        states = verified.chunks(array.path).reshape(-1)
        found = found[states[found] != LedgerState.WRONG_METADATA]
        return np.setdiff1d(found, self.outcomes(array).failed) if len(found) else found

    def _differing(self, states: ArrayStates) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
        """Count chunks that differ from their files, and those of them without a reference."""
        found: list[int | None] = [None] * len(states.arrays)
        lacking = [0] * len(states.arrays)
        verified = self.references.verified
        for each in () if verified is None else verified.arrays:
            if each.path in states.places and each.n_compared:
                place = states.places[each.path]
                is_told = each.n_different > 0 and each.chunks <= DENSE_CHUNKS
                array = states.arrays[place]
                count = each.n_different - each.states.get(LedgerState.WRONG_METADATA, 0)
                found[place] = len(self.differing(array)) if is_told else count
                lacking[place] = sum(each.states.get(state, 0) for state in _LACKING)
        return tuple(found), tuple(lacking)

    def _noted_keys(self) -> dict[str, Severity]:
        # errors come first among them
        found: dict[str, Severity] = {}
        verified = self.references.verified
        compared = () if verified is None else verified.findings
        for diagnostic in (*(known(self.references) or ()), *compared):
            if diagnostic.key is not None and diagnostic.severity is not Severity.INFO:
                found.setdefault(diagnostic.key, diagnostic.severity)
        return found

    def _noted(
        self, states: ArrayStates
    ) -> tuple[tuple[int, ...], tuple[int, ...]] | tuple[None, None]:
        """Count the listed errors and warnings that name each array, or a key of it."""
        if (diagnostics := known(self.references)) is None:
            return None, None
        counts = {severity: [0] * len(states.arrays) for severity in Severity}
        for diagnostic in diagnostics:
            key = diagnostic.key or ""
            paths = (path for path in (key, *folders_above(key)) if path in states.places)
            if (path := next(paths, None)) is not None and diagnostic.key is not None:
                counts[diagnostic.severity][states.places[path]] += 1
        verified, arrays = self.references.verified, internals(self.references).opened.arrays
        for each in () if verified is None else verified.findings:
            # those of chunks are counted as chunks
            if each.array in states.places and arrays.of_key(each.key or "") is None:
                counts[each.severity][states.places[each.array]] += 1
        return tuple(counts[Severity.ERROR]), tuple(counts[Severity.WARNING])

    def may_have(self, place: int, state: StateName) -> bool:
        """Return whether an array may have chunks in a state, from the counts only."""
        count: int | None = getattr(self.columns().counts(place), state)
        if count is None:  # nobody looked for it, or it is not counted yet
            return state not in ("failed", "differing", "overlapping")
        return count != 0

    def outcomes(self, array: ArrayMeta) -> Outcomes:
        """Return which chunks failed, in this session or the last audit, as of `columns`."""
        if array.path not in self._outcomes:
            failed = self._numbers(array, self._log.failed(array.path))
            read = self._numbers(array, self._log.read(array.path))
            for states in (each.ravel() for each in _grids(self.references, array)):
                failed = np.union1d(failed, np.flatnonzero(np.isin(states, [*UNREADABLE])))
                read = np.union1d(read, np.flatnonzero(np.isin(states, [*_READ])))
            self._outcomes[array.path] = Outcomes(failed, np.setdiff1d(read, failed))
        return self._outcomes[array.path]

    def badges(self, path: str) -> Badges | None:
        """Return the known problems at or below a path; None if there are none."""
        columns, opened = self.columns(), internals(self.references).opened
        folder = opened.tree.folder(path)
        if folder is not None:
            sums = columns.below(folder.number, folder.end)
            return Badges(**sums) if any(sums.values()) else None
        owner, severity = opened.arrays.of_key(path), columns.noted.get(path)
        found = {} if owner is None else self._marks(*owner)
        found["errors"] = int(severity is Severity.ERROR)
        found["warnings"] = int(severity is Severity.WARNING)
        return Badges(**found) if any(found.values()) else None

    def _marks(self, array: ArrayMeta, index: Index) -> dict[str, int]:
        """Return which states, not implied by its reference, a chunk is in."""
        place = self.columns().states.places.get(array.path)
        if place is None or not array.contains(index):
            return {}
        number = array.chunk_number(index)
        states: tuple[StateName, ...] = ("failed", "overlapping", "differing")
        return {
            state: int(_holds(self._numbers_of(state, array), number))
            for state in states
            if self.may_have(place, state)
        }

    def _numbers_of(self, state: StateName, array: ArrayMeta) -> np.ndarray:
        at = (state, array.path)
        if at not in self._marked:
            self._marked[at] = numbers_in_state(self, state, array)
        return self._marked[at]

    def _numbers(self, array: ArrayMeta, indices: dict[Index, str] | set[Index]) -> np.ndarray:
        """Return the numbers of the chunks with a reference among the given ones."""
        found = [
            array.chunk_number(index)
            for index in indices
            if array.contains(index) and self.references.get(array.chunk_key(index)) is not None
        ]
        return np.array(sorted(found), number_type(array))


def _holds(numbers: np.ndarray, number: int) -> bool:
    at = int(np.searchsorted(numbers, number))
    return at < len(numbers) and bool(numbers[at] == number)


def number_type(array: ArrayMeta) -> type[np.int64] | type[object]:
    """Return the data type of chunk numbers: Python integers if 64 bits are too few."""
    return np.int64 if array.chunk_count <= INT64_MAX else object


_READ = (LedgerState.DECODED, LedgerState.EQUAL)
_LACKING = (LedgerState.OTHER_FILL, LedgerState.LACKING)


def _reports(refs: ReferenceSet) -> list[Report]:
    """Return the last audit and the last comparison with the files, if any."""
    return [each for each in (refs.audited, refs.verified) if each is not None]


def _grids(refs: ReferenceSet, array: ArrayMeta) -> Iterator[np.ndarray]:
    """Yield the states of all chunks in the reports, uint8 in the shape of the grid."""
    for report in _reports(refs) if array.chunk_count <= DENSE_CHUNKS else ():
        # a report from before a change may lack the array, or have another grid
        if array.path in report.ledger.paths:
            grid = report.chunks(array.path)
            if grid.shape == array.grid:
                yield grid


def unreadable(refs: ReferenceSet, array: ArrayMeta) -> np.ndarray | None:
    """Return which chunks could not be read, bool in the shape of the grid; None if unknown."""
    grids = [np.isin(each, [*UNREADABLE]) for each in _grids(refs, array)]
    return np.logical_or.reduce(grids) if grids else None


class Checked(Struct, frozen=True):
    """The result of an audit or a comparison with the files for a chunk."""

    text: str
    outcome: Literal["good", "bad", "unknown"]


def checked(refs: ReferenceSet, array: ArrayMeta, index: Index) -> Checked | None:
    """Return the results for a chunk, the worst first; None if it was not checked."""
    states = [LedgerState(each[index]) for each in _grids(refs, array) if each[index]]
    if not states:
        return None
    term = CHUNK_TERMS[max(states)]
    outcomes: dict[Rank, Literal["good", "bad"]] = {Rank.GOOD: "good", Rank.BAD: "bad"}
    return Checked(term.meaning, outcomes.get(term.rank, "unknown"))


LISTED_CHUNKS = 1_000_000  # Of arrays with more chunks the absent ones are not listed


class StateKeys(Sequence[str]):
    """The chunk keys of several arrays, stored as numbers until requested."""

    def __init__(self, parts: Sequence[tuple[ArrayMeta, np.ndarray]]) -> None:
        self._parts = parts
        self._ends = list(accumulate(len(numbers) for _, numbers in parts))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, place: int | slice) -> str | list[str]:  # type: ignore[override]
        if isinstance(place, slice):
            return list(self._between(*place.indices(len(self))[:2]))
        return next(self._between(place, place + 1))

    def _between(self, start: int, stop: int) -> Iterator[str]:
        for part in range(bisect_right(self._ends, start), len(self._parts)):
            array, numbers = self._parts[part]
            before = self._ends[part] - len(numbers)
            if before >= stop:
                return
            for number in numbers[max(start - before, 0) : stop - before].tolist():
                yield array.key_at(number)


def keys_in_state(health: ChunkHealth, state: StateName, path: str | None) -> StateKeys:
    """Return the keys of the chunks in a state; without a path, of all arrays, in order."""
    states = health.columns().states
    places = range(len(states.arrays)) if path is None else [states.places[path]]
    arrays = [states.arrays[place] for place in places if health.may_have(place, state)]
    return StateKeys([(array, numbers_in_state(health, state, array)) for array in arrays])


def numbers_in_state(health: ChunkHealth, state: StateName, array: ArrayMeta) -> np.ndarray:
    """Return the numbers of the chunks of an array in a state, ascending, shape ``(n,)``."""
    if state == "failed":
        return health.outcomes(array).failed
    if state == "differing":
        return health.differing(array)
    if state == "overlapping":
        return health.overlapping(array)
    grid = health.references.chunk_grid(array.path)
    if not grid.complete:
        raise LimitError(
            f"Too many chunks of {array.path_text()} are generated to list them by state; the map "
            f"of chunks shows the states."
        )
    if state == "rejected":
        return _numbers(grid, grid.left_out)
    referenced = _numbers(grid, grid.chunks)
    if state == "unread":
        tried = health.outcomes(array)
        return np.setdiff1d(referenced, np.concatenate([tried.failed, tried.read]))
    if state == "referenced":
        return referenced
    if array.chunk_count > LISTED_CHUNKS:
        raise LimitError(
            f"{array.path_text(True)} has {array.chunk_count:,} chunks, more than the "
            f"{LISTED_CHUNKS:,} that can be listed by state; the map of chunks shows the states."
        )
    there = np.concatenate([referenced, _numbers(grid, grid.left_out)])
    return np.setdiff1d(np.arange(array.chunk_count), there)


def _numbers(grid: ChunkReferences, chunks: ChunkColumns) -> np.ndarray:
    """Return the numbers of chunks, C order, ascending."""
    numbers = np.zeros(len(chunks), number_type(grid.array))
    for axis, size in enumerate(grid.array.grid):
        numbers = numbers * size + chunks.indices[:, axis].astype(numbers.dtype)
    return np.sort(numbers)


BINS = 96  # Parts of a strip: the widest is drawn 300 pixels wide
_STATES: tuple[tuple[StateName, str], ...] = (
    ("differing", "d"),
    ("rejected", "x"),
    ("failed", "x"),
)
"""From the better to the worse, with the letter of each in the text of a strip."""


def strip_of(health: ChunkHealth, array: ArrayMeta, axis: int = 0) -> str:
    """Return a letter for each segment of a dimension.

    ``r``: it has references; ``v``: some of its chunks were read; ``-``: none of its chunks has a
    reference, ``p``: some have none; ``d``: one differs from its file; ``x``: one is rejected or
    failed. For an array with too many chunks, absent ones are not searched.
    """
    if not array.grid or not math.prod(array.grid):
        return ""
    count = array.grid[axis]
    bins = min(count, BINS)
    letters = np.full(bins, "r", "U1")
    letters[_bins(array, axis, bins, health.outcomes(array).read)] = "v"
    with suppress(LimitError):
        absent = _indices(array, axis, _strip_numbers(health, "absent", array))
        if len(absent):
            missing = np.bincount(absent * bins // count, minlength=bins)
            width = np.bincount(np.arange(count) * bins // count, minlength=bins)
            whole = width * (array.chunk_count // count)
            letters[missing > 0] = "p"
            letters[missing == whole] = "-"
    for state, letter in _STATES:
        with suppress(LimitError):
            letters[_bins(array, axis, bins, _strip_numbers(health, state, array))] = letter
    return "".join(letters.tolist())


def _strip_numbers(health: ChunkHealth, state: StateName, array: ArrayMeta) -> np.ndarray:
    columns = health.columns()
    place = columns.states.places.get(array.path)
    if place is None or not health.may_have(place, state):
        return np.empty(0, np.int64)
    return numbers_in_state(health, state, array)


def _indices(array: ArrayMeta, axis: int, numbers: np.ndarray) -> np.ndarray:
    """Return the indices of some chunks along a dimension."""
    inner = math.prod(array.grid[axis + 1 :])
    return np.asarray(numbers // inner % array.grid[axis], np.int64)


def _bins(array: ArrayMeta, axis: int, bins: int, numbers: np.ndarray) -> np.ndarray:
    return _indices(array, axis, numbers) * bins // array.grid[axis]
