"""Chunks as values, and the state of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from refexplorer.core.text import masks_repr
from refexplorer.io.decode.sizes import Index

if TYPE_CHECKING:
    import numpy as np


class ChunkState(StrEnum):
    """The state of a chunk after reading it."""

    FETCHED = "fetched"
    FILL = "fill"
    FAILED = "failed"


@masks_repr
@dataclass(frozen=True, slots=True)
class Reading:
    """The values of a chunk or an array, and their state.

    Attributes
    ----------
    index
        The chunk index; None for a whole array.
    values
        As decoded by Zarr, clipped to the shape of the array; None if all failed.
    state
        For a whole array: fetched if any chunk was, else failed if any failed.
    message
        Why (the first) chunk failed.
    states
        The state of each chunk.
    fill
        The fill value of the array, as decoded by Zarr.
    """

    index: Index | None
    values: np.ndarray[Any, Any] | None
    state: ChunkState
    message: str | None = None
    states: dict[Index, ChunkState] = field(default_factory=dict)
    fill: object = None

    def count(self, state: ChunkState) -> int:
        """Return how many chunks are in a state."""
        return sum(found is state for found in self.states.values())


def overall(states: dict[Index, ChunkState]) -> ChunkState:
    """Return the overall state: fetched if any chunk was, else failed if any failed."""
    found = set(states.values())
    return next(
        (state for state in (ChunkState.FETCHED, ChunkState.FAILED) if state in found),
        ChunkState.FILL,
    )
