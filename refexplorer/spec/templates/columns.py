"""Templates for many combinations at once; their meaning is defined by `compiler`.

Each expression is evaluated on the dimensions that it uses, and then broadcast. Integers become
64-bit arrays if every step is known to fit; everything else is evaluated value by value like a
single key.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import pairwise, product
from typing import Any

import numpy as np
from jinja2 import nodes

from refexplorer.core.limits import Limits
from refexplorer.spec.templates import syntax
from refexplorer.spec.templates.syntax import TemplateProblem, Value, text_length, text_of
from refexplorer.spec.templates.template import (
    Evaluate,
    Expression,
    Scope,
    Template,
    run,
    value_of,
)

_PRINTF = re.compile(r"([^%]*)%([0-9]{0,2})d([^%]*)")
# a sign and the 19 digits of 2^63
_DIGITS = 20


@dataclass(frozen=True, slots=True)
class FormattedIntegers:
    """Integers that will be formatted as texts."""

    numbers: np.ndarray  # Any shape, int64
    width: str = ""  # As in printf: ``"03"`` pads with zeros, ``"3"`` with blanks
    # before, after: Literal text around each number
    before: str = ""
    after: str = ""

    @property
    def longest(self) -> int:
        """An upper bound for the length of the texts."""
        return len(self.before) + max(_DIGITS, int(self.width or 0)) + len(self.after)

    def texts(self) -> np.ndarray:
        """Format the numbers; the same shape, texts as objects."""
        before, after = (text.replace("%", "%%") for text in (self.before, self.after))
        write = f"{before}%{self.width}d{after}".__mod__
        texts = np.array(list(map(write, self.numbers.ravel().tolist())), object)
        return texts.reshape(self.numbers.shape)

    def differ(self) -> bool:
        """Return whether the numbers strictly increase or decrease."""
        steps = np.diff(self.numbers.ravel())
        return bool(np.all(steps > 0) or np.all(steps < 0))


TextPiece = str | FormattedIntegers | np.ndarray


def formatted_integers(pattern: str, numbers: np.ndarray) -> FormattedIntegers | None:
    """Format numbers with a pattern; None if it is not one decimal number."""
    match = _PRINTF.fullmatch(pattern)
    return None if match is None else FormattedIntegers(numbers, match[2], match[1], match[3])


def longest(piece: TextPiece) -> int:
    """Return an upper bound for the length of a piece's texts."""
    if isinstance(piece, str):
        return len(piece)
    if isinstance(piece, FormattedIntegers):
        return piece.longest
    return max(map(len, piece.ravel().tolist()), default=0)


def count(pieces: Iterable[TextPiece]) -> int:
    """Return the number of texts when pieces are joined."""
    arrays = [piece.numbers if isinstance(piece, FormattedIntegers) else piece for piece in pieces]
    shapes = [array.shape for array in arrays if not isinstance(array, str)]
    return math.prod(np.broadcast_shapes(*shapes))


def join(pieces: Iterable[TextPiece]) -> np.ndarray:
    """Join pieces to texts as objects; neighbours with the fewest values first."""
    arrays = [_array(piece) for piece in _with_literals(pieces)] or [_array("")]
    while len(arrays) > 1:
        sizes = [np.broadcast(left, right).size for left, right in pairwise(arrays)]
        position = sizes.index(min(sizes))
        arrays[position : position + 2] = [arrays[position] + arrays[position + 1]]
    return arrays[0]


def differ(pieces: Iterable[TextPiece]) -> bool:
    """Return whether all texts are certainly different when pieces are joined."""
    arrays = [piece for piece in pieces if not isinstance(piece, str)]
    return len(arrays) == 1 and isinstance(arrays[0], FormattedIntegers) and arrays[0].differ()


def _with_literals(pieces: Iterable[TextPiece]) -> list[TextPiece]:
    """Merge literal text with the adjacent number."""
    found: list[TextPiece] = []
    for piece in pieces:
        last = found[-1] if found else None
        if isinstance(piece, str) and isinstance(last, FormattedIntegers):
            found[-1] = replace(last, after=last.after + piece)
        elif isinstance(piece, str) and isinstance(last, str):
            found[-1] = last + piece
        elif isinstance(piece, FormattedIntegers) and isinstance(last, str):
            found[-1] = replace(piece, before=last + piece.before)
        else:
            found.append(piece)
    return found


def _array(piece: TextPiece) -> np.ndarray:
    if isinstance(piece, FormattedIntegers):
        return piece.texts()
    return np.array([piece], object) if isinstance(piece, str) else piece


Arrays = Mapping[str, np.ndarray]
IntegerBounds = tuple[int, int]

_ARITHMETIC: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "//": np.floor_divide, "%": np.remainder,
}  # fmt: skip
COMPARISONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "lteq": np.less_equal, "gt": np.greater,
    "gteq": np.greater_equal,
}  # fmt: skip


def integers(form: syntax.Form, values: Arrays) -> np.ndarray | None:
    """Evaluate an integer expression."""
    match form:
        case nodes.Const(value=value):
            return np.array([value]) if type(value) is int and fit((value, value)) else None
        case nodes.Name(name=name):
            found = values.get(name)
            return found if found is not None and found.dtype == np.int64 else None
        case nodes.Neg(node=operand) | nodes.Pos(node=operand):
            number = integers(operand, values)
            return -number if number is not None and form.operator == "-" else number
        case nodes.BinExpr(operator=operator, left=left, right=right):
            return _arithmetic(operator, integers(left, values), integers(right, values))
        case nodes.Getitem(node=nodes.Const(value=syntax.FixedItems(items=items)), arg=index):
            return _listed(items, integers(index, values))
        case nodes.CondExpr(test=nodes.Compare() as test, expr1=then, expr2=other) if other:
            sides = integers(then, values), integers(other, values)
            return _choice(_comparison(test, values), *sides)
    return None


def _listed(items: Sequence[Any], positions: np.ndarray | None) -> np.ndarray | None:
    """Evaluate ``[3, 1, 2][a]``, where all items are literal numbers."""
    if positions is None or not all_fit(items):
        return None
    least, most = _extent(positions)
    if least < -len(items) or most >= len(items):
        return None
    return np.array(items)[positions]


def all_fit(items: Sequence[Any]) -> bool:
    """Return whether some items, at least one, are 64-bit integers."""
    is_whole = {*map(type, items)} == {int}
    return is_whole and fit((min(items), max(items)))


def _arithmetic(
    operator: str, left: np.ndarray | None, right: np.ndarray | None
) -> np.ndarray | None:
    if operator not in _ARITHMETIC or left is None or right is None:
        return None
    if operator in ("//", "%"):
        fits = bool(np.all(right))
    else:
        fits = fit(bounds_of(operator, _extent(left), _extent(right)))
    return _ARITHMETIC[operator](left, right) if fits else None


def _extent(numbers: np.ndarray) -> IntegerBounds:
    return int(numbers.min()), int(numbers.max())


def bounds_of(operator: str, left: IntegerBounds, right: IntegerBounds) -> IntegerBounds:
    """Return the minimum and the maximum of ``+``, ``-`` or ``*``."""
    if operator == "+":
        return left[0] + right[0], left[1] + right[1]
    if operator == "-":
        return left[0] - right[1], left[1] - right[0]
    products = [one * other for one, other in product(left, right)]
    return min(products), max(products)


def fit(bounds: IntegerBounds) -> bool:
    """Return whether bounds fit into 64 bits, without the minimum, which has no negation."""
    return bounds[0] > -(2**63) and bounds[1] < 2**63


def _choice(
    test: np.ndarray | None, then: np.ndarray | None, otherwise: np.ndarray | None
) -> np.ndarray | None:
    """Evaluate ``a if b else c``; both sides are evaluated, since neither can fail."""
    if test is None or then is None or otherwise is None:
        return None
    return np.where(test, then, otherwise)


def _comparison(form: nodes.Compare, values: Arrays) -> np.ndarray | None:
    left = integers(form.expr, values)
    result: np.ndarray | None = None
    for operand in form.ops:
        right = integers(operand.expr, values)
        if operand.op not in COMPARISONS or left is None or right is None:
            return None
        test = COMPARISONS[operand.op](left, right)
        result = test if result is None else result & test
        left = right
    return result


TEXT_CHARS = 2**25  # Characters of all texts that are made together
_PLAIN_BITS = 64  # bits of a number in a column
_PLAIN_CHARS = 256
_LISTED_CHARS = 24  # Columns are not used if the limits are tighter than these


class TooMuchText(Exception):
    """The texts of so many combinations do not fit into memory together."""


@dataclass(frozen=True, slots=True)
class Scopes:
    """The names visible to a template for each of many combinations; see `Scope`."""

    # For each name an array; they broadcast together. int64, or object for anything else.
    values: Mapping[str, np.ndarray]
    templates: Mapping[str, Template]
    limits: Limits
    # Arrays of flags, which broadcast: where rendering has failed so far
    failures: list[np.ndarray] = field(default_factory=list)

    def texts(self, template: Template) -> np.ndarray:
        """Render a template: texts as objects, in the shape of the names that it uses."""
        return join(self.pieces(template))

    def pieces(self, template: Template) -> list[TextPiece]:
        """Render a template as pieces that `join` concatenates; errors as for `texts`."""
        pieces = self._bounded_pieces(template)
        if pieces is None:
            return [self._one_by_one(template.names, template.render)]
        _check_chars(sum(map(longest, pieces)) * count(pieces))
        return pieces

    def check(self, template: Template) -> list[TextPiece]:
        """Record where a template fails; return pieces that may be too large when joined."""
        pieces = self._bounded_pieces(template)
        return [self._one_by_one(template.names, template.render)] if pieces is None else pieces

    def _bounded_pieces(self, template: Template) -> list[TextPiece] | None:
        """Render a template as pieces; None if a text may be too long."""
        if not self.is_bounded(template):
            return None
        pieces = self._unbounded(template)
        return pieces if sum(map(longest, pieces)) <= self.limits.template_chars else None

    def expression(self, part: Expression) -> np.ndarray:
        """Render one expression of a template, as for `texts`."""
        texts = join(self._expression(part.form, part.evaluate, part.names))
        if self.failures:
            raise TemplateProblem(
                "bad-template", "This expression has no value for some combinations."
            )
        return texts

    def integers(self, template: Template) -> np.ndarray | None:
        """Render a template that consists of one integer, int64; else None."""
        if len(template.parts) != 1 or not self.is_bounded(template):
            return None
        (part,) = template.parts
        return None if isinstance(part, str) else integers(part.form, self.values)

    def good(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return for each combination, shape ``(n,)`` bool, whether everything was rendered."""
        good = np.ones(math.prod(shape), np.bool_)
        for failed in self.failures:
            good &= ~flat(failed, shape)
        return good

    def is_bounded(self, template: Template) -> bool:
        """Return whether no limit except the text length can be reached."""
        steps = most_steps(template, self.templates)
        return (
            self.limits.integer_bits >= _PLAIN_BITS
            and self.limits.template_chars >= _PLAIN_CHARS + _LISTED_CHARS * steps
            and steps <= self.limits.template_steps
        )

    def _unbounded(self, template: Template) -> list[TextPiece]:
        pieces: list[TextPiece] = []
        for part in template.parts:
            pieces += (
                [part]
                if isinstance(part, str)
                else self._expression(part.form, part.evaluate, part.names)
            )
        return pieces

    def _expression(
        self, form: syntax.Form, evaluate: Evaluate, names: Collection[str]
    ) -> list[TextPiece]:
        number = self._number(form)
        if number is not None:
            return [number]
        if isinstance(form, nodes.Concat):
            parts = ((part, partial(value_of, part), syntax.names_in(part)) for part in form.nodes)
            return [piece for part in parts for piece in self._expression(*part)]
        if call := syntax.as_call(form):
            called = self.templates.get(call[0])
            if called is not None and not called.literal:
                arguments = {pair.key: self._argument(pair.value) for pair in call[1]}
                return Scopes(arguments, {}, self.limits, self.failures)._unbounded(called)
        texts = self._one_by_one(names, lambda scope: text_of(run(evaluate, scope), self.limits))
        return [texts if texts.size > 1 else str(texts.item())]

    def _number(self, form: syntax.Form) -> FormattedIntegers | None:
        """Parse ``{{ number }}`` or ``{{ '%03d' % number }}``."""
        pattern, number = syntax.as_printf(form)
        if len(pattern) + _PLAIN_CHARS > self.limits.template_chars:
            return None
        found = integers(number, self.values)
        return None if found is None else formatted_integers(pattern, found)

    def _argument(self, form: nodes.Node) -> np.ndarray:
        found = integers(form, self.values)
        if found is not None:
            return found
        number = self._number(form)
        if number is not None:
            return number.texts()
        evaluate = partial(value_of, form)
        return self._one_by_one(syntax.names_in(form), lambda scope: run(evaluate, scope))

    def _one_by_one(self, names: Collection[str], evaluate: Callable[[Scope], Value]) -> np.ndarray:
        """Evaluate value by value: objects, in the shape of the names; failures are blank."""
        used = [name for name in self.values if name in names]
        arrays = np.broadcast_arrays(np.empty(1), *(self.values[name] for name in used))[1:]
        shape = np.broadcast_shapes((1,), *(array.shape for array in arrays))
        results = np.full(math.prod(shape), "", object)
        failed = np.zeros(len(results), np.bool_)
        chars = 0
        rows = zip(*(array.ravel().tolist() for array in arrays), strict=True)
        for position, row in enumerate(rows if used else [()]):
            scope = Scope(dict(zip(used, row, strict=True)), self.templates, self.limits)
            try:
                results[position] = value = evaluate(scope)
                chars += text_length(value, TEXT_CHARS)
            except TemplateProblem:
                failed[position] = True
            _check_chars(chars)
        if failed.any():
            self.failures.append(failed.reshape(shape))
        return results.reshape(shape)


def _check_chars(chars: int) -> None:
    if chars > TEXT_CHARS:
        raise TooMuchText


def flat(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the value of each combination, shape ``(n,)``."""
    return np.broadcast_to(values, shape or (1,)).ravel()


def most_steps(template: Template, templates: Mapping[str, Template]) -> float:
    """Return an upper bound for the evaluation steps of a template."""
    steps, names = _own_steps(template)
    return steps + sum(_own_steps(templates[name])[0] for name in names if name in templates)


@lru_cache(maxsize=1024)
def _own_steps(template: Template) -> tuple[float, tuple[str, ...]]:
    """Return the maximum steps of a template itself, and the names that may call others."""
    if None in template.forms:
        return math.inf, ()
    every = syntax.every(template.forms)
    return len(every), tuple(form.name for form in every if isinstance(form, nodes.Name))
