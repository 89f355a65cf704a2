"""The explorer as a person uses it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.helpers.browsing import details, row, show

SELECTED = re.compile("true")


def test_browse_and_explain_a_key(explorer: Locator, demo: Path) -> None:
    expect(explorer).to_contain_text("60 keys")
    row(explorer, "sst").click()
    explorer.page.keyboard.press("ArrowRight")
    chunk = row(explorer, "6.0.0")
    expect(chunk).to_have_attribute("aria-level", "2")
    chunk.click()
    panel = details(explorer, "Key")
    offset, length = json.loads((demo / "sst.v0.json").read_text())["sst/6.0.0"][1:]
    place = f"{offset:,} + {length:,} bytes"
    for text in ("sst/6.0.0", "byte range", "sst_2025-09.nc", place, "shuffle"):
        expect(panel).to_contain_text(text)


MOST_IS_IN_SIGHT = """explorer => {
    const within = explorer.getBoundingClientRect();
    const picture = explorer.querySelector("canvas").getBoundingClientRect();
    return within.width <= 1010 && picture.top + 0.65 * picture.height < within.bottom;
}"""
"""Of a square picture, in an explorer that is 1,000 px wide."""


@pytest.mark.both_hosts
def test_read_a_chunk_and_draw_it(explorer: Locator) -> None:
    row(explorer, "sst").click()
    explorer.page.keyboard.press("ArrowRight")
    row(explorer, "6.0.0").click()
    panel = show(explorer, "Values")
    expect(panel.get_by_label("time: index or slice")).to_have_value("12:14")  # of the chunk
    expect(panel).to_contain_text("14.66 to 29.19 degree_Celsius")
    expect(panel).to_contain_text("5,790 missing")
    expect(panel.get_by_role("application", name="sea surface temperature")).to_be_visible()
    expect(panel.locator("canvas, svg").first).to_be_visible()
    beside = 1400 - explorer.evaluate("explorer => explorer.clientWidth")
    explorer.page.set_viewport_size({"width": beside + 1000, "height": 900})
    explorer.page.wait_for_function(MOST_IS_IN_SIGHT, arg=explorer.element_handle())


def test_a_value_of_the_picture_shows_why_it_is_so(explorer: Locator) -> None:
    row(explorer, "sst").click()
    panel = show(explorer, "Values")
    picture = panel.get_by_role("application", name="sea surface temperature")
    picture.focus()
    picture.press("ArrowRight")
    picture.press("Enter")
    point = details(explorer, "Key").get_by_role("region", name="Point")
    expect(point.get_by_role("status")).to_contain_text("which xarray masks")
    chain = point.get_by_role("list", name="Where this value comes from")
    for step in ("chunk", "reference", "raw value"):
        expect(chain.get_by_role("listitem").filter(has_text=step).first).to_be_visible()


def test_read_a_small_array_and_draw_a_line(explorer: Locator) -> None:
    row(explorer, "lat").click()
    panel = show(explorer, "Values")
    expect(panel).to_contain_text("10.25 to 57.75")
    expect(panel.get_by_role("application", name="lat: line").locator("svg")).to_be_visible()


@pytest.mark.both_hosts
def test_keyboard_alone(explorer: Locator) -> None:
    keyboard = explorer.page.keyboard
    tree = explorer.get_by_role("treegrid")
    expect(row(explorer, "wind_lon")).to_be_visible()
    tree.focus()
    keyboard.press("End")
    expect(row(explorer, ".zgroup")).to_have_attribute("aria-selected", SELECTED)
    for _ in range(3):
        keyboard.press("ArrowUp")
    keyboard.press("ArrowRight")
    expect(row(explorer, "wind_lat")).to_have_attribute("aria-expanded", SELECTED)
    keyboard.press("ArrowRight")
    expect(tree.locator("[aria-selected=true]")).to_have_attribute("aria-level", "2")
    keyboard.press("ArrowLeft")
    expect(row(explorer, "wind_lat")).to_have_attribute("aria-selected", SELECTED)
    keyboard.press("ArrowLeft")
    expect(row(explorer, "wind_lat")).to_have_attribute("aria-expanded", "false")
    keyboard.press("Home")
    expect(tree.get_by_role("row").nth(1)).to_have_attribute("aria-selected", SELECTED)


@pytest.mark.both_hosts
def test_keys_in_quick_succession_act_in_order(explorer: Locator) -> None:
    keyboard = explorer.page.keyboard
    expect(row(explorer, "wind_lon")).to_be_visible()
    explorer.get_by_role("treegrid").focus()
    for key in (
        "End",
        *["ArrowUp"] * 3,
        "ArrowRight",
        "ArrowRight",
        "ArrowLeft",
        "ArrowLeft",
        "ArrowUp",
    ):
        keyboard.press(key)
    expect(row(explorer, "wind_lat")).to_have_attribute("aria-expanded", "false")
    above = explorer.get_by_role("treegrid").get_by_role("row").nth(-5)
    expect(above).to_have_attribute("aria-selected", SELECTED)


def test_find_keys(explorer: Locator) -> None:
    box = explorer.get_by_role("searchbox", name="Find keys")
    box.fill("wind/1*")
    tree = explorer.get_by_role("treegrid")
    expect(tree).to_contain_text("17.0.0")
    expect(tree).not_to_contain_text("0.0.1")
    box.fill("")
    expect(row(explorer, "time")).to_be_visible()
