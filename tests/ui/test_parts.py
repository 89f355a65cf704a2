"""The part that the controls name is the one that is drawn, or the picture is said to be old."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.helpers.browsing import looked_at, menu, row, show, violations
from tests.helpers.hosts import PanelPage


def data(page: Page, url: str, **more: str) -> Locator:
    query = "&".join(f"{name}={value}" for name, value in more.items())
    page.goto(f"{url}?source=demo/sst.v1.json&{query}")
    return looked_at(page, "Values")


def test_an_old_picture_is_dimmed_and_said_to_be_old(panel_page: PanelPage, page: Page) -> None:
    panel = data(page, panel_page.url, key="sst", part="0,:,:")
    old = panel.locator(".outcome.old")
    expect(panel.get_by_role("application")).to_be_visible()
    expect(old).to_have_count(0)
    part = menu(panel, "Part and reading")
    part.get_by_role("combobox", name="Read other selections automatically").select_option("never")
    field = part.get_by_role("textbox", name="time: index or slice")
    field.fill("-1")
    field.press("Tab")
    expect(old).to_be_visible()
    expect(panel).to_contain_text("the picture shows")
    expect(field).to_have_value("17")
    panel.get_by_role("button", name=re.compile("^Read .* from ")).click()
    expect(old).to_have_count(0)


@pytest.mark.both_hosts
def test_a_cheap_part_is_read_by_itself_and_the_focus_goes_on(explorer: Locator) -> None:
    row(explorer, "sst").click()
    panel = show(explorer, "Values")
    expect(panel.get_by_role("application")).to_be_visible()
    part = menu(panel, "Part and reading")
    field = part.get_by_role("textbox", name="time: index or slice")
    field.fill("0")
    field.press("Enter")
    one = re.compile(r"temperature 1 . 96 . 192 of int16")
    expect(panel).to_contain_text(one)
    lat = panel.get_by_role("textbox", name="lat: index or slice")
    field.fill("12")
    field.press("Tab")
    expect(lat).to_be_focused()
    lat.fill("10:20")
    lat.press("Enter")  # before the plan of the first edit may be there
    expect(panel).to_contain_text("10 \N{MULTIPLICATION SIGN} 192 of int16")
    expect(panel.locator(".outcome.old")).to_have_count(0)
    expect(field).to_have_value("12")
    lat.fill("::0")
    lat.press("Enter")
    expect(panel.get_by_role("alert")).to_contain_text("the step of ::0 is 0")
    lat.fill(":")
    lat.press("Enter")
    field.fill("2025-08")  # a label, as xarray takes it
    field.press("Enter")
    expect(field).to_have_value("6:12")
    lab = explorer.page.locator(".jp-OutputArea-output").count()
    assert violations(explorer.page, within=".jp-OutputArea-output" if lab else None) == []


def test_axes_without_coordinates_say_so(panel_page: PanelPage, page: Page) -> None:
    page.goto(f"{panel_page.url}?source=demo/broken.json&key=sst/0.0.0")
    panel = looked_at(page, "Values")
    expect(panel).to_contain_text("lat is drawn by index")
