"""Keys as folders and names, each distinct one once, so that a search looks at few of them.

The name of a key begins with its last slash. Names are written when a search first comes by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa

from refexplorer.formats.buffers.arrow import numbers_of, text_column
from refexplorer.formats.buffers.spans import BLOCK, Spans, spans_of
from refexplorer.refset.chunks.grid_counting import has_plain_names
from refexplorer.refset.columns.chunk_keys import chunk_keys
from refexplorer.refset.search.literals import Literal
from refexplorer.refset.segments.records import Records
from refexplorer.refset.tree.folders import Tree
from refexplorer.spec.core.zarr_metadata import ArrayMeta

MOST_NAMES = 2**22
"""Grids with more chunks have their names not written out."""
_ASKED = 4
"""Answers that are kept: a search asks a name for each part of its pattern."""


class Names:
    """Distinct names, which know the answers to what they were asked last."""

    def __init__(self, texts: pa.LargeStringArray) -> None:
        self.matching = lru_cache(_ASKED)(lambda literal: literal.matches(texts))


@dataclass(frozen=True)
class KeyNames:
    """The folders and names of n keys.

    Attributes
    ----------
    names
        Maybe shared with other arrays.
    codes
        The position of each key's name among them, shape ``(n,)``.
    folders
        Column of texts that end in a slash.
    rows
        For each folder the keys that are directly in it.
    """

    names: Names
    codes: np.ndarray
    folders: pa.LargeStringArray
    rows: Sequence[np.ndarray | slice]

    def holding(self, literals: Sequence[Literal]) -> np.ndarray:
        """Say which keys have all of some literals, shape ``(n,)`` bool."""
        found = np.ones(len(self.codes), np.bool_)
        for literal in literals:
            held: np.ndarray = self.names.matching(literal)[self.codes]
            for position in np.flatnonzero(literal.matches(self.folders)).tolist():
                held[self.rows[position]] = True
            found &= held
        return found


def names_of_tree(tree: Tree) -> KeyNames | None:
    """Return the names of explicit keys; None if most of them have a name of their own."""
    keys = tree.table.keys
    rows = [tree.rows_in(folder) for folder in tree.folders]
    if max(map(len, rows)) > len(keys) // 2 or not all(map(tree.is_exact, tree.folders)):
        return None
    blocks = [_last_parts(keys.slice(start, BLOCK)) for start in range(0, len(keys), BLOCK)]
    encoded = pa.chunked_array(blocks).dictionary_encode().chunks
    codes = np.concatenate([numbers_of(chunk.indices) for chunk in encoded])
    paths = text_column([folder.path + "/" for folder in tree.folders[1:]])
    return KeyNames(Names(encoded[-1].dictionary), codes, paths, rows[1:])


def _last_parts(keys: pa.LargeStringArray) -> pa.LargeStringArray:
    spans = spans_of(keys)
    return Spans(spans.data, spans.last_marks(ord("/")), spans.ends).texts()


class GridNames:
    """The names of the chunks of grids, shared by the arrays of a store."""

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], Names] = {}

    def of(self, records: Records) -> KeyNames | None:
        """Return the names of the chunks of an array; None if they would be too many."""
        array = records.array
        if not array.grid or array.chunk_count > MOST_NAMES or not has_plain_names(array):
            return None
        form = (array.prefix, array.separator, array.grid)
        if form not in self._made:
            self._made[form] = _names_of_grid(array)
        numbers = records.chunk_numbers(np.arange(records.count))
        folders = text_column([array.folder] if array.path else [])
        return KeyNames(self._made[form], numbers, folders, [slice(None)])


def _names_of_grid(array: ArrayMeta) -> Names:
    start = "/" if array.path else ""
    plain = replace(array, path="", prefix=start + array.prefix)
    return Names(chunk_keys(plain, np.arange(array.chunk_count)))
