"""Run a notebook as a person would, and keep what a page without a kernel can show of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from refexplorer.demo.lessons import LESSONS, STEPS

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LIVE = "application/vnd.jupyter.widget-view+json"
"""A view of a widget; without a kernel it is an error message in its place."""
_WIDGET = 'class="refexplorer"'
_BUTTON = re.compile(r' <button type="button" hidden data-refexplorer-set="\w+">Explore</button>')
"""Only the kernel of that run knows the set that it names."""
_KEPT = ("text/html", "text/plain", "image/png")
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

Notebook = dict[str, Any]
Cell = dict[str, Any]


def read(path: Path) -> Notebook:
    """Return a notebook as its JSON says."""
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def code_cells(notebook: Notebook) -> list[Cell]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shows(cell: Cell) -> list[str]:
    """What kinds of output a cell has: a stream, a result, the HTML of a widget."""
    return sorted({_kind(output) for output in cell["outputs"]})


def _kind(output: Cell) -> str:
    if _WIDGET in "".join(output.get("data", {}).get("text/html", "")):
        return "widget"
    return str(output.get("name", "result"))


def lesson_text(cell: Cell) -> list[str] | None:
    """Return the lines of a cell that shares its text with the page: it names lesson and field."""
    name, _, field = cell["metadata"].get("lesson", "").partition(".")
    if not name:
        return None
    lines = LESSONS[name].steps[STEPS[field]].splitlines()
    quoted = [f"> {line}".rstrip() for line in lines] if field == "letter" else lines
    return "\n".join(quoted).splitlines(keepends=True)


def execute(path: Path, folder: Path, python: str = sys.executable) -> Notebook:
    """Run all cells in a new kernel of an environment, without the user's settings.

    Raises
    ------
    AssertionError
        If a cell ends in an error; the text has its traceback.
    """
    places = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    command = [
        python, "-m", "nbconvert", "--execute", "--to", "notebook",
        "--ExecutePreprocessor.record_timing=False",
        "--ExecutePreprocessor.store_widget_state=False",
        "--output-dir", str(folder), str(path),
    ]  # fmt: skip
    environment = {**os.environ, **{name: str(folder / name) for name in places}}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return read(folder / path.name)


def cleaned(notebook: Notebook) -> Notebook:
    """Return an executed notebook without what only a kernel, or only this run, could use."""
    cells = [
        {**cell, "metadata": {}, "outputs": _joined(cell["outputs"])}
        if cell["cell_type"] == "code"
        else {**cell, "source": lesson_text(cell) or cell["source"]}
        for cell in notebook["cells"]
    ]
    return {**notebook, "cells": cells, "metadata": _METADATA}


def _joined(outputs: list[Cell]) -> list[Cell]:
    """Clean the outputs of a cell; a stream that came in pieces is one."""
    kept: list[Cell] = []
    for output in map(_cleaned, outputs):
        last = kept[-1] if kept else {}
        if output.get("name") is not None and last.get("name") == output["name"]:
            last["text"] = [*last["text"], *output["text"]]
        else:
            kept.append(output)
    return kept


def _cleaned(output: Cell) -> Cell:
    if "data" not in output:
        return output
    data = {form: text for form, text in output["data"].items() if form in _KEPT}
    html = "".join(data.get("text/html", ""))
    if _BUTTON.search(html):
        data["text/html"] = _BUTTON.sub("", html).splitlines(keepends=True)
    # xarray's without its style is a heap of words; a frame leads to a server that is gone
    if "<style>" in html or "<iframe" in html:
        del data["text/html"]
    return {**output, "data": data, "metadata": {}}
