"""What a template may compute: jinja2's operators, filters and tests under the limits.

Every operation checks what its result will cost before it computes it, since a template comes
from a stranger and Python cannot be interrupted inside one big operation.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from refexplorer.limits import Limits
from refexplorer.spec.diagnostics import Problem

Value = object
_PERCENT = re.compile(r"%(?:%|[#0\- +]*(\d*)(?:\.(\d+))?[hlL]?([diouxXeEfFgGcrsa]))")


class TemplateProblem(Problem):
    """A template cannot be rendered."""


def too_big(limits: Limits, what: str) -> TemplateProblem:
    """Describe a template whose result would pass `Limits.template_chars`."""
    return TemplateProblem(
        "template-limit",
        f"{what} would be longer than {limits.template_chars:,} characters.",
        "Raise `Limits.template_chars` if the text is really meant to be that long.",
    )


def weigh(value: Value, bound: int) -> int:
    """Count the characters of a value written out, stopping soon after `bound`."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, int):
        return value.bit_length() // 3 + 1
    if isinstance(value, list | tuple | dict):
        total = 0
        members = [*value, *value.values()] if isinstance(value, dict) else value
        for member in members:
            total += 2 + weigh(member, bound - total)
            if total > bound:
                break
        return total
    return 32


def checked(value: Value, limits: Limits) -> Value:
    """Return the value if it is within the limits."""
    if isinstance(value, int) and value.bit_length() > limits.integer_bits:
        raise _integer_too_big(limits)
    if weigh(value, limits.template_chars) > limits.template_chars:
        raise too_big(limits, "A value of this template")
    return value


def text_of(value: Value, limits: Limits) -> str:
    """Write a value as jinja2 prints it."""
    return str(checked(value, limits))


def _integer_too_big(limits: Limits) -> TemplateProblem:
    return TemplateProblem(
        "template-limit",
        f"A number of this template would need more than {limits.integer_bits:,} bits.",
        "Raise `Limits.integer_bits` if it is really meant to be that big.",
    )


def _add(left: Value, right: Value, limits: Limits) -> Value:
    return left + right  # type: ignore[operator]


def _multiply(left: Value, right: Value, limits: Limits) -> Value:
    for sequence, times in ((left, right), (right, left)):
        if isinstance(sequence, str | list | tuple) and isinstance(times, int):
            if (weigh(sequence, limits.template_chars) + 1) * times > limits.template_chars:
                raise too_big(limits, "A repeated text or list")
            return sequence * times
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() + right.bit_length() - 1, limits)
    return left * right  # type: ignore[operator]


def _power(left: Value, right: Value, limits: Limits) -> Value:
    if isinstance(left, int) and isinstance(right, int) and abs(left) > 1:
        _check_bits((left.bit_length() - 1) * right, limits)
    return left**right  # type: ignore[operator]


def _check_bits(bits: int, limits: Limits) -> None:
    if bits > limits.integer_bits:
        raise _integer_too_big(limits)


def _modulo(left: Value, right: Value, limits: Limits) -> Value:
    return percent_format(left, right, limits) if isinstance(left, str) else left % right  # type: ignore[operator]


def percent_format(pattern: str, values: Value, limits: Limits) -> str:
    """Format in printf style; a width given by an argument (``*``) or by name is refused."""
    consumed = 0
    for match in _PERCENT.finditer(pattern):
        consumed += 2 if match[0] == "%%" else 1
        for digits in match.group(1, 2):
            if digits and (len(digits) > 6 or int(digits) > limits.template_chars):
                raise too_big(limits, "A formatted number")
    if pattern.count("%") != consumed:
        raise TemplateProblem(
            "bad-template",
            f"`{pattern[:40]}` is not a number format that is read here.",
            "Write for example '%03d' % i.",
        )
    return pattern % (tuple(values) if isinstance(values, list) else values)


BINARY: dict[str, Callable[[Any, Any, Limits], Value]] = {
    "Add": _add,
    "Sub": lambda left, right, limits: left - right,
    "Mul": _multiply,
    "Div": lambda left, right, limits: left / right,
    "FloorDiv": lambda left, right, limits: left // right,
    "Mod": _modulo,
    "Pow": _power,
}

UNARY: dict[str, Callable[[Any], Value]] = {
    "Neg": lambda value: -value,
    "Pos": lambda value: +value,
    "Not": operator.not_,
}

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": lambda left, right: left < right,
    "lteq": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "gteq": lambda left, right: left >= right,
    "in": lambda left, right: left in right,
    "notin": lambda left, right: left not in right,
}


def _replace(limits: Limits, text: Value, old: Value, new: Value, count: Value = None) -> str:
    source, before, after = str(text), str(old), str(new)
    found = source.count(before)
    if len(source) + found * max(0, len(after) - len(before)) > limits.template_chars:
        raise too_big(limits, "A replaced text")
    return source.replace(before, after, -1 if count is None else int(str(count)))


def _to_int(limits: Limits, value: Value, default: Value = 0, base: Value = 10) -> Value:
    try:
        if isinstance(value, str):
            return int(value, int(str(base)))
        return int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        try:
            return int(float(value))  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            return default


def _to_float(limits: Limits, value: Value, default: Value = 0.0) -> Value:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return default


def _round(limits: Limits, value: Value, precision: Value = 0) -> Value:
    return round(float(value), int(str(precision)))  # type: ignore[arg-type]


def _trim(limits: Limits, value: Value, chars: Value = None) -> str:
    return str(value).strip(None if chars is None else str(chars))


def _join(limits: Limits, values: Value, separator: Value = "") -> str:
    parts = [str(part) for part in values]  # type: ignore[attr-defined]
    if sum(map(len, parts)) + len(parts) * len(str(separator)) > limits.template_chars:
        raise too_big(limits, "A joined text")
    return str(separator).join(parts)


FILTERS: dict[str, Callable[..., Value]] = {
    "abs": lambda limits, value: abs(value),
    "capitalize": lambda limits, value: str(value).capitalize(),
    "count": lambda limits, value: len(value),
    "first": lambda limits, value: value[0],
    "float": _to_float,
    "format": lambda limits, pattern, *values: percent_format(str(pattern), values, limits),
    "int": _to_int,
    "join": _join,
    "last": lambda limits, value: value[-1],
    "length": lambda limits, value: len(value),
    "lower": lambda limits, value: str(value).lower(),
    "replace": _replace,
    "round": _round,
    "string": lambda limits, value: str(value),
    "title": lambda limits, value: str(value).title(),
    "trim": _trim,
    "upper": lambda limits, value: str(value).upper(),
}
"""jinja2's filters that are read, by name; `default` and `d` are part of the compiler."""

TESTS: dict[str, Callable[..., bool]] = {
    "divisibleby": lambda value, by: value % by == 0,
    "even": lambda value: value % 2 == 0,
    "odd": lambda value: value % 2 == 1,
    "none": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float),
    "string": lambda value: isinstance(value, str),
}
"""jinja2's tests that are read; `defined` and `undefined` are part of the compiler."""
