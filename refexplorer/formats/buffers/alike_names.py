"""Names of chunks that are written alike, read eight bytes of all of them at a time.

Of ``x/10.3`` and ``x/11.4`` only the digits differ: one look at the first says where they stand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refexplorer.formats.buffers.spans import WORD, ZEROS, Spans, eight_digits, is_not_digit

_MOST_LAYOUTS = 16
_FEWEST = 256
"""Fewer names are read one layout after the other in no less time than in the usual way."""
_LONGEST = 512


class _NameLayout(NamedTuple):
    """Where the numbers of a name stand, in bytes before its end, and what the rest is."""

    size: int
    numbers: list[tuple[int, int]]
    words: list[tuple[int, int, int]]


def alike_numbers(
    names: Spans, start: str, separator: str, known: np.ndarray, numbers: np.ndarray
) -> None:
    """Read the chunk indices of names that are written alike."""
    left, rank = names, len(numbers)
    rows: np.ndarray | None = None  # all of them
    for _ in range(_MOST_LAYOUTS):
        count = len(left.starts)
        layout = None if count < _FEWEST else _layout(left, start, separator, rank)
        if layout is None:
            break
        last = left.words_before(left.ends)
        is_alike = _is_alike(left, layout, last)
        alike = np.count_nonzero(is_alike)
        few = 8 * alike < count
        ends = left.ends
        found: np.ndarray | slice = slice(None) if rows is None else rows
        if alike < count:
            rows = np.arange(count) if rows is None else rows
            last, ends, found = last[is_alike], ends[is_alike], rows[is_alike]
        known[found] = True
        for axis, (before, digits) in enumerate(layout.numbers):
            kept = np.uint64((2**64 - 1) << 8 * (WORD - digits) & 2**64 - 1)
            if before + digits <= WORD:  # bytes that were there are faster moved than found again
                words = last << np.uint64(8 * before)
            else:
                words = names.words_before(ends - before)
            values = eight_digits((words & kept) ^ (ZEROS & kept))
            numbers[axis, found] = values
            if digits > 1:
                known[found] &= values >= 10 ** (digits - 1)
        if few or rows is None or alike == count:
            break
        left, rows = left.take(~is_alike), rows[~is_alike]


def _layout(names: Spans, start: str, separator: str, rank: int) -> _NameLayout | None:
    """Return how the middle name is written; None if it is no name of a chunk."""
    middle = len(names.starts) // 2
    begin, end = int(names.starts[middle]), int(names.ends[middle])
    text, head = names.data[begin:end].tobytes(), start.encode()
    parts = text[len(head) :].split(separator.encode())
    if len(text) > _LONGEST or not text.startswith(head) or len(parts) != rank:
        return None
    if not all(part.isdigit() and len(part) <= WORD for part in parts):
        return None
    numbers, before = [], 0
    is_number = bytearray(len(text))
    for part in reversed(parts):
        numbers.append((before, len(part)))
        stop = len(text) - before
        is_number[stop - len(part) : stop] = b"\xff" * len(part)
        before += len(part) + len(separator)
    return _NameLayout(len(text), numbers[::-1], _words(text, bytes(is_number)))


def _words(text: bytes, is_number: bytes) -> list[tuple[int, int, int]]:
    """Return what is compared, from the end on: how far before it, the bytes, and the digits."""
    found = []
    for before in range(0, len(text), WORD):
        stop = len(text) - before
        piece = text[max(stop - WORD, 0) : stop].rjust(WORD, b"\0")
        digits = is_number[max(stop - WORD, 0) : stop].rjust(WORD, b"\0")
        found.append((before, int.from_bytes(piece, "little"), int.from_bytes(digits, "little")))
    return found


def _is_alike(names: Spans, layout: _NameLayout, last: np.ndarray) -> np.ndarray:
    """Say which names, given their last words, differ from a layout in their digits alone."""
    is_alike: np.ndarray = names.sizes == layout.size
    for before, text, digits in layout.words:
        words = names.words_before(names.ends - before) if before else last
        size = min(layout.size - before, WORD)
        inside = (2**64 - 1) << 8 * (WORD - size) & 2**64 - 1
        fixed = inside & ~digits
        if fixed:
            is_alike &= (words ^ np.uint64(text)) & np.uint64(fixed) == 0
        if digits:
            kept = np.uint64(digits)
            is_alike &= is_not_digit((words & kept) ^ (ZEROS & kept)) == 0
    return is_alike
