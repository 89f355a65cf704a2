"""Searches in large columns find what a look at each key would find."""

from __future__ import annotations

import fnmatch
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.formats.arrow import text_column
from refexplorer.refset.columns import ColumnsBuilder
from refexplorer.refset.key_lines import KeyLines
from refexplorer.refset.matching import Matcher
from refexplorer.refset.table import Table
from refexplorer.spec.references import Inline

KEYS = st.lists(st.text(st.sampled_from("ab1.\n/"), max_size=6), max_size=60)


def found(keys: list[str], text: str, mode: str) -> list[str]:
    builder = ColumnsBuilder()
    for _ in keys:
        builder.add(Inline("x"))
    lines = KeyLines(Table(text_column(keys), builder.build()), few=0)
    blocks = lines.matching(Matcher(text, mode), [])
    return [keys[row] for rows in blocks for row in rows.tolist()]


@given(KEYS, st.text(st.sampled_from("ab1.\n/"), min_size=1, max_size=3))
def test_substrings_are_found_among_lines(keys: list[str], text: str) -> None:
    assert found(keys, text, "substring") == [key for key in keys if text in key]


@given(KEYS, st.text(st.sampled_from("ab1.\n/*?"), max_size=4))
def test_globs_are_found_among_lines(keys: list[str], text: str) -> None:
    assert found(keys, text, "glob") == [key for key in keys if fnmatch.fnmatchcase(key, text)]


PATTERNS = (
    "^a",
    r"1\Z",
    "a.*b",
    "(?i)^B",
    "[^a]b",
    "^$",
    r"a\b",
    r"\Aa",
    "a|^b",
    "^ab*",
    "(?-m)^a",
)


@pytest.mark.parametrize("pattern", PATTERNS)
@given(keys=KEYS)
def test_regular_expressions_are_found_among_lines(keys: list[str], pattern: str) -> None:
    read = re.compile(pattern.replace("$", r"\Z").replace("(?-m)", ""))
    expected = [key for key in keys if read.search(key)]
    assert found(keys, pattern.replace(r"\Z", r"\z"), "regex") == expected


def test_a_gen_that_is_too_long_says_how_far_it_was_searched() -> None:
    item = {"key": "x/{{i}}", "url": "http://h", "dimensions": {"i": {"stop": 10**7}}}
    refs = rx.open_references({"version": 1, "gen": [item], "refs": {"y/a": "b"}})
    assert list(refs.find("y/*")) == ["y/a"]
    assert list(refs.find("*", kind="inline")) == ["y/a"]
    with pytest.raises(rx.RefexplorerError, match=r"Of the 10,000,000 keys that gen\[0\] makes"):
        list(refs.find("x/9999999"))
