"""A saved page of the editor answers as Python does, and says where it does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from refexplorer import demo
from refexplorer.core.errors import RefexplorerError
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.exercises.exercise_controller import ExercisesController
from refexplorer.views.exercises.exercise_models import exercises
from refexplorer.views.saved.recorded_editor import record_editor, record_exercise
from tests.helpers.replaying import Replays

DATES = """{"version": 1, "templates": {"u": "http://h"}, "gen": [{"key": "x/{{i}}",
"url": "{{u}}/{{i}}", "dimensions": {"i": {"stop": 1500}}}], "refs": {"~/": "{{u}}"}}"""
SAME: list[dict[str, Any]] = [
    {"op": "hello"},
    {"op": "notes"},
    {"op": "readers"},
    {"op": "rules"},
    {"op": "text"},
    {"op": "rows", "start": 0, "n": 60, "reader": ""},
    {"op": "rows", "start": 1, "n": 1},
    {"op": "rules.places", "name": "product"},
    {"op": "rules.at", "pointer": "/gen/0/url"},
    {"op": "uses", "pointer": "/gen/0"},
    {"op": "v0", "sure": False},
]
PYTHON: list[dict[str, Any]] = [
    {"op": "edit", "document": "{}", "given": False},
    {"op": "try", "templates": {}},
    {"op": "shorten"},
    {"op": "explain", "key": "another"},
]


@pytest.mark.parametrize(
    "text", [demo.path("spec.v1.json").read_text(), demo.path("sst.v1.json").read_text(), DATES],
    ids=["spec", "sst", "dates"],
)  # fmt: skip
def test_it_answers_as_python_does(text: str, replays: Replays) -> None:
    packed = record_editor(EditorController(text), {})
    python = EditorController(text)
    assert python.references is not None
    keys = [python.references.keys_at(0, 40)[number] for number in (0, -1)]
    asked = [*SAME, *({"op": "explain", "key": key} for key in keys)]
    asked += [{"op": "seek", "text": keys[-1]}, {"op": "seek", "text": "2"}]
    for message, (answer, _) in zip(asked, replays("editor", packed, asked), strict=True):
        ((expected, _),) = python.handle({"id": "t", **message})
        expected = json.loads(json.dumps(expected))
        del expected["id"]
        if message["op"] == "hello":  # its text stays as it is
            expected["examples"] = []
        if message["op"] == "rows":  # the table ends with the rows that are on the page
            expected["total"] = min(expected["total"], 1000)
        assert answer == expected, message
    for answer, _ in replays("editor", packed, [*PYTHON, {"op": "no such"}]):
        assert "needs Python" in answer["error"]


def test_what_makes_no_keys_or_is_too_long_is_refused() -> None:
    with pytest.raises(RefexplorerError, match="has no keys"):
        record_editor(EditorController("[1, 2"), {})
    with pytest.raises(RefexplorerError, match="too long"):
        record_editor(EditorController('{"a": "' + "x" * 2_000_001 + '"}'), {})


@pytest.mark.parametrize("name", ["01-a-range", "18-a-wrong-name", "16-not-json"])
def test_an_exercise_judges_its_own_answers_as_python_does(name: str, replays: Replays) -> None:
    exercise = next(one for one in exercises() if one.name == name)
    asked: list[dict[str, Any]] = [{"op": "notes"}]
    texts = [one.text for one in exercise.wrong] + [one.text for one in exercise.right]
    for number, text in enumerate(texts):
        asked += [{"op": "edit", "document": text, "given": False}, {"op": "notes"}]
        asked += [{"op": "hint"}, {"op": "notes"}] if number < 7 else []
    asked += [{"op": "solution"}, {"op": "restart"}]
    python = ExercisesController(name, offered=[exercise])
    told = ("task", "result", "solved", "shown_solutions", "good", "document", "solution", "notes")
    for message, (answer, _) in zip(
        asked, replays("exercise", record_exercise(exercise, {}), asked), strict=True
    ):
        ((expected, _),) = python.handle({"id": "t", **message})
        expected = json.loads(json.dumps(expected))
        for field in told:
            assert answer.get(field) == expected.get(field), (message, field)


def test_another_text_is_not_judged_and_spaces_do_not_count(replays: Replays) -> None:
    exercise = next(one for one in exercises() if one.name == "18-a-wrong-name")
    spaced = json.dumps(json.loads(exercise.solution), indent=7)
    twice = exercise.solution.replace('"version": 1,', '"version": 2, "version": 1,')
    joined = exercise.solution.replace("s3://ocean", "s3:// ocean")
    broken = exercise.start.replace("{", "{  ", 1).replace(": ", ":   ")
    texts = [spaced, twice, joined, exercise.solution + "x", broken]
    asked: list[dict[str, Any]] = [{"op": "hint"}] * 4
    for text in texts:
        asked += [{"op": "edit", "document": text, "given": False}, {"op": "notes"}]
    answers = [answer for answer, _ in replays("exercise", record_exercise(exercise, {}), asked)][
        4:
    ]
    passed = [answer["result"]["passed"] for answer in answers[::2]]
    assert passed == [True, None, None, None, False]
    assert "Cannot be checked offline" in answers[2]["result"]["sentence"]
    assert not answers[2]["good"]
    (note,) = [note for note in answers[-1]["notes"] if note["code"] == "undefined-name"]
    assert "buket" in broken[note["from"] : note["to"]]
