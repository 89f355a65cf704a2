"""The chunks along one dimension of an array, by arithmetic: equal lengths, or runs.

Sources: the chunk grids ``regular`` of Zarr v3 and ``rectilinear`` of zarr-extensions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

_LONGEST = 2**53  # Elements along a dimension of varying chunks, which are counted in 64 bits


@dataclass(frozen=True)
class ChunkAxis:
    """The chunks along one dimension as runs of equal chunks; the last run is unbounded."""

    # The run that covers the edge of the array is unbounded. Runs are stored instead of chunks,
    # since a few characters of metadata may represent any number of chunks.

    extent: int  # Elements of the array along the dimension
    lengths: tuple[int, ...]  # Elements of the chunks of each run
    firsts: tuple[int, ...] = (0,)  # The number of the first chunk of each run
    begins: tuple[int, ...] = (0,)  # The element at which each run begins
    written: int = 0  # Chunks that the metadata lists, past the array, too; 0 where it lists none

    @property
    def is_regular(self) -> bool:
        """Whether all chunks have the same length."""
        return len(self.lengths) == 1

    @property
    def longest(self) -> int:
        return max(self.lengths)

    @property
    def runs(self) -> list[tuple[int, int]]:
        """The length and the number of chunks of each run, up to the edge of the array."""
        ends = (*self.firsts[1:], self.count)
        return [(n, end - at) for n, at, end in zip(self.lengths, self.firsts, ends, strict=True)]

    @property
    def written_form(self) -> list[int | list[int]]:
        """The lengths as a list of a rectilinear grid; Icechunk 2.3 reads no bare integers."""
        return [length if count < 2 else [length, count] for length, count in self.runs]

    @cached_property
    def count(self) -> int:
        """The number of chunks of the array along the dimension."""
        return self.number_at(self.extent - 1) + 1 if self.extent else 0

    def number_at(self, place: int) -> int:
        """Return the number of the chunk that contains an element."""
        run = bisect_right(self.begins, place) - 1
        return self.firsts[run] + (place - self.begins[run]) // self.lengths[run]

    def length_at(self, number: int) -> int:
        """Return the stored length of a chunk, which may extend past the array."""
        return self.lengths[bisect_right(self.firsts, number) - 1]

    def part(self, number: int) -> slice:
        """Return the elements of the array that are in a chunk."""
        run = bisect_right(self.firsts, number) - 1
        start = self.begins[run] + (number - self.firsts[run]) * self.lengths[run]
        return slice(start, min(start + self.lengths[run], self.extent))

    def touched(self, places: range) -> tuple[int, Iterable[int]]:
        """Return how many chunks contain some elements, and their numbers, ascending."""
        if places.step < 0:
            places = places[::-1]
        if not places:
            return 0, ()
        if self.is_regular:
            return _touched(places, 0, 0, self.lengths[0])
        found = list(self._touched_runs(places))
        return sum(count for count, _ in found), chain.from_iterable(each for _, each in found)

    def _touched_runs(self, places: range) -> Iterator[tuple[int, Iterable[int]]]:
        ends = (*self.begins[1:], places[-1] + 1)
        for first, begin, end, length in zip(
            self.firsts, self.begins, ends, self.lengths, strict=True
        ):
            low, high = (-((places.start - at) // places.step) for at in (begin, end))
            if inside := places[max(low, 0) : max(high, 0)]:
                yield _touched(inside, first, begin, length)

    def numbers_at(self, places: np.ndarray) -> np.ndarray:
        """Return the numbers of the chunks that contain some elements, int64."""
        if self.is_regular:
            return places // self.lengths[0]
        runs = np.searchsorted(self.begins, places, "right") - 1
        firsts, begins, lengths = self._columns
        return firsts[runs] + (places - begins[runs]) // lengths[runs]

    def starts_of(self, numbers: np.ndarray) -> np.ndarray:
        """Return the first elements of some chunks, int64."""
        if self.is_regular:
            return numbers * self.lengths[0]
        runs = np.searchsorted(self.firsts, numbers, "right") - 1
        firsts, begins, lengths = self._columns
        return begins[runs] + (numbers - firsts[runs]) * lengths[runs]

    def lengths_of(self, numbers: np.ndarray) -> np.ndarray:
        """Return the stored lengths of some chunks, int64."""
        if self.is_regular:
            return np.full(np.shape(numbers), self.lengths[0], np.int64)
        runs = np.searchsorted(self.firsts, numbers, "right") - 1
        return self._columns[2][runs]

    @cached_property
    def _columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        firsts, begins, lengths = (
            np.array(each, np.int64) for each in (self.firsts, self.begins, self.lengths)
        )
        return firsts, begins, lengths


def _touched(places: range, first: int, begin: int, length: int) -> tuple[int, Iterable[int]]:
    """Do the same for ascending elements of one run."""
    if places.step > length:
        count = -((places.start - places.stop) // places.step)  # `len` refuses 2^63
        return count, (first + (place - begin) // length for place in places)
    low, high = ((place - begin) // length for place in (places[0], places[-1]))
    return high - low + 1, range(first + low, first + high + 1)


def joined_axis(runs: Sequence[tuple[int, int]], extent: int) -> ChunkAxis:
    """Return the axis of concatenated chunks, given lengths and counts."""
    lengths: list[int] = []
    firsts: list[int] = []
    begins: list[int] = []
    number = place = 0
    for length, count in runs:
        if count and place < max(extent, 1) and lengths[-1:] != [length]:
            lengths.append(length)
            firsts.append(number)
            begins.append(place)
        number += count
        place += length * count
    if not lengths:  # an array without elements
        return ChunkAxis(extent, runs[0][:1], written=number)
    return ChunkAxis(extent, tuple(lengths), tuple(firsts), tuple(begins), number)


def read_axis(written: object, extent: int, axis: int) -> ChunkAxis | str:
    """Parse the chunk lengths of one dimension of a rectilinear grid, or return what is wrong."""
    if type(written) is int and written >= 1:
        return ChunkAxis(extent, (written,))
    if not isinstance(written, list) or not written:
        return f"The chunk lengths of dimension {axis} must be a positive integer or a list."
    if extent >= _LONGEST:
        return f"Dimension {axis} has {extent:,} elements, too many for chunks of varying lengths."
    runs: list[tuple[int, int]] = []
    for each in written:
        pair = each if isinstance(each, list) else [each, 1]
        if len(pair) != 2 or not all(type(part) is int and part >= 1 for part in pair):
            return (
                f"Each chunk length of dimension {axis} must be a positive integer or a list "
                "[length, count]."
            )
        runs.append((pair[0], pair[1]))
    place = sum(length * count for length, count in runs)
    if place < extent:
        return (
            f"The chunk lengths of dimension {axis} add up to {place:,}, but the array has "
            f"{extent:,} elements along it."
        )
    return joined_axis(runs, extent)
