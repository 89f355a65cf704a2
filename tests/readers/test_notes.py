"""Where a reader silently reads a set differently, `check` has a note."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.formats import source
from refexplorer.readers.features import FSSPEC, JINJA
from tests.cases import Case, conformance

READ = [case for case in conformance() if case.fields["kind"] != "parquet" and not case.refused]
ARRAY = {
    "zarr_format": 2,
    "shape": [2],
    "chunks": [1],
    "dtype": "<i4",
    "compressor": None,
    "filters": None,
    "fill_value": 0,
    "order": "C",
}
V3_GROUP = '{"zarr_format": 3, "node_type": "group"}'


def was_seen_to_differ(case: Case) -> bool:
    """Whether fsspec or reference-spec-reader, run on the case, gave something else."""
    fsspec = case.fields.get("fsspec", {}).get("agrees", {})
    javascript = case.fields.get("reference-spec-reader", {}).get("agrees", True)
    return not all([*fsspec.values(), javascript])


@pytest.mark.parametrize("case", [case for case in READ if was_seen_to_differ(case)], ids=str)
def test_what_readers_were_seen_to_differ_in_is_noted(case: Case) -> None:
    assert rx.open_references(case.source, templates=case.templates).diagnostics


URLS = st.sampled_from(
    [
        "http://{{u}}/f",
        "http://{{u|upper}}/f",
        "http://{{u ~ 'x'}}/f",
        "http://{{f(c=1)}}/f",
        "http://{{f(c=u)}}/f",
        "http://{{1 + 1}}/f",
        "http://{{7 // 2}}/f",
        "http://{{u if true else 'x'}}",
        "http://h/{{ 'a' * 2 }}",
        "http://h/f\n",
        "d/f",
        "",
        "s3://b/f",
    ]
)
NUMBERS = st.sampled_from([0, 1, 4, 2**32, 2**53, 2**53 + 1, 2**63 + 1, 10.0, -1, "4", None, True])
VALUES = st.one_of(
    st.tuples(URLS).map(list),
    st.tuples(URLS, NUMBERS, NUMBERS).map(list),
    st.tuples(st.none(), NUMBERS, NUMBERS).map(list),
    st.tuples(URLS, NUMBERS).map(list),
    st.sampled_from(["text", "base64:aGk=", "base64:", "base64:!", "BASE64:aGk=", {"a": 1}, 5]),
)
ITEMS = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["x/{{i}}", "x/{{i * 2}}", "x/{{'%02d' % i}}", "x"]),
        "url": URLS,
        "dimensions": st.sampled_from(
            [
                {"i": [0, 1]},
                {"i": {"stop": 3}},
                {"i": {"start": 3, "stop": 0, "step": -1}},
                {"i": [2**53 + 1]},
                {"i": [1], "odd-name": [0]},
                {"i": [1], "self": [0]},
                {"i": []},
            ]
        ),
    },
    optional={
        "offset": st.sampled_from(["{{i}}", "{{i * 7 // 2}}", "1_0", " 5 "]),
        "length": st.just("4"),
    },
)
DOCUMENTS = st.one_of(
    st.dictionaries(st.sampled_from(["x/0", ".zgroup", "a b", "é"]), VALUES, max_size=3),
    st.fixed_dictionaries(
        {"version": st.just(1), "refs": st.dictionaries(st.sampled_from(["x/0", "k"]), VALUES)},
        optional={
            "templates": st.just({"u": "h", "f": "{{c}}"}),
            "gen": st.lists(ITEMS, max_size=2),
        },
    ),
)


@settings(deadline=None)
@given(DOCUMENTS)
def test_where_fsspec_itself_differs_something_is_noted(document: dict[str, Any]) -> None:
    verdicts = rx.dialects(json.dumps(document), readers=[FSSPEC, JINJA])
    if any(verdict.outcome != "same" for verdict in verdicts):
        assert rx.open_references(json.dumps(document)).diagnostics


ODD: list[tuple[str, Any]] = [
    ("odd-encoding", b'\xef\xbb\xbf{"a": "b"}'),
    ("odd-encoding", '\ufeff{"a": "b"}'),
    ("odd-encoding", '{"a": "b"}'.encode("utf-16")),
    ("odd-encoding", '{"a": "b"}'.encode("utf-32-le")),
    ("no-references", "{}"),
    ("no-references", '{"version": 1}'),
    ("readers-differ", '{"a": ["http://h/f", 9007199254740993, 4]}'),
    ("readers-differ", '{"a": ["http://h/f", 0, 0]}'),
    ("readers-differ", '{"a": ["http://h/f", 0, 4294967296]}'),
    ("readers-differ", '{"a": "base64:"}'),
    ("readers-differ", '{"a": ["foo://h/f", 0, 4]}'),
    ("almost-base64", '{"a": "BASE64:aGk="}'),
    ("almost-base64", '{"a": " base64:aGk="}'),
    ("odd-metadata-json", json.dumps({".zattrs": '{"a": NaN}'})),
    ("odd-metadata-json", json.dumps({".zattrs": '{"a": 1, "a": 2}'})),
    ("odd-metadata-json", json.dumps({".zattrs": '{"a": "\\ud800"}'})),
    ("odd-metadata-json", '{".zattrs": {"a": "\\ud800"}}'),
    ("metadata-elsewhere", '{"x/.zarray": ["http://h/f", 0, 4]}'),
    ("ambiguous-node", json.dumps({"x/.zgroup": '{"zarr_format": 2}', "x/zarr.json": V3_GROUP})),
    (
        "ambiguous-node",
        json.dumps({"x/.zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(ARRAY)}),
    ),
    *(
        ("unportable-key", json.dumps({key: "x"}))
        for key in ("é", "a\\b", " a", "a ", "a./b", "a?b", "a#b", "a%20b", "a:b", "n" * 256)
    ),
    *(
        ("unportable-url", json.dumps({"a": [url, 0, 4]}))
        for url in (
            "http://h/a b",
            "http://h/é",
            "http://h/a%zz",
            "http://h/a#b",
            "http://h/a\\b",
            "http://u:p@h/f",
            "http://h:99999/f",
            "http:///f",
            "http://h/a/../f",
            "HTTP://h/f",
            "S3://b/f",
            "s3://b/a%20b",
            "s3://b/a?versionId=1",
            "s3://b/a#b",
            "s3://b/a/./b",
            "C:/d/f.nc",
            "C:\\d\\f.nc",
            "file:f.nc",
            "file://d/f.nc",
            "//h/f",
        )
    ),
]
PLAIN = [
    {"a": ["s3://bucket/some-path/f_1~2.nc", 0, 4]},
    {"a": ["https://h.org:8443/d/f.nc?id=0%2F", 0, 4]},
    {"a": ["file:///d/f.nc", 0, 4], "b/c": "text", "c_d-e.f": "base64:aGk="},
    {"a": ["/d/f.nc", 2**32, 4]},
    {".zattrs": '{"a": {"b": 1}, "b": "\\u00e9"}', "a b": "x"},
]


@pytest.mark.parametrize(("code", "document"), ODD, ids=str)
def test_what_not_all_take_alike_has_a_note(code: str, document: Any) -> None:
    found = rx.open_references(document).diagnostics
    assert code in {one.code for one in found}
    assert {one.severity for one in found if one.code == code} <= {"info", "warning"}


@pytest.mark.parametrize("document", PLAIN, ids=str)
def test_what_all_take_alike_has_none(document: dict[str, Any]) -> None:
    assert rx.open_references(json.dumps(document)).diagnostics == ()
    assert rx.expand(document).diagnostics == ()


@pytest.mark.parametrize(
    ("code", "templates", "refs"),
    [
        ("relative-url", {"u": "x"}, {"a": ["0\n"], "b": ["{{u}}", 0, 5]}),
        ("unused-argument", {"f": "{{c}}"}, {"a": ["{{f(c=1, d=2)}}", 0, 5]}),
        ("unportable-key", {"f": "{{c}}"}, {"a:b": ["{{f(c=1)}}", 0, 5]}),
    ],
)
@pytest.mark.parametrize("is_large", [False, True])
def test_what_is_noted_for_another_reason_hides_no_difference(
    code: str,
    templates: dict[str, str],
    refs: dict[str, Any],
    is_large: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if is_large:
        monkeypatch.setattr(source, "LARGE", 1)
        monkeypatch.setattr(source, "LONG", 1)
    document = {"version": 1, "templates": templates, "refs": refs}
    found = {
        (one.code, one.pointer) for one in rx.open_references(json.dumps(document)).diagnostics
    }
    place = f"/refs/{next(iter(refs))}"
    assert {(code, place), ("readers-differ", place)} <= found


def test_of_many_alike_there_is_one_note() -> None:
    many = {f"x{n}": [f"s3://b/%20{n}", 0, 4] for n in range(500)}
    (found,) = rx.open_references(json.dumps(many)).diagnostics
    assert (found.code, found.count, found.pointer) == ("unportable-url", 500, "/x0")


def test_a_long_document_is_judged_by_one_key_of_each_kind() -> None:
    refs: dict[str, Any] = {f"x/{n}": [f"http://h/{n % 7}", n, 4] for n in range(5000)}
    refs["y"] = ["http://{{u|upper}}/f", 0, 4]
    refs["z"] = ["http://h/0", 2**53 + 1, 4]
    refs["e"] = ["http://h/0", 5, 0]
    text = json.dumps({"version": 1, "templates": {"u": "h"}, "refs": refs})
    opened = rx.open_references(text)
    assert opened.source.is_long
    places = {one.pointer for one in opened.diagnostics if one.code == "readers-differ"}
    assert {"/refs/y", "/refs/e"} <= places
    plain = rx.open_references(json.dumps({"version": 1, "refs": {"z": refs["z"]}}))
    assert [one.pointer for one in plain.diagnostics] == ["/refs/z"]


def test_references_of_a_long_document_are_counted_by_form() -> None:
    refs: dict[str, Any] = {"x/.zarray": json.dumps(ARRAY | {"shape": [90_000]})}
    refs |= {f"x/{n}": [f"unheard://b/{n}", n, n % 3] for n in range(40_000)}
    refs |= {f"x/{n}": [f"s3://b/{n}.bin"] for n in range(40_000, 60_000)}
    refs |= {f"x/{n}": [f"unheard://b/{n}.bin"] for n in range(60_000, 90_000)}
    short = {key: value for row, (key, value) in enumerate(refs.items()) if row % 10_000 < 4}
    for document in (refs, short):
        found = rx.open_references(json.dumps(document).encode()).diagnostics
        unread = [one for one in found if "No known reader supports" in one.message]
        count = sum("unheard" in str(value) for value in document.values())
        assert [(one.count, one.key) for one in unread] == [(count, "x/0")]
