"""The template editor as a person uses it."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Locator, expect

from tests.helpers.browsing import GOOD, choose, replace_text


def test_shows_what_the_spec_prints(editor: Locator) -> None:
    table = editor.get_by_role("grid", name="V0 keys")
    expect(editor).to_contain_text("9 keys")
    for text in ("key3", "http://text", "gen_key4", "http://server.domain/path_4", "5,000"):
        expect(table).to_contain_text(text)


def test_follows_each_keystroke(editor: Locator) -> None:
    table = editor.get_by_role("grid", name="V0 keys")
    replace_text(editor, GOOD)
    expect(editor).to_contain_text("3 keys")
    expect(table).to_contain_text("s3://bucket/2.nc")
    replace_text(editor, GOOD.replace("s3://bucket", "s3://other"))
    expect(table).to_contain_text("s3://other/2.nc")


@pytest.mark.both_hosts
def test_the_buttons_stay_where_they_are_while_one_types(editor: Locator) -> None:
    expect(editor).to_contain_text("9 keys")
    names = ("Try values", "Examples", "Export")
    buttons = [editor.get_by_role("button", name=name) for name in names]
    before = [button.bounding_box() for button in buttons]
    replace_text(editor, GOOD)
    expect(editor).to_contain_text("3 keys, 9 removed")
    assert [button.bounding_box() for button in buttons] == before
    replace_text(editor, '{"a": ["http://h/f", 1, 2]}')
    expect(editor.get_by_role("button", name="Make it version 1")).to_be_visible()
    assert [button.bounding_box() for button in buttons] == before


def test_marks_an_error_and_keeps_the_last_good_rows(editor: Locator) -> None:
    table = editor.get_by_role("grid", name="V0 keys")
    replace_text(editor, GOOD)
    expect(table).to_contain_text("s3://bucket/2.nc")
    replace_text(editor, GOOD.replace('"length": "100",', '"length": "100"'))
    expect(editor.locator(".cm-lint-marker-error")).to_be_visible()
    expect(editor.locator(".foot")).to_contain_text("line 6:44")
    expect(table).to_contain_text("s3://bucket/2.nc")


def test_one_bad_template_leaves_the_others(editor: Locator) -> None:
    replace_text(editor, GOOD.replace('"gen"', '"refs": {"a": ["{{nosuch}}"], "b": "text"}, "gen"'))
    expect(editor).to_contain_text("nosuch is not defined")
    expect(editor.get_by_role("grid", name="V0 keys")).to_contain_text("s3://bucket/2.nc")


def test_a_row_unfolds_and_lights_up_its_source(editor: Locator) -> None:
    replace_text(editor, GOOD)
    grid = editor.get_by_role("grid", name="V0 keys")
    grid.get_by_role("gridcell", name="x/1", exact=True).click()
    panel = editor.get_by_role("region", name="Derivation of this key")
    for text in ("i = 1", "{{u}}/{{i}}.nc → s3://bucket/1.nc", "{{i * 100}} → 100"):
        expect(panel).to_contain_text(text)
    expect(editor.locator(".trace-value")).to_have_text(["{{i}}", "{{u}}", "{{i}}", "{{i * 100}}"])
    editor.page.keyboard.press("ArrowDown")
    expect(panel).to_contain_text("s3://bucket/2.nc")
    expect(grid.locator("[aria-selected=true]")).to_contain_text("x/2")
    replace_text(editor, GOOD.replace("bucket", "other"))
    expect(panel).to_contain_text("s3://other/2.nc")


def test_the_cursor_lights_up_the_rows_of_its_part(editor: Locator) -> None:
    replace_text(editor, GOOD.replace('"gen"', '"refs": {"a": ["{{u}}/a"], "b": "text"}, "gen"'))
    expect(editor).to_contain_text("5 keys")
    used = editor.get_by_role("grid", name="V0 keys").locator(".used")
    editor.get_by_text('"s3://bucket"').click()
    expect(used).to_have_count(4)
    editor.get_by_text("{{i * 100}}").click()
    expect(used).to_have_count(3)
    editor.get_by_text('"version"').click()
    expect(used).to_have_count(0)


@pytest.mark.both_hosts
def test_goes_to_a_key_among_many_and_takes_v0_away(editor: Locator) -> None:
    replace_text(editor, GOOD.replace('"stop": 3', '"stop": 1000000000000'))
    expect(editor).to_contain_text("1,000,000,000,000 keys")
    box = editor.get_by_role("searchbox", name="Go to a key or its number")
    box.fill("x/987654321012")
    box.press("Enter")
    chosen = editor.get_by_role("grid", name="V0 keys").locator("[aria-selected=true]")
    expect(chosen).to_contain_text("s3://bucket/987654321012.nc")
    choose(editor, "Export", "Copy V0")
    expect(editor).to_contain_text("at most 20,000,000 can be expanded")
    replace_text(editor, GOOD)
    with editor.page.expect_download() as download:
        choose(editor, "Export", "Save V0")
    saved = json.loads(download.value.path().read_text())
    assert saved["x/2"] == ["s3://bucket/2.nc", 200, 100]


@pytest.mark.both_hosts
def test_one_goes_to_a_key_with_any_panel_open(editor: Locator) -> None:
    replace_text(editor, GOOD.replace('"stop": 3', '"stop": 5000'))
    expect(editor).to_contain_text("5,000 keys")
    grid = editor.get_by_role("grid", name="V0 keys")
    box = editor.get_by_role("searchbox", name="Go to a key or its number")
    for panel, key in ((None, 4321), ("Try values", 77), ("Other readers", 2500)):
        if panel is not None:
            editor.get_by_role("button", name=panel, exact=True).click()
        box.fill(f"x/{key}")
        box.press("Enter")
        expect(grid.locator("[aria-selected=true]")).to_contain_text(f"x/{key}")
        expect(editor.get_by_role("region", name="Derivation of this key")).to_contain_text(
            f"i = {key}"
        )
        expect(grid.locator("[aria-selected=true]")).to_be_in_viewport(ratio=1)


@pytest.mark.both_hosts
def test_urls_keep_the_end_in_which_they_differ(editor: Locator) -> None:
    name = "a-long-name-that-all-of-the-files-have-in-common" * 3
    replace_text(editor, json.dumps({f"x/{n}": [f"s3://bucket/{name}-{n}.nc"] for n in range(3)}))
    ends = editor.get_by_role("grid", name="V0 keys").locator(".added .cut > :last-child")
    expect(ends).to_have_text([f"ommon-{n}.nc" for n in range(3)])
    for n in range(3):
        expect(ends.nth(n)).to_be_in_viewport(ratio=1)
