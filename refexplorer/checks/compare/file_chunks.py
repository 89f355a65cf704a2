"""All chunks of one file in the order of their offsets, to tell which of them a range is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refexplorer.checks.records import WHOLE
from refexplorer.formats.datafiles.data_file import (
    DataFile,
    FileArray,
    FileChunks,
    Unread,
    with_used_filters,
)

NOWHERE = -1


@dataclass(frozen=True)
class FoundChunks:
    """Where n byte ranges lie in a file."""

    # The array whose chunk has the start of the range, a place in `FileLayout.arrays`; `NOWHERE`
    # for none; shape ``(n,)``
    owners: np.ndarray
    rows: np.ndarray  # The chunk, a row of the array's chunks; shape ``(n,)``
    inside: np.ndarray  # Bytes from the start of the chunk to that of the range, shape ``(n,)``


class FileLayout:
    """The arrays of a file and all their chunks."""

    def __init__(self, file: DataFile) -> None:
        self.form = file.form
        self.objects = tuple(file.objects())
        self.declared = len(self.objects) if file.declared is None else file.declared
        self.arrays: list[FileArray] = []
        self.chunks: list[FileChunks | None] = []
        self.untold: dict[str, str] = {}
        self.damaged: set[str] = set()
        reasons: dict[int, Unread] = {}
        for name in file.names():
            try:
                self.arrays.append(file.array(name))
            except Unread as reason:
                self._note(name, reason)
                continue
            try:
                array, chunks = with_used_filters(self.arrays[-1], file.chunks(name))
                self.arrays[-1] = array
                self.chunks.append(chunks)
            except Unread as reason:
                reasons[len(self.chunks)] = reason
                self.chunks.append(None)
        self.places = {array.name: place for place, array in enumerate(self.arrays)}
        for other, name in file.other_names().items():
            if name in self.places:
                self.places.setdefault(other, self.places[name])
        for name, at in self.places.items():
            if at in reasons:
                self._note(name, reasons[at])
        known = [(place, found) for place, found in enumerate(self.chunks) if found is not None]
        none = np.empty(0, np.int64)
        starts = np.concatenate([none, *(found.offsets for _, found in known)])
        order = np.argsort(starts, kind="stable")
        lengths = np.concatenate([none, *(found.lengths for _, found in known)])
        owners = [np.full(len(found.offsets), place) for place, found in known]
        rows = [np.arange(len(found.offsets)) for _, found in known]
        self._starts, self._ends = starts[order], (starts + lengths)[order]
        self._owners = np.concatenate([none, *owners])[order]
        self._rows = np.concatenate([none, *rows])[order]

    def _note(self, name: str, reason: Unread) -> None:
        self.untold[name] = str(reason)
        if reason.why == "damaged":
            self.damaged.add(name)

    def find(self, offsets: np.ndarray, lengths: np.ndarray) -> FoundChunks:
        """Return the chunks that have the first bytes of some ranges.

        Where a shard begins its first inner chunk may begin, too: it is the one of that length.
        """
        if not len(self._starts):
            nowhere = np.full(len(offsets), NOWHERE)
            return FoundChunks(nowhere, nowhere, np.zeros(len(offsets), np.int64))
        at = np.searchsorted(self._starts, offsets, "right") - 1
        held = np.maximum(at, 0)
        exact = self._starts[held] == offsets
        first = np.minimum(np.searchsorted(self._starts, offsets), len(self._starts) - 1)
        sizes = self._ends - self._starts
        is_first = exact & (sizes[held] != lengths)
        is_first &= (lengths == WHOLE) | (lengths == sizes[first])
        held = np.where(is_first, first, held)
        has = (at >= 0) & (exact | (offsets < self._ends[held]))
        return FoundChunks(
            np.where(has, self._owners[held], NOWHERE),
            np.where(has, self._rows[held], NOWHERE),
            np.where(has, offsets - self._starts[held], 0),
        )
