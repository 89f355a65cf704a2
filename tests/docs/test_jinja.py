"""What the page says of jinja2 holds for the engine, and for jinja2 itself."""

from __future__ import annotations

import jinja2
import pytest

from refexplorer.spec.templates import parsing as filters
from refexplorer.spec.templates.syntax import TemplateProblem
from refexplorer.spec.templates.template import Scope, compile_template
from tests.cases.jinja import EXPRESSIONS, FILTERS, NAMES, REFUSED, TESTS, Read, Refused

READ = [case for cases in EXPRESSIONS.values() for case in cases]
EVERY = [*READ, *FILTERS.values(), *TESTS.values()]


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.template)
def test_what_is_read_renders_as_jinja2_renders_it(case: Read) -> None:
    assert compile_template(case.template).render(Scope(NAMES)) == case.result
    assert jinja2.Environment().from_string(case.template).render(NAMES) == case.result


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.template)
def test_what_is_refused_is_named_as_it_is_written(case: Refused) -> None:
    with pytest.raises(TemplateProblem) as problem:
        compile_template(case.template).render(Scope(NAMES))
    assert case.says in f"{problem.value} {problem.value.hint}"
    assert "print statement" not in str(problem.value)
    assert case.instead


def test_every_filter_and_every_test_has_a_case() -> None:
    assert FILTERS.keys() == filters.FILTERS.keys() | {"default", "d"}
    assert TESTS.keys() == filters.TESTS.keys() | {"defined", "undefined"}


def test_what_to_write_instead_of_a_method_is_read() -> None:
    for name, instead in (("zfill", "007"), ("strip", "s3://b")):
        with pytest.raises(TemplateProblem) as problem:
            compile_template(f"{{{{ u.{name}() }}}}")
        written = problem.value.hint.partition("`")[2].partition("`")[0]
        names = {"n": 7, "text": " s3://b "}
        assert compile_template(written).render(Scope(names)) == instead
