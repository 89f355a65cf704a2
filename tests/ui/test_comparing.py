"""Two sets beside each other in the map of chunks, told without colours too."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Page, expect

from tests.helpers.browsing import violations
from tests.helpers.hosts import Lab

SETS = """
import refexplorer as rx
from refexplorer import demo
before = rx.open_references(demo.path("sst.v0.json"))
after = dict(before.to_v0())
del after["sst/0.0.0"]
after["sst/1.0.0"] = ["other.nc", *after["sst/1.0.0"][1:]]
"""
GRID = SETS + 'rx.ChunkGrid(after, compare=before, selection="sst")'
EXPLORER = SETS + 'rx.explore(after, selection="sst")'


def test_what_became_of_chunks_is_drawn_and_told(lab: Lab, page: Page) -> None:
    lab.open(page, "changes", [GRID])
    legend = page.get_by_role("list", name="Legend")
    expect(legend).to_contain_text("M moved to another target: 1", timeout=60_000)
    expect(legend).to_contain_text("- removed: 1")
    map_ = page.get_by_role(
        "application", name=re.compile("since the other set: 16 the same, 1 rem")
    )
    map_.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text(re.compile("chunk 0, 0, 0 · .* · removed"))).to_be_visible()
    table = page.get_by_role("region", name="Keys that differ")
    expect(table).to_contain_text("other.nc")
    assert violations(page, within=".jp-OutputArea-output") == []


def test_a_person_names_the_other_set(lab: Lab, page: Page) -> None:
    (lab.folder / "older.json").write_text(json.dumps({"sst/1.0.0": ["older.nc"]}))
    lab.open(page, "comparing", [EXPLORER])
    page.get_by_role("tab", name="Chunks").click(timeout=60_000)
    field = page.get_by_label("Compare with another set")
    field.fill("missing.json")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("missing.json")
    field.fill("older.json")
    page.keyboard.press("Enter")
    expect(page.get_by_role("list", name="Legend")).to_contain_text("+ added: 16")
    page.get_by_role("button", name="Stop comparing").click()
    expect(page.get_by_role("list", name="Legend")).to_contain_text("sst_2025-08.nc")
