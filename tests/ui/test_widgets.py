"""The parts of the explorer as widgets of their own in JupyterLab, and the explorer's extras."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.helpers.browsing import menu, row, violations
from tests.helpers.hosts import Lab

PARTS = """
import ipywidgets, refexplorer as rx
from refexplorer import demo
refs = rx.open_references(demo.path("broken.json"))
tree, key, values = rx.types.KeyTree(refs), rx.types.KeyInspector(refs), rx.types.ArrayPreview(refs)
chunks, targets = rx.types.ChunkGrid(refs), rx.types.TargetMap(refs)
for part in (key, values, chunks, targets):
    ipywidgets.link((tree, "selection"), (part, "selection"))
for part in (tree, key, values, chunks, targets):
    display(part)
"""


def part(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=f"{name} of broken.json")


@pytest.fixture
def parts(lab: Lab, page: Page) -> Page:
    lab.show(page, [PARTS])
    expect(part(page, "Keys").get_by_role("treegrid")).to_contain_text("sst")
    return page


def test_one_selection_in_all_parts(parts: Page) -> None:
    row(part(parts, "Keys"), "sst").click()
    expect(part(parts, "One key")).to_contain_text("sea surface temperature")
    expect(part(parts, "Chunks").get_by_role("application", name="Chunks of sst")).to_be_visible()
    data = part(parts, "Values")
    picture = data.get_by_role("application", name="sea surface temperature: heatmap")
    picture.click(position={"x": 120, "y": 60})
    expect(part(parts, "Keys").locator("[aria-selected=true]")).to_contain_text("0.0.0")
    expect(data.locator(".readout")).to_contain_text("index 0, ")
    expect(part(parts, "Files").get_by_role("status").last).to_contain_text("sst/0.0.0")
    expect(part(parts, "Chunks").get_by_role("status")).to_contain_text("Selected: chunk 0, 0, 0")


def test_roles_and_labels(parts: Page) -> None:
    row(part(parts, "Keys"), "sst").click()
    data = part(parts, "Values")
    expect(data.get_by_label("time: index or slice")).to_have_value(":")
    show = data.get_by_role("group", name="Show as")
    for mode in ("Line", "Statistics", "Table", "Picture"):
        show.get_by_role("button", name=mode, exact=True).click()
        expect(show.get_by_role("button", name=mode, exact=True)).to_have_attribute(
            "aria-pressed", "true"
        )
    expect(data.get_by_role("slider", name="time")).to_be_visible()
    expect(data.get_by_role("spinbutton", name="time: index")).to_have_value("0")
    assert violations(parts, within=".jp-OutputArea-output") == []


def test_a_part_of_an_array_by_its_slices(parts: Page) -> None:
    row(part(parts, "Keys"), "sst").click()
    data = part(parts, "Values")
    expect(data.get_by_role("application")).to_be_visible()
    part_of = menu(data, "Part and reading")
    field = part_of.get_by_label("time: index or slice")
    field.fill("99")
    field.press("Enter")
    expect(data.get_by_role("alert")).to_contain_text("time: 99 selects nothing from 0 to 17.")
    field.fill("3")
    field.press("Enter")
    expect(data.get_by_role("slider", name="time: index")).to_be_visible()
    expect(data).to_contain_text(re.compile("1 . 96 . 192 of int16"))
    part_of.get_by_role("button", name="Transpose").click()
    expect(part_of.get_by_label("Down")).to_have_value("2")


def test_absent_chunks_and_the_menu(parts: Page) -> None:
    keys = part(parts, "Keys")
    keys.get_by_role("button", name="Problems only").click()
    expect(row(keys, "wind")).to_have_count(0)
    row(keys, "sst").click()
    parts.keyboard.press("ArrowRight")
    expect(row(keys, "5.0.0")).to_be_visible()
    parts.keyboard.type("4.0.1")
    absent = row(keys, "4.0.1")
    expect(absent).to_contain_text("no reference")
    expect(absent).to_have_attribute("aria-selected", "true")
    expect(part(parts, "Chunks").get_by_role("status")).to_contain_text("reads as the fill value")
    parts.keyboard.press("Shift+F10")
    copying = parts.get_by_role("menu", name="Copy")
    expect(copying.get_by_role("menuitem", name="Copy key")).to_be_focused()
    expect(copying.get_by_role("menuitem", name="Copy reference")).to_have_attribute(
        "aria-disabled", "true"
    )
    assert violations(parts, within=".jp-OutputArea-output") == []
    parts.keyboard.press("Escape")
    expect(keys.get_by_role("treegrid")).to_be_focused()


def test_targets_say_what_they_are(parts: Page) -> None:
    targets = part(parts, "Files")
    expect(targets.get_by_role("grid")).to_contain_text("not checked")
    targets.get_by_role("button", name="Check size and reachability").click()
    expect(targets.get_by_role("grid")).to_contain_text("ranges inside")
    expect(targets.get_by_role("grid")).not_to_contain_text("good")
    expect(targets).to_contain_text("Found:")


@pytest.mark.both_hosts
def test_the_explorer_keeps_its_arrangement(explorer: Locator) -> None:
    explorer.get_by_role("separator", name="Width of the keys").press("End")
    kept = explorer.page.evaluate("JSON.parse(localStorage.getItem('refexplorer.layout'))")
    assert kept == {"tree": 60, "aside": 24, "bound": 1_000_000, "budget": None}
