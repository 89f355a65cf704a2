"""An explanation shows where each expression stands in its text."""

from __future__ import annotations

import pytest

import refexplorer as rx

SPANS = [
    ("{{u-}}\r\n {{u}}", ["{{u-}}", "{{u}}"]),
    ("a {{ u -}}  b\r{{- u }}\r\n\r\n{{u}}", ["{{ u -}}", "{{- u }}", "{{u}}"]),
    ("{# x\r\n #}{{u}}\r\n{% raw %}{{u}}{% endraw %}{{u}}\r\n", ["{{u}}", "{{u}}"]),
    ("{{u}}{{u}}", ["{{u}}", "{{u}}"]),
]


@pytest.mark.parametrize(("text", "expressions"), SPANS)
def test_a_substitution_spans_its_expression(text: str, expressions: list[str]) -> None:
    document = {"version": 1, "templates": {"u": "h"}, "refs": {"a": [text]}}
    (step,) = (
        step for step in rx.open_references(document).explain("a").steps if step.name == "url"
    )
    assert [found.text for found in step.substitutions] == expressions
    assert [text[found.start : found.end] for found in step.substitutions] == expressions
    assert {found.result for found in step.substitutions} == {"h"}
