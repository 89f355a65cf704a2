"""The views: each is declared next to its controller, and everything that lists views uses this.

An `ExplorerPart` defined in a module of `refexplorer.views` is found here. The explorer creates its
controllers, widgets and saved pages offer it, URLs name it; the `VIEW` of the same name in
`frontend/src` draws it. A view outside the explorer is a `Screen`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pkgutil import walk_packages

from refexplorer import views
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.exercises.exercise_controller import ExercisesController
from refexplorer.views.wire.context import ExplorerPart


@dataclass(frozen=True)
class Screen:
    """A view with a page of its own, and a widget."""

    name: str  # What addresses and the front end call it
    label: str  # Of its button in the header of the page
    # Creates its controller; gets a function that returns the text of the open set
    controller: Callable[[Callable[[], str]], EditorController]


EXPLORER = "explorer"  # The part that is all of them
_JOINED = {"explorer", "registry", "saved", "static_html"}
"""Modules that use all views, and are not views."""


def _declared() -> Iterator[ExplorerPart]:
    """Yield the declarations in the modules of `refexplorer.views`."""
    start = f"{views.__name__}."
    for found in walk_packages(views.__path__, start):
        if found.name.removeprefix(start).partition(".")[0] not in _JOINED:
            members = vars(import_module(found.name)).values()
            yield from (each for each in members if isinstance(each, ExplorerPart))


PARTS: list[ExplorerPart] = sorted(_declared(), key=lambda part: (part.place, part.name))
"""In the order of the switch; the first one has no name in an address."""
EDITOR = Screen("editor", "Template editor", lambda text: EditorController(text()))
EXERCISES = Screen("exercises", "Exercises", lambda text: ExercisesController())
SCREENS: dict[str, Screen] = {screen.name: screen for screen in (EDITOR, EXERCISES)}
"""Other than the explorer."""


def part_named(name: str) -> ExplorerPart:
    """Return the record of a part that a widget can show separately."""
    return {part.name: part for part in PARTS if part.alone}[name]


def described() -> list[dict[str, object]]:
    """Describe each part for the front end."""
    names = ("name", "label", "title", "look", "under", "paints")
    return [{name: getattr(part, name) for name in names} for part in PARTS]


def screens() -> list[dict[str, object]]:
    """Return name and label of the screens in the page header."""
    names = {EXPLORER: "Explorer"} | {each.name: each.label for each in SCREENS.values()}
    return [{"name": name, "label": label} for name, label in names.items()]


def addressed() -> tuple[str, ...]:
    """Return the views that a URL may name; the first has no name."""
    return (*[part.name for part in PARTS if part.look][1:], *SCREENS)
