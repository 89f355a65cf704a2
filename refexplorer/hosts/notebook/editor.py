"""The template editor in a notebook."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import traitlets
from ipywidgets import widget_serialization
from msgspec.structs import replace

from refexplorer.core.errors import LimitError, RefexplorerError, SourceError, warn
from refexplorer.core.files import OwnFiles, open_plain, read_within
from refexplorer.core.limits import DEFAULT_LIMITS
from refexplorer.formats.source import decode_text
from refexplorer.hosts import bundle_text
from refexplorer.hosts.notebook.widgets import Explorer, StaticWidget
from refexplorer.verbs.referenceset import ReferenceSet
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.exercises.exercise_checks import proven
from refexplorer.views.exercises.exercise_controller import ExercisesController
from refexplorer.views.exercises.exercise_models import read_answers, write_answers
from refexplorer.views.static_html import editor_html, editor_text, exercises_html

_MOST = 20_000_000
"""Characters of a text that is opened from a set or a file: browsers become slow with more."""


def _text_of(document: str | os.PathLike[str] | Mapping[str, object]) -> str | Mapping[str, object]:
    """Return the text to edit, or a dict; a path is read from its file."""
    if isinstance(document, ReferenceSet):
        if not document.source.is_document:
            return document.to_v0()
        text, name = document.source.text_within(_MOST), document.source.name
        if text is None and document.source.content is None:
            return dict(document.source.value or document.to_v0())
    elif isinstance(document, os.PathLike) or (
        isinstance(document, str) and not document.lstrip("\ufeff \t\r\n").startswith(("{", "["))
        and "\n" not in document and Path(document).suffix
    ):  # fmt: skip
        path, name = Path(document), Path(document).name
        if not path.is_file():
            raise SourceError(f"There is no file {str(path)!r}.")
        with open_plain(str(path), name, DEFAULT_LIMITS, OwnFiles()) as stream:
            data = read_within(stream, 4 * _MOST + 1)
        text = decode_text(data) if len(data) <= 4 * _MOST else None
    else:
        return document
    if text is None:
        raise LimitError(f"{name} has more than {_MOST:,} characters, too many to edit.")
    return text


class TemplateEditor(StaticWidget):
    """Edit a version 1 reference set and see its version 0 keys as you type.

    Parameters
    ----------
    document
        JSON text, a dict that is written as JSON, the path of a JSON file, also compressed, or a
        `ReferenceSet`: the text of its document, or its V0 equivalent.
    templates
        Values that override templates of the text, by name, like fsspec's ``template_overrides``.

    Attributes
    ----------
    document
        The text in the editor; setting it replaces the text.
    references
        The set of the last valid text; None if there was none.
    diagnostics
        The diagnostics of the last valid text.
    templates
        Values that replace templates of the text; can be set.
    explorer
        The explorer that shows the edited set, below the editor; None until `explore` is called,
        or "Open in explorer" is pressed.
    """

    document = traitlets.Unicode("").tag(sync=True)
    references = traitlets.Instance(ReferenceSet, allow_none=True, read_only=True)
    diagnostics = traitlets.Tuple(read_only=True)
    templates = traitlets.Dict(key_trait=traitlets.Unicode(), value_trait=traitlets.Unicode())
    explorer = traitlets.Instance(Explorer, allow_none=True, read_only=True).tag(
        sync=True, **widget_serialization
    )

    def __init__(
        self,
        document: str | os.PathLike[str] | Mapping[str, object],
        *,
        templates: Mapping[str, str] | None = None,
    ) -> None:
        self._host(EditorController(_text_of(document), templates=templates))

    def _host(self, controller: EditorController) -> None:
        self._controller = controller
        super().__init__(document=controller.document)
        self._take()
        controller.post = self.send
        controller.show = self._show
        self.on_msg(self._receive)

    def explore(self) -> Explorer:
        """Open the set of the last valid text in an explorer below the editor.

        Raises
        ------
        RefexplorerError
            If there was no valid text yet.
        """
        if self.references is None:
            raise RefexplorerError("No valid text with keys was entered yet.")
        if self.explorer is None or self.explorer.references is not self.references:
            self.set_trait("explorer", Explorer(self.references))
        assert self.explorer is not None
        return self.explorer

    def to_html(self, path: str | os.PathLike[str], *, name: str = "An example") -> None:
        """Write the editor with its text as one HTML file that needs neither Python nor a network.

        Each key is explained, with links to the rules of the specification; the text can be copied.
        The page can be embedded in other pages.

        Parameters
        ----------
        path
            The file to write.
        name
            The name of the text, for the title.

        Raises
        ------
        RefexplorerError
            If the text generates no keys, or is too long to show completely.
        """
        from refexplorer.hosts.saved_page import save_editor_page

        save_editor_page(self.document, path, name)

    @property
    def _esm(self) -> str:
        return bundle_text("editor")

    def _static(self) -> tuple[str, str]:
        return editor_html(self._controller), editor_text(self._controller)

    def _receive(self, _: object, message: dict[str, Any], buffers: list[bytes]) -> None:
        for reply, attached in self._controller.handle(message, buffers):
            self.send(reply, attached)
        self._take()

    def _show(self, references: ReferenceSet, key: str) -> None:
        self.explore().selection = key

    def _take(self) -> None:
        """Update the traits from the controller."""
        references = self._controller.references
        if references is not self.references:
            self.set_trait("references", references)
            self.set_trait("diagnostics", () if references is None else references.diagnostics)
        self.templates = self._controller.templates

    @traitlets.observe("document")
    def _follow(self, change: dict[str, Any]) -> None:
        if change["new"] != self._controller.document:
            self._controller.document = change["new"]
            self._take()

    @traitlets.observe("templates")
    def _try(self, change: dict[str, Any]) -> None:
        if change["new"] != self._controller.templates:
            self._controller.templates = change["new"]
            self._take()


class Exercises(TemplateEditor):
    """Learn the reference specification: tasks in the template editor, checked as you type.

    Parameters
    ----------
    folder
        A folder with your own exercises, TOML files as described on the page "Exercises of your
        own"; the exercises of this package by default.
    exercise
        The name of the first exercise to show.
    answers
        The file in which your answers are saved as you type; you can submit it, and
        `grade` judges it. None does not save them.

    Attributes
    ----------
    exercise
        The open exercise; setting it opens another.
    solved
        The names of the solved exercises, sorted.

    Raises
    ------
    RefexplorerError
        If there is no exercise with that name; the message lists all names. If a file of the folder
        is not an exercise, or fails its own answers. If `answers` is not an answer file.
    """

    exercise = traitlets.Unicode()
    solved = traitlets.List(traitlets.Unicode(), read_only=True)

    _controller: ExercisesController

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        exercise: str | None = None,
        answers: str | os.PathLike[str] | None = "answers.json",
    ) -> None:
        offered = None if folder is None else proven(Path(folder))
        self._file = None if answers is None else Path(answers).absolute()
        kept = read_answers(self._file) if self._file is not None and self._file.exists() else {}
        controller = ExercisesController(exercise, kept, offered)
        self._kept = controller.written
        self._host(controller)

    def to_html(self, path: str | os.PathLike[str], *, name: str = "") -> None:
        """Write the open exercise as one HTML file that needs neither Python nor a network.

        The page can check the texts of the exercise: the initial one, its
        solutions and its wrong answers, in any spacing, with all hints. Checking other
        answers needs Python; the page says that it cannot check them.

        Parameters
        ----------
        path
            The file to write.
        name
            The name in the title; by default that of the exercise.
        """
        from refexplorer.hosts.saved_page import save_exercise_page

        exercise = self._controller.exercise
        save_exercise_page(replace(exercise, title=name or exercise.title), path)

    def _static(self) -> tuple[str, str]:
        return exercises_html(self._controller), editor_text(self._controller)

    def _take(self) -> None:
        super()._take()
        self.exercise = self._controller.name
        self.set_trait("solved", self._controller.solved)
        self._keep()

    def _keep(self) -> None:
        """Save the answers together with those of other exercises in the file."""
        answers = self._controller.written
        if self._file is None or answers == self._kept:
            return
        try:
            others = read_answers(self._file) if self._file.exists() else {}
            gone = self._kept.keys() - answers.keys()
            left = {name: one for name, one in others.items() if name not in gone}
            write_answers(self._file, left | answers)
        except RefexplorerError as error:
            warn(f"Your answers are not saved: {error}")
            self._file = None
        self._kept = answers

    @traitlets.observe("exercise")
    def _open(self, change: dict[str, Any]) -> None:
        if change["new"] != self._controller.name:
            self._controller.choose(change["new"])
            self.document = self._controller.document
            self._take()
