"""What is read of jinja2 has one form, made in one place."""

from __future__ import annotations

import ast

import pytest

from refexplorer.spec.templates import syntax
from refexplorer.spec.templates.parsing import lower
from refexplorer.spec.templates.syntax import (
    Attribute,
    Binary,
    Branches,
    Call,
    Compare,
    Concat,
    Conditional,
    Default,
    Defined,
    Dictionary,
    Filter,
    Form,
    Item,
    Literal,
    Logic,
    Name,
    Printf,
    Sequence,
    Slice,
    TemplateProblem,
    Unary,
    every,
)
from refexplorer.spec.templates.template import compile_template
from tests.helpers.sources import PACKAGE, imported, modules

INDEX, ONE, TWO = Name("i"), Literal(1), Literal(2)
FORMS: list[tuple[str, Form]] = [
    ("-i * 2 + 1", Binary("+", Binary("*", Unary("-", INDEX), TWO), ONE)),
    ("'%03d' % i", Printf("%03d", INDEX, is_filter=False)),
    ("'%03d' | format(i)", Printf("%03d", INDEX, is_filter=True)),
    ("'%d-%d' | format(i, 1)", Filter("format", Literal("%d-%d"), (INDEX, ONE))),
    ("i % 2", Binary("%", INDEX, TWO)),
    ("f(c=1, d=i)", Call("f", (("c", ONE), ("d", INDEX)))),
    ("i.real", Attribute("i", "real")),
    ("[1, i][2]", Item(Sequence(list, (ONE, INDEX)), TWO)),
    ("(1, 2)[i:]", Slice(Sequence(tuple, (ONE, TWO)), (INDEX, Literal(None), Literal(None)))),
    ("{1: i}", Dictionary(((ONE, INDEX),))),
    ("1 if i < 2 != 1", Conditional(Compare(INDEX, (("lt", TWO), ("ne", ONE))), ONE)),
    ("i and not 1 or 2", Logic("or", Logic("and", INDEX, Unary("not", ONE)), TWO)),
    ("i ~ 1 ~ 2", Concat((INDEX, ONE, TWO))),
    ("i | round(2)", Filter("round", INDEX, (TWO,))),
    ("i | d", Default(INDEX, Literal(""), Literal(False))),
    ("i | default(1, 2)", Default(INDEX, ONE, TWO)),
    ("i is divisibleby(2)", syntax.Test("divisibleby", INDEX, (TWO,))),
    ("i is undefined", Defined(INDEX, wanted=False)),
]


@pytest.mark.parametrize(("expression", "form"), FORMS)
def test_an_expression_has_one_form(expression: str, form: Form) -> None:
    assert lower(f"a{{{{ {expression} }}}}b") == ("a", form, "b")


def test_literal_text_is_put_together() -> None:
    text = "a{% raw %}{{b{% endraw %}{# no #}c{% if i %}d{% elif 1 %}{{ 2 }}{% endif %}"
    assert lower(text) == ("a{{bc", Branches(((INDEX, ("d",)), (ONE, (TWO,))), ()))


@pytest.mark.parametrize(
    ("expression", "first"),
    [
        ("1 is even(2) if i.__class__ else 3 | map", "`.__class__`"),
        ("1 is even(2) if i else 3 | map", "test `even` with 1 arguments"),
        ("(1 is callable) + 3 | map", "test `callable`"),
        ("3 | map(f(1))", "filter `map`"),
    ],
)
def test_what_comes_first_is_refused(expression: str, first: str) -> None:
    with pytest.raises(TemplateProblem, match=first):
        lower(f"{{{{ {expression} }}}}")


def test_calls_come_from_the_innermost_on() -> None:
    template = compile_template("{{ f(c=g(d=1)) }}{{ h() if i else g() }}")
    names = [name for name, _ in template.calls]
    assert names == ["g", "f", "h", "g"]
    assert template.names == {"f", "g", "h", "i"}


def test_what_is_inside_a_form_comes_before_it() -> None:
    (form,) = lower("{{ i ~ f(c=[1]) }}")
    assert isinstance(form, Form)
    inside = [ONE, Sequence(list, (ONE,)), Call("f", (("c", Sequence(list, (ONE,))),))]
    assert every(form) == [INDEX, *inside, form]


def test_one_module_knows_the_nodes_of_jinja2() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path, text in modules().items()
        for node in imported(text)
        if isinstance(node, ast.ImportFrom) and node.module == "jinja2"
        if "nodes" in {alias.name for alias in node.names}
    }
    assert found == {"spec/templates/parsing.py"}
