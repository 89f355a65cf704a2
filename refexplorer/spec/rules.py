"""The rules of the reference specification, in order and in our words.

Exercises and the page of the specification cite them; the tests hold where each is taught.
Source: reference specification, "Version 0", "Version 1" and "Parquet references".
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, NamedTuple

from refexplorer.core.errors import RefexplorerError

SPECIFICATION = "https://fsspec.github.io/kerchunk/spec.html"


class SpecRule(NamedTuple):
    """One rule; `example` is a set that follows it, empty where JSON cannot show it."""

    section: str
    sentence: str
    example: str = ""

    @property
    def link(self) -> str:
        """The place in the specification."""
        return f"{SPECIFICATION}#{self.section.lower().replace(' ', '-')}"


_V0, _V1, _PARQUET = "Version 0", "Version 1", "Parquet references"
_ITEM = '{"version": 1, "templates": {"u": "s3://b"}, "gen": [{%s}]}'

RULES: dict[str, SpecRule] = {
    "v0": SpecRule(
        _V0,
        "A version 0 set is one JSON object, in which each key has its reference as value.",
        '{"x/0": ["s3://b/f.nc", 100, 50], ".zgroup": "{\\"zarr_format\\": 2}"}',
    ),
    "byte-range": SpecRule(
        _V0,
        "`[url, offset, length]` is a byte range of a file: where it begins, and how many bytes "
        "it has.",
        '{"x/0": ["s3://b/f.nc", 100, 50]}',
    ),
    "text": SpecRule(
        _V0, "A string is the data of the key itself.", '{".zgroup": "{\\"zarr_format\\": 2}"}'
    ),
    "json-object": SpecRule(
        _V0,
        "A JSON object as value is data, too: the key holds its JSON text.",
        '{".zgroup": {"zarr_format": 2}}',
    ),
    "base64": SpecRule(
        _V1,
        "A string that begins with `base64:` holds bytes: the rest is decoded.",
        '{"a": "base64:aGVsbG8="}',
    ),
    "ascii": SpecRule(
        _V1, "Any other string is ASCII data; bytes that are not go into base64.", '{"a": "hello"}'
    ),
    "whole-url": SpecRule(_V1, "`[url]` is the whole file.", '{"c": ["s3://b/c.bin"]}'),
    "list-shape": SpecRule(
        _V1,
        "A list has one element or three: an offset needs a length.",
        '{"a": ["s3://b/f"], "b": ["s3://b/f", 0, 10]}',
    ),
    "version": SpecRule(
        _V1,
        "`version` is required in version 1, and is the number 1; a document without it is "
        "version 0.",
        '{"version": 1, "refs": {"a": "x"}}',
    ),
    "refs": SpecRule(
        _V1,
        "`refs` holds what version 0 holds, and its URLs may use templates.",
        '{"version": 1, "templates": {"u": "s3://b"}, "refs": {"a": ["{{u}}/f"]}}',
    ),
    "jinja": SpecRule(
        _V1,
        "What stands between `{{` and `}}` is an expression of jinja2: arithmetic, filters and "
        "calls of templates.",
        '{"version": 1, "templates": {"p": "{{ \'%03d\' | format(n) }}.nc"}, '
        '"refs": {"a": ["s3://b/{{p(n=7)}}"]}}',
    ),
    "expand": SpecRule(
        _V1,
        "Version 1 can be expanded to version 0: each key with what it comes to.",
        '{"version": 1, "refs": {"a": "x"}}',
    ),
    "templates": SpecRule(
        _V1,
        "`templates` gives strings a name; `{{name}}` in a URL stands for the string.",
        '{"version": 1, "templates": {"u": "s3://b"}, "refs": {"a": ["{{u}}/f", 0, 10]}}',
    ),
    "arguments": SpecRule(
        _V1,
        "A template with variables of its own is called where it is used, and they are passed by "
        "name: `{{f(c='a')}}`.",
        '{"version": 1, "templates": {"f": "s3://{{c}}/f"}, "refs": {"a": ["{{f(c=\'b\')}}"]}}',
    ),
    "scope": SpecRule(
        _V1,
        "The variables of a template come from its call alone: it sees no other template, and no "
        "dimension.",
        '{"version": 1, "templates": {"u": "s3://b", "f": "{{at}}/{{c}}"}, '
        '"refs": {"a": ["{{f(at=u, c=\'f\')}}"]}}',
    ),
    "gen": SpecRule(
        _V1,
        "An item of `gen` makes many references; its `key` and `url` are templates, and required.",
        _ITEM % '"key": "x/{{i}}", "url": "{{u}}/{{i}}", "dimensions": {"i": {"stop": 3}}',
    ),
    "dimensions": SpecRule(
        _V1,
        "`dimensions` is required, with at least one name: the integers that it runs over.",
        _ITEM % '"key": "x/{{i}}", "url": "{{u}}/f", "dimensions": {"i": [0, 5]}',
    ),
    "gen-names": SpecRule(
        _V1,
        "A gen item sees its dimensions and the templates, which it may call with the dimensions.",
        '{"version": 1, "templates": {"f": "s3://b/{{n}}"}, "gen": [{"key": "x/{{i}}", '
        '"url": "{{f(n=i)}}", "dimensions": {"i": {"stop": 3}}}]}',
    ),
    "gen-range": SpecRule(
        _V1,
        "`offset` and `length` of a gen item are strings that render to integers; each requires "
        "the other, and without both the reference is a whole file.",
        _ITEM % '"key": "x/{{i}}", "url": "{{u}}/f", "offset": "{{i * 10}}", "length": "10", '
        '"dimensions": {"i": {"stop": 3}}',
    ),
    "range": SpecRule(
        _V1,
        'A dimension may be a range, `{"start": 0, "stop": 5, "step": 1}`, which ends before '
        "`stop`.",
        _ITEM % '"key": "x/{{i}}", "url": "{{u}}/f", '
        '"dimensions": {"i": {"start": 4, "stop": 10, "step": 2}}',
    ),
    "range-defaults": SpecRule(
        _V1,
        "Of a range only `stop` is required: it starts at 0, with a step of 1.",
        _ITEM % '"key": "x/{{i}}", "url": "{{u}}/f", "dimensions": {"i": {"stop": 2}}',
    ),
    "values": SpecRule(
        _V1,
        "A dimension may be a list of integers.",
        _ITEM % '"key": "x/{{i}}", "url": "{{u}}/f", "dimensions": {"i": [1990, 1995]}',
    ),
    "product": SpecRule(
        _V1,
        "Several dimensions make every combination of their values.",
        _ITEM % '"key": "x/{{i}}.{{j}}", "url": "{{u}}/f", '
        '"dimensions": {"i": {"stop": 2}, "j": {"stop": 3}}',
    ),
    "parquet-layout": SpecRule(
        _PARQUET,
        "A parquet store is a folder: `.zmetadata`, and for each array record files "
        "`refs.0.parq`, `refs.1.parq` and so on in the folder of the array. It has a place for "
        "metadata and chunks alone.",
    ),
    "zmetadata": SpecRule(
        _PARQUET,
        "`.zmetadata` holds the metadata of all groups and arrays as `metadata`, and the "
        "`record_size`.",
    ),
    "small-arrays": SpecRule(
        _PARQUET,
        "Data of small arrays may lie in `.zmetadata` instead of a record file: the specification "
        "reserves that.",
    ),
    "c-order": SpecRule(
        _PARQUET,
        "Chunks are numbered in C order: chunk n is row n % record_size of "
        "refs.(n // record_size).parq.",
    ),
    "record-size": SpecRule(
        _PARQUET, "A record file has `record_size` rows, 10,000 unless the writer says otherwise."
    ),
    "raw": SpecRule(
        _PARQUET,
        "Where `raw` holds bytes they are the data of the key, whatever else the row says.",
    ),
    "row": SpecRule(
        _PARQUET,
        "A row has `path`, `offset` and `size`: a byte range of a file, or all of the file where "
        "`size` is 0.",
    ),
    "null-row": SpecRule(_PARQUET, "A row without `raw` and without `path` is no key."),
    "padding": SpecRule(
        _PARQUET,
        "The last record file of an array is filled up with empty rows, which are no keys.",
    ),
}
"""By the name that exercises cite."""


VERSIONS = (0, 1)  # of the specification


def schema(version: int = 1) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of V0 or V1.

    Raises
    ------
    RefexplorerError
        If the specification has no such version.
    """
    if version not in VERSIONS:
        raise RefexplorerError(f"There is a JSON Schema of V0 and of V1, but not of V{version}.")
    text = files(__package__).joinpath(f"schema.v{version}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
