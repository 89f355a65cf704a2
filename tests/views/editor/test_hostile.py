"""Hostile documents typed into the editor do no harm, and the editor says why they do not work."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from refexplorer.views.static_html import editor_html
from tests.cases import hostile
from tests.helpers.editing import GOOD, Host

SECONDS = 5
"""Of processor time, for the edit and everything that is asked of it."""
CASES = {
    name: case["input"]
    for name, case in hostile().items()
    if case["layer"].startswith(("templates", "gen")) and "input" in case
}
HARMLESS = {"gen-product-1e12"}
"""Large, and read as it is."""


def text_of(source: Any) -> str:
    return source if isinstance(source, str) else json.dumps(source)


def test_there_are_templates_and_gen_items_among_them() -> None:
    assert len(CASES) >= 30


@pytest.mark.parametrize("name", CASES)
def test_typing_it_costs_little_and_says_why(name: str) -> None:
    host = Host()
    begun = time.process_time()
    reply = host.ask("edit", document=text_of(CASES[name]))
    assert "error" not in reply
    rows = host.ask("rows", start=0, n=50)["rows"]
    for row in rows[:3]:
        assert "derivation" in host.ask("explain", key=row["key"]) or row["state"] == "removed"
    remarks = host.ask("notes")
    host.ask("readers")
    for reader in ("fsspec (default)", "fsspec (simple_templates=False)"):
        host.ask("rows", start=0, n=50, reader=reader)
    host.ask("uses", pointer="/templates/u")
    host.ask("v0")
    html = editor_html(host.controller)
    assert time.process_time() - begun < SECONDS
    assert len(html) < 300_000
    assert remarks["notes"] or name in HARMLESS, "nothing is said"
    assert "<script" not in html


@pytest.mark.parametrize("name", CASES)
def test_the_editor_goes_on_after_it(name: str) -> None:
    host = Host()
    host.ask("edit", document=text_of(CASES[name]))
    reply = host.ask("edit", document=json.dumps(GOOD))
    assert (reply["good"], reply["total"]) == (True, 5)
    derivation = host.ask("explain", key="x/2")["derivation"]
    (row,) = host.ask("rows", start=derivation["row"], n=1)["rows"]
    assert row["url"] == "s3://b/2"


def test_the_notes_of_more_keys_than_python_counts() -> None:
    host = Host()
    item = {"key": "v/{{a}}.{{b}}", "url": "u", "dimensions": {n: {"stop": 10**10} for n in "ab"}}
    host.ask("edit", document=text_of({"version": 1, "gen": [item]}))
    reply = host.ask("notes")
    assert (reply["good"], reply["note_count"]) == (True, len(reply["notes"]))
