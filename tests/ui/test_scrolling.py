"""The tree of a large set: only what is on the screen is in the document, wherever that is."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.helpers.hosts import running_page

_JUMP = """(tree, share) => {
  tree.scrollTop = share * (tree.scrollHeight - tree.clientHeight);
  return Math.ceil(tree.scrollTop / 24);
}"""


def test_jumps_of_the_scroll_bar(tmp_path: Path, page: Page) -> None:
    path = tmp_path / "many.json"
    path.write_text(json.dumps({f"k{number:05}": "x" for number in range(20_000)}))
    with running_page("serve", str(path)) as served:
        page.goto(served.url)
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
