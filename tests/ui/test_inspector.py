"""The key inspector as a person uses it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.helpers.browsing import details, open_file, row, violations_in_both_colours
from tests.helpers.hosts import PanelPage
from tests.helpers.servers import range_server
from tests.helpers.sets import raw_set


def choose(explorer: Locator, key: str) -> Locator:
    """Find a key and return the panel that shows it."""
    explorer.get_by_role("searchbox", name="Find keys").fill(key)
    row(explorer, key).click()
    panel = details(explorer, "Key")
    expect(panel.get_by_role("heading", name=key)).to_be_visible()
    return panel


def test_one_key_from_its_template_to_its_values(explorer: Locator) -> None:
    panel = choose(explorer, "wind/0.0.0")
    panel.get_by_role("button", name="Show derivation").click()
    came = panel.get_by_role("region", name="Derivation of this key")
    expect(came).to_contain_text("{{14040 + day * 4608}}")
    expect(came).to_contain_text("m = 0, day = 0")
    panel.get_by_role("button", name="Decode step by step").click()
    steps = panel.get_by_role("table", name="Steps from the reference")
    expect(steps.get_by_role("rowheader")).to_have_text(["reference", "raw bytes", "values"])
    expect(panel).to_contain_text("First values 6.0647")
    code = panel.get_by_role("region", name="Python code that opens it")
    expect(code).to_contain_text("simple_templates=False")
    expect(code).to_contain_text("fs.cat('wind/0.0.0')")


@pytest.mark.both_hosts
def test_bytes_by_keyboard_alone(explorer: Locator, demo: Path) -> None:
    data = (demo / "sst_2025-07.nc").read_bytes()[14040 : 14040 + 4608]
    panel = choose(explorer, "wind/0.0.0")
    panel.get_by_role("button", name="Show bytes").press("Enter")
    grid = panel.get_by_role("grid", name="Bytes from offset 0")
    grid.focus()
    keyboard = explorer.page.keyboard

    def expect_at(offset: int) -> None:
        cell = panel.get_by_role("gridcell", selected=True)
        expect(cell).to_have_text(f"{data[offset]:02x}")
        expect(cell).to_have_attribute("aria-label", f"{data[offset]:02x} at {offset:,}")
        expect(panel.get_by_role("table", name=f"At byte {offset:,}")).to_be_visible()

    expect_at(0)
    for key, offset in (
        ("ArrowRight", 1), ("ArrowDown", 17), ("End", 31), ("Home", 16), ("PageDown", 528),
        ("ArrowUp", 512), ("Control+End", 4607), ("ArrowRight", 4607), ("Control+Home", 0),
    ):  # fmt: skip
        keyboard.press(key)
        expect_at(offset)
    panel.get_by_role("textbox", name="Go to byte").fill("0x200")
    keyboard.press("Enter")
    expect_at(512)
    uint16 = panel.get_by_role("row", name="uint16")
    expect(uint16).to_contain_text(str(int.from_bytes(data[512:514], "little")))
    expect(uint16).to_contain_text(str(int.from_bytes(data[512:514], "big")))


def write(folder: Path, url: str) -> Path:
    """Write a set of one compressed chunk."""
    path = folder / "set.json"
    path.write_text(json.dumps(raw_set([url, 0, 15], compressor={"id": "zlib", "level": 1})))
    return path


def test_the_question_comes_before_the_first_request(
    panel_page: PanelPage, page: Page, tmp_path: Path
) -> None:
    with range_server() as server:
        path = write(tmp_path, f"{server.url}/f")
        panel = choose(open_file(page, panel_page.url, path), "x/0")
        for button in ("Decode step by step", "Show bytes"):
            panel.get_by_role("button", name=button).click()
        asked = panel.get_by_role("group", name="Access")
        expect(asked).to_have_count(2)
        asked.first.get_by_role("button", name=f"Allow {server.url}").click()
        expect(panel.get_by_role("alert")).to_contain_text("may be inside the machine")
        assert server.requests == []


def test_where_it_breaks_and_what_axe_finds(
    panel_page: PanelPage, page: Page, tmp_path: Path
) -> None:
    (tmp_path / "f").write_bytes(b"not zlib at all")
    panel = choose(open_file(page, panel_page.url, write(tmp_path, "f")), "x/0")
    panel.get_by_role("button", name="Decode step by step").click()
    expect(panel.get_by_role("alert")).to_contain_text("The codec cannot decode the bytes")
    panel.get_by_role("button", name="Show bytes").click()
    expect(panel.get_by_role("grid")).to_contain_text("not zlib")
    panel.get_by_role("button", name="Show derivation").click()
    expect(panel.get_by_role("region", name="Derivation of this key")).to_be_visible()
    assert violations_in_both_colours(page) == []


def test_a_key_leads_to_its_place_in_the_editor_and_back(panel_page: PanelPage, page: Page) -> None:
    page.goto(f"{panel_page.url}?source=demo/sst.v1.json&key=wind/7.0.0")
    details(page).get_by_role("button", name="Show in the editor").click()
    derivation = page.get_by_role("region", name="Derivation of this key")
    expect(derivation).to_contain_text("wind/7.0.0 comes from gen[0]")
    page.get_by_role("grid", name="V0 keys").get_by_text("wind/6.0.0", exact=True).click()
    expect(derivation).to_contain_text("wind/6.0.0 comes from gen[0]")
    derivation.get_by_role("button", name="Show in the explorer").click()
    expect(page).to_have_url(re.compile(r"sst\.v1\.json&key=wind/6\.0\.0$"))
    expect(details(page).get_by_role("heading", name="wind/6.0.0")).to_be_visible()
    details(page).get_by_role("button", name="Show in the editor").click()
    expect(derivation).to_contain_text("wind/6.0.0 comes from gen[0]")
