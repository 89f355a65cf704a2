"""A compiled ``jinja-str``: the meaning of its parts, the names it uses, its rendering.

Source: reference specification, "Version 1", where a ``jinja-str`` is "a string which will be
rendered by jinja2".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Any

from jinja2 import nodes

from refexplorer.core.limits import DEFAULT_LIMITS, Limits
from refexplorer.core.text import masks_repr
from refexplorer.spec.findings import COMPARED, suggest
from refexplorer.spec.templates import syntax
from refexplorer.spec.templates.parsing import (
    BUILT_IN,
    DEFAULT,
    FILTERS,
    TESTS,
    as_template_problem,
    lower,
)
from refexplorer.spec.templates.syntax import (
    BINARY,
    COMPARE,
    UNARY,
    TemplateProblem,
    Undefined,
    Value,
    checked,
    item,
    refused,
    text_of,
    too_big,
)

_MARKS = ("{{", "{%", "{#")
_NEWLINE = re.compile(r"\r\n?")


class UndefinedName(TemplateProblem):
    """A name that is not defined; cheap until displayed, as each reference may raise it."""

    argument = ""  # How the name was passed to a template, such as ``f(c=a)``

    def __init__(self, name: str, *known: Collection[str]) -> None:
        listed = sorted(islice(chain(*known), COMPARED))
        defined = ", ".join(f"`{other}`" for other in listed[:8])
        super().__init__(
            "undefined-name",
            f"`{name}` is not defined"
            + (f"; the defined names are {defined}." if listed else "; no names are defined here."),
            partial(self._suggestion, name, known),
        )
        self.name = name

    def _suggestion(self, name: str, known: tuple[Collection[str], ...]) -> str:
        near = suggest(name, chain(*known))
        if near or not self.argument:
            return near
        quoted = self.argument.replace(f"={name})", f"='{name}')")
        return f"Text is written in quotes: {{{{{quoted}}}}}."


def is_template(text: str) -> bool:
    """Return whether a text contains anything for jinja2 to render."""
    return any(mark in text for mark in _MARKS)


def rendered_plain(text: str) -> str:
    """Return a text without templates as rendered by jinja2: it drops the last newline."""
    # Source: jinja2's `Environment`, its options ``newline_sequence`` and
    # ``keep_trailing_newline``.
    if "\n" not in text and "\r" not in text:
        return text
    return _NEWLINE.sub("\n", text).removesuffix("\n")


@dataclass(slots=True)
class Scope:
    """The names visible to a template while it is rendered."""

    # Dimensions of a gen item, or the arguments of a call
    values: Mapping[str, Value] = field(default_factory=dict)
    # The templates section; empty inside a template's own text, whose variables come from the call
    # alone
    templates: Mapping[str, Template] = field(default_factory=dict)
    limits: Limits = DEFAULT_LIMITS
    steps: int = 0

    def spend(self) -> None:
        """Count one evaluation step against `Limits.template_steps`."""
        self.steps += 1
        if self.steps > self.limits.template_steps:
            raise TemplateProblem(
                "template-limit",
                f"This template takes more than {self.limits.template_steps:,} steps.",
                "Raise `Limits.template_steps` if it is meant to do that much.",
            )

    def lookup(self, name: str) -> Value:
        """Return the value of a name; a template with arguments must be called."""
        if name in self.values:
            return self.values[name]
        if name not in self.templates:
            raise UndefinedName(name, self.values, self.templates)
        template = self.templates[name]
        if template.names:
            arguments = ", ".join(f"{wanted}=…" for wanted in sorted(template.names))
            message = f"The template `{name}` takes arguments, so it must be called."
            raise TemplateProblem("bad-template", message, f"Write {{{{{name}({arguments})}}}}.")
        return self.call(name, {})

    def call(self, name: str, arguments: Mapping[str, Value]) -> str:
        """Render a template with the arguments of a call; it sees nothing else."""
        inner = Scope(arguments, {}, self.limits, self.steps)
        text = self.templates[name].render(inner)
        self.steps = inner.steps
        return text


Evaluate = Callable[[Scope], Value]


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """One ``{{ … }}`` or ``{% if %}`` of a template."""

    form: syntax.Form
    evaluate: Evaluate
    names: frozenset[str]


@masks_repr
@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """A compiled jinja-str."""

    text: str  # As written
    parts: tuple[str | Expression, ...]  # Literal texts and expressions, in order
    names: frozenset[str]  # The free names: dimensions, templates or arguments that it uses
    # The function and text that recreate it: closures cannot be pickled. None for a
    # part of a template, which is not pickled alone.
    recipe: tuple[Callable[[str], Template], str] | None = None

    def __reduce__(self) -> tuple[Callable[[str], Template], tuple[str]]:
        assert self.recipe is not None, "a part of a template was pickled without its template"
        make, text = self.recipe
        return make, (text,)

    @property
    def forms(self) -> tuple[syntax.Form, ...]:
        """The expressions, in order."""
        return tuple(part.form for part in self.parts if isinstance(part, Expression))

    @property
    def calls(self) -> list[tuple[str, frozenset[str]]]:
        """For each call, innermost first, the names of the template and of its arguments."""
        return [
            (name, frozenset(pair.key for pair in arguments))
            for form in syntax.every(self.forms)
            if (call := syntax.as_call(form))
            for name, arguments in [call]
        ]

    @property
    def literal(self) -> bool:
        """Whether there is nothing to render."""
        return all(isinstance(part, str) for part in self.parts)

    def render(self, scope: Scope) -> str:
        """Return the text for these names."""
        parts = (part if isinstance(part, str) else part.evaluate for part in self.parts)
        return _joined(parts, scope)


def _joined(parts: Iterable[str | Evaluate], scope: Scope) -> str:
    pieces: list[str] = []
    for part in parts:
        value = part if isinstance(part, str) else run(part, scope)
        pieces.append(value if isinstance(value, str) else text_of(value, scope.limits))
    if sum(map(len, pieces)) > scope.limits.template_chars:
        raise too_big(scope.limits, "The rendered text")
    return "".join(pieces)


def run(evaluate: Evaluate, scope: Scope) -> Value:
    """Evaluate an expression; every failure is a `TemplateProblem`."""
    try:
        return evaluate(scope)
    except TemplateProblem:
        raise
    except RecursionError:
        raise TemplateProblem("template-limit", "This template is nested too deeply.") from None
    except Exception as error:  # operators raise any error for wrong operands
        raise TemplateProblem(
            "bad-template", f"This template cannot be evaluated: {error}."
        ) from None


@lru_cache(maxsize=4096)
def compile_template(text: str) -> Template:
    if not is_template(text):
        return Template(text, (text,), frozenset(), recipe=(compile_template, text))
    if len(text) > DEFAULT_LIMITS.template_chars:
        raise too_big(DEFAULT_LIMITS, "This template")
    with as_template_problem():
        parts = tuple(
            each
            if isinstance(each, str)
            else Expression(each, partial(value_of, each), syntax.names_in(each))
            for each in lower(text)
        )
    names = frozenset[str]().union(*(part.names for part in parts if isinstance(part, Expression)))
    return Template(text, parts, names, recipe=(compile_template, text))


def value_of(node: nodes.Node, scope: Scope) -> Value:
    """Evaluate an expression whose value must be defined."""
    value = _EVALUATORS[type(node)](node, scope)
    if isinstance(value, Undefined):
        raise value.problem
    return value


def _optional(node: nodes.Node, scope: Scope) -> Value:
    """Evaluate an expression; `Undefined` if jinja2 has an undefined value."""
    return _EVALUATORS[type(node)](node, scope)


def _constant(node: nodes.Const, scope: Scope) -> Value:
    value = node.value
    if not isinstance(value, syntax.FixedItems):
        return value
    if value.chars > scope.limits.template_chars:
        raise too_big(scope.limits, "A value of this template")
    return value.items


def _name(node: nodes.Name, scope: Scope) -> Value:
    try:
        return scope.lookup(node.name)
    except UndefinedName as problem:
        if node.name in BUILT_IN:
            raise refused(f"name `{node.name}` of jinja2") from None
        return Undefined(problem)


def _attribute(node: nodes.Getattr, scope: Scope) -> Value:
    assert isinstance(node.node, nodes.Name)
    scope.lookup(node.node.name)
    raise refused(f"attribute `.{node.attr}`")


def _item(node: nodes.Getitem, scope: Scope) -> Value:
    value: Any = value_of(node.node, scope)
    if not isinstance(node.arg, nodes.Slice):
        return item(value, value_of(node.arg, scope))
    bounds = (node.arg.start, node.arg.stop, node.arg.step)
    return value[slice(*(None if each is None else value_of(each, scope) for each in bounds))]


def _branches(node: nodes.If, scope: Scope) -> Value:
    scope.spend()
    branches = (branch for branch in (node, *node.elif_) if value_of(branch.test, scope))
    chosen: list[Any] = next((branch.body for branch in branches), node.else_)
    parts = (part if isinstance(part, str) else partial(value_of, part) for part in chosen)
    return _joined(parts, scope)


def _binary(node: nodes.BinExpr, scope: Scope) -> Value:
    scope.spend()
    left, right = value_of(node.left, scope), value_of(node.right, scope)
    return checked(BINARY[node.operator](left, right, scope.limits), scope.limits)


def _compare(node: nodes.Compare, scope: Scope) -> Value:
    scope.spend()
    left = value_of(node.expr, scope)
    for operand in node.ops:
        right = value_of(operand.expr, scope)
        if not COMPARE[operand.op](left, right):
            return False
        left = right
    return True


def _choice(node: nodes.CondExpr, scope: Scope) -> Value:
    scope.spend()
    if value_of(node.test, scope):
        return _optional(node.expr1, scope)
    if node.expr2 is not None:
        return _optional(node.expr2, scope)
    message = "The condition is false and there is no `else`, so the expression has no value."
    return Undefined(TemplateProblem("undefined-name", message, "Write {{ a if b else c }}."))


def _concat(node: nodes.Concat, scope: Scope) -> Value:
    scope.spend()
    texts = [text_of(value_of(part, scope), scope.limits) for part in node.nodes]
    return checked("".join(texts), scope.limits)


def _sequence(node: nodes.List | nodes.Tuple, scope: Scope) -> Value:
    members = [value_of(member, scope) for member in node.items]
    return checked(members if isinstance(node, nodes.List) else tuple(members), scope.limits)


def _dictionary(node: nodes.Dict, scope: Scope) -> Value:
    found = {value_of(pair.key, scope): value_of(pair.value, scope) for pair in node.items}
    return checked(found, scope.limits)


def _filter(node: nodes.Filter, scope: Scope) -> Value:
    assert node.node is not None
    scope.spend()
    if node.name in DEFAULT:
        found = _optional(node.node, scope)
        fallback = _optional(node.args[0], scope) if node.args else ""
        falsy_too = value_of(node.args[1], scope) if node.args[1:] else False
        is_kept = not isinstance(found, Undefined) and (found or not falsy_too)
        return found if is_kept else fallback
    operands = [value_of(part, scope) for part in (node.node, *node.args)]
    return checked(FILTERS[node.name](scope.limits, *operands), scope.limits)


def _test(node: nodes.Test, scope: Scope) -> Value:
    if node.name in ("defined", "undefined"):
        is_undefined = isinstance(_optional(node.node, scope), Undefined)
        return is_undefined is (node.name == "undefined")
    operands = (value_of(part, scope) for part in (node.node, *node.args))
    return TESTS[node.name](scope.limits, *operands)


def _call(node: nodes.Call, scope: Scope) -> str:
    assert isinstance(node.node, nodes.Name)
    name = node.node.name
    scope.spend()
    if name not in scope.templates:
        if name in scope.values:
            raise TemplateProblem("bad-template", f"`{name}` is a number and cannot be called.")
        raise UndefinedName(name, scope.values, scope.templates)
    template = scope.templates[name]
    if template.literal:
        message = f"The template `{name}` takes no arguments, so it cannot be called."
        raise TemplateProblem("bad-template", message, f"Write {{{{{name}}}}}.")
    passed = {}
    for pair in node.kwargs:
        try:
            passed[pair.key] = value_of(pair.value, scope)
        except UndefinedName as error:
            error.argument = f"{name}({pair.key}={error.name})"
            raise
    return scope.call(name, passed)


_EVALUATORS: dict[type[nodes.Node], Callable[[Any, Scope], Value]] = {
    nodes.Const: _constant, nodes.Name: _name, nodes.Getattr: _attribute, nodes.Getitem: _item,
    nodes.If: _branches,
    nodes.And: lambda node, scope: value_of(node.left, scope) and _optional(node.right, scope),
    nodes.Or: lambda node, scope: value_of(node.left, scope) or _optional(node.right, scope),
    nodes.Compare: _compare, nodes.CondExpr: _choice,
    nodes.Concat: _concat, nodes.List: _sequence, nodes.Tuple: _sequence, nodes.Dict: _dictionary,
    nodes.Filter: _filter, nodes.Test: _test, nodes.Call: _call,
}  # fmt: skip
_EVALUATORS |= dict.fromkeys(
    (nodes.Neg, nodes.Pos, nodes.Not),
    lambda node, scope: UNARY[node.operator](value_of(node.node, scope)),
)
_EVALUATORS |= dict.fromkeys(
    (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow), _binary
)
