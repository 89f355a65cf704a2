"""The document model: the contents of a reference set as written.

Source: reference specification, "Version 0" and "Version 1".
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from weakref import WeakValueDictionary

from refexplorer.core.errors import SpecError
from refexplorer.core.limits import DEFAULT_LIMITS, Limits
from refexplorer.spec.findings import Findings, Hint, Reason, pointer, suggest
from refexplorer.spec.gen.item import GenItem
from refexplorer.spec.gen.parsing import (
    GenContext,
    KeyCheckBudget,
    note_unused_arguments,
    read_item,
)
from refexplorer.spec.references import (
    RESERVED,
    BadReference,
    Reference,
    check_key_length,
    check_text,
    is_speakable,
    read_reference,
)
from refexplorer.spec.templates.syntax import TemplateProblem, Value
from refexplorer.spec.templates.template import (
    Expression,
    Scope,
    Template,
    compile_template,
    is_template,
    rendered_plain,
)

SECTIONS = ("version", "templates", "gen", "refs")


@dataclass(frozen=True, slots=True)
class Document:
    """A V0 or V1 document, parsed but not expanded."""

    version: int  # 0 or 1
    refs: Mapping[str, object]  # The explicit references as JSON values
    templates: Mapping[str, Template] = field(default_factory=dict)  # Compiled, with overrides
    gen: tuple[GenItem, ...] = ()  # The gen items that could be read
    rejected_items: tuple[GenItem, ...] = ()  # Those whose templates fail
    findings: Findings = field(default_factory=Findings)  # `entries` adds to them
    limits: Limits = DEFAULT_LIMITS
    rejected: dict[str, Reason] = field(default_factory=dict)  # By key; `entries` adds to them

    @property
    def base(self) -> str:
        """JSON pointer to the explicit references."""
        return "/refs" if self.version else ""

    def as_written(self) -> Iterator[tuple[str, object, int]]:
        """Yield the explicit references as written, for `written_forms`."""
        yield from ((key, value, 1) for key, value in self.refs.items())

    def entries(self) -> Iterator[tuple[str, Reference]]:
        """Yield the explicit references in order; bad ones are reported and rejected."""
        urls = UrlReader(self)
        for key, value in self.refs.items():
            notes = EntryNotes(self, key)
            try:
                _check_key(key)
            except BadReference as bad:
                notes.refuse(bad)
                continue
            try:
                check_key_length(key, self.limits)
                yield key, read_reference(value, urls.read, notes.add)
            except BadReference as bad:
                self.rejected[key] = notes.refuse(bad)


@dataclass(frozen=True, slots=True)
class EntryNotes:
    """The findings of one entry; its pointer is only created if there is one."""

    document: Document
    key: str

    def add(self, code: str, message: str, hint: Hint = "") -> None:
        where = self.document.base + pointer(self.key)
        self.document.findings.add(code, where, message, hint, key=self.key)

    def refuse(self, bad: BadReference) -> Reason:
        """Record why this entry is rejected, and return it."""
        reason = Reason.of(bad)
        self.add(reason.code, reason.message, reason.hint)
        return reason


def _check_key(key: object) -> None:
    if not isinstance(key, str):
        raise BadReference("bad-text", f"A key must be a string, not {type(key).__name__}.")
    check_text(key, "bad-text", "key")


class UrlReader:
    """Renders the URLs of one document, each distinct template once."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._rendered: dict[str, str | BadReference] = {}

    def read(self, text: str) -> str:
        """Return the URL for a ``url(jinja-str)``."""
        if not self._document.version:
            return text
        if not is_template(text):
            return rendered_plain(text)
        found = self._rendered.get(text)
        if found is None:
            found = self._rendered[text] = self._render(text)
        if isinstance(found, BadReference):
            raise found
        return found

    def _render(self, text: str) -> str | BadReference:
        document = self._document
        scope = Scope({}, document.templates, document.limits)
        try:
            return compile_template(text).render(scope)
        except TemplateProblem as problem:
            return BadReference(problem.code, str(problem), problem.late_hint)


def read_document(
    source: object,
    templates: Mapping[str, str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    findings: Findings | None = None,
) -> Document:
    """Read a parsed JSON document."""
    findings = Findings() if findings is None else findings
    if not isinstance(source, Mapping):
        raise SpecError(
            f"A reference set must be a JSON object, not {_json_type(source)}.", code="not-object"
        )
    overrides = dict(templates or {})
    if "version" not in source:
        return _read_v0(source, overrides, limits, findings)
    version = source["version"]
    if isinstance(version, bool) or version != 1:
        raise SpecError(
            f"`version` must be the number 1, not {json.dumps(version, default=str)[:40]}; a V0 "
            "set cannot have a key called `version`.",
            code="bad-version",
            pointer="/version",
        )
    return _read_v1(source, overrides, limits, findings)


def _json_type(value: object) -> str:
    names = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _read_v0(
    source: Mapping[str, object], overrides: dict[str, str], limits: Limits, findings: Findings
) -> Document:
    sections = [name for name in ("refs", "templates", "gen") if _is_section(name, source)]
    if sections:
        findings.add(
            "version-missing",
            pointer(sections[0]),
            f"Without `version` the document is read as V0, where `{sections[0]}` is a key.",
            'Add "version": 1 to read it as V1.',
        )
    _note_overrides(overrides, {}, findings)
    return Document(0, source, findings=findings, limits=limits)


def _is_section(name: str, source: Mapping[str, object]) -> bool:
    value = source.get(name)
    if name == "gen":
        return isinstance(value, list) and any(isinstance(item, Mapping) for item in value)
    return isinstance(value, Mapping)


def _read_v1(
    source: Mapping[str, object], overrides: dict[str, str], limits: Limits, findings: Findings
) -> Document:
    for name in source.keys() - {*SECTIONS, "$schema"}:
        findings.add(
            "unknown-top-level-key",
            pointer(name),
            f"`{name}` is not a section of V1, so it is ignored.",
            suggest(str(name), SECTIONS) or "References belong in `refs`.",
        )
    templates = _read_templates(source, overrides, findings)
    refs = _section(source, "refs", findings)
    rejected_items: list[GenItem] = []
    gen = read_gen(source.get("gen", ()), templates, limits, findings, rejected_items)
    document = Document(1, refs, templates, gen, tuple(rejected_items), findings, limits)
    notes = ArgumentNotes(document)
    for key, value in refs.items() if templates else ():
        notes.add(key, value)
    return document


_READ: WeakValueDictionary[Hashable, GenItem] = WeakValueDictionary()
"""Items of open sets: while a text is being edited, all but one item were parsed before."""


def read_gen(
    source: object,
    templates: Mapping[str, Template],
    limits: Limits,
    findings: Findings,
    rejected: list[GenItem] | None = None,
) -> tuple[GenItem, ...]:
    """Read the ``gen`` section; items that parse but fail are added to `rejected`."""
    if not isinstance(source, Sequence) or isinstance(source, str):
        findings.add("bad-section", "/gen", "`gen` must be a list of objects.")
        return ()
    context = GenContext(templates, limits, KeyCheckBudget(), [] if rejected is None else rejected)
    items = (_known_item(number, item, context, findings) for number, item in enumerate(source))
    return tuple(item for item in items if item is not None)


def _known_item(
    number: int, source: object, context: GenContext, findings: Findings
) -> GenItem | None:
    """Return the item as parsed before, if nothing that it depends on has changed."""
    try:
        text = json.dumps(source, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return read_item(number, source, context, findings)
    named = tuple((name, template) for name, template in context.templates.items() if name in text)
    seen = (number, text, named, context.limits)
    item, noted = _READ.get(seen), Findings()
    if item is None:
        item = read_item(number, source, context, noted)
        if item is not None:
            _READ[seen] = item
    findings.extend(noted if item is None else item.findings)
    return item


def _section(source: Mapping[str, object], name: str, findings: Findings) -> Mapping[str, object]:
    value = source.get(name, {})
    if isinstance(value, Mapping):
        return value
    findings.add(
        "bad-section", pointer(name), f"`{name}` must be an object, not {_json_type(value)}."
    )
    return {}


def _read_templates(
    source: Mapping[str, object], overrides: dict[str, str], findings: Findings
) -> dict[str, Template]:
    written = _section(source, "templates", findings)
    _note_overrides(overrides, written, findings)
    templates: dict[str, Template] = {}
    for name, value in {**written, **overrides}.items():
        template = _read_template(name, value, findings)
        if template is not None:
            templates[name] = template
    return templates


def _note_overrides(
    overrides: Mapping[str, str], written: Mapping[str, object], findings: Findings
) -> None:
    for name in overrides.keys() - written.keys():
        findings.add(
            "override-unused",
            "/templates" if written else "",
            f"The template `{name}` was given at open time, but the set has no template of that "
            "name.",
            suggest(name, written),
        )


def _read_template(name: str, value: object, findings: Findings) -> Template | None:
    at = pointer("templates", name)
    unusable = _unusable(name)
    if unusable:
        findings.add("bad-template-name", at, unusable, "Choose another name.", is_error=True)
        return None
    if not is_speakable(name):
        message = f"The template name `{name}` cannot be written in an expression."
        findings.add("bad-template-name", at, message, "Use letters, digits and underscores.")
    if not isinstance(value, str):
        message = f"The template `{name}` must be a string, not {_json_type(value)}."
        findings.add("bad-template-type", at, message)
        return _broken(name)
    try:
        return compile_template(value if is_template(value) else rendered_plain(value))
    except TemplateProblem as problem:
        findings.add(problem.code, at, str(problem), problem.late_hint)
        return _broken(name)


def _unusable(name: object) -> str:
    """Return why a name is unusable; a dict may have keys that are not text."""
    if not isinstance(name, str):
        return f"A template name must be a string, not {_json_type(name)}."
    return f"jinja2 reserves the name `{name}`." if name in RESERVED else ""


def _broken(name: str) -> Template:
    """Stand in for a template that could not be parsed: its users get an error."""

    def evaluate(scope: Scope) -> Value:
        raise TemplateProblem("bad-template", f"The template `{name}` is not valid.")

    part = Expression(None, evaluate, frozenset())
    return Template("", (part,), frozenset(), recipe=(_broken, name))


class ArgumentNotes:
    """Findings of arguments that the called templates do not use, each URL once."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._seen: set[str] = set()

    def add(self, key: str, value: object) -> None:
        """Check the URL of one entry."""
        url = value[0] if isinstance(value, list) and value else None
        if not isinstance(url, str) or "=" not in url or not is_template(url) or url in self._seen:
            return
        self._seen.add(url)
        document = self._document
        try:
            template = compile_template(url)
        except TemplateProblem:
            return
        at = document.base + pointer(key)
        note_unused_arguments(template, document.templates, at, document.findings)


Forms = dict[str, tuple[str, int]]  # By name, the first key written in this form, and their number
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_WORD = re.compile(_NAME, re.ASCII)
_LITERAL = r"(?:'[^'{}]*'|\"[^\"{}]*\"|[0-9]+)"
_CALL = re.compile(rf"{_NAME}\((?:{_NAME}={_LITERAL}(?:,\s*{_NAME}={_LITERAL})*)?\)", re.ASCII)
_ARITHMETIC = re.compile(r"(?!.*//)[A-Za-z0-9_ +\-*/()]+", re.ASCII)


def written_forms(document: Document, entries: Iterable[tuple[str, object, int]]) -> Forms:
    """Return the reference forms before rendering: keys, values, counts."""
    bare = frozenset(n for n, each in document.templates.items() if not is_template(each.text))
    found: Forms = {}
    for key, value, count in entries:
        if isinstance(value, Mapping):
            names: tuple[str, ...] = ("object",)
        elif document.version and isinstance(value, list | tuple) and value:
            if isinstance(value[0], str):
                names = text_forms(value[0], bare, bool(document.templates))
            else:
                names = ("null-url-beside-templates",) if document.templates else ()
        else:
            continue
        for name in names:
            first, before = found.get(name, (key, 0))
            found[name] = first, before + count
    return found


def text_forms(text: str, bare: frozenset[str], has_templates: bool = True) -> tuple[str, ...]:
    """Return the names of the forms of one text that jinja2 renders."""
    marks = tuple(mark in text for mark in ("{{", "{%", "{#", "\n", "\r"))
    if not any(marks):
        return ()
    tags = tuple(_tags(text))
    is_odd = text.count("{") + text.count("}") != 4 * len(tags)
    return _forms(tags, marks, is_odd and marks[0], bare, has_templates)


def _tags(text: str) -> Iterator[str]:
    """Yield the text in braces; a regex would take quadratic time on unclosed ones."""
    start = text.find("{{")
    while start >= 0 and (end := text.find("}}", start + 2)) >= 0:
        yield text[start + 2 : end]
        start = text.find("{{", end + 2)


@lru_cache(1000)
def _forms(
    tags: tuple[str, ...], marks: tuple[bool, ...], is_odd: bool, bare: frozenset[str], known: bool
) -> tuple[str, ...]:
    """Return the forms of all texts with these tags: many URLs differ only around them."""
    is_rendered = marks[0]
    found = {"line-end" if is_rendered else "line-end-only": None} if any(marks[3:]) else {}
    if any(marks[1:3]):
        found["statement"] = None
    if is_rendered:
        found["template" if known else "no-templates"] = None
        found |= dict.fromkeys(filter(None, (_form_of_tag(tag, bare) for tag in tags)))
    if is_odd:
        found["single-brace"] = None
    return tuple(found)


def _form_of_tag(inner: str, bare: frozenset[str]) -> str:
    """Return the form of the text between braces; none for a bare name."""
    name = inner.strip()
    if name in bare:
        return "spaced-name" if name != inner else ""
    if _CALL.fullmatch(name):
        return "temp-argument" if "temp=" in inner else "call"
    if _WORD.fullmatch(name):
        return "bare-call"
    is_trimmed = name[:1] in "-+" or name[-1:] in "-+"
    return "arithmetic" if _ARITHMETIC.fullmatch(name) and not is_trimmed else "expression"
