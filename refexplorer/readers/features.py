"""What a set uses of the specification, and a dated table of the readers that lack it.

One pass over the columns finds the features; nothing of a reader is imitated. Readers that can be
run are in `running`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from refexplorer.formats.columns.references import BASE64, RANGE, URL, Columns
from refexplorer.formats.source import Source
from refexplorer.readers.verdicts import Basis, Outcome
from refexplorer.refset.contents import Contents, text_forms
from refexplorer.refset.segments import Generated
from refexplorer.spec.diagnostics import pointer
from refexplorer.spec.references import Range
from refexplorer.spec.templates.template import is_template

FSSPEC = "fsspec (default)"
JINJA = "fsspec (simple_templates=False)"
VIRTUALIZARR = "VirtualiZarr"
JAVASCRIPT = "reference-spec-reader, zarrita (JavaScript)"
JULIA = "Kerchunk.jl"
GDAL = "GDAL"
DUCKDB = "duckdb-zarr"
BASES = {
    FSSPEC: Basis("fsspec 2026.9", "2026-11-21", "seen"),
    JINJA: Basis("fsspec 2026.9", "2026-11-21", "seen"),
    VIRTUALIZARR: Basis("VirtualiZarr 2.8", "2026-11-21", "seen"),
    JAVASCRIPT: Basis("reference-spec-reader 0.2", "2026-11-21", "seen"),
    JULIA: Basis("Kerchunk.jl 0.1", "2026-11-21", "source"),
    GDAL: Basis("GDAL 3.12.4", "2026-11-21", "seen"),
    DUCKDB: Basis("duckdb-zarr after 0.1.3 (1036ec6)", "2026-11-22", "source"),
}
"""The readers of reference sets; zarr-java (0.2.0) has no store for references."""
WHOLE = (FSSPEC, JINJA, JAVASCRIPT)
"""The readers of the whole specification: where one refuses a set, it is worth a note."""

DROPPED, DIFFERENT, REFUSED = Outcome.DROPPED, Outcome.DIFFERENT, Outcome.REFUSED
Effect = tuple[str, Outcome, str]


NEVER, SILENT, ALWAYS = "never", "silent", "always"
"""Never where another diagnostic says it; silent: where a reader that lacks it does not say so, or
one of the whole specification refuses the set."""


class Feature(NamedTuple):
    """Something that a set uses: what it is called, and the readers that lack it.

    An effect of `Outcome.SAME` is a fact worth knowing about a reader that has the feature.
    """

    title: str
    effects: tuple[Effect, ...]
    noting: str = SILENT
    """When `check` has a note on it."""


EXACT = 2**53
"""Up to here each whole number is a 64-bit float."""
_MAP_ENTRIES = 2**24  # entries of a JavaScript Map in V8
_MANY_KEYS = 24_000
"""Those that fsspec renders in a minute."""
_LONGEST_UINT32 = 2**32 - 1  # GDAL refuses longer ranges
_BRACES = "The braces of a URL are kept as they are."
_NO_EXPRESSIONS = (
    (JULIA, DIFFERENT, "Only names of templates are replaced."),
    (DUCKDB, REFUSED, "Only names of templates are replaced."),
)
_BY_FORMAT = "`str.format` renders names alone; use `simple_templates=False`."
_NO_GEN = "`gen` is not supported."
FEATURES = {
    "version-0": Feature(
        "version 0",
        (
            (VIRTUALIZARR, REFUSED, "Version 0 is not read, only version 1."),
            (JULIA, REFUSED, "Version 0 is not read, only version 1."),
        ),
    ),
    "no-root-group": Feature(
        "version 0 without `.zgroup`",
        ((GDAL, REFUSED, "It recognizes version 0 by the key `.zgroup`."),),
    ),
    "no-templates": Feature(
        "braces in URLs without `templates`",
        (
            (FSSPEC, DIFFERENT, f"Without `templates`: {_BRACES}"),
            (JINJA, DIFFERENT, f"Without `templates`: {_BRACES}"),
        ),
    ),
    "templates": Feature("templates", ((GDAL, REFUSED, "`templates` is not supported."),)),
    "template": Feature("templates in URLs", ((VIRTUALIZARR, DIFFERENT, _BRACES),)),
    "spaced-name": Feature(
        "names of templates between blanks",
        ((FSSPEC, REFUSED, "`str.format` takes the blanks for a part of the name."),),
    ),
    "call": Feature("calls of templates", ((FSSPEC, REFUSED, _BY_FORMAT), *_NO_EXPRESSIONS)),
    "temp-argument": Feature(
        "an argument `temp`",
        (
            (FSSPEC, REFUSED, _BY_FORMAT),
            (JINJA, DIFFERENT, "An argument `temp` replaces the text of the template."),
            *_NO_EXPRESSIONS,
        ),
    ),
    "bare-call": Feature(
        "templates that hold expressions, used without a call",
        (
            (FSSPEC, DIFFERENT, "Such a template is printed as a Python function."),
            (JINJA, DIFFERENT, "Such a template is printed as a Python function."),
        ),
    ),
    "arithmetic": Feature("arithmetic", ((FSSPEC, REFUSED, _BY_FORMAT), *_NO_EXPRESSIONS)),
    "expression": Feature(
        "expressions beyond names, calls with literal arguments and arithmetic",
        (
            (FSSPEC, REFUSED, _BY_FORMAT),
            (JAVASCRIPT, REFUSED, "Such an expression is an error."),
            *_NO_EXPRESSIONS,
        ),
    ),
    "statement": Feature(
        "statements or comments of jinja2",
        (
            (FSSPEC, DIFFERENT, "They are kept as they are."),
            (JINJA, DIFFERENT, "They are kept as they are, unless the URL has `{{`, too."),
            (JAVASCRIPT, DIFFERENT, "They are kept as they are."),
        ),
    ),
    "single-brace": Feature(
        "single braces beside templates",
        ((FSSPEC, DIFFERENT, "`str.format` takes single braces for a template."),),
    ),
    "line-end": Feature(
        "URLs with a line end beside templates",
        (
            (FSSPEC, DIFFERENT, "A line end is kept."),
            (JAVASCRIPT, DIFFERENT, "A line end is kept."),
        ),
    ),
    "line-end-only": Feature(
        "URLs with a line end",
        tuple((reader, DIFFERENT, "A line end is kept.") for reader in WHOLE),
    ),
    "gen": Feature(
        "gen",
        (
            (FSSPEC, DROPPED, "Since 2026.6 `gen` is not read without `simple_templates=False`."),
            (VIRTUALIZARR, DROPPED, "`gen` is not read."),
            *((reader, REFUSED, _NO_GEN) for reader in (JULIA, GDAL, DUCKDB)),
        ),
    ),
    "gen-empty": Feature(
        "an empty `gen`",
        (
            (JULIA, REFUSED, _NO_GEN),
            (GDAL, REFUSED, _NO_GEN),
            (JAVASCRIPT, REFUSED, "A range without values is an error."),
        ),
        noting=NEVER,
    ),
    "gen-down": Feature(
        "a dimension with a negative step",
        ((JAVASCRIPT, REFUSED, "A range that counts down is an error, or never ends."),),
    ),
    "gen-large": Feature(
        f"gen of more than {_MAP_ENTRIES:,} keys",
        ((JAVASCRIPT, REFUSED, f"A Map has room for {_MAP_ENTRIES:,} keys."),),
    ),
    "gen-many": Feature(
        f"gen of more than {_MANY_KEYS:,} keys",
        ((JINJA, Outcome.SAME, "Opening renders every key of `gen`, about 400 a second."),),
        noting=NEVER,
    ),
    "object": Feature(
        "objects as values",
        (
            (VIRTUALIZARR, REFUSED, "Metadata must be text."),
            (DUCKDB, REFUSED, "Metadata must be text."),
            (JULIA, DIFFERENT, "A value that is an object cannot be read."),
        ),
    ),
    "object-in-v1": Feature(
        "objects as values in version 1",
        ((JAVASCRIPT, DIFFERENT, "An object in `refs` is taken for a list."),),
    ),
    "whole-file": Feature(
        "[url]",
        (
            (JAVASCRIPT, Outcome.SAME, "zarrita requests 0 bytes of a [url], which is an error."),
            (VIRTUALIZARR, Outcome.SAME, "Opening asks the target of each [url] for its size."),
        ),
    ),
    "null-url": Feature(
        "references without a URL (null)",
        (
            *((name, REFUSED, "A URL must be text.") for name in (VIRTUALIZARR, GDAL, DUCKDB)),
            (JULIA, DIFFERENT, "A reference without a URL cannot be read."),
        ),
        noting=NEVER,
    ),
    "null-url-beside-templates": Feature(
        "references without a URL (null) beside `templates`",
        tuple((name, REFUSED, "A URL is rendered, and null cannot be.") for name in WHOLE[:2]),
        NEVER,
    ),
    "empty-base64": Feature(
        "base64 of nothing",
        ((GDAL, REFUSED, "Base64 of nothing is taken for a failure."),),
        ALWAYS,
    ),
    "empty-range": Feature(
        "byte ranges of length 0",
        (
            (GDAL, DIFFERENT, "A length of 0 is taken for the whole file."),
            (VIRTUALIZARR, REFUSED, "Since 2.8 a length of 0 is an error."),
        ),
        ALWAYS,
    ),
    "long-range": Feature(
        "byte ranges of 4 GiB or more",
        ((GDAL, REFUSED, "A length of 4 GiB or more is an error."),),
        ALWAYS,
    ),
    "vast": Feature(
        "offsets or lengths above 2**53",
        ((JAVASCRIPT, DIFFERENT, "Numbers are 64-bit floats, which are not exact there."),),
    ),
    "relative": Feature(
        "relative URLs",
        (
            (VIRTUALIZARR, REFUSED, "A relative URL is an error unless `fs_root` is given."),
            (FSSPEC, Outcome.SAME, "Relative URLs start from the working directory."),
            (JINJA, Outcome.SAME, "Relative URLs start from the working directory."),
            (DUCKDB, Outcome.SAME, "Relative URLs start from the working directory."),
        ),
        noting=NEVER,
    ),
    "groups": Feature(
        "arrays in groups",
        ((VIRTUALIZARR, DROPPED, "Only arrays directly below the root are read."),),
    ),
    "slashes": Feature(
        "chunk keys with slashes",
        ((VIRTUALIZARR, DROPPED, "Chunks of arrays with `dimension_separator` / are not read."),),
    ),
    "zarr-3": Feature(
        "Zarr 3 metadata", ((VIRTUALIZARR, REFUSED, "Before 2.8 Zarr 3 metadata is an error."),)
    ),
    "nan": Feature(
        "NaN or Infinity outside of text",
        ((JAVASCRIPT, REFUSED, "NaN and Infinity are not valid JSON."),),
        noting=NEVER,
    ),
    "float-numbers": Feature(
        "offsets or lengths written as floats",
        (
            (FSSPEC, DIFFERENT, "Floats are kept, and reading the key fails."),
            (JINJA, DIFFERENT, "Floats are kept, and reading the key fails."),
            *((name, REFUSED, "A float is an error.") for name in (GDAL, DUCKDB)),
        ),
        noting=NEVER,
    ),
    "gen-names": Feature(
        "names or numbers in `gen` that jinja2 cannot be given",
        ((JINJA, REFUSED, "jinja2 cannot be given such a name or number."),),
        noting=NEVER,
    ),
    "gen-expression": Feature(
        "expressions beyond names, calls with literal arguments and arithmetic in `gen`",
        ((JAVASCRIPT, REFUSED, "Such an expression is an error."),),
    ),
    "template-expression": Feature(
        "templates that hold more than names",
        ((JAVASCRIPT, REFUSED, "Such an expression is an error."),),
    ),
    "gen-call": Feature(
        "calls in `gen` that fsspec reads differently",
        ((JINJA, DIFFERENT, "A template without a call is printed as a Python function."),),
    ),
    "gen-statement": Feature(
        "statements of jinja2 in `gen`", ((JAVASCRIPT, DIFFERENT, "They are kept as they are."),)
    ),
    "template-names": Feature(
        "names of templates that no expression can have",
        (
            (FSSPEC, REFUSED, "`str.format` takes such a name for a position or an attribute."),
            (JAVASCRIPT, DIFFERENT, "Such a name is replaced like any other."),
        ),
        noting=NEVER,
    ),
    "parquet": Feature(
        "parquet",
        tuple((name, REFUSED, "Parquet is not read.") for name in (JAVASCRIPT, JULIA, DUCKDB)),
        noting=NEVER,
    ),
}
_OF_CODES = {
    "bad-template-name": "template-names",
    "gen-number-not-string": "gen-names",
    "float-offset": "float-numbers",
    "gen-empty": "gen-empty",
    "nonstandard-json-nan": "nan",
}
"""Features that opening found and has a diagnostic for."""
PROTOCOLS = frozenset(
    {
        "abfs", "abfss", "adl", "az", "data", "file", "ftp", "gcs", "gs", "hdfs", "hf", "http",
        "https", "local", "memory", "oci", "osdf", "oss", "s3", "s3a", "sftp", "ssh", "tos",
        "webdav", "webhdfs",
    }
)  # fmt: skip
"""What fsspec, or a package for it, reads."""
_OWN_PROTOCOLS = {
    GDAL: {"s3", "gs", "http", "https", "file"},
    JULIA: {"s3", "file"},
    DUCKDB: {"s3", "gs", "gcs", "az", "azure", "http", "https", "file"},
}
_START = r"^(?P<start>[A-Za-z][A-Za-z0-9+.\-]*:|/|)"


class Use(NamedTuple):
    """A feature that a set uses: its name, or `protocol` with the protocol behind a colon."""

    name: str
    key: str | None
    n_keys: int = 1
    place: str = ""
    """A pointer, where there is no key."""

    @property
    def feature(self) -> Feature:
        """What is known about it."""
        name, _, protocol = self.name.partition(":")
        return _of_protocol(protocol) if protocol else FEATURES[name]


def features_of(source: Source, contents: Contents) -> list[Use]:
    """Return what a set uses, each feature once with its first key and how many there are."""
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
    for part, columns in contents.opened.columns():
        for name, flags in _of_columns(columns):
            if count := int(np.count_nonzero(flags)):
                found.add(name, part.key_at(int(flags.argmax())), count)
    return [*found.uses.values()]


class _UsedFeatures:
    def __init__(self) -> None:
        self.uses: dict[str, Use] = {}

    def add(self, name: str, key: str | None = None, count: int = 1, place: str = "") -> None:
        """Count a use; the first place is kept."""
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
    """Add what gen items use; those that are rejected as a whole have a diagnostic."""
    bare = frozenset(n for n, each in contents.templates.items() if not is_template(each.text))
    for name, template in contents.templates.items():
        if name not in bare and "expression" in text_forms(
            template.text, frozenset(template.names)
        ):
            found.add("template-expression", place=pointer("templates", name))
        if name not in bare and "{{" not in template.text:  # fsspec takes it for a plain text
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
    for start, positions in columns.urls_by_start(_START):
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
        said = f"No reader is known that reads {name}: URLs."
        return Feature(f"{name}: URLs", tuple((each, Outcome.SAME, said) for each in BASES), ALWAYS)
    lacking = (each for each, known in _OWN_PROTOCOLS.items() if name not in known)
    said = f"No data is read from {name}: URLs, for which it knows no file system."
    return Feature(f"{name}: URLs", tuple((each, Outcome.SAME, said) for each in lacking), NEVER)


def effects_on(uses: Iterable[Use]) -> dict[str, list[tuple[Use, Outcome, str]]]:
    """Return what the features that a set uses mean to each reader."""
    found: dict[str, list[tuple[Use, Outcome, str]]] = {reader: [] for reader in BASES}
    for use in uses:
        for reader, outcome, sentence in use.feature.effects:
            found[reader].append((use, outcome, sentence))
    return found
