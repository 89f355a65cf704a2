"""The specification beside the editor: rules and places light each other up."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.helpers.browsing import GOOD, replace_text, start, violations_in_both_colours
from tests.helpers.hosts import PanelPage


def pane_of(view: Locator) -> Locator:
    return view.get_by_role("region", name="Rules of the specification")


def test_the_cursor_lights_up_the_rule_and_a_rule_its_places(editor: Locator) -> None:
    replace_text(editor, GOOD)
    expect(editor).to_contain_text("3 keys")
    editor.get_by_role("button", name="Specification", exact=True).click()
    pane, lit = pane_of(editor), pane_of(editor).locator(".lit")
    editor.get_by_text("{{i * 100}}").click()
    expect(lit).to_have_count(2)
    expect(lit.last).to_contain_text("offset and length of a gen item")
    expect(lit.last).to_be_in_viewport()
    editor.get_by_text('"version"').click()
    expect(lit).to_have_count(1)
    expect(lit).to_contain_text("must be the number 1")
    pane.get_by_role("button", name="Only stop is required in a range").click()
    expect(editor.locator(".rule-place")).to_have_text('{"stop": 3}')
    expect(pane.get_by_role("status")).to_have_text("Used in 1 place in the text.")
    replace_text(editor, GOOD.replace('"i": {"stop": 3}', '"i": {"stop": 3}, "j": {"stop": 2}'))
    expect(editor.locator(".rule-place")).to_have_text(['{"stop": 3}', '{"stop": 2}'])
    replace_text(editor, GOOD[:-1])
    expect(pane.get_by_role("status")).to_contain_text("cannot be read")
    editor.get_by_role("button", name="Specification", exact=True).click()
    expect(pane).to_have_count(0)
    expect(editor.locator(".rule-place")).to_have_count(0)


def test_an_example_goes_into_the_editor_and_back(editor: Locator) -> None:
    editor.get_by_role("button", name="Specification", exact=True).click()
    pane = pane_of(editor)
    pane.get_by_role("button", name="A dimension may be a list of integers").click()
    pane.get_by_role("button", name="Insert into the editor").click()
    expect(editor.get_by_role("grid", name="V0 keys")).to_contain_text("x/1995")
    expect(pane.get_by_role("status")).to_have_text("Used in 1 place in the text.")
    editor.get_by_role("textbox").first.focus()
    editor.page.keyboard.press("Control+z")
    expect(editor.get_by_role("grid", name="V0 keys")).to_contain_text("gen_key4")


def test_a_note_leads_to_its_rule(editor: Locator) -> None:
    replace_text(editor, '{"a": ["http://h/f", 1]}')
    editor.get_by_role("button", name="Rule: list-shape").click()
    chosen = pane_of(editor).get_by_role("button", expanded=True)
    expect(chosen).to_contain_text("A list has one element or three")
    expect(chosen).to_be_in_viewport()
    editor.get_by_role("button", name="About bad-ref-shape").click()
    pane_of(editor).get_by_role("button", name="Close").click()
    editor.get_by_role("button", name="Show the rule").click()
    expect(chosen).to_contain_text("A list has one element or three")


def test_an_exercise_cites_its_rules_and_a_rule_its_exercises(
    panel_page: PanelPage, page: Page
) -> None:
    start(page, panel_page.url)
    page.get_by_role("button", name="Exercises").click()
    view = page.get_by_role("region", name="Exercises")
    task = view.get_by_role("region", name="Exercise", exact=True)
    task.get_by_label("Choose an exercise").select_option("07-first-gen")
    task.get_by_role("button", name="gen", exact=True).click()
    chosen = pane_of(view).get_by_role("button", expanded=True)
    expect(chosen).to_contain_text("An item of gen generates many references")
    expect(pane_of(view).get_by_role("button", name="Insert into the editor")).to_have_count(0)
    assert violations_in_both_colours(page) == []
    pane_of(view).get_by_role("button", name="Two dimensions").click()
    expect(task.get_by_label("Choose an exercise")).to_have_value("09-two-dimensions")
