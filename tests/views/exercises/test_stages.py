"""How much of a verdict is told, and when: before an edit, in stages, and after it is solved."""

from __future__ import annotations

from typing import Any

import pytest

from refexplorer.spec.codes import RULES, SPECIFICATION
from refexplorer.views.exercises.exercise_controller import ExercisesController
from refexplorer.views.exercises.exercise_models import Exercise, WrittenAnswer, exercises
from refexplorer.views.static_html import exercises_html

ALL = exercises()
BY_NAME = {one.name: one for one in ALL}
STAGED = [one for one in ALL if one.is_staged]
TELLING = ("17-two-keys-too-few", "18-a-wrong-name", "19-half-a-byte", "21-a-shifted-offset")
"""Whose notes are the answer."""


def ask(controller: ExercisesController, op: str, **fields: object) -> dict[str, Any]:
    ((reply, _),) = controller.handle({"id": "t:1", "op": op, **fields})
    assert "error" not in reply, reply
    return reply


def edited(controller: ExercisesController, text: str) -> dict[str, Any]:
    found: dict[str, Any] = ask(controller, "edit", document=text)["result"]
    return found


@pytest.mark.parametrize("exercise", ALL, ids=lambda one: one.name)
def test_there_is_no_verdict_before_the_first_edit(exercise: Exercise) -> None:
    controller = ExercisesController(exercise.name)
    assert ask(controller, "hello")["result"] == {"passed": None, "sentence": "", "lesson": None}
    result = edited(controller, exercise.start + " ")
    assert result["passed"] is False
    assert result["sentence"]
    assert edited(controller, exercise.start)["passed"] is None


@pytest.mark.parametrize("exercise", STAGED, ids=lambda one: one.name)
def test_what_is_wrong_comes_in_stages(exercise: Exercise) -> None:
    controller = ExercisesController(exercise.name)
    assert not ask(controller, "notes")["notes"]
    assert ask(controller, "hello")["wrap"] is None
    assert edited(controller, exercise.start + " ")["sentence"] == "Not solved yet."
    labels, said = [], []
    while (label := controller.task.ask) is not None:
        labels.append(label)
        said.append(ask(controller, "hint")["result"]["sentence"])
    assert labels[:4] == ["Is something wrong?", "Where?", "What?", "Hint"]
    assert len(controller.task.hints) == len(exercise.hints)
    assert said[0] == "Something is wrong with this set."
    assert said[1].startswith("Something is wrong here: ")
    assert len(set(said)) >= 3


@pytest.mark.parametrize("name", TELLING)
def test_notes_of_a_task_come_in_stages_too(name: str) -> None:
    controller = ExercisesController(name)
    shown = []
    for _ in range(5):
        notes = [note for note in ask(controller, "notes")["notes"] if note["severity"] != "info"]
        shown.append(notes)
        ask(controller, "hint")
    nothing, that, where, what, hint = shown
    assert nothing == that == []
    assert {note["message"] for note in where} == {"Something is wrong here."}
    assert not [note for note in what if note["hint"] or note["fixes"]]
    assert [note["message"] for note in hint] == [note["message"] for note in what]
    if name != "21-a-shifted-offset":
        assert any(note["hint"] for note in hint)


def test_static_html_shows_no_more_than_the_view() -> None:
    controller = ExercisesController("18-a-wrong-name")
    assert "is not defined" not in exercises_html(controller)
    for _ in range(4):
        ask(controller, "hint")
    assert "is not defined" in exercises_html(controller)


def test_what_the_person_broke_is_reported_at_once() -> None:
    """A slip while one writes is not what the task hides."""
    controller = ExercisesController("18-a-wrong-name")
    assert "is not JSON at line" in edited(controller, "{")["sentence"]
    assert ask(controller, "notes")["notes"]


@pytest.mark.parametrize("exercise", ALL, ids=lambda one: one.name)
def test_a_solved_exercise_says_why_and_cites_the_rules(exercise: Exercise) -> None:
    controller = ExercisesController(exercise.name)
    result = edited(controller, exercise.solution)
    assert (result["passed"], result["sentence"]) == (True, "Solved.")
    lesson = result["lesson"]
    assert lesson["why"] == exercise.why
    rules = ask(controller, "hint")["task"]["rules"]
    assert [one["sentence"] for one in rules] == [RULES[name].sentence for name in exercise.rules]
    assert all(one["link"].startswith(f"{SPECIFICATION}#") for one in rules)
    assert controller.solved == [exercise.name]


def solved(*names: str) -> dict[str, WrittenAnswer]:
    return {name: WrittenAnswer(BY_NAME[name].solution) for name in names}


def test_nothing_is_noted_of_an_answer_that_is_a_solution() -> None:
    for one in ALL:
        controller = ExercisesController(one.name)
        edited(controller, one.solution)
        assert controller.result.passed
        said = ask(controller, "notes")
        assert (said["notes"], said["note_count"]) == ([], 0), one.name
        assert ";" not in said["sentence"]


def test_other_idiomatic_answers_are_shown_once_it_is_solved() -> None:
    noted = [one.name for one in ALL if any(answer.note for answer in one.right)]
    assert len(noted) >= 20
    lesson = edited(ExercisesController("06-a-filter"), BY_NAME["06-a-filter"].solution)["lesson"]
    assert "'%03d' % n" in lesson["others"][0]["text"]


def test_a_solution_that_was_shown_does_not_count() -> None:
    controller = ExercisesController("01-a-range")
    solution = ask(controller, "solution")["solution"]
    reply = ask(controller, "edit", document=solution)
    assert reply["result"]["passed"] is True
    assert "does not count" in reply["result"]["sentence"]
    assert reply["result"]["lesson"]["why"]
    assert (reply["solved"], reply["shown_solutions"]) == ([], ["01-a-range"])
    ask(controller, "restart")
    assert ask(controller, "edit", document=solution + " ")["solved"] == []


def test_a_right_answer_that_came_with_a_link_does_not_count() -> None:
    controller = ExercisesController("01-a-range")
    solution = exercises()[0].solution
    wrong = ask(controller, "edit", document=solution.replace("data", "other"), given=True)
    assert (wrong["solved"], wrong["shown_solutions"]) == ([], [])
    reply = ask(controller, "edit", document=solution, given=True)
    assert reply["result"]["passed"]
    assert (reply["solved"], reply["shown_solutions"]) == ([], ["01-a-range"])
    assert ask(controller, "edit", document=solution + " ")["solved"] == []
    other = ExercisesController("01-a-range", solved("01-a-range"))
    assert ask(other, "edit", document=solution, given=True)["shown_solutions"] == []


def test_what_was_solved_before_its_solution_was_shown_counts() -> None:
    controller = ExercisesController("01-a-range", solved("02-three-kinds"))
    edited(controller, BY_NAME["01-a-range"].solution)
    ask(controller, "solution")
    controller.choose("02-three-kinds")
    ask(controller, "solution")
    reply = ask(controller, "edit", document=BY_NAME["02-three-kinds"].solution)
    assert reply["solved"] == ["01-a-range", "02-three-kinds"]
    assert reply["shown_solutions"] == []


def test_hints_of_one_exercise_do_not_speak_of_the_next() -> None:
    controller = ExercisesController("17-two-keys-too-few")
    for _ in range(6):
        ask(controller, "hint")
    controller.choose("18-a-wrong-name")
    assert controller.task.ask == "Is something wrong?"
    assert not ask(controller, "notes")["notes"]
