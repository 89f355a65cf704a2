"""A selection of an array, whose ranges are all planned before the first is read."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import numpy as np

from refexplorer.core.errors import DecodeError, LimitError, RefexplorerError
from refexplorer.core.text import counted, escape, masks_repr, size_text
from refexplorer.io.access import Place, protocol_of
from refexplorer.io.decode.sizes import Index, overlap, place_count
from refexplorer.io.fetch.many import Advance
from refexplorer.io.fetch.targets import RangeOfKey, Targets, merged
from refexplorer.io.reading.chunks import ArrayDecoder, ArrayValues, array_at, read_chunks
from refexplorer.io.reading.readings import ChunkState, Reading, overall
from refexplorer.refset.opened_set import SetLike
from refexplorer.spec.references import Base64, Inline, Range, Url
from refexplorer.spec.zarr_metadata import ArrayMeta

ESTIMATED_CHUNKS = (
    10**6
)  # Chunks that are looked up to estimate the cost of reading a part of an array
_NAMED_TARGETS = 20  # targets that an estimate names; the rest are counted


@masks_repr
@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost of a read, computed without a request.

    Attributes
    ----------
    bytes
        Referenced and inline bytes, as stored; None if whole files of unknown
        size are read.
    requests
        Reads of targets after adjacent ranges are merged, as by `fetch_many`; inline data
        take none.
    targets
        The first URLs to be read.
    label
        A sentence for a button: ``"Read 57.3 kB from air.nc"``.
    chunks
        Keys with a reference in the set.
    """

    bytes: int | None
    requests: int
    targets: tuple[str, ...]
    label: str
    chunks: int = 0


def estimate_selection(
    refs: SetLike, array: ArrayMeta, selection: Sequence[int | slice] = ()
) -> Estimate:
    """Estimate the cost of reading a selection of an array."""
    places = tuple(map(places_along, full_selection(array, selection), array.shape))
    return estimate_keys(refs, map(array.chunk_key, _touched(array, places, "estimated")))


def places_along(part: int | slice, extent: int) -> range:
    """Return the indices of one dimension that a selection contains."""
    if isinstance(part, slice):
        return range(extent)[part]
    if not -extent <= part < extent:
        raise RefexplorerError(
            f"The index {part} is out of bounds for a dimension of size {extent}."
        )
    return range(part % extent, part % extent + 1)


def estimate_keys(refs: SetLike, keys: Iterable[str]) -> Estimate:
    """Estimate the cost of reading some keys; keys that are not in the set cost nothing."""
    references = [found for key in keys if (found := refs.get(key)) is not None]
    held = [reference for reference in references if isinstance(reference, Inline | Base64)]
    remote = [item for item in references if not isinstance(item, Inline | Base64)]
    targets = tuple(dict.fromkeys(item.url or "" for item in remote))
    inside = sum(item.size for item in held)
    outside = sum(item.size or 0 for item in remote)
    unknown = any(item.size is None for item in remote)
    label = _label(len(references), inside, outside, targets, unknown)
    requests = sum(1 for _ in merged(map(_unresolved_range, remote)))
    shown = targets[:_NAMED_TARGETS]
    size = None if unknown else inside + outside
    return Estimate(size, requests, shown, label, len(references))


def _unresolved_range(reference: Url | Range) -> RangeOfKey:
    """Return the range to read for a reference, without resolving its URL."""
    place = Place("", "", "", reference.url or "")
    start, size = (0, None) if isinstance(reference, Url) else (reference.offset, reference.length)
    return RangeOfKey("", place.url, place, start, None if size is None else start + size)


def _label(references: int, held: int, size: int, targets: tuple[str, ...], partly: bool) -> str:
    if not references:
        return "Show the fill value: the chunk has no reference"
    if not targets:
        return f"Decode {size_text(held)} stored in the set"
    is_one = len(targets) == 1
    where = short_name(targets[0]) if is_one else f"{len(targets):,} files"
    if not partly:
        return f"Read {size_text(size)} from {where}"
    whole = f"Read all {'of ' * is_one}{where}"
    return f"Read {size_text(size)} and more from {where}" if size else whole


def short_name(url: str) -> str:
    """Return a short name for a target: the file name of a local file, the location of others."""
    protocol = protocol_of(url)
    if protocol in (None, "file"):
        return url.rstrip("/").rpartition("/")[2] or url
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    return f"{protocol}://{host}" if host else url


SelectionPart = int | slice | EllipsisType  # An index, a slice, or ``...`` for all others


@dataclass(frozen=True, slots=True)
class ArrayReading:
    """The values of a selection of an array, and the state of each of its chunks.

    Attributes
    ----------
    values
        As decoded by Zarr; a chunk without a reference has the fill value, one that failed has
        zeros. `numpy.asarray` of this object returns them, too.
    states
        The state of each chunk, by its index.
    failures
        Why chunks failed, by key.
    fill
        The fill value of the array, as decoded by Zarr.
    """

    values: ArrayValues
    states: dict[Index, ChunkState]
    failures: dict[str, str]
    fill: object
    _array: ArrayMeta
    _places: tuple[range, ...]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> ArrayValues:
        found = self.values if dtype is None else self.values.astype(dtype, copy=False)
        return found.copy() if copy else found

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{counted(number, 'chunk')} {words}"
            for state, words in _WORDS.items()
            if (number := self.count(state))
        )
        shape = " by ".join(map(str, self.values.shape)) or "one value"
        return f"<ArrayReading {shape} of {self.values.dtype}, {counts or 'no chunks'}>"

    def count(self, state: ChunkState | str) -> int:
        """Return how many chunks are in a state: ``"fetched"``, ``"fill"`` or ``"failed"``."""
        return sum(found is ChunkState(state) for found in self.states.values())

    def mask(self, state: ChunkState | str) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return a mask of the values whose chunks are in a state."""
        found = np.zeros(tuple(map(place_count, self._places)), bool)
        for index, each in self.states.items():
            if each is ChunkState(state):
                found[overlap(self._array, self._places, index)[0]] = True
        return found.reshape(self.values.shape)


_WORDS = {
    ChunkState.FETCHED: "fetched",
    ChunkState.FILL: "without a reference",
    ChunkState.FAILED: "failed",
}


def read_selection(
    refs: SetLike,
    path: str,
    selection: SelectionPart | Sequence[SelectionPart],
    targets: Targets,
    *,
    failed: str = "raise",
    advance: Advance = lambda progress: True,
) -> ArrayReading:
    """Read a selection of an array."""
    if failed not in ("raise", "keep"):
        raise RefexplorerError(f"failed={failed!r} is neither 'raise' nor 'keep'.")
    array = array_at(refs, path)
    parts = full_selection(array, selection)
    places = tuple(map(_ascending, parts, array.shape))
    indices = list(_touched(array, places, "read at once"))
    decoder = ArrayDecoder(refs, array, targets)
    made = Assembled(array, places, decoder.dtype)
    for found in read_chunks(decoder, indices, advance):
        if found.state is ChunkState.FAILED and failed == "raise":
            raise DecodeError(found.message or f"A chunk of {path} failed.")
        made.add(found)
    if len(made.states) < len(indices):
        raise RefexplorerError("Reading was stopped.")
    kept = tuple(
        place_count(each)
        for each, part in zip(places, parts, strict=True)
        if isinstance(part, slice)
    )
    return made.selected(kept)


def full_selection(
    array: ArrayMeta, selection: SelectionPart | Sequence[SelectionPart]
) -> list[int | slice]:
    """Return an index or a slice for each dimension."""
    if isinstance(selection, str):
        raise RefexplorerError(
            "A selection is an index or a slice for each dimension, such as (0, slice(0, 10)), "
            f"not the text {escape(selection, 100)!r}."
        )
    given = list(selection) if isinstance(selection, Sequence) else [selection]
    missing = len(array.shape) - sum(part is not Ellipsis for part in given)
    if missing < 0 or sum(part is Ellipsis for part in given) > 1:
        name = array.path or "the root array"
        raise RefexplorerError(
            f"{name} has {counted(len(array.shape), 'dimension')}, not {len(given)}; give an index "
            "or a slice for each."
        )
    at = next((i for i, part in enumerate(given) if part is Ellipsis), len(given))
    full = [*given[:at], *[slice(None)] * missing, *given[at + 1 :]]
    return [part if isinstance(part, slice) else int(part) for part in full if part is not Ellipsis]


def _ascending(part: int | slice, extent: int) -> range:
    if isinstance(part, slice) and part.step is not None and part.step < 1:
        raise RefexplorerError(f"The step of a slice must be positive, not {part.step}.")
    return places_along(part, extent)


def _touched(array: ArrayMeta, places: tuple[range, ...], what: str) -> Iterator[Index]:
    """Return the chunks of a selection; raise an error if there are too many."""
    along = [axis.touched(each) for axis, each in zip(array.axes, places, strict=True)]
    count = math.prod(number for number, _ in along)
    if count > ESTIMATED_CHUNKS:
        raise LimitError(
            f"This part of {array.path or 'the root array'} covers {count:,} chunks, more "
            f"than the {ESTIMATED_CHUNKS:,} that are {what}; choose a smaller part."
        )
    return itertools.product(*(numbers for _, numbers in along))


class Assembled:
    """The values of a selection of an array, assembled from its chunks."""

    def __init__(
        self, array: ArrayMeta, places: tuple[range, ...], dtype: np.dtype[Any] | None = None
    ) -> None:
        self._array, self._places = array, places
        self._values: ArrayValues | None = None
        if dtype is not None or not all(places):
            self._values = self._blank(dtype or np.dtype(float))
        self._fill: object = None
        self.states: dict[Index, ChunkState] = {}
        self.failures: dict[str, str] = {}

    def add(self, found: Reading) -> None:
        """Add the values of a chunk."""
        assert found.index is not None
        self.states[found.index] = found.state
        if found.state is ChunkState.FAILED:
            self.failures[self._array.chunk_key(found.index)] = found.message or "It failed."
        if found.values is None:
            return
        if self._values is None:
            self._values = self._blank(found.values.dtype)
        into, of = overlap(self._array, self._places, found.index)
        self._values[into] = found.values[of]
        self._fill = found.fill

    def reading(self) -> Reading:
        """Return the values that were read; None if all failed."""
        failed = [index for index, state in self.states.items() if state is ChunkState.FAILED]
        message = self.failures[self._array.chunk_key(min(failed))] if failed else None
        state = overall(self.states)
        return Reading(None, self._values, state, message, self.states, self._fill)

    def selected(self, shape: tuple[int, ...]) -> ArrayReading:
        """Return the values without the dimensions selected by an index."""
        assert self._values is not None
        values = self._values.reshape(shape)
        return ArrayReading(
            values, self.states, self.failures, self._fill, self._array, self._places
        )

    def _blank(self, dtype: np.dtype[Any]) -> ArrayValues:
        shape = tuple(map(place_count, self._places))
        try:
            return np.zeros(shape, dtype)
        except (MemoryError, OverflowError, ValueError):
            size = math.prod(shape) * dtype.itemsize
            if not size:
                raise LimitError(
                    "This part is empty, but one of its dimensions is too long for an array: "
                    "choose a smaller part."
                ) from None
            raise LimitError(
                f"This part needs {size_text(size)}, more than the available memory: choose a "
                f"smaller part."
            ) from None
