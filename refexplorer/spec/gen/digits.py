"""Sums of parts of dimensions, and from the numbers of a key back to the dimensions.

A *digit* is a dimension ``i`` or a part of it, ``i // n % m``. A number is a sum of digits, each
with a factor; it is split into them as a number is into its decimal digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from refexplorer.spec.gen.dimensions import Dimension

Digit = tuple[str, int, int | None]
"""``(dimension, divisor, modulus)``: the value ``dimension // divisor % modulus``."""
Terms = Mapping[Digit, int]
"""A sum of digits: the factor of each."""
Dimensions = Mapping[str, Dimension]


def span(digit: Digit, factor: int, dimensions: Dimensions) -> tuple[int, int]:
    """Return the least and the greatest value of a digit times a factor."""
    name, divisor, modulus = digit
    low, high = (bound // divisor for bound in dimensions[name].bounds)
    if modulus is not None:
        low, high = 0, min(high, modulus - 1)
    return min(factor * low, factor * high), max(factor * low, factor * high)


def by_weight(terms: Terms, dimensions: Dimensions) -> list[Digit]:
    """Return the digits from the one that changes the number least."""

    def weight(digit: Digit) -> tuple[int, int]:
        low, high = span(digit, terms[digit], dimensions)
        return abs(terms[digit]), high - low

    return sorted(terms, key=weight)


def is_positional(terms: Terms, dimensions: Dimensions) -> bool:
    """Say whether a sum can be split in one way only, as the decimal digits of a number can."""
    reach = 0
    for digit in by_weight(terms, dimensions):
        # as in decimal digits: all smaller ones together must stay below one step of the next
        if reach >= abs(terms[digit]) * _step(digit, dimensions):
            return False
        low, high = span(digit, terms[digit], dimensions)
        reach += high - low
    return True


def parts_of(name: str, digits: Iterable[Digit]) -> tuple[Digit, ...] | None:
    """Return the digits whose sum, each times its divisor, is a dimension: ``i % 5, i // 5``."""
    below: dict[int, tuple[Digit, ...]] = {1: ()}
    own = (digit for digit in digits if digit[0] == name)
    for digit in sorted(own, key=lambda digit: (digit[1], digit[2] or 0)):
        _, divisor, modulus = digit
        if divisor not in below:
            continue
        parts = (*below[divisor], digit)
        if modulus is None:
            return parts
        below.setdefault(divisor * modulus, parts)
    return None


def _step(digit: Digit, dimensions: Dimensions) -> int:
    """Return how far the values of a digit are from each other, if evenly; else 1."""
    values = dimensions[digit[0]].values
    return abs(values.step) if isinstance(values, range) and digit[1:] == (1, None) else 1


@dataclass(frozen=True, slots=True)
class _Unknown:
    """A digit to be found in what is left of a number.

    Its values are `first` and others a `step` apart; the digits after it add `low` or more.
    """

    digit: Digit
    factor: int
    low: int
    first: int
    step: int

    def value_in(self, rest: int) -> int:
        """Return its value, rounded towards the side that leaves something to the others."""
        factor, first, step = self.factor, self.first, self.step
        if factor > 0:
            return first + ((rest - self.low) // factor - first) // step * step
        return first - (first + (rest - self.low) // -factor) // step * step


@dataclass(frozen=True, slots=True)
class _Sum:
    """One number of a key: the digits that are known before, and those to be found in it."""

    number: int
    known: tuple[tuple[Digit, int], ...]
    unknown: tuple[_Unknown, ...]


class Solver:
    """A solver for dimensions from sums of their digits, planned once and not for each key.

    Parameters
    ----------
    sums
        The terms of each number.
    listed
        The dimensions that are known without them.
    dimensions
        All.
    """

    def __init__(
        self, sums: Sequence[Terms], listed: Iterable[str], dimensions: Dimensions
    ) -> None:
        known: set[Digit] = {(name, 1, None) for name in listed}
        self._sums: list[_Sum] = []
        self.is_certain = True
        """Whether numbers give every dimension, and in one way only."""
        for number, terms in sorted(enumerate(sums), key=lambda numbered: len(numbered[1])):
            unknown = {digit: factor for digit, factor in terms.items() if digit not in known}
            self.is_certain &= is_positional(unknown, dimensions)
            before = tuple((digit, terms[digit]) for digit in terms if digit in known)
            self._sums.append(_Sum(number, before, _unknowns(unknown, dimensions)))
            known |= unknown.keys()
        parts = {name: parts_of(name, known) for name in dimensions}
        self.is_certain &= None not in parts.values()
        self._parts = {name: found for name, found in parts.items() if found is not None}

    def solve(self, numbers: Sequence[int], listed: Mapping[str, int]) -> dict[str, int] | None:
        """Return the dimensions; None if there are none that give these numbers."""
        digits: dict[Digit, int] = {(name, 1, None): value for name, value in listed.items()}
        for one in self._sums:
            rest = numbers[one.number]
            for digit, factor in one.known:
                rest -= factor * digits[digit]
            for unknown in one.unknown:
                digits[unknown.digit] = value = unknown.value_in(rest)
                rest -= unknown.factor * value
            if rest != 0:
                return None
        return {
            name: sum(digit[1] * digits[digit] for digit in parts)
            for name, parts in self._parts.items()
        }


def _unknowns(terms: Terms, dimensions: Dimensions) -> tuple[_Unknown, ...]:
    """Return the digits of a sum that are to be found, the one with the greatest factor first."""
    found: list[_Unknown] = []
    low = 0
    for digit in by_weight(terms, dimensions):
        first, step = dimensions[digit[0]].bounds[0], _step(digit, dimensions)
        found.append(_Unknown(digit, terms[digit], low, first, step))
        low += span(digit, terms[digit], dimensions)[0]
    return tuple(found[::-1])
