"""Searches in large columns find what a look at each key would find."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import refexplorer as rx

KEYS = st.lists(st.text(st.sampled_from("ab1.\n/"), max_size=6), unique=True, max_size=60)


def found(keys: list[str], text: str, mode: str) -> list[str]:
    return list(rx.open_references(dict.fromkeys(keys, "x")).find(text, mode=mode))


@given(KEYS, st.text(st.sampled_from("ab1.\n/"), min_size=1, max_size=3))
def test_substrings_are_found(keys: list[str], text: str) -> None:
    assert found(keys, text, "substring") == [key for key in keys if text in key]


@given(KEYS, st.text(st.sampled_from("ab1.\n/*?"), max_size=4))
def test_globs_are_found(keys: list[str], text: str) -> None:
    assert found(keys, text, "glob") == [key for key in keys if fnmatch.fnmatchcase(key, text)]


PATTERNS = (
    "^a", r"1\Z", "a.*b", "(?i)^B", "[^a]b", "^$", r"a\b", r"\Aa", "a|^b", "^ab*", r"\.\d$",
    "[1-9]", "[ab.]", "b?", "1+", "a{2}", r"\d{1,2}", "(a|b)/", r"\\", "[.-9]", "/*", "a$|^1",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
@given(keys=KEYS)
def test_regular_expressions_are_found(keys: list[str], pattern: str) -> None:
    read = re.compile(pattern.replace("$", r"\Z"), re.ASCII)
    expected = [key for key in keys if read.search(key)]
    assert found(keys, pattern.replace(r"\Z", r"\z"), "regex") == expected


SEARCHES = (
    ("a", "substring"), ("1.1", "substring"), ("b/1", "substring"), ("/0", "substring"),
    ("a/b", "substring"), ("/b/1.", "substring"), ("b", "substring"), ("c/1", "substring"),
    ("1/", "substring"), ("b/a", "substring"),
    ("a/*.1", "glob"), ("*.1*", "glob"), ("*/c*0", "glob"),
    (r"\d\d", "regex"), (r"^\d", "regex"), ("^a.*1$", "regex"), ("[^b]/1", "regex"),
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:fsspec finds no chunk")
@pytest.mark.parametrize(("text", "mode"), SEARCHES)
def test_a_parquet_store_finds_what_the_same_set_in_json_finds(
    text: str, mode: str, tmp_path: Path
) -> None:
    v0: dict[str, Any] = {".zgroup": {"zarr_format": 2}}
    for path, separator in (("a", "."), ("a/b", "."), ("c", "/"), ("11", ".")):
        v0[f"{path}/.zarray"] = {
            "zarr_format": 2, "shape": [12, 3], "chunks": [1, 1], "dtype": "<i4",
            "compressor": None, "filters": None, "order": "C", "fill_value": 0,
            "dimension_separator": separator,
        }  # fmt: skip
        for row in range(12):
            v0 |= {f"{path}/{row}{separator}{n}": ["s3://b/f", row, 1] for n in range(row % 4)}
    refs = rx.open_references(v0)
    refs.to_parquet(tmp_path / "set.parquet")
    stored = rx.open_references(tmp_path / "set.parquet")
    assert sorted(stored.find(text, mode=mode)) == sorted(refs.find(text, mode=mode))


def test_a_gen_that_is_too_long_says_how_far_it_was_searched() -> None:
    item = {"key": "x/{{i}}", "url": "http://h", "dimensions": {"i": {"stop": 10**7}}}
    refs = rx.open_references({"version": 1, "gen": [item], "refs": {"y/a": "b"}})
    assert list(refs.find("y/*")) == ["y/a"]
    assert list(refs.find("*", kind="inline")) == ["y/a"]
    with pytest.raises(
        rx.RefexplorerError, match=r"of the 10,000,000 keys of gen\[0\] were searched"
    ):
        list(refs.find("x/9999999"))


@pytest.mark.parametrize(
    "asked",
    [
        {"pattern": "*", "kind": "bogus"},
        {"pattern": "*", "kind": ["url", "x"]},
        {"pattern": "*", "mode": "bogus"},
        {"pattern": "\ud800", "mode": "substring"},
        {"pattern": "\ud800", "mode": "glob"},
        {"pattern": "\ud800", "mode": "regex"},
    ],
    ids=str,
)
def test_what_cannot_be_searched_for_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(rx.RefexplorerError):
        list(rx.open_references({"a": "b"}).find(**asked))


@pytest.mark.parametrize("form", ["json", "parquet"])
@pytest.mark.parametrize(
    ("mode", "pattern"), [("substring", "2025-0"), ("glob", "*-09.nc"), ("regex", "-(08|10)")]
)
def test_targets_are_searched_as_each_reference_would_be(
    demo: Path, form: str, mode: str, pattern: str
) -> None:
    refs = rx.open_references(demo / ("sst.v0.json" if form == "json" else "sst.parq"))
    matches: Callable[[str], bool] = {
        "substring": lambda text: pattern in text,
        "glob": lambda text: fnmatch.fnmatchcase(text, pattern),
        "regex": lambda text: re.search(pattern, text) is not None,
    }[mode]
    by_key = list(refs.find(pattern, mode=mode))
    by_target = [
        key
        for key, reference in refs.items()
        if key not in by_key and matches(getattr(reference, "url", None) or "")
    ]
    assert by_target
    assert list(refs.find(pattern, mode=mode, targets=True)) == by_key + by_target
    assert list(refs.find(pattern, mode=mode, kind="url", targets=True)) == [
        key for key in by_key + by_target if refs[key].kind == "url"
    ]
