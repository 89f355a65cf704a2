"""The features of the specification used by a set, and a dated table of readers without them.

One pass over the columns finds the features; no reader is imitated. Readers that can be run are in
`running`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from refexplorer.formats.columns.references import BASE64, RANGE, URL, Columns
from refexplorer.formats.source import Source
from refexplorer.readers.verdicts import Basis, Outcome
from refexplorer.refset.generated import Generated
from refexplorer.refset.opened_set import Contents
from refexplorer.refset.segments import Segment
from refexplorer.spec.document import text_forms
from refexplorer.spec.findings import pointer
from refexplorer.spec.references import Range
from refexplorer.spec.templates.template import is_template

FSSPEC = "fsspec (default)"
JINJA = "fsspec (simple_templates=False)"
VIRTUALIZARR = "VirtualiZarr"
ICECHUNK = "icechunk"
JAVASCRIPT = "reference-spec-reader, zarrita (JavaScript)"
_TABLE: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("features.json").read_text(encoding="utf-8")
)
"""In JSON, as TOML takes 2 ms to read: of readers the version, when it was tried or its source was
read, and the protocols of URLs if it reads few; of features a title, when `check` has a note on it,
and what it means to readers: outcome, sentence, names."""
BASES, ICECHUNK_BASES = (
    {name: Basis(each["version"], each["date"], each["how"]) for name, each in _TABLE[part].items()}
    for part in ("readers", "icechunk_readers")
)
"""The readers of reference sets (zarr-java 0.2.0 has no store for them), and those of Icechunk."""
WHOLE = (FSSPEC, JINJA, JAVASCRIPT)  # Readers of the whole specification: a refusal is noted

Effect = tuple[str, Outcome, str]


NEVER, SILENT, ALWAYS = "never", "silent", "always"
"""Never where another diagnostic says it; silent: where a reader that lacks it does not say so, or
one of the whole specification refuses the set."""


class Feature(NamedTuple):
    """A feature that a set may use: its name, and the readers that lack it."""

    title: str
    effects: tuple[Effect, ...]
    noting: str = SILENT  # When `check` has a note on it


EXACT = 2**53  # Up to here each whole number is a 64-bit float
_MAP_ENTRIES = 2**24  # entries of a JavaScript Map in V8
_MANY_KEYS = 24_000  # Those that fsspec renders in a minute
_LONGEST_UINT32 = 2**32 - 1  # the parquet columns of some readers have 32 bits
FEATURES = {
    name: Feature(
        each["title"],
        tuple(
            (reader, Outcome(outcome), sentence)
            for outcome, sentence, readers in each["effects"]
            for reader in readers
        ),
        each.get("noting", SILENT),
    )
    for name, each in _TABLE["features"].items()
}
_OF_CODES = {
    "bad-template-name": "template-names", "gen-number-not-string": "gen-names",
    "float-offset": "float-numbers", "gen-empty": "gen-empty", "nonstandard-json-nan": "nan",
}  # fmt: skip
"""Features that opening found and has a diagnostic for."""
PROTOCOLS = frozenset({
    "abfs", "abfss", "adl", "az", "data", "file", "ftp", "gcs", "gs", "hdfs", "hf", "http", "https",
    "local", "memory", "oci", "osdf", "oss", "s3", "s3a", "sftp", "ssh", "tos", "webdav", "webhdfs",
})  # fmt: skip
"""What fsspec, or a package for it, reads."""
_START = r"^(?P<start>[A-Za-z][A-Za-z0-9+.\-]*:|/|)"


class Use(NamedTuple):
    """A feature used by a set: its name, or `protocol:` with the protocol."""

    name: str
    key: str | None
    n_keys: int = 1
    place: str = ""  # A pointer, if there is no key

    @property
    def feature(self) -> Feature:
        """What is known about it."""
        name, _, protocol = self.name.partition(":")
        return _of_protocol(protocol) if protocol else FEATURES[name]


class ColumnFeatures:
    """The features of stored references."""

    def __init__(self) -> None:
        self.found = _UsedFeatures()

    def look(self, part: Segment, columns: Columns) -> None:
        for name, flags in _of_columns(columns):
            if count := int(np.count_nonzero(flags)):
                self.found.add(name, part.key_at(int(flags.argmax())), count)


def features_of(
    source: Source, contents: Contents, columns: ColumnFeatures | None = None
) -> list[Use]:
    """Return the features used by a set, each once with its first key and its count."""
    if columns is None:
        columns = ColumnFeatures()
        for each in contents.opened.columns():
            columns.look(*each)
    found = _UsedFeatures()
    _add_form(source, contents, found)
    _add_gen(contents, found)
    for name, (key, count) in contents.forms.items():
        found.add(name, key, count)
        if name == "object" and source.form == "V1":
            found.add("object-in-v1", key, count)
    for finding in contents.findings:
        if finding.code in _OF_CODES:
            found.add(_OF_CODES[finding.code], finding.key, finding.count, finding.pointer)
    _add_metadata(contents, found)
    for use in columns.found.uses.values():
        found.add(*use)
    return [*found.uses.values()]


class _UsedFeatures:
    def __init__(self) -> None:
        self.uses: dict[str, Use] = {}

    def add(self, name: str, key: str | None = None, count: int = 1, place: str = "") -> None:
        """Count a use; the first key is kept."""
        before = self.uses.get(name)
        if before is not None:
            self.uses[name] = before._replace(n_keys=before.n_keys + count)
        else:
            self.uses[name] = Use(name, key, count, place)


def _add_form(source: Source, contents: Contents, found: _UsedFeatures) -> None:
    if source.form == "V0":
        found.add("version-0")
        if ".zgroup" not in contents.opened.table.metadata:
            found.add("no-root-group")
    if source.form == "parquet":
        found.add("parquet")
    if source.form == "V1" and contents.templates:
        found.add("templates", place="/templates")


def _add_gen(contents: Contents, found: _UsedFeatures) -> None:
    """Add the features of gen items; items rejected as a whole have a diagnostic."""
    bare = frozenset(n for n, each in contents.templates.items() if not is_template(each.text))
    for name, template in contents.templates.items():
        if name not in bare and "expression" in text_forms(
            template.text, frozenset(template.names)
        ):
            found.add("template-expression", place=pointer("templates", name))
        if name not in bare and "{{" not in template.text:  # fsspec reads it as plain text
            found.add("statement", place=pointer("templates", name))
    for part in contents.opened.segments:
        if isinstance(part, Generated):
            place = pointer("gen", part.item.number)
            for name in _of_item(part, bare):
                found.add(name, None, part.count, place)


def _of_item(part: Generated, bare: frozenset[str]) -> Iterator[str]:
    item = part.item
    known = bare | {each.name for each in item.dimensions}
    fields = [each.text for each in (item.key, item.url, item.offset, item.length) if each]
    forms = {form for text in fields for form in text_forms(text, known)}
    last = part.reference_at(part.count - 1)
    used = {
        "gen": True,
        "gen-many": part.count > _MANY_KEYS,
        "gen-large": part.count > _MAP_ENTRIES,
        "gen-down": any(isinstance(d.values, range) and d.values.step < 0 for d in item.dimensions),
        "gen-names": "self" in known,
        "gen-statement": "statement" in forms,
        "gen-expression": "expression" in forms,
        "gen-call": bool(forms & {"bare-call", "temp-argument"}),
        "vast": isinstance(last, Range) and max(last.offset, last.length) > EXACT,
    }
    yield from (name for name, is_used in used.items() if is_used)


def _add_metadata(contents: Contents, found: _UsedFeatures) -> None:
    arrays = contents.opened.arrays
    for key in contents.opened.table.metadata:
        path, _, name = key.rpartition("/")
        if name == "zarr.json":
            found.add("zarr-3", key)
        elif name == ".zarray":
            array = arrays.get(path)
            if "/" in path:
                found.add("groups", key)
            elif array is not None and array.separator == "/" and len(array.shape) > 1:
                found.add("slashes", key)


def _of_columns(columns: Columns) -> Iterator[tuple[str, np.ndarray]]:
    """Yield features of references with a flag for each row."""
    kinds, lengths = columns.kinds, columns.lengths
    is_range = kinds == RANGE
    yield "whole-file", kinds == URL
    yield "empty-base64", (kinds == BASE64) & (lengths == 0)
    yield "empty-range", is_range & (lengths == 0)
    yield "long-range", is_range & (lengths > _LONGEST_UINT32)
    yield "vast", is_range & ((columns.offsets > EXACT) | (lengths > EXACT))
    found: dict[str, np.ndarray] = {}
    for start, positions in columns.urls.by_start(_START):
        flags = np.isin(columns.targets, positions) & (columns.targets >= 0)
        if start is None or not start:
            name = "null-url" if start is None else "relative"
        elif len(start) > len("C:"):
            name = f"protocol:{start[:-1].lower()}"
        else:
            continue
        found[name] = flags | found.get(name, False)
    yield from found.items()


def _of_protocol(name: str) -> Feature:
    if name not in PROTOCOLS:
        said = f"No known reader supports {name}: URLs."
        return Feature(f"{name}: URLs", tuple((each, Outcome.SAME, said) for each in BASES), ALWAYS)
    readers = _TABLE["readers"].items()
    lacking = (each for each, known in readers if name not in known.get("protocols", (name,)))
    said = f"It reads no data from {name}: URLs, for which it knows no file system."
    return Feature(f"{name}: URLs", tuple((each, Outcome.SAME, said) for each in lacking), NEVER)


def effects_on(uses: Iterable[Use]) -> dict[str, list[tuple[Use, Outcome, str]]]:
    """Return the effect of a set's features on each reader."""
    found: dict[str, list[tuple[Use, Outcome, str]]] = {reader: [] for reader in BASES}
    for use in uses:
        for reader, outcome, sentence in use.feature.effects:
            found[reader].append((use, outcome, sentence))
    return found
