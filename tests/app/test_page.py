from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from panel.models.esm import DataEvent

from refexplorer import demo
from refexplorer.app import serve
from refexplorer.app.components import EditorView, ExplorerView
from refexplorer.app.library import Library
from refexplorer.app.page import Page
from refexplorer.errors import RefexplorerError, SourceError
from refexplorer.opening import open_references


def choose(page: Page, source: str) -> None:
    """Do what a click on the start screen does, on a thread: browser tests keep a loop running."""
    click = DataEvent(None, {"op": "open", "source": source})  # type: ignore[no-untyped-call]
    with ThreadPoolExecutor() as pool:
        pool.submit(asyncio.run, page._chosen(click)).result()


def test_a_chosen_set_is_shown_in_both_views() -> None:
    page = Page(Library())
    choose(page, str(demo.path("sst.v1.json")))
    explorer, editor = page._views
    assert isinstance(explorer, ExplorerView)
    assert isinstance(editor, EditorView)
    assert editor.text == demo.path("sst.v1.json").read_text()
    assert (explorer.visible, editor.visible) == (True, False)
    page._frame.view = "editor"
    assert (explorer.visible, editor.visible) == (False, True)


def test_a_set_without_text_leaves_the_editor_an_example() -> None:
    page = Page(Library())
    page.show(open_references(demo.path("sst.parq")))
    _, editor = page._views
    assert isinstance(editor, EditorView)
    assert editor.text == demo.path("spec.v1.json").read_text()


def test_what_cannot_be_opened_is_said_and_the_page_stays() -> None:
    page = Page(Library())
    choose(page, "nosuch.json")
    assert "nosuch.json" in page._frame.problem
    assert (page._frame.view, page._frame.opening) == ("start", "")


def test_pages_share_no_state() -> None:
    first, second = Page(Library()), Page(Library())
    choose(first, str(demo.path("sst.v1.json")))
    assert second._frame.view == "start"
    assert len(second._views) == 0


def test_serving_a_bad_source_fails_before_anything_listens() -> None:
    with pytest.raises(SourceError, match=r"nosuch\.json"):
        serve("nosuch.json", open_browser=False)


# Tornado leaves the socket that it could not bind to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_serving_on_a_taken_port_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RefexplorerError, match=f"Port {port}"):
            serve({"a": "text"}, port=port, open_browser=False)
