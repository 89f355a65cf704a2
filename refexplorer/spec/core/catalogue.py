"""Every diagnostic code: how severe it is, what it means, and the smallest set that shows it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import NamedTuple


class Severity(StrEnum):
    """An error leaves something out; a warning keeps it; info is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Rule(NamedTuple):
    """A kind of finding; `example` is a JSON document, or a sentence where JSON cannot show it."""

    severity: Severity
    meaning: str
    example: str


def _error(meaning: str, example: str) -> Rule:
    return Rule(Severity.ERROR, meaning, example)


def _warning(meaning: str, example: str) -> Rule:
    return Rule(Severity.WARNING, meaning, example)


def _info(meaning: str, example: str) -> Rule:
    return Rule(Severity.INFO, meaning, example)


_GEN = '{"version": 1, "gen": [{"key": "x/{{i}}", "url": "http://h/{{i}}", %s}]}'

DOCUMENT = {
    "not-json": _error("The text is not JSON.", "{'a': 'x'}"),
    "not-object": _error("The document is JSON, but not an object.", '["a"]'),
    "bad-version": _error(
        "`version` is there and is not the number 1.", '{"version": 2, "refs": {}}'
    ),
    "bad-section": _error(
        "A section of V1 has the wrong JSON type.", '{"version": 1, "refs": ["a"]}'
    ),
    "version-missing": _warning(
        "It looks like V1, but without `version` it is V0.", '{"refs": {"a": ["http://h/f"]}}'
    ),
    "unknown-top-level-key": _warning(
        "V1 keeps references in `refs`; keys beside it are not read.",
        '{"version": 1, "a": "x"}',
    ),
    "duplicate-key": _warning(
        "A JSON object has the same key twice; the last one counts.", '{"a": "one", "a": "two"}'
    ),
    "nonstandard-json-nan": _warning(
        "NaN and Infinity are not JSON, though Python writes them.",
        '{"x/.zattrs": {"missing": NaN}}',
    ),
}

REFERENCES = {
    "bad-ref-type": _error("A reference must be text, an object or a list.", '{"a": 5}'),
    "bad-ref-shape": _error(
        "A list must be [url] or [url, offset, length].", '{"a": ["http://h/f", 1]}'
    ),
    "bad-url": _error("The first element of a list must be a text.", '{"a": [5, 0, 10]}'),
    "bad-offset": _error(
        "An offset is a whole number of bytes, 0 or more.", '{"a": ["http://h/f", -1, 10]}'
    ),
    "bad-length": _error(
        "A length is a whole number of bytes, 0 or more.", '{"a": ["http://h/f", 0, -5]}'
    ),
    "bad-base64": _error("The text after `base64:` does not decode.", '{"a": "base64:!!!!"}'),
    "bad-text": _error(
        "The text holds half a surrogate pair, which no file can hold.", '{"a": "\\ud800"}'
    ),
    "key-too-long": _error(
        "The key is longer than the limits allow, far more than any store takes.",
        "a key of more than 65,536 bytes",
    ),
    "float-offset": _warning(
        "A whole number is written as a float.", '{"a": ["http://h/f", 10.0, 5]}'
    ),
    "null-url": _info("No URL: the reader must name the target.", '{"a": [null, 10, 5]}'),
    "empty-url": _warning("The URL is an empty text.", '{"a": ["", 0, 10]}'),
    "relative-url": _info(
        "A relative URL; the specification does not say relative to what.",
        '{"a": ["data/file.nc", 0, 10]}',
    ),
    "chained-url": _warning(
        "fsspec's chained URLs do not work inside a reference.",
        '{"a": ["zip://in.nc::http://h/f.zip", 0, 10]}',
    ),
    "suspicious-characters": _warning(
        "Control or bidi characters can make a URL look like another one.",
        '{"a": ["http://\\u202ehost/f"]}',
    ),
    "mixed-protocols": _info(
        "The targets need more than one filesystem.",
        '{"a": ["s3://b/f"], "b": ["https://h/f"]}',
    ),
    "overlapping-ranges": _warning(
        "Two ranges of a target share bytes without being the same.",
        '{"a": ["http://h/f", 0, 10], "b": ["http://h/f", 5, 10]}',
    ),
    "length-is-end": _warning(
        "Lengths that are where the next range begins: they look like ends.",
        '{"a": ["http://h/f", 10, 20], "b": ["http://h/f", 20, 30], '
        '"c": ["http://h/f", 30, 40], "d": ["http://h/f", 40, 50]}',
    ),
    "base64-whitespace": _warning(
        "Blanks or line breaks inside base64.", '{"a": "base64:aGVs\\nbG8="}'
    ),
    "non-ascii-inline": _warning(
        "Inline text is meant to be ascii; it is read as UTF-8.", '{"a": "h\u00e9"}'
    ),
    "template-in-v0": _warning(
        "V0 has no templates: the braces stay as they are.", '{"a": ["http://{{u}}/f"]}'
    ),
    "template-in-key": _warning(
        "Keys in `refs` are not rendered: the braces stay as they are.",
        '{"version": 1, "refs": {"{{u}}/0": "x"}}',
    ),
    "suspicious-key": _warning(
        "A key that is empty, absolute, or has empty or dotted segments.", '{"a//b": "d"}'
    ),
    "key-is-also-directory": _warning(
        "A key is also the folder of another; files cannot be like that.",
        '{"a": "x", "a/b": "y"}',
    ),
}

TEMPLATES = {
    "bad-template": _error(
        "jinja2 cannot read or compute the text.",
        '{"version": 1, "templates": {"u": "h"}, "refs": {"k": ["http://{{u/f"]}}',
    ),
    "unsafe-template": _error(
        "The template uses a construct that could do harm and is not read.",
        '{"version": 1, "templates": {"u": "h"}, "refs": {"k": ["{{u.__class__}}"]}}',
    ),
    "template-limit": _error(
        "The template would cost more than the limits allow.",
        '{"version": 1, "refs": {"k": ["{{ \'a\' * 10 ** 9 }}"]}}',
    ),
    "undefined-name": _error(
        "A name that nothing defines; jinja2 would print nothing.",
        '{"version": 1, "refs": {"k": ["http://{{u}}/f"]}}',
    ),
    "bad-template-type": _error(
        "The value of a template must be a text.",
        '{"version": 1, "templates": {"u": null}}',
    ),
    "bad-template-name": _warning(
        "A template name that an expression cannot spell.",
        '{"version": 1, "templates": {"0": "h"}}',
    ),
    "unused-argument": _warning(
        "A call passes an argument that the template does not use.",
        '{"version": 1, "templates": {"f": "{{c}}"}, "refs": {"k": ["http://{{f(c=1, d=2)}}"]}}',
    ),
    "override-unused": _warning(
        "A template given at open time names none of the set.",
        "open_references(source, templates={'typo': '…'})",
    ),
}

GEN = {
    "gen-bad-item": _error("An item of `gen` must be an object.", '{"version": 1, "gen": ["x"]}'),
    "gen-missing-field": _error(
        "A required field of a gen item is missing.",
        '{"version": 1, "gen": [{"key": "x", "dimensions": {"i": [1]}}]}',
    ),
    "gen-bad-field": _error(
        "A field of a gen item has the wrong JSON type.",
        '{"version": 1, "gen": [{"key": ["x"], "url": "h", "dimensions": {"i": [1]}}]}',
    ),
    "gen-bad-dimension": _error(
        "A dimension is neither {start, stop, step} nor a list of integers.",
        _GEN % '"dimensions": {"i": 3}',
    ),
    "gen-offset-length-pair": _error(
        "`offset` and `length` go together.", _GEN % '"offset": "0", "dimensions": {"i": [1]}'
    ),
    "gen-bad-int": _error(
        "An offset or length does not render to a whole number.",
        _GEN % '"offset": "0x10", "length": "1", "dimensions": {"i": [1]}',
    ),
    "gen-number-not-string": _warning(
        "An offset or length is a number where the specification wants a text.",
        _GEN % '"offset": 5, "length": 1, "dimensions": {"i": [1]}',
    ),
    "gen-empty": _warning("A gen item makes no key.", _GEN % '"dimensions": {"i": {"stop": 0}}'),
    "gen-duplicate-key": _warning(
        "A key is made more than once; the last one counts.",
        '{"version": 1, "gen": [{"key": "x", "url": "h{{i}}", "dimensions": {"i": [0, 1]}}]}',
    ),
    "gen-not-checked": _info(
        "The item makes too many keys to look for equal ones, or for those that fail.",
        '{"version": 1, "gen": [{"key": "x/{{i * j}}", "url": "http://h", '
        '"dimensions": {"i": {"stop": 1000000}, "j": {"stop": 1000000}}}]}',
    ),
    "name-clash": _error(
        "A dimension has the name of a template.",
        '{"version": 1, "templates": {"i": "h"}, '
        '"gen": [{"key": "x{{i}}", "url": "h", "dimensions": {"i": [1]}}]}',
    ),
    "unknown-field": _warning(
        "A field of a gen item or dimension that the specification does not know.",
        _GEN % '"size": "10", "dimensions": {"i": [1]}',
    ),
}

ARRAYS = {
    "metadata-not-json": _warning(
        "The text of a metadata key is not JSON.", '{".zattrs": "{\\"a\\": "}'
    ),
    "bad-metadata": _warning(
        "Array metadata misses a field or has one of the wrong type.",
        '{"x/.zarray": {"zarr_format": 2}}',
    ),
    "bad-chunks": _warning(
        "A chunk shape that no array can have.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [5], "chunks": [0], "dtype": "<f8", '
        '"compressor": null, "filters": null, "order": "C", "fill_value": 0}}',
    ),
    "chunk-outside-grid": _warning(
        "A chunk key that the array's grid does not have; no reader asks for it.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "<f8", '
        '"compressor": null, "filters": null, "order": "C", "fill_value": 0}, "x/7": "12345678"}',
    ),
    "chunk-wrong-rank": _warning(
        "A chunk key with more or fewer indices than the array has dimensions.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "<f8", '
        '"compressor": null, "filters": null, "order": "C", "fill_value": 0}, '
        '"x/0.0": "12345678"}',
    ),
    "orphan-chunk": _warning(
        "A key that looks like a chunk where no array metadata is.", '{"x/0.0": ["http://h/f"]}'
    ),
    "fill-value-masks": _warning(
        "A coordinate whose fill value is a number that it may well have.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<f8", '
        '"compressor": null, "filters": null, "order": "C", "fill_value": 0}, '
        '"x/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]}, "x/0": ["http://h/f", 0, 16]}',
    ),
    "missing-chunks": _info(
        "Chunks of an array without a reference; they read as the fill value.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "<f8", '
        '"compressor": null, "filters": null, "order": "C", "fill_value": 0}, "x/0": "12345678"}',
    ),
    "repeated-range": _info(
        "Chunks of one array, or keys of a gen item, that have the very same byte range.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "<i4", '
        '"compressor": null, "filters": null, "order": "C", "fill_value": 0}, '
        '"x/0": ["http://h/f", 0, 4], "x/1": ["http://h/f", 0, 4]}',
    ),
}

PARQUET = {
    "parquet-bad-zmetadata": _error(
        "`.zmetadata` misses `metadata` or a positive `record_size`.", "record_size 0"
    ),
    "parquet-unreadable": _error("A record file is not parquet.", "an HTML page as refs.1.parq"),
    "parquet-bad-columns": _error(
        "A record file misses one of path, offset, size, raw, or its type is another.",
        "a table without `path`",
    ),
    "parquet-too-many-rows": _error(
        "A record file has more rows than `record_size`.", "50 million rows in 650 kB"
    ),
    "parquet-too-large": _error(
        "A record file holds more bytes than the limits allow.",
        "one text of 500 kB in each of 2,000 rows, in 785 bytes",
    ),
    "parquet-missing-file": _warning(
        "A record file is absent: its chunks read as the fill value.", "refs.1.parq is lost"
    ),
    "parquet-orphan-file": _warning(
        "A record file that no array of `.zmetadata` asks for.", "y/refs.0.parq without y/.zarray"
    ),
    "parquet-lost-chunks": _warning(
        "An array whose chunks fsspec does not find in a store: there they read as the fill value.",
        '`dimension_separator` "/" of an array of two dimensions',
    ),
    "parquet-rows-outside-grid": _warning(
        "Rows past the array's grid hold references.", "a wrong shape, or a wrong store"
    ),
    "parquet-offset-without-size": _warning(
        "A row has an offset but size 0, which stands for the whole file.", "offset 5, size 0"
    ),
    "parquet-raw-and-path": _warning(
        "A row has both `raw` and `path`; `raw` is the data.", "both columns filled"
    ),
    "parquet-unsafe-path": _error("A path in `.zmetadata` leaves the store.", "../../x/.zarray"),
}

SECTIONS = {
    "The document": DOCUMENT,
    "References": REFERENCES,
    "Templates": TEMPLATES,
    "gen": GEN,
    "Arrays": ARRAYS,
    "Parquet": PARQUET,
}
CATALOGUE: dict[str, Rule] = {
    code: rule for part in SECTIONS.values() for code, rule in part.items()
}


def page() -> str:
    """Return the catalogue as the text of ``DIAGNOSTICS.md``, which lies in `spec`."""
    lines = ["# Diagnostics", "", "Written by `python -m refexplorer.spec.core.catalogue`.", ""]
    for title, rules in SECTIONS.items():
        lines += [f"## {title}", ""]
        for code, (severity, meaning, example) in rules.items():
            lines += [f"### `{code}`", "", f"{severity.capitalize()}. {meaning}", ""]
            lines += ["```", example, "```", ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    Path(__file__).parents[1].joinpath("DIAGNOSTICS.md").write_text(page(), encoding="utf-8")
