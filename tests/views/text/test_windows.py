"""Of a large document a part is shown, which says so."""

from __future__ import annotations

import json

import pytest

from refexplorer.views.text import positions as windows
from refexplorer.views.text.positions import CHARACTERS, window_of
from tests.helpers.editing import GOOD, Host, slice_of

LARGEST = 200_000
"""A tenth of what is edited as a whole: a document beyond it is made and opened sooner."""


@pytest.fixture(autouse=True)
def _smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "LARGEST", LARGEST)


@pytest.fixture(scope="module")
def text() -> str:
    refs = {f"x/{i}": ["{{u}}/f", i, 1] for i in range(6_000)}
    refs["bad"] = ["{{nosuch}}"]
    document = {"version": 1, "templates": {"u": "s3://b"}, "refs": {"😀": "x", **refs}}
    return json.dumps(document, indent=1, ensure_ascii=False)


def test_a_large_document_is_shown_in_part(text: str) -> None:
    assert len(text) > LARGEST
    host = Host(text)
    hello = host.ask("hello")
    assert text.startswith(hello["document"])
    assert 0 < len(hello["document"]) <= CHARACTERS
    assert "lines 1 to 2,001 of 30," in hello["window"]["sentence"]
    assert (hello["total"], hello["wrap"]) == (6_001, None)
    (mark,) = [note for note in host.ask("notes")["notes"] if note["severity"] == "error"]
    assert mark["from"] == -1
    moved = host.ask("window", line=mark["line"])
    (mark,) = [note for note in host.ask("notes")["notes"] if note["severity"] == "error"]
    assert "{{nosuch}}" in slice_of(moved["document"], mark)
    shown = text.splitlines()[moved["window"]["first"] - 1]
    assert moved["document"].startswith(shown)


def test_a_row_lights_up_only_in_the_part_that_is_shown(text: str) -> None:
    host = Host(text)
    shown = host.ask("hello")["document"]
    near = {s["name"]: s for s in host.ask("explain", key="x/7")["derivation"]["steps"]}
    assert slice_of(shown, near["template u"]) == '"s3://b"'
    far = {s["name"]: s for s in host.ask("explain", key="x/5999")["derivation"]["steps"]}
    assert far["url"]["from"] is None
    assert far["url"]["result"] == "s3://b/f"


def test_it_is_not_edited_and_another_document_is(text: str) -> None:
    host = Host(text)
    assert host.ask("edit", document="{}")["total"] == 6_001
    assert host.controller.document == text
    host.controller.document = GOOD
    assert {"ev": "opened"} in host.posted
    hello = host.ask("hello")
    assert (hello["window"], json.loads(hello["document"])) == (None, GOOD)
    assert host.ask("edit", document="{}")["total"] == 0


def test_one_endless_line_is_cut() -> None:
    window = window_of("x" * (LARGEST + 1), 5)
    assert window is not None
    assert window.stop - window.start == CHARACTERS
