"""Chunks as values, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from refexplorer.data.decode.chunk_arithmetic import Index, check_size, region
from refexplorer.data.fetch.target_reader import Targets, held
from refexplorer.data.open.refusals import check_array, sentence_of
from refexplorer.data.open.stores import DecodedView, store
from refexplorer.data.protocol import Opened
from refexplorer.errors import AccessError, DecodeError, RefexplorerError
from refexplorer.spec.core.references import Base64, Inline

if TYPE_CHECKING:
    import numpy as np
    import zarr

    from refexplorer.spec.core.zarr_metadata import ArrayMeta


class ChunkState(StrEnum):
    """The state of a chunk after reading it."""

    FETCHED = "fetched"
    FILL = "fill"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Reading:
    """The values of a chunk or an array, and their state.

    Attributes
    ----------
    index
        The chunk; None for a whole array.
    values
        As Zarr decodes them, cut to the shape of the array; None if all failed.
    state
        Of a whole array: fetched if any chunk was, else failed if any did.
    message
        Why (the first) chunk failed.
    states
        What became of each chunk.
    fill
        The fill value of the array, as Zarr decodes it.
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


def read_chunk(refs: Opened, path: str, index: Index, targets: Targets) -> Reading:
    """Read and decode one chunk.

    Returns
    -------
    Reading
        The state is ``fill`` if the source has no reference for the chunk, and ``failed``, with a
        sentence, if its bytes cannot be read or decoded, or if its reference cannot be used.

    Raises
    ------
    KeyError
        If there is no such array.
    DecodeError
        If its metadata cannot be used, or its grid has no such chunk.
    AccessError
        If the target may not be read yet.
    """
    array = _array(refs, path)
    if not array.contains(index):
        raise DecodeError(f"{path} has no chunk {list(index)}; its grid is {list(array.grid)}.")
    try:
        return _decoded(refs, array, index, targets)
    except AccessError:
        raise
    except RefexplorerError as error:
        return Reading(index, None, ChunkState.FAILED, str(error), {index: ChunkState.FAILED})


def _array(refs: Opened, path: str) -> ArrayMeta:
    """Return the metadata of an array; say what is wrong where there is some that is none."""
    if path not in refs.arrays():
        for name in (".zarray", "zarr.json"):
            key = f"{path}/{name}".lstrip("/")
            reference = refs.get(key)
            if isinstance(reference, Inline | Base64):
                check_array(key, held(key, reference))
    return refs.array(path)


def _decoded(refs: Opened, array: ArrayMeta, index: Index, targets: Targets) -> Reading:
    import numpy as np

    check_size(array, refs.limits)
    opened = _open(refs, array, targets)
    key = array.chunk_key(index)
    state = ChunkState.FETCHED if key in refs else ChunkState.FILL
    try:
        values = np.asarray(opened[region(array, index)])
    except RefexplorerError:
        raise
    except Exception as error:
        raise DecodeError(f"{key} could not be decoded: {sentence_of(error)}") from error
    return Reading(index, values, state, None, {index: state}, opened.fill_value)


def _open(refs: Opened, array: ArrayMeta, targets: Targets) -> zarr.Array[Any]:
    import zarr

    where = store(DecodedView(refs, targets))
    try:
        return zarr.open_array(
            where, path=array.path, mode="r", zarr_format=3 if array.zarr_format == 3 else 2
        )
    except RefexplorerError:
        raise
    except Exception as error:
        raise DecodeError(
            f"Zarr cannot open {array.path or 'the root array'}: {sentence_of(error)}"
        ) from error


def overall(states: dict[Index, ChunkState]) -> ChunkState:
    """Return the state of a whole: fetched if any chunk was, else failed if any did."""
    found = set(states.values())
    return next(
        (state for state in (ChunkState.FETCHED, ChunkState.FAILED) if state in found),
        ChunkState.FILL,
    )
