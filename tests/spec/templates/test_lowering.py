"""What is not read of jinja2 is refused, the first first."""

from __future__ import annotations

import pytest

from refexplorer.spec.templates.parsing import lower
from refexplorer.spec.templates.syntax import TemplateProblem
from refexplorer.spec.templates.template import compile_template


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
