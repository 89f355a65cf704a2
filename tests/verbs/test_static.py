from __future__ import annotations

import math
from html.parser import HTMLParser

import refexplorer as rx
from refexplorer.core.text import escape
from refexplorer.spec.codes import Severity
from refexplorer.spec.references import Kind
from refexplorer.verbs.display import summary_text, tree_text
from refexplorer.views.preview.axes import Coordinate
from refexplorer.views.text.fixes import EditorDiagnostic
from refexplorer.views.wire.requests import to_wire
from tests.helpers.sets import DEMO, GEN, HOSTILE


def test_long_text_is_cut() -> None:
    assert escape("x" * 300, 200) == "x" * 199 + "…"


def test_text_of_a_set() -> None:
    refs = rx.open_references(DEMO / "sst.v0.json")
    assert "60 keys, 8 arrays, 4 targets" in summary_text(refs)
    lines = tree_text(refs, children=4, levels=2).splitlines()
    assert lines[-1] == "└── … 6 more"
    assert any(line.startswith("│   ├── .zarray") for line in lines)


def test_text_of_a_trillion_keys_is_short() -> None:
    refs = rx.open_references({"version": 1, "gen": [GEN]})
    assert "999,999,999,980 more" in tree_text(refs)
    assert len(refs._repr_html_()) < 10_000


def test_nothing_of_a_file_moves_the_cursor() -> None:
    refs = rx.open_references(HOSTILE)
    for text in (summary_text(refs), tree_text(refs)):
        assert not any(ord(each) < 32 and each != "\n" for each in text)
        assert "\u202e" not in text


def test_html_shows_a_file_as_text() -> None:
    seen: list[str] = []

    class Parser(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            seen.append(tag)
            assert attrs == [] or attrs == [("class", "refexplorer")]

    Parser().feed(rx.open_references(HOSTILE)._repr_html_())
    assert set(seen) <= {"div", "p", "br", "b", "ul", "li", "code", "details", "summary"}


def test_html_says_what_there_is_and_how_well_it_is() -> None:
    html = rx.open_references(DEMO / "sst.v1.json")._repr_html_()
    assert "inline, " in html
    assert "; no errors, targets not checked" in html
    assert "<button" not in html  # no kernel: nothing would answer it
    broken = rx.open_references({"a": ["f", 1], "b": "x", "c": ["", 1, 2]})
    assert "1 error, 1 warning, targets not checked" in broken._repr_html_()
    assert "no references; no errors" in rx.open_references({})._repr_html_()


def test_models_as_json() -> None:
    mark = EditorDiagnostic(
        "c", Severity.ERROR, "all", "m", None, "", 1, 2, 3, None, 4, 5, (), None
    )
    wire = to_wire(mark)
    assert (wire["from"], wire["to"]) == (4, 5)
    assert to_wire(Coordinate("x", (1.0, math.nan, math.inf))) == {
        "name": "x",
        "values": [1.0, None, None],
        "times": False,
        "texts": None,
        "along": None,
    }
    assert to_wire({Kind.URL: 2**53 + 1, "b": True, "c": "\ud800"}) == {
        "url": "9007199254740993",
        "b": True,
        "c": "\\ud800",
    }
