"""Versions of an Icechunk repository in a notebook: listed, compared, one opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.formats.icechunk.building import targets_of, write
from tests.helpers.browsing import details, violations
from tests.helpers.hosts import Lab

icechunk: Any = pytest.importorskip("icechunk")
pytestmark = pytest.mark.browser


def test_what_changed_since_and_another_version(lab: Lab, page: Page, tmp_path: Path) -> None:
    storage = icechunk.local_filesystem_storage(str(tmp_path / "repo"))
    write(storage, targets_of(tmp_path / "targets"))
    cell = f"import refexplorer as rx\nrx.explore({str(tmp_path / 'repo')!r})"
    lab.show(page, [cell])
    about = details(page, "The set")
    section = about.get_by_role("region", name="Versions of the repository")
    section.get_by_role("button", name="List branches, tags and snapshots").click()
    section.get_by_label("compared with").select_option("v1")
    section.get_by_role("button", name="What changed since").click()
    expect(section).to_contain_text("1 key differs")
    expect(section).to_contain_text("g/x/c/0/0")
    expect(section).to_contain_text("1 chunk written in g/x")
    assert violations(page, ".jp-OutputArea") == []
    section.get_by_label("Version", exact=True).select_option("v1")
    section.get_by_role("button", name="Open this version").click()
    expect(about).to_be_hidden()  # with the set that it was about
    expect(
        details(page, "The set").get_by_role("button", name="List branches, tags and snapshots")
    ).to_be_visible()
    expect(page.get_by_role("region", name="Verdict")).to_contain_text("repo")
