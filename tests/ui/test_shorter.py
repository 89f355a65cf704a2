"""A shorter V1 in the editor: seen, taken, undone."""

from __future__ import annotations

import json

from playwright.sync_api import Locator, expect

from tests.helpers.browsing import choose, replace_text

REGULAR = {f"x/{i}": [f"s3://bucket/{i}.nc", 8, 100 * i] for i in range(40)}


def test_a_shorter_text_is_taken_and_undone(editor: Locator) -> None:
    text = editor.get_by_role("textbox")
    replace_text(editor, json.dumps({"a": "text", **REGULAR}, indent=1))
    expect(editor).to_contain_text("41 keys")
    choose(editor, "Text", "Find a shorter V1")
    panel = editor.get_by_role("region", name="A shorter V1")
    expect(panel).to_contain_text("1 gen item for 40 keys, 1 key written out")
    expect(text).not_to_contain_text('"gen"')
    panel.get_by_role("button", name="Replace the text").click()
    expect(text).to_contain_text('"gen"')
    expect(editor.get_by_role("grid", name="V0 keys")).to_contain_text("gen[0]")
    text.focus()
    editor.page.keyboard.press("Control+z")
    expect(text).not_to_contain_text('"gen"')
    expect(editor).to_contain_text("41 keys")
