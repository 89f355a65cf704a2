"""Counts of the keys that are chunks inside the grids of their arrays, by the column.

A regular expression is asked, and as seldom as can be: of many keys of one array written one behind
the other, or of the names in many small arrays of the same grid.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.formats.buffers.arrow import flags_of, number_column
from refexplorer.formats.buffers.spans import runs_of
from refexplorer.refset.chunks.grid_patterns import pattern_of_grid, pattern_of_names
from refexplorer.spec.core.zarr_metadata import ArrayMeta

_TOGETHER = 1024
_WORTH_IT = 16
"""Rows that a run must have on average; else the keys are brought together first."""
_MATCHED_RANK = 16
"""Dimensions up to which a regular expression of the grid is small."""


def is_counted(array: ArrayMeta) -> bool:
    """Say whether what this module does is made for the grid of an array."""
    return 0 < len(array.grid) <= _MATCHED_RANK and 0 not in array.grid


def has_plain_names(array: ArrayMeta) -> bool:
    """Say whether all chunks are directly in the folder of the array."""
    return "/" not in array.prefix + array.separator


def count_inside(keys: pa.LargeStringArray, array: ArrayMeta) -> int:
    """Count the chunks inside the grid among any keys."""
    return _count(keys, f"^{pattern_of_grid(array)}$")


def count_in_folder(keys: pa.LargeStringArray, rows: np.ndarray, array: ArrayMeta) -> int:
    """Count the chunks inside the grid among some of the keys, shape ``(n,)``, ascending.

    These keys are directly in the folder of the array, which is not the root, and its chunks have
    plain names. So each key has as many slashes as that folder, and a text of several of them
    cannot be read as other keys of that folder: if all of it is chunks, each key is one.
    """
    # each run is one text for the regular expression: short ones cost more than copying the keys
    if np.count_nonzero(np.diff(rows) != 1) > len(rows) // _WORTH_IT:
        keys, rows = keys.take(number_column(rows)), np.arange(len(rows))
    begins = _begins_of_runs(rows)
    ends = np.append(begins[1:], len(rows))
    texts = runs_of(keys, rows[begins], rows[ends - 1] + 1)
    whole = _matches(texts, f"^(?:{pattern_of_grid(array)})*$")[::2]
    in_whole = np.repeat(whole, ends - begins)
    others = keys.take(number_column(rows[~in_whole]))
    return int(np.count_nonzero(in_whole)) + count_inside(others, array)


def count_in_folders(
    keys: pa.LargeStringArray, rows: Sequence[np.ndarray], array: ArrayMeta
) -> list[int]:
    """Count the chunks inside the grid of one array, and of others whose chunks have its names.

    Parameters
    ----------
    keys
        Column of texts.
    rows
        For each of the arrays, which of the keys are directly in its folder.
    array
        One of them; its chunks have plain names.
    """
    names = keys.take(number_column(np.concatenate(rows)))
    inside = _matches(names, f"(?:^|/){pattern_of_names(array)}$")
    before = np.concatenate([[0], np.cumsum(inside)])
    ends = np.cumsum([len(part) for part in rows])
    counts: list[int] = np.diff(before[ends], prepend=0).tolist()
    return counts


def _begins_of_runs(rows: np.ndarray) -> np.ndarray:
    """Return where runs of rows begin that follow each other, none too long."""
    is_first = np.append(True, np.diff(rows) != 1)[: len(rows)]
    is_first[::_TOGETHER] = True
    return np.flatnonzero(is_first)


def _count(keys: pa.LargeStringArray, pattern: str) -> int:
    return int(np.count_nonzero(_matches(keys, pattern)))


def _matches(keys: pa.LargeStringArray, pattern: str) -> np.ndarray:
    return flags_of(pc.match_substring_regex(keys, pattern))
