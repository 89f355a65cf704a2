"""The exercises in a notebook."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import traitlets
from msgspec.structs import replace

from refexplorer.views.exercises.exercise_checks import proven
from refexplorer.views.exercises.exercise_controller import ExercisesController
from refexplorer.views.static_html import editor_text, exercises_html
from refexplorer.widgets.editor import TemplateEditor


class Exercises(TemplateEditor):
    """Learn the reference specification: tasks in the template editor, checked as one types.

    Parameters
    ----------
    folder
        A folder of exercises of one's own: TOML files, as EXERCISES.md of the reference describes
        them; those of this package by default.
    exercise
        The one to begin with, by its name; the first by default.
    solved
        Names of those that were solved before, such as ``exercises.solved`` of another day.

    Attributes
    ----------
    exercise
        The one that is open; setting it opens another.
    solved
        Names of those that were solved, sorted.

    Raises
    ------
    RefexplorerError
        If there is no exercise of that name; the text lists them. If a file of the folder is no
        exercise, or does not hold to itself: a right answer fails, or a wrong one passes.
    """

    exercise = traitlets.Unicode()
    solved = traitlets.List(traitlets.Unicode(), read_only=True)

    _controller: ExercisesController

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        exercise: str | None = None,
        solved: Iterable[str] = (),
    ) -> None:
        offered = None if folder is None else proven(Path(folder))
        self._host(ExercisesController(exercise, solved, offered))

    def to_html(self, path: str | os.PathLike[str], *, name: str = "") -> None:
        """Write the open exercise as one HTML file, which needs no Python and no network.

        What is judged there are the texts that the exercise has: the one to begin with, its
        solutions and its wrong answers, in any spacing, with all hints. An answer is judged by
        the set that it makes, which takes Python; so of any other text the page says that it is
        not judged there.

        Parameters
        ----------
        path
            The file to write.
        name
            For the title; that of the exercise by default.
        """
        from refexplorer.widgets.saved_page import save_exercise_page

        exercise = self._controller.exercise
        save_exercise_page(replace(exercise, title=name or exercise.title), path)

    def _static(self) -> tuple[str, str]:
        return exercises_html(self._controller), editor_text(self._controller)

    def _take(self) -> None:
        super()._take()
        self.exercise = self._controller.name
        self.set_trait("solved", self._controller.solved)

    @traitlets.observe("exercise")
    def _open(self, change: dict[str, Any]) -> None:
        if change["new"] != self._controller.name:
            self._controller.choose(change["new"])
            self.document = self._controller.document
            self._take()
