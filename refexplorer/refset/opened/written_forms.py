"""Ways of writing that are lost when references become columns, and that readers treat differently.

A set keeps only the first key and the number of each; `refexplorer.readers.features` says what
readers make of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np
import pyarrow.compute as pc

from refexplorer.formats.buffers.arrow import flags_of, number_column
from refexplorer.formats.buffers.entries import Entries
from refexplorer.spec.document.model import Document
from refexplorer.spec.templates.template import is_template

Forms = dict[str, tuple[str, int]]
"""By its name, the first key that is written so, and how many are."""
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_WORD = re.compile(_NAME, re.ASCII)
_LITERAL = r"(?:'[^'{}]*'|\"[^\"{}]*\"|[0-9]+)"
_CALL = re.compile(rf"{_NAME}\((?:{_NAME}={_LITERAL}(?:,\s*{_NAME}={_LITERAL})*)?\)", re.ASCII)
_ARITHMETIC = re.compile(r"(?!.*//)[A-Za-z0-9_ +\-*/()]+", re.ASCII)
_SUSPECT = r"[{\r\n]"


def written_forms(document: Document, entries: Entries | None) -> Forms:
    """Return the forms of the explicit references of a document, before templates are rendered."""
    bare = frozenset(n for n, each in document.templates.items() if not is_template(each.text))
    found: Forms = {}
    for key, value, count in _written(document, entries):
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
    """Return the names of the forms of one text that jinja2 renders.

    Parameters
    ----------
    bare
        Names of templates that hold plain text.
    has_templates
        Whether the document has any.
    """
    marks = tuple(mark in text for mark in ("{{", "{%", "{#", "\n", "\r"))
    if not any(marks):
        return ()
    tags = tuple(_tags(text))
    is_odd = text.count("{") + text.count("}") != 4 * len(tags)
    return _forms(tags, marks, is_odd and marks[0], bare, has_templates)


def _tags(text: str) -> Iterator[str]:
    """Yield what is in braces; a pattern would take the square of a text that closes none."""
    start = text.find("{{")
    while start >= 0 and (end := text.find("}}", start + 2)) >= 0:
        yield text[start + 2 : end]
        start = text.find("{{", end + 2)


@lru_cache(1000)
def _forms(
    tags: tuple[str, ...], marks: tuple[bool, ...], is_odd: bool, bare: frozenset[str], known: bool
) -> tuple[str, ...]:
    """Return the forms of all texts with these tags: many URLs differ in what is around them."""
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
    """Return the form of what is between braces; none for the bare name of a text."""
    name = inner.strip()
    if name in bare:
        return "spaced-name" if name != inner else ""
    if _CALL.fullmatch(name):
        return "temp-argument" if "temp=" in inner else "call"
    if _WORD.fullmatch(name):
        return "bare-call"
    is_trimmed = name[:1] in "-+" or name[-1:] in "-+"
    return "arithmetic" if _ARITHMETIC.fullmatch(name) and not is_trimmed else "expression"


def _written(document: Document, entries: Entries | None) -> Iterator[tuple[str, object, int]]:
    """Yield keys and values as they are written; of a column of URLs those that may be rendered."""
    if entries is None:
        yield from ((key, value, 1) for key, value in document.refs.items())
        return
    for row, value in entries.values.items():
        yield entries.keys[row].as_py(), value, 1
    if not document.version:
        return
    suspects = flags_of(pc.match_substring_regex(entries.urls, _SUSPECT))
    if not suspects.any():
        return
    firsts = np.full(len(suspects) + 1, -1)
    firsts[entries.codes[::-1]] = np.arange(len(entries.codes))[::-1]
    counts = np.bincount(entries.codes + 1)[1:]
    chosen = np.flatnonzero(suspects & (firsts[:-1] >= 0))
    chosen = chosen[np.argsort(firsts[chosen], kind="stable")]
    keys = entries.keys.take(number_column(firsts[chosen])).to_pylist()
    urls = entries.urls.take(number_column(chosen)).to_pylist()
    for key, url, count in zip(keys, urls, counts[chosen].tolist(), strict=True):
        yield key, [url], count
