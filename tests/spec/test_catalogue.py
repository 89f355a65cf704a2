"""The catalogue of diagnostics and the code say the same."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from unittest.mock import patch

import pytest

import refexplorer as rx
from refexplorer.formats import source
from refexplorer.spec.codes import CODES, RULES, FindingCode, Severity, codes_of
from refexplorer.spec.findings import SHOWN_PER_CODE, Findings, pointer
from tests.docs.diagnostics import diagnostics_page
from tests.docs.reference import DIAGNOSTICS
from tests.helpers.parquet import write_files
from tests.helpers.sources import PACKAGE, modules

IS_REFUSED = ("not-json", "not-object", "bad-version")
UNSHOWN = {code for code, rule in CODES.items() if not (rule.has_set or code in IS_REFUSED)}
UNSHOWN |= {*codes_of("parquet")}
"""Their example is a sentence, or the files of a store."""
STORES = [code for code in codes_of("parquet") if code != "parquet-too-large"]
SOURCES: dict[str, str | bytes] = {
    "override-unused": '{"version": 1, "refs": {"a": "x"}}',
    "key-too-long": f'{{"{"k" * 70_000}": "x"}}',
    "odd-encoding": '{"a": "x"}'.encode("utf-16"),
}
"""What shows a code that no JSON text by itself can."""
LARGE = [code for code in codes_of("references") + codes_of("arrays") if code not in UNSHOWN]


@pytest.mark.parametrize("code", [code for code in CODES if code not in UNSHOWN])
def test_the_example_of_a_code_shows_it(code: str) -> None:
    rule = CODES[code]
    if code in IS_REFUSED:
        with pytest.raises(rx.errors.SpecError) as refusal:
            rx.open_references(rule.example)
        assert refusal.value.code == code
    else:
        diagnostics = rx.open_references(rule.example).diagnostics
        severities = {found.severity for found in diagnostics if found.code == code}
        is_graver = "This is an error" in rule.meaning  # in sets like the example
        assert severities == {rule.severity} or (severities and is_graver)


@pytest.mark.parametrize("protocol", ["s3", "http"])  # that of the example, or another one
@pytest.mark.parametrize("code", LARGE)
def test_the_example_of_a_code_shows_it_in_a_large_set(code: str, protocol: str) -> None:
    """Of many URLs and keys, only those that are odd at first sight are looked at."""
    document = json.loads(CODES[code].example)
    plain = {f"plain/{n}": [f"{protocol}://plain/{n}", 0, 4] for n in range(20)}
    last = {"plain/20": [f"{protocol}://plain/20", 0, 4]}  # which is not read in a block
    is_v1 = document.get("version") == 1
    refs = {**plain, **(document.get("refs", {}) if is_v1 else document), **last}
    text = json.dumps({**document, "refs": refs} if is_v1 else refs)
    with patch.multiple(source, LARGE=1, LONG=1):
        found = {found.code for found in rx.open_references(text).diagnostics}
    assert code in found, "extend `ODD_KEY` or `ODD_URL`"


def test_every_code_is_raised_somewhere() -> None:
    names = {
        name
        for path, text in modules().items()
        if path.relative_to(PACKAGE).parts[0]
        in ("core", "spec", "formats", "refset", "readers", "io", "checks")
        for name in re.findall(r'"([A-Za-z0-9_-]+)"', text)
    }
    built = {"bad-offset", "bad-length"}
    assert CODES.keys() - names - built == set(), "no rule raises them"


def test_the_catalogue_has_every_field_and_no_other() -> None:
    """TOML itself refuses a key that is there twice, of one subject."""
    whole = tomllib.loads((PACKAGE / "spec" / "codes.toml").read_text(encoding="utf-8"))
    required = {name for name in FindingCode._fields if name not in FindingCode._field_defaults}
    tables = [(code, table) for subject in whole.values() for code, table in subject.items()]
    codes = [(code, table) for code, table in tables if code != "title"]
    assert len({code for code, _ in codes}) == len(codes), "a code is in two subjects"
    for code, table in codes:
        assert required <= table.keys() <= set(FindingCode._fields), code
        assert all(table.values()), f"{code} has a field without a value, which is left out"
        assert table["severity"] in list(Severity)
    assert {field for _, table in codes for field in table} == set(FindingCode._fields), (
        "unused field"
    )
    assert {code for code, table in codes if "predicate" in table} >= set(codes_of("files"))


def test_a_sound_set_reads_no_catalogue() -> None:
    script = (
        "import sys, refexplorer as rx; "
        "rx.open_references({'a': 'x', '.zgroup': {'zarr_format': 2}}); "
        "sys.exit('tomllib' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("code", SOURCES)
def test_a_code_that_no_text_shows_is_shown(code: str) -> None:
    templates = {"typo": "…"} if code == "override-unused" else None
    found = rx.open_references(SOURCES[code], templates=templates).diagnostics
    assert code in {diagnostic.code for diagnostic in found}


@pytest.mark.parametrize("code", STORES)
def test_the_example_store_of_a_code_shows_it(code: str, tmp_path: Path) -> None:
    write_files(tmp_path, json.loads(CODES[code].example))
    if code == "parquet-bad-zmetadata":
        with pytest.raises(rx.errors.SpecError) as refusal:
            rx.open_references(tmp_path)
        assert refusal.value.code == code
        return
    refs = rx.open_references(tmp_path)
    assert len(list(refs)) >= 0  # record files are read when keys are asked for
    found = {(found.code, found.severity) for found in refs.diagnostics}
    assert (code, CODES[code].severity) in found


def test_every_code_is_explained() -> None:
    for code in CODES:
        explained = rx.explain_code(code)
        said = (explained.cause, explained.mend, explained.meaning, *explained.readers)
        assert all(sentence.endswith((".", "`.")) for sentence in said), code
        assert explained.example in str(explained) or not CODES[code].has_set
    with pytest.raises(rx.RefexplorerError, match="Did you mean `bad-url`"):
        rx.explain_code("bad-urll")


def test_rules_that_codes_name_are_there() -> None:
    assert {one.rule for one in CODES.values()} - {""} <= RULES.keys()


def test_the_page_of_the_catalogue_is_up_to_date() -> None:
    written = DIAGNOSTICS.read_text(encoding="utf-8")
    assert written == diagnostics_page(), "run `python -m tests.docs.reference`"
    assert all(f"### `{code}`" in written for code in CODES)


def test_findings_of_one_kind_are_counted_beyond_the_first() -> None:
    findings = Findings()
    for number in range(1000):
        findings.add("bad-offset", pointer("refs", f"x/{number}"), "No.")
    frozen = findings.freeze()
    assert len(frozen) == SHOWN_PER_CODE
    assert sum(diagnostic.count for diagnostic in frozen) == 1000


def test_a_diagnostic_shows_line_and_column_where_text_was_given() -> None:
    text = '{\n  "version": 1,\n  "refs": {\n    "a/b": ["http://h/f", -1, 5]\n  }\n}'
    (found,) = rx.expand(text).diagnostics
    assert (found.code, found.pointer) == ("bad-offset", "/refs/a~1b")
    assert (found.line, found.column) == (4, 12)
    assert "line 4:12" in str(found)
