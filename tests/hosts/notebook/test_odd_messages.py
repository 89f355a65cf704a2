"""What is no message does nothing, in a notebook, in JupyterLab and on the page."""

from __future__ import annotations

from typing import Any

import pytest

import refexplorer as rx
from refexplorer import demo
from refexplorer.hosts.page.library import Library
from refexplorer.hosts.page.page import ExplorerView, ServedPage
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.explorer.explorer_controller import ExplorerController

ODD: list[Any] = [None, 1, "text", [], [{"id": "a:1", "op": "hello"}], True]


@pytest.mark.parametrize("message", ODD)
def test_controllers_ignore_it(message: Any) -> None:
    references = rx.open_references({"a": "text"})
    for controller in (ExplorerController(references), EditorController()):
        assert controller.handle(message, []) == []


@pytest.mark.parametrize("message", ODD)
def test_a_widget_ignores_it(message: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for widget in (rx.explore({"a": "text"}), rx.TemplateEditor("{}")):
        sent: list[Any] = []
        monkeypatch.setattr(widget, "send", lambda *each, sent=sent: sent.append(each))
        widget._handle_custom_msg(message, [])
        assert sent == []


@pytest.mark.parametrize("message", ODD)
def test_the_page_ignores_it(message: Any) -> None:
    page = ServedPage(Library())
    page.show(rx.open_references(demo.path("sst.v1.json")))
    view = page._made["explorer"]
    assert isinstance(view, ExplorerView)
    posted: list[Any] = []
    view._controller.post = lambda *each: posted.append(each)
    view._handle_msg(message)
    view._worker.shutdown()
    page._do(message)
    assert posted == []
    assert page._frame.problem == ""
    page.close()
