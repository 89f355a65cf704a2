"""A key of any length costs its length, and one that no store takes is left out and said."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import refexplorer as rx
from refexplorer.core.text import SENTENCE
from refexplorer.spec.findings import pointer
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.explorer.explorer_controller import ExplorerController
from tests.helpers.explorer import Host
from tests.helpers.measuring import least

LONGEST = rx.Limits().key_bytes
ENDLESS = rx.Limits(key_bytes=2**40)
LONG = "a/" * LONGEST
SIZE = 250_000
MOST = 8


def _seconds(work: Callable[[Any], object], given: Any) -> float:
    """Processor time."""
    start = time.process_time()
    work(given)
    return time.process_time() - start


def _growth(work: Callable[[Any], object], build: Callable[[int], Any], size: int) -> float:
    """How much longer four times as much takes: 4 where it is linear, 16 where it is the square."""
    given = [build(size), build(4 * size)]
    work(given[0])  # what is imported and compiled is not measured
    measures = [partial(_seconds, work, each) for each in given]
    small, large = least(measures, lambda times: times[1] < MOST * times[0])
    return large / small


SHAPES = {
    "letters": "a",
    "slashes": "a/",
    "dots": "0.",
    "quotes": '\\"',
    "escapes": "\\u00e9",
    "braces": "{{",
    "cuts": "],",
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("start", ["", '"version": 1, "refs": {'])
def test_opening_takes_as_long_as_a_key_is(shape: str, start: str, tmp_path: Path) -> None:
    def build(size: int) -> str:
        part = SHAPES[shape]
        path = tmp_path / f"{size}.json"
        key = part * (size // len(part))
        path.write_text("{" + start + f'"{key}": "x", "b": "y"' + "}" * (2 if start else 1))
        return str(path)

    def look(source: str) -> None:
        refs = rx.open_references(source)
        assert refs.count == 1
        assert [found.code for found in refs.diagnostics] == ["key-too-long"]

    assert _growth(look, build, SIZE) < MOST


@pytest.mark.parametrize(
    "ask",
    [
        lambda refs, key: refs.position(key),
        lambda refs, key: refs.parent(key),
        lambda refs, key: refs.array_of(key),
        lambda refs, key: refs.layout("http://h/f").place(key),
        lambda refs, key: Host(refs).ask("tree.reveal", path=key),
        lambda refs, key: Host(refs).ask("key.show", path=key),
    ],
    ids=["position", "parent", "array_of", "layout", "reveal", "show"],
)
def test_the_folders_above_a_key_are_not_as_many_as_its_slashes(
    ask: Callable[[rx.ReferenceSet, str], object],
) -> None:
    def build(size: int) -> tuple[rx.ReferenceSet, str]:
        key = "a/" * (size // 2)
        return rx.open_references({key: ["http://h/f", 0, 1]}, limits=ENDLESS), key

    assert _growth(lambda given: ask(*given), build, 100_000) < MOST


def test_what_a_template_may_stand_for_is_not_looked_for_at_each_slash_of_a_url() -> None:
    def build(size: int) -> dict[str, Any]:
        return {"x/0": ["http://h/" + "a/" * (size // 2), 0, 1]}

    assert _growth(rx.infer, build, 50_000) < MOST


SOURCES: dict[str, Callable[[dict[str, Any], Path], Any]] = {
    "dict": lambda document, _: document,
    "text": lambda document, _: json.dumps(document),
    "blocks": lambda document, _: json.dumps(document).ljust(2**20),
    "gzip": lambda document, _: gzip.compress(json.dumps(document).encode().ljust(2**20)),
}


@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("value", ["x", ["http://h/f", 0, 1], [1, 2]], ids=["text", "range", "bad"])
@pytest.mark.parametrize("source", SOURCES)
def test_a_key_too_long_is_left_out_and_the_others_stay(
    source: str, value: Any, form: int, tmp_path: Path
) -> None:
    refs = {"a": "x", LONG: value, "x/0": ["http://h/f", 5, 1], "b": "y"}
    document = {"version": 1, "refs": refs} if form else refs
    opened = rx.open_references(SOURCES[source](document, tmp_path))
    assert list(opened) == ["a", "x/0", "b"]
    assert opened.to_v0() == {"a": "x", "x/0": ["http://h/f", 5, 1], "b": "y"}
    (found,) = (found for found in opened.diagnostics if found.severity == "error")
    assert found.code == "key-too-long"
    assert found.pointer == ("/refs" if form else "") + pointer(LONG)
    assert found.message.startswith(f"The key has {len(LONG):,} bytes,")
    assert "Limits.key_bytes" in found.hint
    assert source != "text" or found.line == 1
    left_out = opened.rejection(LONG)
    assert left_out is not None
    assert left_out.code == "key-too-long"
    with pytest.raises(KeyError, match="The key has"):
        opened[LONG]
    assert opened.rejection("a") is None


def test_a_key_as_long_as_the_limit_is_kept() -> None:
    kept = {"a" * LONGEST: "x", "é" * (LONGEST // 2): "y"}
    refs = rx.open_references({**kept, "b" * (LONGEST + 1): "z", "é" * (LONGEST // 2) + "a": "z"})
    assert refs.to_v0() == kept
    assert [found.code for found in refs.diagnostics if found.severity == "error"] == [
        "key-too-long",
        "key-too-long",
    ]
    assert rx.open_references({"ab": "x", "abc": "y"}, limits=rx.Limits(key_bytes=2)).count == 1


def test_a_key_too_long_of_a_store_is_left_out(tmp_path: Path) -> None:
    metadata = {".zgroup": {"zarr_format": 2}, LONG + ".zattrs": {}}
    (tmp_path / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": 10}))
    refs = rx.open_references(tmp_path)
    assert list(refs) == [".zgroup"]
    assert [found.code for found in refs.diagnostics] == ["key-too-long"]


def test_a_generated_key_is_no_longer_than_a_template_may_be() -> None:
    item = {"key": "a/" * LONGEST + "{{i}}", "url": "http://h", "dimensions": {"i": {"stop": 3}}}
    refs = rx.open_references({"version": 1, "gen": [item], "refs": {"b": "x"}})
    assert list(refs) == ["b"]
    assert [found.code for found in refs.diagnostics] == ["template-limit"]


def _noted() -> list[Any]:
    long, json_text = "a" * SIZE, '{"%s": "x", "%s": "y"}'
    document = {"version": 1, long: 1, "templates": {long: None}, "refs": {long: "x"}}
    sources = [document, json_text % (long, long), {"/" + long: [1, 2]}]
    return [found for source in sources for found in rx.open_references(source).diagnostics]


def test_what_quotes_a_long_text_is_cut_in_its_middle() -> None:
    noted = _noted()
    codes = {"unknown-top-level-key", "bad-template-type", "duplicate-key", "key-too-long"}
    assert codes <= {found.code for found in noted}
    for found in noted:
        assert max(len(found.message), len(found.hint)) <= SENTENCE
        assert len(str(found)) < 4 * SENTENCE
        assert len(repr(found)) < 10 * SENTENCE
    (section,) = (found for found in noted if found.code == "unknown-top-level-key")
    assert "characters]" in section.message
    assert section.message.endswith("is not a section of V1, so it is ignored.")
    assert len(str(rx.errors.SpecError("a" * SIZE, code="not-json"))) == SENTENCE


def test_a_note_of_a_long_key_is_short_and_leads_to_its_place() -> None:
    text = json.dumps({"b": "y", "a/" * (LONGEST // 2 + 1): "x"}, indent=1)
    host = Host(text)
    (note,) = host.ask("hello")["notes"]
    assert (note["code"], note["line"], note["key"]) == ("key-too-long", 3, None)
    assert len(note["pointer"]) == SENTENCE
    assert host.ask("source.show", pointer=note["pointer"])["lines"] is not None
    editor = EditorController(text)
    ((answer, _),) = editor.handle({"id": "t:1", "op": "notes"})
    (mark,) = answer["notes"]
    assert text[mark["from"] : mark["to"]] == '"x"'
    assert len(mark["pointer"]) == SENTENCE


def test_a_row_of_the_tree_shows_a_long_url_cut() -> None:
    controller = ExplorerController(rx.open_references({"a": ["http://h/" + "b" * SIZE + "/f.nc"]}))
    ((answer, _),) = controller.handle({"id": "t:1", "op": "tree.rows", "start": 0, "n": 10})
    (row,) = answer["rows"]
    assert len(row["target"]) == SENTENCE
    assert row["target"].endswith("/f.nc")
