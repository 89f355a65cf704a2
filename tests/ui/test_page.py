"""What only the served page has: its start screen, its ways from one set to another."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from refexplorer import demo
from tests.ui.conftest import open_on_page
from tests.ui.hosts import PanelPage, running_page


def test_start_screen_offers_every_set(panel_page: PanelPage, page: Page) -> None:
    page.goto(panel_page.url)
    for title in demo.sets():
        expect(page.get_by_role("button", name=title)).to_be_visible()


def test_from_one_set_to_another(panel_page: PanelPage, page: Page) -> None:
    open_on_page(page, panel_page.url, "Ten mistakes")
    expect(page.get_by_role("region", name="Reference set broken.json")).to_be_visible()
    page.get_by_role("button", name="Open another set").click()
    page.get_by_role("button", name="The same as parquet").click()
    expect(page.get_by_role("region", name="Reference set sst.parq")).to_be_visible()


@pytest.mark.parametrize(
    ("chunk", "reason"),
    [("1.0.0", "could not be decoded"), ("3.0.0", "sst_2025-10.nc")],
    ids=["shifted offset", "missing target"],
)
def test_failed_chunk_says_why(panel_page: PanelPage, page: Page, chunk: str, reason: str) -> None:
    open_on_page(page, panel_page.url, "Ten mistakes")
    page.get_by_role("treegrid").get_by_role("gridcell", name="sst", exact=True).click()
    page.keyboard.press("ArrowRight")
    page.get_by_role("gridcell", name=chunk, exact=True).click()
    page.get_by_role("tab", name="Data").click()
    panel = page.get_by_role("tabpanel", name="Data")
    panel.get_by_role("button", name="Read").click()
    expect(panel.get_by_role("alert")).to_contain_text(reason)
    expect(panel.get_by_role("application")).not_to_be_attached()


def test_unreadable_source_is_said(panel_page: PanelPage, page: Page) -> None:
    page.goto(panel_page.url)
    page.get_by_role("textbox").fill("nosuch.json")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("nosuch.json")


def test_serve_opens_a_set_at_once(page: Page) -> None:
    with running_page("serve", str(demo.path("sst.v0.json"))) as served:
        page.goto(served.url)
        expect(page.get_by_role("region", name="Reference set sst.v0.json")).to_be_visible()
