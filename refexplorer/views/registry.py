"""All views, one record each: widgets, looks and addresses follow from it.

A view of the explorer is an `ExplorerPart`: a controller here and a component of the same name in
`frontend/src/explorer/parts.tsx` make it. What stands beside the explorer is a `Screen`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from refexplorer.views.compare.beside import BesideController
from refexplorer.views.compare.compare_controller import CompareController
from refexplorer.views.compare.repairs import Repairing
from refexplorer.views.cost import CostView
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.exercises.exercise_controller import ExercisesController
from refexplorer.views.geo.map_controller import MapController
from refexplorer.views.health.health_controller import FilesCompared, HealthTable
from refexplorer.views.key.key_details import KeyDetails
from refexplorer.views.maps.chunk_map import ChangesOfChunks, ChunkMap
from refexplorer.views.maps.target_map import TargetMapView
from refexplorer.views.overview import Overview
from refexplorer.views.preview.preview import PreviewReader
from refexplorer.views.tree.tree_controller import TreeController
from refexplorer.views.versions import VersionPicker
from refexplorer.views.wire.context import ViewContext

C = TypeVar("C", bound=EditorController)


@dataclass(frozen=True)
class ExplorerPart:
    """A view of the explorer, which is also a widget and a place in an address."""

    name: str  # What addresses, the trait `part` of widgets and the front end call it
    label: str  # Of its button in the switch over the picture
    title: str  # Of the widget that shows it alone, before "of" and the name of the set
    # Make what answers its requests
    controllers: tuple[Callable[[ViewContext], object], ...]
    look: bool = True  # Whether the middle of the screen shows it; others have their own place
    # The look whose form it is; None: the switch offers it itself; "": something else leads to it
    under: str | None = None
    alone: bool = True  # Whether a widget can show it alone
    # Requests that a saved page answers: of the set, and of each array where they have that field.
    # What takes other fields, or a budget, is asked for in `saved/recording.py`.
    recorded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Screen(Generic[C]):
    """A view that has the page to itself, and a widget."""

    name: str  # What addresses and the front end call it
    label: str  # Of its button in the header of the page
    # Makes what answers its requests; takes what returns the text of the set that is open
    controller: Callable[[Callable[[], str]], C]


EXPLORER = "explorer"
"""The part that is all of them."""
PARTS: list[ExplorerPart] = [
    ExplorerPart("data", "Values", "Values", (PreviewReader,)),
    ExplorerPart("map", "Map", "Map of the earth", (MapController,), alone=False, under="data"),
    ExplorerPart(
        "beside", "Side by side", "Side by side", (BesideController,), alone=False, under="data"
    ),
    ExplorerPart("chunks", "Chunks", "Chunks", (ChunkMap, ChangesOfChunks)),
    ExplorerPart("targets", "Files", "Files", (TargetMapView,)),
    ExplorerPart(
        "cost", "Cost", "Cost of reading", (CostView,), alone=False, recorded=("cost.show",)
    ),
    ExplorerPart(
        "compare", "Compare", "Comparison", (CompareController,), recorded=("compare.summary",),
        under="",
    ),
    ExplorerPart("tree", "Keys", "Keys", (TreeController,), look=False),
    ExplorerPart("key", "Key", "One key", (KeyDetails,), look=False),
    ExplorerPart(
        "set", "The set", "The set",
        (HealthTable, FilesCompared, Repairing, Overview, VersionPicker), look=False, alone=False,
        recorded=("overview", "verify.last", "versions.list"),
    ),
]  # fmt: skip
"""In the order of the switch; the first one has no name in an address."""
EDITOR = Screen("editor", "Template editor", lambda text: EditorController(text()))
EXERCISES = Screen("exercises", "Exercises", lambda text: ExercisesController())
SCREENS: dict[str, Screen[Any]] = {screen.name: screen for screen in (EDITOR, EXERCISES)}
"""Beside the explorer."""


def part_named(name: str) -> ExplorerPart:
    """Return the record of a part that a widget can show alone."""
    return {part.name: part for part in PARTS if part.alone}[name]


def described() -> list[dict[str, object]]:
    """Describe each part as the front end needs it to offer it."""
    return [
        {name: getattr(part, name) for name in ("name", "label", "title", "look", "under")}
        for part in PARTS
    ]


def screens() -> list[dict[str, object]]:
    """Return name and label of what the header of the page leads to."""
    names = {EXPLORER: "Explorer"} | {each.name: each.label for each in SCREENS.values()}
    return [{"name": name, "label": label} for name, label in names.items()]


def addressed() -> tuple[str, ...]:
    """Return the views that an address may name; the first has no name."""
    return (*[part.name for part in PARTS if part.look][1:], *SCREENS)
