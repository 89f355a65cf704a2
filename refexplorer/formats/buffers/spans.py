"""Texts as places in a run of bytes: looked at by numpy, copied only when they are wanted.

A text is never an object here. What a text is, is asked of the bytes: where marks stand, where
blanks end, and, eight digits at a time, which whole number is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refexplorer.formats.buffers.arrow import number_column, text_column

BLOCK = 2**18
WORD = 8
_MOST_DIGITS = 18
_MOST_BLANKS = 64
_BLANKS = np.isin(np.arange(256), list(b" \t\r\n"))
_ZEROS = np.uint64(0x3030303030303030)
_UPPER = np.uint64(0xF0F0F0F0F0F0F0F0)
_SIXES = np.uint64(0x0606060606060606)
_TAILS = np.array([0, *((2**64 - 1) << 8 * (WORD - n) & 2**64 - 1 for n in range(1, 9))], "u8")
"""The last n of the eight bytes of a word."""


class Spans(NamedTuple):
    """n texts.

    Attributes
    ----------
    data
        The bytes, uint8.
    starts, ends
        Where each text begins and where it has ended, int64, shape ``(n,)``.
    """

    data: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Bytes of each text."""
        sizes: np.ndarray = self.ends - self.starts
        return sizes

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the bytes in pieces; what is computed of one stays in the cache."""
        for at in range(0, len(self.data), BLOCK):
            yield self.data[at : at + BLOCK]

    def take(self, rows: np.ndarray) -> Spans:
        """Return some of the texts."""
        return Spans(self.data, self.starts[rows], self.ends[rows])

    def holding(self, places: np.ndarray) -> np.ndarray:
        """Say how many of some places, in order, lie inside each text."""
        counts: np.ndarray = np.searchsorted(places, self.ends) - np.searchsorted(
            places, self.starts
        )
        return counts

    def last_marks(self, mark: int) -> np.ndarray:
        """Return where a byte stands last in each text; its start if it is not there.

        The texts are in order, and begin with the data.
        """
        marks = np.append(np.flatnonzero(self.data == mark), -1)
        last = marks[np.searchsorted(marks[:-1], self.ends) - 1]
        found: np.ndarray = np.maximum(last, self.starts)
        return found

    def first(self) -> np.ndarray:
        """Return the first byte of each text, 0 of an empty one."""
        found = self.data[np.minimum(self.starts, len(self.data) - 1)]
        return np.where(self.sizes > 0, found, np.uint8(0))

    def last(self) -> np.ndarray:
        """Return the last byte of each text, 0 of an empty one."""
        return np.where(self.sizes > 0, self.data[self.ends - 1], np.uint8(0))

    def trimmed(self) -> Spans:
        """Leave out the blanks of JSON at both ends; of very many some may stay."""
        starts, ends = self._without_blanks(), self.ends
        for _ in range(_MOST_BLANKS):
            blank = _BLANKS[self.data[ends - 1]] & (starts < ends)
            if not blank.any():
                break
            ends = ends - blank
        return Spans(self.data, starts, ends)

    def is_blank(self) -> np.ndarray:
        """Say which texts are empty but for blanks; of very many it may say no."""
        blank: np.ndarray = self._without_blanks() == self.ends
        return blank

    def _without_blanks(self) -> np.ndarray:
        """Return where each text begins after its blanks."""
        starts, last = self.starts, len(self.data) - 1
        for _ in range(_MOST_BLANKS):
            blank = _BLANKS[self.data[np.minimum(starts, last)]] & (starts < self.ends)
            if not blank.any():
                break
            starts = starts + blank
        return starts

    def texts(self) -> pa.LargeStringArray:
        """Return the texts as a column; they must be in order, without an overlap, and UTF-8."""
        if not len(self.starts):
            return text_column([])
        bounds = np.stack([self.starts, self.ends], axis=1).ravel()
        column = _column_between(bounds, pa.py_buffer(self.data))
        return column.take(number_column(np.arange(0, len(bounds), 2)))

    def numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Read whole numbers as JSON writes them.

        Returns
        -------
        values, good
            The numbers, int64, and which texts are one of at most 18 digits.
        """
        sizes = self.sizes
        good = (sizes > 0) & (sizes <= _MOST_DIGITS)
        good &= (sizes == 1) | (self.first() != ord("0"))
        values = np.zeros(len(sizes), np.int64)
        for number, (words, kept) in enumerate(self.words(_MOST_DIGITS)):
            found, digits = _eight_digits(words | (_ZEROS & ~kept))
            values += found * 10 ** (number * WORD)
            good &= digits
        return values, good

    def words(self, most: int | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the texts from their ends on, eight bytes at a time, as little-endian numbers.

        Parameters
        ----------
        most
            How many bytes are asked for; None asks for all.

        Yields
        ------
        words, kept
            uint64, shape ``(n,)``: the bytes, 0 before a text begins, and which bits are of it.
        """
        spans = self if int(self.starts.min(initial=WORD)) >= WORD else self._padded()
        before = np.ndarray(max(len(spans.data) - WORD + 1, 0), "<u8", spans.data, strides=(1,))
        longest = int(self.sizes.max(initial=0))
        for done in range(0, longest if most is None else min(longest, most), WORD):
            kept = _TAILS[np.clip(self.sizes - done, 0, WORD)]
            yield before[np.maximum(spans.ends - done - WORD, 0)] & kept, kept

    def _padded(self) -> Spans:
        """Put eight bytes before the data, so that a word before any place can be read."""
        data = np.concatenate([np.zeros(WORD, np.uint8), self.data])
        return Spans(data, self.starts + WORD, self.ends + WORD)


def spans_of(column: pa.LargeStringArray) -> Spans:
    """Return the texts of a column where they lie."""
    if not len(column):
        return Spans(np.zeros(1, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.int64))
    _, bounds, data = column.buffers()
    offsets = np.frombuffer(bounds, np.int64, len(column) + 1, column.offset * 8)
    size = int(offsets[-1] - offsets[0])
    found = np.frombuffer(data, np.uint8, size, offsets[0]) if size else np.zeros(1, np.uint8)
    offsets = offsets - offsets[0]
    return Spans(found, offsets[:-1], offsets[1:])


def runs_of(
    column: pa.LargeStringArray, firsts: np.ndarray, ends: np.ndarray
) -> pa.LargeStringArray:
    """Return texts that follow each other as one text, where they lie.

    Parameters
    ----------
    column
        The texts.
    firsts, ends
        The first row of each run, in order, and the row after its last one, shape ``(n,)``.

    Returns
    -------
    column
        2 n - 1 texts: the runs, and what stands between one run and the next.
    """
    _, bounds, data = column.buffers()
    if not len(firsts) or data is None:
        return text_column([""] * max(2 * len(firsts) - 1, 0))
    offsets = np.frombuffer(bounds, np.int64, len(column) + 1, column.offset * 8)
    return _column_between(np.stack([offsets[firsts], offsets[ends]], axis=1).ravel(), data)


def _column_between(bounds: np.ndarray, data: pa.Buffer) -> pa.LargeStringArray:
    buffers = [None, pa.py_buffer(bounds), data]
    return pa.Array.from_buffers(pa.large_string(), len(bounds) - 1, buffers)


def chunk_numbers(names: Spans, separator: str, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Read names such as ``0.12.3`` as chunk indices.

    Parameters
    ----------
    names
        The texts, in the order of their bytes.
    separator
        What stands between the numbers.
    rank
        How many numbers a name must have.

    Returns
    -------
    rows, numbers
        The places of the names that fit, shape ``(n,)``, and their indices, ``(n, rank)`` int64.
    """
    marks = np.flatnonzero(names.data == ord(separator))
    rows = np.flatnonzero(names.holding(marks) == rank - 1)
    fitting = names.take(rows)
    bounds = np.empty((len(rows), rank + 1), np.int64)
    bounds[:, 0], bounds[:, -1] = fitting.starts - 1, fitting.ends
    first = np.searchsorted(marks, fitting.starts)
    bounds[:, 1:-1] = marks[first[:, None] + np.arange(rank - 1)]
    parts = Spans(names.data, (bounds[:, :-1] + 1).ravel(), bounds[:, 1:].ravel())
    numbers, good = (column.reshape(-1, rank) for column in parts.numbers())
    whole = good.all(axis=1)
    return rows[whole], numbers[whole]


def _eight_digits(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Read words of eight digits: the numbers, and which words are just digits."""
    good = (words & _UPPER == _ZEROS) & (words + _SIXES & _UPPER == _ZEROS)
    words = words - _ZEROS
    words = (words * np.uint64(1 + (10 << 8)) >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
    words = (words * np.uint64(1 + (100 << 16)) >> np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    words = words * np.uint64(1 + (10_000 << 32)) >> np.uint64(32)
    return words.astype(np.int64), good
