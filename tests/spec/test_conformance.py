"""The cases of the specification hold, by expansion and by opening."""

from __future__ import annotations

import base64

import pytest

import refexplorer as rx
from tests.cases import Case, comparable, conformance

CASES = [case for case in conformance() if case.fields["kind"] != "parquet"]
REFUSED = [case for case in CASES if case.refused]
READ = [case for case in CASES if not case.refused]


@pytest.mark.parametrize("case", READ, ids=str)
def test_a_document_expands_to_the_v0_of_the_case(case: Case) -> None:
    expansion = rx.expand(case.source, templates=case.templates)
    assert comparable(expansion.v0) == case.v0
    _check_findings(case, expansion.diagnostics)


@pytest.mark.parametrize("case", READ, ids=str)
def test_an_opened_set_has_the_keys_of_the_case(case: Case) -> None:
    refs = rx.open_references(case.source, templates=case.templates)
    assert comparable(refs.to_v0()) == case.v0
    assert comparable({key: refs[key].to_v0() for key in refs}) == case.v0
    assert len(refs) == len(case.v0)
    _check_findings(case, refs.diagnostics)


def _check_findings(case: Case, diagnostics: tuple[rx.types.Finding, ...]) -> None:
    errors = {
        (found.code, found.pointer)
        for found in diagnostics
        if found.severity == "error" and found.code != "orphan-chunk"  # the cases are fragments
    }
    if "error" in case.expect:
        assert (case.expect["error"], case.expect["at"]) in errors
    else:
        assert not errors
    if "diagnostic" in case.expect:
        assert case.expect["diagnostic"] in {found.code for found in diagnostics}


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_a_document_that_is_no_reference_set_is_refused(case: Case) -> None:
    for read in (rx.expand, rx.open_references):
        with pytest.raises(rx.errors.SpecError) as refusal:
            read(case.source, templates=case.templates)
        assert refusal.value.code == case.expect["error"]
        assert refusal.value.pointer == case.expect.get("at", "")


@pytest.mark.parametrize("case", [case for case in READ if case.fields.get("bytes")], ids=str)
def test_inline_data_reads_as_the_bytes_of_the_case(case: Case) -> None:
    refs = rx.open_references(case.source, templates=case.templates)
    for key, expected in case.fields["bytes"].items():
        reference = refs[key]
        assert isinstance(reference, rx.types.Inline | rx.types.Base64)
        assert reference.data == base64.b64decode(expected)
