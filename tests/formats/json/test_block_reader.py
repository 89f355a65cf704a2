"""Reading in blocks gives what a real parser gives, or gives up."""

from __future__ import annotations

import io
import json
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.formats import source
from refexplorer.formats.documents import Noting
from refexplorer.formats.json import blocks as block_reader
from refexplorer.formats.json.blocks import NotInBlocks, read_in_blocks

keys = st.text(st.sampled_from('ab/0."],[{}:é\\\n'), max_size=5) | st.sampled_from(["refs", "gen"])
ranges = st.tuples(
    st.sampled_from(["s3://b/f", "{{u}}", "é", "],", "{{f(c=1, d=2)}}"]),
    st.integers(0, 9),
    st.just(5),
)
values = st.one_of(
    ranges.map(list),
    ranges.map(list),
    keys,
    st.sampled_from(["base64:aGk=", "],", '","b": ["u",1,2', "{{u}}"]),
    st.tuples(keys).map(list),
    st.dictionaries(keys, st.integers() | st.lists(ranges.map(list), max_size=2), max_size=2),
    st.lists(st.integers(-1, 2**70), max_size=4),
)
refs = st.dictionaries(keys, values, max_size=8)
styles = st.sampled_from([{}, {"indent": 1}, {"separators": (",", ":")}, {"ensure_ascii": False}])


def as_text(document: Any, style: dict[str, Any], escape: bool) -> str:
    text = json.dumps(document, **style)
    return text.replace("/", "\\/") if escape else text


def in_blocks(text: str, block: int) -> block_reader.DocumentEntries | None:
    with patch.object(block_reader, "BLOCK", block):
        try:
            return read_in_blocks(io.BytesIO(text.encode()), Noting())
        except NotInBlocks:
            return None


@given(refs, styles, st.booleans(), st.booleans(), st.integers(1, 200))
def test_references_are_the_same_in_every_style(
    refs: dict[str, Any], style: dict[str, Any], escape: bool, is_v1: bool, block: int
) -> None:
    document = {"version": 1, "templates": {"u": "x"}, "refs": refs, "gen": []} if is_v1 else refs
    text = as_text(document, style, escape)
    entries = in_blocks(text, block)
    if entries is not None:
        assert entries.is_v1 is is_v1 or "refs" in refs
        if entries.is_v1 == is_v1:
            assert entries.as_v0() == refs
            assert entries.outer.get("templates", {}) == ({"u": "x"} if is_v1 else {})


def test_the_usual_document_is_read_in_blocks() -> None:
    refs: dict[str, Any] = {f"x/{n}": ["s3://b/f", n, 5] for n in range(50)}
    refs[".zgroup"] = {"zarr_format": 2, "list": [1, 2]}
    refs["x/last"] = "text"
    for style in ({}, {"indent": 2}, {"separators": (",", ":")}):
        for document in (refs, {"version": 1, "refs": refs}, {"refs": refs, "version": 1}):
            for block in (7, 100, 10_000):
                entries = in_blocks(as_text(document, style, escape=True), block)
                assert entries is not None
                assert entries.as_v0() == refs


@given(refs, st.integers(0, 300), st.sampled_from(list('{}[],:"\\ 1x\n\t')), st.integers(1, 90))
def test_what_is_read_in_blocks_is_json(
    refs: dict[str, Any], place: int, letter: str, block: int
) -> None:
    text = json.dumps({"version": 1, "refs": {**refs, "z": ["u", 1, 2], "y": ["u", 3, 4]}})
    place = min(place, len(text) - 1)
    for broken in (text[:place] + letter + text[place:], text[:place] + letter + text[place + 1 :]):
        entries = in_blocks(broken, block)
        if entries is not None:
            document = json.loads(broken)
            assert entries.as_v0() == (document["refs"] if entries.is_v1 else document)


@given(refs, styles, st.booleans())
@example({"0": ["{{f(c=1, d=2)}}", 0, 5], "refs": ["{{f(c=1, d=2)}}", 0, 5], "": ""}, {}, True)
def test_a_large_set_opens_as_a_small_one_does(
    refs: dict[str, Any], style: dict[str, Any], is_v1: bool
) -> None:
    templates = {"u": "x", "f": "{{c}}"}
    document = {"version": 1, "templates": templates, "refs": refs} if is_v1 else refs
    text = as_text(document, style, escape=False)
    with patch.multiple(source, LARGE=1, LONG=1):
        large = _opened(text)
    small = _opened(text)
    assert large == small


def _opened(text: str) -> Any:
    try:
        refs = rx.open_references(text)
    except rx.errors.SpecError as refusal:
        return refusal.code
    codes = sorted((found.code, found.severity, found.count) for found in refs.diagnostics)
    return {key: reference.to_v0() for key, reference in refs.items()}, list(refs), codes


@pytest.mark.parametrize(
    "url",
    ["s3://b/g", "http://h/f", "s3://b/f::x", "s3://b/{g}", "s3://b/{{u}}", "s3://b/\u200b", "s3",
     "s3:/b:c", "s3x://b/f", "/f", "f", "", "s3://b/\x7f", "s3://b/ f", "9:f", "é", "s3://b/../f"],
)  # fmt: skip
def test_an_odd_url_among_many_plain_ones_is_found(url: str) -> None:
    refs: dict[str, Any] = {f"x/{n}": [f"s3://b/{n}", 0, 1] for n in range(20)}
    refs |= {"whole": ["s3://b/f"], "odd": [url, 0, 1]}
    refs["last"] = ["s3://b/0", 1, 1]  # which is not read in a block
    with patch.multiple(source, LARGE=1, LONG=1):
        large = _opened(json.dumps(refs))
    assert large == _opened(json.dumps(refs))


@pytest.mark.parametrize("tail", ["", "]", ',"a":1', '"', "x", "}x"])
def test_a_tail_that_does_not_belong_is_refused(tail: str) -> None:
    text = '{"version": 1, "refs": {"a": ["u", 1, 2], "b": ["u", 1, 2]}'
    assert in_blocks(text + "}", 9) is not None
    assert in_blocks(text + tail, 9) is None


@pytest.mark.parametrize("refs", ['{"a": ["u", 1, 2],}', '{"a": "x", "b": ["u", 1, 2], }'])
@pytest.mark.parametrize("block", [1, 9, 90])
def test_a_comma_before_the_end_is_refused(refs: str, block: int) -> None:
    assert in_blocks(refs, block) is None
    assert in_blocks(f'{{"version": 1, "refs": {refs}}}', block) is None


def test_equal_keys_and_sections_are_seen() -> None:
    text = '{"version": 1, "refs": {"a": ["u", 1, 2], "b": ["u", 3, 4], "a": ["u", 5, 6]}}'
    with patch.multiple(source, LARGE=1, LONG=1), patch.object(block_reader, "BLOCK", 20):
        refs = rx.open_references(text)
        assert refs.to_v0() == {"a": ["u", 5, 6], "b": ["u", 3, 4]}
        assert "duplicate-key" in {found.code for found in refs.diagnostics}
        twice = rx.open_references(text[:-1] + ', "refs": {"c": "x"}}')
        assert twice.to_v0() == {"c": "x"}
