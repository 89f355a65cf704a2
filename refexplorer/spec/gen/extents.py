"""Proof that templates cannot fail, from the least and the greatest value of each dimension.

Most gen items only add, multiply and divide by written numbers. For them it is known without
trying each key that all can be made; what is not known here may still be fine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jinja2 import nodes

from refexplorer.limits import Limits
from refexplorer.spec.gen.item import GenItem
from refexplorer.spec.templates.formatted_integers import formatted_integers, longest, read_printf
from refexplorer.spec.templates.integers import COMPARISONS, IntegerBounds, bounds_of, fit
from refexplorer.spec.templates.template import Template
from refexplorer.spec.templates.vectors import Scopes

_DIGITS = 20
_PARTS = {"Add", "Sub", "Mul"}


def extents_of(item: GenItem) -> Extents:
    """Return what is known of the dimensions of an item, none of which is empty."""
    numbers = {dimension.name: dimension.bounds for dimension in item.dimensions}
    return Extents(numbers, item.templates, item.limits)


def cannot_fail(item: GenItem) -> bool:
    """Say whether all keys of an item are sure to be made; it has one at least."""
    known = extents_of(item)
    texts, sizes = (item.key, item.url), (item.offset, item.length)
    return all(map(known.makes_texts, texts)) and all(map(known.makes_sizes, sizes))


@dataclass(frozen=True, slots=True)
class Extents:
    """Bounds of the names that a template sees.

    Attributes
    ----------
    numbers
        The least and the greatest value of each dimension or argument that is a number.
    templates
        The templates section; none inside a template's own text.
    texts
        For each argument that is a text, a number of characters that it does not exceed.
    """

    numbers: Mapping[str, IntegerBounds]
    templates: Mapping[str, Template]
    limits: Limits
    texts: Mapping[str, int] = field(default_factory=dict)

    def makes_texts(self, template: Template) -> bool:
        """Say whether a template is sure to make a text that a file can hold."""
        if not self._is_bounded(template):
            return False
        try:
            chars = self._chars_of(template)
        except RecursionError:
            return False
        return chars is not None and chars <= self.limits.template_chars

    def makes_sizes(self, template: Template | None) -> bool:
        """Say whether a template is sure to make a whole number of bytes."""
        if template is None:
            return True
        if len(template.parts) != 1 or not self._is_bounded(template):
            return False
        (part,) = template.parts
        if isinstance(part, str):
            return part.isdecimal() and part.isascii() and len(part) <= _DIGITS
        try:
            found = self.bounds(part.node)
        except RecursionError:
            return False
        return found is not None and found[0] >= 0

    def _is_bounded(self, template: Template) -> bool:
        return Scopes({}, self.templates, self.limits).is_bounded(template)

    def _chars_of(self, template: Template) -> int | None:
        """Return a number of characters that no text exceeds; None if a text may fail."""
        found = [
            _chars_in(part) if isinstance(part, str) else self._chars(part.node)
            for part in template.parts
        ]
        known = [chars for chars in found if chars is not None]
        return sum(known) if len(known) == len(found) else None

    def _chars(self, node: nodes.Node) -> int | None:
        if self.bounds(node) is not None:
            return _DIGITS
        if isinstance(node, nodes.Const) and isinstance(node.value, str):
            return _chars_in(node.value)
        if isinstance(node, nodes.Name):
            called = self.templates.get(node.name)
            return self.texts.get(node.name) if called is None else self._called(called, {})
        if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name):
            called = self.templates.get(node.node.name)
            arguments = {pair.key: pair.value for pair in node.kwargs}
            return None if called is None or node.args else self._called(called, arguments)
        if isinstance(node, nodes.Concat):
            chars = list(map(self._chars, node.nodes))
            known = [one for one in chars if one is not None]
            return sum(known) if len(known) == len(chars) else None
        return self._printed(node)

    def _printed(self, node: nodes.Node) -> int | None:
        pattern, number = read_printf(node) or ("", node)
        written = formatted_integers(pattern, np.empty(0, np.int64)) if pattern.isascii() else None
        return longest(written) if written is not None and self.bounds(number) else None

    def _called(self, template: Template, arguments: Mapping[str, nodes.Node]) -> int | None:
        numbers = {name: self.bounds(node) for name, node in arguments.items()}
        texts = {name: self._chars(node) for name, node in arguments.items()}
        inner = Extents(
            {name: found for name, found in numbers.items() if found is not None},
            {},
            self.limits,
            {name: chars for name, chars in texts.items() if chars is not None},
        )
        return inner._chars_of(template) if len(inner.texts) == len(arguments) else None

    def bounds(self, node: nodes.Node) -> IntegerBounds | None:
        """Return the least and the greatest value; None if it may fail or is no whole number."""
        found = self._bounds(node)
        return found if found is not None and fit(found) else None

    def _bounds(self, node: nodes.Node) -> IntegerBounds | None:
        if isinstance(node, nodes.Const):
            return (node.value, node.value) if type(node.value) is int else None
        if isinstance(node, nodes.Name):
            return self.numbers.get(node.name)
        if isinstance(node, nodes.Neg | nodes.Pos):
            inner = self.bounds(node.node)
            return inner if inner is None or isinstance(node, nodes.Pos) else (-inner[1], -inner[0])
        if isinstance(node, nodes.BinExpr):
            return self._arithmetic(node)
        if isinstance(node, nodes.CondExpr):
            return self._choice(node)
        return self._listed(node) if isinstance(node, nodes.Getitem) else None

    def _arithmetic(self, node: nodes.BinExpr) -> IntegerBounds | None:
        left, right = self.bounds(node.left), self.bounds(node.right)
        if left is None or right is None:
            return None
        if type(node).__name__ in _PARTS:
            return bounds_of(type(node).__name__, left, right)
        # a divisor of 0 fails, and a negative one would turn the bounds around
        if right[0] <= 0:
            return None
        if isinstance(node, nodes.Mod):
            return 0, right[1] - 1
        ends = [one // other for one in left for other in right]
        return (min(ends), max(ends)) if isinstance(node, nodes.FloorDiv) else None

    def _choice(self, node: nodes.CondExpr) -> IntegerBounds | None:
        if node.expr2 is None or not isinstance(node.test, nodes.Compare):
            return None
        compared = [node.test.expr, *(operand.expr for operand in node.test.ops)]
        sides = self.bounds(node.expr1), self.bounds(node.expr2)
        if None in map(self.bounds, compared) or sides[0] is None or sides[1] is None:
            return None
        if not all(operand.op in COMPARISONS for operand in node.test.ops):
            return None
        return min(sides[0][0], sides[1][0]), max(sides[0][1], sides[1][1])

    def _listed(self, node: nodes.Getitem) -> IntegerBounds | None:
        if not isinstance(node.node, nodes.List):
            return None
        items, positions = [self.bounds(item) for item in node.node.items], self.bounds(node.arg)
        known = [item for item in items if item is not None]
        if positions is None or len(known) < len(items):
            return None
        if not -len(items) <= positions[0] <= positions[1] < len(items):
            return None
        return min(low for low, _ in known), max(high for _, high in known)


def _chars_in(text: str) -> int | None:
    return len(text) if text.isascii() else None
