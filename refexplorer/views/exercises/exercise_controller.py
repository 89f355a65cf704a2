"""The controller of the exercises: the template editor, and a task that is checked as one types."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from refexplorer.errors import RefexplorerError
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.exercises.exercise_checks import judge
from refexplorer.views.exercises.exercise_models import Exercise, exercises
from refexplorer.views.text.editor_diagnostics import sentence_of
from refexplorer.views.wire.answering import Operations
from refexplorer.views.wire.editor_messages import (
    Choose,
    EditReply,
    GreetEditor,
    Hinted,
    Replaced,
    Restart,
    ShowHint,
    Solution,
    Solve,
    Welcome,
)
from refexplorer.views.wire.editor_models import ListedExercise, Result, Task

_FAILED = "The text cannot be read yet: "


class ExercisesController(EditorController):
    """The editor with a task beside it; what was written for each task is kept.

    Parameters
    ----------
    name
        The exercise to begin with; the first one by default.
    solved
        Names of those that were solved before.

    Raises
    ------
    RefexplorerError
        If there is no exercise of that name.
    """

    def __init__(self, name: str | None = None, solved: Iterable[str] = ()) -> None:
        self._all = {exercise.name: exercise for exercise in exercises()}
        self._exercise = self._named(name or next(iter(self._all)))
        self._drafts: dict[str, str] = {}
        self._hints = 0
        self._solved = set(solved) & self._all.keys()
        super().__init__(self._exercise.start)
        self.operations: Operations = {
            **self.operations,
            Choose: self._choose,
            ShowHint: self._hint,
            Solve: self._solution,
            Restart: self._restart,
        }

    @property
    def name(self) -> str:
        """The exercise that is open."""
        return self._exercise.name

    @property
    def solved(self) -> list[str]:
        """Names of the exercises that were solved, sorted."""
        return sorted(self._solved)

    @property
    def task(self) -> Task:
        """The task, with the hints that were asked for."""
        one = self._exercise
        shown = one.hints[: self._hints]
        return Task(one.name, one.title, one.topic, one.level, one.task, shown, len(one.hints))

    @property
    def result(self) -> Result:
        """Whether the text does it."""
        return self._result

    def choose(self, name: str) -> None:
        """Open another exercise, with what was written for it before.

        Raises
        ------
        RefexplorerError
            If there is no exercise of that name.
        """
        with self._lock:
            if name != self._exercise.name:
                exercise = self._named(name)
                self._drafts[self._exercise.name] = self.document
                self._exercise, self._hints, self._templates = exercise, 0, {}
                self._good = None  # rows of another task are nothing to compare with
                self._replace(self._drafts.get(name, exercise.start))

    def _judged(self) -> Result:
        if self._error is not None:
            return Result(False, _FAILED + sentence_of(self._error))
        try:
            return judge(self._opened(), self._exercise.check)
        except RefexplorerError as error:
            return Result(False, sentence_of(error))

    def _named(self, name: str) -> Exercise:
        if name not in self._all:
            raise RefexplorerError(
                f"There is no exercise {name!r}; they are {', '.join(self._all)}."
            )
        return self._all[name]

    def _follow(self, text: str) -> None:
        super()._follow(text)
        self._result = self._judged()
        if self._result.passed:
            self._solved.add(self._exercise.name)

    def _hello(self, request: GreetEditor) -> Welcome:
        listed = (ListedExercise(e.name, e.title, e.topic, e.level) for e in self._all.values())
        return replace(super()._hello(request), exercises=tuple(listed))

    def _state(self) -> EditReply:
        return replace(
            super()._state(), task=self.task, result=self._result, solved=tuple(self.solved)
        )

    def _choose(self, request: Choose) -> Replaced:
        self.choose(request.name)
        return self._shown_as(Replaced)

    def _hint(self, request: ShowHint) -> Hinted:
        self._hints = min(self._hints + 1, len(self._exercise.hints))
        return Hinted(self.task)

    def _solution(self, request: Solve) -> Solution:
        return Solution(self._exercise.solution)

    def _restart(self, request: Restart) -> Replaced:
        self._replace(self._exercise.start)
        return self._shown_as(Replaced)
