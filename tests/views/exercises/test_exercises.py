"""Every exercise can be failed and solved, and typical mistakes are told what they are."""

from __future__ import annotations

import pytest

from refexplorer.views.exercises.exercise_controller import ExercisesController
from refexplorer.views.exercises.exercise_models import Exercise, Wrong, exercises

ALL = exercises()
TOPICS = {"V0", "templates", "gen", "parquet", "debugging"}
WRONG = [
    pytest.param(one, answer, id=f"{one.name}-{n}")
    for one in ALL
    for n, answer in enumerate(one.wrong)
]


def result_of(exercise: Exercise, text: str) -> dict[str, object]:
    controller = ExercisesController(exercise.name)
    message = {"id": "t:1", "op": "edit", "document": text}
    ((reply, _),) = controller.handle(message)
    found: dict[str, object] = reply["result"]
    return found


def test_there_are_some_of_each_topic_and_level() -> None:
    assert len(ALL) >= 15
    assert {one.topic for one in ALL} == TOPICS
    assert {one.level for one in ALL} == {1, 2, 3}


@pytest.mark.parametrize("exercise", ALL, ids=lambda one: one.name)
def test_the_start_fails_and_the_solution_passes(exercise: Exercise) -> None:
    failed = result_of(exercise, exercise.start)
    assert failed["passed"] is False
    assert failed["sentence"]
    assert result_of(exercise, exercise.solution) == {"passed": True, "sentence": "Solved."}
    assert exercise.hints
    assert exercise.wrong


@pytest.mark.parametrize(("exercise", "answer"), WRONG)
def test_a_wrong_answer_is_told_what_is_wrong(exercise: Exercise, answer: Wrong) -> None:
    result = result_of(exercise, answer.text)
    assert result["passed"] is False
    assert answer.says in str(result["sentence"])
