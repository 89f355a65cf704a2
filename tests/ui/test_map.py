"""The map of the earth as a person uses it."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.helpers.browsing import details, looked_at, row, show, violations
from tests.helpers.hosts import PanelPage

PAINTED = """canvas => {
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
  return seen.size;
}"""
"""How many colours a canvas has."""


def test_from_a_place_to_its_chunk_and_from_a_pixel_to_its_value(explorer: Locator) -> None:
    panel = show(explorer, "Map")
    picture = panel.get_by_role("application", name=re.compile("Map of sst: equirectangular"))
    expect(picture).to_be_visible()
    expect(panel).to_contain_text("Each footprint includes all chunks above it: 9 along time.")
    before = picture.locator("canvas").evaluate(PAINTED)
    assert before > 4  # coastlines, graticule, chunks

    panel.get_by_role("combobox", name="Chunks").select_option("file")
    # the times of the demo lie in three files, and a footprint stands for all of them
    expect(panel.get_by_role("list", name="Legend")).to_have_text("several files")
    panel.get_by_role("combobox", name="Chunks").select_option("state")

    panel.get_by_label("Position: latitude and longitude").fill("20N 60W")
    explorer.page.keyboard.press("Enter")
    expect(panel.get_by_role("button", name=re.compile("is in 9 chunks of sst"))).to_be_visible()
    expect(row(explorer, "0.0.0")).to_have_attribute("aria-selected", "true")
    panel.get_by_label("Position: latitude and longitude").fill("somewhere")
    explorer.page.keyboard.press("Enter")
    expect(panel.get_by_role("alert")).to_contain_text("write latitude and longitude")

    panel.get_by_role("combobox", name="Chunks").select_option("outline")
    expect(panel.get_by_role("img", name=re.compile("^Colours of"))).to_be_visible()
    assert picture.locator("canvas").evaluate(PAINTED) > before

    for _ in range(2):
        panel.get_by_role("button", name="Zoom in").click()
    panel.get_by_role("button", name="Values in view").click()
    expect(panel).to_contain_text(re.compile(r"Drawn: sst\[.*\d+:\d+, \d+:\d+\]"))

    picture.focus()
    explorer.page.keyboard.press("ArrowRight")
    said = panel.get_by_role("status").filter(has_text="index")
    expect(said).to_contain_text(
        re.compile(r"°[NS] [\d.]+°[EW]: .*index 0, \d+, \d+ · sst/0\.\d\.\d")
    )
    explorer.page.keyboard.press("Enter")
    expect(panel.get_by_text("Selected:")).to_contain_text("sst/0.")
    for name in ("globe", "Natural Earth", "equal area (polar)"):
        panel.get_by_label("Projection").select_option(label=name)
        expect(panel.get_by_role("application")).to_have_attribute(
            "aria-label", re.compile(re.escape(name))
        )
    panel.get_by_role("button", name="Whole array").click()
    expect(picture).to_be_visible()
    lab = explorer.page.locator(".jp-OutputArea-output").count()
    within = ".jp-OutputArea-output" if lab else None
    assert violations(explorer.page, within=within) == []
    panel.get_by_role("button", name="Inspect its bytes").click()
    expect(details(explorer, "Key")).to_contain_text("sst/0.")
    show(explorer, "Values")
    expect(looked_at(explorer, "Values").get_by_role("application")).to_be_visible()


def test_the_page_keeps_its_view_in_the_address(panel_page: PanelPage, page: Page) -> None:
    page.goto(f"{panel_page.url}?source=demo/sst.v1.json&view=map&key=sst")
    panel = looked_at(page, "Map")
    expect(panel.get_by_role("application", name=re.compile("equirectangular"))).to_be_visible()
    panel.get_by_label("Projection").select_option(label="globe")
    expect(page).to_have_url(re.compile("earth="))
    page.reload()
    picture = panel.get_by_role("application", name=re.compile("Map of sst: globe"))
    expect(picture.locator("canvas")).to_be_visible()
    page.wait_for_function(
        f"canvas => ({PAINTED})(canvas) > 4", arg=picture.locator("canvas").element_handle()
    )


def test_the_map_says_which_day_it_shows(panel_page: PanelPage, page: Page) -> None:
    page.goto(f"{panel_page.url}?source=demo/sst.v1.json&view=map&key=sst")
    panel = looked_at(page, "Map")
    expect(panel.get_by_role("img", name=re.compile("^Colours of"))).to_be_visible()
    slider = panel.get_by_role("slider", name="time: index")
    expect(panel.get_by_text("2025-07-03", exact=True)).to_be_visible()
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    expect(panel.get_by_text("2025-07-13", exact=True)).to_be_visible()
    expect(panel).to_contain_text("Drawn: sst[2, :, :]")
    expect(page.locator("footer code")).to_have_text("refs.to_zarr()['sst'][2, :, :]")
    show(page, "Values")  # what can be copied is what is seen, on the picture, too
    expect(page.locator("footer code")).to_have_text("refs.to_zarr()['sst'][2, :, :]")
