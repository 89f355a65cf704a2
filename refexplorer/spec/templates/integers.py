"""Arithmetic of templates on arrays of 64 bits, where it gives exactly what Python gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
from jinja2 import nodes

Arrays = Mapping[str, np.ndarray]
IntegerBounds = tuple[int, int]

_ARITHMETIC: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "FloorDiv": np.floor_divide,
    "Mod": np.remainder,
}
COMPARISONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "lteq": np.less_equal,
    "gt": np.greater,
    "gteq": np.greater_equal,
}


def integers(node: nodes.Node, values: Arrays) -> np.ndarray | None:
    """Evaluate an expression of whole numbers.

    Parameters
    ----------
    node
        Of jinja2's syntax tree.
    values
        Arrays that broadcast together.

    Returns
    -------
    array
        int64, in the shape of the arrays that it uses; None where a value is no whole number,
        may need more than 64 bits, or cannot be computed.
    """
    if isinstance(node, nodes.Const):
        fits = type(node.value) is int and fit((node.value, node.value))
        return np.array([node.value]) if fits else None
    if isinstance(node, nodes.Name):
        found = values.get(node.name)
        return found if found is not None and found.dtype == np.int64 else None
    if isinstance(node, nodes.Neg | nodes.Pos):
        inner = integers(node.node, values)
        return -inner if inner is not None and isinstance(node, nodes.Neg) else inner
    if isinstance(node, nodes.BinExpr):
        return _arithmetic(node, values)
    if isinstance(node, nodes.Getitem):
        return _listed(node, values)
    return _choice(node, values) if isinstance(node, nodes.CondExpr) else None


def _listed(node: nodes.Getitem, values: Arrays) -> np.ndarray | None:
    """Evaluate ``[3, 1, 2][a]``, where all that is listed is written as a number."""
    if not isinstance(node.node, nodes.List):
        return None
    items = [integers(item, {}) for item in node.node.items]
    positions = integers(node.arg, values)
    if positions is None or not items:
        return None
    numbers = [item for item in items if item is not None]
    least, most = _extent(positions)
    if len(numbers) < len(items) or least < -len(items) or most >= len(items):
        return None
    found: np.ndarray = np.concatenate(numbers)[positions]
    return found


def _arithmetic(node: nodes.BinExpr, values: Arrays) -> np.ndarray | None:
    kind = type(node).__name__
    left, right = integers(node.left, values), integers(node.right, values)
    if kind not in _ARITHMETIC or left is None or right is None:
        return None
    if kind in ("FloorDiv", "Mod"):
        fits = bool(np.all(right))
    else:
        fits = fit(bounds_of(kind, _extent(left), _extent(right)))
    return _ARITHMETIC[kind](left, right) if fits else None


def _extent(numbers: np.ndarray) -> IntegerBounds:
    return int(numbers.min()), int(numbers.max())


def bounds_of(kind: str, left: IntegerBounds, right: IntegerBounds) -> IntegerBounds:
    """Return the least and the greatest result of ``Add``, ``Sub`` or ``Mul``."""
    if kind == "Add":
        return left[0] + right[0], left[1] + right[1]
    if kind == "Sub":
        return left[0] - right[1], left[1] - right[0]
    products = [one * other for one, other in product(left, right)]
    return min(products), max(products)


def fit(bounds: IntegerBounds) -> bool:
    """Say whether bounds fit into 64 bits, without the least number, which has no opposite."""
    return bounds[0] > -(2**63) and bounds[1] < 2**63


def _choice(node: nodes.CondExpr, values: Arrays) -> np.ndarray | None:
    """Evaluate ``a if b else c``; evaluating both sides is safe, since neither can fail."""
    if node.expr2 is None or not isinstance(node.test, nodes.Compare):
        return None
    test = _comparison(node.test, values)
    then, otherwise = integers(node.expr1, values), integers(node.expr2, values)
    if test is None or then is None or otherwise is None:
        return None
    return np.where(test, then, otherwise)


def _comparison(node: nodes.Compare, values: Arrays) -> np.ndarray | None:
    left = integers(node.expr, values)
    result: np.ndarray | None = None
    for operand in node.ops:
        right = integers(operand.expr, values)
        if operand.op not in COMPARISONS or left is None or right is None:
            return None
        test = COMPARISONS[operand.op](left, right)
        result = test if result is None else result & test
        left = right
    return result
