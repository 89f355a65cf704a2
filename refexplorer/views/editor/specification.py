"""The specification next to the text: rules, codes, and verdicts of other readers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from jinja2 import nodes
from msgspec import Struct, structs

from refexplorer.core.errors import RefexplorerError
from refexplorer.spec.codes import CODES, RULES, codes_of
from refexplorer.spec.findings import parts_of, pointer
from refexplorer.spec.gen.item import FIELDS
from refexplorer.spec.templates import syntax
from refexplorer.spec.templates.syntax import TemplateProblem
from refexplorer.spec.templates.template import Expression, compile_template
from refexplorer.verbs.codes import explain_code
from refexplorer.verbs.opening import dialects
from refexplorer.views.wire.requests import filled, named, request

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet
    from refexplorer.views.editor.editor_controller import EditorController

LOOKED_AT = 100_000  # Parts of a document that are searched for uses of a rule
PLACES = 200  # Places that one answer carries

Parts = list[str]


class CitedRule(Struct, frozen=True):
    """A rule of the specification by name, with its position there."""

    name: str
    section: str
    sentence: str
    link: str


class CodePage(Struct, frozen=True):
    """The explanation of a diagnostic code."""

    code: str
    meaning: str
    readers: tuple[str, ...]  # What each reader does with it
    cause: str
    mend: str
    example: str  # The smallest set that shows it; empty if it needs a Python call
    live: bool  # Whether the example is a text for the editor
    rule: CitedRule | None


class ListedExercise(Struct, frozen=True):
    """An exercise in the list of all exercises."""

    name: str
    title: str
    topic: str
    level: int


class TaughtRule(CitedRule, frozen=True):
    """A rule of the specification with its exercises."""

    example: str | None  # A text for the editor that follows it; null where JSON cannot show it
    exercises: tuple[ListedExercise, ...]  # Those that train it


class ReaderVerdict(Struct, frozen=True):
    """The verdict of one reader on the text."""

    name: str
    # ``dropped``: keys are silently missing; ``refused``: no key can be read
    outcome: Annotated[
        str, named("Judgement", "same", "dropped", "different", "refused", "not run")
    ]
    summary: str  # The outcome with its numbers
    reasons: tuple[str, ...]  # Sentences: why, and what else is worth knowing
    # Keys that differ, as read by the specification and by the reader
    examples: tuple[str, ...]


class Readers(Struct, frozen=True):
    """The verdicts of readers on the last valid text, the specification first."""

    version: int
    readers: tuple[ReaderVerdict, ...]


class RulesFollowed(Struct, frozen=True):
    """The names of the rules that a part of the last valid text follows, the nearest first."""

    version: int
    names: tuple[str, ...]


class RuleFollowed(Struct, frozen=True):
    """Where the text follows a rule."""

    version: int
    # The first of them, end exclusive; of a value with many lines the first line
    places: tuple[tuple[int, int], ...]
    is_all: bool  # Whether there are no others


class RulePlaces:
    """Finds the rules of a part of a document, and the parts that follow a rule."""

    def __init__(self, refs: ReferenceSet) -> None:
        self.refs = refs
        self._is_v1 = refs.source.form == "V1"

    def at(self, place: str) -> tuple[str, ...]:
        """Return the rules for the node at a JSON pointer, the most specific first."""
        parts = parts_of(place)
        while not (found := self._rules(parts)) and parts:
            parts.pop()
        return found

    def of(self, rule: str) -> tuple[list[str], bool]:
        """Return the first pointers to nodes that follow a rule, and whether these are all."""
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
        """Yield the path to each part with its own rules, in the order of the sections."""
        yield []
        for name, section in self._document.items():
            yield [name]
            if self._is_v1 and name in ("templates", "refs", "gen"):
                yield from (
                    [name, *inner] for member in members(section) for inner in _inside(*member)
                )

    def _rules(self, parts: Parts) -> tuple[str, ...]:
        """Return the rules of one part; none if it has no rules of its own."""
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
    """Return the value at a path; None if it does not exist."""
    for part in parts:
        if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def members(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the members of an object or a list, each with its name in a JSON pointer."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from ((str(number), each) for number, each in enumerate(value))


def _inside(name: str, value: Any) -> Iterator[Parts]:
    """Yield the paths inside a reference, template or gen item for which there may be rules."""
    yield [name]
    if isinstance(value, list):
        yield [name, "0"]
    elif isinstance(value, dict):
        for field, member in value.items():
            yield [name, field]
            if field == "dimensions":
                yield from ([name, field, dimension] for dimension, _ in members(member))


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
    """Return the rules of a gen item, or of the node in it at a path."""
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
    plain = (nodes.Name, nodes.Call, nodes.Const)
    lists = [each for each in forms if isinstance(getattr(each, "value", None), syntax.FixedItems)]
    return () if not lists and all(isinstance(each, plain) for each in forms) else ("jinja",)


def _calling(forms: list[syntax.Form]) -> tuple[str, ...]:
    return ("arguments",) if any(isinstance(each, nodes.Call) for each in forms) else ()


def _forms(text: Any) -> list[syntax.Form]:
    """Return the expressions of a jinja-str with all subexpressions."""
    if not isinstance(text, str):
        return []
    try:
        parts = compile_template(text).parts
    except TemplateProblem:
        return [None]
    return [*syntax.every(part.form for part in parts if isinstance(part, Expression))]


class Specification:
    """Responds to the editor's requests about the rules of the specification."""

    def __init__(self, editor: EditorController) -> None:
        self._editor = editor
        self._places: RulePlaces | None = None

    @request("code", sends="page")
    def explain(self, code: str) -> CodePage:
        """Explain a diagnostic code."""
        return code_page(code)

    @request("readers")
    def judge(self) -> Readers:
        """Return the verdicts of other readers on the last valid text."""
        editor = self._editor
        return Readers(editor.version, readers(editor.opened(), editor.templates))

    @request("rules", sends="rules")
    def rules(self) -> tuple[TaughtRule, ...]:
        """Return the rules of the specification, in order."""
        return self._editor.rules

    @request("rules.at")
    def at(
        self,
        pointer: str,  # Of the part where the cursor is
    ) -> RulesFollowed:
        """Find the rules that a part of the text follows."""
        return RulesFollowed(self._editor.version, self._followed().at(pointer))

    @request("rules.places")
    def places(
        self,
        name: str,  # Of the rule
    ) -> RuleFollowed:
        """Find where the text follows a rule; nothing while it cannot be read."""
        if name not in RULES:
            raise RefexplorerError(f"There is no rule {name!r}.")
        if (positions := self._editor.positions) is None:
            raise RefexplorerError("The text cannot be read, so no position in it is shown.")
        pointers, is_all = self._followed().of(name)
        found = [place for each in pointers if (place := positions.seen_at(each)) is not None]
        return RuleFollowed(
            self._editor.version, tuple(found), is_all and len(found) == len(pointers)
        )

    def _followed(self) -> RulePlaces:
        refs = self._editor.opened()
        if self._places is None or self._places.refs is not refs:
            self._places = RulePlaces(refs)
        return self._places


def cited(name: str) -> CitedRule:
    """Return a rule as cited."""
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


def code_page(code: str) -> CodePage:
    """Return the explanation of a code."""
    found, more = explain_code(code), CODES[code]
    is_store = code in codes_of("parquet")
    return filled(
        CodePage,
        found,
        mend=more.mend,
        # on a page, sets cannot be opened in Python
        example=found.example if more.has_set or is_store else "",
        live=more.has_set and not is_store,
        rule=cited(more.rule) if more.rule else None,
    )


_EXAMPLES = 5  # differing keys that are shown for a reader


def readers(refs: ReferenceSet, templates: Mapping[str, str]) -> tuple[ReaderVerdict, ...]:
    """Judge the text of a set by the rules of each reader, the specification first."""
    text = (refs.source.text or "").encode()
    return tuple(
        filled(
            ReaderVerdict,
            verdict,
            name=verdict.reader,
            reasons=(*map(str, verdict.reasons), *verdict.notes),
            examples=tuple(map(str, verdict.examples[:_EXAMPLES])),
        )
        for verdict in dialects(text, templates=templates)
    )
