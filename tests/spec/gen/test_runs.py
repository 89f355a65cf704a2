"""A gen item makes the same references in runs of many keys as it does key by key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.spec.gen.dimensions import Dimension
from refexplorer.spec.gen.item import BadField, GenItem, runs
from refexplorer.spec.templates.syntax import TemplateProblem
from refexplorer.spec.templates.template import compile_template
from tests.helpers.expanding import expanded

TEMPLATES = {
    "u": "s3://bucket/é",
    "f": "{{ '%03d' % n }}/{{ n * m }}",
    "g": "<{{ n }}|{{ n | string | upper }}>",
    "three": "{{ 1 + 2 }}",
}
NUMBERS = ["0", "1", "3", "7", "24", "1000", "99999", "4611686018427387904", "10 ** 20"]
PATTERNS = ["%d", "%03d", "%5d", "%02d%%", "a%sb", "%x", "%06.2f", "é%04d.", "%%", "%d%d", "%+d"]

names = st.sampled_from(["a", "a", "b", "b", "c", "d"])
numbers = st.recursive(
    names | st.sampled_from(NUMBERS),
    lambda inner: st.one_of(
        st.builds(
            "({} {} {})".format,
            inner,
            st.sampled_from(["+", "-", "*", "*", "//", "%", "/", "**"]),
            inner,
        ),
        st.builds("(-{})".format, inner),
        st.builds(
            "({} if {} {} {} else {})".format,
            inner,
            inner,
            st.sampled_from(["<", "<=", "==", "!=", ">", ">=", "in", "and", "or"]),
            inner,
            inner,
        ),
        st.builds("({} if 1 < {} < 5 else {})".format, inner, inner, inner),
        st.builds("({}) | int".format, inner),
        st.builds("({}) | abs".format, inner),
        st.builds("['x', 7, 'é'][{}]".format, inner),
        st.builds("[40, -3, 0x1F, {}][{}]".format, st.sampled_from(NUMBERS), inner),
    ),
    max_leaves=5,
)
expressions = st.one_of(
    numbers,
    numbers,
    st.builds("'{}' % ({})".format, st.sampled_from(PATTERNS), numbers),
    st.builds("'{}' | format({})".format, st.sampled_from(PATTERNS), numbers),
    st.builds("({}) ~ '-' ~ ({}) ~ u".format, numbers, numbers),
    st.builds("f(n={}, m={})".format, numbers, numbers),
    st.builds("f(n='%02d' % ({}), m=2)".format, numbers),
    st.builds("g(n={})".format, numbers),
    st.builds("g(n='%04d' | format({}))".format, numbers),
    st.builds("('ab' * ({})) | upper".format, numbers),
    st.sampled_from(["u", "three", "f", "nothing", "a is even", "a is defined", "a | default(3)"]),
)
parts = st.one_of(
    st.builds("{{{{ {} }}}}".format, expressions),
    st.builds("{{{{ {} }}}}".format, expressions),
    st.sampled_from(["x/", ".", "é", "%d", "\0", " "]),
    st.builds("{{% if {} %}}{{{{ {} }}}}{{% endif %}}".format, numbers, expressions),
)
texts = st.builds("".join, st.lists(parts, min_size=1, max_size=4))
wholes = st.builds("{{{{ {} }}}}".format, numbers) | texts | st.just("12")
dimensions = st.one_of(
    st.builds(
        lambda start, size, step: range(start, start + size * step, step),
        st.sampled_from([-3, 0, 0, 2, 998, 2**62, 2**63 - 2, 10**30]),
        st.integers(1, 6),
        st.sampled_from([1, 1, 3, -2]),
    ),
    st.lists(st.sampled_from([-7, 0, 1, 5, 5, 999, 10**6, 2**64]), min_size=1, max_size=4).map(
        tuple
    ),
)
limits = st.sampled_from(
    [
        rx.Limits(),
        rx.Limits(),
        rx.Limits(integer_bits=40),
        rx.Limits(template_chars=30),
        rx.Limits(template_chars=300),
        rx.Limits(template_steps=4),
    ]
)


@given(
    texts,
    texts,
    wholes,
    st.booleans(),
    st.lists(dimensions, min_size=3, max_size=3),
    limits,
    st.sampled_from([1, 4, 7, 50, 65_536]),
    st.tuples(st.integers(0, 30), st.integers(0, 90)),
)
def test_runs_are_what_the_keys_are_one_by_one(
    key: str,
    url: str,
    number: str,
    whole_file: bool,
    values: list[Any],
    limits: rx.Limits,
    size: int,
    between: tuple[int, int],
) -> None:
    templates = {name: compile_template(text) for name, text in TEMPLATES.items()}
    try:
        fields = [compile_template(text) for text in (key, url, number)]
    except TemplateProblem:
        return
    offset, length = (None, None) if whole_file else (fields[2], compile_template("{{ a + 5 }}"))
    named = tuple(map(Dimension, "abc", values))
    item = GenItem(0, named, fields[0], fields[1], offset, length, templates, limits)
    for start, stop in ((0, item.count), between):
        one_by_one = list(rendered_one_by_one(item, start, stop))
        found = list(runs(item, start, stop, most=size))
        assert [entry for run in found for entry in run.references()] == one_by_one
        v0 = [(name, reference.to_v0()) for name, reference in one_by_one]
        assert [entry for run in found for entry in run.v0()] == v0
        places = [place for run in found for place in run.numbers.tolist()]
        assert [item.key_at(place) for place in places] == [name for name, _ in one_by_one]
        if item.certain:
            assert [item.find(name) for name, _ in one_by_one] == places
        assert all(len(run.urls) == len(set(run.urls)) for run in found)


def rendered_one_by_one(
    item: GenItem, start: int, stop: int
) -> Iterator[tuple[str, rx.types.Reference]]:
    for number in range(start, min(stop, item.count)):
        with suppress(BadField):
            yield item.key_at(number), item.reference_at(number)


def test_a_key_of_a_comment_alone_is_empty() -> None:
    item = {"key": "{# nothing #}", "url": "{# here #}u", "dimensions": {"i": [1, 2]}}
    document = {"version": 1, "gen": [item]}
    assert rx.open_references(document).to_v0() == expanded(document) == {"": ["u"]}
