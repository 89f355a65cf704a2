"""Parsing of the ``gen`` section: each item is checked by a sample of its keys, or rejected.

Source: reference specification, "Version 1", ``gen``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jinja2 import nodes

from refexplorer.core.limits import MOST_BYTES, Limits
from refexplorer.spec.findings import Findings, pointer
from refexplorer.spec.gen.dimensions import Dimension, as_column, read_dimensions
from refexplorer.spec.gen.item import FIELDS, LISTED_KEYS, GenItem, failing, fails, values_text
from refexplorer.spec.templates import syntax
from refexplorer.spec.templates.columns import (
    COMPARISONS,
    IntegerBounds,
    Scopes,
    all_fit,
    bounds_of,
    fit,
    formatted_integers,
    longest,
    most_steps,
)
from refexplorer.spec.templates.syntax import TemplateProblem
from refexplorer.spec.templates.template import (
    Template,
    compile_template,
    is_template,
    rendered_plain,
)

_DIGITS = 20  # characters of a 64-bit integer with its sign


def extents_of(item: GenItem) -> Extents:
    """Return the bounds of the dimensions of an item, none of which is empty."""
    numbers = {dimension.name: dimension.bounds for dimension in item.dimensions}
    return Extents(numbers, item.templates, item.limits)


def cannot_fail(item: GenItem) -> bool:
    """Return whether all keys of an item, at least one, can certainly be generated."""
    known = extents_of(item)
    texts, sizes = (item.key, item.url), (item.offset, item.length)
    return all(map(known.makes_texts, texts)) and all(map(known.makes_sizes, sizes))


@dataclass(frozen=True, slots=True)
class Extents:
    """Bounds of the names visible to a template."""

    # The least and the greatest value of each dimension or argument that is a number
    numbers: Mapping[str, IntegerBounds]
    templates: Mapping[str, Template]  # The templates section; none inside a template's own text
    limits: Limits
    # For each argument that is a text, a number of characters that it does not exceed
    texts: Mapping[str, int] = field(default_factory=dict)

    def makes_texts(self, template: Template) -> bool:
        """Return whether a template certainly produces a text that a file can contain."""
        if not self._is_bounded(template):
            return False
        try:
            chars = self._chars_of(template)
        except RecursionError:
            return False
        return chars is not None and chars <= self.limits.template_chars

    def makes_sizes(self, template: Template | None) -> bool:
        """Return whether a template certainly produces a valid byte count."""
        if template is None:
            return True
        if len(template.parts) != 1 or not self._is_bounded(template):
            return False
        (part,) = template.parts
        if isinstance(part, str):
            is_written = part.isdecimal() and part.isascii() and len(part) <= _DIGITS
            return is_written and int(part) <= MOST_BYTES
        try:
            found = self.bounds(part.form)
        except RecursionError:
            return False
        return found is not None and found[0] >= 0 and found[1] <= MOST_BYTES

    def _is_bounded(self, template: Template) -> bool:
        return Scopes({}, self.templates, self.limits).is_bounded(template)

    def _chars_of(self, template: Template) -> int | None:
        """Return an upper bound for the length of a text; None if it may fail."""
        return _sum(
            _chars_in(part) if isinstance(part, str) else self._chars(part.form)
            for part in template.parts
        )

    def _chars(self, form: syntax.Form) -> int | None:
        if self.bounds(form) is not None:
            return _DIGITS
        match form:
            case nodes.Const(value=str(text)):
                return _chars_in(text)
            case nodes.Name(name=name) if name not in self.templates:
                return self.texts.get(name)
            case nodes.Name(name=name):
                return self._called(self.templates[name], [])
            case nodes.Call(node=nodes.Name(name=name)) if name in self.templates:
                return self._called(self.templates[name], form.kwargs)
            case nodes.Concat(nodes=parts):
                return _sum(map(self._chars, parts))
        pattern, number = syntax.as_printf(form)
        if not pattern.isascii() or not self.bounds(number):
            return None
        written = formatted_integers(pattern, np.empty(0, np.int64))
        return None if written is None else longest(written)

    def _called(self, template: Template, arguments: list[nodes.Keyword]) -> int | None:
        numbers = {pair.key: self.bounds(pair.value) for pair in arguments}
        texts = {pair.key: self._chars(pair.value) for pair in arguments}
        inner = Extents(
            {name: found for name, found in numbers.items() if found is not None},
            {},
            self.limits,
            {name: chars for name, chars in texts.items() if chars is not None},
        )
        return inner._chars_of(template) if len(inner.texts) == len(arguments) else None

    def bounds(self, form: syntax.Form) -> IntegerBounds | None:
        """Return the minimum and the maximum; None if it may fail or is not an integer."""
        found = self._bounds(form)
        return found if found is not None and fit(found) else None

    def _bounds(self, form: syntax.Form) -> IntegerBounds | None:
        match form:
            case nodes.Const(value=value):
                return (value, value) if type(value) is int else None
            case nodes.Name(name=name):
                return self.numbers.get(name)
            case nodes.Neg(node=operand) | nodes.Pos(node=operand):
                inner = self.bounds(operand)
                is_same = inner is None or form.operator == "+"
                return inner if inner is None or is_same else (-inner[1], -inner[0])
            case nodes.BinExpr(operator=operator, left=left, right=right):
                return _arithmetic(operator, self.bounds(left), self.bounds(right))
            case nodes.CondExpr(test=nodes.Compare() as test, expr1=then, expr2=other) if other:
                return self._choice(test, then, other)
            case nodes.Getitem(node=nodes.Const(value=syntax.FixedItems(items=items)), arg=index):
                return _listed(items, self.bounds(index))
        return None

    def _choice(
        self, test: nodes.Compare, then: syntax.Form, otherwise: syntax.Form
    ) -> IntegerBounds | None:
        if not all(operand.op in COMPARISONS for operand in test.ops):
            return None
        compared = (test.expr, *(operand.expr for operand in test.ops))
        if None in map(self.bounds, compared):
            return None
        sides = self.bounds(then), self.bounds(otherwise)
        low, high = zip(*filter(None, sides), strict=True) if None not in sides else ((), ())
        return (min(low), max(high)) if low else None


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


def _listed(items: Sequence[Any], positions: IntegerBounds | None) -> IntegerBounds | None:
    if positions is None or not -len(items) <= positions[0] <= positions[1] < len(items):
        return None
    return (min(items), max(items)) if all_fit(items) else None


def _sum(every: Iterable[int | None]) -> int | None:
    """Return the sum; None if one of the numbers is unknown."""
    found = list(every)
    known = [one for one in found if one is not None]
    return sum(known) if len(known) == len(found) else None


def _chars_in(text: str) -> int | None:
    return len(text) if text.isascii() else None


TRIED_KEYS = 100_000  # Keys of an item that are all tried, unless no template can fail
TRIED_STEPS = 4_000_000  # Steps of evaluation that this may take in a document
LISTED_BY_COLUMNS = 1_000_000  # Keys of a document that are listed to find duplicates
_TRUSTED_STEPS = 20  # steps assumed for a template that jinja2 renders


@dataclass(slots=True)
class KeyCheckBudget:
    """The remaining budget for checking the items of a document."""

    steps: float = TRIED_STEPS  # Of evaluation, for trying keys
    listed: int = LISTED_BY_COLUMNS  # Keys to be written out


def check_keys(
    item: GenItem, budget: KeyCheckBudget, at: str, findings: Findings
) -> GenItem | None:
    """Check whether keys fail, and report them."""
    is_listed = LISTED_KEYS < item.varying.count <= budget.listed and item.inverter is None
    if is_listed and extents_of(item).makes_texts(item.key):  # so this is done by columns
        budget.listed -= item.varying.count
        item = replace(item, most_listed=item.varying.count)
    return item if cannot_fail(item) else _tried(item, budget, at, findings)


def _tried(item: GenItem, budget: KeyCheckBudget, at: str, findings: Findings) -> GenItem | None:
    """Test the keys of an item: all if there are not too many, else a sample."""
    sample = item.sample()
    if fails(item, as_column(sample)):
        any(_note_failing(item, values, at, findings) for values in map(item.varied, sample))
        return None
    steps = sum(_steps(getattr(item, name), item.templates) for name in FIELDS) * item.count
    if item.count > TRIED_KEYS or steps > budget.steps:
        if item.certain:  # else a finding says that there are too many
            findings.add(
                "gen-not-checked",
                at,
                f"gen[{item.number}] generates {item.count:,} keys, too many to try the "
                "templates of each; keys that fail are rejected when they are read.",
            )
        return replace(item, is_tried=False)
    budget.steps -= steps
    failed = tuple(failing(item, 0, item.count))
    if not failed:
        return item
    _note_failing(item, item.values(failed[0]), at, findings, len(failed))
    return replace(item, failing=failed)


def _note_failing(
    item: GenItem, values: Mapping[str, int], at: str, findings: Findings, count: int = 1
) -> bool:
    """Report why a template fails, and for how many keys; return False if none does."""
    bad = item.failure(values)
    if bad is not None:
        message = f"For {values_text(values)}: {bad}"
        findings.add(bad.code, at + pointer(bad.field), message, bad.hint, count=count)
    return bad is not None


def _steps(template: Template | None, templates: Mapping[str, Template]) -> float:
    steps = 0 if template is None else most_steps(template, templates)
    return steps if math.isfinite(steps) else _TRUSTED_STEPS


@dataclass(frozen=True, slots=True)
class GenContext:
    """The context of all items of a document, and the remaining budget for key checks."""

    templates: Mapping[str, Template]
    limits: Limits
    budget: KeyCheckBudget
    rejected: list[GenItem]


def read_item(
    number: int, source: object, context: GenContext, findings: Findings
) -> GenItem | None:
    """Parse an item; None if it is rejected."""
    at = pointer("gen", number)
    if not isinstance(source, Mapping):
        findings.add("gen-bad-item", at, f"gen[{number}] must be an object.")
        return None
    for extra in source.keys() - {*FIELDS, "dimensions"}:
        message = f"`{extra}` is not a field of a gen item and is ignored."
        hint = "Did you mean `length`?" if extra == "size" and "length" not in source else ""
        findings.add("unknown-field", at + pointer(extra), message, hint)
    if not _has_fields(source, at, findings):
        return None
    dimensions = read_dimensions(source["dimensions"], at + "/dimensions", findings)
    names = [name for name in FIELDS if name in source]
    fields = [_read_field(name, source, at, findings) for name in names]
    if (
        dimensions is None
        or None in fields
        or _clashes(dimensions, context.templates, at, findings)
    ):
        return None
    compiled = dict(zip(names, fields, strict=True))
    item = GenItem(
        number,
        dimensions,
        compiled["key"],  # type: ignore[arg-type]
        compiled["url"],  # type: ignore[arg-type]
        compiled.get("offset"),
        compiled.get("length"),
        context.templates,
        context.limits,
        findings,
    )
    if not item.grid.count:
        empty = next(d.name for d in item.dimensions if not d.size)
        findings.add(
            "gen-empty", at, f"gen[{number}] generates no keys: the dimension `{empty}` is empty."
        )
        return item
    checked_item = check_keys(item, context.budget, at, findings)
    if checked_item is None:
        context.rejected.append(item)
        return None
    item = checked_item
    for name in FIELDS:
        if (template := getattr(item, name)) is not None:
            note_unused_arguments(template, item.templates, at + pointer(name), findings)
    _note_equal_keys(item, at, findings)
    _note_equal_ranges(item, at, findings)
    return item


def _has_fields(source: Mapping[str, object], at: str, findings: Findings) -> bool:
    good = True
    for name in ("key", "url", "dimensions"):
        if name not in source:
            findings.add(
                "gen-missing-field", at, f"The gen item has no `{name}`, which is required."
            )
            good = False
    if ("offset" in source) != ("length" in source):
        has, lacks = ("offset", "length") if "offset" in source else ("length", "offset")
        findings.add(
            "gen-offset-length-pair",
            at,
            f"The gen item has `{has}`, but no `{lacks}`.",
            f"Add `{lacks}`, or omit both to refer to whole files.",
        )
        good = False
    return good


def _read_field(
    name: str, source: Mapping[str, object], at: str, findings: Findings
) -> Template | None:
    value, where = source[name], at + pointer(name)
    if name in ("offset", "length") and (
        type(value) is int or (isinstance(value, float) and value.is_integer())
    ):
        message = f"`{name}` is a number, but the specification requires a string."
        findings.add("gen-number-not-string", where, message, f'Write "{int(value)}".')
        value = f"{int(value)}"
    if not isinstance(value, str):
        code = "gen-bad-int" if name in ("offset", "length") else "gen-bad-field"
        findings.add(code, where, f"`{name}` must be a string.")
        return None
    if not is_template(value):
        value = rendered_plain(value)
    try:
        return compile_template(value)
    except TemplateProblem as problem:
        findings.add(problem.code, where, str(problem), problem.hint)
        return None


def _clashes(
    dimensions: tuple[Dimension, ...],
    templates: Mapping[str, Template],
    at: str,
    findings: Findings,
) -> bool:
    clashing = [dimension.name for dimension in dimensions if dimension.name in templates]
    for name in clashing:
        message = f"`{name}` is the name of both a dimension and a template."
        findings.add("name-clash", at + pointer("dimensions", name), message, "Rename one of them.")
    return bool(clashing)


def note_unused_arguments(
    template: Template, templates: Mapping[str, Template], at: str, findings: Findings
) -> None:
    """Report arguments of a call that the called template does not use."""
    for name, arguments in template.calls:
        for extra in sorted(arguments - templates[name].names) if name in templates else ():
            findings.add("unused-argument", at, f"The template `{name}` does not use `{extra}`.")


def _note_equal_keys(item: GenItem, at: str, findings: Findings) -> None:
    if not item.certain:
        findings.add(
            "gen-not-checked",
            at,
            f"gen[{item.number}] generates up to {item.count:,} keys, too many to check for "
            "duplicates.",
            "Use each dimension alone in `key`, so every key is certain to differ.",
        )
    elif item.count < item.grid.count:
        findings.add(
            "gen-duplicate-key",
            at,
            f"gen[{item.number}] generates only {item.count:,} distinct keys from "
            f"{item.grid.count:,} combinations; the last reference of each key is used.",
        )


def _note_equal_ranges(item: GenItem, at: str, findings: Findings) -> None:
    """Report dimensions of the key on which the byte range does not depend."""
    if item.offset is None or item.length is None:
        return
    used = item.url.names | item.offset.names | item.length.names
    unused = [d for d in item.varying.dimensions if d.size > 1 and d.name not in used]
    if not unused:
        return
    names = ", ".join(f"`{dimension.name}`" for dimension in unused)
    alike = math.prod(dimension.size for dimension in unused)
    findings.add(
        "repeated-range",
        at,
        f"gen[{item.number}] generates {alike:,} keys for each byte range: neither `url` nor "
        f"`offset` nor `length` uses {names}.",
        "This is correct only where their values are equal, as in empty regions; otherwise use "
        f"{names} there.",
        count=item.varying.count - item.varying.count // alike,
    )
