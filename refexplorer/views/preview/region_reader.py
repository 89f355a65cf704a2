"""Reading a part of an array chunk by chunk, so that what fails does not hide the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from refexplorer.errors import AccessError, RefexplorerError
from refexplorer.io.decode.chunk_shapes import Index, overlap, place_count
from refexplorer.io.fetch.many import FetchProgress
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.reading.chunks import ArrayDecoder, ArrayValues, failed, read_chunks
from refexplorer.io.reading.readings import ChunkState, Reading
from refexplorer.io.reading.selection import Assembled
from refexplorer.views.preview.chunk_cache import cache_of
from refexplorer.views.preview.regions import Region, chunks_touched
from refexplorer.views.wire.failure_log import FailureLog
from refexplorer.views.wire.jobs import JobReport, unheard

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet
    from refexplorer.spec.zarr_metadata import ArrayMeta

_TOLD = 0.05
"""Seconds between two messages about how far it is: each has its cost on both sides."""


class DecodedChunks:
    """Decodes chunks, and keeps the last ones, so that moving through an array reads each once."""

    def __init__(self, refs: ReferenceSet, targets: Targets, failure_log: FailureLog) -> None:
        self._refs = refs
        self._targets = targets
        self._failure_log = failure_log
        self.cache = cache_of(refs)

    def holds(self, path: str, index: Index) -> bool:
        """Say whether a chunk is here already."""
        return self.cache.holds(path, index)

    def read(self, array: ArrayMeta, places: Region, report: JobReport = unheard) -> Reading:
        """Read a part of an array."""
        made = Assembled(array, places)
        for found in self.each(array, list(chunks_touched(array, places)), report):
            made.add(found)
        return made.reading()

    def each(
        self, array: ArrayMeta, indices: Sequence[Index], report: JobReport = unheard
    ) -> Iterator[Reading]:
        """Yield chunks, first those that are here, until it is stopped."""
        # nothing is told of what was here, the last chunk of what was fetched always is
        is_here = all(self.holds(array.path, index) for index in indices)
        is_news, told = False, monotonic()
        try:
            for done, found in enumerate(self._found(array, indices, report), 1):
                is_news |= self._is_news(array, found)
                yield found
                is_last = done == len(indices) and not is_here
                if monotonic() < told + _TOLD and not is_last:
                    continue
                told = monotonic()
                if not report(done, len(indices), f"{done:,} of {len(indices):,} chunks"):
                    return
        finally:
            if is_news:
                self._failure_log.tell(array.path)

    def _found(
        self, array: ArrayMeta, indices: Sequence[Index], report: JobReport
    ) -> Iterator[Reading]:
        held = {index: self.cache.get(array.path, index) for index in indices}
        yield from (found for found in held.values() if found is not None)
        missing = [index for index, found in held.items() if found is None]
        if not missing:
            return
        try:
            decoder = ArrayDecoder(self._refs, array, self._targets)
        except AccessError:
            raise
        except RefexplorerError as error:
            yield from (failed(index, error) for index in missing)
            return

        def advance(now: FetchProgress) -> bool:
            is_all = now.chunks == now.chunk_count
            return is_all or report(now.bytes, now.byte_count, f"{now} read")

        for found in read_chunks(decoder, missing, advance):
            if found.state is not ChunkState.FAILED and found.index is not None:
                self.cache.keep(array.path, found.index, found)
            yield found

    def _is_news(self, array: ArrayMeta, found: Reading) -> bool:
        """Keep whether a chunk failed; say whether that was not known."""
        assert found.index is not None
        if found.state is ChunkState.FETCHED:
            self._failure_log.note_read(array.path, found.index)
        reason = (found.message or "It failed.") if found.state is ChunkState.FAILED else None
        return self._failure_log.note(array.path, found.index, reason)


def hide_unread(
    array: ArrayMeta, places: Region, states: dict[Index, ChunkState], values: ArrayValues
) -> None:
    """Set to NaN what no chunk was fetched for, so that a fill value is not taken for data."""
    values[hidden(array, places, states)] = np.nan


def hidden(array: ArrayMeta, places: Region, states: dict[Index, ChunkState]) -> ArrayValues:
    """Return where no chunk was fetched."""
    found = np.zeros(tuple(map(place_count, places)), bool)
    for index in chunks_touched(array, places):
        if states.get(index) is not ChunkState.FETCHED:
            found[overlap(array, places, index)[0]] = True
    return found
