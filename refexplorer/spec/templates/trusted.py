"""Templates of a source that the person trusts: what the whitelist refuses, jinja2's sandbox runs.

The sandbox keeps Python's internals out of reach, but it cannot stop a template that loops for
long, so it is used for trusted sources alone (``open_references(…, trusted=True)``).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache, partial

import jinja2
from jinja2 import meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from refexplorer.spec.templates import syntax
from refexplorer.spec.templates.compiler import compile_template
from refexplorer.spec.templates.lowering import syntax_told, unnamed_arguments
from refexplorer.spec.templates.operations import TemplateProblem, Value, too_big
from refexplorer.spec.templates.template import (
    Compile,
    Expression,
    Scope,
    Template,
    UndefinedName,
)

_SANDBOX = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined)
_UNDEFINED = re.compile(r"'(.+)' is undefined")
_UNREAD_FORMAT = re.compile(r"%[^%]*?[(*]")


def compiler_for(trusted: bool) -> Compile:
    """Return how templates are compiled of a source that is trusted, or is not."""
    return compile_trusted if trusted else compile_template


@lru_cache(maxsize=4096)
def compile_trusted(text: str) -> Template:
    """Compile a jinja-str; what is not read by the whitelist is left to jinja2's sandbox.

    Raises
    ------
    TemplateProblem
        ``bad-template`` for what jinja2 cannot parse either, ``template-limit`` for a text that
        is too long or too deep.
    """
    try:
        template = compile_template(text)
    except TemplateProblem as problem:
        if problem.code == "template-limit":
            raise
    else:
        if not any(map(_may_be_refused, syntax.every(template.forms))):
            return template
    return _compile_in_sandbox(text)


def _may_be_refused(form: syntax.Form) -> bool:
    """Say whether what was compiled may be refused when it is rendered."""
    match form:
        case syntax.Attribute():
            return True
        case syntax.Name(name) | syntax.Call(name):
            return name in _SANDBOX.globals
        case syntax.Printf(pattern):
            return bool(_UNREAD_FORMAT.search(pattern))
        case _:
            return False


def _compile_in_sandbox(text: str) -> Template:
    try:
        with syntax_told():
            used = frozenset(meta.find_undeclared_variables(_SANDBOX.parse(text)))
            compiled = _SANDBOX.from_string(text)
    except jinja2.UndefinedError as error:  # jinja2 computes what is constant as it compiles
        raise _undefined(str(error), Scope()) from None
    names = used - _SANDBOX.globals.keys()
    part = Expression(syntax.Opaque(), partial(_render, compiled, used), names)
    return Template(text, (part,), names, recipe=(compile_trusted, text))


def _render(compiled: jinja2.Template, used: Collection[str], scope: Scope) -> Value:
    pieces: list[str] = []
    total = 0
    try:
        for piece in compiled.generate(_names(used, scope)):
            total += len(piece)
            if total > scope.limits.template_chars:
                raise too_big(scope.limits, "The rendered text")
            pieces.append(piece)
    except jinja2.UndefinedError as error:
        raise _undefined(str(error), scope) from None
    return "".join(pieces)


def _undefined(said: str, scope: Scope) -> TemplateProblem:
    name = _UNDEFINED.fullmatch(said)
    if name is not None:
        return UndefinedName(name[1], scope.values, scope.templates)
    message = f"This template cannot be evaluated: {said.rstrip('.')}."
    return TemplateProblem("undefined-name", message)


def _names(used: Collection[str], scope: Scope) -> dict[str, Value]:
    """Return what the template names: numbers, texts, and templates that take arguments."""
    names: dict[str, Value] = {}
    for name in used:
        if name in scope.templates and scope.templates[name].names:
            names[name] = partial(_call, scope, name)
        elif name in scope.templates or name in scope.values:
            names[name] = scope.lookup(name)
    return names


def _call(scope: Scope, template: str, /, *unnamed: Value, **arguments: Value) -> str:
    if unnamed:
        raise unnamed_arguments(template)
    return scope.call(template, arguments)
