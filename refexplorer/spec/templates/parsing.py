"""From a text to the jinja2 nodes that are supported; jinja2 itself never runs them.

This is the whitelist: untrusted text is data, and syntax that is not listed here is rejected by
name.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from inspect import signature
from numbers import Number
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.filters import do_float, do_int, do_round, do_title, do_trim

from refexplorer.core.limits import Limits
from refexplorer.spec.templates import syntax
from refexplorer.spec.templates.syntax import (
    FixedItems,
    TemplateProblem,
    Undefined,
    Value,
    check_bits,
    modulo,
    percent_format,
    refused,
    text_length,
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


def _nothing(name: str) -> Undefined:
    return Undefined(
        TemplateProblem("bad-template", f"The list or text is empty, so it has no {name} item.")
    )


FILTERS: dict[str, Callable[..., Value]] = {
    "abs": lambda limits, value: abs(value),
    "capitalize": lambda limits, value: str(value).capitalize(),
    "count": lambda limits, value: len(value),
    "first": lambda limits, values: next(iter(values), _nothing("first")),
    "float": lambda limits, value, default=0.0: do_float(value, default),
    "format": lambda limits, pattern, *values: percent_format(str(pattern), values, limits),
    "int": lambda limits, value, default=0, base=10: do_int(value, default, base),
    "join": _join,
    "last": lambda limits, values: next(iter(reversed(values)), _nothing("last")),
    "length": lambda limits, value: len(value),
    "lower": lambda limits, value: str(value).lower(),
    "replace": _replace,
    "round": _round,
    "string": lambda limits, value: str(value),
    "title": lambda limits, value: do_title(str(value)),
    "trim": lambda limits, value, chars=None: do_trim(str(value), chars),
    "upper": lambda limits, value: str(value).upper(),
}
"""The supported filters of jinja2, by name; `default` and `d` are part of the compiler."""

TESTS: dict[str, Callable[..., bool]] = {
    "divisibleby": lambda limits, value, by: modulo(value, by, limits) == 0,
    "even": lambda limits, value: modulo(value, 2, limits) == 0,
    "odd": lambda limits, value: modulo(value, 2, limits) == 1,
    "none": lambda limits, value: value is None,
    "number": lambda limits, value: isinstance(value, Number),
    "string": lambda limits, value: isinstance(value, str),
}
"""The supported tests of jinja2; `defined` and `undefined` are part of the compiler."""


def takes(operation: Callable[..., Value], count: int) -> bool:
    """Return whether a filter or test accepts that many arguments after its value."""
    try:
        signature(operation).bind(*[None] * (2 + count))
    except TypeError:
        return False
    return True


_ENVIRONMENT = jinja2.Environment()
DEFAULT = {"default", "d"}
_STATEMENTS = {
    "Assign": "set", "AssignBlock": "set", "CallBlock": "call", "FilterBlock": "filter",
    "FromImport": "from", "ScopedEvalContextModifier": "autoescape",
}  # fmt: skip
"""Statements whose names in jinja2's syntax tree differ from how they are written."""
_METHODS = {
    "format": "'%03d' | format(n)", "join": "[1, 2] | join('-')", "lstrip": "text | trim",
    "rstrip": "text | trim", "strip": "text | trim", "zfill": "'%03d' | format(n)",
}  # fmt: skip
"""What to write instead of a string method, unless a filter has the same name."""
_MESSAGES = (
    (r"unexpected end of template, expected 'end of print .*'", "`{{` is not closed by `}}`"),
    (r"unexpected 'end of print .*'", "an expression is missing before `}}`"),
    (r"unexpected '}'", "there is a single `}` inside `{{ … }}`"),
    (r"Missing end of comment tag", "`{#` is not closed by `#}`"),
    (r"Unexpected end of template.*innermost block.*is '(\w+)'", r"`{% \1 %}` is not closed"),
    (r"Expected an expression, got 'end of print .*'", "an expression is missing before `}}`"),
    (r"expected token 'name', got 'end of print .*'", "a name is missing before `}}`"),
    (r"'?end of print statement'?", "`}}`"),
    (r"'?end of statement block'?", "`%}`"),
    (r"'?begin of print statement'?", "`{{`"),
    (r"'?begin of statement block'?", "`{%`"),
)  # fmt: skip
"""jinja2's messages about invalid texts, and what they mean to users."""
BUILT_IN = {*_ENVIRONMENT.globals, "self"}  # Names that jinja2 defines


def lower(text: str) -> syntax.Body:
    """Parse a jinja-str, inside `as_template_problem`; unsupported syntax is rejected."""
    return _body(_ENVIRONMENT.parse(text).body)


@contextmanager
def as_template_problem() -> Iterator[None]:
    """Raise a `TemplateProblem` for a text that jinja2 or Python cannot parse."""
    try:
        yield
    except jinja2.TemplateSyntaxError as error:
        message = (error.message or "").rstrip(".")
        for pattern, words in _MESSAGES:
            message = re.sub(pattern, words, message, flags=re.DOTALL)
        raise TemplateProblem(
            "bad-template", f"The template cannot be parsed: {message}."
        ) from None
    except (RecursionError, MemoryError, SyntaxError):
        raise TemplateProblem("template-limit", "This template is nested too deeply.") from None
    except ValueError as error:  # a number literal with more digits than Python accepts
        raise TemplateProblem("bad-template", f"The template cannot be parsed: {error}.") from None


def _body(statements: list[nodes.Node]) -> syntax.Body:
    merged: syntax.Body = []
    for part in _parts(statements):
        if isinstance(part, str) and merged and isinstance(last := merged[-1], str):
            merged[-1] = last + part
        else:
            merged.append(part)
    return merged


def _parts(statements: list[nodes.Node]) -> Iterator[str | nodes.Node]:
    for statement in statements:
        if isinstance(statement, nodes.Output):
            for node in statement.nodes:
                yield node.data if isinstance(node, nodes.TemplateData) else _checked(node)
        elif isinstance(statement, nodes.If):
            for branch in (statement, *statement.elif_):
                branch.test = _checked(branch.test)
                branch.body = _body(branch.body)  # type: ignore[assignment]
            statement.else_ = _body(statement.else_)  # type: ignore[assignment]
            yield statement
        else:
            kind = type(statement).__name__
            raise refused(f"statement `{{% {_STATEMENTS.get(kind, kind.lower())} %}}`")


def _checked(node: Any) -> Any:
    """Return an expression; unsupported syntax is rejected, constant lists are built once."""
    if check := _CHECKS.get(type(node)):
        check(node)
    elif not isinstance(node, _READ):
        raise refused(type(node).__name__)
    _check_inside(node)
    if isinstance(node, nodes.List | nodes.Tuple):
        values = list(map(_fixed, node.items))
        if nodes.Impossible not in values:
            items = values if isinstance(node, nodes.List) else tuple(values)
            return nodes.Const(FixedItems(items, text_length(items, sys.maxsize)))
    return node


def _check_inside(node: nodes.Node) -> None:
    for name, value in node.iter_fields():
        if isinstance(value, list):
            value[:] = map(_checked_field, value)
        elif isinstance(value, nodes.Slice):
            _check_inside(value)
        elif isinstance(value, nodes.Node):
            setattr(node, name, _checked_field(value))


def _checked_field(value: Any) -> Any:
    if not isinstance(value, nodes.Helper):
        return _checked(value)
    _check_inside(value)  # such as the name and value of an argument
    return value


def _fixed(node: nodes.Node) -> object:
    """Return a literal text or number, or a negated one; else raise `Impossible`."""
    if isinstance(node, nodes.Neg) and isinstance(node.node, nodes.Const):
        value = node.node.value
        return -value if type(value) in (int, float) else nodes.Impossible
    return node.value if isinstance(node, nodes.Const) else nodes.Impossible


def _check_attribute(node: nodes.Getattr) -> None:
    if not isinstance(node.node, nodes.Name) or node.attr[:1] == "_":
        raise refused(f"attribute `.{node.attr}`")


def _check_call(node: nodes.Call) -> None:
    if isinstance(node.node, nodes.Getattr):
        raise _refused_method(node.node.attr)
    if not isinstance(node.node, nodes.Name):
        raise refused("call of an expression", "Only templates are called, by their names.")
    name = node.node.name
    if node.args or node.dyn_args or node.dyn_kwargs:
        message = f"The arguments of `{name}` must be passed by name."
        unnamed = TemplateProblem("bad-template", message, f"Write {{{{{name}(c=…)}}}}.")
        raise refused(f"function `{name}`") if name in BUILT_IN else unnamed


def _refused_method(name: str) -> TemplateProblem:
    instead = f"value | {name}" if name in FILTERS else None
    instead = _METHODS.get(name, instead)
    construct = f"method call `.{name}()`"
    return refused(construct, f"Write `{{{{ {instead} }}}}`.") if instead else refused(construct)


def _check_filter(node: nodes.Filter) -> None:
    name, count = node.name, len(node.args)
    if node.node is None or node.kwargs or node.dyn_args or node.dyn_kwargs:
        raise refused(f"filter `{name}` with named arguments")
    if name not in FILTERS and name not in DEFAULT:
        raise refused(f"filter `{name}`")
    if count > 2 if name in DEFAULT else not takes(FILTERS[name], count):
        raise refused(f"filter `{name}` with {count} arguments")


def _check_test(node: nodes.Test) -> None:
    if node.kwargs or node.dyn_args or node.dyn_kwargs:
        raise refused(f"test `{node.name}` with named arguments")
    if node.name in ("defined", "undefined") and not node.args:
        return
    if node.name not in TESTS:
        raise refused(f"test `{node.name}`")
    if not takes(TESTS[node.name], len(node.args)):
        raise refused(f"test `{node.name}` with {len(node.args)} arguments")


_CHECKS: dict[type[nodes.Node], Callable[[Any], None]] = {
    nodes.Getattr: _check_attribute,
    nodes.Call: _check_call,
    nodes.Filter: _check_filter,
    nodes.Test: _check_test,
}
_READ = (
    nodes.Const, nodes.Name, nodes.UnaryExpr, nodes.BinExpr, nodes.Compare, nodes.CondExpr,
    nodes.Concat, nodes.List, nodes.Tuple, nodes.Dict, nodes.Getitem,
)  # fmt: skip
