"""The syntax of a ``jinja-str``: what is read here of jinja2, as data of our own.

`lowering` makes it from a text, `compiler` says what it means, and analyses read it by ``match``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

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
    """Describe what jinja2 knows and is not read here, and what to write instead."""
    return TemplateProblem(
        "unsafe-template", f"The {construct} is not supported in templates.", hint
    )


@dataclass(frozen=True, slots=True)
class Undefined:
    """Stands for a value that is not there: only `default` and `is defined` take it."""

    problem: TemplateProblem  # What is raised where a value is needed


def require_value(value: Value) -> Value:
    """Return a value that is there; else raise the problem."""
    if isinstance(value, Undefined):
        raise value.problem
    return value


def too_big(limits: Limits, what: str) -> TemplateProblem:
    """Describe a template whose result would pass `Limits.template_chars`."""
    return TemplateProblem(
        "template-limit",
        f"{what} would be longer than {limits.template_chars:,} characters.",
        "Raise `Limits.template_chars` if the text is meant to be that long.",
    )


def text_length(value: Value, bound: int) -> int:
    """Count the characters of a value written out, stopping soon after `bound`."""
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
    """Return ``value[index]``; `Undefined` where there is none, as jinja2 gives its `Undefined`."""
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


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, a number, true, false or none, as it is written."""

    value: object


@dataclass(frozen=True, slots=True)
class Name:
    """A dimension, an argument, or a template that takes no arguments."""

    name: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """``name.attribute``, which is refused when it is rendered, once the name is known."""

    name: str
    attribute: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a template; its arguments are passed by name."""

    name: str
    arguments: tuple[tuple[str, Form], ...]


@dataclass(frozen=True, slots=True)
class Unary:
    """An operator of `operations.UNARY` before a value."""

    operator: str
    operand: Form


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator of `operations.BINARY` between two values."""

    operator: str
    left: Form
    right: Form


@dataclass(frozen=True, slots=True)
class Printf:
    """``'%03d' % value``, or ``'%03d' | format(value)``."""

    pattern: str
    value: Form
    # Whether a tuple or a dict is one value of the pattern, and not what holds its values
    is_filter: bool


@dataclass(frozen=True, slots=True)
class Logic:
    """``left and right``, or ``left or right``."""

    operator: str
    left: Form
    right: Form


@dataclass(frozen=True, slots=True)
class Compare:
    """A chain of comparisons: each operator of `operations.COMPARE`, and what follows it."""

    first: Form
    rest: tuple[tuple[str, Form], ...]


@dataclass(frozen=True, slots=True)
class Conditional:
    """``then if test else otherwise``."""

    test: Form
    then: Form
    otherwise: Form | None = None


@dataclass(frozen=True, slots=True)
class Concat:
    """Values written one after the other: ``a ~ b``."""

    parts: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list or a tuple."""

    kind: type[list[Any]] | type[tuple[Any, ...]]
    items: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Dictionary:
    """A dict: keys and values."""

    pairs: tuple[tuple[Form, Form], ...]


@dataclass(frozen=True, slots=True)
class Item:
    """``value[index]``."""

    value: Form
    index: Form


@dataclass(frozen=True, slots=True)
class Slice:
    """``value[start:stop:step]``; a bound that is not written is none."""

    value: Form
    bounds: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """``value | name(…)``, one of `filters.FILTERS`."""

    name: str
    value: Form
    arguments: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Default:
    """``value | default(fallback, falsy_too)``, where the value may be absent."""

    value: Form
    fallback: Form
    falsy_too: Form


@dataclass(frozen=True, slots=True)
class Test:
    """``value is name(…)``, one of `filters.TESTS`."""

    name: str
    value: Form
    arguments: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Defined:
    """``value is defined``, or ``undefined`` if that is wanted."""

    value: Form
    wanted: bool


@dataclass(frozen=True, slots=True)
class Branches:
    """``{% if %}``: each test with what it lets through, and what is left."""

    choices: tuple[tuple[Form, Body], ...]
    otherwise: Body


@dataclass(frozen=True, slots=True)
class Opaque:
    """What is rendered by other means; nothing is known of it."""


MayBeAbsent = Name | Item | Filter | Default | Logic | Conditional
"""What may have no value, which `Default` and `Defined` alone take."""
Named = Name | Attribute | Call
Operation = Unary | Binary | Printf | Compare | Concat | Sequence | Dictionary | Slice
Form = Literal | Attribute | Call | Test | Defined | Branches | Opaque | MayBeAbsent | Operation
Body = tuple[str | Form, ...]
"""Literal texts and expressions, in order."""
_FIELDS = {kind: kind.__match_args__ for kind in get_args(Form)}


def every(form: Form | Body) -> list[Form]:
    """Return a form after all that is inside, in the order of the text."""
    found: list[Form] = []
    waiting: list[Any] = [form]
    while waiting:
        part = waiting.pop()
        fields = _FIELDS.get(type(part))
        if fields is not None:
            found.append(part)
            waiting += [getattr(part, name) for name in fields]
        elif type(part) is tuple:
            waiting += part
    return found[::-1]


def names_in(form: Form) -> frozenset[str]:
    """Return the names that an expression uses."""
    return frozenset(part.name for part in every(form) if isinstance(part, Named))


def as_printf(form: Form) -> tuple[str, Form]:
    """Return the pattern of a number and the number; ``{{ i }}`` is ``{{ '%d' % i }}``."""
    return (form.pattern, form.value) if isinstance(form, Printf) else ("%d", form)
