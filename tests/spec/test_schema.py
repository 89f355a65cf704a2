"""The JSON Schemas accept what the engine accepts structurally, and refuse what it refuses."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refexplorer.core.errors import RefexplorerError, SpecError
from refexplorer.spec.codes import VERSIONS, Severity, schema
from refexplorer.spec.document import read_document
from refexplorer.verbs.opening import expand
from tests.cases import Case, conformance

STRUCTURAL = {
    "not-object",
    "bad-version",
    "bad-section",
    "bad-ref-type",
    "bad-ref-shape",
    "bad-url",
    "bad-base64",
    "bad-template-type",
    "bad-template-name",
    "gen-bad-item",
    "gen-missing-field",
    "gen-bad-field",
    "gen-bad-dimension",
    "gen-offset-length-pair",
}
"""Codes of errors that a schema can tell; `bad-offset`, `bad-length` and `gen-bad-int` by place."""
_LENGTH = "A pattern that counts the letters of base64 overflows in JavaScript on long texts."
NOT_BY_SCHEMA = {
    "g-stop-float": "JSON Schema takes 3.0 for an integer.",
    "v0-base64-padding": _LENGTH,
    "v1-base64-bad": _LENGTH,
}


def is_json(case: Case) -> bool:
    return case.fields["kind"] != "parquet" and case.expect.get("error") != "not-json"


CASES = [case for case in conformance() if is_json(case) and str(case) not in NOT_BY_SCHEMA]


@functools.cache
def validator(version: int) -> Any:
    # imported by the one process that runs these tests: it takes 1.6 s
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

    return Draft202012Validator(schema(version))


def is_valid(document: Any) -> bool:
    version = 1 if isinstance(document, dict) and "version" in document else 0
    return bool(validator(version).is_valid(document))


def is_structural(code: str, pointer: str, document: Any) -> bool:
    """Whether an error is one of structure: a wrong type or shape, not a wrong text."""
    if code in ("bad-offset", "bad-length"):
        return not pointer.startswith("/gen/")
    if code == "gen-bad-int":
        return not isinstance(at(document, pointer), str | int)
    return code in STRUCTURAL


def at(document: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        document = document[int(name)] if isinstance(document, list) else document[name]
    return document


@pytest.mark.parametrize("version", VERSIONS)
def test_a_schema_is_one_and_its_examples_are_sets(version: int) -> None:
    found = schema(version)
    kind = type(validator(version))
    kind.check_schema(found)
    assert found["$schema"] == kind.META_SCHEMA["$id"]
    assert found["examples"]
    for example in found["examples"]:
        assert validator(version).is_valid(example)
        assert not read_document(example).findings.freeze()


def test_there_is_no_other_version() -> None:
    with pytest.raises(RefexplorerError, match="V2"):
        schema(2)


@pytest.mark.parametrize("part", ["gen", "refs", "templates"])
def test_every_part_is_described_for_editors(part: str) -> None:
    found = schema()["properties"][part]
    assert found["title"]
    assert found["description"]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case_is_accepted_or_refused_as_the_engine_does(case: Case) -> None:
    source = case.source
    document = json.loads(source) if case.fields["kind"] == "raw" else source
    error = case.expect.get("error", "")
    expected = not is_structural(error, case.expect.get("at", ""), document)
    assert is_valid(document) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("base64:", True),
        ("base64:aGk=", True),
        ("base64: aG\nk =\n", True),
        ("base64:aGk=aGk=", False),
        ("base64:-_-_", False),
        ("base64", True),
        (" base64:!", True),
    ],
)
def test_the_letters_of_base64_are_checked(text: str, expected: bool) -> None:
    for document in ({"a": text}, {"version": 1, "refs": {"a": text}}):
        assert is_valid(document) is expected
        assert (not _errors(document)) is expected


names = st.sampled_from(["i", "j_2", "é", "Ünit", "a b", "0", "a-b", "", "self", "_", "x{", "if"])
scalars = st.none() | st.booleans() | st.integers(-3, 9) | st.sampled_from([0.5, -1.5])
words = st.sampled_from(["", "data", "{{i}}", "5", "base64:aGk=", "base64:!", "http://h/f"])
values = st.recursive(
    scalars | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=2),
    max_leaves=6,
)
targets = st.lists(words | scalars, min_size=1, max_size=1) | st.tuples(
    words | st.none(), st.integers(-1, 9) | scalars, st.integers(-1, 9) | scalars
).map(list)
references = words | targets | values
dimensions = st.dictionaries(
    names,
    st.fixed_dictionaries(
        {}, optional={name: st.integers(-2, 3) | values for name in ("start", "stop", "step")}
    )
    | st.lists(st.integers(-2, 3))
    | values,
    max_size=2,
)
items = st.fixed_dictionaries(
    {},
    optional={
        "key": st.just("k/{{i}}") | values,
        "url": st.just("http://h/{{i}}") | values,
        "offset": st.just("{{i}}") | values,
        "length": st.just("4") | values,
        "dimensions": dimensions | values,
        "other": values,
    },
)
documents = st.dictionaries(
    st.sampled_from(["a", "x/0", "refs"]), references
) | st.fixed_dictionaries(
    {"version": st.just(1) | scalars},
    optional={
        "templates": st.dictionaries(names, words | values, max_size=2) | values,
        "refs": st.dictionaries(words, references, max_size=3) | values,
        "gen": st.lists(items | values, max_size=2) | values,
        "other": values,
    },
)


@given(documents)
def test_any_document_is_accepted_or_refused_as_the_engine_does(document: Any) -> None:
    assert is_valid(document) == (not _errors(document)), _errors(document)


def _errors(document: Any) -> list[tuple[str, str]]:
    """Return the errors of structure that the engine finds."""
    try:
        found = expand(document).diagnostics
    except SpecError as refusal:
        return [(refusal.code, refusal.pointer)]
    errors = [(one.code, one.pointer) for one in found if one.severity is Severity.ERROR]
    return [(code, place) for code, place in errors if is_structural(code, place, document)]
