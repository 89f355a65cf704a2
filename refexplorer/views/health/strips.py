"""The chunks of an array along one dimension as a strip: the worst state of each part of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from refexplorer.core.errors import LimitError
from refexplorer.spec.zarr_metadata import ArrayMeta
from refexplorer.views.health.health import ChunkHealth, StateName, numbers_in_state

BINS = 96
"""Parts of a strip: the widest is drawn 300 pixels wide."""
_STATES: tuple[tuple[StateName, str], ...] = (
    ("differing", "d"),
    ("rejected", "x"),
    ("failed", "x"),
)
"""From the better to the worse, with the letter of each in the text of a strip."""


def strip_of(health: ChunkHealth, array: ArrayMeta, axis: int = 0) -> str:
    """Return a letter for each part of a dimension.

    ``r``: it has references; ``v``: some of its chunks were read; ``-``: none of its chunks has a
    reference, ``p``: some have none; ``d``: one differs from its file; ``x``: one is rejected or
    failed. Of an array of too many chunks what is absent is not looked for.
    """
    if not array.grid or not math.prod(array.grid):
        return ""
    count = array.grid[axis]
    bins = min(count, BINS)
    letters = np.full(bins, "r", "U1")
    letters[_bins(array, axis, bins, health.outcomes(array).read)] = "v"
    with suppress(LimitError):
        absent = _indices(array, axis, _numbers(health, "absent", array))
        if len(absent):
            missing = np.bincount(absent * bins // count, minlength=bins)
            width = np.bincount(np.arange(count) * bins // count, minlength=bins)
            whole = width * (array.chunk_count // count)
            letters[missing > 0] = "p"
            letters[missing == whole] = "-"
    for state, letter in _STATES:
        with suppress(LimitError):
            letters[_bins(array, axis, bins, _numbers(health, state, array))] = letter
    return "".join(letters.tolist())


def strips_of(health: ChunkHealth, array: ArrayMeta) -> Iterator[str]:
    """Yield the strip of each dimension."""
    for axis in range(len(array.grid)):
        yield strip_of(health, array, axis)


def _numbers(health: ChunkHealth, state: StateName, array: ArrayMeta) -> np.ndarray:
    columns = health.columns()
    place = columns.states.places.get(array.path)
    if place is None or not health.may_have(place, state):
        return np.empty(0, np.int64)
    return numbers_in_state(health.references, health, state, array)


def _indices(array: ArrayMeta, axis: int, numbers: np.ndarray) -> np.ndarray:
    """Return where along a dimension some chunks are."""
    inner = math.prod(array.grid[axis + 1 :])
    return np.asarray(numbers // inner % array.grid[axis], np.int64)


def _bins(array: ArrayMeta, axis: int, bins: int, numbers: np.ndarray) -> np.ndarray:
    return _indices(array, axis, numbers) * bins // array.grid[axis]
