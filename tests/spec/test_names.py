"""Names in a dict that are no text are findings."""

from __future__ import annotations

from typing import Any

import pytest

import refexplorer as rx
from refexplorer.spec.findings import written

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


PLACES = {
    "": "/",
    "/gen": "gen",
    "/gen/0/dimensions/i/1": 'gen[0]["dimensions"]["i"][1]',
    "/refs/t2m~13.0.0": 'refs["t2m/3.0.0"]',
    "/refs/0/1": 'refs["0"][1]',
    "/templates/1": 'templates["1"]',
    '/a~0b~1"': '"a~b/\\""',  # a key of V0
    ".zmetadata/x~1.zattrs": '.zmetadata["x/.zattrs"]',
    "x/refs.0.parq": "x/refs.0.parq",
}


@pytest.mark.parametrize(("at", "text"), PLACES.items())
def test_people_see_a_key_as_it_is_in_the_set(at: str, text: str) -> None:
    assert written(at) == text
