"""jinja2's filters and tests that are read: its own functions, under the limits.

What costs more than its arguments is weighed before it is computed, as in `operations`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Reversible
from inspect import signature
from numbers import Number
from typing import Any

from jinja2.filters import do_float, do_int, do_round, do_title, do_trim

from refexplorer.limits import Limits
from refexplorer.spec.templates.operations import (
    Absent,
    TemplateProblem,
    Value,
    check_bits,
    modulo,
    percent_format,
    too_big,
)

# a decimal digit has 3.3 bits
_BITS_OF_DIGIT = 4


def _replace(limits: Limits, text: Value, old: Value, new: Value, count: Any = None) -> str:
    source, before, after = str(text), str(old), str(new)
    found = source.count(before)
    if len(source) + found * max(0, len(after) - len(before)) > limits.template_chars:
        raise too_big(limits, "A replaced text")
    return source.replace(before, after, -1 if count is None else count)


def _round(limits: Limits, value: Any, precision: Any = 0, method: Any = "common") -> Value:
    if isinstance(precision, int):
        check_bits(abs(precision) * _BITS_OF_DIGIT, limits)
    return do_round(value, precision, method)


def _join(limits: Limits, values: Iterable[Value], separator: Value = "") -> str:
    parts = [str(part) for part in values]
    if sum(map(len, parts)) + len(parts) * len(str(separator)) > limits.template_chars:
        raise too_big(limits, "A joined text")
    return str(separator).join(parts)


def _first(limits: Limits, values: Iterable[Value]) -> Value:
    return next(iter(values), _nothing("first"))


def _last(limits: Limits, values: Reversible[Value]) -> Value:
    return next(iter(reversed(values)), _nothing("last"))


def _nothing(name: str) -> Absent:
    return Absent(
        TemplateProblem("bad-template", f"The list or text is empty, so it has no {name} item.")
    )


FILTERS: dict[str, Callable[..., Value]] = {
    "abs": lambda limits, value: abs(value),
    "capitalize": lambda limits, value: str(value).capitalize(),
    "count": lambda limits, value: len(value),
    "first": _first,
    "float": lambda limits, value, default=0.0: do_float(value, default),
    "format": lambda limits, pattern, *values: percent_format(str(pattern), values, limits),
    "int": lambda limits, value, default=0, base=10: do_int(value, default, base),
    "join": _join,
    "last": _last,
    "length": lambda limits, value: len(value),
    "lower": lambda limits, value: str(value).lower(),
    "replace": _replace,
    "round": _round,
    "string": lambda limits, value: str(value),
    "title": lambda limits, value: do_title(str(value)),
    "trim": lambda limits, value, chars=None: do_trim(str(value), chars),
    "upper": lambda limits, value: str(value).upper(),
}
"""jinja2's filters that are read, by name; `default` and `d` are part of the compiler."""

TESTS: dict[str, Callable[..., bool]] = {
    "divisibleby": lambda limits, value, by: modulo(value, by, limits) == 0,
    "even": lambda limits, value: modulo(value, 2, limits) == 0,
    "odd": lambda limits, value: modulo(value, 2, limits) == 1,
    "none": lambda limits, value: value is None,
    "number": lambda limits, value: isinstance(value, Number),
    "string": lambda limits, value: isinstance(value, str),
}
"""jinja2's tests that are read; `defined` and `undefined` are part of the compiler."""


def takes(operation: Callable[..., Value], count: int) -> bool:
    """Say whether a filter or test takes so many arguments after its value."""
    try:
        signature(operation).bind(*[None] * (2 + count))
    except TypeError:
        return False
    return True
