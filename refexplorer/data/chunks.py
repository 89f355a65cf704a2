"""Chunks and small arrays as values, and what became of each chunk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from refexplorer.data.grid import Index, check_size, chunk_indices, is_small, region
from refexplorer.data.opened import Opened
from refexplorer.data.stores import DecodedView, store
from refexplorer.data.targets import Targets
from refexplorer.errors import AccessError, DecodeError, LimitError, RefexplorerError

if TYPE_CHECKING:
    import numpy as np
    import zarr

    from refexplorer.spec.arrays import ArrayMeta

Progress = Callable[[int, int], bool]
"""Called with the chunks done and their number; False stops."""


class State(StrEnum):
    """What became of a chunk."""

    FETCHED = "fetched"
    FILL = "fill"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Reading:
    """Values of a chunk or an array, and how they came.

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
    state: State
    message: str | None = None
    states: dict[Index, State] = field(default_factory=dict)
    fill: object = None

    def count(self, state: State) -> int:
        """Return how many chunks are in a state."""
        return sum(found is state for found in self.states.values())


def read_chunk(refs: Opened, path: str, index: Index, targets: Targets) -> Reading:
    """Read and decode one chunk.

    Returns
    -------
    Reading
        The state is ``fill`` if the set has no reference for the chunk, and ``failed``, with a
        sentence, if its bytes cannot be read or decoded.

    Raises
    ------
    KeyError
        If there is no such array.
    AccessError
        If the target may not be read yet.
    """
    array = refs.array(path)
    if not array.contains(index):
        raise DecodeError(f"{path} has no chunk {list(index)}; its grid is {list(array.grid)}.")
    try:
        return _Decoder(refs, array, targets).chunk(index)
    except AccessError:
        raise
    except RefexplorerError as error:
        return Reading(index, None, State.FAILED, str(error), {index: State.FAILED})


def read_array(
    refs: Opened,
    path: str,
    targets: Targets,
    progress: Progress = lambda done, of: True,
) -> Reading:
    """Read a small array chunk by chunk, so that what fails does not hide the rest.

    Parameters
    ----------
    refs, path, targets
        As in `read_chunk`.
    progress
        Called with the chunks done and their number after each; False stops.

    Raises
    ------
    KeyError
        If there is no such array.
    AccessError
        If a target may not be read yet.
    LimitError
        If the array is not small.
    """
    array = refs.array(path)
    if not is_small(array):
        raise LimitError(
            f"{path or 'the root array'} has {array.chunk_count:,} chunks; read one of them."
        )
    try:
        return _Decoder(refs, array, targets).whole(progress)
    except AccessError:
        raise
    except RefexplorerError as error:
        return Reading(None, None, State.FAILED, str(error))


class _Decoder:
    """Decodes one array with Zarr, a chunk at a time."""

    def __init__(self, refs: Opened, array: ArrayMeta, targets: Targets) -> None:
        check_size(array, refs.limits)
        self._refs = refs
        self._array = array
        self._zarr = _open(refs, array, targets)

    def chunk(self, index: Index) -> Reading:
        key = self._array.chunk_key(index)
        state = State.FETCHED if key in self._refs else State.FILL
        try:
            values = self._zarr[region(self._array, index)]
        except RefexplorerError:
            raise
        except Exception as error:
            raise DecodeError(f"{key} could not be decoded: {_plain(error)}.") from error
        fill = self._zarr.fill_value
        return Reading(index, _as_array(values), state, None, {index: state}, fill)

    def whole(self, progress: Progress) -> Reading:
        import numpy as np

        array, states, message = self._array, dict[Index, State](), None
        values = np.zeros(array.shape, dtype=self._zarr.dtype)
        for done, index in enumerate(chunk_indices(array), 1):
            try:
                part = self.chunk(index)
                values[region(array, index)] = part.values
                states[index] = part.state
            except AccessError:
                raise
            except RefexplorerError as error:
                message = message or str(error)
                states[index] = State.FAILED
            if not progress(done, array.chunk_count):
                break
        fill = self._zarr.fill_value
        return Reading(None, values, overall(states), message, states, fill)


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
            f"Zarr cannot open {array.path or 'the root array'}: {_plain(error)}."
        ) from error


def _as_array(values: Any) -> np.ndarray[Any, Any]:
    import numpy as np

    return np.asarray(values)


def overall(states: dict[Index, State]) -> State:
    """Return the state of a whole: fetched if any chunk was, else failed if any did."""
    found = set(states.values())
    return next((state for state in (State.FETCHED, State.FAILED) if state in found), State.FILL)


def _plain(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}{': ' + lines[0] if lines else ''}".rstrip(".")
