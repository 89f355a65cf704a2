"""A JSON pointer leads to its place in the text."""

from __future__ import annotations

import io
import json
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refexplorer.formats.json import positions
from refexplorer.formats.json.positions import find_in_stream, locate
from refexplorer.spec.findings import pointer

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


def _places(value: Any, at: str = "") -> list[tuple[str, Any]]:
    found = [(at, value)]
    if isinstance(value, dict):
        for key, member in value.items():
            found += _places(member, at + pointer(key))
    if isinstance(value, list):
        for number, member in enumerate(value):
            found += _places(member, at + pointer(number))
    return found


@given(values, st.sampled_from([None, 2]), st.booleans())
def test_every_value_is_found_where_it_stands(value: Any, indent: int | None, escape: bool) -> None:
    text = "\n" + json.dumps(value, indent=indent, ensure_ascii=escape)
    for place, member in _places(value):
        span = locate(text, place)
        assert span is not None
        assert json.loads(text[span.start : span.end]) == member
        assert text.split("\n")[span.line - 1][span.column - 1 :].startswith(text[span.start])


def test_of_equal_keys_the_last_is_found() -> None:
    span = locate('{"a": 1, "a": 22}', "/a")
    assert span is not None
    assert (span.start, span.end, span.line, span.column) == (14, 16, 1, 15)


@pytest.mark.parametrize("text", ["", "{", '{"a": ', '{"a" 1}', "[1, "])
def test_broken_text_gives_no_place(text: str) -> None:
    assert locate(text, "/a/0") is None


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("block", [50, 997, 10**6])
def test_a_stream_is_searched_without_holding_it(indent: int | None, block: int) -> None:
    refs = {f"x/{number}": ["s3://b/f", number, 5] for number in range(500)}
    text = json.dumps({"version": 1, "refs": refs}, indent=indent)
    for spelt in (text, text.replace("/", "\\/")):
        for number in (0, 7, 250, 499):
            with patch.multiple(positions, _BLOCK=block, _SHOWN=60):
                found = find_in_stream(io.BytesIO(spelt.encode()), f"/refs/x~1{number}")
            span = locate(spelt, f"/refs/x~1{number}")
            assert found is not None
            assert span is not None
            assert (found.line, found.column) == (span.line, span.column)
            assert spelt[span.start :].startswith(found.text)
    assert find_in_stream(io.BytesIO(text.encode()), "/refs/nope") is None
