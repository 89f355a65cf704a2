"""From a generated key back to its dimensions, without making the other keys.

The template of a key is read as text and whole numbers. Each number is a sum of *atoms*: a
dimension ``i``, or the parts ``i // n`` and ``i % n`` that code like ``{{t // 24}}.{{t % 24}}``
writes. A dimension of few values may also pass through any expression: its texts are listed.
What cannot be inverted for certain is not inverted at all, so an answer is never a guess.

Where one part of a key ends and the next begins is plain from the letters alone: no listed text
holds a letter of the literal ones, and between two numbers stands something else than digits. So
a key is read in the time that it takes to look at its letters, whatever it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jinja2 import nodes

from refexplorer.spec.dimensions import Dimension
from refexplorer.spec.numerals import read_printf
from refexplorer.spec.templates import Expression, Template

LISTED_VALUES = 65_536
LONGEST = 400
"""Digits of a number in a key; Python reads few thousands."""

Atom = tuple[str, int, int | None]
"""``(dimension, divisor, modulus)``: the value ``dimension // divisor % modulus``."""
Linear = tuple[dict[Atom, int], int]
"""Coefficients and a constant."""
_PADDED = re.compile(r"%(?:0(\d+))?d")


@dataclass(frozen=True, slots=True)
class _Number:
    """A whole number in the key: a sum of atoms."""

    terms: dict[Atom, int]
    constant: int
    digits: int


@dataclass(frozen=True, slots=True)
class _Listed:
    """A dimension of few values behind an expression: each text and its value."""

    dimension: str
    values: dict[str, int]


@dataclass(frozen=True, slots=True)
class Inverter:
    """Finds the dimensions of a key.

    Attributes
    ----------
    pattern
        A regular expression of all keys that it may find, and of others; RE2 reads it, too.
    """

    pattern: str
    groups: tuple[_Number | _Listed, ...]
    dimensions: Mapping[str, Dimension]
    _regex: re.Pattern[str]

    def solve(self, key: str) -> dict[str, int] | None:
        """Return the dimensions that could have made the key, or None.

        The caller renders the key again and compares: padding and signs are not checked here.
        """
        match = self._regex.fullmatch(key)
        if match is None:
            return None
        values: dict[str, int] = {}
        numbers: list[tuple[dict[Atom, int], int]] = []
        for group, text in zip(self.groups, match.groups(), strict=True):
            if isinstance(group, _Number):
                numbers.append((group.terms, int(text) - group.constant))
            elif text in group.values:
                values[group.dimension] = group.values[text]
            else:
                return None
        return _solve(numbers, values, self.dimensions)


def invert(
    template: Template,
    dimensions: Mapping[str, Dimension],
    render: Callable[[Expression, Dimension | None], list[str]],
) -> Inverter | None:
    """Make an inverter for a key template, or None if two combinations might make one key.

    Parameters
    ----------
    template
        The template of the key.
    dimensions
        The dimensions that it uses.
    render
        Gives the texts of an expression for all values of the one dimension that it uses, or its
        one text if it uses none.
    """
    if any(dimension.repeats for dimension in dimensions.values()):
        return None
    parts: list[str | _Number | _Listed] = []
    separated = True
    for part in template.parts:
        used = [] if isinstance(part, str) else sorted(part.names & dimensions.keys())
        if isinstance(part, str) or not used:
            text = part if isinstance(part, str) else render(part, None)[0]
            separated = separated or any(not c.isdigit() for c in text)
            parts.append(text)
            continue
        group = _group(part, used, dimensions, render)
        if group is None or not separated:
            return None
        parts.append(group)
        separated = False
    groups = tuple(part for part in parts if not isinstance(part, str))
    literal = {letter for part in parts if isinstance(part, str) for letter in part}
    if not _is_certain(groups, literal, dimensions):
        return None
    pattern, bounded = (_pattern(parts, literal, is_bounded) for is_bounded in (False, True))
    return Inverter(pattern, groups, dimensions, re.compile(bounded, re.DOTALL))


def _pattern(parts: list[str | _Number | _Listed], literal: set[str], is_bounded: bool) -> str:
    """Return a regular expression of the key, with as many digits as numbers have or any."""
    others = f"[^{''.join(map(re.escape, sorted(literal)))}]*" if literal else ".*"
    patterns = []
    for part in parts:
        if isinstance(part, str):
            patterns.append(re.escape(part))
        elif isinstance(part, _Listed):
            patterns.append(f"({others})")
        else:
            patterns.append(f"(-?[0-9]{{1,{part.digits}}})" if is_bounded else "(-?[0-9]+)")
    return "".join(patterns)


def _group(
    part: Expression,
    used: list[str],
    dimensions: Mapping[str, Dimension],
    render: Callable[[Expression, Dimension | None], list[str]],
) -> _Number | _Listed | None:
    number = _number(part.node, dimensions)
    if number is not None:
        return number
    dimension = dimensions[used[0]]
    if len(used) > 1 or dimension.size > LISTED_VALUES:
        return None
    texts = dict(zip(render(part, dimension), dimension.values, strict=True))
    if len(texts) < dimension.size:
        return None
    return _Listed(dimension.name, texts)


def _number(node: nodes.Node, dimensions: Mapping[str, Dimension]) -> _Number | None:
    """Read ``{{ sum }}``, ``{{ '%03d' % sum }}`` or ``{{ '%03d' | format(sum) }}``."""
    pattern, node = read_printf(node) or ("%d", node)
    match = _PADDED.fullmatch(pattern)
    linear = None if match is None else _linear(node, dimensions)
    if match is None or linear is None:
        return None
    digits = max(int(match[1] or 0), _most_digits(linear, dimensions))
    return _Number(*linear, digits) if digits <= LONGEST else None


def _most_digits(linear: Linear, dimensions: Mapping[str, Dimension]) -> int:
    """Return a number of digits that no value of a sum exceeds."""
    terms, constant = linear
    spans = [_span(atom, factor, dimensions) for atom, factor in terms.items()]
    largest: int = max(abs(constant + sum(ends)) for ends in zip((0, 0), *spans, strict=True))
    return largest.bit_length() * 30103 // 100000 + 1  # its logarithm to the base of 10


def _linear(node: nodes.Node, dimensions: Mapping[str, Dimension]) -> Linear | None:
    """Read an expression as a sum of atoms with whole coefficients."""
    if isinstance(node, nodes.Const) and type(node.value) is int:
        return {}, node.value
    if isinstance(node, nodes.Name):
        return ({(node.name, 1, None): 1}, 0) if node.name in dimensions else None
    if isinstance(node, nodes.Neg | nodes.Pos):
        inner = _linear(node.node, dimensions)
        return _scaled(inner, -1 if isinstance(node, nodes.Neg) else 1) if inner else None
    if not isinstance(node, nodes.BinExpr):
        return None
    left, right = _linear(node.left, dimensions), _linear(node.right, dimensions)
    if left is None or right is None:
        return None
    return _combine(node, left, right, dimensions)


def _combine(
    node: nodes.BinExpr, left: Linear, right: Linear, dimensions: Mapping[str, Dimension]
) -> Linear | None:
    if isinstance(node, nodes.Add):
        return _sum(left, right)
    if isinstance(node, nodes.Sub):
        return _sum(left, _scaled(right, -1))
    if isinstance(node, nodes.Mul) and not right[0]:
        return _scaled(left, right[1])
    if isinstance(node, nodes.Mul) and not left[0]:
        return _scaled(right, left[1])
    if isinstance(node, nodes.FloorDiv | nodes.Mod) and not right[0] and right[1] > 0:
        return _divided(left, right[1], isinstance(node, nodes.Mod), dimensions)
    return None


def _sum(left: Linear, right: Linear) -> Linear:
    terms = dict(left[0])
    for atom, factor in right[0].items():
        terms[atom] = terms.get(atom, 0) + factor
    return {atom: factor for atom, factor in terms.items() if factor}, left[1] + right[1]


def _scaled(linear: Linear, by: int) -> Linear:
    return {atom: factor * by for atom, factor in linear[0].items() if by}, linear[1] * by


def _divided(
    linear: Linear, by: int, modulo: bool, dimensions: Mapping[str, Dimension]
) -> Linear | None:
    """Read ``i // a // b`` and ``i // a % b`` of a dimension that is never negative."""
    terms, constant = linear
    if constant or len(terms) != 1:
        return None
    ((atom, factor),) = terms.items()
    name, divisor, modulus = atom
    if factor != 1 or modulus is not None or dimensions[name].bounds[0] < 0:
        return None
    return {(name, divisor, by) if modulo else (name, divisor * by, None): 1}, 0


def _atom_bounds(atom: Atom, dimensions: Mapping[str, Dimension]) -> tuple[int, int]:
    name, divisor, modulus = atom
    low, high = (bound // divisor for bound in dimensions[name].bounds)
    return (low, high) if modulus is None else (0, min(high, modulus - 1))


def _solve(
    numbers: list[tuple[dict[Atom, int], int]],
    values: dict[str, int],
    dimensions: Mapping[str, Dimension],
) -> dict[str, int] | None:
    atoms: dict[Atom, int] = {(name, 1, None): value for name, value in values.items()}
    for terms, total in sorted(numbers, key=lambda number: len(number[0])):
        rest = total - sum(f * atoms[atom] for atom, f in terms.items() if atom in atoms)
        unknown = {atom: factor for atom, factor in terms.items() if atom not in atoms}
        if not _split(rest, unknown, dimensions, atoms):
            return None
    return _compose(atoms, dimensions)


def _split(
    rest: int,
    unknown: dict[Atom, int],
    dimensions: Mapping[str, Dimension],
    atoms: dict[Atom, int],
) -> bool:
    """Split a number into its atoms, the one with the greatest factor first, as with digits."""
    order = _by_weight(unknown, dimensions)[::-1]
    for place, atom in enumerate(order):
        low = sum(_span(other, unknown[other], dimensions)[0] for other in order[place + 1 :])
        factor = unknown[atom]
        value = (rest - low) // factor if factor > 0 else -((rest - low) // -factor)
        if isinstance(dimensions[atom[0]].values, range) and atom[1:] == (1, None):
            value = _snap(value, dimensions[atom[0]], factor)
        atoms[atom] = value
        rest -= factor * value
    return rest == 0


def _by_weight(terms: dict[Atom, int], dimensions: Mapping[str, Dimension]) -> list[Atom]:
    """Return the atoms from the one that changes the number least."""

    def weight(atom: Atom) -> tuple[int, int]:
        low, high = _span(atom, terms[atom], dimensions)
        return abs(terms[atom]), high - low

    return sorted(terms, key=weight)


def _snap(value: int, dimension: Dimension, factor: int) -> int:
    """Round to a value that the dimension has, towards the side that leaves a remainder."""
    assert isinstance(dimension.values, range)
    step = abs(dimension.values.step)
    low = dimension.bounds[0]
    if factor > 0:
        return low + (value - low) // step * step
    return low - (low - value) // step * step


def _span(atom: Atom, factor: int, dimensions: Mapping[str, Dimension]) -> tuple[int, int]:
    low, high = (factor * bound for bound in _atom_bounds(atom, dimensions))
    return min(low, high), max(low, high)


def _compose(atoms: dict[Atom, int], dimensions: Mapping[str, Dimension]) -> dict[str, int] | None:
    values: dict[str, int] = {}
    for name in dimensions:
        value = _whole(name, atoms)
        if value is None:
            return None
        values[name] = value
    return values


def _whole(name: str, atoms: Mapping[Atom, int]) -> int | None:
    """Put a dimension together from its parts: ``i % 5 + 5 * (i // 5)``."""
    parts = [atom for atom in atoms if atom[0] == name]
    below = {1: 0}
    for atom in sorted(parts, key=lambda atom: (atom[1], atom[2] or 0)):
        _, divisor, modulus = atom
        if divisor not in below:
            continue
        value = below[divisor] + divisor * atoms[atom]
        if modulus is None:
            return value
        below.setdefault(divisor * modulus, value)
    return None


def _is_certain(
    groups: tuple[_Number | _Listed, ...], literal: set[str], dimensions: Mapping[str, Dimension]
) -> bool:
    """Say whether every used dimension can be told from a key, and only in one way."""
    known: set[Atom] = set()
    for group in groups:
        if isinstance(group, _Listed):
            known.add((group.dimension, 1, None))
            if any(not literal.isdisjoint(text) for text in group.values):
                return False
    numbers = [group for group in groups if isinstance(group, _Number)]
    for number in sorted(numbers, key=lambda number: len(number.terms)):
        unknown = {a: f for a, f in number.terms.items() if a not in known}
        if not _is_positional(unknown, dimensions):
            return False
        known |= unknown.keys()
    atoms = dict.fromkeys(known, 0)
    return all(_whole(name, atoms) is not None for name in dimensions)


def _is_positional(terms: dict[Atom, int], dimensions: Mapping[str, Dimension]) -> bool:
    """Say whether a sum can be split in one way only, as the digits of a number can."""
    reach = 0
    for atom in _by_weight(terms, dimensions):
        dimension = dimensions[atom[0]]
        whole = atom[1:] == (1, None)
        ordered = isinstance(dimension.values, range)
        step = abs(dimension.values.step) if ordered and whole else 1  # type: ignore[union-attr]
        if reach >= abs(terms[atom]) * step:
            return False
        low, high = _span(atom, terms[atom], dimensions)
        reach += high - low
    return True
