"""Sums of parts of dimensions, and from the numbers of a key back to the dimensions.

An *atom* is a dimension ``i`` or a part of it, ``i // n % m``. A number is a sum of atoms, each
with a factor; it is split into them as a number is into its digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from refexplorer.spec.gen.dimensions import Dimension

Atom = tuple[str, int, int | None]
"""``(dimension, divisor, modulus)``: the value ``dimension // divisor % modulus``."""
Terms = Mapping[Atom, int]
"""Factors."""
Dimensions = Mapping[str, Dimension]


def span(atom: Atom, factor: int, dimensions: Dimensions) -> tuple[int, int]:
    """Return the least and the greatest value of an atom times a factor."""
    name, divisor, modulus = atom
    low, high = (bound // divisor for bound in dimensions[name].bounds)
    if modulus is not None:
        low, high = 0, min(high, modulus - 1)
    return min(factor * low, factor * high), max(factor * low, factor * high)


def by_weight(terms: Terms, dimensions: Dimensions) -> list[Atom]:
    """Return the atoms from the one that changes the number least."""

    def weight(atom: Atom) -> tuple[int, int]:
        low, high = span(atom, terms[atom], dimensions)
        return abs(terms[atom]), high - low

    return sorted(terms, key=weight)


def is_positional(terms: Terms, dimensions: Dimensions) -> bool:
    """Say whether a sum can be split in one way only, as the digits of a number can."""
    reach = 0
    for atom in by_weight(terms, dimensions):
        if reach >= abs(terms[atom]) * _step(atom, dimensions):
            return False
        low, high = span(atom, terms[atom], dimensions)
        reach += high - low
    return True


def parts_of(name: str, atoms: Iterable[Atom]) -> tuple[Atom, ...] | None:
    """Return the atoms whose sum, each times its divisor, is a dimension: ``i % 5, i // 5``."""
    below: dict[int, tuple[Atom, ...]] = {1: ()}
    own = (atom for atom in atoms if atom[0] == name)
    for atom in sorted(own, key=lambda atom: (atom[1], atom[2] or 0)):
        _, divisor, modulus = atom
        if divisor not in below:
            continue
        parts = (*below[divisor], atom)
        if modulus is None:
            return parts
        below.setdefault(divisor * modulus, parts)
    return None


def _step(atom: Atom, dimensions: Dimensions) -> int:
    """Return how far the values of an atom are from each other, if evenly; else 1."""
    values = dimensions[atom[0]].values
    return abs(values.step) if isinstance(values, range) and atom[1:] == (1, None) else 1


@dataclass(frozen=True, slots=True)
class _Digit:
    """An atom to be found in what is left of a number.

    Its values are `first` and others a `step` apart; the atoms after it add `low` or more.
    """

    atom: Atom
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
    """How one of the numbers is split: what is known of it before, and what is found in it."""

    number: int
    known: tuple[tuple[Atom, int], ...]
    digits: tuple[_Digit, ...]


class Solver:
    """Finds dimensions from sums of their atoms; how is settled once, not for each key.

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
        known: set[Atom] = {(name, 1, None) for name in listed}
        self._sums: list[_Sum] = []
        self.is_certain = True
        """Whether numbers give every dimension, and in one way only."""
        for number, terms in sorted(enumerate(sums), key=lambda numbered: len(numbered[1])):
            unknown = {atom: factor for atom, factor in terms.items() if atom not in known}
            self.is_certain &= is_positional(unknown, dimensions)
            before = tuple((atom, terms[atom]) for atom in terms if atom in known)
            self._sums.append(_Sum(number, before, _digits(unknown, dimensions)))
            known |= unknown.keys()
        parts = {name: parts_of(name, known) for name in dimensions}
        self.is_certain &= None not in parts.values()
        self._parts = {name: found for name, found in parts.items() if found is not None}

    def solve(self, numbers: Sequence[int], listed: Mapping[str, int]) -> dict[str, int] | None:
        """Return the dimensions; None if there are none that give these numbers."""
        atoms: dict[Atom, int] = {(name, 1, None): value for name, value in listed.items()}
        for one in self._sums:
            rest = numbers[one.number]
            for atom, factor in one.known:
                rest -= factor * atoms[atom]
            for digit in one.digits:
                atoms[digit.atom] = value = digit.value_in(rest)
                rest -= digit.factor * value
            if rest != 0:
                return None
        return {
            name: sum(atom[1] * atoms[atom] for atom in parts)
            for name, parts in self._parts.items()
        }


def _digits(terms: Terms, dimensions: Dimensions) -> tuple[_Digit, ...]:
    """Return the atoms of a sum as its digits, the one with the greatest factor first."""
    found: list[_Digit] = []
    low = 0
    for atom in by_weight(terms, dimensions):
        first, step = dimensions[atom[0]].bounds[0], _step(atom, dimensions)
        found.append(_Digit(atom, terms[atom], low, first, step))
        low += span(atom, terms[atom], dimensions)[0]
    return tuple(found[::-1])
