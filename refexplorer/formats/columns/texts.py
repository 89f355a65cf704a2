"""Texts in a buffer, compared and parsed as columns without copying."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refexplorer.formats.columns.references import number_column, text_column

BLOCK = 2**15  # bytes whose intermediate arrays stay in the processor's cache
# texts are compared and hashed as 64-bit numbers, eight characters at a time
WORD = 8
# all numbers of 18 digits fit into 63 bits
_MOST_DIGITS = 18
# each pass processes every text: one with a megabyte of blanks would slow down all the others
_MOST_BLANKS = 64
_BLANKS = np.isin(np.arange(256), list(b" \t\r\n"))
ZEROS = np.uint64(0x3030303030303030)
_TO_TOP = np.uint64(0x7676767676767676)  # Sets the top bit of each byte above 9
_TOPS = np.uint64(0x8080808080808080)
_LEAST = np.array([2**63 - 1, 0, *(10**n for n in range(1, 18)), 2**63 - 1])
"""The least number that JSON writes with n digits; for 0 or too many digits, none is valid."""
_TAILS = np.array([0, *((2**64 - 1) << 8 * (WORD - n) & 2**64 - 1 for n in range(1, 9))], "u8")
"""The last n of the eight bytes of a word."""


class Spans(NamedTuple):
    """n texts."""

    data: np.ndarray  # The bytes, uint8
    # starts, ends: Where each text begins and where it has ended, int64, shape ``(n,)``
    starts: np.ndarray
    ends: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        return self.ends - self.starts

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the bytes in pieces small enough for results to stay in the processor's cache."""
        for at in range(0, len(self.data), BLOCK):
            yield self.data[at : at + BLOCK]

    def take(self, rows: np.ndarray | slice) -> Spans:
        return Spans(self.data, self.starts[rows], self.ends[rows])

    def holding(self, places: np.ndarray) -> np.ndarray:
        """Return how many of some sorted positions are inside each text."""
        return np.searchsorted(places, self.ends) - np.searchsorted(places, self.starts)

    def marked(self, marks: np.ndarray, count: int) -> np.ndarray | None:
        """Return the positions of marks, ``(count, n)``, if every text has that many; else None."""
        # None if one has not, or if the number of marks between texts varies. Generated text is
        # that regular, so that no position has to be searched.
        if not len(self.starts) or len(marks) % len(self.starts):
            return None
        table = np.ascontiguousarray(marks.reshape(len(self.starts), -1).T)
        inside, between = table[:count], table[count:]
        if (
            len(inside) < count
            or np.any(inside[0] < self.starts)
            or np.any(inside[-1] >= self.ends)
        ):
            return None
        if len(between) and (
            np.any(between[0] < self.ends) or np.any(between[-1, :-1] >= self.starts[1:])
        ):
            return None
        return inside

    def tested(self, test: Callable[[Spans], np.ndarray]) -> np.ndarray:
        """Return the result of a test for each text; evaluated once for all like the middle one."""
        middle = len(self.starts) // 2
        if not len(self.starts) or self.sizes[middle] > _MOST_BLANKS:
            return test(self)
        alike = self._equal_to(middle)
        good = np.full(len(alike), test(self.take(np.array([middle])))[0])
        others = np.flatnonzero(~alike)
        if len(others):
            good[others] = test(self.take(others))
        return good

    def _equal_to(self, row: int) -> np.ndarray:
        size = int(self.sizes[row])
        equal: np.ndarray = self.sizes == size
        for done in range(0, size, WORD):
            words = self.words_before(self.ends - done) & _TAILS[min(size - done, WORD)]
            equal &= words == words[row]
        return equal

    def last_marks(self, mark: int) -> np.ndarray:
        """Return the last position of a byte in each text of a column; its start if absent."""
        marks = np.flatnonzero(self.data == mark)
        if (alone := self.marked(marks, 1)) is not None:
            return alone[0]
        marks = np.append(marks, -1)
        last = marks[np.searchsorted(marks[:-1], self.ends) - 1]
        return np.maximum(last, self.starts)

    def first(self) -> np.ndarray:
        """Return the first byte of each text, 0 if empty."""
        found = self.data[np.minimum(self.starts, len(self.data) - 1)]
        return np.where(self.sizes > 0, found, np.uint8(0))

    def last(self) -> np.ndarray:
        """Return the last byte of each text, 0 if empty."""
        return np.where(self.sizes > 0, self.data[self.ends - 1], np.uint8(0))

    def trimmed(self) -> Spans:
        """Strip JSON whitespace at both ends; if there is very much, some may stay."""
        starts, ends = self._without_blanks(), self.ends
        for _ in range(_MOST_BLANKS):
            blank = _BLANKS[self.data[ends - 1]] & (starts < ends)
            if not blank.any():
                break
            ends = ends - blank
        return Spans(self.data, starts, ends)

    def is_blank(self) -> np.ndarray:
        """Return which texts contain only whitespace; may be False for very long ones."""
        return self._without_blanks() == self.ends

    def _without_blanks(self) -> np.ndarray:
        """Return where each text starts after its whitespace."""
        starts, last = self.starts, len(self.data) - 1
        for _ in range(_MOST_BLANKS):
            blank = _BLANKS[self.data[np.minimum(starts, last)]] & (starts < self.ends)
            if not blank.any():
                break
            starts = starts + blank
        return starts

    def texts(self) -> pa.LargeStringArray:
        """Return the texts as a column; they must be in order, non-overlapping, and UTF-8."""
        if not len(self.starts):
            return text_column([])
        bounds = np.stack([self.starts, self.ends], axis=1).ravel()
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(self.data)]
        column = pa.Array.from_buffers(pa.large_string(), len(bounds) - 1, buffers)
        return column.take(number_column(np.arange(0, len(bounds), 2)))

    def trimmed_numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Parse integers that may have whitespace around them, usually as for the middle one."""
        middle = self.take(slice(len(self.starts) // 2, len(self.starts) // 2 + 1))
        before = int((middle.trimmed().starts - middle.starts).sum())
        values, good = Spans(self.data, self.starts + before, self.ends).numbers()
        for place in range(before):
            good &= _BLANKS[self.data[np.minimum(self.starts + place, len(self.data) - 1)]]
        if not good.all():
            others = np.flatnonzero(~good)
            values[others], good[others] = self.take(others).trimmed().numbers()
        return values, good

    def numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Parse integers in JSON notation."""
        sizes = self.sizes
        values = np.zeros(len(sizes), np.int64)
        odd = np.zeros(len(sizes), np.uint64)
        for number, (rows, words, kept) in enumerate(self.words(_MOST_DIGITS)):
            digits = words ^ (ZEROS & kept)
            odd[rows] |= is_not_digit(digits)
            values[rows] += eight_digits(digits) * 10 ** (number * WORD)
        good = (odd == 0) & (sizes <= _MOST_DIGITS)
        good &= values >= _LEAST[np.minimum(np.maximum(sizes, 0), _MOST_DIGITS + 1)]
        return values, good

    def words(
        self, most: int | None = None
    ) -> Iterator[tuple[np.ndarray | slice, np.ndarray, np.ndarray]]:
        """Yield the texts from their ends on, eight bytes at a time, as little-endian numbers."""
        rows: np.ndarray | slice = slice(None)
        sizes, ends = self.sizes, self.ends
        longest = int(sizes.max(initial=0))
        for done in range(0, longest if most is None else min(longest, most), WORD):
            longer = np.flatnonzero(sizes > done)
            if 2 * len(longer) < len(sizes):
                rows = longer if isinstance(rows, slice) else rows[longer]
                sizes, ends = sizes[longer], ends[longer]
            kept = _TAILS[np.minimum(np.maximum(sizes - done, 0), WORD)]
            yield rows, self.words_before(ends - done) & kept, kept

    def words_before(self, ends: np.ndarray) -> np.ndarray:
        """Return the eight bytes before some positions as little-endian numbers, 0 before data."""
        places = ends - WORD
        if int(places.min(initial=0)) >= 0:
            return _words(self.data)[places]
        none, early = np.zeros(WORD, np.uint8), np.flatnonzero(places < 0)
        data = self.data if len(self.data) >= WORD else np.append(self.data, none)
        found: np.ndarray = _words(data)[np.maximum(places, 0)]
        found[early] = _words(np.append(none, data[:WORD]))[np.maximum(ends[early], 0)]
        return found


def _words(data: np.ndarray) -> np.ndarray:
    """Return every eight consecutive bytes as a little-endian number."""
    return np.ndarray(max(len(data) - WORD + 1, 0), "<u8", data, strides=(1,))


def spans_of(column: pa.LargeStringArray) -> Spans:
    """Return the texts of a column in place."""
    if not len(column):
        return Spans(np.zeros(1, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.int64))
    _, bounds, data = column.buffers()
    offsets = np.frombuffer(bounds, np.int64, len(column) + 1, column.offset * 8)
    size = int(offsets[-1] - offsets[0])
    found = np.frombuffer(data, np.uint8, size, offsets[0]) if size else np.zeros(1, np.uint8)
    if offsets[0]:
        offsets = offsets - offsets[0]
    return Spans(found, offsets[:-1], offsets[1:])


def chunk_numbers(names: Spans, separator: str, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Parse names such as ``0.12.3`` as chunk indices."""
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


def is_not_digit(digits: np.ndarray) -> np.ndarray:
    """Return where a word, minus ``0`` in each byte, has a non-digit: 0 if all are digits."""
    return (digits | (digits + _TO_TOP)) & _TOPS


def eight_digits(digits: np.ndarray) -> np.ndarray:
    """Parse words whose eight bytes are the digits of a number."""
    pairs = (digits * np.uint64(1 + (10 << 8)) >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
    fours = (pairs * np.uint64(1 + (100 << 16)) >> np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    whole: np.ndarray = fours * np.uint64(1 + (10_000 << 32)) >> np.uint64(32)
    return whole.view(np.int64)
