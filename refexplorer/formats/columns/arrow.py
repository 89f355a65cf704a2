"""Between Arrow and numpy without a detour through pandas.

`pyarrow.array` on a list, `pyarrow.scalar` and `to_numpy` import pandas, which alone costs more
than opening a small set.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa


def text_column(texts: Sequence[str]) -> pa.LargeStringArray:
    """Make a column of texts; they must not hold lone surrogates."""
    joined = "".join(texts)
    # where a character is a byte, no text needs to be encoded by itself
    sized = texts if joined.isascii() else [text.encode() for text in texts]
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, sized), np.int64, len(texts)), out=offsets[1:])
    return pa.LargeStringArray.from_buffers(
        len(texts), pa.py_buffer(offsets), pa.py_buffer(joined.encode())
    )


def text_scalar(text: str) -> pa.LargeStringScalar:
    """Make a text that is to stand in every row."""
    return text_column([text])[0]


def number_column(numbers: np.ndarray) -> pa.Array:
    """Make a column of whole numbers, shape ``(n,)``."""
    numbers = np.ascontiguousarray(numbers, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def numbers_of(column: pa.Array) -> np.ndarray:
    """Return a column of integers without nulls as numpy, shape ``(n,)``."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = np.dtype(str(column.type))  # pyarrow's own way may load pandas
    if not len(column):
        return np.empty(0, kind)
    start = column.offset * kind.itemsize
    return np.frombuffer(column.buffers()[1], kind, len(column), start)


def distinct(numbers: np.ndarray) -> np.ndarray:
    """Return the different ones of some numbers, ascending; `numpy.unique` imports `numpy.ma`."""
    ordered = np.sort(numbers)
    found: np.ndarray = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


def flags_of(column: pa.BooleanArray) -> np.ndarray:
    """Return a column of yes and no without nulls as numpy, shape ``(n,)``."""
    return numbers_of(column.cast(pa.uint8())).view(np.bool_)
