"""Names in a dict that are no text are findings."""

from __future__ import annotations

from typing import Any

import pytest

import refexplorer as rx

GEN = {"key": "g", "url": "u"}
DOCUMENTS = [
    ({"templates": {1: "x"}}, "bad-template-name", "/templates/1"),
    ({"templates": {None: "{{x"}}, "bad-template-name", "/templates/None"),
    ({"gen": [{**GEN, "dimensions": {1: [1]}}]}, "gen-bad-dimension", "/gen/0/dimensions/1"),
]


@pytest.mark.parametrize(("sections", "code", "at"), DOCUMENTS)
def test_a_name_that_is_no_text_is_one_finding(sections: Any, code: str, at: str) -> None:
    document = {"version": 1, "refs": {"a": "b"}, **sections}
    for found in (rx.expand(document).diagnostics, rx.open_references(document).diagnostics):
        assert [(one.severity, one.code, one.pointer) for one in found] == [("error", code, at)]
    assert rx.open_references(document).to_v0() == {"a": "b"}
