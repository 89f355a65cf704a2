"""The specification beside the text: its rules, those at the cursor, and the places of a rule."""

from __future__ import annotations

import json
import re

import pytest

from refexplorer.spec.codes import CODES, RULES
from refexplorer.views.editor import specification as rule_places
from refexplorer.views.exercises.exercise_controller import ExercisesController
from refexplorer.views.exercises.exercise_models import exercises
from tests.helpers.editing import Host

SHOWN = [name for name, rule in RULES.items() if rule.example]
DOCUMENT = {
    "version": 1,
    "templates": {"u": "s3://b", "f": "{{u}}/{{c|upper}}"},
    "gen": [
        {
            "key": "x/{{i}}.{{j}}",
            "url": "{{f(u=u, c='a')}}",
            "offset": "{{i * 10}}",
            "length": "10",
            "dimensions": {"i": {"start": 0, "stop": 3, "step": 1}, "j": [0, 5]},
        },
        {"key": "y", "url": "s3://b/y", "dimensions": {"k": {"stop": 1}}},
    ],
    "refs": {
        "text": "ä", "object": {"a": [1]}, "bytes": "base64:aGk=", "whole": ["s3://b/f"],
        "range": ["{{u}}/f", 1, 2], "call": ["{{f(u=u, c='b')}}"], "computed": ["s3://b/{{2 * 3}}"],
    },
}  # fmt: skip
AT = {
    "": "expand",
    "/version": "version",
    "/templates": "templates",
    "/templates/u": "templates",
    "/templates/f": "jinja scope arguments",
    "/gen": "gen",
    "/gen/0": "gen",
    "/gen/0/key": "gen-names gen",
    "/gen/0/url": "arguments gen-names gen",
    "/gen/0/offset": "gen-range jinja",
    "/gen/0/length": "gen-range",
    "/gen/0/dimensions": "product dimensions",
    "/gen/0/dimensions/i": "range",
    "/gen/0/dimensions/i/stop": "range",
    "/gen/0/dimensions/j": "values",
    "/gen/0/dimensions/j/1": "values",
    "/gen/1/url": "gen",
    "/gen/1/dimensions": "dimensions",
    "/gen/1/dimensions/k": "range-defaults range",
    "/refs": "refs",
    "/refs/text": "text ascii",
    "/refs/object": "json-object",
    "/refs/object/a/0": "json-object",
    "/refs/bytes": "base64",
    "/refs/whole": "whole-url list-shape",
    "/refs/range": "byte-range list-shape",
    "/refs/range/0": "templates byte-range list-shape",
    "/refs/range/2": "byte-range list-shape",
    "/refs/call/0": "arguments templates whole-url list-shape",
    "/refs/computed/0": "jinja templates whole-url list-shape",
    "/nothing/at/all": "expand",
}
"""Pointer → the rules there, the nearest first."""


def texts(host: Host, rule: str) -> list[str]:
    reply = host.ask("rules.places", name=rule)
    return [host.controller.document[start:stop] for start, stop in reply["places"]]


@pytest.mark.parametrize("pointer", AT)
def test_a_place_in_the_text_leads_to_its_rules(pointer: str) -> None:
    assert Host(DOCUMENT).ask("rules.at", pointer=pointer)["names"] == AT[pointer].split()


def test_version_0_has_rules_of_its_own() -> None:
    host = Host({"gen": "x", "a": ["s3://b/f", 1, 2], "refs": "{{u}}"})
    assert host.ask("rules.at", pointer="")["names"] == ["v0"]
    assert host.ask("rules.at", pointer="/gen")["names"] == ["text", "ascii"]
    assert host.ask("rules.at", pointer="/a/1")["names"] == ["byte-range", "list-shape"]
    assert host.ask("rules.at", pointer="/refs")["names"] == ["text", "ascii"]


@pytest.mark.parametrize("name", SHOWN)
def test_the_example_of_a_rule_has_places_and_each_leads_back(name: str) -> None:
    host = Host(RULES[name].example)
    places = rule_places.RulePlaces(host.controller.references)  # type: ignore[arg-type]
    pointers, is_all = places.of(name)
    assert is_all
    assert pointers
    assert all(name in places.at(pointer) for pointer in pointers)
    assert len(texts(host, name)) == len(pointers)


def test_a_rule_leads_to_its_places_and_of_many_lines_to_the_first() -> None:
    host = Host(json.dumps(DOCUMENT, indent=1, ensure_ascii=False))
    assert [json.loads(text) for text in texts(host, "values")] == [[0, 5]]
    assert texts(host, "gen-range") == ['"{{i * 10}}"', '"10"']
    assert texts(host, "product") == ['"dimensions": {']
    assert texts(host, "refs") == ['"refs": {']
    assert texts(host, "expand") == ["{"]
    (place,) = texts(Host('{"version": 1, "refs":\n{' + "\n" * 9 + "}}"), "refs")
    assert place == "{"
    assert texts(host, "raw") == []
    host = Host('{"𝄞": "base64:aGk="}')
    # in UTF-16 code units, of which the clef has two
    assert host.ask("rules.places", name="base64")["places"] == [[7, 20]]


def test_of_many_places_the_first_are_shown_and_that_there_are_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reply = Host({f"x/{n}": "a" for n in range(201)}).ask("rules.places", name="text")
    assert (len(reply["places"]), reply["is_all"]) == (200, False)
    reply = Host({f"x/{n}": "a" for n in range(200)}).ask("rules.places", name="text")
    assert (len(reply["places"]), reply["is_all"]) == (200, True)
    monkeypatch.setattr(rule_places, "LOOKED_AT", 3)
    reply = Host({f"x/{n}": "a" for n in range(9)}).ask("rules.places", name="base64")
    assert (reply["places"], reply["is_all"]) == ([], False)
    reply = Host({f"x/{n}": "a" for n in range(2)}).ask("rules.places", name="base64")
    assert (reply["places"], reply["is_all"]) == ([], True)


def test_in_a_broken_text_rules_are_those_of_the_last_good_one_and_no_place_is_shown() -> None:
    host = Host()
    host.ask("edit", document="{")
    assert host.ask("rules.at", pointer="/gen/0/dimensions/i")["names"][0] == "range-defaults"
    assert "cannot be read" in host.ask("rules.places", name="gen")["error"]
    host.ask("edit", document="{}")
    assert host.ask("rules.places", name="gen")["places"] == []
    assert "No valid text" in Host("{").ask("rules.at", pointer="")["error"]
    assert "no rule 'nothing'" in host.ask("rules.places", name="nothing")["error"]


def test_a_broken_template_is_one_of_jinja() -> None:
    host = Host({"version": 1, "refs": {"a": ["{{u"]}})
    assert host.ask("rules.at", pointer="/refs/a/0")["names"][0] == "jinja"


def test_the_rules_come_in_order_with_what_trains_them() -> None:
    rules = Host().ask("rules")["rules"]
    assert [rule["name"] for rule in rules] == list(RULES)
    assert all(rule["exercises"] == [] for rule in rules)
    assert [rule["name"] for rule in rules if rule["example"]] == SHOWN
    controller = ExercisesController()
    ((reply, _),) = controller.handle({"id": "t:1", "op": "rules"})
    trained = {one["name"] for rule in reply["rules"] for one in rule["exercises"]}
    assert trained == {one.name for one in exercises() if one.rules and not one.is_staged}


@pytest.mark.parametrize("code", ["bad-ref-shape", "odd-url"])
def test_a_diagnostic_cites_its_rule(code: str) -> None:
    notes = Host(CODES[code].example).ask("notes")["notes"]
    rules = {note["rule"] for note in notes if note["code"] == code}
    assert rules == {CODES[code].rule or None}


def test_an_exercise_cites_its_rules_unless_they_would_say_what_is_wrong() -> None:
    controller = ExercisesController()
    for one in exercises():
        controller.choose(one.name)
        names = [rule.name for rule in controller.task.rules]
        assert names == ([] if one.is_staged else list(one.rules))


def test_what_is_hidden_cites_no_rule() -> None:
    controller = ExercisesController("17-two-keys-too-few")
    for _ in range(2):
        controller.handle({"id": "t:1", "op": "hint"})
    ((reply, _),) = controller.handle({"id": "t:2", "op": "notes"})
    assert all(note["rule"] is None for note in reply["notes"] if note["code"] == "hidden")


PYTHON = re.compile(r"Limits\.|`refexplorer [a-z]|open_references|in Python|Python:")


@pytest.mark.parametrize("code", CODES)
def test_a_page_of_a_code_asks_for_nothing_that_visitors_of_a_page_have_not(code: str) -> None:
    page = Host("{}").ask("code", code=code)["page"]
    told = [page["meaning"], page["cause"], page["mend"], page["example"]]
    if page["live"]:
        notes = Host(page["example"]).ask("notes")["notes"]
        told += [note[part] or "" for note in notes for part in ("message", "hint")]
    assert all(told[:3])
    assert not [said for said in told if PYTHON.search(said)]


def test_a_limit_that_cannot_be_raised_in_the_editor_is_not_named() -> None:
    (long,) = Host(json.dumps({"a" * 2**17: "x"})).ask("notes")["notes"]
    assert long["hint"].endswith("S3 takes 1,024 in all.")
    (deep,) = Host('{"a": ' + "[" * 300 + "]" * 300 + "}").ask("notes")["notes"]
    assert deep["message"].endswith("levels deep.")
