"""Small things that are often met, on the page and in a notebook."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.helpers.browsing import violations
from tests.helpers.hosts import PanelPage, running_page


def array(shape: list[int], dtype: str = "|u1", **more: object) -> str:
    return json.dumps(
        {
            "zarr_format": 2, "shape": shape, "chunks": shape, "dtype": dtype, "order": "C",
            "fill_value": None, "compressor": None, "filters": None, **more,
        }
    )  # fmt: skip


def test_keys_lead_to_the_search_and_to_their_list(explorer: Locator) -> None:
    keyboard, page = explorer.page.keyboard, explorer.page
    expect(explorer.get_by_role("treegrid")).to_contain_text("sst")
    explorer.get_by_role("treegrid").focus()
    keyboard.press("/")
    search = explorer.get_by_role("searchbox")
    expect(search).to_be_focused()
    keyboard.type("a/?")
    expect(search).to_have_value("a/?")
    expect(page.get_by_role("dialog", name="Keys")).to_have_count(0)
    explorer.get_by_role("treegrid").focus()
    keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("search keys and targets")
    lab = page.locator(".jp-OutputArea-output").count()
    assert violations(page, within=".jp-OutputArea-output" if lab else None) == []
    keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_sets_on_the_page_are_links(panel_page: PanelPage, page: Page) -> None:
    page.goto(panel_page.url)
    link = page.get_by_role("link", name="Ten mistakes")
    expect(link).to_have_attribute("href", "?source=demo%2Fbroken.json")
    with page.context.expect_page() as opened:
        link.click(modifiers=["ControlOrMeta"])
    beside = opened.value
    expect(beside.get_by_role("region", name="Reference set broken.json")).to_be_visible()
    expect(page.get_by_role("heading", name="Explore a reference set")).to_be_visible()


def test_wide_tables_have_pages(page: Page, tmp_path: Path) -> None:
    values = "".join(chr(column % 100) for column in range(300))
    (tmp_path / "set.json").write_text(json.dumps({"x/.zarray": array([3, 100]), "x/0.0": values}))
    with running_page("serve", str(tmp_path / "set.json")) as served:
        page.goto(f"{served.url}?source=set.json&view=data&key=x&mode=table")
        panel = page.get_by_role("tabpanel", name="Data")
        panel.locator(".offer button").click()
        pages = panel.get_by_role("group", name="Page of columns")
        expect(pages).to_contain_text("columns 1 to 40 of 100")
        pages.get_by_role("button", name="Next columns").click()
        pages.get_by_role("button", name="Next columns").click()
        expect(pages).to_contain_text("columns 81 to 100 of 100")
        expect(panel.get_by_role("columnheader").last).to_have_text("99")
        expect(panel.get_by_role("cell").last).to_have_text("99")
        expect(pages.get_by_role("button", name="Next columns")).to_be_disabled()


def test_false_that_is_the_fill_value_is_explained(page: Page, tmp_path: Path) -> None:
    meta = array([4], "|b1", fill_value=False)
    (tmp_path / "set.json").write_text(json.dumps({"x/.zarray": meta, "x/0": "\1\0\1\0"}))
    with running_page("serve", str(tmp_path / "set.json")) as served:
        page.goto(f"{served.url}?source=set.json&view=data&key=x")
        panel = page.get_by_role("tabpanel", name="Data")
        panel.locator(".offer button").click()
        expect(panel).to_contain_text(re.compile("2 missing: NaN stands for the fill value"))
        panel.get_by_role("checkbox", name="scale and offset").click()
        expect(panel).not_to_contain_text("missing:")


def test_cells_of_equal_steps_are_square(page: Page, tmp_path: Path) -> None:
    (tmp_path / "set.json").write_text(
        json.dumps({"x/.zarray": array([50, 50]), "x/0.0": "ab" * 1250})
    )
    with running_page("serve", str(tmp_path / "set.json")) as served:
        page.goto(f"{served.url}?source=set.json&view=data&key=x")
        panel = page.get_by_role("tabpanel", name="Data")
        panel.locator(".offer button").click()
        picture = panel.locator(".figure image")
        expect(picture).to_be_visible()
        box = picture.bounding_box()
        assert box is not None
        assert abs(box["width"] - box["height"]) < 1
