"""Proof that templates cannot fail, from the least and the greatest value of each dimension.

Most gen items only add, multiply and divide by written numbers. For them it is known without
trying each key that all can be made; what is not known here may still be fine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from refexplorer.limits import Limits
from refexplorer.spec.gen.item import GenItem
from refexplorer.spec.templates import syntax
from refexplorer.spec.templates.formatted_integers import formatted_integers, longest
from refexplorer.spec.templates.integers import COMPARISONS, IntegerBounds, bounds_of, fit
from refexplorer.spec.templates.template import Template
from refexplorer.spec.templates.vectors import Scopes

_DIGITS = 20


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
            found = self.bounds(part.form)
        except RecursionError:
            return False
        return found is not None and found[0] >= 0

    def _is_bounded(self, template: Template) -> bool:
        return Scopes({}, self.templates, self.limits).is_bounded(template)

    def _chars_of(self, template: Template) -> int | None:
        """Return a number of characters that no text exceeds; None if a text may fail."""
        return _sum(
            _chars_in(part) if isinstance(part, str) else self._chars(part.form)
            for part in template.parts
        )

    def _chars(self, form: syntax.Form) -> int | None:
        if self.bounds(form) is not None:
            return _DIGITS
        match form:
            case syntax.Const(str(text)):
                return _chars_in(text)
            case syntax.Name(name) if name not in self.templates:
                return self.texts.get(name)
            case syntax.Name(name):
                return self._called(self.templates[name], {})
            case syntax.Call(name, arguments) if name in self.templates:
                return self._called(self.templates[name], dict(arguments))
            case syntax.Concat(parts):
                return _sum(map(self._chars, parts))
            case syntax.Printf(pattern, number) if pattern.isascii() and self.bounds(number):
                written = formatted_integers(pattern, np.empty(0, np.int64))
                return None if written is None else longest(written)
        return None

    def _called(self, template: Template, arguments: Mapping[str, syntax.Form]) -> int | None:
        numbers = {name: self.bounds(form) for name, form in arguments.items()}
        texts = {name: self._chars(form) for name, form in arguments.items()}
        inner = Extents(
            {name: found for name, found in numbers.items() if found is not None},
            {},
            self.limits,
            {name: chars for name, chars in texts.items() if chars is not None},
        )
        return inner._chars_of(template) if len(inner.texts) == len(arguments) else None

    def bounds(self, form: syntax.Form) -> IntegerBounds | None:
        """Return the least and the greatest value; None if it may fail or is no whole number."""
        found = self._bounds(form)
        return found if found is not None and fit(found) else None

    def _bounds(self, form: syntax.Form) -> IntegerBounds | None:
        match form:
            case syntax.Const(value):
                return (value, value) if type(value) is int else None
            case syntax.Name(name):
                return self.numbers.get(name)
            case syntax.Unary("-" | "+" as operator, operand):
                inner = self.bounds(operand)
                return inner if inner is None or operator == "+" else (-inner[1], -inner[0])
            case syntax.Binary(operator, left, right):
                return _arithmetic(operator, self.bounds(left), self.bounds(right))
            case syntax.Conditional(syntax.Compare() as test, then, other) if other is not None:
                return self._choice(test, then, other)
            case syntax.Item(syntax.Sequence(_, items), index):
                return _listed([self.bounds(item) for item in items], self.bounds(index))
        return None

    def _choice(
        self, test: syntax.Compare, then: syntax.Form, otherwise: syntax.Form
    ) -> IntegerBounds | None:
        if not all(operator in COMPARISONS for operator, _ in test.rest):
            return None
        compared = (test.first, *(operand for _, operand in test.rest))
        if None in map(self.bounds, compared):
            return None
        return _span([self.bounds(then), self.bounds(otherwise)])


def _arithmetic(
    operator: str, left: IntegerBounds | None, right: IntegerBounds | None
) -> IntegerBounds | None:
    if left is None or right is None:
        return None
    if operator in ("+", "-", "*"):
        return bounds_of(operator, left, right)
    # a divisor of 0 fails, and a negative one would turn the bounds around
    if right[0] <= 0:
        return None
    if operator == "%":
        return 0, right[1] - 1
    ends = [one // other for one in left for other in right]
    return (min(ends), max(ends)) if operator == "//" else None


def _listed(
    items: list[IntegerBounds | None], positions: IntegerBounds | None
) -> IntegerBounds | None:
    if positions is None or not -len(items) <= positions[0] <= positions[1] < len(items):
        return None
    return _span(items)


def _span(every: list[IntegerBounds | None]) -> IntegerBounds | None:
    """Return bounds around several; None if one of them is not known."""
    known = [bounds for bounds in every if bounds is not None]
    if len(known) < len(every):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _sum(every: Iterable[int | None]) -> int | None:
    """Return the sum; None if one of the numbers is not known."""
    found = list(every)
    known = [one for one in found if one is not None]
    return sum(known) if len(known) == len(found) else None


def _chars_in(text: str) -> int | None:
    return len(text) if text.isascii() else None
