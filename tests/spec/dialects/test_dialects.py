"""The rules of other readers agree with what the readers do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.local import LocalFileSystem
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

import refexplorer.demo
from refexplorer.errors import RefexplorerError
from refexplorer.formats.json.text import parse_json
from refexplorer.formats.parquet.store import read_store
from refexplorer.formats.reader_runs import run, store_dialects
from refexplorer.limits import DEFAULT_LIMITS
from refexplorer.spec.core.diagnostics import Findings
from refexplorer.spec.dialects import (
    READERS,
    SPECIFICATION,
    Dialects,
    Outcome,
    dialects_of,
    survey,
)
from refexplorer.spec.dialects.verdicts import State
from refexplorer.spec.document.model import Document, read_document
from tests.cases import Case, comparable, conformance
from tests.helpers.dialects import ARRAY, BASE, DIFFERENT, DROPPED, ITEM, OBSERVED, REFUSED, SAME
from tests.helpers.parquet import write_store, write_with_pyarrow

CASES = [case for case in conformance() if case.fields["kind"] != "parquet" and not case.refused]
STORES = [case for case in conformance() if case.fields["kind"] == "parquet" and not case.refused]
DEFAULT, JINJA = "fsspec (default)", "fsspec (simple_templates=False)"
JAVASCRIPT, VIRTUALIZARR = "reference-spec-reader, zarrita (JavaScript)", "VirtualiZarr"
KERCHUNK_JL, GDAL = "Kerchunk.jl", "GDAL"

DROPS_GEN = Version(version("fsspec")) >= Version("2026.6")
"""Whether the installed fsspec is one that the rules tell of in its default mode, too."""


def told(written: Any) -> tuple[str, ...]:
    """Return the modes in which the installed fsspec follows the rules."""
    return (DEFAULT, JINJA) if DROPS_GEN or "gen" not in written else (JINJA,)


def read_case(case: Case) -> tuple[Document, Mapping[str, Any]]:
    findings = Findings()
    source = case.source
    if case.fields["kind"] == "raw":
        source = parse_json(source, DEFAULT_LIMITS, findings)
    return read_document(source, case.templates, DEFAULT_LIMITS, findings), source


def judged(written: Mapping[str, Any], templates: dict[str, str] | None = None) -> Dialects:
    return dialects_of(read_document(written, templates), written)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_rules_of_fsspec_agree_with_fsspec(case: Case) -> None:
    document, written = read_case(case)
    rules, real = dialects_of(document, written), run(document, written, case.templates)
    for reader in told(written):
        assert rules[reader].outcome == real[reader].outcome, rules[reader]
        assert rules[reader].dropped >= real[reader].dropped


@pytest.mark.parametrize(
    "case", [case for case in CASES if "reference-spec-reader" in case.fields], ids=str
)
def test_the_rules_of_javascript_agree_with_what_was_observed(case: Case) -> None:
    document, written = read_case(case)
    verdict = dialects_of(document, written)[JAVASCRIPT]
    observed = case.fields["reference-spec-reader"]["result"]
    if "error" in observed:
        assert verdict.outcome is Outcome.REFUSED
    else:
        is_same = comparable(observed["v0"]) == case.v0
        assert (verdict.outcome is Outcome.SAME) == is_same, verdict
        assert verdict.outcome is not Outcome.REFUSED


@pytest.mark.parametrize(("refs", "sections", "virtualizarr", "gdal", "julia"), OBSERVED)
def test_the_rules_of_other_readers(
    refs: dict[str, Any],
    sections: dict[str, Any],
    virtualizarr: Outcome,
    gdal: Outcome,
    julia: Outcome,
) -> None:
    found = judged({"version": 1, **sections, "refs": BASE | refs})
    assert found[VIRTUALIZARR].outcome is virtualizarr, found[VIRTUALIZARR]
    assert found[GDAL].outcome is gdal, found[GDAL]
    assert found[KERCHUNK_JL].outcome is julia, found[KERCHUNK_JL]


def test_v0_is_read_by_some() -> None:
    found = judged(BASE)
    outcomes = {verdict.reader: verdict.outcome for verdict in found}
    assert outcomes[VIRTUALIZARR] is outcomes[KERCHUNK_JL] is REFUSED
    assert outcomes[DEFAULT] is outcomes[JAVASCRIPT] is outcomes[GDAL] is SAME


def test_a_trillion_keys_are_judged_at_once() -> None:
    axes = {"i": {"stop": 10**6}, "j": {"stop": 10**6}}
    item = {"key": "x/{{i}}.{{j}}", "url": "s3://b/{{i}}", "dimensions": axes}
    found = judged({"version": 1, "gen": [item]})
    assert found[SPECIFICATION].outcome is SAME
    assert (found[DEFAULT].outcome, found[DEFAULT].dropped) == (DROPPED, 10**12)
    assert found[JINJA].outcome is found[JAVASCRIPT].outcome is REFUSED
    assert "1,000,000,000,000 keys" in str(found)


def test_the_example_of_the_specification() -> None:
    found = judged(json.loads(refexplorer.demo.path("spec.v1.json").read_text(encoding="utf-8")))
    assert found[DEFAULT].outcome is REFUSED
    assert "f(c='text')" in str(found[DEFAULT].reasons[0])
    assert found[JINJA].outcome is found[JAVASCRIPT].outcome is SAME


def test_differing_keys_are_shown_with_both_values() -> None:
    item = {"key": "x/{{i}}", "url": "s3://b", "offset": "{{i/2}}", "length": "4"}
    refs = {"a": ["s3://b/f", 0, 4], "b": ["s3://b/f", "0", "4"], "c": None}
    gen = [{**item, "dimensions": {"i": [4]}}, {**item, "offset": "1_0", "dimensions": {"i": [4]}}]
    verdict = judged({"version": 1, "refs": refs, "gen": gen[1:]})[JINJA]
    shown = {found.key: (found.ours, found.theirs) for found in verdict.examples}
    assert shown == {
        "b": (None, ["s3://b/f", "0", "4"]),
        "c": (None, None),
        "x/4": (None, ["s3://b", 10, 4]),
    }
    assert verdict.different == 3


def test_no_template_of_a_stranger_is_run() -> None:
    hostile = [
        "{{u.__class__.__init__.__globals__}}",
        "{{u.__class__.__mro__[1].__subclasses__()}}",
        "{{ (u ~ '').join(['a'] * 10**9) }}",
        "{{ 'a' * 10 ** 10 }}",
        "{{u:>999999999999}}",
        "{% for i in range(10**9) %}x{% endfor %}",
    ]
    for text in hostile:
        refs = {"k": [f"s3://{text}", 0, 4]}
        for verdict in judged({"version": 1, "templates": {"u": "h"}, "refs": refs}):
            assert all(len(str(found)) < 1000 for found in verdict.examples)
            assert not any("object" in str(found.theirs) for found in verdict.examples)


@pytest.mark.parametrize(
    "text",
    [
        "{{" * 200_000,
        "{{" + "a" * 400_000 + "}}",
        "{{" + "a(" * 200_000 + "}}",
        "{{" + "=" * 400_000 + "}}",
        "{{f(" + " =" * 200_000 + ")}}",
        "{{ 1" + " - 1" * 100_000 + " }}",
        "{{" + "(" * 100_000 + "}}",
        "{{" + "9" * 10_000 + "}}",
        "{{u[" + "9" * 10_000 + "]}}",
    ],
    ids=lambda text: text[:8],
)
def test_a_long_text_is_judged_in_a_moment(text: str) -> None:
    axes = {"i": [1]}
    item = {"key": text, "url": text, "offset": text, "length": "9" * 10_000, "dimensions": axes}
    templates = {"u": "h", "f": "{{c}}"}
    for gen in ([], [item]):
        refs = {"k": [text, 0, 4], "x/.zarray": "[" * 100_000, "x/0": [[[[text]]]]}
        found = judged({"version": 1, "templates": templates, "refs": refs, "gen": gen})
        assert len(str(found)) < 20_000


def test_many_ways_of_writing_are_one_group_beyond_a_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(survey, "FORMS", 50)
    refs = {f"k/{n}": [f"s3://{{{{u}}}}/{n}", 0, 4] for n in range(200)}
    found = judged({"version": 1, "templates": {"u": "b"}, "refs": refs})
    assert found[DEFAULT].outcome is found[JINJA].outcome is SAME
    assert (found[VIRTUALIZARR].outcome, found[VIRTUALIZARR].dropped) == (DROPPED, 200)


def test_text_of_a_file_is_shown_and_does_nothing() -> None:
    refs = {"<script>\u202e": ["s3://b", -1, 4], "b": ["{{<b>}}", 0, 1]}
    found = judged({"version": 1, "templates": {"<i>": "x"}, "refs": refs})
    page = found._repr_html_()
    assert "&lt;script&gt;" in page
    assert not any(text in page for text in ("<script>", "<i>", "\u202e"))
    assert "\u202e" not in str(found)


def test_verdicts_are_data() -> None:
    written = {"version": 1, "refs": {"a": ["s3://b/f", "0", "4"]}, "gen": [ITEM]}
    found = judged(written)
    assert [verdict.reader for verdict in found] == [
        SPECIFICATION,
        *(reader.name for reader in READERS),
    ]
    (first, *_) = json.loads(json.dumps([asdict(verdict) for verdict in found][1:]))
    assert first["outcome"] == "different"
    assert first["examples"][0]["theirs"] == ["s3://b/f", "0", "4"]
    with pytest.raises(KeyError):
        found["nobody"]


def test_templates_given_at_open_time_are_known_to_fsspec_only() -> None:
    written = {"version": 1, "templates": {"u": "old"}, "refs": {"a": ["s3://{{u}}", 0, 4]}}
    found = judged(written, {"u": "new"})
    assert found[DEFAULT].outcome is found[JINJA].outcome is SAME
    assert found[JAVASCRIPT].outcome is DIFFERENT
    assert found[JAVASCRIPT].examples[0].theirs == ["s3://old", 0, 4]


PIECES = [
    "{{u}}",
    "{{ u }}",
    "{{f(c='x')}}",
    "{{f(c=3)}}",
    "{{f(c=u)}}",
    "{{f()}}",
    "{{f}}",
    "{{u()}}",
    "{{nope}}",
    "{{nope.x}}",
    "{{nope + 1}}",
    "{{1+1}}",
    "{{6/2}}",
    "{{u|upper}}",
    "{{nope|default('d')}}",
    "{% if u %}a{% endif %}",
    "{{u",
    "}}",
    "{",
    "}",
    "{u}",
    "{{{u}}}",
    "{{'%03d' % 3}}",
    "{{u[0]}}",
    "{{u.x}}",
    "{{u!r}}",
    "{{0}}",
    "http://h/",
    "\n",
]
texts = st.lists(st.sampled_from(PIECES), max_size=3).map("".join)


@given(texts, st.sampled_from(["{{c}}", "p{{c}}{{d}}", "{{'%03d' % c}}", "{% if c %}{% endif %}"]))
def test_any_url_gives_what_fsspec_gives(url: str, template: str) -> None:
    written = {
        "version": 1,
        "templates": {"u": "srv", "f": template},
        "refs": {"a": [url, 1, 2], "b": ["http://h/f", 0, 4]},
        "gen": [{"key": "x/{{i}}", "url": url, "dimensions": {"i": [1, 2]}}],
    }
    rules, real = judged(written), run(read_document(written), written)
    for reader in told(written):
        assert (rules[reader].outcome is SAME) == (real[reader].outcome is SAME), rules[reader]
        for found in rules[reader].examples:
            if found.state is State.VALUE and real[reader].outcome is not REFUSED:
                assert found.key in {other.key for other in real[reader].examples}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)
sections = st.fixed_dictionaries(
    {"version": st.just(1)},
    optional={
        "templates": st.dictionaries(st.sampled_from("uf"), json_values) | json_values,
        "refs": st.dictionaries(st.sampled_from(["a", "x/0", "x/.zarray"]), json_values)
        | json_values,
        "gen": st.lists(
            st.fixed_dictionaries(
                {},
                optional=dict.fromkeys(("key", "url", "offset", "dimensions"), json_values),
            )
        )
        | json_values,
    },
)


@given(sections | st.dictionaries(texts, json_values))
def test_any_document_is_judged(written: dict[str, Any]) -> None:
    try:
        document = read_document(written)
    except RefexplorerError:
        return
    found = dialects_of(document, written)
    assert len(found) == 1 + len(READERS)
    assert str(found)
    assert found._repr_html_()


NOT_BY_RULE = {"p-offset-size-zero": "fsspec reads no bytes of [url, 5, 0]; rows are not judged."}


@pytest.mark.parametrize("case", STORES, ids=str)
def test_the_rules_of_parquet_stores_agree_with_what_was_observed(
    case: Case, tmp_path: Path
) -> None:
    folder = str(write_store(tmp_path, case.fields["parquet"], write_with_pyarrow))
    verdict = store_dialects(read_store(LocalFileSystem(), folder, DEFAULT_LIMITS))[DEFAULT]
    observed = comparable(case.fields["fsspec"]["get"])
    is_same = all(case.v0[key] == value for key, value in observed.items())
    assert (verdict.outcome is SAME) == is_same or str(case) in NOT_BY_RULE, verdict


DUCKDB = "duckdb-zarr"


@pytest.mark.parametrize(
    ("refs", "sections", "outcome"),
    [
        ({}, {}, SAME),
        ({"x/.zarray": ARRAY}, {}, REFUSED),
        ({"x/.zattrs": "no JSON"}, {}, REFUSED),
        ({"x/0.0": "data"}, {}, SAME),
        ({"x/0.0": "base64:"}, {}, SAME),
        ({"x/0.0": "base64:!!BQAAAAYAAAA="}, {}, REFUSED),
        ({"x/0.0": [None, 0, 4]}, {}, REFUSED),
        ({"x/0.0": ["s3://b/f"]}, {}, SAME),
        ({"x/0.0": ["s3://b/f", 0, 0]}, {}, SAME),
        ({"x/0.0": ["s3://b/f", 0, 2**32]}, {}, SAME),
        ({"x/0.0": ["s3://b/f", 0, 2**64]}, {}, REFUSED),
        ({"x/0.0": ["s3://b/f", 0.0, 4]}, {}, REFUSED),
        ({"x/0.0": ["s3://b/f", -1, 4]}, {}, REFUSED),
        ({"x/0.0": ["s3://b/f", 0]}, {}, REFUSED),
        ({"x/0.0": None}, {}, REFUSED),
        ({"x/0.0/": "data"}, {}, REFUSED),
        ({f"y{n}/.zattrs": "{}" for n in range(9)} | {"z/.zattrs": "x"}, {}, REFUSED),
        ({f"y/{n}": ["s3://b/f", 2**60, 4] for n in range(9)}, {}, SAME),
        ({f"y/{n}": ["s3://b/f", 2**60 if n < 9 else 2**64, 4] for n in range(10)}, {}, REFUSED),
        ({"x/0.0": ["s3://{{u}}", 0, 4]}, {"templates": {"u": "q"}}, SAME),
        ({"x/0.0": ["s3://{{ u }}", 0, 4]}, {"templates": {"u": "q"}}, SAME),
        ({"x/0.0": ["s3://{{1+1}}", 0, 4]}, {}, REFUSED),
        ({"x/0.0": ["s3://{{u", 0, 4]}, {"templates": {"u": "q"}}, REFUSED),
        ({"x/0.0": ["{{f(c='a')}}", 0, 4]}, {"templates": {"f": "s3://{{c}}"}}, REFUSED),
        ({}, {"gen": [ITEM]}, REFUSED),
        ({}, {"gen": []}, SAME),
    ],
)
def test_the_rules_of_duckdb_zarr(
    refs: dict[str, Any], sections: dict[str, Any], outcome: Outcome
) -> None:
    found = judged({"version": 1, **sections, "refs": BASE | refs})
    assert found[DUCKDB].outcome is outcome, found[DUCKDB]


def test_duckdb_zarr_reads_v0_without_braces() -> None:
    assert judged(BASE)[DUCKDB].outcome is SAME
    assert judged(BASE | {"x/0.0": ["s3://b/{{u}}", 0, 4]})[DUCKDB].outcome is REFUSED
    notes = judged(BASE | {"x/0.0": ["d/f", 0, 4]})[DUCKDB].notes
    assert "working directory" in notes[0]


def test_each_rule_tells_what_it_rests_on() -> None:
    found = judged(BASE)
    assert found[SPECIFICATION].basis is None
    bases = {verdict.reader: verdict.basis for verdict in found if verdict.basis is not None}
    assert len(bases) == len(READERS)
    assert {basis.how for basis in bases.values()} == {"run", "seen", "source"}
    assert bases[DUCKDB].how == "source"
    assert f"rules held by tests against {bases[DEFAULT].version}, 20" in str(found)
    assert "rules read in the source of duckdb-zarr" in found._repr_html_()
