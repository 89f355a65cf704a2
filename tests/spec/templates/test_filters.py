"""Filters, tests and operators give what jinja2's sandbox gives, or refuse in a sentence."""

from __future__ import annotations

from functools import cache

import jinja2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2.sandbox import ImmutableSandboxedEnvironment

import refexplorer as rx
from refexplorer.spec.templates.parsing import FILTERS, TESTS
from refexplorer.spec.templates.syntax import TemplateProblem
from refexplorer.spec.templates.template import Scope, compile_template

SANDBOX = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined)
NUMBERS = ["0", "7", "-3", "i", "2.5", "-0.0", "10 ** 30", "true", "none"]
TEXTS = ["''", "' a b'", "'sea_ice'", '"o\'neil (x)"', "'ÄßŒ\u0130'", "'12'", "' 1.5 '", "'0x1f'"]
TEXTS += ["'%d'", "'%s-%s'", "'%%'", "'ab'[i % 2]"]
LISTS = ["[]", "[1, 2]", "['b', 'a']", "(1, 2)", "{}", "{0: 'z'}", "{'a': 1}", "[none, 1.5]"]
ABSENT = ["nope", "{'a': 1}['b']", "[1][9]", "'' | first", "[] | last", "'x' if i > 9"]
VALUES = NUMBERS + TEXTS + LISTS + ABSENT
ARGUMENTS = ["", "(-2)", "(true)", "(none)", "('a', 'b')", "('1', '16')", "(1, 'floor')", "(nope)"]
STRIDE = max(1, 100 // settings().max_examples)
"""Of so many values an argument has one: the quick tests do not try each with each."""
OPERATORS = ["+", "-", "*", "/", "//", "%", "~", "==", "<", ">=", "in", "not in", "and", "or"]
APPLIED = [f"| {name}" for name in (*FILTERS, "default")]
APPLIED += [f"is {name}" for name in (*TESTS, "defined", "undefined")]


def in_jinja2(expression: str, i: int = 1) -> str | None:
    """Return what jinja2 prints, None if it fails."""
    return _rendered(_compiled(expression), i)


def of_each_value(applied: str, tried: slice) -> list[str | None]:
    """Return what jinja2 prints of some of `VALUES`; it compiles them once for all."""
    template = _compiled(f"[{', '.join(VALUES)}][n] {applied}")
    return [_rendered(template, 1, n) for n in range(len(VALUES))[tried]]


@cache
def _compiled(expression: str) -> jinja2.Template | None:
    try:
        return SANDBOX.from_string("{{ " + expression + " }}")
    except Exception:
        return None


def _rendered(template: jinja2.Template | None, i: int, n: int = 0) -> str | None:
    try:
        return None if template is None else template.render(i=i, n=n)
    except Exception:
        return None


def here(expression: str) -> str | TemplateProblem:
    try:
        return compile_template("{{ " + expression + " }}").render(Scope({"i": 1}))
    except TemplateProblem as problem:
        return problem


def check(expression: str, expected: str | None) -> None:
    """Compare; only what is named as not read, or is absent, may be refused here alone."""
    found = here(expression)
    if not isinstance(found, TemplateProblem):
        assert found == expected, expression
    elif expected is not None and not any(part in expression for part in ABSENT):
        assert found.code == "unsafe-template", f"{expression}: {found}"


@pytest.mark.parametrize("applied", APPLIED)
def test_a_filter_or_test_gives_what_jinja2_gives(applied: str) -> None:
    for start, argument in enumerate(ARGUMENTS):
        tried = slice(start % STRIDE, None, STRIDE)
        expected = of_each_value(f"{applied}{argument}", tried)
        for value, printed in zip(VALUES[tried], expected, strict=True):
            check(f"({value}) {applied}{argument}", printed)


@pytest.mark.parametrize("applied", APPLIED)
def test_a_column_of_values_gives_what_jinja2_gives(applied: str) -> None:
    listed = NUMBERS + TEXTS + LISTS
    expression = f"[{', '.join(listed)}][i // 2] {applied}"
    texts = {str(i): in_jinja2(expression, i) for i in range(2 * len(listed))}
    expected = {i: [text] for i, text in texts.items() if text is not None}
    dimensions = {"i": list(map(int, expected))}
    item = {"key": "{{i}}", "url": "{{ " + expression + " }}", "dimensions": dimensions}
    assert rx.expand({"version": 1, "gen": [item]}).v0 == expected


values = st.sampled_from(VALUES)


@given(values, st.sampled_from(OPERATORS), values, st.sampled_from(["", " | default(3)"]))
def test_an_operator_gives_what_jinja2_gives(left: str, sign: str, right: str, then: str) -> None:
    expression = f"(({left}) {sign} ({right})){then}"
    check(expression, in_jinja2(expression))


@given(values, values, st.sampled_from(["", " | default(3)", " is defined"]))
def test_an_item_is_what_jinja2_gives(value: str, index: str, then: str) -> None:
    expression = f"({value})[{index}]{then}"
    check(expression, in_jinja2(expression))


NOT_AS_JINJA2_BEFORE = [
    ("{{ 'sea_ice' | title }}", "Sea_ice"),
    ("{{ (i * 10) | round }}", "10"),
    ("{{ 2.7 | round(0, 'floor') }}", "2.0"),
    ("{{ {0: 'z'} | first }}", "0"),
    ("{{ '%s' % [1, 2] }}", "[1, 2]"),
    ("{{ [1, 2][5] | default(0) }}", "0"),
    ("{{ 'ff' | int(0, 16) }}", "255"),
    ("{{ i | default(nope) }}", "1"),
]


@pytest.mark.parametrize(("text", "rendered"), NOT_AS_JINJA2_BEFORE)
def test_what_is_printed(text: str, rendered: str) -> None:
    assert compile_template(text).render(Scope({"i": 1})) == rendered


REFUSED = [
    ("{{ '%s-%s' % [1, 2] }}", "bad-template"),
    ("{{ (nope ~ 'x') | default('d') }}", "undefined-name"),
    ("{{ [nope] | default(1) }}", "undefined-name"),
    ("{{ range is defined }}", "unsafe-template"),
    ("{{ 'a'['upper'] }}", "unsafe-template"),
    ("{{ i | default(1, 2, 3) }}", "unsafe-template"),
    ("{{ '%1999999999d' is even }}", "template-limit"),
    ("{{ '%1999999999d' is divisibleby(3) }}", "template-limit"),
    ("{{ ('%60000d' * 9000) % ((1,) * 9000) }}", "template-limit"),
    ("{{ 7 | round(-10 ** 9) }}", "template-limit"),
]


@pytest.mark.parametrize(("text", "code"), REFUSED)
def test_what_is_refused(text: str, code: str) -> None:
    with pytest.raises(TemplateProblem) as refusal:
        compile_template(text).render(Scope({"i": 1}))
    assert refusal.value.code == code


def test_digits_of_another_script_are_no_width() -> None:
    item = {"key": "{{ '%٣d' % i }}", "url": "u", "dimensions": {"i": [1, 2]}}
    expansion = rx.expand({"version": 1, "gen": [item]})
    assert not expansion.v0
    assert expansion.diagnostics[0].code == "bad-template"
