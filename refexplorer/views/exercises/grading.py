"""Grading answer files: who solved what, and what is wrong with the rest."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from refexplorer.core.errors import RefexplorerError
from refexplorer.views.exercises.answers import GivenAnswer
from refexplorer.views.exercises.exercise_checks import proven, verdict
from refexplorer.views.exercises.exercise_models import (
    Exercise,
    WrittenAnswer,
    exercises,
    read_answers,
)


class AnswerState(StrEnum):
    """The state of an exercise."""

    SOLVED = "solved"
    SHOWN = "solution shown"
    WRONG = "wrong"
    NONE = "not answered"


class GradedAnswer(Struct, frozen=True):
    """The answer to one exercise.

    Attributes
    ----------
    exercise
        The name of the exercise.
    state
        ``solved``, ``solution shown`` (the text is right, but the solution was shown before),
        ``wrong`` or ``not answered``.
    sentence
        What is wrong with the answer; empty unless it is wrong.
    """

    exercise: str
    state: AnswerState
    sentence: str = ""


class Grade(Struct, frozen=True):
    """The answers of one file.

    Attributes
    ----------
    name
        The name of the file without its suffix.
    answers
        One for each exercise, in the order of the exercises.
    unknown
        Names of exercises that the file has answers to, but that are not among the exercises.
    error
        Why the file cannot be read; empty if it can be.
    """

    name: str
    answers: tuple[GradedAnswer, ...] = ()
    unknown: tuple[str, ...] = ()
    error: str = ""

    def count(self, state: AnswerState | str) -> int:
        """Count the exercises in a state, such as ``"solved"``."""
        return Counter(answer.state for answer in self.answers)[AnswerState(state)]


def grade(
    files: Iterable[str | os.PathLike[str]], folder: str | os.PathLike[str] | None = None
) -> list[Grade]:
    """Grade answer files, such as those written by `Exercises`.

    Each text is checked again; the file is not trusted. Only whether a solution was shown is read
    from the file, which anyone can edit.

    Parameters
    ----------
    files
        The files, one per person.
    folder
        A folder with your own exercises; the exercises of this package by default.

    Returns
    -------
    list of Grade
        One per file, in the same order. A file that cannot be read has an `error`.

    Raises
    ------
    RefexplorerError
        If the folder has no exercises, or one of them fails its own answers.
    """
    asked = exercises() if folder is None else proven(Path(folder))
    solutions = {exercise.name: GivenAnswer(exercise.solution) for exercise in asked}
    return [_graded(Path(file), asked, solutions) for file in files]


def _graded(path: Path, asked: Sequence[Exercise], solutions: dict[str, GivenAnswer]) -> Grade:
    try:
        found = read_answers(path)
    except RefexplorerError as error:
        return Grade(path.stem, error=str(error))
    answers = [_judged(one, found.get(one.name), solutions[one.name]) for one in asked]
    return Grade(path.stem, tuple(answers), tuple(sorted(found.keys() - solutions.keys())))


def _judged(
    exercise: Exercise, answer: WrittenAnswer | None, solution: GivenAnswer
) -> GradedAnswer:
    if answer is None or answer.text.strip() == exercise.start.strip():
        return GradedAnswer(exercise.name, AnswerState.NONE)
    said = verdict(answer.text, exercise, solution)
    if said is not None:
        return GradedAnswer(exercise.name, AnswerState.WRONG, said)
    state = AnswerState.SHOWN if answer.solution_shown else AnswerState.SOLVED
    return GradedAnswer(exercise.name, state)
