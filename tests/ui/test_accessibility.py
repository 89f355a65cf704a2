"""axe-core finds nothing in any view, light or dark."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.helpers.browsing import (
    EDIT,
    EXPLORE,
    open_on_page,
    row,
    show,
    start,
    violations,
    violations_in_both_colours,
)
from tests.helpers.hosts import Lab, PanelPage

HARDLY_READ = '<p style="color: #ddd; background: #fff">words</p>'


def test_page(panel_page: PanelPage, page: Page) -> None:
    start(page, panel_page.url)
    assert violations_in_both_colours(page) == []
    open_on_page(page, panel_page.url, "Ten mistakes")
    expect(page.get_by_role("treegrid")).to_contain_text("sst")
    for key in (None, "sst"):
        if key is not None:
            row(page, key).click()
        for look in ("Values", "Chunks"):
            show(page, look)
            assert violations_in_both_colours(page) == []
    page.get_by_role("button", name="Template editor").click()
    rows = page.get_by_role("grid", name="V0 keys")
    expect(rows).to_contain_text("lat/.zarray")
    rows.get_by_role("gridcell").first.click()
    expect(page.get_by_role("region", name="Derivation of this key")).to_be_visible()
    page.get_by_role("button", name="Other readers", exact=True).click()
    expect(page.get_by_role("button", name="GDAL")).to_be_visible()
    assert violations_in_both_colours(page) == []
    page.get_by_role("button", name="Try values").click()
    expect(page.get_by_role("region", name="Try it")).to_be_visible()
    assert violations_in_both_colours(page) == []
    page.get_by_role("button", name="Exercises").click()
    page.get_by_role("button", name="Show a solution").click()
    expect(page.get_by_label("A solution")).to_be_visible()
    assert violations_in_both_colours(page) == []


def test_notebook(lab: Lab, page: Page) -> None:
    lab.show(page, [EXPLORE, EDIT])
    expect(page.get_by_role("treegrid")).to_contain_text("sst")
    expect(page.get_by_role("grid", name="V0 keys")).to_be_visible()
    output = ".jp-OutputArea-output"
    assert violations(page, within=output) == []
    expect(page.locator(output).get_by_role("main")).to_have_count(0)  # JupyterLab has its own
    expect(page.locator(output).get_by_role("heading", level=1)).to_have_count(0)


def test_text_that_can_hardly_be_read_is_found(page: Page) -> None:
    page.set_content(HARDLY_READ)
    (found,) = violations(page, within="p")
    assert found.startswith("color-contrast: ")
