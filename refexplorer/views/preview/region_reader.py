"""Reading a part of an array chunk by chunk, so that what fails does not hide the rest."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from refexplorer.data.decode.chunk_arithmetic import Index, region
from refexplorer.data.fetch.fetch_many import Fetched, FetchProgress, fetch_many
from refexplorer.data.fetch.target_reader import Targets
from refexplorer.data.read import chunk_reader
from refexplorer.data.read.chunk_reader import ChunkState
from refexplorer.errors import LimitError, RefexplorerError
from refexplorer.spec.core.references import Reference
from refexplorer.views.preview.regions import Region, chunks_touched, inside
from refexplorer.views.preview.values import ArrayValues
from refexplorer.views.wire.failure_log import FailureLog
from refexplorer.views.wire.jobs import Report, unheard

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet
    from refexplorer.spec.core.zarr_metadata import ArrayMeta

KEPT_BYTES = 2**27
"""Decoded chunks that are kept, so that another slice of the same chunks takes no request."""
_BATCH = 64
"""Chunks that are fetched together before they are decoded."""


class _Together(Targets):
    """Targets of which some bytes were fetched already."""

    def __init__(self, refs: ReferenceSet, targets: Targets, fetched: Fetched) -> None:
        super().__init__(targets.policy, None, refs.limits)
        self._targets = targets
        self._fetched = fetched

    def fetch(
        self, key: str, reference: Reference, start: int = 0, end: int | None = None
    ) -> bytes:
        """Return bytes that were fetched, or raise why not; read those that were not asked for."""
        found = self._fetched.get(key)
        if found is None:
            return self._targets.fetch(key, reference, start, end)
        if isinstance(found, RefexplorerError):
            raise found
        return found[start:end]


class DecodedChunks:
    """Decodes chunks, and keeps the last ones, so that moving through an array reads each once.

    Parameters
    ----------
    refs
        The opened set.
    targets
        Reads the bytes.
    failure_log
        Is told what failed.
    """

    def __init__(self, refs: ReferenceSet, targets: Targets, failure_log: FailureLog) -> None:
        self._refs = refs
        self._targets = targets
        self._kept: dict[tuple[str, Index], chunk_reader.Reading] = {}
        self._lock = threading.Lock()
        self._failure_log = failure_log

    def holds(self, path: str, index: Index) -> bool:
        """Say whether a chunk is here already."""
        return (path, index) in self._kept

    def _chunk(self, array: ArrayMeta, index: Index, targets: Targets) -> chunk_reader.Reading:
        found = self._kept.get((array.path, index))
        found = found or chunk_reader.read_chunk(self._refs, array.path, index, targets)
        if found.state is not ChunkState.FAILED:
            with self._lock:
                self._keep((array.path, index), found)
        return found

    def _is_news(self, array: ArrayMeta, index: Index, found: chunk_reader.Reading) -> bool:
        """Keep whether a chunk failed; say whether that was not known."""
        reason = found.message or "It could not be read."
        has_failed = found.state is ChunkState.FAILED
        if found.state is ChunkState.FETCHED:
            self._failure_log.note_read(array.path, index)
        return self._failure_log.note(array.path, index, reason if has_failed else None)

    def _fetch(self, array: ArrayMeta, indices: Sequence[Index], report: Report) -> Targets:
        """Fetch the bytes of chunks together: what lies side by side takes one request."""
        keys = [array.chunk_key(index) for index in indices if not self.holds(array.path, index)]
        references = {key: found for key in keys if (found := self._refs.get(key)) is not None}

        def advance(now: FetchProgress) -> bool:
            is_all = now.chunks == now.chunk_count
            return is_all or report(now.bytes, now.byte_count, f"{now} read")

        return _Together(self._refs, self._targets, fetch_many(self._targets, references, advance))

    def _keep(self, place: tuple[str, Index], found: chunk_reader.Reading) -> None:
        """Keep a chunk and let the oldest ones go; the newest stays, whatever its size."""
        self._kept.pop(place, None)
        self._kept[place] = found
        size = sum(each.values.nbytes for each in self._kept.values() if each.values is not None)
        while size > KEPT_BYTES and len(self._kept) > 1:
            oldest = self._kept.pop(next(iter(self._kept)))
            size -= 0 if oldest.values is None else oldest.values.nbytes

    def read(
        self, array: ArrayMeta, places: Region, report: Report = unheard
    ) -> chunk_reader.Reading:
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
        found = _Assembled(array, places)
        is_news = False
        try:
            for index, chunk in self._read_each(array, places, report):
                found.add(index, chunk)
                is_news |= self._is_news(array, index, chunk)
        finally:
            if is_news:
                self._failure_log.tell(array.path)
        return found.reading()

    def _read_each(
        self, array: ArrayMeta, places: Region, report: Report
    ) -> Iterator[tuple[Index, chunk_reader.Reading]]:
        """Yield the chunks of a part, until it is stopped."""
        indices = list(chunks_touched(array, places))
        for at in range(0, len(indices), _BATCH):
            batch = indices[at : at + _BATCH]
            targets = self._fetch(array, batch, report)
            for done, index in enumerate(batch, at + 1):
                yield index, self._chunk(array, index, targets)
                if not report(done, len(indices), f"{done:,} of {len(indices):,} chunks"):
                    return


class _Assembled:
    """The values of a part, put together from its chunks."""

    def __init__(self, array: ArrayMeta, places: Region) -> None:
        self._array = array
        self._places = places
        self._values: ArrayValues | None = None if all(places) else _none(places)
        self._states: dict[Index, ChunkState] = {}
        self._message: str | None = None
        self._fill: object = None

    def add(self, index: Index, found: chunk_reader.Reading) -> None:
        """Put the values of a chunk where they belong."""
        self._states[index] = found.state
        self._message = self._message or found.message
        if found.values is None:
            return
        if self._values is None:
            self._values = np.zeros(tuple(map(len, self._places)), found.values.dtype)
        into, of = _overlap(self._array, self._places, index)
        self._values[into] = found.values[of]
        self._fill = found.fill

    def reading(self) -> chunk_reader.Reading:
        """Return the values that were read."""
        overall = chunk_reader.overall(self._states)
        states, message = self._states, self._message
        return chunk_reader.Reading(None, self._values, overall, message, states, self._fill)


def _none(places: Region) -> ArrayValues:
    """Return the values of a part that has no places along one dimension."""
    try:
        return np.zeros(tuple(map(len, places)))
    except (OverflowError, ValueError):
        raise LimitError(
            "This part has no values, but a dimension longer than an array can have: choose a "
            "smaller part."
        ) from None


def hide_unread(
    array: ArrayMeta, places: Region, states: dict[Index, ChunkState], values: ArrayValues
) -> None:
    """Set to NaN what no chunk was fetched for, so that a fill value is not taken for data."""
    for index in chunks_touched(array, places):
        if states.get(index) is not ChunkState.FETCHED:
            values[_overlap(array, places, index)[0]] = np.nan


def _overlap(
    array: ArrayMeta, places: Region, index: Index
) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Return where the values of a chunk go in a region, and which of the chunk they are."""
    pairs = [inside(*each) for each in zip(places, region(array, index), strict=True)]
    return tuple(into for into, _ in pairs), tuple(of for _, of in pairs)
