"""The template editor as a person uses it, the same in JupyterLab and on the page."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

GOOD = """{
 "version": 1,
 "templates": {"u": "s3://bucket"},
 "gen": [{
  "key": "x/{{i}}", "url": "{{u}}/{{i}}.nc",
  "offset": "{{i * 100}}", "length": "100", "dimensions": {"i": {"stop": 3}}
 }]
}"""


def replace_text(editor: Locator, text: str) -> None:
    editor.get_by_role("textbox").focus()
    editor.page.keyboard.press("Control+a")
    editor.page.keyboard.insert_text(text)


def test_shows_what_the_spec_prints(editor: Locator) -> None:
    table = editor.get_by_role("table", name="V0 keys")
    expect(editor).to_contain_text("9 keys")
    for text in ("key3", "http://text", "gen_key4", "http://server.domain/path_4", "5,000"):
        expect(table).to_contain_text(text)


def test_follows_each_keystroke(editor: Locator) -> None:
    table = editor.get_by_role("table", name="V0 keys")
    replace_text(editor, GOOD)
    expect(editor).to_contain_text("3 keys")
    expect(table).to_contain_text("s3://bucket/2.nc")
    replace_text(editor, GOOD.replace("s3://bucket", "s3://other"))
    expect(table).to_contain_text("s3://other/2.nc")


def test_marks_an_error_and_keeps_the_last_good_rows(editor: Locator) -> None:
    table = editor.get_by_role("table", name="V0 keys")
    replace_text(editor, GOOD)
    expect(table).to_contain_text("s3://bucket/2.nc")
    replace_text(editor, GOOD.replace('"length": "100",', '"length": "100"'))
    expect(editor.locator(".cm-lint-marker-error")).to_be_visible()
    expect(editor.get_by_role("status")).to_contain_text("line 6:44")
    expect(table).to_contain_text("s3://bucket/2.nc")


def test_one_bad_template_leaves_the_others(editor: Locator) -> None:
    replace_text(editor, GOOD.replace('"gen"', '"refs": {"a": ["{{nosuch}}"], "b": "text"}, "gen"'))
    expect(editor).to_contain_text("nosuch is not defined")
    expect(editor.get_by_role("table", name="V0 keys")).to_contain_text("s3://bucket/2.nc")
