"""Reading a part of an array chunk by chunk, so that what fails does not hide the rest."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from refexplorer.data import chunks
from refexplorer.data.chunks import Progress, State
from refexplorer.data.grid import Index, region
from refexplorer.data.targets import Targets
from refexplorer.views.regions import Region, chunks_touched, inside
from refexplorer.views.values import Values

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet
    from refexplorer.spec.arrays import ArrayMeta

KEPT_BYTES = 2**27


class Chunks:
    """Decodes chunks, and keeps the last ones, so that moving through an array reads each once.

    Attributes
    ----------
    failed
        Why chunks could not be read or decoded, by array and index.
    """

    def __init__(self, refs: ReferenceSet, targets: Targets) -> None:
        self._refs = refs
        self._targets = targets
        self._kept: dict[tuple[str, Index], chunks.Reading] = {}
        self._lock = threading.Lock()
        self.failed: dict[str, dict[Index, str]] = {}

    def holds(self, path: str, index: Index) -> bool:
        """Say whether a chunk is here already."""
        return (path, index) in self._kept

    def chunk(self, array: ArrayMeta, index: Index) -> chunks.Reading:
        """Return one chunk; its state says if it failed.

        Raises
        ------
        AccessError
            If the target may not be read yet.
        """
        found = self._kept.get((array.path, index))
        found = found or chunks.read_chunk(self._refs, array.path, index, self._targets)
        with self._lock:
            failed = self.failed.setdefault(array.path, {})
            if found.state is State.FAILED:
                failed[index] = found.message or "It could not be read."
            else:
                failed.pop(index, None)
                self._keep((array.path, index), found)
        return found

    def _keep(self, place: tuple[str, Index], found: chunks.Reading) -> None:
        """Keep a chunk and let the oldest ones go; the newest stays, whatever its size."""
        self._kept.pop(place, None)
        self._kept[place] = found
        size = sum(each.values.nbytes for each in self._kept.values() if each.values is not None)
        while size > KEPT_BYTES and len(self._kept) > 1:
            oldest = self._kept.pop(next(iter(self._kept)))
            size -= 0 if oldest.values is None else oldest.values.nbytes

    def read(self, array: ArrayMeta, places: Region, progress: Progress) -> chunks.Reading:
        """Read a part of an array.

        Returns
        -------
        Reading
            Where a chunk failed, the values are zeros of the data type.

        Raises
        ------
        AccessError
            If a target may not be read yet.
        LimitError
            If the part has values of too many chunks.
        """
        indices = list(chunks_touched(array, places))
        states = dict[Index, State]()
        values: Values | None = None
        message, fill = None, None
        for done, index in enumerate(indices, 1):
            found = self.chunk(array, index)
            states[index] = found.state
            message = message or found.message
            if found.values is not None:
                fill = found.fill
                if values is None:
                    values = np.zeros(tuple(map(len, places)), found.values.dtype)
                into, of = _overlap(array, places, index)
                values[into] = found.values[of]
            if not progress(done, len(indices)):
                break
        if not indices:
            values = np.zeros(tuple(map(len, places)))
        return chunks.Reading(None, values, chunks.overall(states), message, states, fill)


def hide_unread(
    array: ArrayMeta, places: Region, states: dict[Index, State], values: Values
) -> None:
    """Set to NaN what no chunk was fetched for, so that a fill value is not taken for data."""
    for index in chunks_touched(array, places):
        if states.get(index) is not State.FETCHED:
            values[_overlap(array, places, index)[0]] = np.nan


def _overlap(
    array: ArrayMeta, places: Region, index: Index
) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Return where the values of a chunk go in a region, and which of the chunk they are."""
    pairs = [inside(*each) for each in zip(places, region(array, index), strict=True)]
    return tuple(into for into, _ in pairs), tuple(of for _, of in pairs)
