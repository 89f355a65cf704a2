"""Arithmetic of templates on arrays of 64 bits, where it gives exactly what Python gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np

from refexplorer.spec.templates import syntax

Arrays = Mapping[str, np.ndarray]
IntegerBounds = tuple[int, int]

_ARITHMETIC: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "//": np.floor_divide,
    "%": np.remainder,
}
COMPARISONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "lteq": np.less_equal,
    "gt": np.greater,
    "gteq": np.greater_equal,
}


def integers(form: syntax.Form, values: Arrays) -> np.ndarray | None:
    """Evaluate an expression of whole numbers.

    Parameters
    ----------
    values
        Arrays that broadcast together.

    Returns
    -------
    array
        int64, in the shape of the arrays that it uses; None where a value is no whole number,
        may need more than 64 bits, or cannot be computed.
    """
    match form:
        case syntax.Const(value):
            return np.array([value]) if type(value) is int and fit((value, value)) else None
        case syntax.Name(name):
            found = values.get(name)
            return found if found is not None and found.dtype == np.int64 else None
        case syntax.Unary("-" | "+" as operator, operand):
            number = integers(operand, values)
            return -number if number is not None and operator == "-" else number
        case syntax.Binary(operator, left, right):
            return _arithmetic(operator, integers(left, values), integers(right, values))
        case syntax.Item(syntax.Sequence(_, items), index):
            return _listed([integers(item, {}) for item in items], integers(index, values))
        case syntax.Conditional(syntax.Compare() as test, then, other) if other is not None:
            sides = integers(then, values), integers(other, values)
            return _choice(_comparison(test, values), *sides)
    return None


def _listed(items: list[np.ndarray | None], positions: np.ndarray | None) -> np.ndarray | None:
    """Evaluate ``[3, 1, 2][a]``, where all that is listed is written as a number."""
    numbers = [item for item in items if item is not None]
    if positions is None or not items or len(numbers) < len(items):
        return None
    least, most = _extent(positions)
    if least < -len(items) or most >= len(items):
        return None
    found: np.ndarray = np.concatenate(numbers)[positions]
    return found


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
    """Return the least and the greatest result of ``+``, ``-`` or ``*``."""
    if operator == "+":
        return left[0] + right[0], left[1] + right[1]
    if operator == "-":
        return left[0] - right[1], left[1] - right[0]
    products = [one * other for one, other in product(left, right)]
    return min(products), max(products)


def fit(bounds: IntegerBounds) -> bool:
    """Say whether bounds fit into 64 bits, without the least number, which has no opposite."""
    return bounds[0] > -(2**63) and bounds[1] < 2**63


def _choice(
    test: np.ndarray | None, then: np.ndarray | None, otherwise: np.ndarray | None
) -> np.ndarray | None:
    """Evaluate ``a if b else c``; evaluating both sides was safe, since neither can fail."""
    if test is None or then is None or otherwise is None:
        return None
    return np.where(test, then, otherwise)


def _comparison(form: syntax.Compare, values: Arrays) -> np.ndarray | None:
    left = integers(form.first, values)
    result: np.ndarray | None = None
    for operator, operand in form.rest:
        right = integers(operand, values)
        if operator not in COMPARISONS or left is None or right is None:
            return None
        test = COMPARISONS[operator](left, right)
        result = test if result is None else result & test
        left = right
    return result
