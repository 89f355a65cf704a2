"""Names of chunks, such as ``0.12.3``, read by the column."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.formats.columns.references import flags_of, joined, number_column, text_scalar
from refexplorer.formats.columns.texts import (
    BLOCK,
    WORD,
    ZEROS,
    Spans,
    chunk_numbers,
    eight_digits,
    is_not_digit,
    spans_of,
)
from refexplorer.spec.zarr_metadata import ArrayMeta

_MOST_LAYOUTS = 16  # names with more layouts are read one by one
_FEWEST = 256  # Reading fewer names by layout is not faster
_LONGEST = 512  # characters of a name that has a layout


class _NameLayout(NamedTuple):
    """The positions of the numbers in a name, in bytes before its end, and the rest."""

    size: int
    numbers: list[tuple[int, int]]
    words: list[tuple[int, int, int]]


def alike_numbers(
    names: Spans, start: str, separator: str, known: np.ndarray, numbers: np.ndarray
) -> None:
    """Parse the chunk indices of names with the same layout."""
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
            if before + digits <= WORD:  # shifting loaded bytes is faster than loading others
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
    """Return the layout of the middle name; None if it is not a chunk name."""
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
    """Return the words to compare, last first: distance from the end, the bytes, and the digits."""
    found = []
    for before in range(0, len(text), WORD):
        stop = len(text) - before
        piece = text[max(stop - WORD, 0) : stop].rjust(WORD, b"\0")
        digits = is_number[max(stop - WORD, 0) : stop].rjust(WORD, b"\0")
        found.append((before, int.from_bytes(piece, "little"), int.from_bytes(digits, "little")))
    return found


def _is_alike(names: Spans, layout: _NameLayout, last: np.ndarray) -> np.ndarray:
    """Return which names, given their last words, differ from a layout only in their digits."""
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


# of the last dimensions; they are written once, and what runs over them is only repeated
_ENDINGS = 4096


def chunk_keys(array: ArrayMeta, numbers: np.ndarray) -> pa.LargeStringArray:
    """Return the keys of chunks by number, ascending; repeated parts are written only once."""
    # The text of the first dimensions is written once per run of chunks that share it, and that of
    # the last ones, which have few combinations, once in total.
    if not (grid := array.narrow_grid):
        return pa.repeat(text_scalar(array.chunk_key(())), len(numbers))
    axis = len(grid)
    while axis > 1 and prod(grid[axis - 1 :]) <= _ENDINGS:
        axis -= 1
    heads, tails = np.divmod(numbers, prod(grid[axis:]))
    is_new = np.append(True, heads[1:] != heads[:-1])[: len(heads)]
    starts = _joined(array, array.folder + array.prefix, heads[is_new], grid[:axis])
    keys = starts.take(number_column(np.cumsum(is_new) - 1))
    if axis == len(grid):
        return keys
    ends = _joined(array, array.separator, np.arange(prod(grid[axis:])), grid[axis:])
    return joined(keys, ends.take(number_column(tails)))


def _joined(
    array: ArrayMeta, start: str, numbers: np.ndarray, grid: tuple[int, ...]
) -> pa.LargeStringArray:
    """Format numbers as indices in a part of the grid, after a text."""
    parts: list[pa.LargeStringArray | str] = []
    for size in reversed(grid):
        numbers, index = np.divmod(numbers, size)
        parts = [array.separator, number_column(index).cast(pa.large_string()), *parts]
    return joined(start, *parts[1:])


MOST_DIMENSIONS = 64  # numpy allows no more, and Zarr reads into numpy arrays
_NATURAL = re.compile(r"(\d+)")


def chunk_indices(
    array: ArrayMeta, keys: pa.LargeStringArray, rows: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return which keys are chunks of an array, and their indices, also outside the grid."""
    # Shapes ``(n,)`` and ``(n, rank)``, int64; an index may be outside the grid.
    rows = np.arange(len(keys)) if rows is None else rows
    if array.shape:
        start = array.folder + array.prefix
        return read_indices(keys, rows, start, array.separator, len(array.shape))
    only = pc.equal(keys.take(number_column(rows)), text_scalar(array.chunk_key(())))
    positions = np.flatnonzero(flags_of(only))
    return positions, np.empty((len(positions), 0), np.int64)


def read_indices(
    keys: pa.LargeStringArray, rows: np.ndarray, start: str, separator: str, rank: int
) -> tuple[np.ndarray, np.ndarray]:
    """Read the chunk indices of some keys."""
    is_chunk, indices = np.zeros(len(rows), np.bool_), np.empty((rank, len(rows)), np.int64)
    spans, run = spans_of(keys), run_of(rows)
    if isinstance(run, slice):
        spans = spans.take(run)
    for first in range(0, len(rows), BLOCK):
        block = slice(first, first + BLOCK)
        taken = spans.take(block if isinstance(run, slice) else run[block])
        alike_numbers(taken, start, separator, is_chunk[block], indices[:, block])
    others = np.flatnonzero(~is_chunk)
    for first, names in in_blocks(keys, rows[others]):
        begins = np.flatnonzero(flags_of(pc.starts_with(names, start)))
        found, numbers = chunk_numbers(
            _after(names, len(start.encode())).take(begins), separator, rank
        )
        positions = others[first + begins[found]]
        is_chunk[positions], indices[:, positions] = True, numbers.T
    if is_chunk.all():
        return np.arange(len(rows)), indices.T
    chunks = np.flatnonzero(is_chunk)
    return chunks, indices[:, chunks].T


def run_of(rows: np.ndarray) -> np.ndarray | slice:
    """Return consecutive rows as a slice, which copies nothing; others unchanged."""
    if not len(rows) or int(rows[-1]) - int(rows[0]) != len(rows) - 1:
        return rows
    is_run = bool((rows[1:] > rows[:-1]).all())
    return slice(int(rows[0]), int(rows[-1]) + 1) if is_run else rows


def in_natural_order(keys: pa.LargeStringArray, rows: np.ndarray, skip: int) -> np.ndarray:
    """Return rows in natural order: 2 before 10, and 0.2 before 0.10."""
    if len(rows) < 2:
        return rows
    numbers = _numbers_in(keys, rows, skip)
    if numbers is not None:
        order = _lexical_order(numbers)
        return rows if order is None else rows[order]
    texts = [key.encode()[skip:].decode() for key in keys.take(number_column(rows)).to_pylist()]
    ordered = sorted(range(len(texts)), key=lambda row: natural(texts[row]))
    return rows[np.array(ordered, np.int64)]


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return the sort key of a name: its numbers as numbers."""
    parts = _NATURAL.split(name)
    return [
        (0, int(part), "") if position % 2 and len(part) < 4000 else (1, 0, part)
        for position, part in enumerate(parts)
    ]


def in_blocks(keys: pa.LargeStringArray, rows: np.ndarray) -> Iterator[tuple[int, pa.Array]]:
    """Yield the keys of some rows, block by block, each with the number of its first row."""
    for start in range(0, len(rows), BLOCK):
        part = rows[start : start + BLOCK]
        if isinstance(run := run_of(part), slice):
            yield start, keys.slice(run.start, len(part))
        else:
            yield start, keys.take(number_column(part))


def last_parts(keys: pa.LargeStringArray) -> pa.LargeStringArray:
    """Return keys from their last slash on, including it."""
    spans = spans_of(keys)
    return Spans(spans.data, spans.last_marks(ord("/")), spans.ends).texts()


def _after(names: pa.LargeStringArray, skip: int) -> Spans:
    """Return texts without their first bytes."""
    spans = spans_of(names)
    return Spans(spans.data, np.minimum(spans.starts + skip, spans.ends), spans.ends)


def _numbers_in(keys: pa.LargeStringArray, rows: np.ndarray, skip: int) -> np.ndarray | None:
    """Return all names as numbers, shape ``(n, rank)``; None if one is not a name of a chunk."""
    first = keys[int(rows[0])].as_py().encode()[skip:]
    separator = "/" if b"/" in first else "."
    rank = first.count(separator.encode()) + 1
    found: np.ndarray | None = None
    for start, names in in_blocks(keys, rows):
        positions, numbers = chunk_numbers(_after(names, skip), separator, rank)
        if len(positions) < len(names):
            return None
        if found is None:
            found = np.empty((len(rows), rank), np.int64)
        found[start : start + len(names)] = numbers
    return found


def _lexical_order(numbers: np.ndarray) -> np.ndarray | None:
    """Sort rows by their first number, then by the second, and so on; None if sorted already."""
    sizes = [int(column.max()) + 1 for column in numbers.T]
    if math.prod(sizes) >= 2**63 or len(sizes) > MOST_DIMENSIONS:
        return np.lexsort(numbers.T[::-1])
    codes = np.ravel_multi_index(tuple(numbers.T), sizes)
    return None if np.all(codes[1:] > codes[:-1]) else np.argsort(codes, kind="stable")


@dataclass(frozen=True, slots=True)
class KeyEncoding:
    """The chunk key encoding of an array: prefix and separator."""

    start: str  # What every key begins with
    is_default: bool  # Whether the numbers follow a ``c``
    separator: str  # Between numbers

    @classmethod
    def of(cls, folder: str, metadata: str) -> KeyEncoding:
        """Return the encoding in a ``zarr.json``; Zarr's default if that is invalid."""
        try:
            found = json.loads(metadata).get("chunk_key_encoding", {})
            is_default = found.get("name") != "v2"
            separator = found.get("configuration", {}).get("separator", "/" if is_default else ".")
        except (ValueError, AttributeError, RecursionError):
            is_default, separator = True, "/"
        prefix = f"{folder}/" if folder else ""
        separator = separator if isinstance(separator, str) else "/"
        return cls(f"{prefix}c" if is_default else prefix, is_default, separator)

    def keys(self, indices: np.ndarray) -> pa.LargeStringArray:
        """Return the keys of chunks by their indices, shape ``(n, rank)``."""
        if not indices.shape[1]:
            key = self.start if self.is_default else f"{self.start}0"
            return pa.repeat(text_scalar(key), len(indices))
        parts: list[pa.LargeStringArray | str] = []
        for column in indices.T:
            parts += [self.separator, number_column(column).cast(pa.large_string())]
        return joined(self.start, *(parts if self.is_default else parts[1:]))
