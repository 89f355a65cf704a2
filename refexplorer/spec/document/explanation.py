"""The derivation of a key, step by step: from the text of the document to the V0 reference."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import jinja2

from refexplorer.limits import Limits
from refexplorer.markup import code, escape, items
from refexplorer.masking import masked, masks_repr, secrets_of, without
from refexplorer.spec.core.diagnostics import pointer
from refexplorer.spec.core.references import Reference
from refexplorer.spec.gen.item import FIELDS, GenItem
from refexplorer.spec.templates.operations import TemplateProblem, Value, text_of
from refexplorer.spec.templates.template import Compile, Expression, Scope, Template

_LEXER = jinja2.Environment()
SHOWN = 400


@masks_repr
@dataclass(frozen=True, slots=True)
class Substitution:
    """One ``{{ … }}`` of a template: where it stands in its text, and what came of it."""

    start: int
    end: int
    text: str
    result: str


@masks_repr
@dataclass(frozen=True, slots=True)
class ExplanationStep:
    """One step of a derivation.

    Attributes
    ----------
    name
        What the step makes: ``entry``, ``dimensions``, ``key``, ``url``, ``offset``, ``length``,
        ``template u``, ``record``, ``reference``.
    pointer
        JSON pointer to the source text of this step, or a file of a parquet store.
    source
        The text that the step starts from.
    variables
        The names that it used, and their values.
    substitutions
        Each expression of a template, in order.
    result
        What came of it, as text.
    """

    name: str
    pointer: str
    source: str
    result: str
    variables: Mapping[str, object] = field(default_factory=dict)
    substitutions: tuple[Substitution, ...] = ()

    def seen(self, secrets: Collection[str]) -> ExplanationStep:
        """Return it without some secrets; no substitution has its place in the source then."""
        values = {name: masked(value, secrets=secrets) for name, value in self.variables.items()}
        made = [(without(one.text, secrets), without(one.result, secrets))
                for one in self.substitutions]  # fmt: skip
        return replace(
            self,
            source=without(self.source, secrets),
            result=without(self.result, secrets),
            variables=values,
            substitutions=tuple(Substitution(0, 0, *texts) for texts in made),
        )

    def __str__(self) -> str:
        parts = [self.name]
        if self.variables:
            parts.append(" ".join(f"{name}={value!r}" for name, value in self.variables.items()))
        if self.source and self.source != self.result:
            parts.append(f"{self.source}  →  {self.result}")
        elif self.result:
            parts.append(self.result)
        return escape("  ".join(parts), SHOWN) + f"   [{escape(self.pointer, SHOWN)}]"

    def _repr_html_(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.variables.items())
        changed = self.source and self.source != self.result
        parts = [f"<b>{self.name}</b>", code(values, SHOWN) if values else ""]
        parts += [code(self.source, SHOWN) + " →" if changed else ""]
        parts += [code(self.result, SHOWN) if self.result else ""]
        return " ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class Explanation:
    """The derivation of one key.

    Attributes
    ----------
    key
        The key.
    origin
        ``refs``, ``gen[0]`` or ``parquet``.
    steps
        In order; the last one is the reference.
    reference
        The reference as it is in V0.
    """

    key: str
    origin: str
    steps: tuple[ExplanationStep, ...]
    reference: Reference

    @property
    def secrets(self) -> tuple[str, ...]:
        """The texts of the address that are not shown: a template may have them by themselves."""
        url = getattr(self.reference, "url", None)
        return secrets_of(url) if url else ()

    def seen(self) -> Explanation:
        """Return it as people see it, without secrets."""
        secrets = self.secrets
        return replace(self, steps=tuple(step.seen(secrets) for step in self.steps))

    def __repr__(self) -> str:
        fields = ((name, getattr(self.seen(), name)) for name in self.__slots__)
        return f"Explanation({', '.join(f'{name}={value!r}' for name, value in fields)})"

    def __str__(self) -> str:
        head = f"{escape(self.key, SHOWN)} comes from {self.origin}"
        return "\n".join([head, *(f"  {n}. {step}" for n, step in enumerate(self.seen().steps, 1))])

    def _repr_html_(self) -> str:
        steps = items((step._repr_html_() for step in self.seen().steps), "ol")
        return f"<div>{code(self.key, SHOWN)} comes from {self.origin}{steps}</div>"


class _TracingScope(Scope):
    """A scope that keeps the calls of templates."""

    def __init__(
        self, values: Mapping[str, Value], templates: Mapping[str, Template], limits: Limits
    ) -> None:
        super().__init__(values, templates, limits)
        self.called: list[ExplanationStep] = []

    def call(self, name: str, arguments: Mapping[str, Value]) -> str:
        result = Scope.call(self, name, arguments)
        template = self.templates[name]
        self.called.append(
            ExplanationStep(
                f"template {name}",
                pointer("templates", name),
                template.text,
                result,
                dict(arguments),
                _substitutions(template, Scope(arguments, {}, self.limits)),
            )
        )
        return result


def explain_entry(
    key: str,
    written: object,
    at: str,
    reference: Reference,
    templates: Mapping[str, Template],
    limits: Limits,
    compiler: Compile,
) -> Explanation:
    """Explain an explicit reference.

    Parameters
    ----------
    written
        The JSON value as it stands in the document; None if that is not known.
    at
        JSON pointer to it.
    reference
        What it stands for.
    templates
        The templates of the document; none for V0.
    compiler
        How templates are compiled.
    """
    steps = []
    if written is not None:
        text = json.dumps(written, ensure_ascii=False, default=str)
        steps.append(ExplanationStep("entry", at, text, text))
    if templates and isinstance(written, list) and isinstance(written[0], str):
        scope = _TracingScope({}, templates, limits)
        steps += _template_steps("url", compiler(written[0]), f"{at}/0", scope)
    steps.append(_final(reference, at))
    return Explanation(key, "refs", tuple(steps), reference)


def explain_generated(item: GenItem, number: int, reference: Reference) -> Explanation:
    """Explain the key with this number of a gen item."""
    at = pointer("gen", item.number)
    values = item.values(number)
    where = f"combination {item.combination(number) + 1:,} of {item.grid.count:,}"
    steps = [ExplanationStep("dimensions", at + "/dimensions", "", where, values)]
    key = item.key_at(number)
    for name in FIELDS:
        template: Template | None = getattr(item, name)
        if template is not None:
            scope = _TracingScope(values, item.templates, item.limits)
            steps += _template_steps(name, template, at + pointer(name), scope)
    steps.append(_final(reference, at))
    return Explanation(key, f"gen[{item.number}]", tuple(steps), reference)


def explain_record(key: str, file: str, row: int, reference: Reference) -> Explanation:
    """Explain a chunk of a parquet store by its record file and row, both counted from 0."""
    number = key.rpartition("/")[2]
    record = ExplanationStep(
        "record", file, f"chunk {number}", f"row {row:,} of {file}", {"row": row}
    )
    return Explanation(key, "parquet", (record, _final(reference, file)), reference)


def _final(reference: Reference, at: str) -> ExplanationStep:
    text = json.dumps(reference.to_v0(), ensure_ascii=False)
    return ExplanationStep("reference", at, "", text)


def _template_steps(
    name: str, template: Template, at: str, scope: _TracingScope
) -> Iterator[ExplanationStep]:
    """Yield the templates that a jinja-str calls, then the jinja-str itself."""
    result = template.render(scope)
    called = {step.name: step for step in scope.called}
    yield from called.values()
    used = {key: value for key, value in scope.values.items() if key in template.names}
    yield ExplanationStep(name, at, template.text, result, used, _substitutions(template, scope))


def _substitutions(template: Template, scope: Scope) -> tuple[Substitution, ...]:
    """Return what each expression gave; nothing where a statement stands between them."""
    expressions = [part for part in template.parts if isinstance(part, Expression)]
    spans = list(_spans(template.text))
    if len(spans) != len(expressions):
        return ()
    found = []
    for (start, end), expression in zip(spans, expressions, strict=True):
        try:
            result = text_of(expression.evaluate(scope), scope.limits)
        except TemplateProblem:
            return ()
        found.append(Substitution(start, end, template.text[start:end], result))
    return tuple(found)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each ``{{ … }}`` begins and ends; the blanks that ``-}}`` eats are outside."""
    read = text.replace("\r\n", "\n").replace("\r", "\n")  # as the tokens of the lexer have it
    eaten = [match.start() - n for n, match in enumerate(re.finditer("\r\n", text))]
    position = start = 0
    for _, kind, token in _LEXER.lex(read):
        position = read.find(token, position) + len(token)
        if kind == "variable_begin":
            start = position - len(token)
        elif kind == "variable_end":
            end = position - len(token) + len(token.rstrip())
            yield start + bisect_left(eaten, start), end + bisect_left(eaten, end)
