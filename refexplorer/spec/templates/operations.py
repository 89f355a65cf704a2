"""The operations of templates: jinja2's operators under the limits; see also `filters`.

Every operation checks what its result will cost before it computes it, since a template comes
from a stranger and Python cannot be interrupted inside one big operation.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from refexplorer.limits import Limits
from refexplorer.spec.core.diagnostics import Problem

Value = object
_PERCENT = re.compile(r"%(?:%|[#0\- +]*([0-9]*)(?:\.([0-9]+))?[hlL]?([diouxXeEfFgGcrsa]))")


class TemplateProblem(Problem):
    """A template cannot be rendered."""


_READ = (
    "Supported are names, numbers, arithmetic, `if … else`, calls of templates and a few filters."
)


def refused(construct: str, hint: str = _READ) -> TemplateProblem:
    """Describe what jinja2 knows and is not read here, and what to write instead."""
    return TemplateProblem(
        "unsafe-template", f"The {construct} is not supported in templates.", hint
    )


@dataclass(frozen=True, slots=True)
class Absent:
    """Stands for a value that is not there: only `default` and `is defined` take it.

    Attributes
    ----------
    problem
        What is raised where a value is needed.
    """

    problem: TemplateProblem


def settled(value: Value) -> Value:
    """Return a value that is there; else raise the problem."""
    if isinstance(value, Absent):
        raise value.problem
    return value


def too_big(limits: Limits, what: str) -> TemplateProblem:
    """Describe a template whose result would pass `Limits.template_chars`."""
    return TemplateProblem(
        "template-limit",
        f"{what} would be longer than {limits.template_chars:,} characters.",
        "Raise `Limits.template_chars` if the text is meant to be that long.",
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
        "Raise `Limits.integer_bits` if it is meant to be that large.",
    )


def _add(left: Value, right: Value, limits: Limits) -> Value:
    return left + right  # type: ignore[operator]


def _multiply(left: Value, right: Value, limits: Limits) -> Value:
    for sequence, times in ((left, right), (right, left)):
        if isinstance(sequence, str | list | tuple) and isinstance(times, int):
            # weighed before it is made: Python cannot be interrupted while it repeats a text
            if (weigh(sequence, limits.template_chars) + 1) * times > limits.template_chars:
                raise too_big(limits, "A repeated text or list")
            return sequence * times
    if isinstance(left, int) and isinstance(right, int):
        check_bits(left.bit_length() + right.bit_length() - 1, limits)
    return left * right  # type: ignore[operator]


def _power(left: Value, right: Value, limits: Limits) -> Value:
    if isinstance(left, int) and isinstance(right, int) and abs(left) > 1:
        # 10 ** 10 ** 10 would keep Python busy for ever, and holds the GIL meanwhile
        check_bits((left.bit_length() - 1) * right, limits)
    return left**right  # type: ignore[operator]


def check_bits(bits: int, limits: Limits) -> None:
    """Refuse a whole number that would need more bits than `Limits.integer_bits`."""
    if bits > limits.integer_bits:
        raise _integer_too_big(limits)


def modulo(left: Value, right: Value, limits: Limits) -> Value:
    """Return ``left % right``, which formats where the left side is a text."""
    return percent_format(left, right, limits) if isinstance(left, str) else left % right  # type: ignore[operator]


def percent_format(pattern: str, values: Value, limits: Limits) -> str:
    """Format in printf style; a width given by an argument (``*``) or by name is refused."""
    consumed = chars = 0
    for match in _PERCENT.finditer(pattern):
        consumed += 2 if match[0] == "%%" else 1
        # "%0999999999d" is 12 characters here and a gigabyte once it is formatted
        for digits in match.group(1, 2):
            chars += int(digits[:9]) if digits else 0
            if chars > limits.template_chars:
                raise too_big(limits, "A formatted number")
    if pattern.count("%") != consumed:
        raise TemplateProblem(
            "bad-template",
            f"`{pattern[:40]}` is not a supported number format.",
            "Write for example '%03d' % i.",
        )
    return pattern % values


BINARY: dict[str, Callable[[Any, Any, Limits], Value]] = {
    "+": _add,
    "-": lambda left, right, limits: left - right,
    "*": _multiply,
    "/": lambda left, right, limits: left / right,
    "//": lambda left, right, limits: left // right,
    "%": modulo,
    "**": _power,
}

UNARY: dict[str, Callable[[Any], Value]] = {
    "-": lambda value: -value,
    "+": lambda value: +value,
    "not": operator.not_,
}


def item(value: Value, index: Value) -> Value:
    """Return ``value[index]``; `Absent` where there is none, as jinja2 gives its `Undefined`."""
    try:
        return value[index]  # type: ignore[index]
    except (TypeError, LookupError) as error:
        if isinstance(index, str) and hasattr(value, index):
            raise refused(f"attribute `.{index}`") from None
        said = f"This template cannot be evaluated: {error}."
        return Absent(TemplateProblem("bad-template", said))


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
