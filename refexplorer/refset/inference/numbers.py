"""Texts as words with whole numbers between them, read from the bytes of a whole column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refexplorer.formats.buffers.arrow import numbers_of
from refexplorer.formats.buffers.spans import Spans, spans_of

_DIGITS = 18
"""Digits of a number that surely fits into 64 bits."""
_ZERO, _NINE = ord("0"), ord("9")


def shapes_of(texts: pa.LargeStringArray) -> tuple[list[str], np.ndarray]:
    """Return texts without their numbers.

    Returns
    -------
    shapes
        The distinct ones, in the order in which they come: texts with ``0`` in the place of each
        number.
    codes
        Index into `shapes` of each text, int64, shape ``(n,)``; -1 where a number is too long.
    """
    spans = spans_of(texts)
    digit, inside = _digits(spans)
    first, widths = _numbers(digit, inside)
    words = spans.data.copy()
    words[first] = _ZERO
    kept = ~inside
    before = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(kept, out=before[1:])
    bounds = before[np.append(spans.starts, spans.ends[-1:])]
    column = pa.LargeStringArray.from_buffers(
        len(texts), pa.py_buffer(bounds), pa.py_buffer(words[kept])
    )
    encoded = column.dictionary_encode()
    codes = numbers_of(encoded.indices).astype(np.int64)
    codes[np.searchsorted(spans.ends, first[widths > _DIGITS], side="right")] = -1
    return encoded.dictionary.to_pylist(), codes


def read_numbers(texts: pa.LargeStringArray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Read the numbers of texts that have one shape.

    Parameters
    ----------
    texts
        A column of n of them.
    count
        How many numbers each has.

    Returns
    -------
    values, widths
        Each number, int64, and how many digits it is written with, uint8, shape ``(count, n)``.
    """
    spans = spans_of(texts)
    first, widths = _numbers(*_digits(spans))
    values, _ = Spans(spans.data, first, first + widths).numbers()
    shape = len(texts), count
    return values.reshape(shape).T, widths.astype(np.uint8).reshape(shape).T


def _digits(spans: Spans) -> tuple[np.ndarray, np.ndarray]:
    """Say which bytes are digits, and which of these continue a number."""
    digit = (spans.data >= _ZERO) & (spans.data <= _NINE)
    inside = np.zeros(len(digit), np.bool_)
    inside[1:] = digit[1:] & digit[:-1]
    inside[spans.starts[spans.sizes > 0]] = False
    return digit, inside


def _numbers(digit: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each number begins, and how many digits it has."""
    first = np.flatnonzero(digit & ~inside)
    last = digit.copy()
    last[:-1] &= ~inside[1:]
    return first, np.flatnonzero(last) + 1 - first
