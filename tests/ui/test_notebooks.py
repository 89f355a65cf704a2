"""Each notebook in a real JupyterLab: no cell fails, and its widgets show what they are about.

They share a kernel, which is cleared, since its start and imports take 2 s of a processor; what is
saved of each comes from a kernel of its own (``tests.notebooks.save``).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.helpers.hosts import Lab
from tests.notebooks.running import NOTEBOOKS, Notebook, code_cells, read, shows

SHOWN: dict[str, dict[str, str]] = {
    "compare_and_convert": {"Chunks of dict": "1 without a reference"},
    "debugging": {
        "Files of shifted.json": "1 overlap of 10 B",
        "Files of copied.json": "1 overlap of 9.14 kB",
        "Chunks of dead.json": "sst_2025-10.nc",
        "Chunks of turned.json": "18 without a reference",
        "Reference set broken.json": "wind_lat",
    },
    "cloud_data": {"Reference set combined.json": "0.0.0"},
    "embedding": {
        "Reference set sst.v1.json": "7.0.0",
        "Keys of sst.v1.json": "2.0.1",
        "One key of sst.v1.json": "sst/2.0.1",
        "Chunks of sst.v1.json": "Selected: chunk 2, 0, 1",
        "Template editor": "k2",
        "Keys of bytes": "k2",
    },
    "exercises": {"Exercises": "is 50 bytes long"},
    "hdf5_against_zarr": {},
    "lesson_1_odd_day": {
        "Files of odd-day.json": "overlap",
    },
    "lesson_2_cool_august": {"Reference set cool-august.json": "3.0.0"},
    "lesson_3_warm_september": {"Reference set warm-september.json": "scale_factor"},
    "lesson_4_two_warm_days": {"Chunks of two-warm-days.json": "1 without a reference"},
    "lesson_5_it_worked_yesterday": {"Reference set it-worked-yesterday.json": "6.0.0"},
    "lesson_6_slow_map": {"Reference set slow-map.json": "488"},
    "parquet_references": {"Chunks of sst.parq": "6 without a reference"},
    "tour": {"Reference set sst.v1.json": "7.0.0", "Template editor": "gen_key4"},
    "v0_by_hand": {"Reference set ocean.json": "2.0.0"},
    "v1_templates_and_gen": {"Template editor": "gen_key4"},
    "verify": {},
    "why_is_it_slow": {"Reference set archive.json": "2,406"},
    "your_own_files": {"Reference set virtual dataset": "sst"},
}
"""Notebook → region → what it shows in the end."""
IS_DONE = """
() => {
  const cells = window.jupyterapp.shell.currentWidget.content.widgets
    .map(({ model }) => model).filter(({ type }) => type === "code");
  const failed = ({ outputs }) => outputs.toJSON().some(each => each.output_type === "error");
  return cells.every(cell => cell.executionCount !== null) || cells.some(failed);
}
"""
"""After an error no cell runs."""
CELLS = """
window.jupyterapp.shell.currentWidget.content.widgets
  .filter(cell => cell.model.type === "code").map(cell => ({outputs: cell.model.outputs.toJSON()}))
"""
SECONDS = 120
LOOKS = 200
"""Milliseconds from one look at the cells to the next; else each frame looks at all of them."""


def without_outputs(notebook: Notebook) -> Notebook:
    for cell in code_cells(notebook):
        cell |= {"outputs": [], "execution_count": None}
    return notebook


@pytest.fixture(scope="module")
def kernels() -> list[str]:
    """The ids of those that were used."""
    return [""]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_and_shows_its_widgets(path: Path, lab: Lab, page: Page, kernels: list[str]) -> None:
    for other in NOTEBOOKS:  # one reads another
        if not (lab.folder / other.name).exists():
            (lab.folder / other.name).write_bytes(other.read_bytes())
    opened = lab.open_written(page, path.stem, without_outputs(read(path)), kernels[-1])
    kernels.append(opened.kernel())
    page.wait_for_function(IS_DONE, timeout=SECONDS * 1000, polling=LOOKS)
    cells = page.evaluate(CELLS)
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert outputs
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert [shows(cell) for cell in code_cells(read(path))] == [shows(cell) for cell in cells], (
        "run `python -m tests.notebooks.save`"
    )
    for region, text in SHOWN[path.stem].items():
        shown = page.get_by_role("region", name=region, exact=True).first
        shown.scroll_into_view_if_needed()
        expect(shown).to_contain_text(text)
    if path.stem == "embedding":
        choose_in_a_panel_application(page)


def choose_in_a_panel_application(page: Page) -> None:
    frame = page.locator("iframe[title=Panel]")
    frame.scroll_into_view_if_needed()
    explorer = frame.content_frame.get_by_role("region", name="Reference set sst.v1.json")
    explorer.get_by_role("treegrid").get_by_role("row").filter(has_text="land").click()
    expect(frame.content_frame.get_by_text("Chosen: land")).to_be_visible()
