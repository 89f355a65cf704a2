"""The catalogue of diagnostics and the code say the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from unittest.mock import patch

import pytest

import refexplorer as rx
from refexplorer.formats.forms import json_form
from refexplorer.spec.core.catalogue import ARRAYS, CATALOGUE, PARQUET, REFERENCES
from refexplorer.spec.core.diagnostics import SHOWN_PER_CODE, Findings, pointer
from refexplorer.spec.core.explanations import EXPLANATIONS
from refexplorer.spec.core.rules import RULES
from tests.docs.diagnostics import diagnostics_page
from tests.docs.reference import DIAGNOSTICS
from tests.helpers.parquet import write_files
from tests.helpers.sources import PACKAGE, modules

UNSHOWN = {
    "left-out",
    "override-unused",
    "key-too-long",
    "odd-encoding",
    "range-past-end",
    *PARQUET,
}
STORES = [code for code in PARQUET if code != "parquet-too-large"]
SOURCES: dict[str, str | bytes] = {
    "override-unused": '{"version": 1, "refs": {"a": "x"}}',
    "key-too-long": f'{{"{"k" * 70_000}": "x"}}',
    "odd-encoding": '{"a": "x"}'.encode("utf-16"),
}
"""What shows a code that no JSON text by itself can."""


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


@pytest.mark.parametrize("protocol", ["s3", "http"])  # that of the example, or another one
@pytest.mark.parametrize("code", [code for code in (*REFERENCES, *ARRAYS) if code not in UNSHOWN])
def test_the_example_of_a_code_shows_it_in_a_large_set(code: str, protocol: str) -> None:
    """Of many URLs and keys, only those that are odd at first sight are looked at."""
    document = json.loads(CATALOGUE[code].example)
    plain = {f"plain/{n}": [f"{protocol}://plain/{n}", 0, 4] for n in range(20)}
    last = {"plain/20": [f"{protocol}://plain/20", 0, 4]}  # which is not read in a block
    is_v1 = document.get("version") == 1
    refs = {**plain, **(document.get("refs", {}) if is_v1 else document), **last}
    text = json.dumps({**document, "refs": refs} if is_v1 else refs)
    with patch.multiple(json_form, LARGE=1, LONG=1):
        found = {found.code for found in rx.open_references(text).diagnostics}
    assert code in found, "extend `ODD_KEY` or `ODD_URL`, and what `UrlColumn.plain_start` takes"


def test_every_code_that_the_program_writes_is_in_the_catalogue() -> None:
    names = {
        name
        for path, text in modules().items()
        if path.relative_to(PACKAGE).parts[0] in ("spec", "formats", "refset", "readers", "data")
        and path.name not in ("catalogue.py", "explanations.py")
        for name in re.findall(r'"([a-z0-9-]+)"', text)
    }
    built = {"bad-offset", "bad-length"}
    assert CATALOGUE.keys() - names - built == set(), "no rule raises them"


@pytest.mark.parametrize("code", SOURCES)
def test_a_code_that_no_text_shows_is_shown(code: str) -> None:
    templates = {"typo": "…"} if code == "override-unused" else None
    found = rx.open_references(SOURCES[code], templates=templates).diagnostics
    assert code in {diagnostic.code for diagnostic in found}


@pytest.mark.parametrize("code", STORES)
def test_the_example_store_of_a_code_shows_it(code: str, tmp_path: Path) -> None:
    write_files(tmp_path, json.loads(CATALOGUE[code].example))
    if code == "parquet-bad-zmetadata":
        with pytest.raises(rx.SpecError) as refusal:
            rx.open_references(tmp_path)
        assert refusal.value.code == code
        return
    refs = rx.open_references(tmp_path)
    assert len(list(refs)) >= 0  # record files are read when keys are asked for
    found = {(found.code, found.severity) for found in refs.diagnostics}
    assert (code, CATALOGUE[code].severity) in found


def test_every_code_is_explained() -> None:
    assert EXPLANATIONS.keys() == CATALOGUE.keys(), "each code has an entry in explanations.py"
    for code in CATALOGUE:
        explained = rx.explain_code(code)
        said = (explained.cause, explained.mend, explained.meaning, *explained.readers)
        assert all(sentence.endswith((".", "`.")) for sentence in said), code
        assert explained.example in str(explained)
    with pytest.raises(rx.RefexplorerError, match="Did you mean `bad-url`"):
        rx.explain_code("bad-urll")


def test_rules_that_codes_name_are_there() -> None:
    assert {one.rule for one in EXPLANATIONS.values()} - {""} <= RULES.keys()


def test_the_page_of_the_catalogue_is_up_to_date() -> None:
    written = DIAGNOSTICS.read_text(encoding="utf-8")
    assert written == diagnostics_page(), "run `python -m tests.docs.reference`"
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
