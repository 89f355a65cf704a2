"""How fsspec renders templates, told without rendering them: both of its ways, by rule.

With ``simple_templates=True`` it turns ``{{u}}`` into ``{u}`` and calls `str.format`; otherwise
it runs jinja2's sandbox, where a name that nothing defines prints nothing. Here the text is only
parsed, and evaluated by the project's own whitelist.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from string import Formatter

import jinja2
from jinja2 import nodes

from refexplorer.spec.dialects.judging import NotComputed, Refusal
from refexplorer.spec.dialects.survey import Survey
from refexplorer.spec.document import Document
from refexplorer.spec.operations import TemplateProblem, Value
from refexplorer.spec.templates import Scope, Template, UndefinedName, compile_template

_ENVIRONMENT = jinja2.Environment()
_FIELD_END = re.compile(r"[.\[]")
NOTHING = Survey(Document(1, {}), {})
"""What a template sees when it is called: the arguments, and no other template."""


def is_function(template: object) -> bool:
    """Say whether fsspec and the JavaScript reader make a function of a template."""
    return isinstance(template, str) and "{{" in template


def format_text(text: str, templates: Mapping[str, object]) -> str:
    """Return what `str.format` makes of a URL, by its fields alone.

    Raises
    ------
    Refusal
        If fsspec raises an error.
    NotComputed
        If a field asks for an attribute, an item or a format.
    """
    text = text.replace("{{", "{").replace("}}", "}")
    try:
        fields = list(Formatter().parse(text))
    except ValueError as error:
        raise Refusal(f"`str.format` cannot read {text!r}: {error} (ValueError).") from None
    return "".join(
        literal + ("" if name is None else _field(name, bool(spec or conversion), templates))
        for literal, name, spec, conversion in fields
    )


def _field(name: str, is_formatted: bool, templates: Mapping[str, object]) -> str:
    first = _FIELD_END.split(name, maxsplit=1)[0]
    if not first or first.isdigit():
        raise Refusal(f"`str.format` takes {{{{{name}}}}} for a position (IndexError).")
    if first not in templates:
        raise Refusal(f"`str.format` looks for a template named {first!r} (KeyError).")
    value = templates[first]
    if first != name or is_formatted or not isinstance(value, str) or is_function(value):
        raise NotComputed
    return value


class SandboxScope(Scope):
    """The names that fsspec gives to jinja2, each with the value that it has there.

    Attributes
    ----------
    texts
        The templates as they are written.
    lenient
        Whether an undefined name gives jinja2's `Undefined` in place of an error.
    """

    def __init__(self, values: Mapping[str, Value], survey: Survey, lenient: bool) -> None:
        super().__init__(values, survey.document.templates, survey.document.limits)
        self.texts = survey.templates
        self.lenient = lenient

    def lookup(self, name: str) -> Value:
        """Return a value, a template's bare text, or what stands for an undefined name."""
        if name in self.values:
            return self.values[name]
        if name in self.texts:
            if is_function(self.texts[name]):
                raise NotComputed
            return self.texts[name]
        if self.lenient:
            return jinja2.Undefined(name=name)
        raise UndefinedName(name, [*self.values, *self.texts])

    def call(self, name: str, arguments: Mapping[str, Value]) -> str:
        """Render a template; an argument ``temp`` takes the place of its text."""
        if not is_function(self.texts[name]):
            raise TemplateProblem("bad-template", f"`{name}` is a text and cannot be called.")
        values = {"temp": self.texts[name], **arguments}
        template = compile_template(str(values.pop("temp")))
        inner = SandboxScope(values, NOTHING, self.lenient)
        inner.limits = self.limits
        return template.render(inner)


def check_names(names: Iterable[str]) -> None:
    """Refuse the name that Python's call of jinja2 cannot pass."""
    if "self" in names:
        raise Refusal("A template is called `self`, which jinja2 cannot be given (TypeError).")


def render_text(text: str, values: Mapping[str, Value], survey: Survey) -> str:
    """Return what jinja2's sandbox prints.

    Raises
    ------
    Refusal
        If jinja2 raises an error.
    NotComputed
        If the text holds what the project does not evaluate.
    """
    try:
        return _render(compile_template(text), values, survey)
    except NotComputed:
        raise
    except TemplateProblem as problem:
        raise _refusal_or_not_computed(text, {*values, *survey.templates}, problem) from None


def _render(template: Template, values: Mapping[str, Value], survey: Survey) -> str:
    try:
        return template.render(SandboxScope(values, survey, lenient=False))
    except UndefinedName:
        return _render_leniently(template, values, survey)


def _render_leniently(template: Template, values: Mapping[str, Value], survey: Survey) -> str:
    try:
        return template.render(SandboxScope(values, survey, lenient=True))
    except UndefinedName as error:
        raise Refusal(
            f"jinja2 calls {error.name!r}, which is undefined (UndefinedError)."
        ) from None


def _refusal_or_not_computed(
    text: str, known: set[str], problem: TemplateProblem
) -> Refusal | NotComputed:
    """Tell an error that jinja2 raises too from what it would run."""
    try:
        tree = _ENVIRONMENT.parse(text)
    except jinja2.TemplateSyntaxError:
        return Refusal(f"jinja2 cannot read {text!r} (TemplateSyntaxError).")
    except (RecursionError, ValueError):
        return NotComputed()
    undefined = _undefined_base(tree, known)
    if undefined:
        return Refusal(f"jinja2 asks the undefined name {undefined!r} for more (UndefinedError).")
    if problem.code == "bad-template" and not _has_positional_call(tree):
        return Refusal(f"jinja2 cannot compute {text!r}: {problem}")
    return NotComputed()


def _undefined_base(tree: nodes.Template, known: set[str]) -> str | None:
    """Return an undefined name that is called, or asked for an attribute or item."""
    for node in tree.find_all((nodes.Getattr, nodes.Getitem, nodes.Call)):
        base = node.node  # type: ignore[attr-defined]
        if isinstance(base, nodes.Name) and base.name not in known:
            return str(base.name)
    return None


def _has_positional_call(tree: nodes.Template) -> bool:
    return any(node.args for node in tree.find_all(nodes.Call))
