"""Every notebook is committed with outputs that a page can show; `tests.ui` runs them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.notebooks.running import FOLDER, NOTEBOOKS, Cell, Notebook, code_cells, read

LARGEST_OUTPUT = 300_000
LARGEST_NOTEBOOK = 200_000
PLACE = re.compile(
    r"/(?:home|root|tmp|var|work|Users|builds)/|[A-Z]:\\\\|https?://(?:127|localhost)"
)
"""How a path of a machine, or its own address, begins."""

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def texts(cell: Cell) -> list[str]:
    """All that the outputs of a cell say, by output."""
    found = []
    for output in cell["outputs"]:
        parts = [output["text"]] if "text" in output else output.get("data", {}).values()
        found.append("\n".join("".join(part) for part in parts))
    return found


def markdown(notebook: Notebook) -> str:
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    return "\n".join("".join(cell["source"]) for cell in cells)


@each_notebook
def test_what_is_saved_can_be_shown_anywhere(path: Path) -> None:
    assert path.stat().st_size < LARGEST_NOTEBOOK
    for cell in code_cells(read(path)):
        assert not [output for output in cell["outputs"] if output["output_type"] == "error"]
        for text in texts(cell):
            assert len(text) < LARGEST_OUTPUT
            assert "Traceback" not in text
            assert not PLACE.search(text)


@each_notebook
def test_what_is_shown_is_seen_without_a_kernel(path: Path) -> None:
    """GitHub runs no script and keeps no style; a widget has HTML of its own, a plot a picture."""
    for cell in code_cells(read(path)):
        for output in cell["outputs"]:
            data = output.get("data", {})
            assert "application/vnd.jupyter.widget-view+json" not in data
            if output["output_type"] == "display_data" and path.stem != "embedding":
                assert {"text/html", "image/png"} & data.keys()
            html = "".join(data.get("text/html", ""))
            assert "<script" not in html
            assert "<style>" not in html


@each_notebook
def test_says_what_it_takes(path: Path) -> None:
    head = "".join(read(path)["cells"][0]["source"])
    assert re.match(r"# \w", head)
    assert [word for word in ("**You will**", "**You need**", "**Time**") if word not in head] == []


@each_notebook
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", markdown(read(path)))
    assert not [link for link in links if not (FOLDER / link).exists()]
