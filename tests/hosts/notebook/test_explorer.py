from __future__ import annotations

import pytest

from refexplorer import demo
from refexplorer.core.errors import RefexplorerError, SourceError
from refexplorer.hosts import bundle_path
from refexplorer.hosts.notebook.widgets import explore
from refexplorer.verbs.opening import open_references
from refexplorer.views.wire.requests import Message


def test_shows_a_set_that_is_open() -> None:
    references = open_references(demo.path("sst.v0.json"))
    assert explore(references).references is references


def test_opens_what_open_references_takes() -> None:
    explorer = explore({"a": "text"})
    assert explorer.references is not None
    assert list(explorer.references) == ["a"]


def test_a_terminal_is_told_how_to_open_it() -> None:
    path = demo.path("sst.v0.json")
    assert repr(explore(path)).endswith(f"notebook, or run `refexplorer serve {path}`")
    assert repr(explore({"a": "text"})) == "Explorer of dict: display it in a notebook"


def test_code_follows_the_selection() -> None:
    explorer = explore(demo.path("sst.v0.json"))
    seen: list[str] = []
    explorer.observe(lambda change: seen.append(change["new"]), "code")
    explorer.selection = "sst/0.0.0"
    assert seen == [explorer.code]
    assert eval(explorer.code, {"refs": explorer.references}).kind == "range"


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("storage_option", "'storage_options'"),
        ("alow", "'allow'"),
        ("zzz", "the options are allow"),
    ],
)
def test_unknown_option_names_the_nearest(option: str, hint: str) -> None:
    with pytest.raises(TypeError, match=hint):
        explore({"a": "text"}, **{option: ()})


def test_options_of_opening_come_too_late_for_an_open_set() -> None:
    references = open_references({"a": "text"})
    with pytest.raises(TypeError, match="templates"):
        explore(references, templates={"u": "x"})


def test_source_that_is_not_there() -> None:
    with pytest.raises(SourceError, match=r"nosuch\.json"):
        explore("nosuch.json")


def test_bundle_that_was_not_built() -> None:
    with pytest.raises(RefexplorerError, match="not built"):
        bundle_path("nosuch")


def test_widgets_share_the_text_of_the_bundle() -> None:
    first, second = explore({"a": "1"}), explore({"b": "2"})
    assert first._esm is second._esm


def test_what_a_view_asks_first_comes_with_the_widget() -> None:
    explorer = explore(demo.path("sst.v0.json"))
    asked: list[Message] = [{"op": "hello"}, {"op": "tree.rows", "start": 0, "n": 60}]
    answers = [explorer._controller.handle(message)[0][0] for message in asked]
    assert list(explorer.first.values()) == answers


@pytest.mark.parametrize("change", ["message", "selection", "references"])
def test_what_came_with_the_widget_is_dropped_once_it_may_be_old(change: str) -> None:
    explorer = explore({"a/b": "text"})
    assert explorer.first
    if change == "message":
        explorer._receive(None, {"id": "v:1", "op": "tree.toggle", "path": "a", "open": True}, [])
    elif change == "selection":
        explorer.selection = "a/b"
    else:
        explorer.references = open_references({"c": "text"})
    assert explorer.first == {}
