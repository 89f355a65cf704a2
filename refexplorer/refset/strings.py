"""Arrow columns of text, made without a detour through pandas.

`pyarrow.array` on a list imports pandas, which alone costs more than opening a small set.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def text_column(texts: Sequence[str]) -> pa.LargeStringArray:
    """Make a column of texts; they must not hold lone surrogates."""
    encoded = [text.encode() for text in texts]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
    return pa.LargeStringArray.from_buffers(
        len(encoded), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))
    )


def without_start(texts: pa.Array, size: int) -> pa.Array:
    """Return the texts without their first `size` characters."""
    return pc.utf8_slice_codeunits(texts, size)


def chunk_numbers(names: pa.Array, separator: str, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Read names such as ``0.12.3`` as chunk indices.

    Parameters
    ----------
    names
        Column of texts.
    separator
        What stands between the numbers.
    rank
        How many numbers a name must have.

    Returns
    -------
    rows, numbers
        The places of the names that fit, shape ``(n,)``, and their indices, ``(n, rank)`` int64.
    """
    number = r"(?:0|[1-9][0-9]{0,17})"
    literal = "\\" + separator
    pattern = f"^{number}(?:{literal}{number}){{{rank - 1}}}$"
    fits = pc.match_substring_regex(names, pattern).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(fits)
    if not len(rows):
        return rows, np.empty((0, rank), np.int64)
    parts = pc.split_pattern(names.take(pa.array(rows)), separator)
    numbers = pc.cast(pc.list_flatten(parts), pa.int64()).to_numpy(zero_copy_only=False)
    return rows, numbers.reshape(-1, rank)
