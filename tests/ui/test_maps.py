"""The maps of chunks and of targets as a person uses them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.helpers.browsing import (
    looked_at,
    open_file,
    open_on_page,
    row,
    show,
    violations,
    violations_in_both_colours,
)
from tests.helpers.hosts import Lab, PanelPage
from tests.helpers.sets import metadata


def opened(explorer: Locator, look: str) -> Locator:
    """A look at the array ``sst``, once its picture is drawn."""
    row(explorer, "sst").click()
    panel = show(explorer, look)
    expect(panel.locator("canvas").first).to_be_visible()
    return panel


@pytest.mark.both_hosts
def test_from_a_chunk_to_its_key_and_back(explorer: Locator) -> None:
    panel = opened(explorer, "Chunks")
    picture = panel.get_by_role("application", name=re.compile("Chunks of sst: 9 . 1 . 2 chunks"))
    picture.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        explorer.page.keyboard.press(key)
    said = panel.get_by_role("status")
    expect(said).to_contain_text("chunk 1, 0, 1 · sst/1.0.1 · sst_2025-07.nc")
    explorer.page.keyboard.press("Enter")
    expect(row(explorer, "1.0.1")).to_have_attribute("aria-selected", "true")
    row(explorer, "4.0.0").click()
    picture.hover(position={"x": 2, "y": 2})
    expect(said).to_contain_text("Selected: chunk 4, 0, 0 · sst/4.0.0 · sst_2025-08.nc")


def test_a_range_and_its_key(explorer: Locator) -> None:
    panel = opened(explorer, "Files")
    table = panel.get_by_role("grid", name="Files")
    expect(table.get_by_role("row")).to_have_count(5)
    expect(panel).to_contain_text("13 ranges · 84 % of the first 110 kB referenced")
    table.get_by_text("sst_2025-09.nc").click()
    strip = panel.get_by_role("application", name=re.compile("Bytes of sst_2025-09.nc: 12 ranges"))
    strip.focus()
    explorer.page.keyboard.press("End")
    expect(panel.get_by_role("status").last).to_contain_text(
        re.compile(r"sst/8\.0\.1 · 103,\d+ \+ 12,\d+ bytes")
    )
    explorer.page.keyboard.press("Enter")
    expect(row(explorer, "8.0.1")).to_have_attribute("aria-selected", "true")
    panel.get_by_role("button", name="Show the selected range").click()
    expect(panel.get_by_role("button", name="Whole file")).to_be_enabled()
    row(explorer, "0.0.0").click()
    expect(panel.get_by_role("status").last).to_contain_text("Selected: sst/0.0.0")
    table.get_by_text("land.bin").click()
    expect(panel.get_by_role("button", name="land/0.0")).to_be_visible()


def test_colours_have_words(explorer: Locator) -> None:
    panel = opened(explorer, "Chunks")
    legend = panel.get_by_role("list", name="Legend")
    expect(legend).to_contain_text("sst_2025-07.nc")
    panel.get_by_label("Colour by").select_option("kind")
    expect(legend).to_contain_text("R byte range")
    panel.get_by_label("Colour by").select_option("size")
    expect(
        panel.get_by_role("img", name=re.compile("^Colours from 9.1. kB to 13.0 kB"))
    ).to_be_visible()
    panel.get_by_label("Array").select_option("wind")
    expect(panel.get_by_role("application", name=re.compile("Chunks of wind"))).to_be_visible()


def test_the_maps_of_a_broken_set(panel_page: PanelPage, page: Page) -> None:
    open_on_page(page, panel_page.url, "Ten mistakes")
    explorer = page.get_by_role("region", name="Reference set broken.json")
    panel = opened(explorer, "Chunks")
    expect(panel).to_contain_text("1 without a reference")
    for state in ("no reference", "rejected or failed"):  # four references cannot be used
        expect(panel.get_by_role("list", name="Legend")).to_contain_text(state)
    assert violations_in_both_colours(page) == []
    panel = opened(explorer, "Files")
    expect(panel).to_contain_text("1 overlap of 64 B")
    assert violations_in_both_colours(page) == []


def test_a_set_without_targets_says_so(panel_page: PanelPage, page: Page) -> None:
    open_on_page(page, panel_page.url, "The specification's own example")
    explorer = page.get_by_role("region", name="Reference set spec.v1.json")
    show(explorer, "Chunks")
    expect(looked_at(explorer)).to_contain_text(
        "This set has no arrays, so there are no chunks to map."
    )


MONTHS = """
import json, refexplorer as rx
meta = json.dumps({"zarr_format": 2, "shape": [24], "chunks": [1], "dtype": "<i4", "fill_value": 0,
                   "order": "C", "compressor": None, "filters": None})
months = [f"{2000 + n // 12}-{n % 12 + 1:02}" for n in range(24) if n != 7]
refs = {f"x/{n}": [f"s3://b/{month[:4]}/sea_surface_{month}.nc", 10 * n, 5 + n]
        for n, month in enumerate(months)}
rx.explore({"x/.zarray": meta, "y/.zarray": meta, "y/0": ["https://h/mask.nc", 0, 4], **refs})
"""


def test_targets_are_searched_sorted_folded_and_written_as_a_list(lab: Lab, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    lab.show(page, [MONTHS])
    panel = show(page, "Files")
    table = panel.get_by_role("grid", name="Files")
    table.get_by_role("button", name="Referenced").click()
    ordered = table.get_by_role("columnheader", name="Referenced")
    expect(ordered).to_have_attribute("aria-sort", "descending")  # the list below has the order
    panel.get_by_role("searchbox", name="Find files").fill("2000")
    expect(panel).to_contain_text("11 of 24 files")
    panel.get_by_role("button", name="Copy list").click()
    expect(panel).to_contain_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()").split()
    assert copied[0] == "s3://b/2000/sea_surface_2000-12.nc"
    assert len(copied) == 11
    with page.expect_download() as saved:
        panel.get_by_role("button", name="Save as CSV").click()
    assert saved.value.path().read_text().count("\n") == 12
    panel.get_by_role("searchbox", name="Find files").fill("")
    panel.get_by_label("Group by").select_option("folder")
    folded = panel.get_by_role("treegrid", name="Files")
    expect(folded.locator(".rows").get_by_role("row")).to_have_count(3)
    folded.get_by_text("s3://b/2001/").click()
    expect(folded.get_by_text("2001-12", exact=False).first).to_be_visible()
    assert violations(page, within=".jp-OutputArea-output") == []


def test_a_timeline_has_gaps_and_a_selection_its_targets(lab: Lab, page: Page) -> None:
    page.set_viewport_size({"width": 2800, "height": 1000})  # room for the column of arrays
    lab.show(page, [MONTHS])
    panel = show(page, "Files")
    timeline = panel.get_by_role("application", name=re.compile("^23 files from 2000-01-01"))
    expect(timeline).to_have_accessible_name(re.compile("1 period of 24 without one; 1 file"))
    timeline.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    rows = panel.get_by_role("grid", name="Files").locator(".rows").get_by_role("row")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("2000-02-01")
    rows.get_by_role("button", name="x").click()  # which variable uses this file
    expect(row(page.locator(".explorer"), "x")).to_have_attribute("aria-selected", "true")
    panel.get_by_role("button", name="Show all dates").click()
    panel.get_by_role("button", name="Only files of x").click()
    expect(panel).to_contain_text("23 of 24 files")
    panel.get_by_role("textbox", name="part").fill("2:5")
    page.keyboard.press("Enter")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("2000-03-01")


COLOUR = """(element, [x, y]) => {
  const canvas = element.querySelector(".figure canvas");
  const at = [x * canvas.width, y * canvas.height].map(Math.round);
  return [...canvas.getContext("2d").getImageData(...at, 1, 1).data].slice(0, 3);
}"""


def test_the_switch_recolours_the_picture(
    tmp_path: Path, panel_page: PanelPage, page: Page
) -> None:
    """Sixteen chunks of two files, half of them each: one lies past the end, one is not there."""
    (tmp_path / "one.bin").write_bytes(bytes(range(256)) * 8)
    (tmp_path / "two.bin").write_bytes(bytes(range(256)) * 8)
    refs = {
        f"x/{row}.{column}": [("one.bin", "two.bin")[column % 2], 64 * (4 * row + column), 64]
        for row in range(4)
        for column in range(4)
    }
    del refs["x/1.2"]
    refs["x/2.1"] = ["two.bin", 10**6, 64]
    named = '{"_ARRAY_DIMENSIONS": ["down", "across"]}'
    array = metadata([32, 32], [8, 8], dtype="|u1")
    document = {".zgroup": '{"zarr_format": 2}', "x/.zarray": array, "x/.zattrs": named, **refs}
    (tmp_path / "set.json").write_text(json.dumps(document))
    explorer = open_file(page, panel_page.url, tmp_path / "set.json", "key=x")
    expect(explorer.get_by_role("application")).to_be_visible()
    explorer.get_by_role("button", name="Zoom in").click()
    expect(page).to_have_url(re.compile("part="))
    expect(explorer.get_by_role("status").filter(has_text="Reading")).to_have_count(0)
    zoomed = page.url
    panel = show(explorer, "Chunks")
    legend = panel.get_by_role("list", name="Legend")
    expect(legend).to_contain_text("one.bin")
    expect(page).to_have_url(zoomed.replace("key=", "view=chunks&key="))
    corner = [panel.evaluate(COLOUR, [0.1 + part, 0.1]) for part in (0, 0.45)]
    assert corner[0] != corner[1]
    expect(legend).to_contain_text("no reference")
    panel.get_by_role("combobox", name="Colour by").select_option("kind")
    expect(legend).to_contain_text("byte range")
    assert violations_in_both_colours(page) == []
    panel.get_by_role("button", name="As a grid").click()
    expect(panel.get_by_role("application", name=re.compile("Chunks of x: 4 . 4"))).to_be_visible()
    files = show(explorer, "Files")
    expect(files.get_by_role("application", name=re.compile("^x: heatmap"))).to_be_visible()
    expect(files.get_by_role("grid", name="Files")).to_contain_text("two.bin")
