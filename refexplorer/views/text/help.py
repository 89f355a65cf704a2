"""The purpose of each part of a version 1 document, in the words of the specification.

Source: reference specification, "Version 1".
"""

from __future__ import annotations

from collections.abc import Mapping

_PARTS: Mapping[str, str] = {
    "/version": "The number 1. A document without `version` is version 0: each key is a reference.",
    "/templates": "Strings by name, to be used as `{{name}}` in `refs` and `gen`.",
    "/templates/*": (
        "The string that `{{name}}` stands for. If it has variables of its own, as in "
        "`f_{{c}}`, it is called with them: `{{name(c='…')}}`."
    ),
    "/gen": (
        "A list of items, each of which generates a reference for every combination of its "
        "dimensions; the last dimension varies fastest."
    ),
    "/gen/*": "Generates a reference for every combination of the values of its `dimensions`.",
    "/gen/*/key": (
        "Required, a template: the key of each reference. It uses the dimensions, as in "
        "`x/{{i}}`; of combinations with the same key, the last is used."
    ),
    "/gen/*/url": "Required, a template: where the bytes are. It may use dimensions and templates.",
    "/gen/*/offset": (
        "The first byte: a template that renders to an integer, as in `{{i * 1000}}`. It "
        "requires `length`; without both, the reference is to the whole file."
    ),
    "/gen/*/length": (
        "The number of bytes: a template that renders to an integer. It requires `offset`."
    ),
    "/gen/*/dimensions": "Required: names, and the integers that each of them runs over.",
    "/gen/*/dimensions/*": (
        'Either a range, {"start": 0, "stop": 5, "step": 1}, or a list of integers. The name '
        "may be used in the templates of this item."
    ),
    "/gen/*/dimensions/*/start": "The first value; 0 if omitted.",
    "/gen/*/dimensions/*/stop": "Required: the end of the values, exclusive.",
    "/gen/*/dimensions/*/step": "The step between values; 1 if omitted.",
    "/refs": "References by key, as in version 0; the URLs may use `templates`.",
    "/refs/*": (
        "A string is the data itself (base64 after `base64:`), an object is JSON data, `[url]` "
        "a whole file, `[url, offset, length]` a byte range of a file."
    ),
}
_CITED = 'Reference specification, "Version 1".'
PART_HELP: Mapping[str, str] = {pointer: f"{said} {_CITED}" for pointer, said in _PARTS.items()}
"""By JSON pointer; ``*`` stands for any name or number."""

FILTER_HELP: Mapping[str, str] = {
    "abs": "The absolute value.",
    "capitalize": "Capitalized: the first letter in upper case, the others in lower case.",
    "count": "The number of characters or items; the same as `length`.",
    "d": "A default where the name is not defined; short for `default`.",
    "default": "A default where the name is not defined: `c | default('x')`.",
    "first": "The first character or item.",
    "float": "As a floating-point number.",
    "format": "Inserts values into a pattern: `'%04d' | format(i)` gives `0007` for 7.",
    "int": "As an integer.",
    "join": "Items joined to a string: `[1, 2] | join('-')` gives `1-2`.",
    "last": "The last character or item.",
    "length": "The number of characters or items.",
    "lower": "In lower case.",
    "replace": "A substring replaced: `u | replace('a', 'b')`.",
    "round": "Rounded to a number of digits.",
    "string": "As text.",
    "title": "Each word capitalized.",
    "trim": "Without spaces at both ends.",
    "upper": "In upper case.",
}
"""jinja2's filters that are read, by name."""
