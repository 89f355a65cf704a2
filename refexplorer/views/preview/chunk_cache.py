"""Decoded chunks of a set, kept for all of its views until others need their room."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from refexplorer.io.decode.chunk_shapes import Index
from refexplorer.io.reading.readings import Reading

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet


class ChunkCache:
    """Decoded chunks by array and index."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.size = 0
        self._kept: dict[tuple[str, Index], Reading] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def holds(self, path: str, index: Index) -> bool:
        """Say whether a chunk is here."""
        return (path, index) in self._kept

    def get(self, path: str, index: Index) -> Reading | None:
        """Return a chunk that is here, which makes it the last to go."""
        with self._lock:
            found = self._kept.pop((path, index), None)
            if found is not None:
                self._kept[path, index] = found
            return found

    def keep(self, path: str, index: Index, found: Reading) -> None:
        """Keep a chunk, and let others go as far as it needs their room."""
        with self._lock:
            self._drop((path, index))
            self._kept[path, index] = found
            self.size += _size(found)
            while self.size > self.most and len(self._kept) > 1:
                self._drop(next(iter(self._kept)))

    def _drop(self, place: tuple[str, Index]) -> None:
        found = self._kept.pop(place, None)
        self.size -= 0 if found is None else _size(found)


def _size(found: Reading) -> int:
    return 0 if found.values is None else found.values.nbytes


_caches: WeakKeyDictionary[ReferenceSet, ChunkCache] = WeakKeyDictionary()
_making = threading.Lock()


def cache_of(refs: ReferenceSet) -> ChunkCache:
    """Return the cache that all views of a set share."""
    with _making:
        return _caches.setdefault(refs, ChunkCache(refs.limits.kept_bytes))
