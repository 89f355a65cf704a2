"""One record for each view: everything that lists views follows from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

import refexplorer as rx
from refexplorer import demo
from refexplorer.hosts.notebook.widgets import ReferencesWidget
from refexplorer.hosts.page.library import Library
from refexplorer.hosts.page.page import Address, ExplorerView, ServedPage
from refexplorer.hosts.schema import schema
from refexplorer.views.explorer.explorer_controller import ExplorerController
from refexplorer.views.registry import (
    PARTS,
    SCREENS,
)
from refexplorer.views.saved.recording import record
from refexplorer.views.wire.context import ExplorerPart, ViewContext
from refexplorer.views.wire.requests import Count, bound, operations, request
from tests.helpers import wire

FRONTEND = Path(rx.__file__).parent / "frontend" / "src"
NAMES = [part.name for part in PARTS]


class Heads(Struct, frozen=True):
    """How many keys there are."""

    count: Count


class Census:
    """What a newcomer writes: the controller of a view."""

    def __init__(self, context: ViewContext) -> None:
        self._count = context.references.count

    @request("census.count")
    def count(self) -> Heads:
        """Count the keys."""
        return Heads(self._count)


@pytest.fixture
def census(monkeypatch: pytest.MonkeyPatch) -> Iterator[ExplorerPart]:
    part = ExplorerPart("census", "Census", "All heads", (Census,), recorded=("census.count",))
    PARTS.append(part)
    monkeypatch.setitem(wire.SCHEMA, "definitions", schema()["definitions"])
    for each in operations(Census):
        monkeypatch.setitem(wire.REQUESTS, f"Explorer/{each.name}", each)
    yield part
    PARTS.remove(part)


@pytest.fixture(scope="module")
def references() -> rx.ReferenceSet:
    return rx.open_references(demo.path("sst.v0.json"))


def test_a_record_and_a_controller_are_all_that_python_needs_of_a_view(
    census: ExplorerPart,
) -> None:
    refs = rx.open_references({"a": "text", "b": "text"})
    controller = ExplorerController(refs)
    answers = controller.handle({"id": "v:1", "op": "census.count"})
    assert answers == [({"id": "v:1", "count": 2}, [])]
    assert Address.read("source=a.json&view=census").view == "census"
    saved = record(ExplorerController(refs, at_once=True), keys=9)
    assert saved.content["answers"]['{"op":"census.count"}'] == {"count": 2}

    widget = rx.explore(refs, part="census")
    described = {
        "name": "census",
        "label": "Census",
        "title": "All heads",
        "look": True,
        "under": None,
        "paints": None,
    }
    assert widget.part == "census"
    assert widget.parts[-1] == described
    assert ExplorerView(refs).parts[-1] == described
    assert widget._repr_mimebundle_()[0]["text/plain"].startswith("census view of")


def test_a_view_that_is_not_there_has_no_place() -> None:
    assert Address.read("source=a.json&view=census").view == ""
    assert Address.read("source=a.json&view=data").view == ""  # the first look has no name
    assert Address.read("source=a.json&view=key").view == ""  # which is shown beside all of them
    with pytest.raises(KeyError):
        type("CensusWidget", (ReferencesWidget,), {}, part="census")


def test_every_look_and_widget_has_its_component() -> None:
    declared = re.compile(r'export const VIEW: ExplorerView = \{\s*name: "(\w+)"')
    texts = [path.read_text(encoding="utf-8") for path in FRONTEND.rglob("*.tsx")]
    found = [name for text in texts for name in declared.findall(text)]
    assert sorted(found) == sorted(part.name for part in PARTS if part.look or part.alone)


def test_what_an_address_says_of_a_view_is_known_to_both_sides() -> None:
    spots = re.compile(r"  address: \{\n    (\w+): \{")
    texts = [path.read_text(encoding="utf-8") for path in FRONTEND.rglob("*.tsx")]
    found = [name for text in texts for name in spots.findall(text)]
    assert sorted(found) == sorted(name for part in PARTS for name in part.address)


@pytest.mark.parametrize("name", NAMES)
def test_every_part_has_label_and_controllers(name: str, references: rx.ReferenceSet) -> None:
    part = next(part for part in PARTS if part.name == name)
    controller = ExplorerController(references)
    controller.selection = "sst/0.0.0"
    assert part.label
    assert part.title
    for make in part.controllers:
        assert isinstance(make, type)
        assert bound([controller.part(make)])


def test_no_request_has_two_controllers(references: rx.ReferenceSet) -> None:
    controller = ExplorerController(references)
    makers = [make for part in PARTS for make in part.controllers if isinstance(make, type)]
    names: list[str] = []
    for make in makers:
        names += bound([controller.part(make)])
    assert len(names) == len(set(names))
    assert not {"hello", "key.show", "notes", "source.show", "allow", "cancel"} & set(names)


def test_every_request_of_the_front_end_is_answered(references: rx.ReferenceSet) -> None:
    others = {*SCREENS, "text", "lab", "page", "saved", "shared"}
    rooms = [room for room in FRONTEND.iterdir() if room.is_dir() and room.name not in others]
    sources = [path for room in rooms for path in room.glob("*.ts*")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    asked = set(re.findall(r'"([a-z]+[.][a-z]+)"', text))
    assert {"tree.rows", "grid.show", "chunk.read", "compare.with", "key.bytes"} <= asked
    answered = {*ExplorerController(references).answers}
    assert (
        asked - {"refexplorer.layout", "refexplorer.compared"} <= answered
    )  # which is what the browser keeps


@pytest.mark.parametrize("name", SCREENS)
def test_every_screen_has_label_controller_and_address(name: str) -> None:
    screen = SCREENS[name]
    controller = screen.controller(lambda: '{"version": 1, "refs": {"a": "text"}}')
    answer, _ = controller.handle({"id": "v:1", "op": "hello"})[0]
    assert answer["document"] == controller.document
    assert Address.read(f"view={name}").view == name
    listed = ServedPage(Library())._frame.screens
    assert {"name": name, "label": screen.label} in listed
