"""What only a notebook has: the kernel beside the views, and traits that it observes."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.helpers.browsing import details
from tests.helpers.hosts import Lab

OBSERVE = """
import ipywidgets, refexplorer as rx
from refexplorer import demo
explorer = rx.explore(demo.path("sst.v1.json"))
seen = ipywidgets.Label("nothing yet")
explorer.observe(lambda change: setattr(seen, "value", f"saw {change.new}"), "selection")
button = ipywidgets.Button(description="Choose in Python")
button.on_click(lambda _: setattr(explorer, "selection", "wind/7.0.0"))
ipywidgets.VBox([button, seen, explorer])
"""
CHOOSE_TWICE = """
import pathlib, time
import ipywidgets, refexplorer as rx
from refexplorer import demo
tree = rx.types.KeyTree(demo.path("sst.v1.json"), selection="sst/6.0.0")
chosen = ipywidgets.Label("chosen:")
def add(change):
    chosen.value += f" {{change.new}}"
tree.observe(add, "selection")
display(tree, chosen)
while not pathlib.Path({asked!r}).exists():  # the view asks for what is selected, and waits
    time.sleep(0.02)
tree.selection = "wind/7.0.0"
"""
FOLLOW = """
import ipywidgets, refexplorer as rx
editor = rx.TemplateEditor({"version": 1, "refs": {"a": "text"}})
seen = ipywidgets.Label("nothing yet")
editor.observe(lambda change: setattr(seen, "value", f"saw {len(change.new)}"), "references")
ipywidgets.VBox([seen, editor])
"""

SHOWN = """
import sys
import refexplorer as rx
from refexplorer import demo
refs = rx.open_references(demo.path("sst.v1.json"))
refs
"""
HEAVY = """
heavy = "anywidget", "ipywidgets", "refexplorer.views", "zarr"
print([name for name in heavy if name in sys.modules])
"""


def test_kernel_is_this_python(lab: Lab, page: Page) -> None:
    notebook = lab.show(page, ["import sys; print(sys.executable)"])
    expect(notebook.output(0)).to_have_text(sys.executable)


def test_selection_goes_both_ways(lab: Lab, page: Page) -> None:
    lab.show(page, [OBSERVE])
    tree = page.get_by_role("treegrid")
    tree.get_by_role("row").filter(has_text="land").click()
    expect(page.get_by_text("saw land")).to_be_visible()
    page.get_by_role("button", name="Choose in Python").click()
    expect(page.get_by_text("saw wind/7.0.0")).to_be_visible()
    expect(tree.locator("[aria-selected=true]")).to_contain_text("7.0.0")


def test_a_view_that_comes_late_does_not_undo_what_python_chose(
    lab: Lab, page: Page, tmp_path: Path
) -> None:
    asked = tmp_path / "asked"
    lab.show(page, [CHOOSE_TWICE.format(asked=str(asked))])
    expect(page.get_by_role("treegrid")).to_be_visible()
    asked.touch()
    expect(page.get_by_role("treegrid").locator("[aria-selected=true]")).to_contain_text("7.0.0")
    page.get_by_role("treegrid").get_by_role("gridcell", name="6.0.0", exact=True).last.click()
    chosen = "chosen: wind/7.0.0 wind/6.0.0"
    expect(page.get_by_text(re.compile("^chosen:"))).to_have_text(chosen)


def test_editor_hands_out_its_references(lab: Lab, page: Page) -> None:
    lab.show(page, [FOLLOW])
    text = page.get_by_role("region", name="Template editor").get_by_role("textbox")
    text.focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text('{"version": 1, "refs": {"a": "text", "b": "more"}}')
    expect(page.get_by_text("saw 2")).to_be_visible()


@pytest.mark.own_page
def test_a_set_alone_in_a_cell_opens_the_explorer_below_itself(lab: Lab, page: Page) -> None:
    notebook = lab.open(page, "alone", [SHOWN, HEAVY])
    output = notebook.output(0)
    expect(output).to_contain_text("60 keys, 8 arrays")
    expect(notebook.output(1)).to_contain_text("[]")
    output.get_by_role("button", name="Explore").click()
    explorer = output.get_by_role("region", name="Reference set sst.v1.json")
    explorer.get_by_role("treegrid").get_by_role("row").filter(has_text="land").click()
    expect(details(explorer, "Key")).to_contain_text("Array land")
    output.get_by_role("button", name="Explore").click()
    expect(explorer).to_have_count(0)
    output.get_by_role("button", name="Explore").click()
    expect(explorer).to_be_visible()
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.evaluate("void window.jupyterapp.commands.execute('kernelmenu:shutdown')")
    expect(output.get_by_role("alert")).to_contain_text("kernel was stopped")
    page.reload()  # of a kernel that is gone the HTML stays
    expect(output).to_contain_text("60 keys, 8 arrays")
    expect(page.locator(".jp-Notebook")).not_to_contain_text("Error displaying widget")
