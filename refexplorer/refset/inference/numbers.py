"""Texts as words with whole numbers between them, read from the bytes of a whole column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from refexplorer.formats.arrow import numbers_of

_DIGITS = 18
"""Digits of a number that surely fits into 64 bits."""
_ZERO, _NINE = ord("0"), ord("9")


@dataclass(frozen=True)
class Numbered:
    """n texts, of which those with equal words share a shape.

    Attributes
    ----------
    shapes
        The distinct shapes: the texts with ``0`` in the place of each number.
    codes
        Place in `shapes` of each text, int64, shape ``(n,)``; -1 where a number is too long.
    starts
        Where the numbers of each text begin in `values`, int64, shape ``(n + 1,)``.
    values, widths
        Each number and how many digits it is written with, int64.
    """

    shapes: list[str]
    codes: np.ndarray
    starts: np.ndarray
    values: np.ndarray
    widths: np.ndarray

    def fields(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the k numbers of m rows of one shape, and their widths, each ``(k, m)``."""
        count = int(self.starts[rows[0] + 1] - self.starts[rows[0]])
        places = self.starts[rows] + np.arange(count)[:, None]
        return self.values[places], self.widths[places]


def read_numbers(texts: pa.LargeStringArray) -> Numbered:
    """Read the numbers of each text of a column without nulls."""
    offsets, data = _bytes_of(texts)
    digit = (data >= _ZERO) & (data <= _NINE)
    inside = np.zeros(len(data), np.bool_)
    inside[1:] = digit[:-1]
    inside[offsets[:-1][offsets[:-1] < len(data)]] = False
    first = np.flatnonzero(digit & ~inside)
    widths = _widths(digit, inside, first)
    values = _values(data, first, widths)
    starts = np.searchsorted(first, offsets)
    words, codes = _shapes(data, offsets, ~(digit & inside), first)
    long = first[widths > _DIGITS]
    codes[np.searchsorted(offsets, long, side="right") - 1] = -1
    return Numbered(words, codes, starts, values, widths)


def _bytes_of(texts: pa.LargeStringArray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each text begins, shape ``(n + 1,)``, and the bytes of all of them."""
    if not len(texts):
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    buffers = texts.buffers()
    offsets = np.frombuffer(buffers[1], np.int64, len(texts) + 1, texts.offset * 8)
    size = int(offsets[-1] - offsets[0])
    data = np.frombuffer(buffers[2], np.uint8, size, int(offsets[0])) if size else b""
    return offsets - offsets[0], np.asarray(data, np.uint8) if size else np.empty(0, np.uint8)


def _widths(digit: np.ndarray, inside: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Count the digits of the number that begins at each of these places."""
    follows = np.ones(len(digit) + 1, np.bool_)
    follows[:-1] = ~(digit & inside)
    ends = np.flatnonzero(follows)
    widths: np.ndarray = ends[np.searchsorted(ends, first, side="right")] - first
    return widths


def _values(data: np.ndarray, first: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Read the numbers digit by digit; those that are too long come to nothing."""
    values = np.zeros(len(first), np.int64)
    rows = np.arange(len(first))
    for place in range(min(int(widths.max(initial=0)), _DIGITS)):
        rows = rows[widths[rows] > place]
        values[rows] = values[rows] * 10 + (data[first[rows] + place] - _ZERO)
    return values


def _shapes(
    data: np.ndarray, offsets: np.ndarray, kept: np.ndarray, first: np.ndarray
) -> tuple[list[str], np.ndarray]:
    """Return the distinct texts with each number as ``0``, and the place of each text there."""
    words = data.copy()
    words[first] = _ZERO
    before = np.zeros(len(data) + 1, np.int64)
    np.cumsum(kept, out=before[1:])
    column = pa.LargeStringArray.from_buffers(
        len(offsets) - 1, pa.py_buffer(before[offsets]), pa.py_buffer(words[kept])
    )
    encoded = column.dictionary_encode()
    return encoded.dictionary.to_pylist(), numbers_of(encoded.indices).astype(np.int64)
