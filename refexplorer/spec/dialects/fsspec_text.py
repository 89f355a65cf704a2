"""The rules by which fsspec renders templates, in both of its modes; nothing is rendered by it.

With ``simple_templates=True`` it turns ``{{u}}`` into ``{u}`` and calls `str.format`; otherwise
it runs jinja2's sandbox, where a name that nothing defines prints nothing. Here the text is only
parsed, and evaluated by the project's own whitelist; for what that refuses, jinja2's own tree says
whether jinja2 would fail, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from string import Formatter

import jinja2
from jinja2 import nodes

from refexplorer.spec.dialects.judging import NotComputed, Refusal, attempt, joined
from refexplorer.spec.dialects.survey import Survey
from refexplorer.spec.document.model import Document
from refexplorer.spec.templates.compiler import compile_template
from refexplorer.spec.templates.operations import TemplateProblem, Value
from refexplorer.spec.templates.template import Scope, Template, UndefinedName, is_template

_ENVIRONMENT = jinja2.Environment()
_FIELD = re.compile(r"([^.\[]*)(?:\[([0-9]{1,9})\]|\.(\w+))?(.*)", re.DOTALL)
NOTHING = Survey(Document(1, {}), {})
"""What a template sees when it is called: the arguments, and no other template."""


def is_function(template: object) -> bool:
    """Say whether fsspec and the JavaScript reader make a function of a template."""
    return isinstance(template, str) and "{{" in template


def format_text(text: str, templates: Mapping[str, object]) -> str:
    """Return a URL as `str.format` renders it, by its fields alone.

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
    pieces: list[str | None] = []
    for literal, name, spec, conversion in fields:
        pieces.append(literal)
        if name is not None:
            pieces.append(attempt(_field, name, bool(spec or conversion), templates))
    return joined(pieces)


def _field(name: str, is_formatted: bool, templates: Mapping[str, object]) -> str:
    match = _FIELD.fullmatch(name)
    assert match is not None
    first, index, attribute, rest = match.groups()
    if not first or first.isdigit():
        raise Refusal(f"`str.format` takes {{{{{name}}}}} for a position (IndexError).")
    if first not in templates:
        raise Refusal(
            f"`str.format` looks for a template named {first!r} (KeyError); "
            "`simple_templates=False` renders it."
        )
    value = templates[first]
    if rest or is_formatted or not isinstance(value, str) or is_function(value):
        raise NotComputed
    return _part(name, value, index, attribute)


def _part(name: str, value: str, index: str | None, attribute: str | None) -> str:
    """Return a letter of a text, or all of it."""
    if attribute is not None and hasattr(str, attribute):
        raise NotComputed
    if attribute is not None or (index is not None and int(index) >= len(value)):
        raise Refusal(f"`str.format` asks a text for {name!r} (AttributeError or IndexError).")
    return value if index is None else value[int(index)]


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
        raise UndefinedName(name, self.values, self.texts)

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
    if not is_template(text):
        return text.removesuffix("\n")
    try:
        return _render(compile_template(text), values, survey)
    except NotComputed:
        raise
    except TemplateProblem as problem:
        raise _refusal_or_not_computed(text, {*values, *survey.templates}, problem) from None


def _render(template: Template, values: Mapping[str, Value], survey: Survey) -> str:
    """Render part by part; a name that nothing defines makes a part be tried again."""
    parts = (Template("", (part,), template.names) for part in template.parts)
    return joined(attempt(_render_part, part, values, survey) for part in parts)


def _render_part(part: Template, values: Mapping[str, Value], survey: Survey) -> str:
    try:
        return part.render(SandboxScope(values, survey, lenient=False))
    except UndefinedName:
        pass
    try:
        return part.render(SandboxScope(values, survey, lenient=True))
    except UndefinedName as error:
        raise Refusal(f"jinja2 calls the undefined {error.name!r} (UndefinedError).") from None


def _refusal_or_not_computed(
    text: str, known: set[str], problem: TemplateProblem
) -> Refusal | NotComputed:
    """Tell an error that jinja2 raises too from what it would run."""
    if problem.code == "template-limit":
        return NotComputed()
    try:
        tree = _ENVIRONMENT.parse(text)
    except jinja2.TemplateSyntaxError:
        return Refusal(f"jinja2 cannot read {text!r} (TemplateSyntaxError).")
    except (RecursionError, ValueError):
        return NotComputed()
    undefined = _undefined_base(tree, known)
    if undefined:
        return Refusal(f"jinja2 asks the undefined name {undefined!r} for more (UndefinedError).")
    if problem.code == "bad-template" and not _is_forgiven(tree):
        return Refusal(f"jinja2 cannot compute {text!r}: {problem}")
    return NotComputed()


def _undefined_base(tree: nodes.Template, known: set[str]) -> str | None:
    """Return an undefined name that is called, or asked for an attribute or item."""
    for node in tree.find_all((nodes.Getattr, nodes.Getitem, nodes.Call)):
        base = node.node  # type: ignore[attr-defined]
        if isinstance(base, nodes.Name) and base.name not in known:
            return str(base.name)
    return None


def _is_forgiven(tree: nodes.Template) -> bool:
    """Say whether jinja2 prints something where the project refuses: f('x'), or [1][5]."""
    calls = tree.find_all(nodes.Call)
    return any(call.args for call in calls) or tree.find(nodes.Getitem) is not None
