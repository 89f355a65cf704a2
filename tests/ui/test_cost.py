"""What reading costs: bars, sliders, shaded chunks, findings; by keyboard, too."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

import refexplorer as rx
from tests.helpers.browsing import (
    EXPLORE,
    looked_at,
    open_in_host,
    open_on_page,
    show,
    start,
    violations,
    violations_in_both_colours,
)
from tests.helpers.hosts import PanelPage
from tests.helpers.sets import metadata


@pytest.fixture
def cost(request: pytest.FixtureRequest, host: str, page: Page) -> Locator:
    """The tab of costs of ``sst.v1.json``."""
    open_in_host(request, host, page, EXPLORE, "The same with templates")
    region = page.get_by_role("region", name="Reference set sst.v1.json")
    expect(show(region, "Cost").get_by_role("table")).to_be_visible()
    region.get_by_role("button", name="Change", exact=True).click()  # the details, where narrow
    return region


def row(cost: Locator, name: str) -> Locator:
    return cost.get_by_role("table", name="Cost of each access").get_by_role("row", name=name)


def test_bars_follow_the_sliders_and_the_reader(cost: Locator) -> None:
    series = row(cost, "one time series")
    expect(series).to_contain_text("9 chunks from 3 files")
    expect(series).to_contain_text("30 ms")
    latency = cost.get_by_role("slider", name="Latency")
    latency.focus()
    cost.page.keyboard.press("End")
    expect(series).to_contain_text("2 s")
    expect(latency).to_have_attribute("aria-valuetext", "2 s")
    cost.get_by_label("Place").select_option("lustre")
    expect(latency).to_have_attribute("aria-valuetext", "1 ms")
    whole = row(cost, "all of it")
    expect(whole.get_by_role("cell").nth(0)).to_have_text("18")
    cost.get_by_label("Reader").select_option("refexplorer")
    expect(whole.get_by_role("cell").nth(0)).to_have_text("3")
    lab = cost.page.locator(".jp-OutputArea-output").count()
    assert violations(cost.page, within=".jp-OutputArea-output" if lab else None) == []


def test_chunks_are_shaded_by_the_access_that_is_chosen(cost: Locator) -> None:
    shaded = cost.get_by_role("img", name="Chunks of sst that")
    expect(shaded).to_have_attribute(
        "aria-label", 'Chunks of sst that "one time series" reads: 50 % of the map'
    )
    button = cost.get_by_role("button", name="one map")
    button.focus()
    cost.page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(shaded).to_have_attribute(
        "aria-label", 'Chunks of sst that "one map" reads: 11 % of the map'
    )
    expect(shaded.locator(".read")).to_have_count(2)


def test_the_picture_is_coloured_by_the_access(panel_page: PanelPage, page: Page) -> None:
    chunks = {f"x/{row}.{column}": "abcd" for row in range(4) for column in range(3)}
    keys = {".zgroup": '{"zarr_format": 2}', "x/.zarray": metadata([8, 6], [2, 2], dtype="|i1")}
    start(page, panel_page.url)
    file = FilePayload(name="own.json", mimeType="", buffer=json.dumps({**keys, **chunks}).encode())
    page.get_by_label("Reference set to open").set_input_files(file)
    page.get_by_role("treegrid").get_by_role("gridcell", name="x", exact=True).click()
    expect(looked_at(page, "Values").locator(".figure canvas")).to_be_visible()
    panel = show(page, "Cost")
    legend = panel.get_by_role("list", name="Legend")
    expect(panel.locator(".figure canvas")).to_be_visible()
    expect(legend).to_contain_text("not read")
    panel.get_by_role("button", name="all of it").click()
    expect(legend).to_contain_text('by "all of it"')
    expect(legend).not_to_contain_text("not read")


def test_another_access_is_reported_and_what_is_none_is_said(cost: Locator) -> None:
    asked = cost.get_by_label("Another access pattern")
    asked.fill("0:9:2")
    asked.press("Enter")
    expect(row(cost, "as given")).to_contain_text("[0:9:2, :, :]")
    asked.fill("9, 9, 9, 9")
    asked.press("Enter")
    expect(cost.get_by_role("alert").first).to_contain_text("3 dimensions")


def test_findings_have_their_command(cost: Locator) -> None:
    found = cost.get_by_role("list", name="Findings by gain")
    expect(found).to_contain_text("--inline-coordinates")
    expect(found.get_by_role("listitem").first).to_contain_text("less")


def test_it_is_accessible_and_fits_a_narrow_page(panel_page: PanelPage, page: Page) -> None:
    page.set_viewport_size({"width": 600, "height": 900})
    open_on_page(page, panel_page.url, "The same with templates")
    shown = show(page, "Cost")
    expect(page.get_by_role("img", name="Chunks of sst that")).to_be_visible()
    assert violations_in_both_colours(page) == []
    assert shown.evaluate("panel => panel.scrollWidth - panel.clientWidth") <= 0
    shown.get_by_role("button", name="Change").click()
    assert violations_in_both_colours(page) == []
    panel = page.get_by_role("region", name="Cost of reading")
    wide = panel.evaluate("panel => panel.scrollWidth - panel.clientWidth")
    assert wide <= 0
    panel.get_by_label("Place").select_option("lustre")
    panel.get_by_role("slider", name="Latency").focus()
    page.keyboard.press("End")
    expect(page).to_have_url(re.compile(r"cost=.*place%3Dlustre.*latency%3D1\.99"))
    page.reload()
    looked_at(page).get_by_role("button", name="Change").click()
    expect(panel.get_by_role("slider", name="Latency")).to_have_attribute("aria-valuetext", "2 s")
    expect(panel.get_by_label("Place")).to_have_value("lustre")


def test_a_saved_page_has_it_and_its_sliders_move_the_bars(
    demo: Path, tmp_path: Path, page: Page
) -> None:
    rx.open_references(demo / "sst.v1.json").to_html(tmp_path / "saved.html")
    page.goto((tmp_path / "saved.html").as_uri())
    panel = show(page, "Cost")
    expect(row(panel, "one time series")).to_contain_text("30 ms")
    expect(panel.get_by_role("img", name="Chunks of sst that")).to_be_visible()
    page.get_by_role("slider", name="Latency").focus()
    page.keyboard.press("End")
    expect(row(panel, "one time series")).to_contain_text("2 s")
