"""Templates render as jinja2 renders them, and nothing else runs."""

from __future__ import annotations

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refexplorer.spec.templates.syntax import TemplateProblem
from refexplorer.spec.templates.template import Scope, compile_template


def render(text: str, **values: object) -> str:
    return compile_template(text).render(Scope(values))


SAME_AS_JINJA2 = [
    "plain",
    "a{{ i }}b{{- i }} c",
    "{{ i + 1 }} {{ i - 9 }} {{ i * i }} {{ i / 2 }} {{ i // 2 }} {{ i % 3 }} {{ 2 ** i }}",
    "{{ -i }} {{ +i }} {{ (i + 1) * 1000 }}",
    "{{ '%03d' % i }} {{ '%s-%s' % (i, 'x') }} {{ '%5.2f' | format(i) }}",
    "{{ 'a' ~ i ~ 'b' }} {{ 'ab' * 2 }} {{ 'ab'[1] }} {{ 'abcd'[1:3] }}",
    "{{ 'x' if i > 2 else 'y' }} {{ i == 7 and 'a' or 'b' }} {{ not i }}",
    "{{ 1 < i <= 7 }} {{ i in [1, 7] }} {{ i not in (1, 2) }}",
    "{{ [5, -6, 7][i % 3 - 2] }} {{ [] }} {{ (1, -2.5, 'a') }} {{ [[1, 2], [i]] }}",
    "{{ ['p', 'q'][i % 2] }} {{ {7: 'seven'}[i] }} {{ [1, 'a'] }}",
    "{% if i > 5 %}big{% elif i > 2 %}mid{% else %}small{% endif %}",
    "{{ 'Ab c' | upper }}{{ 'Ab c' | lower }}{{ ' x ' | trim }}{{ 'a b' | title }}",
    "{{ 'a-b' | replace('-', '+') }} {{ 'abc' | length }} {{ (0 - i) | abs }}",
    "{{ '12' | int }} {{ 'x' | int(5) }} {{ '1.5' | float }} {{ 2.567 | round(1) }}",
    "{{ nope | default('d') }} {{ '' | default('d', true) }} {{ i | d(1) }}",
    "{{ i is odd }} {{ i is divisibleby(7) }} {{ nope is defined }} {{ i is number }}",
    "{# comment #}{% raw %}{{ raw }}{% endraw %}",
    "{{ ['a', 'b'] | join('-') }} {{ 'abc' | first }} {{ [1, 2] | last }}",
    "{{ true }} {{ none }} {{ 1.0 }} {{ 1_000 }}",
    "trailing newline{{ i }}\n",
]


@pytest.mark.parametrize("text", SAME_AS_JINJA2)
def test_a_template_renders_as_jinja2_does(text: str) -> None:
    assert render(text, i=7) == jinja2.Template(text).render(i=7)


names = st.sampled_from(["i", "j", "3", "12", "'a'", "'%03d'"])
operators = st.sampled_from(["+", "-", "*", "//", "%", "~", "==", "<", "and", "or"])


@given(st.lists(st.tuples(names, operators), min_size=1, max_size=4), names)
def test_any_expression_gives_what_jinja2_gives(terms: list[tuple[str, str]], last: str) -> None:
    text = "{{ " + " ".join(f"{name} {operator}" for name, operator in terms) + f" {last} }}}}"
    try:
        expected = jinja2.Template(text).render(i=5, j=2)
    except Exception:
        with pytest.raises(TemplateProblem):
            render(text, i=5, j=2)
    else:
        assert render(text, i=5, j=2) == expected


REFUSED = [
    ("{{ i.__class__ }}", "unsafe-template"),
    ("{{ ''.join }}", "unsafe-template"),
    ("{{ 'x'.format(i) }}", "unsafe-template"),
    ("{% for a in [1] %}{% endfor %}", "unsafe-template"),
    ("{% set a = 1 %}", "unsafe-template"),
    ("{% include 'x' %}", "unsafe-template"),
    ("{{ [i] | map(attribute='x') | list }}", "unsafe-template"),
    ("{{ i | pprint }}", "unsafe-template"),
    ("{{ range(3) }}", "unsafe-template"),
    ("{{ range(n=3) }}", "undefined-name"),
    ("{{ i() }}", "bad-template"),
    ("{{ j }}", "undefined-name"),
    ("{{ i + 'a' }}", "bad-template"),
    ("{{ i / 0 }}", "bad-template"),
    ("{{ [1][5] }}", "bad-template"),
    ("{{ 'a' if false }}", "undefined-name"),
    ("{{ 'a' * 10 ** 9 }}", "template-limit"),
    ("{{ 10 ** 4000000 }}", "template-limit"),
    ("{{ [0] * 10 ** 8 }}", "template-limit"),
    ("{{ '%1999999999d' % 1 }}", "template-limit"),
    ("{{ '%*d' % (1999999999, 1) }}", "bad-template"),
    ("{{ ('a' * 9999) | replace('a', 'b' * 999) }}", "template-limit"),
    ("{{ " + "(" * 5000 + "i" + ")" * 5000 + " }}", "template-limit"),
    ("{{ " + "9" * 5000 + " }}", "bad-template"),
    ("x" * 70_000 + "{{ i }}", "template-limit"),
]


@pytest.mark.parametrize(("text", "code"), REFUSED)
def test_what_could_do_harm_is_refused_by_name(text: str, code: str) -> None:
    with pytest.raises(TemplateProblem) as refusal:
        render(text, i=7)
    assert refusal.value.code == code
    assert str(refusal.value).endswith(".")


def test_an_undefined_name_suggests_the_nearest() -> None:
    with pytest.raises(TemplateProblem) as refusal:
        render("{{ indx }}", index=1)
    assert "`index`" in str(refusal.value)
    assert refusal.value.hint == "Did you mean `index`?"
