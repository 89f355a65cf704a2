"""The sample of chunks to decode: about as many of each array, always the same ones."""

from __future__ import annotations

from typing import Literal

import numpy as np

from refexplorer.errors import RefexplorerError
from refexplorer.spec.zarr_metadata import ArrayMeta

SAMPLE = 10
"""Chunks of each array that are decoded if nothing else is said."""

Decode = int | Literal["all", "none", "sample"]
"""How many chunks of each array are decoded."""

_NONE = np.uint64(2**64 - 1)


def wanted_of(decode: Decode | str) -> int | None:
    """Return how many chunks of each array to decode; None stands for all."""
    words = {"none": 0, "sample": SAMPLE, "all": None}
    if isinstance(decode, str) and decode in words:
        return words[decode]
    try:
        number = int(decode)
    except ValueError:
        number = -1
    if number < 0:
        raise RefexplorerError(
            f"decode must be a number of chunks, 'sample', 'all' or 'none', not {decode!r}."
        )
    return number


class Sample:
    """Chooses chunks by a hash of their number, so that no row or column of a grid is preferred."""

    def __init__(self, arrays: list[ArrayMeta], wanted: int | None) -> None:
        counts = [array.chunk_count for array in arrays]
        steps = [1 if wanted is None else _step(count, wanted) for count in counts]
        self._steps = np.array([*steps, 0], np.uint64)  # the last is for keys outside arrays

    def chosen(self, arrays: np.ndarray, chunks: np.ndarray) -> np.ndarray:
        """Say which chunks are decoded."""
        steps = self._steps[arrays]
        hashes = _mixed(chunks.astype(np.uint64))
        found: np.ndarray = (chunks >= 0) & (steps > 0) & (hashes % np.maximum(steps, 1) == 0)
        return found


def _step(count: int, wanted: int) -> int:
    return 0 if not wanted else min(max(count // wanted, 1), int(_NONE))


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Mix the bits of numbers, as SplitMix64 does, so that any divisor meets them evenly."""
    with np.errstate(over="ignore"):
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = numbers ^ (numbers >> np.uint64(31))
    return mixed
