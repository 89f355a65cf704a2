"""Columns of few words, as numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa


def coded(column: pa.ChunkedArray) -> tuple[list[str | None], np.ndarray]:
    """Return the words of a column of words, None the last, and the place of each row's word."""
    words = column.combine_chunks()
    codes = words.indices.fill_null(len(words.dictionary)).to_numpy(zero_copy_only=False)
    return [*words.dictionary.to_pylist(), None], codes.astype(np.int64)


def places_of(column: pa.ChunkedArray, names: Sequence[str]) -> np.ndarray:
    """Return the places of the words of a column without nulls in `names`, int64."""
    words, codes = coded(column)
    table = np.array([-1 if word is None else names.index(word) for word in words], np.int64)
    found: np.ndarray = table[codes]
    return found
