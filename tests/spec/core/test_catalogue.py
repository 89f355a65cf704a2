"""The catalogue of diagnostics and the code say the same."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import refexplorer as rx
from refexplorer.spec.core.catalogue import CATALOGUE, PARQUET, page
from refexplorer.spec.core.diagnostics import SHOWN_PER_CODE, Findings, pointer

PACKAGE = Path(rx.__file__).parent
UNSHOWN = {"override-unused", "key-too-long", "readers-not-compared", "odd-encoding", *PARQUET}


@pytest.mark.parametrize("code", [code for code in CATALOGUE if code not in UNSHOWN])
def test_the_example_of_a_code_shows_it(code: str) -> None:
    rule = CATALOGUE[code]
    if code in ("not-json", "not-object", "bad-version"):
        with pytest.raises(rx.SpecError) as refusal:
            rx.open_references(rule.example)
        assert refusal.value.code == code
    else:
        diagnostics = rx.open_references(rule.example).diagnostics
        assert (code, rule.severity) in {(found.code, found.severity) for found in diagnostics}


def test_every_code_that_the_program_writes_is_in_the_catalogue() -> None:
    names = {
        node.value
        for room in ("spec", "formats", "refset", "data")
        for path in (PACKAGE / room).rglob("*.py")
        if path.name != "catalogue.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    built = {"bad-offset", "bad-length"}
    assert CATALOGUE.keys() - names - built == set()


def test_the_page_of_the_catalogue_is_up_to_date() -> None:
    written = (PACKAGE / "spec" / "DIAGNOSTICS.md").read_text(encoding="utf-8")
    assert written == page()
    assert all(f"### `{code}`" in written for code in CATALOGUE)


def test_findings_of_one_kind_are_counted_beyond_the_first() -> None:
    findings = Findings()
    for number in range(1000):
        findings.add("bad-offset", pointer("refs", f"x/{number}"), "No.")
    frozen = findings.freeze()
    assert len(frozen) == SHOWN_PER_CODE
    assert sum(diagnostic.count for diagnostic in frozen) == 1000


def test_a_diagnostic_tells_line_and_column_where_text_was_given() -> None:
    text = '{\n  "version": 1,\n  "refs": {\n    "a/b": ["http://h/f", -1, 5]\n  }\n}'
    (found,) = rx.expand(text).diagnostics
    assert (found.code, found.pointer) == ("bad-offset", "/refs/a~1b")
    assert (found.line, found.column) == (4, 12)
    assert "line 4:12" in str(found)
