"""The text of a reference set around a place in it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from refexplorer.errors import shorten
from refexplorer.formats.json.positions import Positions
from refexplorer.masking import secrets_among, without
from refexplorer.refset.contents import internals

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet

LONGEST_TEXT = 2_000_000
"""Characters of a text that is read again to show a part of it."""
_LINES = 3
_CHARS = 200


def surroundings(refs: ReferenceSet, pointer: str) -> tuple[tuple[int, str], ...] | None:
    """Return the lines around a place, each with its number, from 1; long ones are cut."""
    source = refs.source
    if source.is_large or source.content is None or not (text := source.text):
        return None
    if len(text) > LONGEST_TEXT:
        return None
    whole = (found.pointer for found in refs.diagnostics if shorten(found.pointer) == pointer)
    place = Positions(text).locate(source.base + next(whole, pointer))
    if place is None:
        return None
    texts = [template.text for template in refs.templates.values()]
    urls = internals(refs).target_index.urls if texts else ()
    hide = partial(without, secrets=secrets_among(texts, urls))
    lines = text.splitlines()
    first = max(0, place.line - _LINES)
    before = hide(lines[place.line - 1][: place.column])
    shown = [hide(line) for line in lines[first : place.line + _LINES - 1]]
    start = max(0, len(before) - _CHARS // 2)
    cut = [line[start : start + _CHARS] if len(line) > _CHARS else line for line in shown]
    return tuple(enumerate(cut, first + 1))
