"""The keys of the chunks of a state, written out where they are looked at."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from refexplorer.errors import LimitError
from refexplorer.refset.chunk_grid import ChunkColumns, ChunkReferences
from refexplorer.spec.zarr_metadata import ArrayMeta
from refexplorer.views.health.health import ChunkHealth, number_type
from refexplorer.views.wire.explorer.tree_messages import StateName

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet

LISTED_CHUNKS = 1_000_000
"""Of arrays with more chunks the absent ones are not listed."""


class StateKeys(Sequence[str]):
    """The keys of chunks of several arrays, which are numbers until they are asked for."""

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
                yield array.chunk_key(array.index_at(number))


def keys_in_state(
    refs: ReferenceSet, health: ChunkHealth, state: StateName, path: str | None
) -> StateKeys:
    """Return the keys of the chunks of a state; of all arrays, in their order, without a path."""
    states = health.columns().states
    places = range(len(states.arrays)) if path is None else [states.places[path]]
    arrays = [states.arrays[place] for place in places if _may_have(health, place, state)]
    return StateKeys([(array, numbers_in_state(refs, health, state, array)) for array in arrays])


def _may_have(health: ChunkHealth, place: int, state: StateName) -> bool:
    """Say whether an array may have chunks of a state, from the counts alone."""
    columns = health.columns()
    if state == "failed":
        return columns.failed[place] > 0
    if state == "unread":
        return columns.unread(place) != 0
    if state == "differing":
        return bool(columns.differing[place])
    if state == "overlapping":
        return columns.overlapping is not None and columns.overlapping[place] > 0
    return bool(columns.states.counts[place]._asdict()[state] != 0)


def numbers_in_state(
    refs: ReferenceSet, health: ChunkHealth, state: StateName, array: ArrayMeta
) -> np.ndarray:
    """Return the numbers of the chunks of an array in a state, ascending, shape ``(n,)``."""
    if state == "failed":
        return health.outcomes(array).failed
    if state == "differing":
        return health.differing(array)
    if state == "overlapping":
        return health.overlapping(array)
    grid = refs.chunk_grid(array.path)
    if not grid.complete:
        raise LimitError(
            f"Too many chunks of `{array.path}` are generated to list those of one state; the map "
            "of chunks shows them."
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
            f"`{array.path}` has {array.chunk_count:,} chunks, more than the {LISTED_CHUNKS:,} of "
            "which those without a reference are listed; the map of chunks shows them."
        )
    there = np.concatenate([referenced, _numbers(grid, grid.left_out)])
    return np.setdiff1d(np.arange(array.chunk_count), there)


def _numbers(grid: ChunkReferences, chunks: ChunkColumns) -> np.ndarray:
    """Return the numbers of chunks, C order, ascending."""
    numbers = np.zeros(len(chunks), number_type(grid.array))
    for axis, size in enumerate(grid.array.grid):
        numbers = numbers * size + chunks.indices[:, axis].astype(numbers.dtype)
    return np.sort(numbers)
