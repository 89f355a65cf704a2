"""The values and operators of a ``jinja-str``, under limits, and views of its syntax.

The syntax is jinja2's own nodes, of which `parsing` accepts only those that are supported here.
`template` says what they mean, and analyses read them by ``match``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from jinja2 import nodes

from refexplorer.core.limits import Limits
from refexplorer.spec.findings import Problem

Value = object
_PERCENT = re.compile(r"%(?:%|[#0\- +]*([0-9]*)(?:\.([0-9]+))?[hlL]?([diouxXeEfFgGcrsa]))")


class TemplateProblem(Problem):
    """A template cannot be rendered."""


_READ = (
    "Supported are names, numbers, arithmetic, `if … else`, calls of templates and a few filters."
)


def refused(construct: str, hint: str = _READ) -> TemplateProblem:
    """Describe a jinja2 feature that is not supported, and what to write instead."""
    return TemplateProblem(
        "unsafe-template", f"The {construct} is not supported in templates.", hint
    )


@dataclass(frozen=True, slots=True)
class Undefined:
    """Stands for an undefined value: only `default` and `is defined` accept it."""

    problem: TemplateProblem  # The error to raise if a value is needed


def too_big(limits: Limits, what: str) -> TemplateProblem:
    """Describe a template whose result would exceed `Limits.template_chars`."""
    return TemplateProblem(
        "template-limit",
        f"{what} would be longer than {limits.template_chars:,} characters.",
        "Raise `Limits.template_chars` if the text is meant to be that long.",
    )


def text_length(value: Value, bound: int) -> int:
    """Count the characters of a formatted value, stopping soon after `bound`."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, int):
        return value.bit_length() // 3 + 1
    if isinstance(value, list | tuple | dict):
        total = 0
        members = [*value, *value.values()] if isinstance(value, dict) else value
        for member in members:
            total += 2 + text_length(member, bound - total)
            if total > bound:
                break
        return total
    return 32


def checked(value: Value, limits: Limits) -> Value:
    """Return the value if it is within the limits."""
    if isinstance(value, int) and value.bit_length() > limits.integer_bits:
        raise _integer_too_big(limits)
    if text_length(value, limits.template_chars) > limits.template_chars:
        raise too_big(limits, "A value of this template")
    return value


def text_of(value: Value, limits: Limits) -> str:
    """Format a value as printed by jinja2."""
    return str(checked(value, limits))


def _integer_too_big(limits: Limits) -> TemplateProblem:
    return TemplateProblem(
        "template-limit",
        f"A number of this template would need more than {limits.integer_bits:,} bits.",
        "Raise `Limits.integer_bits` if it is meant to be that large.",
    )


def _multiply(left: Value, right: Value, limits: Limits) -> Value:
    for sequence, times in ((left, right), (right, left)):
        if isinstance(sequence, str | list | tuple) and isinstance(times, int):
            # checked in advance: Python cannot be interrupted while it repeats a text
            if (text_length(sequence, limits.template_chars) + 1) * times > limits.template_chars:
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
    """Reject an integer with more bits than `Limits.integer_bits`."""
    if bits > limits.integer_bits:
        raise _integer_too_big(limits)


def modulo(left: Value, right: Value, limits: Limits) -> Value:
    """Return ``left % right``, which formats if the left side is a text."""
    return percent_format(left, right, limits) if isinstance(left, str) else left % right  # type: ignore[operator]


def percent_format(pattern: str, values: Value, limits: Limits) -> str:
    """Format in printf style; a width given by an argument (``*``) or by name is rejected."""
    consumed = chars = 0
    for match in _PERCENT.finditer(pattern):
        consumed += 2 if match[0] == "%%" else 1
        # "%0999999999d" is 12 characters here and a gigabyte once it is formatted
        for digits in match.group(1, 2):
            chars += int(digits[:9]) if digits else 0
            if chars > limits.template_chars:
                raise too_big(limits, "A formatted number")
    if pattern.count("%") != consumed:
        message = f"`{pattern[:40]}` is not a supported number format."
        raise TemplateProblem("bad-template", message, "Write for example '%03d' % i.")
    return pattern % values


BINARY: dict[str, Callable[[Any, Any, Limits], Value]] = {
    "+": lambda left, right, limits: left + right,
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
    """Return ``value[index]``; `Undefined` if it does not exist, as in jinja2."""
    try:
        return value[index]  # type: ignore[index]
    except (TypeError, LookupError) as error:
        if isinstance(index, str) and hasattr(value, index):
            raise refused(f"attribute `.{index}`") from None
        message = f"This template cannot be evaluated: {error}."
        return Undefined(TemplateProblem("bad-template", message))


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


class FixedItems(NamedTuple):
    """A literal list or tuple, built and measured once: it may be long, and keys many."""

    items: list[object] | tuple[object, ...]
    chars: int


Form = nodes.Node | None  # An expression, or ``{% if %}``; None if unknown
Body = list["str | nodes.Node"]  # Literal texts and expressions, in order


def every(forms: Iterable[Form]) -> list[nodes.Node]:
    """Return all expressions, each after its subexpressions, in text order."""
    found: list[nodes.Node] = []
    waiting = [form for form in forms if form is not None]
    while waiting:
        part = waiting.pop()
        waiting += part.iter_child_nodes()
        if not isinstance(part, nodes.Helper):
            found.append(part)
    return found[::-1]


def names_in(form: Form) -> frozenset[str]:
    """Return the names that an expression uses."""
    return frozenset(part.name for part in every([form]) if isinstance(part, nodes.Name))


def as_call(form: Form) -> tuple[str, list[nodes.Keyword]] | None:
    """Return the called template and its arguments; None if it is not a call."""
    match form:
        case nodes.Call(node=nodes.Name(name=name), kwargs=arguments):
            return name, arguments
    return None


def as_printf(form: Form) -> tuple[str, Form]:
    """Return the pattern of a number and the number; ``{{ i }}`` is ``{{ '%d' % i }}``."""
    match form:
        case nodes.Mod(left=nodes.Const(value=str(pattern)), right=number):
            return pattern, number
        case nodes.Filter(name="format", node=nodes.Const(value=str(pattern)), args=[number]):
            return pattern, number
    return "%d", form
