"""Keys that are not in a set: chunks without a reference, and rejected keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from refexplorer.data.access.policy import AccessPolicy
from refexplorer.data.decode.chunk_arithmetic import region
from refexplorer.refset.queries.internals import internals
from refexplorer.refset.tree.nodes import NodeType
from refexplorer.views.key.inspector import item
from refexplorer.views.preview.preview import estimate
from refexplorer.views.wire.code import code
from refexplorer.views.wire.models import ChunkItem, PathItem
from refexplorer.views.wire.notes import note

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet

LISTED_CHUNKS = 1_000_000
"""Of arrays with more chunks the absent ones are not listed."""
ORIGIN = "absent"
"""The origin in the row of an absent chunk."""
REJECTED = "rejected"
"""What a rejected key has in its place."""


class AbsentChunks:
    """The absent chunks of each array, found when they are first asked for."""

    def __init__(self, refs: ReferenceSet) -> None:
        self._refs = refs
        self._numbers: dict[str, np.ndarray] = {}

    def count(self, path: str) -> int:
        """Return how many chunks of an array are absent; 0 for all that is no array."""
        return len(self._of(path))

    def keys(self, path: str, start: int, stop: int) -> list[str]:
        """Return the keys of some absent chunks of an array, by their place among them."""
        array = self._refs.array(path)
        numbers = self._of(path)[start:stop].tolist()
        return [array.chunk_key(array.index_at(number)) for number in numbers]

    def place(self, key: str) -> tuple[str, int] | None:
        """Return the array of an absent chunk, and its place among the absent ones."""
        owner = self._refs.array_of(key)
        if owner is None or self._refs.get(key) is not None:
            return None
        array, index = self._refs.array(owner[0]), owner[1]
        if not array.contains(index):
            return None
        numbers, number = self._of(array.path), array.chunk_number(index)
        at = int(np.searchsorted(numbers, number))
        return (array.path, at) if at < len(numbers) and numbers[at] == number else None

    def _of(self, path: str) -> np.ndarray:
        """Return the numbers of the absent chunks, C order."""
        if path not in self._numbers:
            self._numbers[path] = self._find(path)
        return self._numbers[path]

    def _find(self, path: str) -> np.ndarray:
        none = np.empty(0, np.int64)
        if path not in self._refs.arrays():
            return none
        if not 0 < self._refs.array(path).chunk_count <= LISTED_CHUNKS:
            return none
        grid = self._refs.chunk_grid(path)
        return np.flatnonzero(grid.states == 0) if grid.complete else none


def origin_of(refs: ReferenceSet, key: str) -> str:
    """Return what stands in place of the origin of a key that is not in the set."""
    return ORIGIN if refs.left_out(key) is None else REJECTED


def absent_item(refs: ReferenceSet, key: str, policy: AccessPolicy) -> PathItem | None:
    """Describe a key that is not in the set: a chunk, or a rejected key; else None."""
    if refs.get(key) is not None:
        return None
    error, chunk = refs.left_out(key), _chunk_item(refs, key, policy)
    if error is None:
        return chunk
    if chunk is None and internals(refs).opened.tree.folder(key) is not None:
        return None
    found = chunk or PathItem(key, key.rpartition("/")[2], NodeType.KEY, code(refs, key))
    notes = (note(refs, error), *(found.notes or ()))
    return replace(found, origin=REJECTED, notes=notes)


def _chunk_item(refs: ReferenceSet, key: str, policy: AccessPolicy) -> PathItem | None:
    """Describe a chunk by its array; None if the key is no chunk of an array."""
    owner = refs.array_of(key)
    if owner is None or not refs.array(owner[0]).contains(owner[1]):
        return None
    array, index = refs.array(owner[0]), owner[1]
    shape = tuple(part.stop - part.start for part in region(array, index))
    return replace(
        item(refs, array.path, policy),
        path=key,
        name=key.removeprefix(array.folder),
        type=NodeType.KEY,
        size=None,
        origin=ORIGIN,
        chunk=ChunkItem(array.path, index, shape, estimate(refs, array, index)),
        code=code(refs, key, policy.granted),
    )
