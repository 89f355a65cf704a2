from __future__ import annotations

import importlib.metadata
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from refexplorer import demo
from refexplorer.core.errors import RefexplorerError, SourceError
from refexplorer.core.files import PlainStream
from refexplorer.hosts.cli.proxy import setup
from refexplorer.hosts.page.library import Library, Offer
from refexplorer.hosts.page.openings import OpeningWatch
from refexplorer.hosts.page.page import Address, EditorView, ExplorerView, ServedPage, View
from refexplorer.hosts.page.server import serve
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet
from tests.helpers.visiting import choose, go, hear


def shown(page: ServedPage) -> list[type]:
    return [type(view) for view in page._views if view.visible and page._views.visible]


def explore_edited(editor: View) -> None:
    """Let Python come to it now, whatever the page shows."""
    controller = editor._controller
    controller.handle({"id": "t:0", "op": "edit", "document": '{"a": "text"}'}, [])
    ((answer, _),) = editor._controller.handle({"id": "t:1", "op": "explore"}, [])
    assert "error" not in answer


def test_a_chosen_set_is_shown_in_both_views() -> None:
    page = ServedPage(Library())
    choose(page, "demo/sst.v1.json")
    assert shown(page) == [ExplorerView]
    hear(page, op="turn", view="editor")
    assert shown(page) == [EditorView]
    editor = page._made["editor"]
    assert isinstance(editor, EditorView)
    assert editor.text == demo.path("sst.v1.json").read_text()


def test_a_set_without_text_leaves_the_editor_an_example() -> None:
    page = ServedPage(Library())
    page.show(open_references(demo.path("sst.parq")))
    hear(page, op="turn", view="editor")
    editor = page._made["editor"]
    assert isinstance(editor, EditorView)
    assert editor.text == demo.path("spec.v1.json").read_text()
    assert "sst.parq is not JSON text" in page._frame.notice
    hear(page, op="turn", view="explorer")
    assert page._frame.notice == ""


def test_a_text_too_long_to_be_edited_is_replaced_with_a_notice() -> None:
    source = demo.path("sst.v1.json")
    size = len(source.read_text())
    for most, said in ((size, False), (size - 1, True)):
        page = ServedPage(Library(), shown_chars=most)
        page.show(open_references(source))
        hear(page, op="turn", view="editor")
        assert ("sst.v1.json" in page._frame.notice) == said


def test_the_server_goes_on_while_the_text_of_a_set_is_read() -> None:
    page, references = ServedPage(Library()), open_references(demo.path("sst.v1.json"))
    content, may_go_on, readers = references.source.content, threading.Event(), set()
    assert content is not None

    def slow() -> PlainStream:
        readers.add(threading.current_thread())
        if threading.current_thread() is not threading.main_thread():
            assert may_go_on.wait(60)
        return content()

    references.source = replace(references.source, content=slow)
    page.show(references)
    page._do({"op": "turn", "view": "editor"})
    assert (page._frame.view, shown(page)) == ("editor", [])
    assert page._frame.notice == "The text is being read …"
    page._do({"op": "turn", "view": "explorer"})
    may_go_on.set()
    while page.is_busy:
        time.sleep(0.01)
    assert threading.main_thread() not in readers
    assert (shown(page), page._frame.notice) == ([ExplorerView], "")
    hear(page, op="turn", view="editor")
    assert shown(page) == [EditorView]


def test_the_text_of_a_set_that_another_one_replaced_is_not_shown() -> None:
    page, references = ServedPage(Library()), open_references(demo.path("sst.v1.json"))
    content, may_go_on = references.source.content, threading.Event()
    assert content is not None

    def slow() -> PlainStream:
        assert may_go_on.wait(60)
        return content()

    references.source = replace(references.source, content=slow)
    page.show(references)
    page._do({"op": "turn", "view": "editor"})
    page.show(open_references(demo.path("sst.v0.json")))
    hear_later = threading.Timer(0.1, may_go_on.set)
    hear_later.start()
    hear(page, op="turn", view="editor")
    (editor,) = (view for view in page._views if view.visible)
    assert isinstance(editor, EditorView)
    assert editor.text == demo.path("sst.v0.json").read_text()
    assert len(page._views) == 2


def test_what_cannot_be_opened_is_said_and_the_page_stays() -> None:
    page = ServedPage(Library())
    choose(page, "nosuch.json")
    assert "nosuch.json" in page._frame.problem
    assert (page._frame.view, page._frame.opening) == ("start", "")


def test_who_turns_elsewhere_while_a_set_is_opened_stays_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = Library()
    page, at_once = ServedPage(library), library.open

    def meanwhile(source: str, watch: OpeningWatch | None = None) -> ReferenceSet:
        page._do({"op": "turn", "view": "editor"})
        return at_once(source, watch)

    monkeypatch.setattr(library, "open", meanwhile)
    choose(page, "demo/sst.v1.json")
    assert shown(page) == [EditorView]
    editor = page._made["editor"]
    assert isinstance(editor, EditorView)
    assert editor.text == demo.path("sst.v1.json").read_text()


def test_who_turns_elsewhere_before_an_edited_set_is_explored_stays_there() -> None:
    page = ServedPage(Library())
    choose(page, "demo/sst.v1.json")
    hear(page, op="turn", view="editor")
    hear(page, op="turn", view="exercises")
    explore_edited(page._made["editor"])
    assert shown(page) == [EditorView]
    assert page._made["exercises"].visible
    assert page._frame.place["address"] == "view=exercises"
    hear(page, op="turn", view="explorer")
    assert (page._frame.title, page._frame.place["address"]) == ("Edited text", "")


def test_a_set_that_is_opened_before_an_edited_one_is_explored_stays() -> None:
    page = ServedPage(Library())
    choose(page, "demo/sst.v1.json")
    hear(page, op="turn", view="editor")
    asked = page._made["editor"]
    choose(page, "demo/sst.v0.json")
    explore_edited(asked)
    assert page._frame.place["address"] == "source=demo/sst.v0.json"


def test_an_address_opens_what_it_names() -> None:
    page = ServedPage(Library())
    address = "source=demo/sst.v1.json&view=chunks&key=sst/6.0.0&slice=1,0,0"
    go(page, address)
    assert shown(page) == [ExplorerView]
    assert Address.read(page._frame.place["address"]) == Address.read(address)
    go(page, "source=demo/sst.v1.json&view=editor")
    assert shown(page) == [EditorView]
    go(page, "")
    assert (page._frame.view, page._frame.place["address"]) == ("start", "")


def test_the_address_is_there_before_the_view_that_it_names() -> None:
    page = ServedPage(Library())
    choose(page, "demo/sst.v1.json")
    told: list[str] = []
    page._frame.param.watch(lambda change: told.append(change.name), ["view", "place"])
    for view in ("editor", "start", "explorer"):
        hear(page, op="turn", view=view)
    assert told == ["place", "view"] * 3


def test_a_view_that_the_page_does_not_know_is_left_out_of_the_address() -> None:
    page = ServedPage(Library())
    go(page, "source=demo/sst.v1.json&view=nosuch")
    assert page._frame.place == {"address": "source=demo/sst.v1.json", "step": 1}


def test_an_address_of_nothing_says_so() -> None:
    page = ServedPage(Library())
    go(page, "source=nosuch.json&key=a")
    assert "nosuch.json" in page._frame.problem


@pytest.mark.parametrize(
    "url", ["https://me:secret@host/refs.json", "https://host/refs.json?X-Amz-Signature=secret"]
)
def test_an_address_names_no_secret(url: str) -> None:
    page = ServedPage(Library())
    page.show(open_references({"a": "text"}), url)
    assert "secret" not in page._frame.place["address"]


def test_a_dropped_file_comes_in_pieces() -> None:
    page = ServedPage(Library())
    content = demo.path("sst.v0.json").read_bytes()
    hear(page, op="upload", name="mine.json", size=len(content))
    for start in range(0, len(content), 5000):
        hear(page, op="piece", piece=content[start : start + 5000])
    assert (page._frame.title, shown(page)) == ("mine.json", [ExplorerView])
    assert page._frame.place["address"] == ""


def test_a_dropped_file_is_bounded() -> None:
    page = ServedPage(Library(largest=1000))
    hear(page, op="upload", name="mine.json", size=9000)
    assert "mine.json has 9.00 kB" in page._frame.problem
    hear(page, op="upload", name="mine.json", size=10)
    hear(page, op="piece", piece=b"x" * 11)
    assert "changed during the upload" in page._frame.problem


def test_what_stalls_for_one_person_holds_up_nobody_else() -> None:
    slow, quick, over = Library(), ServedPage(Library()), threading.Event()

    def stall() -> ReferenceSet:
        over.wait(60)
        return open_references({})

    slow.offers["slow"] = Offer("slow", stall)

    others = [ServedPage(slow) for _ in range(40)]
    for page in others:
        page._do({"op": "open", "source": "slow"})
    choose(quick, "demo/sst.v0.json")
    assert not over.is_set()
    over.set()
    assert shown(quick) == [ExplorerView]


def test_pages_share_no_state() -> None:
    first, second = ServedPage(Library()), ServedPage(Library())
    choose(first, "demo/sst.v1.json")
    assert second._frame.view == "start"
    assert len(second._views) == 0


def test_serving_a_bad_source_fails_before_anything_listens() -> None:
    with pytest.raises(SourceError, match=r"nosuch\.json"):
        serve("nosuch.json", open_browser=False)


def test_serving_on_a_taken_port_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RefexplorerError, match=f"Port {port}"):
            serve({"a": "text"}, port=port, open_browser=False)


def test_exercises_are_a_view_of_their_own() -> None:
    page = ServedPage(Library())
    go(page, "view=exercises")
    exercises = page._made["exercises"]
    page.show(open_references({"a": "text"}))
    hear(page, op="turn", view="exercises")
    assert shown(page) == [EditorView]
    assert page._made["exercises"] is exercises


def test_the_proxy_of_jupyter_finds_the_page() -> None:
    found = importlib.metadata.entry_points(group="jupyter_serverproxy_servers")
    assert found["refexplorer"].load() is setup


def test_the_start_of_jupyter_does_not_wait_for_the_page() -> None:
    code = "import sys, refexplorer.hosts.cli.proxy; print({'numpy', 'panel'} & sys.modules.keys())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"
