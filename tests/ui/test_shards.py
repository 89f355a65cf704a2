"""The inside of a shard as a person looks at it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.helpers.browsing import details, open_file, violations
from tests.helpers.hosts import PanelPage
from tests.helpers.shards import VALUES, opened, written

BY = "\u00d7"
pytestmark = pytest.mark.browser


def test_a_shard_from_its_index_to_an_inner_chunk(
    panel_page: PanelPage, page: Page, tmp_path: Path
) -> None:
    opened(tmp_path, written(tmp_path))
    open_file(page, panel_page.url, tmp_path / "set.json", "view=key&key=x%2Fc%2F1%2F1")
    panel = details(page, "Key")
    expect(panel).to_contain_text(f"2 {BY} 1, 32 in all; each chunk is a shard")
    panel.get_by_role("button", name="Read the shard index").click()
    expect(panel).to_contain_text(f"8 inner chunks of 2 {BY} 1, 6 of them empty")
    grid = panel.get_by_role("grid", name=f"Inner chunks, 2 {BY} 4")
    expect(grid.get_by_role("gridcell")).to_have_count(8)
    expect(grid.get_by_role("gridcell", name="empty")).to_have_count(6)
    grid.get_by_role("gridcell", name="0, 1").click()
    expect(panel).to_contain_text(f"0, 1 of 2 {BY} 4")
    panel.get_by_role("button", name="Decode this inner chunk step by step").click()
    values = ", ".join(map(str, VALUES[4:6, 5].tolist()))
    expect(panel).to_contain_text(f"First values {values}")
    page.keyboard.press("Shift+Tab")
    grid.get_by_role("gridcell", name="0, 1").press("ArrowDown")
    expect(panel).to_contain_text("empty: it reads as the fill value")
    assert violations(page) == []
