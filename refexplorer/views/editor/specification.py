"""The specification beside the text: its rules, and what of the text follows each of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import structs

from refexplorer.core.errors import RefexplorerError
from refexplorer.spec.codes import RULES
from refexplorer.spec.findings import parts_of, pointer
from refexplorer.spec.gen.item import FIELDS
from refexplorer.spec.templates import syntax
from refexplorer.spec.templates.syntax import TemplateProblem
from refexplorer.spec.templates.template import Expression, compile_template
from refexplorer.views.wire.answering import Operations
from refexplorer.views.wire.editor.exercise_models import ListedExercise
from refexplorer.views.wire.editor.rule_messages import (
    AskRules,
    RuleFollowed,
    RulesFollowed,
    SeekRule,
    SeekRulesAt,
    SpecificationRules,
    TaughtRule,
)
from refexplorer.views.wire.models import CitedRule

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet
    from refexplorer.views.editor.editor_controller import EditorController

LOOKED_AT = 100_000
"""Parts of a document that are looked at for the places of a rule."""
PLACES = 200
"""Places that one answer carries."""

Parts = list[str]


class RulePlaces:
    """Finds the rules of a part of a document, and the parts that follow a rule."""

    def __init__(self, refs: ReferenceSet) -> None:
        self.refs = refs
        self._is_v1 = refs.source.form == "V1"

    def at(self, place: str) -> tuple[str, ...]:
        """Return the rules of what a JSON pointer leads to or into, the most particular first."""
        parts = parts_of(place)
        while not (found := self._rules(parts)) and parts:
            parts.pop()
        return found

    def of(self, rule: str) -> tuple[list[str], bool]:
        """Return the first pointers to what follows a rule, and whether these are all."""
        found: list[str] = []
        for looked_at, parts in enumerate(self._parts()):
            if looked_at == LOOKED_AT or len(found) > PLACES:
                return found[:PLACES], False
            is_inside = bool(parts) and rule in self._rules(parts[:-1])
            if not is_inside and rule in self._rules(parts):
                found.append(pointer(*parts))
        return found[:PLACES], len(found) <= PLACES

    @cached_property
    def _document(self) -> Any:
        return json.loads(self.refs.source.text or "{}")

    def _parts(self) -> Iterator[Parts]:
        """Yield the way to each part that has rules of its own, in the order of the sections."""
        yield []
        for name, section in self._document.items():
            yield [name]
            if self._is_v1 and name in ("templates", "refs", "gen"):
                yield from (
                    [name, *inner] for member in _members(section) for inner in _inside(*member)
                )

    def _rules(self, parts: Parts) -> tuple[str, ...]:
        """Return the rules of one part; none of a part that has none of its own."""
        if not parts:
            return ("expand",) if self._is_v1 else ("v0",)
        if not self._is_v1:
            return _of_reference(_at(self._document, parts[:1])) if len(parts) == 1 else ()
        section, *inner = parts
        if section == "version":
            return ("version",)
        if section not in ("templates", "refs", "gen") or section not in self._document:
            return ()
        if not inner:
            return (section,)
        value = _at(self._document, parts)
        if section == "templates":
            return _of_template(value) if len(inner) == 1 else ()
        if section == "gen":
            return _of_item(inner[1:], value)
        if len(inner) == 1:
            return _of_reference(value)
        listed = _at(self._document, parts[:2])
        found = _of_url(value) if inner[1] == "0" and isinstance(value, str) else ()
        return (*found, *_of_reference(listed)) if found and isinstance(listed, list) else ()


def _at(value: Any, parts: Parts) -> Any:
    """Return what is at the end of a way; None where it leads nowhere."""
    for part in parts:
        if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from ((str(number), each) for number, each in enumerate(value))


def _inside(name: str, value: Any) -> Iterator[Parts]:
    """Yield the ways to what may have rules within a reference, a template or a gen item."""
    yield [name]
    if isinstance(value, list):
        yield [name, "0"]
    elif isinstance(value, dict):
        for field, member in value.items():
            yield [name, field]
            if field == "dimensions":
                yield from ([name, field, dimension] for dimension, _ in _members(member))


def _of_reference(value: Any) -> tuple[str, ...]:
    match value:
        case [_, _, _]:
            return ("byte-range", "list-shape")
        case [_]:
            return ("whole-url", "list-shape")
        case list():
            return ("list-shape",)
        case dict():
            return ("json-object",)
        case str() if value.startswith("base64:"):
            return ("base64",)
        case str():
            return ("text", "ascii")
    return ()


def _of_template(value: Any) -> tuple[str, ...]:
    forms = _forms(value)
    if not forms:
        return ("templates",)
    return (*_computing(forms), "scope", "arguments")


def _of_url(value: str) -> tuple[str, ...]:
    forms = _forms(value)
    return (*_computing(forms), *_calling(forms), *(("templates",) if forms else ()))


def _of_item(inner: Parts, value: Any) -> tuple[str, ...]:
    """Return the rules of a gen item, or of what the way within it leads to."""
    match inner:
        case []:
            return ("gen",)
        case ["dimensions"]:
            is_product = isinstance(value, dict) and len(value) > 1
            return ("product", "dimensions") if is_product else ("dimensions",)
        case ["dimensions", _]:
            if isinstance(value, list):
                return ("values",)
            is_short = isinstance(value, dict) and not {"start", "step"} <= value.keys()
            return ("range-defaults", "range") if is_short else ("range",)
        case ["offset" | "length"]:
            return ("gen-range", *_computing(_forms(value)))
        case [field] if field in FIELDS:
            forms = _forms(value)
            found = (*_computing(forms), *_calling(forms))
            return (*found, "gen-names", "gen") if forms else ("gen",)
    return ()


def _computing(forms: list[syntax.Form]) -> tuple[str, ...]:
    plain = (syntax.Name, syntax.Call, syntax.Literal)
    return () if all(isinstance(each, plain) for each in forms) else ("jinja",)


def _calling(forms: list[syntax.Form]) -> tuple[str, ...]:
    return ("arguments",) if any(isinstance(each, syntax.Call) for each in forms) else ()


def _forms(text: Any) -> list[syntax.Form]:
    """Return the expressions of a jinja-str with all that is inside of them."""
    if not isinstance(text, str):
        return []
    try:
        parts = compile_template(text).parts
    except TemplateProblem:
        return [syntax.Opaque()]
    expressions = (part.form for part in parts if isinstance(part, Expression))
    return [form for expression in expressions for form in syntax.every(expression)]


class Specification:
    """Answers what the editor asks about the rules of the specification."""

    def __init__(self, editor: EditorController) -> None:
        self._editor = editor
        self._places: RulePlaces | None = None
        self.operations: Operations = {
            AskRules: lambda request: SpecificationRules(taught()),
            SeekRulesAt: self._at,
            SeekRule: self._of,
        }

    def _at(self, request: SeekRulesAt) -> RulesFollowed:
        return RulesFollowed(self._editor.version, self._followed().at(request.pointer))

    def _of(self, request: SeekRule) -> RuleFollowed:
        if request.name not in RULES:
            raise RefexplorerError(f"There is no rule {request.name!r}.")
        if (positions := self._editor.positions) is None:
            raise RefexplorerError("The text cannot be read, so that no place in it is shown.")
        pointers, is_all = self._followed().of(request.name)
        found = [place for each in pointers if (place := positions.seen_at(each)) is not None]
        return RuleFollowed(
            self._editor.version, tuple(found), is_all and len(found) == len(pointers)
        )

    def _followed(self) -> RulePlaces:
        refs = self._editor.references
        if refs is None:
            raise RefexplorerError("No valid text with keys was entered yet.")
        if self._places is None or self._places.refs is not refs:
            self._places = RulePlaces(refs)
        return self._places


def cited(name: str) -> CitedRule:
    """Return a rule as it is cited."""
    rule = RULES[name]
    return CitedRule(name, rule.section, rule.sentence, rule.link)


def taught(trained: Iterable[tuple[str, ListedExercise]] = ()) -> tuple[TaughtRule, ...]:
    """Return the rules in order."""
    pairs = list(trained)
    return tuple(
        TaughtRule(
            **structs.asdict(cited(name)),
            example=rule.example or None,
            exercises=tuple(exercise for other, exercise in pairs if other == name),
        )
        for name, rule in RULES.items()
    )
