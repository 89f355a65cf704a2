"""Small things that are often met, on the page and in a notebook."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.helpers.browsing import (
    details,
    follow,
    looked_at,
    menu,
    open_file,
    start,
    violations,
)
from tests.helpers.hosts import PanelPage

_IS_ONE_LINE = "name => name.getClientRects()[0]?.height < 24"
_FITS = "numbers => numbers.scrollWidth <= numbers.clientWidth"
_ARE_APART = """(ruler) => {
  const texts = [...ruler.querySelectorAll("svg text")];
  const boxes = texts
    .filter((text) => /^[\\d.]/.test(text.textContent))
    .map((text) => text.getBoundingClientRect())
    .sort((one, two) => one.left - two.left);
  return boxes.length > 1 && boxes.every((box, at) => at === 0 || boxes[at - 1].right < box.left);
}"""


def array(shape: list[int], dtype: str = "|u1", **more: object) -> str:
    return json.dumps(
        {
            "zarr_format": 2, "shape": shape, "chunks": shape, "dtype": dtype, "order": "C",
            "fill_value": None, "compressor": None, "filters": None, **more,
        }
    )  # fmt: skip


@pytest.mark.both_hosts
def test_keys_lead_to_the_search_and_to_their_list(explorer: Locator) -> None:
    keyboard, page = explorer.page.keyboard, explorer.page
    expect(explorer.get_by_role("treegrid")).to_contain_text("sst")
    explorer.get_by_role("treegrid").focus()
    keyboard.press("/")
    search = explorer.get_by_role("searchbox")
    expect(search).to_be_focused()
    keyboard.type("a/?")
    expect(search).to_have_value("a/?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_have_count(0)
    explorer.get_by_role("treegrid").focus()
    keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_contain_text("search keys and files")
    lab = page.locator(".jp-OutputArea-output").count()
    assert violations(page, within=".jp-OutputArea-output" if lab else None) == []
    keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_sets_on_the_page_are_links(panel_page: PanelPage, page: Page) -> None:
    start(page, panel_page.url)
    link = page.get_by_role("link", name="Ten mistakes")
    expect(link).to_have_attribute("href", "?source=demo%2Fbroken.json")
    with page.context.expect_page() as opened:
        link.click(modifiers=["ControlOrMeta"])
    beside = opened.value
    expect(beside.get_by_role("region", name="Reference set broken.json")).to_be_visible()
    expect(page.get_by_role("heading", name="Explore a reference set")).to_be_visible()


def test_wide_tables_have_pages(panel_page: PanelPage, page: Page, tmp_path: Path) -> None:
    values = "".join(chr(column % 100) for column in range(300))
    (tmp_path / "set.json").write_text(json.dumps({"x/.zarray": array([3, 100]), "x/0.0": values}))
    open_file(page, panel_page.url, tmp_path / "set.json", "key=x&mode=table")
    panel = looked_at(page, "Values")
    pages = panel.get_by_role("group", name="Page of columns")
    expect(pages).to_contain_text("columns 1 to 40 of 100")
    pages.get_by_role("button", name="Next columns").click()
    pages.get_by_role("button", name="Next columns").click()
    expect(pages).to_contain_text("columns 81 to 100 of 100")
    expect(panel.get_by_role("columnheader").last).to_have_text("99")
    expect(panel.get_by_role("gridcell").last).to_have_text("99")
    expect(pages.get_by_role("button", name="Next columns")).to_be_disabled()


def test_false_that_is_the_fill_value_is_explained(
    panel_page: PanelPage, page: Page, tmp_path: Path
) -> None:
    meta = array([4], "|b1", fill_value=False)
    (tmp_path / "set.json").write_text(json.dumps({"x/.zarray": meta, "x/0": "\1\0\1\0"}))
    open_file(page, panel_page.url, tmp_path / "set.json", "key=x")
    panel = looked_at(page, "Values")
    expect(panel).to_contain_text(re.compile("2 missing: NaN is the fill value"))
    menu(panel, "Part and reading").get_by_role("checkbox", name="scale and offset").click()
    expect(panel).not_to_contain_text("missing:")


def test_cells_of_equal_steps_are_square(panel_page: PanelPage, page: Page, tmp_path: Path) -> None:
    (tmp_path / "set.json").write_text(
        json.dumps({"x/.zarray": array([50, 50]), "x/0.0": "ab" * 1250})
    )
    open_file(page, panel_page.url, tmp_path / "set.json", "key=x")
    panel = looked_at(page, "Values")
    picture = panel.locator(".figure canvas")
    expect(picture).to_be_visible()
    box = picture.bounding_box()
    assert box is not None
    assert abs(box["width"] - box["height"]) < 1


def test_names_numbers_and_questions_of_one_key(
    panel_page: PanelPage, page: Page, tmp_path: Path
) -> None:
    """Long names of attributes, wide numbers and bytes are whole; a question names its button."""
    meta = array([4, 4], "<f8")
    values = base64.b64encode(np.linspace(-1.5e12, 9.75e14, 16).tobytes()).decode()
    attributes = {"valid_range_of_the_measurement": [0, 1], "units": "m"}
    refs = {
        "x/.zarray": meta, "x/.zattrs": json.dumps(attributes), "x/0.0": f"base64:{values}",
        "y/.zarray": array([4]), "y/0": ["s3://bucket/f.nc", 0, 4],
    }  # fmt: skip
    (tmp_path / "set.json").write_text(json.dumps(refs))
    page.set_viewport_size({"width": 1000, "height": 800})
    open_file(page, panel_page.url, tmp_path / "set.json", "key=x")
    name = details(page).locator("dt", has_text="valid_range_of_the_measurement")
    page.wait_for_function(_IS_ONE_LINE, arg=name.element_handle())
    follow(page, tmp_path / "set.json", "key=x/0.0")
    details(page).get_by_role("button", name="Show bytes").click()
    numbers = page.get_by_role("group", name="Numbers at the cursor")
    expect(numbers).to_contain_text("float64")
    page.wait_for_function(_FITS, arg=numbers.element_handle())
    follow(page, tmp_path / "set.json", "key=x")
    page.wait_for_function(_ARE_APART, arg=page.locator(".ruler").first.element_handle())
    follow(page, tmp_path / "set.json", "key=y/0")
    panel = looked_at(page, "Values")
    allow = panel.get_by_role("button", name="Allow s3://bucket and read 4 B")
    expect(allow).to_be_visible()
    expect(panel).not_to_contain_text("pass allow")
    expect(panel).to_contain_text("1 request, 4 B from s3://bucket")
    expect(
        panel.get_by_role("application", name=re.compile("Chunks of y: 1 chunks"))
    ).to_be_visible()
