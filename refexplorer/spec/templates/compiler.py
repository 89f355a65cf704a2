"""The compiler of a ``jinja-str`` from jinja2's syntax tree; jinja2 itself never runs it.

A whitelist walks the tree that `jinja2.Environment.parse` gives, so text from a stranger is data:
what is not listed here is refused by its name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

import jinja2
from jinja2 import nodes

from refexplorer.limits import DEFAULT_LIMITS
from refexplorer.spec.templates.filters import FILTERS, TESTS, takes
from refexplorer.spec.templates.operations import (
    BINARY,
    COMPARE,
    UNARY,
    Absent,
    TemplateProblem,
    Value,
    checked,
    item,
    refused,
    settled,
    text_of,
    too_big,
    weigh,
)
from refexplorer.spec.templates.template import (
    Evaluate,
    Expression,
    Scope,
    Template,
    UndefinedName,
    is_template,
    syntax_told,
)

_ENVIRONMENT = jinja2.Environment()
_OPTIONAL = {"default", "d"}
_MAY_BE_ABSENT = (nodes.Name, nodes.Getitem, nodes.CondExpr, nodes.Filter, nodes.And, nodes.Or)
_BUILT_IN = {*_ENVIRONMENT.globals, "self"}


@lru_cache(maxsize=4096)
def compile_template(text: str) -> Template:
    """Compile a jinja-str.

    Raises
    ------
    TemplateProblem
        ``bad-template`` for what jinja2 cannot parse, ``unsafe-template`` for a construct that
        is not read here, ``template-limit`` for a text that is too long or too deep.
    """
    if not is_template(text):
        return Template(text, (text,), frozenset(), recipe=(compile_template, text))
    if len(text) > DEFAULT_LIMITS.template_chars:
        raise too_big(DEFAULT_LIMITS, "This template")
    with syntax_told():
        tree = _ENVIRONMENT.parse(text)
        return _Compiler().template(text, tree)


def compile_expression(node: nodes.Node) -> Evaluate:
    """Compile a part of an expression that was compiled before."""
    return _Compiler().compile(node)


class _Compiler:
    """A compiler of jinja2's nodes to closures that keeps the names and calls it meets."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.calls: list[tuple[str, frozenset[str]]] = []

    def template(self, text: str, tree: nodes.Template) -> Template:
        parts = _merge(self._parts(tree.body))
        names, recipe = frozenset(self.names), (compile_template, text)
        return Template(text, tuple(parts), names, tuple(self.calls), recipe)

    def _parts(self, body: list[nodes.Node]) -> Iterable[str | Expression]:
        for statement in body:
            if isinstance(statement, nodes.Output):
                for node in statement.nodes:
                    if isinstance(node, nodes.TemplateData):
                        yield node.data
                    else:
                        yield self._expression(node, self.compile(node))
            elif isinstance(statement, nodes.If):
                yield self._expression(statement, self._branches(statement))
            else:
                raise refused(_statement_name(statement))

    def _expression(self, node: nodes.Node, evaluate: Evaluate) -> Expression:
        names = {found.name for found in node.find_all(nodes.Name)}
        if isinstance(node, nodes.Name):
            names.add(node.name)
        return Expression(node, evaluate, frozenset(names))

    def _branches(self, statement: nodes.If) -> Evaluate:
        choices = [
            (self.compile(branch.test), self._body(branch.body))
            for branch in (statement, *statement.elif_)
        ]
        otherwise = self._body(statement.else_)

        def evaluate(scope: Scope) -> Value:
            scope.spend()
            chosen = next((body for test, body in choices if test(scope)), otherwise)
            return chosen.render(scope)

        return evaluate

    def _body(self, body: list[nodes.Node]) -> Template:
        return Template("", tuple(_merge(self._parts(body))), frozenset())

    def compile(self, node: nodes.Node) -> Evaluate:
        """Compile an expression whose value must be there; what is not listed is refused."""
        evaluate = self.optional(node)
        if isinstance(node, _MAY_BE_ABSENT):
            return lambda scope: settled(evaluate(scope))
        return evaluate

    def optional(self, node: nodes.Node) -> Evaluate:
        """Compile an expression that gives `Absent` where jinja2 has an undefined value."""
        kind = type(node).__name__
        method = getattr(self, f"_{kind.lower()}", None)
        if kind in BINARY:
            return self._binary(node, kind)
        if kind in UNARY:
            return self._unary(node, kind)
        if method is None:
            raise refused(kind)
        compiled: Evaluate = method(node)
        return compiled

    def _binary(self, node: nodes.Node, kind: str) -> Evaluate:
        assert isinstance(node, nodes.BinExpr)
        left, right, operation = self.compile(node.left), self.compile(node.right), BINARY[kind]

        def evaluate(scope: Scope) -> Value:
            scope.spend()
            value = operation(left(scope), right(scope), scope.limits)
            return checked(value, scope.limits)

        return evaluate

    def _unary(self, node: nodes.Node, kind: str) -> Evaluate:
        assert isinstance(node, nodes.UnaryExpr)
        operand, operation = self.compile(node.node), UNARY[kind]
        return lambda scope: operation(operand(scope))

    def _and(self, node: nodes.And) -> Evaluate:
        left, right = self.compile(node.left), self.optional(node.right)
        return lambda scope: left(scope) and right(scope)

    def _or(self, node: nodes.Or) -> Evaluate:
        left, right = self.compile(node.left), self.optional(node.right)
        return lambda scope: left(scope) or right(scope)

    def _const(self, node: nodes.Const) -> Evaluate:
        value = node.value
        return lambda scope: value

    def _name(self, node: nodes.Name) -> Evaluate:
        name = node.name
        self.names.add(name)

        def evaluate(scope: Scope) -> Value:
            try:
                return scope.lookup(name)
            except UndefinedName as problem:
                if name in _BUILT_IN:
                    raise refused(f"name `{name}` of jinja2") from None
                return Absent(problem)

        return evaluate

    def _list(self, node: nodes.List) -> Evaluate:
        return self._sequence(node.items, list)

    def _tuple(self, node: nodes.Tuple) -> Evaluate:
        return self._sequence(node.items, tuple)

    def _sequence(
        self, members: list[nodes.Expr], make: Callable[[Iterable[Value]], Value]
    ) -> Evaluate:
        items = [self.compile(member) for member in members]
        if all(map(_is_constant, members)):
            return _fixed(make(item(Scope()) for item in items))
        return lambda scope: checked(make(item(scope) for item in items), scope.limits)

    def _dict(self, node: nodes.Dict) -> Evaluate:
        pairs = [(self.compile(pair.key), self.compile(pair.value)) for pair in node.items]
        return lambda scope: checked({k(scope): v(scope) for k, v in pairs}, scope.limits)

    def _concat(self, node: nodes.Concat) -> Evaluate:
        parts = [self.compile(part) for part in node.nodes]

        def evaluate(scope: Scope) -> Value:
            scope.spend()
            texts = [text_of(part(scope), scope.limits) for part in parts]
            return checked("".join(texts), scope.limits)

        return evaluate

    def _compare(self, node: nodes.Compare) -> Evaluate:
        first = self.compile(node.expr)
        rest = [(COMPARE[operand.op], self.compile(operand.expr)) for operand in node.ops]

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

    def _condexpr(self, node: nodes.CondExpr) -> Evaluate:
        test, then = self.compile(node.test), self.optional(node.expr1)
        otherwise = _no_else if node.expr2 is None else self.optional(node.expr2)

        def evaluate(scope: Scope) -> Value:
            scope.spend()
            return then(scope) if test(scope) else otherwise(scope)

        return evaluate

    def _getitem(self, node: nodes.Getitem) -> Evaluate:
        value = self.compile(node.node)
        if isinstance(node.arg, nodes.Slice):
            bounds = [
                self.compile(bound) if bound is not None else (lambda scope: None)
                for bound in (node.arg.start, node.arg.stop, node.arg.step)
            ]
            return lambda scope: value(scope)[slice(*(bound(scope) for bound in bounds))]  # type: ignore[index]
        index = self.compile(node.arg)
        return lambda scope: item(value(scope), index(scope))

    def _getattr(self, node: nodes.Getattr) -> Evaluate:
        base = node.node
        if isinstance(base, nodes.Name) and not node.attr.startswith("_"):
            return self._attribute_of_name(base.name, node.attr)
        raise refused(f"attribute `.{node.attr}`")

    def _attribute_of_name(self, name: str, attribute: str) -> Evaluate:
        self.names.add(name)

        def evaluate(scope: Scope) -> Value:
            scope.lookup(name)
            raise refused(f"attribute `.{attribute}`")

        return evaluate

    def _call(self, node: nodes.Call) -> Evaluate:
        if not isinstance(node.node, nodes.Name):
            raise refused("a call of anything but a template")
        if node.args or node.dyn_args or node.dyn_kwargs:
            raise unnamed_arguments(node.node.name)
        name = node.node.name
        arguments = {pair.key: self.compile(pair.value) for pair in node.kwargs}
        self.names.add(name)
        self.calls.append((name, frozenset(arguments)))
        return lambda scope: _call_template(scope, name, arguments)

    def _filter(self, node: nodes.Filter) -> Evaluate:
        if node.node is None or node.kwargs or node.dyn_args or node.dyn_kwargs:
            raise refused(f"filter `{node.name}` with named arguments")
        if node.name in _OPTIONAL:
            return self._default(node)
        if node.name not in FILTERS:
            raise refused(f"filter `{node.name}`")
        operation = FILTERS[node.name]
        if not takes(operation, len(node.args)):
            raise refused(f"filter `{node.name}` with {len(node.args)} arguments")
        value = self.compile(node.node)
        arguments = [self.compile(argument) for argument in node.args]

        def evaluate(scope: Scope) -> Value:
            scope.spend()
            result = operation(scope.limits, value(scope), *(a(scope) for a in arguments))
            return checked(result, scope.limits)

        return evaluate

    def _default(self, node: nodes.Filter) -> Evaluate:
        if node.node is None or len(node.args) > 2:
            raise refused(f"filter `{node.name}` with {len(node.args)} arguments")
        value = self.optional(node.node)
        fallback = self.optional(node.args[0]) if node.args else _fixed("")
        falsy_too = self.compile(node.args[1]) if len(node.args) > 1 else _fixed(False)

        def evaluate(scope: Scope) -> Value:
            scope.spend()
            found, otherwise, also = value(scope), fallback(scope), falsy_too(scope)
            return found if _is_defined(found) and (found or not also) else otherwise

        return evaluate

    def _test(self, node: nodes.Test) -> Evaluate:
        args = node.args or ()
        if node.kwargs or node.dyn_args or node.dyn_kwargs:
            raise refused(f"test `{node.name}` with named arguments")
        if node.name in ("defined", "undefined") and not args:
            value, wanted = self.optional(node.node), node.name == "defined"
            return lambda scope: _is_defined(value(scope)) is wanted
        if node.name not in TESTS:
            raise refused(f"test `{node.name}`")
        operation = TESTS[node.name]
        if not takes(operation, len(args)):
            raise refused(f"test `{node.name}` with {len(args)} arguments")
        value, arguments = self.compile(node.node), [self.compile(argument) for argument in args]
        return lambda scope: operation(scope.limits, value(scope), *(a(scope) for a in arguments))


def unnamed_arguments(name: str) -> TemplateProblem:
    """Describe a call of a template that does not name its arguments."""
    return TemplateProblem(
        "bad-template",
        f"The arguments of `{name}` must be passed by name.",
        f"Write {{{{{name}(c=…)}}}}.",
    )


def _is_constant(node: nodes.Node) -> bool:
    """Say whether an expression is a text or a number as it is written, or the opposite of one."""
    if isinstance(node, nodes.Neg):
        return isinstance(node.node, nodes.Const) and type(node.node.value) in (int, float)
    return isinstance(node, nodes.Const)


def _fixed(value: Value) -> Evaluate:
    """Return a value that was made and weighed once: a list may be long, and the keys many."""
    chars = weigh(value, sys.maxsize)

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
    return scope.call(name, {key: value(scope) for key, value in arguments.items()})


def _no_else(scope: Scope) -> Value:
    message = "The condition is false and there is no `else`, so the expression has no value."
    return Absent(TemplateProblem("undefined-name", message, "Write {{ a if b else c }}."))


def _is_defined(value: Value) -> bool:
    return not isinstance(value, Absent | jinja2.Undefined)


def _merge(parts: Iterable[str | Expression]) -> list[str | Expression]:
    merged: list[str | Expression] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        else:
            merged.append(part)
    return merged


def _statement_name(statement: nodes.Node) -> str:
    return f"statement {{% {type(statement).__name__.lower()} %}}"
