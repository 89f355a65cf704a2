"""Between Arrow and numpy without a detour through pandas.

`pyarrow.array` on a list and `to_numpy` import pandas, which alone costs more than opening a
small set.
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


def number_column(numbers: np.ndarray) -> pa.Array:
    """Make a column of whole numbers, shape ``(n,)``."""
    numbers = np.ascontiguousarray(numbers, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def numbers_of(column: pa.Array) -> np.ndarray:
    """Return a column of numbers without nulls as numpy, shape ``(n,)``."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = np.dtype(column.type.to_pandas_dtype())
    if not len(column):
        return np.empty(0, kind)
    start = column.offset * kind.itemsize
    return np.frombuffer(column.buffers()[1], kind, len(column), start)


def flags_of(column: pa.BooleanArray) -> np.ndarray:
    """Return a column of yes and no without nulls as numpy, shape ``(n,)``."""
    return numbers_of(column.cast(pa.uint8())).view(np.bool_)


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
    rows = np.flatnonzero(flags_of(pc.match_substring_regex(names, pattern)))
    if not len(rows):
        return rows, np.empty((0, rank), np.int64)
    fitting = names if len(rows) == len(names) else names.take(number_column(rows))
    if rank > 1:
        fitting = pc.list_flatten(pc.split_pattern(fitting, separator))
    numbers = numbers_of(pc.cast(fitting, pa.int64()))
    return rows, numbers.reshape(-1, rank)
