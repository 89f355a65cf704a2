"""The syntax of a ``jinja-str``: what is read here of jinja2, as data of our own.

`lowering` makes it from a text, `compiler` says what it means, and analyses read it by ``match``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args


@dataclass(frozen=True, slots=True)
class Const:
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
    """``'%03d' % value``, or ``'%03d' | format(value)``.

    Attributes
    ----------
    is_filter
        Whether a tuple or a dict is one value of the pattern, and not what holds its values.
    """

    pattern: str
    value: Form
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
Form = Const | Attribute | Call | Test | Defined | Branches | Opaque | MayBeAbsent | Operation
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
