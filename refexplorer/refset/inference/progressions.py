"""Columns of numbers as expressions of a dimension: nested progressions, lists where none fits.

A progression of one level grows by a step. One of two levels grows by a step within blocks of p
numbers, and its blocks begin with numbers that are again a progression; and so on. In a template
that is ``i % p * step + i // p * other``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

LEVELS = 5
LISTED_VALUES = 100
"""Numbers that a template lists at most."""


@dataclass(frozen=True, slots=True)
class ProgressionLevel:
    """One level: the step within a block, and how many of its numbers a block has (0: all)."""

    step: int
    period: int


@dataclass(frozen=True, slots=True)
class Progression:
    """The contribution of one axis to a column, as a function of a position counted from 0.

    Attributes
    ----------
    levels
        From the innermost to the outermost.
    listed
        Numbers of the outermost blocks where they are no progression; else empty.
    """

    levels: tuple[ProgressionLevel, ...]
    listed: tuple[int, ...] = ()

    @property
    def constant(self) -> bool:
        """Whether nothing changes along the axis."""
        return not self.listed and all(not level.step for level in self.levels)

    @property
    def period(self) -> int:
        """How many positions share one number of the list."""
        return int(np.prod([level.period for level in self.levels], dtype=int))

    @property
    def plain(self) -> int | None:
        """The step, if there is but one level."""
        return self.levels[0].step if len(self.levels) == 1 and not self.listed else None

    def terms(self, position: str) -> Iterator[str]:
        """Yield expressions to be added up, of the position by its name."""
        divisor = 1
        for level in self.levels:
            block = f"{position} // {divisor}" if divisor > 1 else position
            if level.step:
                inner = f"{block} % {level.period}" if level.period else block
                yield times(inner, level.step)
            divisor *= level.period or 1
        if self.listed:
            block = f"{position} // {divisor}" if divisor > 1 else position
            yield f"[{','.join(map(str, self.listed))}][{block}]"


def times(expression: str, factor: int) -> str:
    """Write a product of an expression and a number."""
    if factor == 1:
        return expression
    if ("//" in expression or "%" in expression) and not expression.endswith(")"):
        return f"({expression}) * {factor}"
    return f"{expression} * {factor}"


def fit_start(values: np.ndarray) -> tuple[Progression, int]:
    """Return a nested progression of the first numbers, and how many of them it fits."""
    levels: list[ProgressionLevel] = []
    reach, size, blocks = len(values), 1, values
    while len(levels) < LEVELS:
        period, whole = _blocks(blocks)
        step = int(blocks[1] - blocks[0]) if len(blocks) > 1 else 0
        if period >= len(blocks) or whole <= period or len(levels) + 1 == LEVELS:
            levels.append(ProgressionLevel(step, 0))
            return Progression(tuple(levels)), min(reach, period * size)
        levels.append(ProgressionLevel(step, period))
        reach, size = min(reach, whole * size), size * period
        blocks = blocks[:whole:period]
    raise AssertionError("the last level returns")


def _blocks(values: np.ndarray) -> tuple[int, int]:
    """Return the period of the innermost level, and how many numbers are in blocks like that."""
    steps = np.diff(values)
    other = np.flatnonzero(steps != steps[:1])
    if not len(other):
        return len(values), len(values)
    period = int(other[0]) + 1
    within = np.arange(1, len(values)) % period != 0
    broken = np.flatnonzero(within & (steps != steps[0]))
    return period, int(broken[0]) + 1 if len(broken) else len(values)


def fit_whole(values: np.ndarray) -> Progression:
    """Return a progression of all numbers, with a list of its blocks where it must be."""
    found, reach = fit_start(values)
    if reach == len(values):
        return found
    period, whole = _blocks(values)
    if whole < len(values):
        return Progression((), tuple(values.tolist()))
    step = int(values[1] - values[0])
    return Progression((ProgressionLevel(step, period),), tuple(values[::period].tolist()))
