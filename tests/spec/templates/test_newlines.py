"""Line ends of texts without braces come out as jinja2 gives them."""

from __future__ import annotations

import json

import jinja2
import pytest

import refexplorer as rx

TEXTS = ["http://h/f\n", "http://h/f\r\n", "h/f\n\n", "a\r\nb", "{a}\r", "h/f", "{{u}}\n", "\n"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_url_or_template_ends_as_jinja2_has_it(text: str) -> None:
    expected = jinja2.Template(text).render(u="srv")
    called = jinja2.Template("{{v}}/x").render(v=jinja2.Template(text).render())
    document = {
        "version": 1,
        "templates": {"u": "srv\r\n", **({} if "{{" in text else {"v": text})},
        "refs": {"a": [text], "b": [text, 0, 4], "c": ["{{v | default('')}}/x"]},
        "gen": [{"key": "g{{i}}", "url": text, "dimensions": {"i": [1]}}],
    }
    v0 = {"a": [expected], "b": [expected, 0, 4], "c": [called], "g1": [expected]}
    assert rx.expand(document).v0 == v0
    assert rx.open_references(document).to_v0() == v0
    assert rx.open_references(json.dumps(document).encode()).to_v0() == v0


def test_v0_keeps_its_line_ends_also_when_it_is_shortened() -> None:
    urls = ("http://host-of-a-long-name/folder/file\n", "http://host-of-a-long-name/folder/g\r\n")
    v0 = {f"a/{n}": [urls[n % 2], n * n % 7, 5] for n in range(60)}
    assert rx.open_references(v0).to_v0() == v0
    shorter = rx.infer(v0).document
    assert shorter["version"] == 1
    assert rx.open_references(shorter).to_v0() == v0
