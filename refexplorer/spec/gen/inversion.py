"""Finds the dimensions of a generated key without generating other keys.

The template of a key is parsed as text and integers. Each integer is a sum of digits: a dimension
``i``, or the parts ``i // n`` and ``i % n`` of expressions like ``{{t // 24}}.{{t % 24}}``. A
dimension with few values may also be used in any expression: its texts are listed. Templates that
cannot be inverted with certainty are not inverted at all, so a result is never a guess.

For example, ``x/2.17.5`` and the template ``x/{{t // 24}}.{{10 * y + z}}.{{t % 24}}``, where `z`
has the values 0 to 9::

    2  = t // 24     the digit ("t", 24, None) is 2
    17 = 10 * y + z  the greatest factor first: y = 17 // 10 = 1, and z = 7 is left
    5  = t % 24      the digit ("t", 1, 24) is 5, so t = 24 * 2 + 5 = 53

With `z` from 0 to 19 the sum 17 is also 10 * 0 + 17: not positional, so there is no inverse, and
`GenItem.find` lists the keys instead.

The boundaries between the parts of a key follow from its characters: no listed text contains a
character of the literal parts, and numbers are separated by non-digits. So the time to parse a key
is linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from jinja2 import nodes

from refexplorer.spec.gen.dimensions import Dimension
from refexplorer.spec.templates import syntax
from refexplorer.spec.templates.template import Expression, Template

Digit = tuple[str, int, int | None]  # ``(dimension, divisor, modulus)``: ``i // divisor % modulus``
Terms = Mapping[Digit, int]  # A sum of digits: the factor of each
Dimensions = Mapping[str, Dimension]


def span(digit: Digit, factor: int, dimensions: Dimensions) -> tuple[int, int]:
    """Return the minimum and the maximum of a digit times a factor."""
    name, divisor, modulus = digit
    low, high = (bound // divisor for bound in dimensions[name].bounds)
    if modulus is not None:
        low, high = 0, min(high, modulus - 1)
    return min(factor * low, factor * high), max(factor * low, factor * high)


def by_weight(terms: Terms, dimensions: Dimensions) -> list[Digit]:
    """Return the digits in ascending order of their weight."""

    def weight(digit: Digit) -> tuple[int, int]:
        low, high = span(digit, terms[digit], dimensions)
        return abs(terms[digit]), high - low

    return sorted(terms, key=weight)


def is_positional(terms: Terms, dimensions: Dimensions) -> bool:
    """Return whether a sum has only one decomposition, like the decimal digits of a number."""
    reach = 0
    for digit in by_weight(terms, dimensions):
        # as in decimal digits: all smaller ones together must stay below one step of the next
        if reach >= abs(terms[digit]) * _step(digit, dimensions):
            return False
        low, high = span(digit, terms[digit], dimensions)
        reach += high - low
    return True


def parts_of(name: str, digits: Iterable[Digit]) -> tuple[Digit, ...] | None:
    """Return the digits that sum, each times its divisor, to a dimension: ``i % 5, i // 5``."""
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
    """Return the distance between a digit's values if it is constant; else 1."""
    values = dimensions[digit[0]].values
    return abs(values.step) if isinstance(values, range) and digit[1:] == (1, None) else 1


@dataclass(frozen=True, slots=True)
class _Unknown:
    """A digit to be found: values start at `first` with distance `step`, others add `low`."""

    digit: Digit
    factor: int
    low: int
    first: int
    step: int

    def value_in(self, rest: int) -> int:
        """Return its value, rounded to leave a remainder for the others."""
        factor, first, step = self.factor, self.first, self.step
        if factor > 0:
            return first + ((rest - self.low) // factor - first) // step * step
        return first - (first + (rest - self.low) // -factor) // step * step


@dataclass(frozen=True, slots=True)
class _Sum:
    """One number of a key: the digits already known, and those to be found."""

    number: int
    known: tuple[tuple[Digit, int], ...]
    unknown: tuple[_Unknown, ...]


class Solver:
    """Solves for dimensions from sums of their digits, planned once for all keys."""

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
        """Return the dimensions; None if none give these numbers."""
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
    """Return the unknown digits of a sum, the one with the greatest factor first."""
    found: list[_Unknown] = []
    low = 0
    for digit in by_weight(terms, dimensions):
        first, step = dimensions[digit[0]].bounds[0], _step(digit, dimensions)
        found.append(_Unknown(digit, terms[digit], low, first, step))
        low += span(digit, terms[digit], dimensions)[0]
    return tuple(found[::-1])


# each is rendered before the first key is asked for
LISTED_VALUES = 65_536
LONGEST = 400  # Digits of a number in a key

Linear = tuple[dict[Digit, int], int]  # Coefficients and a constant
_PADDED = re.compile(r"%(?:0(\d+))?d")


@dataclass(frozen=True, slots=True)
class Number:
    """An integer in the key: a sum of digits."""

    terms: dict[Digit, int]
    constant: int
    width: int


@dataclass(frozen=True, slots=True)
class _Listed:
    """A dimension with few values in an expression: each text and its value."""

    dimension: str
    values: dict[str, int]


@dataclass(frozen=True, slots=True)
class Inverter:
    """The inverse of a key template: finds the dimensions of a key."""

    # A regular expression of all keys that it may find, and of others; RE2 reads it, too
    pattern: str
    groups: tuple[Number | _Listed, ...]
    _solver: Solver
    _regex: re.Pattern[str]

    def match(self, key: str) -> re.Match[str] | None:
        """Return the texts of the `groups` in a key; None if it does not match."""
        return self._regex.fullmatch(key)

    def solve(self, key: str) -> dict[str, int] | None:
        """Return the dimensions that may have generated a key; `GenItem.find` checks them."""
        # `GenItem.find` renders the key again and compares: padding and signs are not checked here.
        match = self.match(key)
        if match is None:
            return None
        values: dict[str, int] = {}
        numbers: list[int] = []
        for group, text in zip(self.groups, match.groups(), strict=True):
            if isinstance(group, Number):
                numbers.append(int(text) - group.constant)
            elif text in group.values:
                values[group.dimension] = group.values[text]
            else:
                return None
        return self._solver.solve(numbers, values)


def invert(
    template: Template,
    dimensions: Mapping[str, Dimension],
    render: Callable[[Expression, Dimension | None], list[str]],
) -> Inverter | None:
    """Return an inverter for a key template, or None if two combinations may share a key."""
    # a value that is listed twice makes two combinations with one key
    if any(dimension.repeats for dimension in dimensions.values()):
        return None
    parts: list[str | Number | _Listed] = []
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
    solver = _solver(groups, literal, dimensions)
    if solver is None:
        return None
    pattern, bounded = (_pattern(parts, literal, is_bounded) for is_bounded in (False, True))
    return Inverter(pattern, groups, solver, re.compile(bounded, re.DOTALL))


def _pattern(parts: list[str | Number | _Listed], literal: set[str], is_bounded: bool) -> str:
    """Return a regular expression for the key, with limited or unlimited digit counts."""
    others = f"[^{''.join(map(re.escape, sorted(literal)))}]*" if literal else ".*"
    patterns = []
    for part in parts:
        if isinstance(part, str):
            patterns.append(re.escape(part))
        elif isinstance(part, _Listed):
            patterns.append(f"({others})")
        else:
            patterns.append(f"(-?[0-9]{{1,{part.width}}})" if is_bounded else "(-?[0-9]+)")
    return "".join(patterns)


def _group(
    part: Expression,
    used: list[str],
    dimensions: Mapping[str, Dimension],
    render: Callable[[Expression, Dimension | None], list[str]],
) -> Number | _Listed | None:
    number = _number(part.form, dimensions)
    if number is not None:
        return number
    dimension = dimensions[used[0]]
    if len(used) > 1 or dimension.size > LISTED_VALUES:
        return None
    texts = dict(zip(render(part, dimension), dimension.values, strict=True))
    # two values with the same text cannot be distinguished in a key
    if len(texts) < dimension.size:
        return None
    return _Listed(dimension.name, texts)


def _number(form: syntax.Form, dimensions: Mapping[str, Dimension]) -> Number | None:
    """Parse ``{{ sum }}``, ``{{ '%03d' % sum }}`` or ``{{ '%03d' | format(sum) }}``."""
    pattern, number = syntax.as_printf(form)
    match = _PADDED.fullmatch(pattern)
    linear = None if match is None else _linear(number, dimensions)
    if match is None or linear is None:
        return None
    width = max(int(match[1] or 0), _most_digits(linear, dimensions))
    return Number(*linear, width) if width <= LONGEST else None


def _most_digits(linear: Linear, dimensions: Mapping[str, Dimension]) -> int:
    """Return an upper bound for the digit count of a sum."""
    terms, constant = linear
    spans = [span(digit, factor, dimensions) for digit, factor in terms.items()]
    largest: int = max(abs(constant + sum(ends)) for ends in zip((0, 0), *spans, strict=True))
    return largest.bit_length() * 30103 // 100000 + 1  # its logarithm to the base of 10


def _linear(form: syntax.Form, dimensions: Mapping[str, Dimension]) -> Linear | None:
    """Parse an expression as a sum of digits with integer coefficients."""
    match form:
        case nodes.Const(value=value) if type(value) is int:
            return {}, value
        case nodes.Name(name=name) if name in dimensions:
            return {(name, 1, None): 1}, 0
        case nodes.Neg(node=operand) | nodes.Pos(node=operand):
            inner = _linear(operand, dimensions)
            return _scaled(inner, -1 if form.operator == "-" else 1) if inner else None
        case nodes.BinExpr(operator=operator, left=left, right=right):
            sides = _linear(left, dimensions), _linear(right, dimensions)
            return _combine(operator, *sides, dimensions)
    return None


def _combine(
    operator: str, left: Linear | None, right: Linear | None, dimensions: Mapping[str, Dimension]
) -> Linear | None:
    if left is None or right is None:
        return None
    if operator == "+":
        return _sum(left, right)
    if operator == "-":
        return _sum(left, _scaled(right, -1))
    if operator == "*" and not right[0]:
        return _scaled(left, right[1])
    if operator == "*" and not left[0]:
        return _scaled(right, left[1])
    if operator in ("//", "%") and not right[0] and right[1] > 0:
        return _divided(left, right[1], operator == "%", dimensions)
    return None


def _sum(left: Linear, right: Linear) -> Linear:
    terms = dict(left[0])
    for digit, factor in right[0].items():
        terms[digit] = terms.get(digit, 0) + factor
    return {digit: factor for digit, factor in terms.items() if factor}, left[1] + right[1]


def _scaled(linear: Linear, by: int) -> Linear:
    return {digit: factor * by for digit, factor in linear[0].items() if by}, linear[1] * by


def _divided(
    linear: Linear, by: int, modulo: bool, dimensions: Mapping[str, Dimension]
) -> Linear | None:
    """Parse ``i // a // b`` and ``i // a % b`` for a dimension that is never negative."""
    terms, constant = linear
    if constant or len(terms) != 1:
        return None
    ((digit, factor),) = terms.items()
    name, divisor, modulus = digit
    # the remainder of a negative value may have more digits than the value, and than `span` says
    if factor != 1 or modulus is not None or dimensions[name].bounds[0] < 0:
        return None
    return {(name, divisor, by) if modulo else (name, divisor * by, None): 1}, 0


def _solver(
    groups: tuple[Number | _Listed, ...], literal: set[str], dimensions: Mapping[str, Dimension]
) -> Solver | None:
    """Return the solver for every dimension of a key; None if not unique."""
    listed = [group for group in groups if isinstance(group, _Listed)]
    # a listed text with a letter of the literal ones could end at either of them
    if any(not literal.isdisjoint(text) for group in listed for text in group.values):
        return None
    sums = [group.terms for group in groups if isinstance(group, Number)]
    solver = Solver(sums, (group.dimension for group in listed), dimensions)
    return solver if solver.is_certain else None
