"""A formatted text says the same, and is formatted once and for all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.views.text import positions as formatting
from refexplorer.views.text.positions import formatted
from tests.helpers.editing import Host

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_it_says_the_same_and_stays(document: dict[str, object]) -> None:
    text = formatted(json.dumps(document))
    assert json.loads(text) == document
    assert formatted(text) == text


@pytest.mark.parametrize("name", ["spec.v0.json", "spec.v1.json", "sst.v1.json", "broken.json"])
def test_a_set_in_one_line_becomes_one_of_lines(demo: Path, name: str) -> None:
    document = json.loads((demo / name).read_text())
    text = formatted(json.dumps(document))
    assert json.loads(text) == document
    assert len(text.splitlines()) > len(document)


def test_tokens_stay_as_they_are_written() -> None:
    text = '{"a":1.50,"a":10E2,"b":["\\u00e9","s3:\\/\\/b",0,4],"c":{}}'
    assert formatted(text) == (
        '{\n  "a": 1.50,\n  "a": 10E2,\n  "b": ["\\u00e9", "s3:\\/\\/b", 0, 4],\n  "c": {}\n}\n'
    )


def test_what_cannot_be_formatted_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RefexplorerError, match="not JSON yet"):
        formatted('{"a": ')
    with pytest.raises(LimitError, match="nested too deeply"):
        formatted("[" * 100_000 + "]" * 100_000)
    monkeypatch.setattr(formatting, "LONGEST", 10)
    with pytest.raises(LimitError, match="at most 10 B are formatted"):
        formatted('{"a": "bcdef"}')


def test_the_editor_formats_its_text() -> None:
    host = Host('{"version":1,"refs":{"a":"x"}}')
    host.ask("format")
    assert host.controller.document == '{\n  "version": 1,\n  "refs": {"a": "x"}\n}\n'
    assert [event["ev"] for event in host.posted][:2] == ["document", "changed"]
