"""A compiled ``jinja-str``: what its parts mean, which names it uses, how it is rendered.

Source: reference specification, "Version 1", where a ``jinja-str`` is "a string which will be
rendered by jinja2".
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Any

from refexplorer.core.limits import DEFAULT_LIMITS, Limits
from refexplorer.core.text import masks_repr
from refexplorer.spec.findings import COMPARED, suggest
from refexplorer.spec.templates import syntax
from refexplorer.spec.templates.parsing import BUILT_IN, FILTERS, TESTS, as_template_problem, lower
from refexplorer.spec.templates.syntax import (
    BINARY,
    COMPARE,
    UNARY,
    TemplateProblem,
    Undefined,
    Value,
    checked,
    item,
    percent_format,
    refused,
    require_value,
    text_length,
    text_of,
    too_big,
)

_MARKS = ("{{", "{%", "{#")
_NEWLINE = re.compile(r"\r\n?")


class UndefinedName(TemplateProblem):
    """A name that neither the dimensions nor the templates define.

    It is raised for each reference that uses the name, so it costs little until it is shown.
    """

    argument = ""
    """How the name was passed to a template, such as ``f(c=a)``; not set again by unpickling."""

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
    """Return whether a text holds anything for jinja2 to render."""
    return any(mark in text for mark in _MARKS)


def rendered_plain(text: str) -> str:
    """Return a text without anything to render as jinja2 does: it drops the last newline.

    Source: jinja2's `Environment`, its options ``newline_sequence`` and ``keep_trailing_newline``.
    """
    if "\n" not in text and "\r" not in text:
        return text
    return _NEWLINE.sub("\n", text).removesuffix("\n")


@dataclass(slots=True)
class Scope:
    """The names that a template sees while it is rendered."""

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
        """Return the value of a name; a template that takes arguments must be called."""
        if name in self.values:
            return self.values[name]
        if name not in self.templates:
            raise UndefinedName(name, self.values, self.templates)
        template = self.templates[name]
        if template.names:
            arguments = ", ".join(f"{wanted}=…" for wanted in sorted(template.names))
            raise TemplateProblem(
                "bad-template",
                f"The template `{name}` takes arguments, so it must be called.",
                f"Write {{{{{name}({arguments})}}}}.",
            )
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
    # What makes it again, and from which text: closures cannot be pickled, texts can. None for a
    # part of a template, which does not travel by itself.
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
        """For each call, innermost first, the template's name and those of its arguments."""
        calls = (form for form in syntax.every(self.forms) if isinstance(form, syntax.Call))
        return [(call.name, frozenset(dict(call.arguments))) for call in calls]

    @property
    def literal(self) -> bool:
        """Whether there is nothing to render."""
        return all(isinstance(part, str) for part in self.parts)

    def render(self, scope: Scope) -> str:
        """Return the text for these names."""
        pieces: list[str] = []
        for part in self.parts:
            value = part if isinstance(part, str) else run(part.evaluate, scope)
            pieces.append(value if isinstance(value, str) else text_of(value, scope.limits))
        if sum(map(len, pieces)) > scope.limits.template_chars:
            raise too_big(scope.limits, "The rendered text")
        return "".join(pieces)


def run(evaluate: Evaluate, scope: Scope) -> Value:
    """Evaluate an expression; whatever goes wrong is a `TemplateProblem`."""
    try:
        return evaluate(scope)
    except TemplateProblem:
        raise
    except RecursionError:
        raise TemplateProblem("template-limit", "This template is nested too deeply.") from None
    except Exception as error:  # any operand that an operator refuses
        raise TemplateProblem(
            "bad-template", f"This template cannot be evaluated: {error}."
        ) from None


@lru_cache(maxsize=4096)
def compile_template(text: str) -> Template:
    """Compile a jinja-str."""
    if not is_template(text):
        return Template(text, (text,), frozenset(), recipe=(compile_template, text))
    if len(text) > DEFAULT_LIMITS.template_chars:
        raise too_big(DEFAULT_LIMITS, "This template")
    with as_template_problem():
        parts = _parts(lower(text))
    names = frozenset[str]().union(*(part.names for part in parts if isinstance(part, Expression)))
    return Template(text, parts, names, recipe=(compile_template, text))


def _parts(body: syntax.Body) -> tuple[str | Expression, ...]:
    return tuple(part if isinstance(part, str) else _expression(part) for part in body)


def _expression(form: syntax.Form) -> Expression:
    return Expression(form, compile_form(form), syntax.names_in(form))


def compile_form(form: syntax.Form) -> Evaluate:
    """Compile an expression whose value must be there."""
    if isinstance(form, syntax.MayBeAbsent):
        evaluate = _optional(form)
        return lambda scope: (
            value if isinstance(value := evaluate(scope), str) else require_value(value)
        )
    match form:
        case syntax.Literal(value):
            return lambda scope: value
        case syntax.Attribute(name, attribute):
            return _attribute(name, attribute)
        case syntax.Call(name, passed):
            arguments = {key: compile_form(value) for key, value in passed}
            return lambda scope: _call_template(scope, name, arguments)
        case syntax.Defined(value, wanted):
            found = _optional(value)
            return lambda scope: _is_defined(found(scope)) is wanted
        case syntax.Test(name, value, further):
            test, operands = TESTS[name], [compile_form(part) for part in (value, *further)]
            return lambda scope: test(scope.limits, *(operand(scope) for operand in operands))
        case syntax.Branches(choices, otherwise):
            bodies = [(compile_form(condition), _body(body)) for condition, body in choices]
            return _branches(bodies, _body(otherwise))
        case syntax.Opaque():
            raise AssertionError("whoever makes it compiles it")
        case _:
            return _operation(form)


def _optional(form: syntax.Form) -> Evaluate:
    """Compile an expression that gives `Undefined` where jinja2 has an undefined value."""
    match form:
        case syntax.Name(name):
            return _name(name)
        case syntax.Item(value, index):
            indexed, position = compile_form(value), compile_form(index)
            return lambda scope: item(indexed(scope), position(scope))
        case syntax.Logic(operator, left, right):
            return _logic(operator, compile_form(left), _optional(right))
        case syntax.Conditional(test, then, otherwise):
            last = _no_else if otherwise is None else _optional(otherwise)
            return _choice(compile_form(test), _optional(then), last)
        case syntax.Default(value, fallback, falsy_too):
            return _default(_optional(value), _optional(fallback), compile_form(falsy_too))
        case syntax.Filter(name, value, arguments):
            return _filter(FILTERS[name], [compile_form(part) for part in (value, *arguments)])
        case _:
            return compile_form(form)


def _operation(form: syntax.Operation) -> Evaluate:
    match form:
        case syntax.Unary(operator, operand):
            operation, signed = UNARY[operator], compile_form(operand)
            return lambda scope: operation(signed(scope))
        case syntax.Binary(operator, left, right):
            return _binary(BINARY[operator], compile_form(left), compile_form(right))
        case syntax.Printf(pattern, value, is_filter):
            inner = compile_form(value)
            values = (lambda scope: (inner(scope),)) if is_filter else inner
            return _binary(percent_format, lambda scope: pattern, values)
        case syntax.Compare(first, rest):
            steps = [(COMPARE[sign], compile_form(part)) for sign, part in rest]
            return _compare(compile_form(first), steps)
        case syntax.Concat(parts):
            return _concat([compile_form(part) for part in parts])
        case syntax.Sequence(kind, items):
            members = [compile_form(member) for member in items]
            if all(map(_is_constant, items)):
                return _fixed(kind(member(Scope()) for member in members))
            return lambda scope: checked(kind(member(scope) for member in members), scope.limits)
        case syntax.Dictionary(pairs):
            found = [(compile_form(key), compile_form(value)) for key, value in pairs]
            return lambda scope: checked({k(scope): v(scope) for k, v in found}, scope.limits)
        case syntax.Slice(value, bounds):
            sliced = compile_form(value)
            limits = [compile_form(bound) for bound in bounds]
            return lambda scope: sliced(scope)[slice(*(limit(scope) for limit in limits))]  # type: ignore[index]


def _name(name: str) -> Evaluate:
    def evaluate(scope: Scope) -> Value:
        try:
            return scope.lookup(name)
        except UndefinedName as problem:
            if name in BUILT_IN:
                raise refused(f"name `{name}` of jinja2") from None
            return Undefined(problem)

    return evaluate


def _attribute(name: str, attribute: str) -> Evaluate:
    def evaluate(scope: Scope) -> Value:
        scope.lookup(name)
        raise refused(f"attribute `.{attribute}`")

    return evaluate


def _body(body: syntax.Body) -> Template:
    return Template("", _parts(body), frozenset())


def _branches(choices: list[tuple[Evaluate, Template]], otherwise: Template) -> Evaluate:
    def evaluate(scope: Scope) -> Value:
        scope.spend()
        chosen = next((body for test, body in choices if test(scope)), otherwise)
        return chosen.render(scope)

    return evaluate


def _binary(
    operation: Callable[[Any, Any, Limits], Value], left: Evaluate, right: Evaluate
) -> Evaluate:
    def evaluate(scope: Scope) -> Value:
        scope.spend()
        value = operation(left(scope), right(scope), scope.limits)
        return checked(value, scope.limits)

    return evaluate


def _logic(operator: str, left: Evaluate, right: Evaluate) -> Evaluate:
    if operator == "and":
        return lambda scope: left(scope) and right(scope)
    return lambda scope: left(scope) or right(scope)


def _compare(first: Evaluate, rest: list[tuple[Callable[[Any, Any], bool], Evaluate]]) -> Evaluate:
    def evaluate(scope: Scope) -> Value:
        scope.spend()
        left = first(scope)
        for compare, operand in rest:
            right = operand(scope)
            if not compare(left, right):
                return False
            left = right
        return True

    return evaluate


def _choice(test: Evaluate, then: Evaluate, otherwise: Evaluate) -> Evaluate:
    def evaluate(scope: Scope) -> Value:
        scope.spend()
        return then(scope) if test(scope) else otherwise(scope)

    return evaluate


def _concat(parts: list[Evaluate]) -> Evaluate:
    def evaluate(scope: Scope) -> Value:
        scope.spend()
        texts = [text_of(part(scope), scope.limits) for part in parts]
        return checked("".join(texts), scope.limits)

    return evaluate


def _filter(operation: Callable[..., Value], operands: list[Evaluate]) -> Evaluate:
    def evaluate(scope: Scope) -> Value:
        scope.spend()
        result = operation(scope.limits, *(operand(scope) for operand in operands))
        return checked(result, scope.limits)

    return evaluate


def _default(value: Evaluate, fallback: Evaluate, falsy_too: Evaluate) -> Evaluate:
    def evaluate(scope: Scope) -> Value:
        scope.spend()
        found, otherwise, also = value(scope), fallback(scope), falsy_too(scope)
        return found if _is_defined(found) and (found or not also) else otherwise

    return evaluate


def _is_constant(form: syntax.Form) -> bool:
    """Say whether an expression is a text or a number as it is written, or the opposite of one."""
    if isinstance(form, syntax.Unary) and form.operator == "-":
        form = form.operand
        return isinstance(form, syntax.Literal) and type(form.value) in (int, float)
    return isinstance(form, syntax.Literal)


def _fixed(value: Value) -> Evaluate:
    """Return a value that was made and weighed once: a list may be long, and the keys many."""
    chars = text_length(value, sys.maxsize)

    def evaluate(scope: Scope) -> Value:
        if chars > scope.limits.template_chars:
            raise too_big(scope.limits, "A value of this template")
        return value

    return evaluate


def _call_template(scope: Scope, name: str, arguments: Mapping[str, Evaluate]) -> str:
    scope.spend()
    if name not in scope.templates:
        if name in scope.values:
            raise TemplateProblem("bad-template", f"`{name}` is a number and cannot be called.")
        raise UndefinedName(name, scope.values, scope.templates)
    template = scope.templates[name]
    if template.literal:
        raise TemplateProblem(
            "bad-template",
            f"The template `{name}` takes no arguments, so it cannot be called.",
            f"Write {{{{{name}}}}}.",
        )
    passed = {}
    for key, value in arguments.items():
        try:
            passed[key] = value(scope)
        except UndefinedName as error:
            error.argument = f"{name}({key}={error.name})"
            raise
    return scope.call(name, passed)


def _no_else(scope: Scope) -> Value:
    message = "The condition is false and there is no `else`, so the expression has no value."
    return Undefined(TemplateProblem("undefined-name", message, "Write {{ a if b else c }}."))


def _is_defined(value: Value) -> bool:
    return not isinstance(value, Undefined)
