from __future__ import annotations

import json
import re

import pytest

import refexplorer as rx
from refexplorer.spec.codes import CODES
from tests.helpers.editing import GOOD, Host


def test_a_document_and_its_table() -> None:
    host = Host()
    hello = host.ask("hello")
    assert json.loads(hello["document"]) == GOOD
    assert (hello["good"], hello["total"]) == (True, 5)
    assert [note["code"] for note in host.ask("notes")["notes"]] == [
        "orphan-chunk",
        "readers-differ",
    ]
    rows = host.rows()
    assert rows["x/2"] == {
        "key": "x/2",
        "kind": "url",
        "url": "s3://b/2",
        "offset": None,
        "length": None,
        "text": None,
        "origin": "gen[0]",
        "state": "same",
        "why": None,
    }
    assert (rows["b"]["offset"], rows["b"]["length"], rows["b"]["origin"]) == (1, 2, "refs")
    assert rows["a"]["text"] == "text"


def test_an_edit_marks_what_it_added_and_changed() -> None:
    host = Host()
    changed = GOOD | {"refs": {"a": "text", "b": ["{{u}}/g", 1, 2], "c": "new"}}
    reply = host.ask("edit", document=json.dumps(changed))
    assert (reply["version"], reply["good"], reply["total"]) == (2, True, 6)
    states = {key: row["state"] for key, row in host.rows().items()}
    assert states == {
        **dict.fromkeys(["x/0", "x/1", "x/2", "a"], "same"),
        "b": "changed",
        "c": "added",
    }
    assert host.posted == [{"ev": "changed", "version": 2, "total": 6}]
    assert host.controller.references is not None
    assert host.controller.references["c"] == rx.open_references({"c": "new"})["c"]


def test_a_broken_text_keeps_the_last_good_table() -> None:
    host = Host()
    text = host.ask("hello")["document"]
    broken = text.replace('"version": 1,', '"version": 1,,')
    reply = host.ask("edit", document=broken)
    assert reply["good"] is False
    assert reply["version"] == 1
    remarks = host.ask("notes")
    assert remarks["sentence"]
    (mark,) = remarks["notes"]
    assert broken[mark["from"] : mark["to"]] == ","
    assert len(host.rows()) == 5
    assert host.posted == []
    assert host.controller.document == broken
    again = host.ask("edit", document=text)
    assert again["good"] is True


def test_marks_count_as_editors_do() -> None:
    text = '{"version": 1, "templates": {}, "refs": {"😀😀": "x", "b": ["{{nope}}"]}}'
    reply = Host(text).ask("notes")
    mark = next(note for note in reply["notes"] if note["severity"] == "error")
    units = text.encode("utf-16-le")
    marked = units[2 * mark["from"] : 2 * mark["to"]].decode("utf-16-le")
    assert "{{nope}}" in marked
    assert "nope" in reply["sentence"]


def test_a_note_on_a_whole_item_marks_its_first_line() -> None:
    text = json.dumps(GOOD, indent=1)
    found = next(note for note in Host(text).ask("notes")["notes"] if note["pointer"] == "/gen/0")
    assert text[found["from"] : found["to"]] == "{"


def test_a_text_is_never_taken_for_a_path() -> None:
    for text in ("/etc/passwd", "refs.json", "http://h/refs.json", "", " ", "\ud83d"):
        host = Host(text)
        reply = host.ask("hello")
        assert (reply["good"], reply["total"]) == (False, 0)
        assert host.ask("notes")["sentence"]


def test_a_document_without_a_version_is_refused_at_its_place() -> None:
    text = '{"version": 7, "refs": {}}'
    (mark,) = Host(text).ask("notes")["notes"]
    assert text[mark["from"] : mark["to"]] == "7"


def test_python_sets_the_document() -> None:
    host = Host()
    host.controller.document = {"k": "v"}
    assert [message["ev"] for message in host.posted] == ["document", "changed"]
    assert json.loads(host.posted[0]["document"]) == {"k": "v"}
    host.controller.document = host.controller.document
    assert len(host.posted) == 2


def test_a_billion_rows_follow_each_keystroke() -> None:
    gen = {"key": "v/{{i}}", "url": "http://h/{{i}}", "dimensions": {"i": {"stop": 10**9}}}
    host = Host({"version": 1, "gen": [gen]})
    moved = gen | {"url": "http://g/{{i}}"}
    reply = host.ask("edit", document=json.dumps({"version": 1, "gen": [moved]}))
    assert reply["total"] == 10**9
    (row,) = host.ask("rows", start=999_999_999, n=5)["rows"]
    assert (row["key"], row["url"], row["state"]) == (
        "v/999999999",
        "http://g/999999999",
        "changed",
    )


def test_a_row_is_found_by_key_and_by_number() -> None:
    gen = {"key": "v/{{i}}", "url": "h{{i}}", "dimensions": {"i": {"stop": 10**12}}}
    host = Host({"version": 1, "gen": [gen], "refs": {"7": "text"}})
    assert host.ask("seek", text="v/999999999999")["index"] == 10**12
    assert host.ask("seek", text=" 1,000,000 ")["index"] == 10**6
    assert host.ask("seek", text="7")["index"] == 0
    assert "number is 1,000,000,000,000" in host.ask("seek", text=str(10**13))["error"]
    assert "no key `v/x`" in host.ask("seek", text="v/x")["error"]


def test_v0_is_written_out_with_a_warning_before_it_is_large() -> None:
    host = Host()
    text = host.ask("v0")["v0"]["text"]
    assert list(rx.open_references(text)) == ["a", "b", "x/0", "x/1", "x/2"]
    assert rx.open_references(text)["b"] == rx.open_references({"b": ["s3://b/f", 1, 2]})["b"]
    gen = {"key": "v/{{i}}", "url": "h{{i}}", "dimensions": {"i": {"stop": 300_000}}}
    large = Host({"version": 1, "gen": [gen]}).ask("v0")["v0"]
    assert (large["text"], large["sentence"]) == (None, "300,000 keys take about 7.54 MB as V0.")
    endless = gen | {"dimensions": {"i": {"stop": 10**12}}}
    assert "1,000,000,000,000" in Host({"version": 1, "gen": [endless]}).ask("v0")["error"]


@pytest.mark.parametrize(("code", "live"), [("bad-url", True), ("parquet-raw-and-path", False)])
def test_a_code_is_explained_with_an_example_for_the_editor(code: str, live: bool) -> None:
    host = Host()
    page = host.ask("code", code=code)["page"]
    assert page["live"] is live
    assert page["readers"]
    assert page["rule"]["link"].startswith("https://")
    if live:
        host.ask("edit", document=page["example"])
        assert code in {note["code"] for note in host.ask("notes")["notes"]}


def test_the_text_to_begin_with_is_reported_whatever_became_of_it() -> None:
    host = Host('{"a": "x"}')
    host.ask("edit", document='{"a": "y"}')
    host.controller.document = '{"a": "z"}'
    assert host.ask("text")["document"] == '{"a": "x"}'


def test_examples_are_shipped_sets_that_are_a_text() -> None:
    host = Host()
    titles = host.ask("hello")["examples"]
    assert "The specification's own example, V1" in titles
    assert "The same as parquet" not in titles
    for title in titles:
        text = host.ask("text", example=title)["document"]
        assert "error" not in host.ask("edit", document=text)
        assert host.ask("hello")["good"]
    assert "no example" in host.ask("text", example="../../secret")["error"]


def test_advice_in_the_editor_names_no_python() -> None:
    documents = [rule.example for rule in CODES.values() if rule.example.startswith("{")]
    said = [
        f"{note['message']} {note['hint']}"
        for document in documents
        for note in Host(document).ask("notes")["notes"]
    ]
    assert len(said) > len(documents) / 2
    assert not [text for text in said if re.search(r"open_references|`refexplorer |Limits\.", text)]


def test_what_to_do_about_readers_is_said_in_the_words_of_the_editor() -> None:
    notes = Host(CODES["readers-differ"].example).ask("notes")["notes"]
    (hint,) = {note["hint"] for note in notes if note["code"] == "readers-differ"}
    assert hint == "Other readers are listed above."
