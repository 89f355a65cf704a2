"""Kerchunk.jl's `ReferenceStore`: the rules of version 0.1."""

from __future__ import annotations

from collections.abc import Mapping

from refexplorer.spec.dialects.judging import (
    ExplicitEntry,
    ReaderRules,
    Refusal,
    Theirs,
    VerdictTally,
    tags,
    unknown,
)
from refexplorer.spec.dialects.survey import Link, Shape, Survey
from refexplorer.spec.dialects.verdicts import Basis

PROTOCOLS = ("s3", "file")
_MUSTACHE_ONLY = "#^/!>&={"
_RENDERED = "URLs are rendered by Mustache: a tag that names no template renders to nothing."
_ODD = "Only text, [url] and [url, offset, length] can be read; other values raise an error."


class KerchunkJl(ReaderRules):
    """The rules of Kerchunk.jl."""

    name = "Kerchunk.jl"
    basis = Basis("Kerchunk.jl 0.1", "2026-11-21", "source")

    def open(self, survey: Survey, tally: VerdictTally) -> None:
        """Refuse V0, and ``gen`` even if it is empty."""
        if not survey.document.version:
            raise Refusal("There is no `version`, and only V1 is read (AssertionError).")
        if "gen" in survey.written:
            raise Refusal("`gen` is not supported (AssertionError).")
        if not isinstance(survey.written.get("refs"), Mapping):
            raise Refusal("There is no object `refs` (KeyError).")

    def read(self, entry: ExplicitEntry, survey: Survey, tally: VerdictTally) -> Theirs:
        """Read text and lists; templates are names that Mustache replaces."""
        shape = entry.form.shape
        if isinstance(entry.value, str):
            is_odd = shape in (Shape.FOREIGN_BASE64, Shape.BROKEN_BASE64)
            return unknown(_ODD) if is_odd else Theirs(entry.value)
        if shape not in (Shape.WHOLE, Shape.RANGE, Shape.LONG_RANGE, Shape.EMPTY_RANGE):
            return unknown(_ODD)
        return self._read_list(entry, survey, tally)

    def _read_list(self, entry: ExplicitEntry, survey: Survey, tally: VerdictTally) -> Theirs:
        form = entry.form
        assert isinstance(entry.value, list | tuple)
        url, *numbers = entry.value
        if form.link in (Link.NULL, Link.ODD) or form.shape is Shape.EMPTY_RANGE:
            return unknown(_ODD)
        if "templates" in survey.written:
            url = _render(str(url), survey.written["templates"])
        if url is None:
            return unknown(_RENDERED)
        if form.link is Link.ABSOLUTE and form.text not in PROTOCOLS:
            tally.note(f"No data is read from {form.text}://, only from s3:// and local files.")
        return Theirs([url, *numbers], _RENDERED)

    def generate(self, survey: Survey, tally: VerdictTally) -> None:
        """There is no ``gen`` here: `open` refuses it."""


def _render(text: str, templates: object) -> str | None:
    """Return a URL as Mustache renders it; None where it has a syntax that is not computed."""
    names = templates if isinstance(templates, Mapping) else {}
    pieces, position = [], 0
    for start, end in tags(text):
        tag = text[start + 2 : end - 2].strip()
        value = names.get(tag, "")
        if not tag or tag[0] in _MUSTACHE_ONLY or not isinstance(value, str):
            return None
        pieces += [text[position:start], value]
        position = end
    return "".join([*pieces, text[position:]])
