"""The screen after a check: every part of it says what is known by then."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.helpers.browsing import details, looked_at, open_file, row, show
from tests.helpers.hosts import PanelPage
from tests.helpers.verifying import Changed, joined, write_files


@pytest.fixture
def changed(tmp_path: Path) -> Changed:
    """A set of three files in which nothing is wrong yet."""
    return Changed(joined(write_files(tmp_path)))


def opened(page: Page, url: str, folder: Path, changed: Changed, query: str = "") -> Locator:
    (folder / "set.json").write_text(json.dumps(changed.document))
    return open_file(page, url, folder / "set.json", query)


def compare(explorer: Locator) -> None:
    about = details(explorer, "The set")
    about.get_by_role("button", name="Compare with the files").click()
    expect(about.get_by_role("button", name="Compare again")).to_be_visible()


def test_the_list_of_problems_has_what_a_comparison_finds(
    panel_page: PanelPage, page: Page, tmp_path: Path, changed: Changed
) -> None:
    refs = changed.refs
    refs["foo/2.0.0"], refs["foo/2.1.0"] = refs["foo/2.1.0"], refs["foo/2.0.0"]
    refs["bar/1.0.0"] = refs["bar/0.0.0"]  # a problem that is known before
    explorer = opened(page, panel_page.url, tmp_path, changed)
    explorer.get_by_role("button", name="Problems only").click()
    expect(row(explorer, "bar")).to_be_visible()
    compare(explorer)
    expect(row(explorer, "foo")).to_contain_text("2 chunks different from their file")
    verdict = explorer.get_by_role("region", name="Verdict")
    verdict.get_by_role("button", name="differences from the files").click()
    expect(details(explorer, "The set")).to_contain_text("at a different position")


def test_another_packing_is_marked_at_its_attribute(
    panel_page: PanelPage, page: Page, tmp_path: Path, changed: Changed
) -> None:
    changed.metadata("foo/.zattrs", scale_factor=0.2)
    explorer = opened(page, panel_page.url, tmp_path, changed)
    about = details(explorer, "The set")
    expect(about).to_contain_text("No problems were found in the references. The files were not")
    compare(explorer)
    expect(about).to_contain_text("What was found in their files is below.")
    expect(about).not_to_contain_text("The files were not checked.")
    expect(row(explorer, "foo")).to_contain_text("✕1")
    explorer.get_by_role("button", name="Show", exact=True).click()
    rows = explorer.get_by_role("treegrid").locator(".rows").get_by_role("row")
    expect(rows).to_have_count(2)
    expect(row(explorer, ".zattrs")).to_contain_text("1 error")


def test_a_file_that_is_missing_is_in_the_verdict(
    panel_page: PanelPage, page: Page, tmp_path: Path, changed: Changed
) -> None:
    explorer = opened(page, panel_page.url, tmp_path, changed)
    (tmp_path / "o_0002.nc").unlink()
    details(explorer, "The set").get_by_role("button", name="Check size and reachability").click()
    verdict = explorer.get_by_role("status", name="Verdict")
    expect(verdict).to_contain_text("1 file with problems.")
    verdict.get_by_role("button", name="Show").click()
    lost = details(explorer, "The set").get_by_role("list", name="Files with problems")
    expect(lost).to_contain_text("o_0002.nc")
    expect(row(explorer, "foo")).to_be_visible()  # no key is known to be wrong
    states = show(explorer, "Files").get_by_role("grid", name="Files").get_by_role("row")
    expect(states.nth(1)).to_contain_text("✓ ranges inside")
    assert states.nth(1).get_by_text("✓").evaluate("cell => cell.scrollWidth <= cell.clientWidth")


@pytest.mark.parametrize("width", [700, 1000])
def test_show_opens_the_details(
    panel_page: PanelPage, page: Page, tmp_path: Path, changed: Changed, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    changed.refs["bar/1.0.0"][1] = -1
    explorer = opened(page, panel_page.url, tmp_path, changed)
    explorer.get_by_role("button", name="Show", exact=True).click()
    aside = explorer.get_by_role("complementary", name="Details")
    expect(aside).to_contain_text("The offset -1 is negative")


def test_keys_work_before_anything_has_the_focus(
    panel_page: PanelPage, page: Page, tmp_path: Path, changed: Changed
) -> None:
    opened(page, panel_page.url, tmp_path, changed)
    page.reload()
    explorer = page.get_by_role("region", name="Reference set set.json")
    tree, search = explorer.get_by_role("treegrid"), explorer.get_by_role("searchbox")
    expect(tree).to_contain_text("foo")
    page.keyboard.press("/")
    expect(search).to_be_focused()
    page.keyboard.type("lat")
    expect(tree).to_contain_text("lat/.zattrs")
    page.keyboard.press("ArrowDown")
    expect(tree).to_be_focused()
    expect(tree.locator("[aria-selected=true]")).to_contain_text("lat")
    page.keyboard.press("/")
    page.keyboard.press("F6")
    expect(search).not_to_be_focused()
    page.keyboard.press("/")
    page.keyboard.press("Escape")  # empties it
    page.keyboard.press("Escape")
    expect(tree).to_be_focused()
    tree.press("Escape")
    tree.press("Escape")
    frame = looked_at(explorer).get_by_title("The dataset as xarray shows it").content_frame
    frame.get_by_role("link", name="foo", exact=True).press("?")
    shortcuts = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(shortcuts).to_be_visible()
    shortcuts.press("Escape")
    expect(shortcuts).to_be_hidden()


def test_each_time_of_an_upright_axis_is_one_line(
    panel_page: PanelPage, page: Page, tmp_path: Path, changed: Changed
) -> None:
    explorer = opened(page, panel_page.url, tmp_path, changed, "key=time")
    labels = looked_at(explorer).get_by_label("y-axis tick label").locator("text")
    expect(labels.first).to_be_visible()
    for text in labels.all_text_contents():
        assert re.fullmatch(r"\d\d-\d\d", text), text
