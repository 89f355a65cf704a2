"""Templates that are tried, and places in the dimensions."""

from __future__ import annotations

import json

from tests.helpers.editing import GOOD, Host


def test_a_template_is_tried_without_touching_the_text() -> None:
    host = Host()
    text = host.controller.document
    reply = host.ask("try", templates={"u": "gs://c"})
    assert reply["templates"] == [{"name": "u", "written": "s3://b", "given": "gs://c"}]
    assert host.rows()["b"]["url"] == "gs://c/f"
    assert host.rows()["b"]["state"] == "changed"
    assert host.controller.document == text
    assert host.controller.templates == {"u": "gs://c"}
    host.ask("edit", document=text.replace('"text"', '"other"'))
    assert host.rows()["x/0"]["url"] == "gs://c/0"
    host.ask("try", templates={})
    assert host.rows()["x/0"]["url"] == "s3://b/0"


def test_other_readers_are_given_the_tried_template() -> None:
    host = Host()
    host.ask("try", templates={"u": "gs://c"})
    (row,) = host.ask("rows", start=1, n=1, reader="fsspec (default)")["rows"]
    assert (row["url"], row["state"]) == ("gs://c/f", "same")


def test_a_template_that_the_text_no_longer_has_is_noted() -> None:
    host = Host()
    host.ask("try", templates={"u": "gs://c"})
    host.ask("edit", document='{"version": 1, "refs": {"a": "x"}}')
    assert [note["code"] for note in host.ask("notes")["notes"]] == ["override-unused"]


def test_without_templates_there_is_nothing_to_try() -> None:
    assert Host('{"version": 1, "refs": {"a": "x"}}').ask("hello")["templates"] == []
    assert Host('{"version": 1, "templates": "u"}').ask("hello")["templates"] == []
    assert Host("{").ask("hello")["templates"] == []


def test_a_place_in_the_dimensions_leads_to_its_row_and_back() -> None:
    dimensions = {"t": {"start": 10, "stop": 10 + 10**6, "step": 2}, "c": [7, 3]}
    item = {"key": "v/{{t}}.{{c}}", "url": "h", "dimensions": dimensions}
    host = Host({"version": 1, "gen": [item], "refs": {"a": "x"}})
    (generator,) = host.ask("hello")["generators"]
    assert generator["axes"] == [
        {"name": "t", "size": 500_000, "start": 10, "step": 2, "listed": None},
        {"name": "c", "size": 2, "start": None, "step": None, "listed": [7, 3]},
    ]
    index = host.ask("seek", gen=0, places={"t": 499_999, "c": 1})["index"]
    assert index == 10**6
    (row,) = host.ask("rows", start=index, n=1)["rows"]
    assert row["key"] == f"v/{10 + 2 * 499_999}.3"
    derivation = host.ask("explain", key=row["key"])["derivation"]
    assert derivation["places"] == [["t", 499_999], ["c", 1]]


def test_places_that_are_not_there_say_so() -> None:
    host = Host()
    assert "no such combination" in host.ask("seek", gen=0, places={"i": 3})["error"]
    assert "gen[4] generates no keys" in host.ask("seek", gen=4, places={})["error"]
    odd = {**GOOD, "gen": [{**GOOD["gen"][0], "url": "{{ 1 // i }}"}]}  # type: ignore[index]
    host.ask("edit", document=json.dumps(odd))
    assert "error" in host.ask("seek", gen=0, places={"i": 0})


def test_a_v0_document_can_be_wrapped() -> None:
    assert Host().ask("hello")["wrap"] is None
    wrap = Host({"a": ["h", 1, 2]}).ask("hello")["wrap"]
    text = Host({"a": ["h", 1, 2]}).controller.document
    for change in reversed(wrap["changes"]):
        text = text[: change["from"]] + change["insert"] + text[change["to"] :]
    host = Host(text)
    assert json.loads(text)["version"] == 1
    assert host.rows()["a"]["offset"] == 1
