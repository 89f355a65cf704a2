"""Questions to an opened set: levels, search, summary, arrays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import refexplorer as rx
from tests.helpers.expanding import expanded
from tests.helpers.sets import ARRAY

V3_ARRAY = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [2, 2],
    "data_type": "int8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 1]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0,
    "codecs": [{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 5}}],
    "dimension_names": ["y", "x"],
}
V0: dict[str, Any] = {
    "t/10.0": ["s3://b/f2", 10, 5],
    ".zgroup": {"zarr_format": 2},
    "t/2.0": ["s3://b/f1", 0, 5],
    "t/.zarray": ARRAY,
    "t/.zattrs": {"_ARRAY_DIMENSIONS": ["y", "x"], "units": "K"},
    "t/0.2": ["s3://b/f1"],
    "t/0.1": "base64:aGVsbG8=",
    "v3/zarr.json": V3_ARRAY,
    "v3/c/1/0": ["s3://b/f3", 7, 9],
    "README": "hello",
}


@pytest.fixture
def refs() -> rx.ReferenceSet:
    return rx.open_references(V0)


def test_it_is_a_mapping_of_references(refs: rx.ReferenceSet) -> None:
    assert refs["t/10.0"] == rx.types.Range("s3://b/f2", 10, 5)
    assert refs["t/10.0"].kind is rx.types.Kind.RANGE
    assert refs["t/0.2"] == rx.types.Url("s3://b/f1")
    assert refs["README"] == rx.types.Inline("hello")
    assert list(refs) == list(V0)
    assert "t" not in refs
    assert list(refs).count("t") == 0
    with pytest.raises(KeyError):
        refs["t/9.9"]


def test_a_level_counts_in_natural_order_with_metadata_first(refs: rx.ReferenceSet) -> None:
    assert [row.name for row in refs.children().rows] == [".zgroup", "t", "v3", "README"]
    names = [row.name for row in refs.children("t").rows]
    assert names == [".zarray", ".zattrs", "0.1", "0.2", "2.0", "10.0"]
    page = refs.children("t", 3, 5)
    assert ([row.name for row in page.rows], page.total) == (["0.2", "2.0"], 6)
    assert refs.children("README").total == 0
    with pytest.raises(KeyError):
        refs.children("nope")


def test_rows_show_kind_size_and_target(refs: rx.ReferenceSet) -> None:
    rows = {row.path: row for row in (*refs.children().rows, *refs.children("t").rows)}
    assert (rows["t"].type, rows["t"].children, rows["t"].kind) == ("array", 6, None)
    assert (rows["v3"].type, rows[".zgroup"].type) == ("array", "key")
    assert (rows["t/2.0"].kind, rows["t/2.0"].size) == ("range", 5)
    assert rows["t/2.0"].target == "s3://b/f1"
    assert (rows["t/0.1"].kind, rows["t/0.1"].size) == ("base64", 5)
    assert (rows["t/0.2"].kind, rows["t/0.2"].size) == ("url", None)
    metadata = sum(len(json.dumps(V0[f"t/{n}"], separators=(",", ":"))) for n in (".zarray",))
    metadata += len(json.dumps(V0["t/.zattrs"], separators=(",", ":")))
    assert refs.summary("t").bytes == metadata + 5 + 5 + 5
    assert rows["t"].size is None  # a whole file is below, whose size is not known


def test_every_path_is_found_at_its_position(refs: rx.ReferenceSet) -> None:
    for folder in ("", "t", "v3", "v3/c", "v3/c/1"):
        rows = refs.children(folder).rows
        assert rows
        for place, row in enumerate(rows):
            assert refs.position(row.path) == place
            assert refs.parent(row.path) == folder
            assert refs.node(row.path) == row


def test_arrays_are_read_from_both_formats(refs: rx.ReferenceSet) -> None:
    assert refs.arrays() == ("t", "v3")
    old, new = refs.array("t"), refs.array("v3")
    assert (old.shape, old.chunks, old.grid) == ((4, 30), (1, 10), (4, 3))
    assert old.codecs == ("shuffle(elementsize=4)", "zlib(level=4)")
    assert (old.dimensions, old.attributes) == (("y", "x"), {"units": "K"})
    assert (new.codecs, new.dimensions) == (("bytes", "gzip(level=5)"), ("y", "x"))
    assert (old.chunk_key((0, 2)), new.chunk_key((1, 0))) == ("t/0.2", "v3/c/1/0")
    assert refs.array_of("t/2.0") == ("t", (2, 0))
    assert refs.array_of("v3/c/1/0") == ("v3", (1, 0))
    assert refs.array_of("t/.zarray") is None


def test_the_summary_counts(refs: rx.ReferenceSet) -> None:
    whole, one = refs.summary(), refs.summary("t")
    assert whole.kinds == {"inline": 5, "base64": 1, "url": 1, "range": 3}
    assert (whole.keys, whole.arrays, whole.groups, whole.targets) == (10, 2, 1, 3)
    assert whole.missing == (12 - 3) + (4 - 1)
    assert (one.keys, one.arrays, one.targets, one.missing) == (6, 1, 2, 9)


def test_what_people_lose_days_over_is_noted(refs: rx.ReferenceSet) -> None:
    found = {(diagnostic.code, diagnostic.key) for diagnostic in refs.diagnostics}
    assert ("chunk-outside-grid", "t/10.0") in found
    assert ("missing-chunks", "t/.zarray") in found
    assert ("missing-chunks", "v3/zarr.json") in found


@pytest.mark.parametrize(
    ("pattern", "mode", "kind", "keys"),
    [
        ("t/*.0", "glob", None, ["t/10.0", "t/2.0"]),
        ("*zarr*", "glob", None, ["t/.zarray", "v3/zarr.json"]),
        ("?EAD[MN]E", "glob", None, ["README"]),
        ("/0.", "substring", None, ["t/0.2", "t/0.1"]),
        (r"^t/\d+\.0$", "regex", None, ["t/10.0", "t/2.0"]),
        ("*", "glob", "url", ["t/0.2"]),
        ("t/*", "glob", ["url", "base64"], ["t/0.2", "t/0.1"]),
    ],
)
def test_search(refs: rx.ReferenceSet, pattern: str, mode: str, kind: Any, keys: list[str]) -> None:
    assert list(refs.find(pattern, mode=mode, kind=kind)) == keys


def test_a_search_that_cannot_be_read_says_so(refs: rx.ReferenceSet) -> None:
    with pytest.raises(rx.RefexplorerError, match="not a valid regular expression"):
        list(refs.find("(", mode="regex"))
    with pytest.raises(rx.RefexplorerError, match=r"look-ahead.*back references \(\(\?!\)"):
        list(refs.find("^(?!t/)", mode="regex"))
    with pytest.raises(rx.RefexplorerError, match="glob, regex, substring"):
        list(refs.find("a", mode="fuzzy"))


def test_gen_and_refs_meet_in_one_level() -> None:
    document = {
        "version": 1,
        "gen": [
            {"key": "x/{{i}}", "url": "http://h/{{i}}", "dimensions": {"i": {"stop": 4}}},
            {"key": "x/{{i}}", "url": "http://other", "dimensions": {"i": [2, 9]}},
        ],
        "refs": {"x/1": "explicit", "x/a": "kept"},
    }
    refs = rx.open_references(document)
    assert refs.to_v0() == expanded(document)
    assert refs["x/1"] == rx.types.Url("http://h/1")
    assert refs["x/2"] == rx.types.Url("http://other")
    assert len(refs) == len(list(refs)) == refs.children("x").total == 6
    assert {refs.origin(key) for key in refs} == {"refs", "gen[0]", "gen[1]"}
    assert [d.code for d in refs.diagnostics if "dup" in d.code] == ["gen-duplicate-key"] * 2
    for place, row in enumerate(refs.children("x").rows):
        assert refs.position(row.path) == place


def test_a_trillion_generated_keys_open_count_page_and_answer() -> None:
    dimensions = {"i": {"stop": 10**6}, "j": {"stop": 10**6}}
    item = {"key": "x/{{i}}.{{j}}", "url": "http://h", "dimensions": dimensions}
    refs = rx.open_references({"version": 1, "gen": [item], "refs": {"x/.zattrs": {}}})
    assert refs.count == 10**12 + 1
    assert refs.children("x", 10**11, 10**11 + 1).rows[0].name == "99999.999999"
    assert refs["x/7.8"] == rx.types.Url("http://h")
    assert refs.summary().keys == 10**12 + 1
    with pytest.raises(rx.errors.LimitError, match="1,000,000,000,001 keys"):
        refs.to_v0()


keys = st.text(st.sampled_from("ab/.0é"), max_size=6)
references = st.one_of(
    st.text(st.sampled_from("xyé"), max_size=3),
    st.tuples(st.sampled_from(["s3://a", "f", ""])).map(list),
    st.tuples(st.sampled_from(["s3://a", "f"]), st.integers(0, 2**62 - 1), st.integers(0, 99)).map(
        list
    ),
)


@given(st.dictionaries(keys, references, max_size=12))
def test_the_columns_hold_any_set_exactly(v0: dict[str, Any]) -> None:
    refs = rx.open_references(v0)
    assert refs.to_v0() == expanded(v0) == v0
    assert {key: refs[key].to_v0() for key in v0} == v0
    assert sorted(_walk(refs, "")) == sorted(v0)


def _walk(refs: rx.ReferenceSet, path: str) -> list[str]:
    found = []
    for row in refs.children(path).rows:
        if row.kind is not None:
            found.append(row.path)
        if row.children:
            found += _walk(refs, row.path)
    return found


@pytest.mark.parametrize("count", [4, 10**6])
def test_chunks_that_one_item_makes_for_several_arrays_are_present(count: int) -> None:
    array = json.dumps(ARRAY | {"shape": [4], "chunks": [1]})
    dimensions = {"v": {"stop": 2}, "i": {"stop": count}}
    gen = {"key": "{{v}}/{{i}}", "url": "http://h", "dimensions": dimensions}
    refs = {"0/.zarray": array, "1/.zarray": array, "2/.zarray": array}
    opened = rx.open_references({"version": 1, "refs": refs, "gen": [gen]})
    assert [opened.summary(path).missing for path in ("0", "1", "2", "")] == [0, 0, 4, 4]
