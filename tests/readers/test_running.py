"""Readers that are run agree with themselves; what a table says agrees with what was observed."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tifffile
from fsspec.implementations.reference import ReferenceFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer import demo
from refexplorer.readers import running
from refexplorer.readers.comparing import SPECIFICATION, fsspec_options
from refexplorer.readers.features import (
    BASES,
    FSSPEC,
    ICECHUNK_BASES,
    JAVASCRIPT,
    JINJA,
    VIRTUALIZARR,
)
from refexplorer.refset.opened_set import internals
from tests.cases import Case, comparable, conformance
from tests.helpers.commands import run

GDAL, JULIA, DUCKDB = "GDAL", "Kerchunk.jl", "duckdb-zarr"
READ = [case for case in conformance() if case.fields["kind"] != "parquet" and not case.refused]
OBSERVED = [case for case in READ if "reference-spec-reader" in case.fields]
ARRAY = {
    "shape": [2, 2],
    "chunks": [1, 1],
    "dtype": "<i4",
    "compressor": None,
    "filters": None,
    "order": "C",
    "zarr_format": 2,
    "fill_value": 0,
}
BASE: dict[str, Any] = {
    ".zgroup": '{"zarr_format": 2}',
    "x/.zarray": json.dumps(ARRAY),
    "x/.zattrs": '{"_ARRAY_DIMENSIONS": ["a", "b"]}',
    "x/0.0": ["s3://b/f", 0, 4],
    "x/0.1": ["s3://b/f", 4, 4],
}
ITEM = {"key": "x/{{i}}.0", "url": "s3://b/f", "dimensions": {"i": [1]}}


def text_of(case: Case) -> bytes:
    text = case.source if isinstance(case.source, str) else json.dumps(case.source)
    return text.encode("utf-8", "surrogatepass")


def of_fsspec(document: Any, simple: bool, templates: Any = None) -> dict[str, Any] | None:
    """Return what fsspec itself has; None if it refuses."""
    try:
        found = ReferenceFileSystem(
            document,
            fs={},
            simple_templates=simple,
            template_overrides=templates,
            skip_instance_cache=True,
        ).references
    except Exception:  # each refusal is of another kind
        return None
    return comparable(json.loads(json.dumps(dict(found))))


@pytest.mark.child
@pytest.mark.parametrize("case", READ, ids=str)
def test_a_verdict_on_fsspec_is_what_fsspec_does(case: Case) -> None:
    found = rx.dialects(text_of(case), templates=case.templates, readers=[FSSPEC, JINJA])
    for reader, simple in ((FSSPEC, True), (JINJA, False)):
        theirs = of_fsspec(json.loads(text_of(case)), simple, case.templates)
        assert (found[reader].outcome == "same") == (theirs == case.v0), found[reader]
        assert (found[reader].outcome == "refused") == (theirs is None), found[reader]
        assert found[reader].is_run


@pytest.mark.parametrize("case", OBSERVED, ids=str)
def test_the_table_has_what_was_observed_of_javascript(case: Case) -> None:
    refs = rx.open_references(text_of(case), templates=case.templates)
    observed = case.fields["reference-spec-reader"]["result"]
    is_same = "error" not in observed and comparable(observed["v0"]) == case.v0
    if not refs.error_count and case.templates is None:
        verdict = rx.dialects(text_of(case), readers=[JAVASCRIPT])[JAVASCRIPT]
        assert (verdict.outcome == "not run") == is_same, verdict


@pytest.mark.parametrize(
    ("refs", "sections", "reader", "outcome"),
    [
        ({}, {}, GDAL, "not run"),
        ({"x/0.0": "base64:"}, {}, GDAL, "refused"),
        ({"x/0.0": [None, 0, 4]}, {}, GDAL, "refused"),
        ({"x/0.0": ["s3://b/f", 0, 0]}, {}, GDAL, "different"),
        ({"x/0.0": ["s3://b/f", 0, 2**32]}, {}, GDAL, "refused"),
        ({"x/0.0": ["s3://{{u}}", 0, 4]}, {"templates": {"u": "q"}}, GDAL, "refused"),
        ({}, {"gen": [ITEM]}, GDAL, "refused"),
        ({}, {}, JULIA, "not run"),
        ({"x/.zarray": ARRAY}, {}, JULIA, "different"),
        ({"x/0.0": ["s3://{{u}}", 0, 4]}, {"templates": {"u": "q"}}, JULIA, "not run"),
        ({"x/0.0": ["s3://{{1+1}}", 0, 4]}, {}, JULIA, "different"),
        ({}, {"gen": [ITEM]}, JULIA, "refused"),
        ({"x/.zarray": ARRAY}, {}, DUCKDB, "refused"),
        ({"x/0.0": ["s3://{{ u }}", 0, 4]}, {"templates": {"u": "q"}}, DUCKDB, "not run"),
        ({"x/0.0": ["s3://{{1+1}}", 0, 4]}, {}, DUCKDB, "refused"),
        ({}, {"gen": [ITEM]}, DUCKDB, "refused"),
    ],
)
def test_the_table_has_what_was_observed_of_others(
    refs: dict[str, Any], sections: dict[str, Any], reader: str, outcome: str
) -> None:
    document = {"version": 1, **sections, "refs": BASE | refs}
    verdict = rx.dialects(document, readers=[reader])[reader]
    assert verdict.outcome == outcome, verdict
    assert not verdict.is_run


@pytest.mark.child
@pytest.mark.parametrize(
    ("refs", "sections", "outcome"),
    [
        ({}, {}, "same"),
        ({"x/.zattrs": "{}"}, {}, "refused"),
        ({"x/.zarray": ARRAY}, {}, "refused"),
        ({"x/0.0": ["d/f", 0, 4]}, {}, "refused"),
        ({"x/0.0": ["/d/f", 0, 4]}, {}, "same"),
        ({"x/0.0": ["s3://nowhere.invalid/f"]}, {}, "same"),
        ({"g/y/.zarray": json.dumps(ARRAY)}, {}, "dropped"),
        ({"w/0.0": ["s3://b/f", 0, 4]}, {}, "dropped"),
        ({"x/0.0": ["s3://{{u}}", 0, 4]}, {"templates": {"u": "q"}}, "different"),
        ({}, {"gen": [ITEM]}, "dropped"),
    ],
)
def test_virtualizarr_is_run(refs: dict[str, Any], sections: dict[str, Any], outcome: str) -> None:
    pytest.importorskip("virtualizarr")
    document = {"version": 1, **sections, "refs": BASE | refs}
    verdict = rx.dialects(document, readers=[VIRTUALIZARR])[VIRTUALIZARR]
    assert verdict.outcome == outcome, verdict
    is_whole = any(len(value) == 1 for value in refs.values())
    assert any("asks each file" in note for note in verdict.notes) == is_whole


def test_version_0_is_read_by_some() -> None:
    outcomes = {verdict.reader: verdict.outcome for verdict in rx.dialects(BASE)}
    assert outcomes[SPECIFICATION] == outcomes[FSSPEC] == outcomes[JINJA] == "same"
    assert outcomes[VIRTUALIZARR] == outcomes[JULIA] == "refused"
    assert outcomes[GDAL] == outcomes[JAVASCRIPT] == "not run"
    outcomes = {v.reader: v.outcome for v in rx.dialects({"x/0": "text"}, readers=[GDAL])}
    assert outcomes[GDAL] == "refused"


@pytest.mark.child
def test_of_a_large_gen_some_keys_are_run_and_it_says_so() -> None:
    axes = {"i": {"stop": 10**6}, "j": {"start": 10**6, "stop": 0, "step": -1}}
    item = {"key": "x/{{i}}.{{j}}", "url": "s3://b/{{i}}", "dimensions": axes}
    found = rx.dialects({"version": 1, "gen": [item]}, readers=[FSSPEC, JINJA])
    assert (found[FSSPEC].outcome, found[JINJA].outcome) == ("dropped", "same")
    (note,) = [note for note in found[FSSPEC].notes if "was run on" in note]
    assert note.endswith("of 1,000,000,000,000 keys.")
    assert len(found[FSSPEC].examples) == 5
    assert found[FSSPEC].dropped <= running.MADE_KEYS


@pytest.mark.child
@pytest.mark.parametrize("is_text", [True, False])
def test_of_a_large_set_each_odd_key_is_in_the_sample(is_text: bool) -> None:
    many = {f"x/{n}": [f"s3://b/{n % 9}", n, 4] for n in range(3 * running.KEYS)}
    refs = many | {"odd": ["s3://{{u ~ u}}/f", 0, 4]} | {f"y/{n}": ["s3://b"] for n in range(9)}
    document = {"version": 1, "templates": {"u": "b"}, "refs": refs}
    source = json.dumps(document) if is_text else document
    assert rx.dialects(source, readers=[FSSPEC])[FSSPEC].outcome == "refused"
    document["refs"] = many
    verdict = rx.dialects(json.dumps(document), readers=[FSSPEC])[FSSPEC]
    assert verdict.outcome == "same"
    assert "of 60,000 keys" in verdict.notes[0]


@pytest.mark.child
@pytest.mark.parametrize(
    "text",
    [
        "{{ 'a' * 10 ** 10 }}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{{ u }}{% endfor %}{% endfor %}",
        "{{" * 200_000,
        "{{" + "(" * 100_000 + "}}",
        "{{u.__class__.__init__.__globals__}}",
        "{{u:>999999999999}}",
    ],
    ids=lambda text: text[:12],
)
def test_a_stranger_s_template_takes_no_more_than_it_may(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "SECONDS", 2)
    refs = {"k": [f"s3://{text}", 0, 4], "x/.zarray": "[" * 50_000}
    document = {"version": 1, "templates": {"u": "h"}, "refs": refs}
    for verdict in rx.dialects(json.dumps(document), readers=[FSSPEC, JINJA]):
        assert len(str(verdict)) < 5_000
        assert "object at" not in str(verdict)


def test_text_of_a_file_is_shown_and_does_nothing() -> None:
    refs = {"<script>\u202e": ["s3://b", -1, 4], "b": ["{{<b>}}", 0, 1]}
    found = rx.dialects({"version": 1, "templates": {"<i>": "x"}, "refs": refs})
    page = found._repr_html_()
    assert not any(text in page for text in ("<script>", "<i>", "<b>}", "\u202e"))
    assert "\u202e" not in str(found)


def test_verdicts_are_data_and_say_what_they_rest_on() -> None:
    found = rx.dialects({"version": 1, "refs": {"a": ["s3://b/f", "0", "4"]}, "gen": [ITEM]})
    assert [verdict.reader for verdict in found] == [SPECIFICATION, *BASES]
    first = json.loads(json.dumps([asdict(verdict) for verdict in found]))[1]
    assert first["outcome"] == "different"
    theirs = {example["key"]: example["theirs"] for example in first["examples"]}
    assert theirs == {"x/1.0": None, "a": ["s3://b/f", "0", "4"]}
    assert {basis.how for each in found if (basis := each.basis)} == {"run", "seen", "source"}
    assert "(run: fsspec " in str(found)
    assert "by the source of duckdb-zarr" in found._repr_html_()
    with pytest.raises(KeyError):
        found["nobody"]
    with pytest.raises(rx.RefexplorerError, match="'nobody'; use one of fsspec"):
        rx.dialects({"a": "b"}, readers=["nobody"])


@pytest.mark.parametrize("problem", ["is_browser", "cannot_start"])
def test_without_processes_the_table_answers(problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if problem == "is_browser":
        monkeypatch.setattr(running, "has_processes", lambda: False)
    else:

        def lend(*_: str) -> None:
            raise OSError("none left")

        monkeypatch.setattr(running._children, "lend", lend)
    found = rx.dialects(demo.path("sst.v1.json"))
    assert (found[FSSPEC].outcome, found[JINJA].outcome) == ("dropped", "not run")
    assert found.has_losses is None
    assert "be started" in str(found[JINJA])
    assert run("dialects", demo.path("sst.v1.json")).status == 2


@pytest.mark.child
def test_the_exit_status_shows_that_keys_would_be_lost(tmp_path: Path) -> None:
    plain, made = tmp_path / "plain.json", demo.path("sst.v1.json")
    plain.write_text(json.dumps({"version": 1, "refs": BASE}))
    assert run("dialects", plain).status == 0
    assert run("dialects", made).status == 1
    assert run("dialects", made, "--reader", JINJA).status == 0
    assert run("dialects", made, "--reader", GDAL).status == 2
    assert run("dialects", made, "--reader", "nobody").status == 2


@pytest.mark.child
def test_the_form_decides_who_reads_a_source(tmp_path: Path) -> None:
    pytest.importorskip("virtualizarr")
    name = tmp_path / "f.nc.dmrpp"
    name.write_text(
        '<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" '
        'xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" name="f.nc">'
        '<Dimension name="n" size="4"/><Int32 name="x"><Dim name="/n"/>'
        '<dmrpp:chunks byteOrder="LE"><dmrpp:chunk offset="8" nBytes="16"/></dmrpp:chunks>'
        "</Int32></Dataset>"
    )
    found = rx.dialects(name)
    outcomes = {verdict.reader: verdict.outcome for verdict in found}
    assert outcomes.pop(SPECIFICATION) == outcomes.pop(VIRTUALIZARR) == "same"
    assert {*outcomes.values()} == {"refused"}
    assert "not DMR++" in str(found[FSSPEC].reasons[0])
    assert found[VIRTUALIZARR].is_run
    stored = rx.dialects(demo.path("sst.parq"))
    assert stored[FSSPEC].is_run
    assert stored[JAVASCRIPT].outcome == "refused"


@pytest.mark.child
def test_fsspec_is_run_on_parquet(tmp_path: Path) -> None:
    refs = BASE | {"x/1.0": ["s3://b/g"], "x/1.1": "text"}
    rx.open_references(refs).to_parquet(tmp_path / "set.parq")
    assert rx.dialects(tmp_path / "set.parq", readers=[FSSPEC])[FSSPEC].outcome == "same"


PIECES = [
    "{{u}}", "{{ u }}", "{{f(c='x')}}", "{{f(c=u)}}", "{{f()}}", "{{f}}", "{{nope}}", "{{1+1}}",
    "{{6/2}}", "{{u|upper}}", "{% if u %}a{% endif %}", "{{u", "}}", "{", "{u}", "{{{u}}}",
    "{{'%03d' % 3}}", "{{u[0]}}", "{{u!r}}", "{{0}}", "{{-u-}}", "{# c #}", "http://h/", "\n",
]  # fmt: skip


@pytest.mark.child
@settings(deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=3).map("".join),
    st.sampled_from(["{{c}}", "p{{c}}{{d}}", "{{'%03d' % c}}", "{% if c %}{% endif %}"]),
    st.booleans(),
    st.booleans(),
)
def test_code_for_fsspec_makes_the_same_keys(
    url: str, template: str, has_templates: bool, has_gen: bool
) -> None:
    document: dict[str, Any] = {"version": 1, "refs": {"a": [url, 1, 2], "b": ["http://h/f", 0, 4]}}
    if has_templates:
        document["templates"] = {"u": "srv", "f": template}
    if has_gen:
        document["gen"] = [{"key": "x/{{i}}", "url": url, "dimensions": {"i": [1, 2]}}]
    refs = rx.open_references(json.dumps(document))
    options = fsspec_options(refs.source, internals(refs).contents)
    if options is not None:
        theirs = of_fsspec(document, options.get("simple_templates", True))
        assert theirs == comparable(refs.to_v0())


@pytest.mark.child
def test_virtualizarr_is_run_on_data_files(tmp_path: Path) -> None:
    """It has parsers for some; a scalar and a group are what it may lack."""
    pytest.importorskip("virtualizarr.parsers")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=np.arange(12).reshape(3, 4), chunks=(1, 4), compression=1)
        file["s"] = 2.5
    (verdict,) = rx.dialects(tmp_path / "a.h5", readers=[VIRTUALIZARR]).verdicts[1:]
    assert (verdict.outcome, verdict.is_run) == ("same", True), verdict
    with h5py.File(tmp_path / "g.h5", "w") as file:
        file["g/x"] = np.arange(4)
    ran = run("dialects", tmp_path / "g.h5", "--reader", VIRTUALIZARR)
    assert (ran.status, "keys dropped" in ran.out) == (1, True)  # keys would be lost
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((4, 4), "u1"))
    (verdict,) = rx.dialects(tmp_path / "a.tif", readers=[VIRTUALIZARR]).verdicts[1:]
    assert verdict.outcome == "refused"
    assert "no parser for TIFF files" in str(verdict.reasons[0])


def test_versions_that_were_tried_are_those_that_the_tests_ran_with() -> None:
    """`tests.newest` writes both, from one run."""
    lines = Path("docs/reference/versions.md").read_text().splitlines()
    newest = {row[1].strip(): row[4].strip() for line in lines if len(row := line.split("|")) == 6}
    tried = {each.version for each in (*BASES.values(), *ICECHUNK_BASES.values())}
    for name in ("fsspec", "VirtualiZarr", "icechunk"):
        version = ".".join(newest[name.lower()].split(".")[:2])
        assert f"{name} {version}" in tried
