"""Chunks and small arrays as values: what reading costs, and what became of each chunk."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from refexplorer.data.filesystem import ReferenceView, store
from refexplorer.data.opened import Opened
from refexplorer.data.places import protocol_of
from refexplorer.data.sizes import size_text
from refexplorer.data.targets import Targets
from refexplorer.errors import AccessError, DecodeError, LimitError, RefexplorerError
from refexplorer.spec.references import Base64, Inline

if TYPE_CHECKING:
    import numpy as np
    import zarr

    from refexplorer.spec.arrays import ArrayMeta

WHOLE_CHUNKS = 256
"""An array with more chunks is not read as a whole by a view."""
WHOLE_BYTES = 2**26
"""An array with more decoded bytes is not read as a whole by a view."""
_NAMED_TARGETS = 20
_POINTER = 8

Index = tuple[int, ...]
Progress = Callable[[int, int], bool]
"""Called with the chunks done and their number; False stops."""


class State(StrEnum):
    """What became of a chunk."""

    FETCHED = "fetched"
    FILL = "fill"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a read takes, known without a request.

    Attributes
    ----------
    bytes
        Referenced and inline bytes, as stored; whole-URL references count 0, since their
        size is not known.
    requests
        Reads of targets; inline data takes none.
    targets
        The first URLs that are read.
    label
        A sentence for a button: ``"Read 57.3 kB from air.nc"``.
    """

    bytes: int
    requests: int
    targets: tuple[str, ...]
    label: str


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
    """

    index: Index | None
    values: np.ndarray[Any, Any] | None
    state: State
    message: str | None = None
    states: dict[Index, State] = field(default_factory=dict)

    def count(self, state: State) -> int:
        """Return how many chunks are in a state."""
        return sum(found is state for found in self.states.values())


def estimate(refs: Opened, array: ArrayMeta, index: Index | None = None) -> Estimate:
    """Say what reading one chunk, or the whole array, takes.

    The whole of an array that `is_small` refuses is not counted chunk by chunk: ask first.
    """
    indices = [index] if index is not None else chunk_indices(array)
    keys = [key for key in map(array.chunk_key, indices) if key in refs]
    references = [refs[key] for key in keys]
    held = [reference for reference in references if isinstance(reference, Inline | Base64)]
    remote = [item for item in references if not isinstance(item, Inline | Base64)]
    targets = tuple(dict.fromkeys(item.url or "" for item in remote))
    inside = sum(item.size for item in held)
    outside = sum(item.size or 0 for item in remote)
    unknown = any(item.size is None for item in remote)
    label = _label(len(references), inside, outside, targets, unknown)
    return Estimate(inside + outside, len(remote), targets[:_NAMED_TARGETS], label)


def is_small(array: ArrayMeta) -> bool:
    """Whether a view may read the whole array at once."""
    size = math.prod(array.shape) * (array.itemsize or _POINTER)
    return array.chunk_count <= WHOLE_CHUNKS and size <= WHOLE_BYTES


def check_size(refs: Opened, array: ArrayMeta) -> None:
    """Refuse chunks that would eat the machine, before anything is allocated or read.

    Raises
    ------
    LimitError
        If an element or a decoded chunk is larger than the limits.
    DecodeError
        If the data type is structured in a way that gives no size.
    """
    limits, name = refs.limits, array.path or "the root array"
    if array.itemsize is None and array.dtype == "structured":
        raise DecodeError(f"{name} has a structured data type that is not understood.")
    itemsize = array.itemsize or _POINTER
    if itemsize > limits.itemsize:
        raise LimitError(
            f"one element of {name} takes {size_text(itemsize)}, and "
            f"{size_text(limits.itemsize)} is the most that is decoded (limits: itemsize)."
        )
    size = math.prod(array.chunks) * itemsize
    if size > limits.chunk_bytes:
        raise LimitError(
            f"one chunk of {name} decodes to {size_text(size)}, and "
            f"{size_text(limits.chunk_bytes)} is the most (limits: chunk_bytes)."
        )


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
        check_size(refs, array)
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
        return Reading(index, _as_array(values), state, None, {index: state})

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
        return Reading(None, values, _overall(states), message, states)


def region(array: ArrayMeta, index: Index) -> tuple[slice, ...]:
    """Return the part of the array that a chunk covers, cut at the array's edge."""
    return tuple(
        slice(place * step, min((place + 1) * step, extent))
        for place, step, extent in zip(index, array.chunks, array.shape, strict=True)
    )


def chunk_indices(array: ArrayMeta) -> Iterator[Index]:
    """Yield the index of every chunk in C order; the grid itself is never made."""
    return itertools.product(*map(range, array.grid))


def _open(refs: Opened, array: ArrayMeta, targets: Targets) -> zarr.Array[Any]:
    import zarr

    where = store(ReferenceView(refs, targets))
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


def _overall(states: dict[Index, State]) -> State:
    """Return the state of a whole: fetched if any chunk was, else failed if any did."""
    found = set(states.values())
    return next((state for state in (State.FETCHED, State.FAILED) if state in found), State.FILL)


def _plain(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}{': ' + lines[0] if lines else ''}".rstrip(".")


def _label(references: int, held: int, size: int, targets: tuple[str, ...], partly: bool) -> str:
    if not references:
        return "Show the fill value: the set has no reference here"
    if not targets:
        return f"Decode {size_text(held)} held in the set"
    where = short_name(targets[0]) if len(targets) == 1 else f"{len(targets):,} targets"
    if not partly:
        return f"Read {size_text(size)} from {where}"
    return f"Read all of {where}" if not size else f"Read {size_text(size)} and more from {where}"


def short_name(url: str) -> str:
    """Name a target in a few characters: a local file by its name, others by their place."""
    protocol = protocol_of(url)
    if protocol in (None, "file"):
        return url.rstrip("/").rpartition("/")[2] or url
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    return f"{protocol}://{host}" if host else url
