"""Sets that try the layout: names longer than the window, and notes that lead to no key."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.helpers.hosts import running_page

WIDTH = 600


def test_long_names_stay_inside_a_narrow_window(page: Page, tmp_path: Path) -> None:
    name = "a_very_long_name_" * 20
    (tmp_path / "long.json").write_text(json.dumps({f"{name}/0": ["s3://b/" + "deep/" * 90, 4, 4]}))
    page.set_viewport_size({"width": WIDTH, "height": 800})
    with running_page("serve", str(tmp_path / "long.json")) as served:
        page.goto(f"{served.url}?source=long.json&view=key&key={name}/0")
        expect(page.get_by_role("tabpanel")).to_contain_text("deep/")
        for part in (
            page.get_by_role("button", name="Copy code"),
            page.get_by_role("columnheader", name="Origin"),
            page.get_by_role("tabpanel"),
        ):
            box = part.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= WIDTH


def test_a_note_without_a_key_shows_the_text_around_it(page: Page, tmp_path: Path) -> None:
    document = {"version": 1, "templates": {"u": "{{x|foo}}"}, "refs": {"a": "text"}}
    (tmp_path / "odd.json").write_text(json.dumps(document, indent=1))
    with running_page("serve", str(tmp_path / "odd.json")) as served:
        page.goto(served.url)
        page.get_by_role("button", name="The filter foo is not supported").click()
        lines = page.get_by_role("group", name="Lines around /templates/u")
        expect(lines).to_contain_text('"u": "{{x|foo}}"')
