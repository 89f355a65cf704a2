"""The first look at a broken set: what is wrong, where, and the way to it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import refexplorer as rx
from refexplorer import demo
from tests.helpers.browsing import (
    details,
    looked_at,
    open_in_host,
    open_on_page,
    show,
    violations,
    violations_in_both_colours,
)
from tests.helpers.hosts import PanelPage

BROKEN = """
import refexplorer as rx
from refexplorer import demo
from refexplorer import demo
rx.explore(demo.path("broken.json"))
"""


@pytest.fixture
def broken(request: pytest.FixtureRequest, host: str, page: Page) -> Locator:
    """The explorer of ``broken.json``."""
    open_in_host(request, host, page, BROKEN, "Ten mistakes")
    return page.get_by_role("region", name="Reference set broken.json")


def states(broken: Locator) -> Locator:
    """The table of arrays and states: the chunks of the set, where no array is selected."""
    return show(broken, "Chunks").get_by_role("table", name="Arrays and the states of their chunks")


def test_each_number_leads_to_what_it_counts(broken: Locator) -> None:
    table = states(broken)
    worst = table.get_by_role("row").nth(1)
    for text in ("sst", "18 \N{MULTIPLICATION SIGN} 96 \N{MULTIPLICATION SIGN} 192 int16"):
        expect(worst).to_contain_text(text)
    heads = table.get_by_role("columnheader").all_inner_texts()
    shown = ["Array", "Time", "Referenced", "No reference", "Rejected", "Failed", "Not read"]
    assert [head.strip(" \n▾▴") for head in heads if head.strip(" \n▾▴") in shown] == shown
    table.get_by_role("button", name="4 chunks of sst rejected: list them").click()
    tree = broken.get_by_role("treegrid")
    rows = tree.locator(".rows").get_by_role("row")
    expect(rows).to_have_count(4)
    expect(rows.first).to_contain_text("sst/5.0.0")
    expect(broken.get_by_role("group", name="Filter")).to_contain_text("4 chunks rejected of sst")
    about = details(broken, "The set")
    expect(about.get_by_role("heading", name="6 findings about sst")).to_be_visible()
    rows.first.click()
    expect(details(broken, "Key")).to_contain_text("sst/5.0.0")
    expect(rows).to_have_count(4)
    expect(looked_at(broken, "Chunks").get_by_role("application").first).to_be_visible()
    expect(looked_at(broken).get_by_role("heading", name="sst", exact=True).first).to_be_visible()
    lab = broken.page.locator(".jp-OutputArea-output").count()
    assert violations(broken.page, within=".jp-OutputArea-output" if lab else None) == []
    broken.get_by_role("button", name="Show all keys").click()
    expect(tree).to_contain_text("wind_lat")


def test_reading_and_asking_fill_in_what_was_not_known(broken: Locator) -> None:
    table = states(broken)
    # all but those of the small picture that was drawn first
    table.get_by_role("button", name="11 chunks of sst not read: list them").click()
    cell = broken.get_by_role("gridcell", name="sst/3.0.0", exact=True)
    cell.click()
    expect(show(broken, "Values")).to_contain_text("there is no such file")
    looked_at(broken).get_by_role("button", name="The set").click()
    states(broken)
    expect(table.get_by_role("button", name="1 chunk of sst failed: list them")).to_be_visible()
    about = details(broken, "The set")
    about.get_by_role("button", name="Check size and reachability").click()
    lost = about.get_by_role("list", name="Files with problems")
    lost.get_by_role("button", name="sst_2025-10.nc").click()
    expect(broken.get_by_role("heading", name="sst_2025-10.nc")).to_be_visible()


def test_the_set_is_compared_with_its_files(broken: Locator) -> None:
    table = states(broken)
    heads = table.get_by_role("columnheader")
    expect(heads.filter(has_text="Differs from file")).to_have_count(0)
    about = details(broken, "The set")
    about.get_by_role("button", name="Compare with the files").click()
    found = about.get_by_role("list", name="What differs from the files")
    expect(found).to_be_visible()
    expect(about.get_by_role("button", name="Repair …")).to_be_visible()
    expect(heads.filter(has_text="Differs from file")).to_have_count(1)
    expect(about.get_by_role("button", name="Compare again")).to_be_visible()
    expect(broken.get_by_text("Not compared: ")).to_be_visible()
    lab = broken.page.locator(".jp-OutputArea-output").count()
    assert violations(broken.page, within=".jp-OutputArea-output" if lab else None) == []
    expect(about).not_to_contain_text("Not checked yet.")  # its files were read
    verdict = broken.get_by_role("status", name="Verdict")
    expect(verdict).to_contain_text(re.compile(r"Compared at \d\d:\d\d\."))
    first = found.get_by_title("Show the key").first
    key = first.inner_text()
    verdict.get_by_role("button", name="Show").click()
    about = details(broken, "Key")
    expect(about.get_by_role("heading", name=key, exact=True)).to_be_visible()
    expect(about).to_contain_text(re.compile("checked✕"))
    row = broken.get_by_role("treegrid").locator("[aria-selected=true]")
    expect(row).to_contain_text(key.rpartition("/")[2])


def test_repairing_shows_what_would_change_first(
    panel_page: PanelPage, browser: Browser, tmp_path: Path
) -> None:
    output = tmp_path / "new.json"
    with browser.new_context() as owner:  # who is known by a cookie, which others must not have
        page = owner.new_page()
        page.goto(f"{panel_page.owned}&source=demo/broken.json")
        page.get_by_role("button", name="Repair …").first.click()
        repair = page.get_by_role("region", name="Repair")
        expect(repair.get_by_role("status")).to_have_text(
            "9 keys would change; the repaired set: the same as its files; "
            "1 chunk was compared by length only."
        )
        changes = repair.get_by_role("list", name="Keys that would change")
        expect(changes.get_by_role("listitem")).to_have_count(9)
        assert violations_in_both_colours(page) == []
        repair.get_by_role("textbox", name="New file").fill(str(output))
        repair.get_by_role("button", name="Write").click()
        expect(repair).to_contain_text("✓ 60 keys written to")
    folder = demo.path("sst.v1.json").parent
    assert rx.open_references(output).allowing(folder).verify().good


def test_the_table_sorts_by_keyboard(broken: Locator) -> None:
    table = states(broken)
    head = table.get_by_role("columnheader", name="Array")
    head.get_by_role("button").focus()
    broken.page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(table.get_by_role("row").nth(1)).to_contain_text("time")
    broken.page.keyboard.press("Enter")
    expect(table.get_by_role("row").nth(1)).to_contain_text("land")


def test_trouble_is_seen_in_the_tree_and_can_be_all_of_it(broken: Locator) -> None:
    tree, keyboard = broken.get_by_role("treegrid"), broken.page.keyboard
    sst = tree.get_by_role("row").filter(has=broken.page.get_by_role("gridcell", name="sst"))
    expect(sst).to_contain_text("4 chunks rejected, ")
    expect(sst).to_contain_text("1 chunk without a reference")
    expect(sst).to_contain_text("2 chunks that share bytes with another reference")
    broken.get_by_role("button", name="Problems only").click()
    expect(tree).to_have_attribute("aria-rowcount", "3")  # with that of the headings
    sst.click()
    keyboard.press("ArrowRight")
    # Its own row is among them, and what fails when the picture is read.
    expect(tree).to_have_attribute("aria-rowcount", "12")
    expect(tree).to_contain_text("3.0.0")
    broken.get_by_role("button", name="absent chunks 1").click()
    expect(tree.locator(".rows").get_by_role("row")).to_have_count(1)
    expect(tree).to_contain_text("sst/4.0.1")
    broken.get_by_role("searchbox").fill("2025-10")
    expect(broken.get_by_role("search")).to_contain_text("1 key found, 1 of them by file")
    expect(tree).to_contain_text("sst/3.0.0")


def test_a_click_is_on_the_row_that_was_pressed(broken: Locator) -> None:
    tree, page = broken.get_by_role("treegrid"), broken.page
    tree.get_by_role("gridcell", name="sst", exact=True).hover()
    page.mouse.down()
    broken.get_by_role("button", name="Problems only").evaluate("button => button.click()")
    expect(tree).to_have_attribute("aria-rowcount", "3")
    page.mouse.up()
    expect(tree.locator("[aria-selected=true]")).to_contain_text("sst")


@pytest.mark.parametrize("width", [600, 1000, 1600])
def test_the_key_is_the_last_to_be_cut(panel_page: PanelPage, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    open_on_page(page, panel_page.url, "Ten mistakes")
    tree = page.get_by_role("treegrid")
    expect(tree).to_contain_text("wind_lat")
    if width == 1600:
        page.get_by_role("separator", name="Width of the keys").press("End")
    # it is there once the chunks are counted
    expect(tree.get_by_role("columnheader", name="Problems")).to_be_visible()
    heads = tree.get_by_role("columnheader").all_inner_texts()
    shown = ["Key", "Problems", "Kind", "Size", "File or shape", "Origin"]
    assert [text for text in heads if text] == shown[: {600: 5, 1000: 3, 1600: 6}[width]]
    if width != 1000:
        shape = "18 \N{MULTIPLICATION SIGN} 96 \N{MULTIPLICATION SIGN} 192 int16"
        expect(tree.locator(".target", has_text=shape)).to_have_attribute("title", shape)
    assert violations(page) == []


def test_statements_lead_to_what_they_say(broken: Locator) -> None:
    verdict = broken.get_by_role("region", name="Verdict")
    tree = broken.get_by_role("treegrid")
    verdict.get_by_role("button", name="6 errors").click()
    expect(broken.get_by_role("heading", name="6 errors")).to_be_in_viewport()
    verdict.get_by_role("button", name="5 files").click()
    targets = looked_at(broken, "Files")
    targets.get_by_role("button", name="List its keys").click()
    expect(broken.get_by_role("group", name="Filter")).to_contain_text("keys of sst_2025-07.nc")
    tree.get_by_role("gridcell", name="sst/1.0.1", exact=True).click()
    panel = details(broken, "Key")
    panel.get_by_role("button", name="4 rejected by errors").click()
    expect(tree).to_contain_text("The offset -1 is negative.")  # the cause of one of them
    panel.get_by_role("button", name="Show the files of this array").click()
    expect(targets).to_contain_text("Files of sst")
    expect(targets.get_by_role("grid", name="Files").get_by_role("row")).to_have_count(5)


@pytest.mark.both_hosts
def test_the_dataset_leads_to_its_arrays(broken: Locator) -> None:
    frame = broken.get_by_title("The dataset as xarray shows it").content_frame
    expect(frame.get_by_text("xarray.Dataset", exact=True)).to_be_visible()
    frame.get_by_role("link", name="wind", exact=True).click()
    selected = broken.get_by_role("treegrid").locator("[aria-selected=true]")
    expect(selected).to_contain_text("wind")
    expect(details(broken, "Key")).to_contain_text("Array wind")


def test_a_note_leads_to_the_page_of_its_code(broken: Locator) -> None:
    notes = details(broken, "The set")
    notes.get_by_role("button", name="What is this? undefined-name").first.click()
    page = notes.get_by_role("region", name="About undefined-name")
    expect(page).to_contain_text("What readers do")
    expect(page.get_by_role("group", name="Example")).to_contain_text("http://{{u}}/f")
    lab = broken.page.locator(".jp-OutputArea-output").count() > 0
    assert violations(broken.page, within=".jp-OutputArea-output" if lab else None) == []
    notes.get_by_role("button", name="Close undefined-name").click()
    expect(page).to_have_count(0)
