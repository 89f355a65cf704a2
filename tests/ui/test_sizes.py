"""Sizes in a real browser: what is not known is said to be so, and no number loses digits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.cases.sizes import PAST, VARYING, VAST, WHOLE, text
from tests.helpers.browsing import details, follow, looked_at, open_file
from tests.helpers.hosts import PanelPage

CASES: dict[str, tuple[dict[str, Any], str]] = {
    "varying": (VARYING, "size not known"),
    "vast": (VAST, "10,000,000,000 files10,000\u00a0EB"),
    "whole": (WHOLE, "and 1 whole file (size unknown)"),
}


@pytest.mark.parametrize("name", CASES)
def test_verdict_tree_and_facts(
    panel_page: PanelPage, page: Page, tmp_path: Path, name: str
) -> None:
    references, verdict = CASES[name]
    (tmp_path / "set.json").write_text(text(references))
    explorer = open_file(page, panel_page.url, tmp_path / "set.json")
    expect(explorer.get_by_role("region", name="Verdict")).to_contain_text(verdict)
    row = explorer.get_by_role("treegrid").get_by_role("row").nth(1)
    expect(row).to_contain_text("10,000 EB" if name == "vast" else "not known")
    expect(explorer).not_to_contain_text(" 0 B")
    row.click()
    facts = details(explorer, "Key")
    expect(facts).to_contain_text("10,000 EB" if name == "vast" else "storednot known")


def test_the_maps_keep_every_digit_or_say_that_they_do_not(
    panel_page: PanelPage, page: Page, tmp_path: Path
) -> None:
    (tmp_path / "set.json").write_text(text(PAST))
    open_file(page, panel_page.url, tmp_path / "set.json", "view=targets&key=x/0")
    panel = looked_at(page, "Files")
    expect(panel).to_contain_text("Selected: x/0 · 4,611,686,018,427,387,903 + 100 bytes")
    follow(page, tmp_path / "set.json", "view=chunks&key=x/3")
    panel = looked_at(page, "Chunks")
    expect(panel).to_contain_text("about 9.01 PB + 7 bytes")


def test_what_was_not_read_is_not_called_right(
    panel_page: PanelPage, page: Page, tmp_path: Path
) -> None:
    (tmp_path / "set.json").write_text(text({"loose": ["s3://bucket/f.nc", 0, 4]}))
    open_file(page, panel_page.url, tmp_path / "set.json")
    panel = details(page, "The set")
    expect(panel).to_contain_text("No problems were found in the references.")
    expect(panel).to_contain_text("The files were not checked.")
    expect(panel).not_to_contain_text("Nothing is wrong")
