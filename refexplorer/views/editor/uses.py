"""Which rows a part of a document makes: a gen item, a reference, a template that others use."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from refexplorer.spec.diagnostics import parts_of
from refexplorer.spec.gen.item import FIELDS
from refexplorer.spec.templates.compiler import compile_template
from refexplorer.spec.templates.syntax import TemplateProblem
from refexplorer.spec.templates.template import is_template
from refexplorer.views.wire.editor.row_messages import Uses

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet

_RANGES = 200
"""Runs of rows that one answer carries, from the first one on."""
_NOTHING = Uses(None, ())


def uses(refs: ReferenceSet, pointer: str) -> Uses:
    """Return the rows that come from what a JSON pointer names."""
    parts = parts_of(pointer)
    if refs.source.form == "V0":
        return _of_key(refs, parts[0]) if parts else _NOTHING
    if len(parts) < 2:
        return _NOTHING
    section, name = parts[:2]
    if section == "refs":
        return _of_key(refs, name)
    if section == "gen":
        return Uses(f"gen[{name}]", _ranges([refs.numbers(f"gen[{name}]")]))
    if section == "templates":
        return Uses(f"templates/{name}", _ranges(_of_template(refs, name)))
    return _NOTHING


def _of_key(refs: ReferenceSet, key: str) -> Uses:
    try:
        number = refs.number(key)
    except KeyError:
        return _NOTHING
    # a gen item may have made the same key again: then the entry is not what the row shows
    return _NOTHING if refs.origin(key) != "refs" else Uses(key, ((number, number + 1),))


def _of_template(refs: ReferenceSet, name: str) -> Iterator[range]:
    document = json.loads(refs.source.text or "{}")
    entries, items = document.get("refs"), document.get("gen")
    explicit = refs.numbers("refs")
    using: dict[str, bool] = {}
    for number, key in enumerate(refs.keys_at(explicit.start, explicit.stop), explicit.start):
        written = entries.get(key)
        url = written[0] if isinstance(written, list) and written else None
        if isinstance(url, str):
            if url not in using:
                using[url] = _names(url, name)
            if using[url]:
                yield range(number, number + 1)
    for place, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict) and any(_names(item.get(field), name) for field in FIELDS):
            yield refs.numbers(f"gen[{place}]")


def _names(text: object, name: str) -> bool:
    """Say whether a jinja-str uses a name."""
    if not isinstance(text, str) or name not in text or not is_template(text):
        return False
    try:
        return name in compile_template(text).names
    except TemplateProblem:
        return False


def _ranges(found: Iterable[range]) -> tuple[tuple[int, int], ...]:
    """Join what touches; sorted."""
    joined: list[tuple[int, int]] = []
    for one in sorted((r.start, r.stop) for r in found if r.start < r.stop):
        if joined and one[0] <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], one[1]))
        else:
            joined.append(one)
    return tuple(joined[:_RANGES])
