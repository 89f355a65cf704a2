"""An open file beside a set: which of its arrays one of the set stands for, and small values."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from refexplorer.checks.compare.file_chunks import FileLayout
from refexplorer.checks.compare.held_values import HELD_ELEMENTS, HeldValues
from refexplorer.checks.compare.set_array import SetArray
from refexplorer.formats.datafiles.data_file import DataFile, FileArray, Unread


class MatchedFile:
    """An open file, and the arrays of a set."""

    def __init__(self, file: DataFile, arrays: Mapping[str, SetArray], held: HeldValues) -> None:
        self.arrays = arrays
        self.held = held
        self.filed = FileLayout(file)
        self.names: dict[str, str] = {}
        self.unread: dict[str, str] = {}
        self._file = file
        self._values: dict[str, np.ndarray] = {}

    def native(self, path: str) -> FileArray | None:
        """Return the array of the file that one of the set stands for, by name."""
        places = self.filed.places
        names = [self.names.get(path, path)]
        for mine, theirs in self.names.items():  # a group of the file that became the root
            if theirs.endswith("/" + mine):
                names.append(theirs[: -len(mine)] + path)
        for name in names:
            if name in places:
                found = self.filed.arrays[places[name]]
                return None if found.is_dimension else found
        return None

    def whole(self, native: FileArray) -> np.ndarray | None:
        """Return all values of a small array of the file, as they are stored."""
        if prod(native.shape) > HELD_ELEMENTS:
            return None
        if native.name not in self._values:
            selection = tuple(slice(0, length) for length in native.shape)
            try:
                values = np.asarray(self._file.values(native.name, selection))
            except Unread as reason:
                self.unread[native.name] = str(reason)
                return None
            self._values[native.name] = values
        return self._values[native.name]
