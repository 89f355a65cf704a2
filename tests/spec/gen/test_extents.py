"""What is said never to fail does not."""

from __future__ import annotations

from hypothesis import given, seed, settings
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.refset.opened_set import internals
from refexplorer.spec.gen.parsing import cannot_fail

NUMBERS = st.recursive(
    st.sampled_from(["i", "j", "0", "1", "7", "1000", "9223372036854775807", "k"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%", "/"]), inner).map(
            lambda parts: f"({' '.join(parts)})"
        ),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} < {p[2]} else {p[0]})"),
        st.tuples(inner, inner, inner).map(lambda p: f"[{p[0]}, {p[1]}][{p[2]}]"),
        inner.map(lambda one: f"(-{one})"),
    ),
    max_leaves=5,
)
TEXTS = st.one_of(
    NUMBERS.map("{{{{ {} }}}}".format),
    NUMBERS.map("{{{{ '%04d' % {} }}}}".format),
    NUMBERS.map("{{{{ 'a' ~ {} ~ u }}}}".format),
    NUMBERS.map("{{{{ f(c={}) }}}}".format),
    NUMBERS.map("{{{{ f(c='%02d' % {}) }}}}".format),
    st.sampled_from(["{{ u }}", "{{ f }}", "{{ g(c=i) }}", "x", "é", "{{ '%c' | format(i) }}"]),
)


def test_templates_that_cannot_fail_do_not() -> None:
    known: list[int] = []

    @seed(1)
    @given(TEXTS, NUMBERS.map("{{{{ {} }}}}".format), st.integers(-9, 9), st.integers(1, 5))
    def render(url: str, offset: str, first: int, size: int) -> None:
        values = {"i": {"start": first, "stop": first + size}, "j": [0, 3, -5]}
        templates = {"u": "http://h", "f": "{{ c }}-", "g": "{{ c // 2 }}"}
        made = {"key": "{{i}}.{{j}}", "url": url, "offset": offset, "length": "1"}
        gen = [{**made, "dimensions": values}]
        refs = rx.open_references({"version": 1, "templates": templates, "gen": gen})
        for item in filter(cannot_fail, internals(refs).generated):
            assert len([item.reference_at(at) for at in range(item.count)]) == size * 3
            known.append(item.count)

    render()
    assert len(known) >= settings().max_examples // 10


def test_ordinary_templates_are_known_not_to_fail() -> None:
    item = {
        "key": "t/{{f * 24 + s}}.{{'%03d' | format(x)}}",
        "url": "{{u}}/surface_{{'%06d' % f}}.{{v(n=s // 4)}}.nc",
        "offset": "{{32768 + [9, 1, 5, 7][x % 4] * 414720}}",
        "length": "414720",
        "dimensions": {"f": {"stop": 10**9}, "s": {"stop": 24}, "x": {"stop": 5}},
    }
    source = {"version": 1, "templates": {"u": "s3://b", "v": "v{{n}}"}, "gen": [item]}
    refs = rx.open_references(source)
    assert {found.code for found in refs.diagnostics} == {"readers-differ"}
    assert cannot_fail(internals(refs).generated[0])
