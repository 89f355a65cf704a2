"""What a tree shows that is narrowed to trouble.

Arrays and groups are there if anything below them is; of an array its chunks that are absent,
rejected, failed, overlapping or unlike their files, and the keys that a note names.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from refexplorer.errors import LimitError
from refexplorer.formats.columns.chunk_names import natural
from refexplorer.refset.contents import internals
from refexplorer.refset.tree import Folder
from refexplorer.refset.tree_nodes import Node
from refexplorer.spec.keys import folders_above, prefix
from refexplorer.spec.zarr_metadata import ArrayMeta
from refexplorer.views.health.health import ChunkHealth, number_type
from refexplorer.views.health.state_keys import numbers_in_state
from refexplorer.views.tree.visible_rows import node_of
from refexplorer.views.wire.explorer.tree_messages import StateName

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet

_BAD: tuple[StateName, ...] = ("absent", "rejected", "failed", "overlapping", "differing")


@dataclass(frozen=True)
class _BadLevel:
    """The children of a folder: folders and keys by their paths, then chunks by their numbers."""

    paths: list[str]
    array: ArrayMeta | None
    numbers: np.ndarray

    def __len__(self) -> int:
        return len(self.paths) + len(self.numbers)

    def path(self, position: int) -> str:
        """Return a child."""
        if position < len(self.paths):
            return self.paths[position]
        assert self.array is not None
        number = self.numbers[position - len(self.paths)].item()
        return self.array.chunk_key(self.array.index_at(number))


class TroubleKeys:
    """A listing of what is wrong with a set, as it is known when this is made."""

    def __init__(self, refs: ReferenceSet, health: ChunkHealth) -> None:
        self._refs = refs
        self._health = health
        self._columns = health.columns()
        self._opened = internals(refs).opened
        self._levels: dict[str, _BadLevel] = {}

    def count(self, path: str) -> int:
        """As in `TreeListing`, which all its methods follow."""
        return len(self._level(path))

    def nodes(self, path: str, first: int, last: int) -> Iterable[Node]:
        """Return some children."""
        level, start = self._level(path), len(prefix(path))
        for position in range(first, last):
            child = level.path(position)
            yield node_of(self._refs, child, child[start:])

    def place(self, path: str) -> tuple[str, int]:
        """Return where a path is shown."""
        for folder in folders_above(path):
            level = self._level(folder)
            if path in level.paths:
                return folder, level.paths.index(path)
            if level.array is not None:
                index = level.array.chunk_index(path)
                if index is None or not level.array.contains(index):
                    continue
                number = level.array.chunk_number(index)
                at = int(np.searchsorted(level.numbers, number))
                if at < len(level.numbers) and level.numbers[at] == number:
                    return folder, len(level.paths) + at
        raise KeyError(path)

    def _level(self, path: str) -> _BadLevel:
        if path not in self._levels:
            self._levels[path] = self._make(path)
        return self._levels[path]

    def _make(self, path: str) -> _BadLevel:
        folder, none = self._opened.tree.folder(path), np.empty(0, np.int64)
        if folder is None:
            return _BadLevel([], None, none)
        below = sorted(folder.folders.values(), key=lambda each: natural(each.name))
        paths = [each.path for each in below if self._has_trouble(each)]
        array = self._opened.arrays.get(path)
        numbers = none if array is None else self._bad_chunks(array)
        keys = [key for key in self._loose if self._folder_of(key) == path]
        return _BadLevel([*dict.fromkeys([*keys, *paths])], array, numbers)

    def _has_trouble(self, folder: Folder) -> bool:
        sums = self._columns.below(folder.number, folder.end)
        return any(sums.values()) or folder.path in self._above_loose

    def _folder_of(self, key: str) -> str:
        """Return the folder of the tree that is nearest above a key."""
        found = (path for path in folders_above(key) if self._opened.tree.folder(path) is not None)
        return next(found, "")

    @cached_property
    def _loose(self) -> list[str]:
        """Keys that are no chunks, rejected or named by a note."""
        keys = self._opened.rejected.keys
        folders = pc.replace_substring_regex(keys, pattern="[^/]*$", replacement="")
        inside = [
            each
            for each in folders.unique().to_pylist()
            if any(self._opened.arrays.get(path) is not None for path in folders_above(each + "x"))
        ]
        is_inside = np.isin(np.array(folders.to_pylist(), object), inside)
        rejected = [keys[int(row)].as_py() for row in np.flatnonzero(~is_inside)]
        noted = [key for key in self._columns.noted if not self._is_chunk(key)]
        return sorted({*rejected, *noted}, key=natural)

    def _is_chunk(self, key: str) -> bool:
        owner = self._opened.arrays.of_key(key)
        return owner is not None and owner[0].contains(owner[1])

    @cached_property
    def _above_loose(self) -> set[str]:
        return {folder for key in self._loose for folder in folders_above(key)}

    def _bad_chunks(self, array: ArrayMeta) -> np.ndarray:
        """Return the numbers of the chunks in trouble, ascending; too many of a state are left out.

        The row of the array says how many they are.
        """
        kind = number_type(array)
        found = [np.array([], kind)]
        for state in _BAD:
            with suppress(LimitError):
                found.append(numbers_in_state(self._refs, self._health, state, array))
        noted = (array.chunk_index(key) for key in self._columns.noted)
        numbers = [array.chunk_number(i) for i in noted if i is not None and array.contains(i)]
        return np.unique(np.concatenate([*found, np.array(numbers, kind)]))
