"""The derivation of a key, step by step: from the document's text to the V0 reference."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import jinja2

from refexplorer.core.limits import Limits
from refexplorer.core.text import code, escape, masked, masks_repr, shown, size_text, without
from refexplorer.spec.findings import pointer, written
from refexplorer.spec.gen.item import FIELDS, GenItem
from refexplorer.spec.references import Reference
from refexplorer.spec.templates.syntax import TemplateProblem, Value, text_of
from refexplorer.spec.templates.template import Expression, Scope, Template, compile_template

_LEXER = jinja2.Environment()
SHOWN = 400  # characters of a name or text, which may have any length


@masks_repr
@dataclass(frozen=True, slots=True)
class Substitution:
    """One ``{{ … }}`` of a template: its position in the text, and its result."""

    start: int
    end: int
    text: str
    result: str


@masks_repr
@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step from the document, through the bytes of a chunk, to a value.

    Attributes
    ----------
    name
        ``entry``, ``dimensions``, ``key``, ``url``, ``offset``, ``length``, ``template u``,
        ``record`` and ``reference``; then ``shard index``, ``inner chunk``, ``raw bytes``, each
        codec with its settings, ``values``; of one value also ``chunk``, ``raw value``,
        ``packed value``, ``missing value``, ``valid range``, ``scale``, ``time`` and ``xarray``.
    key
        The key.
    result
        The result, as text; for bytes and arrays, dtype and shape (``"<i2 [2, 96, 96]"``).
    pointer
        JSON pointer to the source text of a step in the document, or a file of a parquet store.
    source
        The text that this step starts from.
    variables
        The names that the step uses, and their values.
    substitutions
        Each expression of a template, in order.
    reference
        The file and the byte range that are read from this step on; None before they are known.
    size
        Bytes of the result.
    seconds
        CPU time; for the raw bytes, the time until they were received.
    head
        The first bytes of the result.
    message
        Why the step failed, in one sentence; None if it did not.
    """

    name: str
    key: str
    result: str = ""
    pointer: str = ""
    source: str = ""
    variables: Mapping[str, object] = field(default_factory=dict)
    substitutions: tuple[Substitution, ...] = ()
    reference: Reference | None = None
    size: int | None = None
    seconds: float | None = None
    head: bytes = b""
    message: str | None = None

    def seen(self, secrets: Collection[str]) -> TraceStep:
        """Return the step without secrets; substitutions then have no source position."""
        if not self.pointer:
            return replace(self, result=without(self.result, secrets))
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

    @property
    def text(self) -> str:
        """The result, or why the step failed, in one line."""
        if self.message is not None:
            return f"FAILED: {self.message}"
        return self.result or self.head[:16].hex(" ")

    def __str__(self) -> str:
        name, text = escape(self.name, SHOWN), escape(self.text, SHOWN)
        if self.seconds is not None:
            size = "" if self.size is None else size_text(self.size)
            return f"{name:<28}  {size:>8}  {self.seconds * 1000:8.2f} ms  {text}"
        if not self.pointer:
            return f"{name:<14}  {text}"
        parts = [self.name]
        if self.variables:
            parts.append(" ".join(f"{name}={value!r}" for name, value in self.variables.items()))
        if self.source and self.source != self.result:
            parts.append(f"{self.source}  →  {self.text}")
        elif self.text:
            parts.append(self.text)
        return escape("  ".join(parts), SHOWN) + f"   [{escape(written(self.pointer), SHOWN)}]"

    def _repr_html_(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.variables.items())
        changed = self.source and self.source != self.result
        parts = [f"<b>{shown(self.name, SHOWN)}</b>", code(values, SHOWN) if values else ""]
        parts += [code(self.source, SHOWN) + " →" if changed else ""]
        parts += [size_text(self.size) if self.size is not None else ""]
        if self.message is not None:
            parts += [f"<span style='color:#b3261e'>✕ failed here: {shown(self.message)}</span>"]
        else:
            parts += [code(self.text, SHOWN) if self.text else ""]
        return " ".join(filter(None, parts))


class _TracingScope(Scope):
    """A scope that records the calls of templates."""

    def __init__(
        self,
        key: str,
        values: Mapping[str, Value],
        templates: Mapping[str, Template],
        limits: Limits,
    ) -> None:
        super().__init__(values, templates, limits)
        self.key = key
        self.called: list[TraceStep] = []

    def call(self, name: str, arguments: Mapping[str, Value]) -> str:
        result = Scope.call(self, name, arguments)
        template = self.templates[name]
        self.called.append(
            TraceStep(
                f"template {name}",
                self.key,
                result,
                pointer("templates", name),
                template.text,
                dict(arguments),
                _substitutions(template, Scope(arguments, {}, self.limits)),
            )
        )
        return result


def derive_entry(
    key: str,
    written: object,
    at: str,
    reference: Reference,
    templates: Mapping[str, Template],
    limits: Limits,
) -> Iterator[TraceStep]:
    """Yield the steps of an explicit reference; its JSON value may be unknown (None)."""
    last = _reference_step(key, reference, at)
    text = None if written is None else json.dumps(written, ensure_ascii=False, default=str)
    if text is not None and text != last.result:  # else it would be shown twice
        yield TraceStep("entry", key, text, at, text)
    if templates and isinstance(written, list) and isinstance(written[0], str):
        scope = _TracingScope(key, {}, templates, limits)
        yield from _template_steps("url", compile_template(written[0]), f"{at}/0", scope)
    yield last


def derive_generated(item: GenItem, number: int, reference: Reference) -> Iterator[TraceStep]:
    """Yield the steps of the key with this number of a gen item."""
    at = pointer("gen", item.number)
    key, values = item.key_at(number), item.values(number)
    where = f"combination {item.combination(number) + 1:,} of {item.grid.count:,}"
    yield TraceStep("dimensions", key, where, at + "/dimensions", variables=values)
    for name in FIELDS:
        template: Template | None = getattr(item, name)
        if template is not None:
            scope = _TracingScope(key, values, item.templates, item.limits)
            yield from _template_steps(name, template, at + pointer(name), scope)
    yield _reference_step(key, reference, at)


def derive_record(key: str, file: str, row: int, reference: Reference) -> Iterator[TraceStep]:
    """Yield the steps of a chunk of a parquet store, by record file and row, from 0."""
    chunk = f"chunk {key.rpartition('/')[2]}"
    yield TraceStep("record", key, f"row {row:,} of {file}", file, chunk, {"row": row})
    yield _reference_step(key, reference, file)


def _reference_step(key: str, reference: Reference, at: str) -> TraceStep:
    text = json.dumps(reference.to_v0(), ensure_ascii=False)
    return TraceStep("reference", key, text, at, reference=reference)


def _template_steps(
    name: str, template: Template, at: str, scope: _TracingScope
) -> Iterator[TraceStep]:
    """Yield the templates called by a jinja-str, then the jinja-str itself."""
    result = template.render(scope)
    called = {step.name: step for step in scope.called}
    yield from called.values()
    used = {key: value for key, value in scope.values.items() if key in template.names}
    found = _substitutions(template, scope)
    yield TraceStep(name, scope.key, result, at, template.text, used, found)


def _substitutions(template: Template, scope: Scope) -> tuple[Substitution, ...]:
    """Return the result of each expression; nothing if there is a statement between them."""
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
    """Yield the span of each ``{{ … }}``, without the whitespace that ``-}}`` strips."""
    read = text.replace("\r\n", "\n").replace("\r", "\n")  # as in the tokens of the lexer
    eaten = [match.start() - n for n, match in enumerate(re.finditer("\r\n", text))]
    position = start = 0
    for _, kind, token in _LEXER.lex(read):
        position = read.find(token, position) + len(token)
        if kind == "variable_begin":
            start = position - len(token)
        elif kind == "variable_end":
            end = position - len(token) + len(token.rstrip())
            yield start + bisect_left(eaten, start), end + bisect_left(eaten, end)
