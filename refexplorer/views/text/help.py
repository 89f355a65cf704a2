"""What each part of a version 1 document is for, in the words of the specification.

Source: reference specification, "Version 1".
"""

from __future__ import annotations

from collections.abc import Mapping

PART_HELP: Mapping[str, str] = {
    "/version": "The number 1. A document without `version` is version 0: each key is a reference.",
    "/templates": "Texts by name, to be used as `{{name}}` in `refs` and `gen`.",
    "/templates/*": (
        "A text that `{{name}}` stands for. If it has variables of its own, as in `f_{{c}}`, "
        "it is called with them: `{{name(c='…')}}`."
    ),
    "/gen": (
        "A list of items, each of which makes a reference for every combination of its "
        "dimensions, the last one running fastest."
    ),
    "/gen/*": "Makes a reference for every combination of the values of its `dimensions`.",
    "/gen/*/key": (
        "Required, a template: the key of each reference. It uses the dimensions, as in "
        "`x/{{i}}`; combinations with the same key replace each other."
    ),
    "/gen/*/url": "Required, a template: where the bytes are. It may use dimensions and templates.",
    "/gen/*/offset": (
        "The first byte, a template that gives a whole number, as in `{{i * 1000}}`. It needs "
        "`length`; without both, the reference is to the whole file."
    ),
    "/gen/*/length": "How many bytes, a template that gives a whole number. It needs `offset`.",
    "/gen/*/dimensions": "Required: names and the whole numbers that each runs over.",
    "/gen/*/dimensions/*": (
        'Either a range, {"start": 0, "stop": 5, "step": 1}, or a list of whole numbers. '
        "The name may be used in the templates of this item."
    ),
    "/gen/*/dimensions/*/start": "The first value; 0 if it is left out.",
    "/gen/*/dimensions/*/stop": "Required: the values end before this one.",
    "/gen/*/dimensions/*/step": "From one value to the next; 1 if it is left out.",
    "/refs": "References by key, as in version 0; the URLs may use `templates`.",
    "/refs/*": (
        "Text is the data itself (after `base64:` encoded), an object is JSON data, `[url]` a "
        "whole file, `[url, offset, length]` a range of its bytes."
    ),
}
"""By JSON pointer; ``*`` stands for any name or number."""

FILTER_HELP: Mapping[str, str] = {
    "abs": "The number without its sign.",
    "capitalize": "The first letter large, the others small.",
    "count": "How many characters or items; the same as `length`.",
    "d": "Another value where the name is not defined; short for `default`.",
    "default": "Another value where the name is not defined: `c | default('x')`.",
    "first": "The first character or item.",
    "float": "As a number with a fraction.",
    "format": "Puts values into a pattern: `'%04d' | format(i)` gives `0007` for 7.",
    "int": "As a whole number.",
    "join": "Items put together: `[1, 2] | join('-')` gives `1-2`.",
    "last": "The last character or item.",
    "length": "How many characters or items.",
    "lower": "In small letters.",
    "replace": "One text in place of another: `u | replace('a', 'b')`.",
    "round": "Rounded to a number of digits.",
    "string": "As text.",
    "title": "Each word with a large first letter.",
    "trim": "Without blanks at both ends.",
    "upper": "In large letters.",
}
"""jinja2's filters that are read, by name."""
