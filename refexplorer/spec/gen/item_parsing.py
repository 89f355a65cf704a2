"""Parsing of the ``gen`` section: each item is checked by a sample of its keys, or rejected.

Source: reference specification, "Version 1", ``gen``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard
from weakref import WeakValueDictionary

from refexplorer.limits import Limits
from refexplorer.spec.core.diagnostics import Findings, pointer
from refexplorer.spec.gen.dimensions import Dimension, read_dimensions
from refexplorer.spec.gen.item import FIELDS, GenItem
from refexplorer.spec.gen.key_check import Effort, look_at_keys
from refexplorer.spec.templates.compiler import compile_template
from refexplorer.spec.templates.operations import TemplateProblem
from refexplorer.spec.templates.template import Compile, Template, is_template, rendered_plain

_READ: WeakValueDictionary[Hashable, GenItem] = WeakValueDictionary()
"""Items that an open set has: of a text that is being typed, all but one were read before."""


@dataclass(frozen=True, slots=True)
class _Given:
    """The context of all items of a document, and the effort left for checking their keys."""

    templates: Mapping[str, Template]
    limits: Limits
    compiler: Compile
    effort: Effort
    rejected: list[GenItem]


def read_gen(
    source: object,
    templates: Mapping[str, Template],
    limits: Limits,
    findings: Findings,
    compiler: Compile = compile_template,
    rejected: list[GenItem] | None = None,
) -> tuple[GenItem, ...]:
    """Read the ``gen`` section; items that are rejected are left out and noted.

    Those whose templates can be read, but fail, are added to `rejected`.
    """
    if not isinstance(source, Sequence) or isinstance(source, str):
        findings.add("bad-section", "/gen", "`gen` must be a list of objects.")
        return ()
    given = _Given(templates, limits, compiler, Effort(), [] if rejected is None else rejected)
    items = (_known_item(number, item, given, findings) for number, item in enumerate(source))
    return tuple(item for item in items if item is not None)


def _known_item(number: int, source: object, given: _Given, findings: Findings) -> GenItem | None:
    """Return the item as it was read before, if nothing that it depends on has changed."""
    try:
        text = json.dumps(source, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return _read_item(number, source, given, findings)
    named = tuple((name, template) for name, template in given.templates.items() if name in text)
    seen = (number, text, named, given.limits, given.compiler)
    item, noted = _READ.get(seen), Findings()
    if item is None:
        item = _read_item(number, source, given, noted)
        if item is not None:
            _READ[seen] = item
    findings.extend(noted if item is None else item.findings)
    return item


def _read_item(number: int, source: object, given: _Given, findings: Findings) -> GenItem | None:
    at = pointer("gen", number)
    if not isinstance(source, Mapping):
        findings.add("gen-bad-item", at, f"gen[{number}] must be an object.")
        return None
    for extra in source.keys() - {*FIELDS, "dimensions"}:
        _note_extra(extra, source, at, findings)
    if not _has_fields(source, at, findings):
        return None
    dimensions = read_dimensions(source["dimensions"], at + "/dimensions", findings)
    names = [name for name in FIELDS if name in source]
    fields = [_read_field(name, source, at, findings, given.compiler) for name in names]
    if dimensions is None or None in fields or _clashes(dimensions, given.templates, at, findings):
        return None
    compiled = dict(zip(names, fields, strict=True))
    item = GenItem(
        number,
        dimensions,
        compiled["key"],  # type: ignore[arg-type]
        compiled["url"],  # type: ignore[arg-type]
        compiled.get("offset"),
        compiled.get("length"),
        given.templates,
        given.limits,
        findings,
    )
    if not item.grid.count:
        empty = next(d.name for d in item.dimensions if not d.size)
        findings.add(
            "gen-empty", at, f"gen[{number}] generates no keys: the dimension `{empty}` is empty."
        )
        return item
    looked = look_at_keys(item, given.effort, at, findings)
    if looked is None:
        given.rejected.append(item)
        return None
    item = looked
    _note_arguments(item, at, findings)
    _note_equal_keys(item, at, findings)
    _note_equal_ranges(item, at, findings)
    return item


def _note_extra(name: str, source: Mapping[str, object], at: str, findings: Findings) -> None:
    hint = "Did you mean `length`?" if name == "size" and "length" not in source else ""
    findings.add(
        "unknown-field",
        at + pointer(name),
        f"`{name}` is not a field of a gen item and is ignored.",
        hint,
    )


def _has_fields(source: Mapping[str, object], at: str, findings: Findings) -> bool:
    good = True
    for name in ("key", "url", "dimensions"):
        if name not in source:
            findings.add(
                "gen-missing-field", at, f"The gen item has no `{name}`, which is required."
            )
            good = False
    if ("offset" in source) != ("length" in source):
        has, lacks = ("offset", "length") if "offset" in source else ("length", "offset")
        findings.add(
            "gen-offset-length-pair",
            at,
            f"The gen item has `{has}`, but no `{lacks}`.",
            f"Add `{lacks}`, or omit both to refer to whole files.",
        )
        good = False
    return good


def _read_field(
    name: str, source: Mapping[str, object], at: str, findings: Findings, compiler: Compile
) -> Template | None:
    value, where = source[name], at + pointer(name)
    if _is_whole(value) and name in ("offset", "length"):
        findings.add(
            "gen-number-not-string",
            where,
            f"`{name}` is a number, but the specification requires a string.",
            f'Write "{int(value)}".',
        )
        value = f"{int(value)}"
    if not isinstance(value, str):
        code = "gen-bad-int" if name in ("offset", "length") else "gen-bad-field"
        findings.add(code, where, f"`{name}` must be a string.")
        return None
    if not is_template(value):
        value = rendered_plain(value)
    try:
        return compiler(value)
    except TemplateProblem as problem:
        findings.add(problem.code, where, str(problem), problem.hint)
        return None


def _is_whole(value: object) -> TypeGuard[int | float]:
    return type(value) is int or (isinstance(value, float) and value.is_integer())


def _clashes(
    dimensions: tuple[Dimension, ...],
    templates: Mapping[str, Template],
    at: str,
    findings: Findings,
) -> bool:
    clashing = [dimension.name for dimension in dimensions if dimension.name in templates]
    for name in clashing:
        findings.add(
            "name-clash",
            at + pointer("dimensions", name),
            f"`{name}` is the name of both a dimension and a template.",
            "Rename one of them.",
        )
    return bool(clashing)


def _note_arguments(item: GenItem, at: str, findings: Findings) -> None:
    for name in FIELDS:
        template = getattr(item, name)
        if template is not None:
            note_unused_arguments(template, item.templates, at + pointer(name), findings)


def note_unused_arguments(
    template: Template, templates: Mapping[str, Template], at: str, findings: Findings
) -> None:
    """Note arguments that a call passes and the called template does not use."""
    for name, arguments in template.calls:
        for extra in sorted(arguments - templates[name].names) if name in templates else ():
            findings.add("unused-argument", at, f"The template `{name}` does not use `{extra}`.")


def _note_equal_keys(item: GenItem, at: str, findings: Findings) -> None:
    if not item.certain:
        findings.add(
            "gen-not-checked",
            at,
            f"gen[{item.number}] generates up to {item.count:,} keys, too many to check for "
            "duplicates.",
            "Use each dimension by itself in `key`, so that every key is certain to differ.",
        )
    elif item.count < item.grid.count:
        findings.add(
            "gen-duplicate-key",
            at,
            f"gen[{item.number}] generates only {item.count:,} distinct keys from "
            f"{item.grid.count:,} combinations; the last reference of each key is used.",
        )


def _note_equal_ranges(item: GenItem, at: str, findings: Findings) -> None:
    """Note dimensions of the key that the byte range does not depend on."""
    if item.offset is None or item.length is None:
        return
    used = item.url.names | item.offset.names | item.length.names
    unused = [d for d in item.varying.dimensions if d.size > 1 and d.name not in used]
    if not unused:
        return
    names = ", ".join(f"`{dimension.name}`" for dimension in unused)
    alike = math.prod(dimension.size for dimension in unused)
    findings.add(
        "repeated-range",
        at,
        f"gen[{item.number}] generates {alike:,} keys for each byte range: neither `url` nor "
        f"`offset` nor `length` uses {names}.",
        "This is correct only where their values are equal, as in empty regions; otherwise use "
        f"{names} there.",
        count=item.varying.count - item.varying.count // alike,
    )
