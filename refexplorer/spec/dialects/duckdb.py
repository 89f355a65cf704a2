"""The `read_zarr` of duckdb-zarr with ``format='kerchunk'``: the rules of its source.

What it cannot read of one entry refuses the whole set. Icechunk and parquet are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from refexplorer.spec.dialects.judging import (
    ExplicitEntry,
    ReaderRules,
    Refusal,
    Theirs,
    VerdictTally,
    tags,
)
from refexplorer.spec.dialects.survey import (
    VAST,
    EntryForm,
    EntryGroup,
    Link,
    Shape,
    Survey,
    form_of,
    group_entries,
)
from refexplorer.spec.dialects.verdicts import Basis

PROTOCOLS = ("s3", "gs", "gcs", "az", "azure", "http", "https", "file")
_METADATA = (".zarray", ".zattrs", ".zgroup", ".zmetadata")
_LARGEST = 2**64
_RENDERED = "Of templates each name is replaced once; nothing else is rendered."
_RELATIVE = "Relative URLs are resolved against the working directory, not against the set."
_REFUSED = {
    Shape.OBJECT: "is an object, and only text is read as metadata",
    Shape.FOREIGN_BASE64: "is base64 that breaks a rule",
    Shape.BROKEN_BASE64: "is base64 that breaks a rule",
    Shape.FLOAT_RANGE: "has an offset or length that is written as a float",
    Shape.ODD_RANGE: "has an offset or length that is no whole number of 0 or more",
    Shape.ODD_LIST: "is a list of neither one nor three elements",
    Shape.OTHER: "is neither text nor a list",
}


class DuckdbZarr(ReaderRules):
    """The rules of duckdb-zarr."""

    name = "duckdb-zarr"
    basis = Basis("duckdb-zarr after 0.1.3 (1036ec6)", "2026-11-22", "source")

    def open(self, survey: Survey, tally: VerdictTally) -> None:
        """Refuse ``gen`` that is not empty, and sections of other types."""
        written = survey.written
        if "refs" in written and not isinstance(written["refs"], Mapping):
            raise Refusal("`refs` is not an object.")
        templates = written.get("templates")
        if templates is not None and not _is_of_texts(templates):
            raise Refusal("`templates` is not an object of texts.")
        gen = written.get("gen")
        if gen is not None and not isinstance(gen, list | tuple):
            raise Refusal("`gen` is not a list.")
        if gen and "refs" in written:
            raise Refusal("`gen` is not supported.")

    def groups(self, survey: Survey) -> Iterable[EntryGroup]:
        """Group the entries also by what it refuses."""
        form = self.forms(survey)
        refs = survey.document.refs.items()
        return group_entries(((form(k, v), k, v) for k, v in refs), survey.counts)

    def forms(self, survey: Survey) -> Callable[[str, object], EntryForm]:
        """Tell forms that name why an entry is refused, if it is."""
        version = survey.document.version

        def form(key: str, value: object) -> EntryForm:
            found = form_of(key, value, version)
            return found._replace(role=_why_refused(str(key), value, found))

        return form

    def read(self, entry: ExplicitEntry, survey: Survey, tally: VerdictTally) -> Theirs:
        """Read text and lists."""
        form = entry.form
        if form.role:
            raise Refusal(f"`{entry.key}` {form.role}.")
        if not isinstance(entry.value, list | tuple):
            return Theirs(entry.value)
        if form.link is Link.RELATIVE:
            tally.note(_RELATIVE)
        if form.link is Link.ABSOLUTE and form.text not in PROTOCOLS:
            tally.note(f"No data is read from {form.text}://, for which no file system is known.")
        url, *numbers = entry.value
        return Theirs([_rendered(entry.key, str(url), survey), *numbers], _RENDERED)

    def generate(self, survey: Survey, tally: VerdictTally) -> None:
        """There is no ``gen`` here: `open` refuses it."""


def _why_refused(key: str, value: object, form: EntryForm) -> str:
    """Say why an entry, and with it the set, is refused whatever its URL; empty if it is not."""
    key = key.lstrip("/")
    if not form.good_key or key.endswith("/") or "//" in key:
        return "is no key of a store"
    if form.shape in _REFUSED:
        return _REFUSED[form.shape]
    if isinstance(value, list | tuple):
        if form.link in (Link.NULL, Link.ODD):
            return "has a URL that is no text"
        is_vast = form.detail == VAST and max(value[1:]) >= _LARGEST
        return "has a number of more than 64 bits" if is_vast else ""
    is_metadata = key.rpartition("/")[2] in _METADATA and form.shape is Shape.TEXT
    if is_metadata and str(value).strip()[:1] not in ("{", "["):
        return "is not a JSON document"
    return ""


def _is_of_texts(templates: object) -> bool:
    return isinstance(templates, Mapping) and all(
        isinstance(each, str) for each in templates.values()
    )


def _rendered(key: str, text: str, survey: Survey) -> str:
    """Return a URL with its names replaced; V0 has no templates, and braces are refused there."""
    pieces, position = [], 0
    for start, end in tags(text):
        name = text[start + 2 : end - 2].strip()
        value = survey.templates.get(name)
        if not isinstance(value, str):
            raise Refusal(f"`{key}` names a template {name!r} that is not defined.")
        pieces += [text[position:start], value]
        position = end
    if "{{" in text[position:]:
        raise Refusal(f"`{key}` has a template that does not end.")
    return "".join([*pieces, text[position:]])
