"""The editor as a playground: its menus, examples, and another text that it is compared with."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.helpers.browsing import (
    GOOD,
    choose,
    open_on_page,
    replace_text,
    violations_in_both_colours,
)
from tests.helpers.hosts import PanelPage

V0 = '{"a": ["http://h/f", 1, 2]}'


def test_an_example_takes_the_place_of_the_text_and_can_be_undone(editor: Locator) -> None:
    replace_text(editor, GOOD)
    choose(editor, "Examples", "The UGRID example of the specification, V0")
    expect(editor.locator(".chip.form")).to_have_text("V0")
    editor.get_by_role("textbox").first.focus()
    editor.page.keyboard.press("Control+z")
    expect(editor.get_by_role("grid", name="V0 keys")).to_contain_text("s3://bucket/2.nc")


@pytest.mark.both_hosts
def test_the_text_is_compared_with_the_start_and_with_a_file(editor: Locator) -> None:
    text = editor.get_by_role("textbox").first
    expect(text).to_contain_text('"stop": 5')
    said = editor.locator(".comparing").get_by_role("status")
    choose(editor, "Text", "Compare with the start")
    expect(said).to_have_text("The same as the start.")
    editor.locator(".cm-line", has_text='"stop": 5').click()
    editor.page.keyboard.press("End")
    editor.page.keyboard.press("Backspace")
    editor.page.keyboard.insert_text("7")
    expect(said).to_contain_text("Compared with the start: 1 place differs")
    expect(editor.locator(".cm-deletedChunk")).to_contain_text('"stop": 5')
    expect(editor.locator(".cm-changedText")).to_have_text("7")
    with editor.page.expect_file_chooser() as chooser:
        choose(editor, "Text", "Compare with a file …")
    chooser.value.set_files(
        {"name": "other.json", "mimeType": "application/json", "buffer": V0.encode()}
    )
    expect(said).to_contain_text("Compared with other.json")
    replace_text(editor, V0)
    expect(said).to_have_text("The same as other.json.")
    editor.get_by_role("button", name="Stop comparing").click()
    expect(editor.locator(".comparing")).to_have_count(0)
    replace_text(editor, GOOD)
    expect(editor.locator(".cm-deletedChunk")).to_have_count(0)


@pytest.mark.both_hosts
def test_a_menu_is_used_by_keyboard(editor: Locator) -> None:
    keyboard = editor.page.keyboard
    button = editor.get_by_role("button", name="Text", exact=True)
    button.focus()
    keyboard.press("Enter")
    items = editor.get_by_role("menuitem")
    expect(items.first).to_be_focused()
    keyboard.press("ArrowUp")
    expect(items.last).to_be_focused()
    keyboard.press("ArrowDown")
    expect(items.first).to_be_focused()
    keyboard.press("Escape")
    expect(items).to_have_count(0)
    expect(button).to_be_focused()
    keyboard.press("Enter")
    expect(items.first).to_be_focused()
    keyboard.press("Shift+Tab")
    keyboard.press("Shift+Tab")
    expect(items).to_have_count(0)


def test_the_toolbar_is_one_row_at_1000_pixels(panel_page: PanelPage, page: Page) -> None:
    page.set_viewport_size({"width": 1000, "height": 800})
    open_on_page(page, panel_page.url, "The specification's own example")
    page.get_by_role("button", name="Template editor").click()
    editor = page.get_by_role("region", name="Template editor")
    for text in (GOOD, V0):
        replace_text(editor, text)
        expect(editor.get_by_role("button", name="Make it version 1")).to_have_count(
            int(text == V0)
        )
        head = editor.locator(".bar.head").bounding_box()
        assert head is not None
        assert head["height"] < 50
    choose(editor, "Text", "Compare with the start")
    expect(editor.locator(".cm-deletedChunk").first).to_be_visible()
    editor.get_by_role("button", name="Export", exact=True).click()
    expect(editor.get_by_role("menu", name="Export")).to_be_in_viewport(ratio=1)
    assert violations_in_both_colours(page) == []


def test_an_answer_is_compared_with_the_start_and_with_the_solution_once_it_was_shown(
    panel_page: PanelPage, page: Page
) -> None:
    page.goto(panel_page.url)
    page.get_by_role("button", name="Exercises").click()
    view = page.get_by_role("region", name="Exercises")
    said = view.locator(".comparing").get_by_role("status")
    choose(view, "Text", "Compare with the start")
    expect(said).to_have_text("The same as the start.")
    view.get_by_role("button", name="Text", exact=True).click()
    expect(view.get_by_role("menuitem", name="Format")).to_be_visible()
    expect(view.get_by_role("menuitem", name="Compare with the solution")).to_have_count(0)
    page.keyboard.press("Escape")
    view.get_by_role("button", name="Show a solution").click()
    choose(view, "Text", "Compare with the solution")
    view.get_by_role("button", name="Insert into the editor").click()
    expect(said).to_have_text("The same as the solution.")
    view.get_by_label("Choose an exercise").select_option("07-first-gen")
    expect(said).to_have_count(0)
