"""Templates of a source that the person trusts: what the whitelist refuses, jinja2's sandbox runs.

The sandbox keeps Python's internals out of reach, but it cannot stop a template that loops for
long, so it is used for trusted sources alone (``open_references(…, trusted=True)``).
"""

from __future__ import annotations

from functools import partial

import jinja2
from jinja2 import meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from refexplorer.spec.compiler import compile_template
from refexplorer.spec.operations import TemplateProblem, Value, too_big
from refexplorer.spec.templates import (
    Compile,
    Expression,
    Scope,
    Template,
    UndefinedName,
)

_SANDBOX = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined)


def compiler_for(trusted: bool) -> Compile:
    """Return how templates are compiled of a source that is trusted, or is not."""
    return compile_trusted if trusted else compile_template


def compile_trusted(text: str) -> Template:
    """Compile a jinja-str; what is not on the whitelist is left to jinja2's sandbox.

    Raises
    ------
    TemplateProblem
        As `compile_template`, but for ``unsafe-template``.
    """
    try:
        return compile_template(text)
    except TemplateProblem as problem:
        if problem.code != "unsafe-template":
            raise
    tree = _SANDBOX.parse(text)
    names = frozenset(meta.find_undeclared_variables(tree)) - _SANDBOX.globals.keys()
    compiled = _SANDBOX.from_string(text)
    part = Expression(nodes.Const(text), partial(_render, compiled), names)
    return Template(text, (part,), names)


def _render(compiled: jinja2.Template, scope: Scope) -> Value:
    pieces: list[str] = []
    total = 0
    try:
        for piece in compiled.generate(_names(scope)):
            total += len(piece)
            if total > scope.limits.template_chars:
                raise too_big(scope.limits, "The rendered text")
            pieces.append(piece)
    except jinja2.UndefinedError as error:
        raise UndefinedName(str(error).split("'")[1], scope.values, scope.templates) from None
    return "".join(pieces)


def _names(scope: Scope) -> dict[str, Value]:
    """Return what the template may name: numbers, texts, and templates that take arguments."""
    names: dict[str, Value] = dict(scope.values)
    for name, template in scope.templates.items():
        if template.names:
            names[name] = lambda name=name, **arguments: scope.call(name, arguments)
        else:
            names[name] = scope.lookup(name)
    return names
