"""One odd value in a JSON text stays alone, and its place is told, however long the text is."""

from __future__ import annotations

import json

import pytest

import refexplorer as rx

PADDINGS = [0, 70_000, 1_100_000]
"""Characters beside what is tested: read whole, in blocks, and in blocks that are not kept."""


def found(text: str, code: str) -> list[tuple[str, int | None, int | None]]:
    refs = rx.open_references(text)
    return [(d.pointer, d.line, d.column) for d in refs.diagnostics if d.code == code]


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("sign", ["", "-"])
def test_a_number_of_too_many_digits_is_one_bad_entry(padding: int, sign: str) -> None:
    text = f'{{"a": ["u", {sign}1{"0" * 5000}, 1], "b": "y", "p": "{"x" * padding}"}}'
    refs = rx.open_references(text)
    assert list(refs) == ["b", "p"]
    (bad,) = (d for d in refs.diagnostics if d.severity == "error")
    assert (bad.code, bad.pointer, bad.line, bad.column) == ("bad-offset", "/a", 1, 7)
    assert rx.expand(text).v0.keys() == {"b", "p"}


@pytest.mark.parametrize("padding", PADDINGS)
def test_a_key_twice_in_any_object_has_a_place(padding: int) -> None:
    text = (
        '{"version": 1,\n"templates": {"u": "a",\n"u": "b"},\n"gen": [{"key": "{{i}}",\n'
        '"url": "http://h", "url": "http://g",\n"dimensions": {"i": {"stop": 2}}}],\n'
        f'"refs": {{"p": "{"x" * padding}",\n"x/.zattrs": {{"b": {{"c": 1,\n"c": 2}}}}}}}}'
    )
    assert set(found(text, "duplicate-key")) == {
        ("/templates/u", 3, 6),
        ("/gen/0/url", 5, 27),
        ("/refs/x~1.zattrs/b/c", 9, 6),
    }


@pytest.mark.parametrize("padding", PADDINGS)
def test_a_nan_has_a_place(padding: int) -> None:
    text = f'{{"p": "{"x" * padding}",\n"x/.zattrs": {{"a": 1.5,\n"fill": NaN, "more": NaN}}}}'
    assert found(text, "nonstandard-json-nan") == [("/x~1.zattrs/fill", 3, 9)]


@pytest.mark.parametrize("padding", PADDINGS)
def test_the_limit_of_depth_is_one_for_every_length(padding: int) -> None:
    def nested(levels: int) -> str:
        within = "[" * (levels - 2) + "]" * (levels - 2)
        return f'{{"x/.zattrs": {{"a": {within}}}, "p": "{"x" * padding}"}}'

    limits = rx.Limits(json_depth=50)
    assert len(rx.open_references(nested(50), limits=limits)) == 2
    with pytest.raises(rx.errors.SpecError, match="more than 50 levels"):
        rx.open_references(nested(51), limits=limits)


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("key", ["\udc00", "a"])
def test_half_a_surrogate_pair_is_one_bad_entry(padding: int, key: str) -> None:
    text = json.dumps({key: "\udc00", "p": "x" * padding})
    refs = rx.open_references(text)
    assert list(refs) == ["p"]
    (bad,) = (d for d in refs.diagnostics if d.severity == "error")
    assert (bad.code, bad.pointer) == ("bad-text", "/" + key)
    assert rx.expand(text).v0.keys() == {"p"}
