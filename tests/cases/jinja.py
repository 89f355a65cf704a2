"""What is read of jinja2, and what is not: cases for the page and for its test."""

from __future__ import annotations

from typing import NamedTuple

NAMES = {"i": 7, "u": "s3://b"}
"""What the templates of the cases see: a dimension, and a template."""


class Read(NamedTuple):
    """A template and what it renders to."""

    template: str
    result: str


class Refused(NamedTuple):
    """A template that is not read, a part of what is said, and what to write instead."""

    template: str
    says: str
    instead: str


EXPRESSIONS = {
    "Names, and text around them": [
        Read("{{u}}/f.nc", "s3://b/f.nc"),
        Read("{{ u }}/{{ i }}", "s3://b/7"),
        Read("{{ 'a' }}", "a"),
        Read("{{ 3 }}{{ 2.5 }}{{ true }}{{ none }}", "32.5TrueNone"),
    ],
    "Arithmetic": [
        Read("{{ i + 1 }} {{ i - 1 }} {{ i * 10 }}", "8 6 70"),
        Read("{{ i // 2 }} {{ i % 2 }} {{ i / 2 }}", "3 1 3.5"),
        Read("{{ 2 ** i }} {{ -i }} {{ +i }}", "128 -7 7"),
        Read("{{ (i + 1) * 1000 }}", "8000"),
    ],
    "Text": [
        Read("{{ u ~ '/' ~ i }}", "s3://b/7"),
        Read("{{ '%03d' % i }}", "007"),
        Read("{{ '%02d_%d' % (i, 5) }}", "07_5"),
        Read("{{ u[0] }} {{ u[5:] }}", "s b"),
    ],
    "Comparison and choice": [
        Read("{{ i < 10 }} {{ i == 7 }} {{ 1 < i <= 7 }} {{ i != 7 }}", "True True True False"),
        Read("{{ i >= 7 and i > 3 }} {{ not i }} {{ 0 or 'x' }}", "True False x"),
        Read("{{ 'even' if i % 2 == 0 else 'odd' }}", "odd"),
        Read("{% if i < 5 %}a{% elif i < 9 %}b{% else %}c{% endif %}", "b"),
        Read("{{ 's3' in u }} {{ i not in [1, 2] }}", "True True"),
    ],
    "Lists and tables": [
        Read("{{ ['a', 'b', 'c'][i % 3] }}", "b"),
        Read("{{ {7: 'july', 8: 'august'}[i] }}", "july"),
        Read("{{ (1, 2)[0] }}", "1"),
    ],
    "What is not rendered": [
        Read("{# a remark #}x", "x"),
        Read("{% raw %}{{u}}{% endraw %}", "{{u}}"),
        Read("a  {{- i -}}  b", "a7b"),
        Read("}} {", "}} {"),
    ],
}
"""By what they are about."""
FILTERS = {
    "abs": Read("{{ -3 | abs }}", "3"),
    "capitalize": Read("{{ 'sea' | capitalize }}", "Sea"),
    "count": Read("{{ u | count }}", "6"),
    "d": Read("{{ nothing | d('x') }}", "x"),
    "default": Read("{{ nothing | default('x') }}", "x"),
    "first": Read("{{ u | first }}", "s"),
    "float": Read("{{ '1.5' | float }}", "1.5"),
    "format": Read("{{ '%04d' | format(i) }}", "0007"),
    "int": Read("{{ (i / 2) | int }}", "3"),
    "join": Read("{{ [1, 2] | join('-') }}", "1-2"),
    "last": Read("{{ u | last }}", "b"),
    "length": Read("{{ u | length }}", "6"),
    "lower": Read("{{ 'SEA' | lower }}", "sea"),
    "replace": Read("{{ u | replace('s3', 'gs') }}", "gs://b"),
    "round": Read("{{ 2.567 | round(1) }}", "2.6"),
    "string": Read("{{ (i | string) ~ 1 }}", "71"),
    "title": Read("{{ 'warm sea' | title }}", "Warm Sea"),
    "trim": Read("{{ ' a ' | trim }}", "a"),
    "upper": Read("{{ 'sea' | upper }}", "SEA"),
}
TESTS = {
    "defined": Read("{{ u is defined }}", "True"),
    "divisibleby": Read("{{ i is divisibleby 7 }}", "True"),
    "even": Read("{{ i is even }}", "False"),
    "none": Read("{{ none is none }}", "True"),
    "number": Read("{{ i is number }}", "True"),
    "odd": Read("{{ i is odd }}", "True"),
    "string": Read("{{ u is string }}", "True"),
    "undefined": Read("{{ nothing is undefined }}", "True"),
}
REFUSED = [
    Refused("{% set x = 1 %}{{ x }}", "`{% set %}`", "a template, or a dimension"),
    Refused("{% for n in [1] %}x{% endfor %}", "`{% for %}`", "an item of `gen`"),
    Refused("{% include 'f' %}", "`{% include %}`", "the text itself: other files are not read"),
    Refused("{% import 'f' as f %}", "`{% import %}`", "templates of the set"),
    Refused("{% from 'f' import g %}", "`{% from %}`", "templates of the set"),
    Refused("{% macro f() %}{% endmacro %}", "`{% macro %}`", "a template with parameters"),
    Refused("{% filter upper %}a{% endfilter %}", "`{% filter %}`", "`{{ 'a' | upper }}`"),
    Refused("{{ u.upper() }}", "method call `.upper()`", "`{{ u | upper }}`"),
    Refused("{{ u.strip() }}", "method call `.strip()`", "`{{ u | trim }}`"),
    Refused("{{ (i | string).zfill(3) }}", "method call `.zfill()`", "`{{ '%03d' | format(i) }}`"),
    Refused(
        "{{ u.__class__ }}", "attribute `.__class__`", "nothing: attributes give access to Python"
    ),
    Refused("{{ u | reverse }}", "filter `reverse`", "a filter from the list above"),
    Refused("{{ u is callable }}", "test `callable`", "a test from the list above"),
    Refused("{{ range(3) }}", "function `range`", "a dimension, which is a range"),
    Refused("{{ f('x') }}", "must be passed by name", "`{{ f(c='x') }}`"),
    Refused("{{ u", "`{{` is not closed by `}}`", "`{{u}}`"),
    Refused("{{ u }", "a single `}`", "`{{u}}`"),
    Refused("{{ u | }}", "a name is missing before `}}`", "the name of a filter"),
    Refused("{{ i + }}", "an expression is missing before `}}`", "the other operand"),
    Refused("{% if i %}a", "`{% if %}` is not closed", "`{% endif %}` after it"),
    Refused("{# a", "`{#` is not closed by `#}`", "`#}` after it"),
]
