"""Small byte ranges written into a set, and inline data taken out of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import BinaryIO

import numpy as np

from refexplorer.formats.arrow import number_column
from refexplorer.refset.blocks import concatenated
from refexplorer.refset.columns import BASE64, INLINE, RANGE
from refexplorer.refset.table import Table, build_table
from refexplorer.spec.lint import is_metadata
from refexplorer.spec.reading import read_bytes
from refexplorer.spec.references import Base64, Inline, Range, Reference

Read = Callable[[list[str]], Mapping[str, bytes]]
"""Takes keys of the set, and gives their bytes."""


class Inlining:
    """Puts byte ranges of few bytes into the set; each is read once.

    Parameters
    ----------
    most
        Bytes of the longest range to be written into the set.
    read
        Reads the bytes of keys.
    """

    def __init__(self, most: int, read: Read) -> None:
        self._most = most
        self._read = read
        self._found: dict[str, Reference] = {}

    def apply(self, table: Table) -> Table:
        """Return a table with its short byte ranges read."""
        columns = table.columns
        small = (columns.kinds == RANGE) & (columns.lengths <= self._most)
        keys = [table.key_at(row) for row in np.flatnonzero(small).tolist()]
        missing = [key for key in keys if key not in self._found]
        if missing:
            data = self._read(missing)
            self._found |= {key: read_bytes(found) for key, found in data.items()}
        return replaced(table, {key: self._found[key] for key in keys}, small)


class Outlining:
    """Takes the data of chunks out of the set, into a file; metadata stays.

    Parameters
    ----------
    file
        Where the bytes go, one after the other.
    url
        What the references call the file.
    """

    def __init__(self, file: BinaryIO, url: str) -> None:
        self._file = file
        self._url = url
        self._end = 0
        self._found: dict[str, Reference] = {}

    def apply(self, table: Table) -> Table:
        """Return a table whose data is in the file."""
        kinds = table.columns.kinds
        chosen = (kinds == INLINE) | (kinds == BASE64)
        moved: dict[str, Reference] = {}
        for row in np.flatnonzero(chosen).tolist():
            key = table.key_at(row)
            if is_metadata(key):
                chosen[row] = False
            else:
                moved[key] = self._moved(key, table.reference_at(row))
        return replaced(table, moved, chosen)

    def _moved(self, key: str, reference: Reference) -> Reference:
        if key not in self._found:
            assert isinstance(reference, Inline | Base64)
            data = reference.data
            self._file.write(data)
            self._found[key] = Range(self._url, self._end, len(data))
            self._end += len(data)
        return self._found[key]


def empty_as_text(table: Table) -> Table:
    """Return a table with empty byte ranges as empty text, since a store takes 0 for the whole."""
    empty = (table.columns.kinds == RANGE) & (table.columns.lengths == 0)
    keys = [table.key_at(row) for row in np.flatnonzero(empty).tolist()]
    return replaced(table, dict.fromkeys(keys, Inline("")), empty)


def replaced(table: Table, references: Mapping[str, Reference], chosen: np.ndarray) -> Table:
    """Return a table with other references in the chosen rows, bool of shape ``(n,)``."""
    if not references:
        return table
    rows, others = np.flatnonzero(chosen), np.flatnonzero(~chosen)
    parts = concatenated([table.select(others), build_table(references.items())])
    order = np.empty(table.count, np.int64)
    order[np.concatenate([others, rows])] = np.arange(table.count)
    return Table(parts.keys.take(number_column(order)), parts.columns.select(order), table.origin)
