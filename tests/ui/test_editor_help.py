"""What helps while typing: quick fixes, completion, and help from the specification."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.helpers.browsing import GOOD, choose, open_on_page, replace_text
from tests.helpers.hosts import PanelPage

INTERACTION_MS = 150
"""CodeMirror takes no Enter for a list that has only just opened."""


@pytest.mark.both_hosts
def test_a_quick_fix_mends_and_can_be_undone(editor: Locator) -> None:
    replace_text(editor, GOOD.replace('"{{u}}/{{i}}.nc"', '"{{u}}/{{ii}}.nc"'))
    editor.get_by_role("button", name="Replace ii by i").click()
    expect(editor.get_by_role("grid", name="V0 keys")).to_contain_text("s3://bucket/2.nc")
    editor.page.keyboard.press("Control+z")
    expect(editor).to_contain_text("ii is not defined")


def test_completion_knows_fields_dimensions_and_filters(editor: Locator) -> None:
    replace_text(editor, GOOD.replace('  "offset": "{{i * 100}}", "length": "100",', " "))
    keyboard = editor.page.keyboard
    editor.get_by_text('"{{u}}/{{i}}.nc"').click()
    keyboard.press("End")
    keyboard.press("Enter")
    keyboard.type('"o')
    options = editor.get_by_role("option")
    expect(options.first).to_have_text('"offset"')
    expect(editor.locator(".cm-completionInfo")).to_contain_text("The first byte")
    editor.page.wait_for_timeout(INTERACTION_MS)
    keyboard.press("Enter")
    keyboard.type("{{")
    expect(options).to_have_text(["idimension", "utemplate"])
    keyboard.type("i|in")
    expect(options.first).to_have_text("int")


@pytest.mark.both_hosts
def test_hovering_says_what_the_specification_says(editor: Locator) -> None:
    replace_text(editor, GOOD)
    # The marks come last: a line that is drawn anew under a pointer at rest forgets the hover.
    expect(editor.locator(".cm-lintRange").first).to_be_visible()
    editor.get_by_text('"offset"').hover()
    expect(editor.locator(".cm-tooltip")).to_contain_text("It requires length")


def test_other_readers_say_why_they_differ(editor: Locator) -> None:
    replace_text(editor, GOOD)
    editor.get_by_role("button", name="Other readers", exact=True).click()
    panel = editor.get_by_role("region", name="Other readers")
    panel.get_by_role("button", name="GDAL").click()
    expect(panel).to_contain_text("templates is not supported")
    replace_text(editor, '{"a": ["s3://bucket/a", 0, 10]}')
    expect(panel).not_to_contain_text("templates is not supported")


def test_the_edited_set_opens_in_the_explorer(panel_page: PanelPage, page: Page) -> None:
    open_on_page(page, panel_page.url, "The specification's own example")
    page.get_by_role("button", name="Template editor").click()
    editor = page.get_by_role("region", name="Template editor")
    replace_text(editor, GOOD)
    expect(editor).to_contain_text("3 keys")
    choose(editor, "Export", "Open in explorer")
    explorer = page.get_by_role("region", name="Reference set Edited text")
    expect(explorer).to_contain_text("3 keys")
    page.get_by_role("button", name="Template editor").click()
    expect(editor.get_by_role("grid", name="V0 keys")).to_contain_text("s3://bucket/2.nc")
