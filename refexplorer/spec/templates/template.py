"""A compiled ``jinja-str``: its parts, the names that it uses, and how it is rendered.

Source: reference specification, "Version 1", where a ``jinja-str`` is "a string which will be
rendered by jinja2".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice

from refexplorer.core.limits import DEFAULT_LIMITS, Limits
from refexplorer.core.masking import masks_repr
from refexplorer.spec.findings import COMPARED, suggest
from refexplorer.spec.templates import syntax
from refexplorer.spec.templates.syntax import TemplateProblem, Value, text_of, too_big

_MARKS = ("{{", "{%", "{#")
_NEWLINE = re.compile(r"\r\n?")


class UndefinedName(TemplateProblem):
    """A name that neither the dimensions nor the templates define.

    It is raised for each reference that uses the name, so it costs little until it is shown.
    """

    def __init__(self, name: str, *known: Collection[str]) -> None:
        listed = sorted(islice(chain(*known), COMPARED))
        defined = ", ".join(f"`{other}`" for other in listed[:8])
        super().__init__(
            "undefined-name",
            f"`{name}` is not defined"
            + (f"; the defined names are {defined}." if listed else "; no names are defined here."),
            partial(_meant, name, known),
        )
        self.name = name


def _meant(name: str, known: tuple[Collection[str], ...]) -> str:
    return suggest(name, chain(*known))


def is_template(text: str) -> bool:
    """Say whether a text holds anything for jinja2 to render."""
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
                f"The template `{name}` takes arguments, so it has to be called.",
                f"Write {{{{{name}({arguments})}}}}.",
            )
        return self.call(name, {})

    def call(self, name: str, arguments: Mapping[str, Value]) -> str:
        """Render a template with the arguments of a call; it sees nothing else."""
        inner = Scope(arguments, {}, self.limits, self.steps)
        text = self.templates[name].render(inner)
        self.steps = inner.steps
        return text


Compile = Callable[[str], "Template"]
"""`compile_template`, or `refexplorer.spec.templates.compiler.compile_trusted`."""
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
        pieces = [
            part if isinstance(part, str) else text_of(run(part.evaluate, scope), scope.limits)
            for part in self.parts
        ]
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
