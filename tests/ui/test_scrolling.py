"""Lists of many rows: only what is on the screen is in the document, wherever that is."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.helpers.browsing import open_file, show, violations
from tests.helpers.hosts import PanelPage

_JUMP = """(list, share) => {
  list.scrollTop = share * (list.scrollHeight - list.clientHeight);
  return Math.ceil(list.scrollTop / 24);
}"""
KEYS = [f"k{number:05}" for number in range(20_000)]
_ANY = re.compile("")


def write(path: Path, references: dict[str, object]) -> Path:
    path.write_text(json.dumps(references))
    return path


def test_jumps_of_the_scroll_bar(panel_page: PanelPage, page: Page, tmp_path: Path) -> None:
    path = write(tmp_path / "keys.json", dict.fromkeys(KEYS, "x"))
    open_file(page, panel_page.url, path)
    tree = page.get_by_role("treegrid")
    expect(tree).to_contain_text("k00000")
    for share in (0.5, 0.9, 0.1):
        place = tree.evaluate(_JUMP, share) + 2
        row = tree.get_by_role("row").filter(has_text=f"k{place:05}")
        expect(row).to_be_in_viewport()
        expect(row).to_have_attribute("aria-rowindex", str(place + 2))
        expect(row).to_have_attribute("aria-posinset", str(place + 1))
    expect(tree.locator(".waiting")).to_have_count(0)
    assert tree.get_by_role("row").count() < 60


def test_the_row_of_the_keyboard_is_found_again(
    panel_page: PanelPage, page: Page, tmp_path: Path
) -> None:
    path = write(tmp_path / "targets.json", {key: [f"{key}.nc"] for key in KEYS[:300]})
    open_file(page, panel_page.url, path, "view=targets&other=demo/spec.v0.json")
    _leave_the_active_row(targets := page.get_by_role("grid", name="Files"))
    _return_to_it(targets)
    show(page, "Compare")
    tables = [page.get_by_role("grid", name="Keys that"), page.get_by_role("treegrid", name="Keys")]
    for table in tables:
        _leave_the_active_row(table)
    assert violations(page) == []
    for table in tables:
        _return_to_it(table)
    page.get_by_role("button", name="Template editor").click()
    _leave_the_active_row(keys := page.get_by_role("grid", name="V0 keys"))
    _return_to_it(keys)


def _leave_the_active_row(table: Locator) -> None:
    """Scroll it out of the document: who reads the list is told of no row that is not there."""
    first = table.locator("[aria-rowindex='2']")
    expect(first).to_have_text(re.compile(r"\w"))  # a click on a row that has not come does nothing
    first.click()
    expect(table).to_have_attribute("aria-activedescendant", first.get_attribute("id") or "")
    table.evaluate(_JUMP, 1)
    expect(first).to_have_count(0)
    expect(table).not_to_have_attribute("aria-activedescendant", _ANY)


def _return_to_it(table: Locator) -> None:
    table.focus()
    table.press("ArrowDown")
    second = table.locator("[aria-rowindex='3']")
    expect(second).to_be_in_viewport()
    expect(table).to_have_attribute("aria-activedescendant", second.get_attribute("id") or "")
