"""Every exercise can be failed and solved: its wrong answers fail, its right ones pass."""

from __future__ import annotations

import base64
import copy
import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import refexplorer as rx
from refexplorer.core.errors import RefexplorerError
from refexplorer.spec.findings import pointer
from refexplorer.views.exercises.answers import GivenAnswer
from refexplorer.views.exercises.exercise_checks import judge, prove, proven
from refexplorer.views.exercises.exercise_models import Exercise, ExerciseCheck, exercises
from tests.cases import comparable

ALL = exercises()
BY_NAME = {one.name: one for one in ALL}
TOPICS = ["V0", "templates", "gen", "parquet", "debugging", "tools"]
EACH = pytest.mark.parametrize("exercise", ALL, ids=lambda one: one.name)
STRIDE = 600 // settings().max_examples
"""Of the texts that are spoiled by one step, each so many are tried."""
EXPRESSION = re.compile(r"\{\{(.*?)\}\}")
OTHER_TEMPLATES = {
    "u": "file:///q",
    "base": "file:///q",
    "bucket": "file:///q",
    "f": "r/{{c}}",
    "file": "r/{{m}}",
}
"""In place of templates that tasks name, where one of their own is asked for."""
_GONE = object()


def test_there_are_some_of_each_topic_and_level() -> None:
    assert list(dict.fromkeys(one.topic for one in ALL)) == TOPICS
    assert {one.level for one in ALL} == {1, 2, 3}


@EACH
def test_the_start_and_wrong_answers_fail_and_right_ones_pass(exercise: Exercise) -> None:
    prove(exercise)
    assert len(exercise.wrong) >= 5
    assert exercise.right
    assert exercise.hints
    assert exercise.rules


def test_every_check_is_used() -> None:
    used = {
        name for one in ALL for name in ExerciseCheck.__struct_fields__ if getattr(one.check, name)
    }
    used |= {"written" for one in ALL if one.check.written is not None}
    assert used == set(ExerciseCheck.__struct_fields__)


def steps(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield each value of a document with the way to it."""
    yield path, value
    members = value.items() if isinstance(value, dict) else ()
    for name, member in enumerate(value) if isinstance(value, list) else members:
        yield from steps(member, (*path, name))


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    copied = copy.deepcopy(document)
    holder = copied
    for part in path[:-1]:
        holder = holder[part]
    if value is _GONE:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return copied


def others(value: Any) -> Iterator[Any]:
    """Yield what somebody could have written instead of a value."""
    yield _GONE
    if isinstance(value, str):
        swapped = value.replace("i", "\0").replace("j", "i").replace("\0", "j")
        single = value.replace("{{", "{").replace("}}", "}")
        yield from (value + "x", value[1:], value.upper(), swapped, single, [value], {"a": value})
        for old, new in (("//", "/"), ("*", "+"), ("+", "-"), ("%", "//"), ("/", "."), ("<", "<=")):
            yield value.replace(old, new)
        yield from off_by_one(value)
        yield EXPRESSION.sub(r"{{ \1 | default('s3://bucket') }}", value)
        yield EXPRESSION.sub(r"{{ 0 if i is defined and i == 3 else \1 }}", value)
    elif isinstance(value, int):
        yield from (value + 1, value - 1, value * 10, -value, str(value), float(value), True, None)
    elif isinstance(value, list):
        yield from (value[::-1], value + value[-1:], [])
    elif isinstance(value, dict) and value:
        first, *_, last = [*value, *value]
        yield value | {"zz": value[last]}
        yield value | {first: value[last], last: value[first]}


def off_by_one(value: str) -> Iterator[str]:
    """Yield a string with one integer of its expressions greater or smaller by one."""
    for expression in re.finditer(r"\{\{.*?\}\}|\{%.*?%\}", value):
        for found in re.finditer(r"\d+", expression[0]):
            start, end = (expression.start() + place for place in found.span())
            for by in (-1, 1):
                yield f"{value[:start]}{int(found[0]) + by}{value[end:]}"


def expanded(text: str) -> dict[str, object]:
    """Return what a text comes to, by the expansion and not by the comparison of exercises."""
    return comparable(rx.expand(text).v0)


@EACH
def test_what_passes_makes_what_the_solution_makes(exercise: Exercise) -> None:
    """Spoil the right answers by one step each: what still passes must expand to the same."""
    solution = GivenAnswer(exercise.solution)
    is_small = solution.refs.count <= 1000
    texts = [exercise.solution, *(answer.text for answer in exercise.right)]
    documents = [json.loads(text) for text in texts]
    spoilings = (
        (document, path, other)
        for document in documents
        for path, value in steps(document)
        if path
        for other in others(value)
    )
    failed = 0
    for spoiling in islice(spoilings, 0, None, STRIDE):
        document = changed(*spoiling)
        if document in documents:
            continue
        text = json.dumps(document)
        try:
            fault = judge(GivenAnswer(text), exercise, solution)
        except RefexplorerError:
            failed += 1
            continue
        if fault is None and is_small:
            assert expanded(text) == expanded(exercise.solution), text
            for name in {one for table in exercise.check.templates for one in table}:
                hidden = {name: OTHER_TEMPLATES[name]}
                answer = GivenAnswer(text)
                assert name in answer.templates, text
                found, wanted = (one.tried(hidden) for one in (answer, solution))
                assert {key: found[key] for key in found} == {key: wanted[key] for key in wanted}, (
                    text
                )
        failed += fault is not None
    assert failed


def reworded(exercise: Exercise, document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a document in other words, which mean the same."""
    yield dict(reversed(document.items()))
    in_refs = document.get("refs", {}) if document.get("version") == 1 else document
    for key, value in in_refs.items():
        data = json.dumps(value) if isinstance(value, dict) else value
        told = {pointer(*parts) for parts in ((key,), ("refs", key))} & set(exercise.check.types)
        if isinstance(data, str) and key not in exercise.check.kinds and not told:
            if not data.startswith("base64:"):
                data = f"base64:{base64.b64encode(data.encode()).decode()}"
            elif (decoded := base64.b64decode(data[7:])).isascii():
                data = decoded.decode()
            where = ("refs", key) if in_refs is not document else (key,)
            yield changed(document, where, data)
    if document.get("version") != 1:
        if exercise.check.form != "V0":
            yield {"version": 1, "refs": document}
        return
    yield {"templates": {}, "gen": [], "refs": {}} | document
    for path, value in steps(document):
        is_free = exercise.check.size is None and not exercise.check.readers
        if isinstance(value, str) and is_free and "/refs" not in exercise.check.keeps:
            yield changed(document, path, EXPRESSION.sub(r"{{ (\1) }}", value))
        if path[:1] == ("gen",) and len(path) == 4 and isinstance(value, dict):
            yield changed(document, path, {"start": 0, "step": 1} | value)
            yield changed(document, path, {"stop": value["stop"]} | value)


@EACH
def test_a_right_answer_in_other_words_passes(exercise: Exercise) -> None:
    solution = GivenAnswer(exercise.solution)
    for document in reworded(exercise, solution.document):
        text = json.dumps(document, indent=1)
        fault = judge(GivenAnswer(text), exercise, solution)
        assert fault is None, (fault, text)


def test_a_trillion_keys_are_looked_at_everywhere() -> None:
    exercise = BY_NAME["12-a-trillion"]
    text = exercise.solution
    for url in (
        "http://host/{{j}}/{{i}}",
        "http://host/{{i}}/{{i}}",
        "http://host/{{i}}/{{j % 7}}",
        "http://host/{{i if i != 70123 else 0}}/{{j}}",
        "http://host/{{i}}/{{j if j < 300000 or j > 300900 else 0}}",
        "http://host/{{i}}/{% if j == 612345 %}0{% else %}{{j}}{% endif %}",
        "http://host/{{i}}/{{j if i * 1000000 + j != 7000123 and j != 123 else 0}}",
    ):
        spoiled = text.replace("http://host/{{i}}/{{j}}", url)
        fault = judge(GivenAnswer(spoiled), exercise, GivenAnswer(text))
        assert fault is not None
        assert "is right as far as" in fault.sentence


def test_metadata_are_compared_by_what_they_say() -> None:
    exercise = BY_NAME["03-an-array"]
    solution = GivenAnswer(exercise.solution)
    for written, other in (
        ("[20]", "[21]"),
        ('"<f8"', '"<i8"'),
        ("[20]", "[20.0]"),
        ("[10]", "[true]"),
    ):
        answer = GivenAnswer(exercise.solution.replace(written, other))
        fault = judge(answer, exercise, solution)
        assert fault is not None
        assert "t/.zarray" in fault.sentence


TEACHERS = """
title = "One key"
topic = "My course"
level = 1
task = "Write `a` as the text `x`."
hints = []
why = "A string is data."
rules = ["text"]
start = '{}'
solution = '{"a": "x"}'

[[wrong]]
text = '{"a": "y"}'
says = "text"

[[right]]
text = '{"version": 1, "refs": {"a": "x"}}'
note = "In version 1."
"""


def written(folder: Path, text: str) -> Path:
    (folder / "one.toml").write_text(text)
    return folder


def test_a_teacher_brings_a_folder_of_exercises(tmp_path: Path) -> None:
    (one,) = proven(written(tmp_path, TEACHERS))
    assert (one.name, one.topic) == ("one", "My course")
    widget = rx.Exercises(tmp_path, answers=None)
    widget.document = '{"a": "x"}'
    assert widget.solved == ["one"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('title = "One key"', "", "missing required field `title`"),
        ("level = 1", "level = 4", "<= 3"),
        ("level = 1", 'level = "1"', "Expected `int`"),
        ("hints = []", "hints = [5]", "Expected `str`, got `int` - at `$.hints[0]`"),
        ('rules = ["text"]', 'rules = ["texts"]', "Did you mean `text`?"),
        ('rules = ["text"]', "rule = []", "unknown field `rule`"),
        ("[[wrong]]", "[check]\nitem = 1\n[[wrong]]", "unknown field `item`"),
        ('says = "text"', 'say = "text"', "wrong[0]"),
        (
            'says = "text"',
            'says = "offset"',
            "for an unexpected reason: `a`: the text differs",
        ),
        ('{"a": "y"}', '{"a": "x"}', "a `wrong` answer passes"),
        ("start = '{}'", 'start = \'{"a": "x"}\'', "its `start` passes already"),
        ('"refs": {"a": "x"}', '"refs": {"a": "z"}', "its `right` answer fails"),
        ('solution = \'{"a": "x"}\'', "solution = '{'", "its solution cannot be read"),
        ("level = 1", "level = ", "not an exercise"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in TEACHERS
    with pytest.raises(RefexplorerError) as error:
        proven(written(tmp_path, TEACHERS.replace(old, new, 1)))
    assert "one.toml is not a" in str(error.value)
    assert says in str(error.value)


def test_a_folder_without_exercises_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefexplorerError, match="has no exercises"):
        rx.Exercises(tmp_path, answers=None)
    with pytest.raises(RefexplorerError, match=r"write Exercises\(exercise='07-first-gen'\)"):
        rx.Exercises("07-first-gen", answers=None)
