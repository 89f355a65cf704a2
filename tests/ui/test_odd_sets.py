"""Sets that try the layout: names longer than the window, and notes that lead to no key."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.helpers.browsing import details, looked_at, open_file, show
from tests.helpers.hosts import PanelPage
from tests.helpers.sets import metadata

WIDTH = 600
FITS = "panel => panel.scrollWidth <= panel.clientWidth"


def test_long_names_stay_inside_a_narrow_window(
    panel_page: PanelPage, page: Page, tmp_path: Path
) -> None:
    name = "a_very_long_name_" * 20
    group = {"zarr_format": 2}
    refs = {
        ".zgroup": group, "g/.zgroup": group, f"g/{name}/.zarray": metadata([1]),
        f"g/{name}/.zattrs": {"_ARRAY_DIMENSIONS": ["t"]},
        f"g/{name}/0": ["s3://b/" + "deep/" * 90, 4, 4],
    }  # fmt: skip
    (tmp_path / "long.json").write_text(json.dumps(refs))
    page.set_viewport_size({"width": WIDTH, "height": 800})
    open_file(page, panel_page.url, tmp_path / "long.json", f"key=g/{name}/0")
    panel = details(page, "Key")
    expect(panel).to_contain_text("deep/")
    for part in (
        page.get_by_role("button", name="Copy code"),
        page.get_by_role("columnheader", name="File"),
        panel,
    ):
        box = part.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= WIDTH
    panel = show(page, "Files")
    expect(panel.locator(".target-map canvas").first).to_be_visible()
    page.wait_for_function(FITS, arg=panel.element_handle())
    expect(looked_at(page)).to_contain_text("a_very_long_name_")
    for look in ("Values", "Chunks", "Map"):
        panel = show(page, look)
        page.wait_for_function(FITS, arg=panel.element_handle())
    panel = details(page, "The set")
    expect(panel.locator("section.files")).to_contain_text("At s3://b.")
    page.wait_for_function(FITS, arg=panel.element_handle())
    show(page, "Values")
    looked_at(page).get_by_role("button", name="The set").click()
    panel = looked_at(page, "Values")
    dataset = panel.get_by_title("The dataset as xarray shows it").content_frame
    expect(dataset.locator("body")).to_contain_text("xarray.DataTree")
    page.wait_for_function(FITS, arg=panel.element_handle())


def test_a_note_without_a_key_shows_the_text_around_it(
    panel_page: PanelPage, page: Page, tmp_path: Path
) -> None:
    document = {"version": 1, "templates": {"u": "{{x|foo}}"}, "refs": {"a": "text"}}
    (tmp_path / "odd.json").write_text(json.dumps(document, indent=1))
    open_file(page, panel_page.url, tmp_path / "odd.json")
    page.get_by_role("button", name="The filter foo is not supported").click()
    lines = page.get_by_role("group", name='Lines around templates["u"]')
    expect(lines).to_contain_text('"u": "{{x|foo}}"')
