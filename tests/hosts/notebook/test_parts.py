"""The parts of the explorer as widgets of their own, linked through their traits."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

import refexplorer as rx
from refexplorer import demo
from refexplorer.hosts.notebook.widgets import ReferencesWidget

PARTS: dict[str, Any] = {
    name: value
    for name, value in ((name, getattr(rx.types, name)) for name in rx.types.__all__)
    if isinstance(value, type) and issubclass(value, ReferencesWidget)
}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.mark.parametrize("name", PARTS)
def test_each_opens_what_open_references_takes(name: str) -> None:
    widget = PARTS[name]({"a": "text"}, selection="a")
    assert list(widget.references) == ["a"]
    assert widget.code == "refs['a']"
    with pytest.raises(TypeError, match=rf"{name}\(\) has no option 'limts'.*'limits'"):
        PARTS[name]({"a": "text"}, limts=None)


def test_selection_is_linked() -> None:
    refs = rx.open_references(demo.path("sst.v0.json"))
    tree, inspector = rx.types.KeyTree(refs), rx.types.KeyInspector(refs)
    ipywidgets.link((tree, "selection"), (inspector, "selection"))
    tree.selection = "sst/0.0.0"
    assert inspector.selection == "sst/0.0.0"
    inspector.selection = "wind"
    assert tree.code == "refs.to_zarr()['wind']"


def test_references_are_linked() -> None:
    tree, inspector = (
        rx.types.KeyTree({"a": "text"}),
        rx.types.KeyInspector({"b": "text"}, selection="b"),
    )
    ipywidgets.link((tree, "references"), (inspector, "references"))
    assert inspector.references is tree.references
    assert inspector.selection == ""
    tree.references = rx.open_references({"c": "text"})
    assert inspector.references is not None
    assert list(inspector.references) == ["c"]


def test_views_say_how_much_they_keep_of_a_set() -> None:
    refs = rx.open_references(demo.path("sst.v0.json"), limits=rx.Limits(kept_bytes=10**5))
    widget, other = rx.types.ArrayPreview(refs), rx.types.ArrayPreview(refs)
    assert widget.kept_bytes == 0
    read = {"id": "t:1", "op": "chunk.read", "array": "time", "index": None, "slices": [":"]}
    widget._receive(None, read, [])
    for _ in range(500):
        if widget.kept_bytes:
            break
        time.sleep(0.01)
    assert widget.kept_bytes == other.kept_bytes > 0


def test_code_shows_a_search() -> None:
    tree = rx.types.KeyTree(demo.path("sst.v0.json"))
    tree._receive(
        None, {"id": "v:1", "op": "tree.find", "text": "sst/*.1", "mode": "glob", "kinds": []}, []
    )
    assert len(eval(tree.code, {"refs": tree.references})) == 9


@pytest.mark.parametrize("name", PARTS)
def test_output_has_the_view_and_what_is_shown_without_it(name: str) -> None:
    data, _ = PARTS[name](demo.path("sst.v0.json"))._repr_mimebundle_()
    assert data[WIDGET_VIEW]["model_id"]
    assert "60 keys" in data["text/html"]
    assert "60 keys" in data["text/plain"]


def write_notebook(path: Path, sources: list[str]) -> None:
    cells: list[dict[str, object]] = [
        {
            "cell_type": "code", "id": f"cell-{number}", "metadata": {},
            "source": source, "outputs": [], "execution_count": None,
        }
        for number, source in enumerate(sources)
    ]  # fmt: skip
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    path.write_text(json.dumps(notebook), encoding="utf-8")


@pytest.mark.server
def test_a_saved_notebook_shows_the_tree_and_a_picture(tmp_path: Path) -> None:
    cells = [
        "import refexplorer as rx; from refexplorer import demo",
        "explorer = rx.explore(demo.path('sst.v0.json')); explorer",
        "explorer.selection = 'sst/0.0.0'; explorer.save_static()",
    ]
    write_notebook(tmp_path / "saved.ipynb", cells)
    command = [
        sys.executable, "-m", "nbconvert", "--execute", "--to", "html", "saved.ipynb",
        "--ExecutePreprocessor.store_widget_state=False",  # as JupyterLab saves a notebook
    ]  # fmt: skip
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    html = (tmp_path / "saved.html").read_text(encoding="utf-8")
    shown = html.partition("save_static")[0]
    assert "60 keys" in shown
    assert 'alt="sea surface temperature' in shown
    assert "Explorer object" not in html
