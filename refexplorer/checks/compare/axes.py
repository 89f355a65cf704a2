"""Coordinates over the join of all files: order, values that repeat, gaps."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from refexplorer.checks.compare.cf import is_time
from refexplorer.checks.compare.set_array import SetArray

_REGULAR = 0.9
"""The part of all steps that must be about as long as the middle one, to speak of gaps."""
_ABOUT = 0.2
"""How much months and leap years differ from it."""
_GAP = 1.7
"""Steps that are longer by this factor are gaps: a month that is missing makes one of 1.9."""


@dataclass(frozen=True)
class OddSteps:
    """What is odd in a coordinate."""

    cause: str  # A code of `refexplorer.spec.codes`
    count: int  # How often
    index: int  # The element before the first place
    between: tuple[str, str]  # The values there, as texts


@dataclass
class FileAxis:
    """A coordinate of several files, a stretch each; numbers by the eight bytes."""

    # numbers, starts, counts, firsts, lasts, least, most: Of each file: its number, where it
    # starts, how many values it has, the first and last of them, the least and largest step
    numbers: array[int] = field(default_factory=lambda: array("q"))
    starts: array[int] = field(default_factory=lambda: array("q"))
    counts: array[int] = field(default_factory=lambda: array("q"))
    firsts: array[float] = field(default_factory=lambda: array("d"))
    lasts: array[float] = field(default_factory=lambda: array("d"))
    least: array[float] = field(default_factory=lambda: array("d"))
    most: array[float] = field(default_factory=lambda: array("d"))

    def add(self, number: int, start: int, axis: dict[str, float | int]) -> None:
        """Take in a file."""
        self.numbers.append(number)
        self.starts.append(start)
        self.counts.append(int(axis["count"]))
        for name, column in (("first", self.firsts), ("last", self.lasts),
                             ("least", self.least), ("most", self.most)):  # fmt: skip
            column.append(float(axis[name]))

    def files_at(self, index: int) -> list[int]:
        """Return the numbers of the files that have an element, or start after it."""
        starts, counts = np.array(self.starts), np.array(self.counts)
        has = (starts <= index) & (index < starts + counts) | (starts == index + 1)
        found: list[int] = np.array(self.numbers)[has].tolist()
        return found


def of_files(ours: SetArray, axis: FileAxis) -> Iterator[OddSteps]:
    """Yield what is odd between files, and inside them."""
    order = np.argsort(axis.starts, kind="stable")
    starts, counts, firsts, lasts, least, most = (
        np.array(column)[order]
        for column in (axis.starts, axis.counts, axis.firsts, axis.lasts, axis.least, axis.most)
    )
    ends = starts + counts
    joined = np.flatnonzero(ends[:-1] == starts[1:])
    has = np.flatnonzero(counts > 1)
    # a file counts by its least and its largest step
    before = np.concatenate([lasts[joined], firsts[has], firsts[has]])
    after = np.concatenate([firsts[joined + 1], firsts[has] + least[has], firsts[has] + most[has]])
    index = np.concatenate([ends[joined] - 1, starts[has], starts[has]])
    yield from _odd(before, after, index, ours)


def _odd(
    before: np.ndarray, after: np.ndarray, index: np.ndarray, ours: SetArray
) -> Iterator[OddSteps]:
    steps = after - before
    known = ~np.isnan(steps)
    if not known.any():
        return
    middle = float(np.median(steps[known]))
    turned = steps < 0 if middle >= 0 else steps > 0
    lengths = np.abs(steps)
    regular = np.abs(lengths - abs(middle)) <= _ABOUT * abs(middle)
    is_regular = regular[known].mean() >= _REGULAR or np.count_nonzero(known & ~regular) == 1
    gaps = known & ~turned & (lengths > _GAP * abs(middle)) & (middle != 0)
    found = {
        "axis-duplicate": known & (steps == 0),
        "axis-order": known & turned,
        "axis-gap": gaps if is_time(ours.attribute("units")) and is_regular else gaps & False,
    }
    if len(steps) < 2:
        del found["axis-gap"], found["axis-order"]
    for cause, where in found.items():
        if where.any():
            first = int(np.flatnonzero(where)[0])
            both = _text(before[first], ours), _text(after[first], ours)
            yield OddSteps(cause, int(np.count_nonzero(where)), int(index[first]), both)


def _text(value: float, ours: SetArray) -> str:
    if is_time(ours.attribute("units")) and abs(value) > 1e9:
        return str(np.datetime64(round(float(value)), "us").astype("datetime64[s]"))
    return f"{float(value):.10g}"
