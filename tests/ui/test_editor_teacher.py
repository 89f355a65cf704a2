"""What the editor teaches: values at the cursor, other readers, tried values, exercises."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import refexplorer as rx
from refexplorer import demo
from tests.helpers.browsing import GOOD, choose, replace_text
from tests.helpers.hosts import Lab, PanelPage

EXERCISES = """
import refexplorer as rx
exercises = rx.Exercises(exercise="07-first-gen", answers=None)
exercises
"""
SOLUTION = """
{"version": 1, "gen": [
  {"key": "x/{{i}}", "url": "http://host/{{i}}.nc", "dimensions": {"i": {"stop": 5}}}
]}
"""
COUNT = len(demo.exercises())


def rows_of(editor: Locator) -> Locator:
    return editor.get_by_role("grid")


def test_the_cursor_shows_what_an_expression_gave(editor: Locator) -> None:
    replace_text(editor, GOOD)
    rows_of(editor).get_by_role("gridcell", name="x/2", exact=True).click()
    expect(editor.locator(".trace-value")).to_have_count(4)
    editor.get_by_text("{{i * 100}}").first.click()
    expect(editor.locator(".cm-tooltip")).to_contain_text("= 200")


def test_removed_rows_stay_in_sight(editor: Locator) -> None:
    replace_text(editor, GOOD)
    expect(rows_of(editor)).to_contain_text("x/2")
    replace_text(editor, GOOD.replace('"stop": 3', '"stop": 2'))
    expect(editor).to_contain_text("2 keys, 1 removed")
    removed = rows_of(editor).locator(".removed")
    expect(removed).to_have_count(1)
    expect(removed).to_contain_text("x/2")


def test_the_table_turns_to_what_a_reader_has(editor: Locator) -> None:
    replace_text(editor, GOOD)
    expect(editor).to_contain_text("3 keys")
    editor.get_by_role("button", name="Other readers", exact=True).click()
    panel = editor.get_by_role("region", name="Other readers", exact=True)
    expect(panel).to_contain_text("gen is not read without")
    expect(rows_of(editor).locator(".absent")).to_have_count(3)
    panel.get_by_role("button", name="fsspec (simple_templates=False)").click()
    expect(rows_of(editor).locator(".absent")).to_have_count(0)
    expect(rows_of(editor)).to_have_accessible_name(
        "V0 keys as fsspec (simple_templates=False) reads them"
    )
    editor.get_by_role("button", name="Other readers", exact=True).click()
    expect(rows_of(editor)).to_have_accessible_name("V0 keys")


def test_values_are_tried_without_editing(editor: Locator) -> None:
    replace_text(editor, GOOD)
    editor.get_by_role("button", name="Try values").click()
    panel = editor.get_by_role("region", name="Try it")
    panel.get_by_label("u", exact=True).fill("gs://other")
    expect(rows_of(editor)).to_contain_text("gs://other/2.nc")
    expect(editor.get_by_role("textbox").first).to_contain_text("s3://bucket")
    panel.get_by_role("slider").press("End")
    expect(rows_of(editor).locator("[aria-selected=true]")).to_contain_text("x/2")
    expect(editor.get_by_role("region", name="Derivation of this key")).to_contain_text("i = 2")
    panel.get_by_role("button", name="As written").click()
    expect(rows_of(editor)).to_contain_text("s3://bucket/2.nc")


@pytest.mark.both_hosts
def test_completion_opens_by_keyboard_between_properties(editor: Locator) -> None:
    replace_text(editor, GOOD)
    editor.page.keyboard.press("Control+End")
    for key in ("ArrowUp", "End"):
        editor.page.keyboard.press(key)
    editor.page.keyboard.press("Control+Space")
    expect(editor.get_by_role("listbox")).to_contain_text("refs")
    editor.page.wait_for_timeout(200)  # a list that has just opened does not take Enter yet
    editor.page.keyboard.press("Enter")
    expect(editor.get_by_role("textbox").first).to_contain_text('}], "refs": {}')
    expect(editor).to_contain_text("3 keys")


def test_a_v0_document_is_wrapped_at_a_click(editor: Locator) -> None:
    replace_text(editor, '{"a": ["http://h/f", 1, 2]}')
    editor.get_by_role("button", name="Make it version 1").click()
    expect(editor.get_by_role("textbox").first).to_contain_text('"version": 1')
    expect(rows_of(editor)).to_contain_text("http://h/f")


def test_the_edited_set_opens_in_the_explorer(editor: Locator) -> None:
    replace_text(editor, GOOD)
    expect(editor).to_contain_text("3 keys")
    choose(editor, "Export", "Open in explorer")
    expect(editor.page.get_by_role("treegrid")).to_contain_text("x")


def test_an_exercise_is_solved_with_help(lab: Lab, page: Page) -> None:
    lab.show(page, [EXERCISES])
    view = page.get_by_role("region", name="Exercises")
    task = view.get_by_role("region", name="Exercise", exact=True)
    expect(task).to_contain_text("Write one item of gen")
    expect(task.get_by_role("status")).to_be_empty()
    task.get_by_role("button", name="Hint").click()
    expect(task.get_by_role("list", name="Hints")).to_contain_text("key, url and dimensions")
    replace_text(view, SOLUTION)
    expect(task.get_by_role("status")).to_contain_text("Solved.")
    expect(task).to_contain_text(f"1 of {COUNT} solved")
    expect(task.get_by_role("button", name="gen", exact=True)).to_be_visible()
    task.get_by_role("button", name="Next").click()
    expect(task).to_contain_text("Only every fifth day was kept")


def test_a_solution_that_was_shown_does_not_count(panel_page: PanelPage, page: Page) -> None:
    page.goto(panel_page.url)
    page.get_by_role("button", name="Exercises").click()
    task = page.get_by_role("region", name="Exercise", exact=True)
    expect(task).to_contain_text(f"0 of {COUNT} solved")
    task.get_by_role("button", name="Show a solution").click()
    task.get_by_role("button", name="Insert into the editor").click()
    expect(task.get_by_role("status")).to_contain_text("It does not count")
    shown = f"0 of {COUNT} solved, 1 with the solution shown, which does not count"
    expect(task).to_contain_text(shown)
    page.goto(panel_page.url)
    page.get_by_role("button", name="Exercises").click()
    expect(task).to_contain_text(shown)
    expect(task.get_by_role("status")).to_contain_text("It does not count")


def test_what_is_wrong_is_reported_in_stages(panel_page: PanelPage, page: Page) -> None:
    page.goto(panel_page.url)
    page.get_by_role("button", name="Exercises").click()
    view = page.get_by_role("region", name="Exercises", exact=True)
    task = page.get_by_role("region", name="Exercise", exact=True)
    task.get_by_label("Choose an exercise").select_option("18-a-wrong-name")
    expect(task).to_contain_text("a reader finds only two of them")
    expect(view.locator(".note")).to_have_count(0)
    for question, said in (
        ("Is something wrong?", "Something is wrong with this set."),
        ("Where?", "Something is wrong here: line 6"),
        ("What?", "buket is not defined"),
    ):
        task.get_by_role("button", name=question).click()
        expect(task.get_by_role("status")).to_contain_text(said)
    expect(view.locator(".note").filter(has_text="buket is not defined")).to_have_count(1)
    expect(view.get_by_role("button", name="Replace buket by bucket")).to_have_count(0)
    task.get_by_role("button", name="Hint").click()
    expect(view.get_by_role("button", name="Replace buket by bucket")).to_be_visible()


def test_progress_stays_with_the_browser(panel_page: PanelPage, page: Page) -> None:
    page.goto(panel_page.url)
    page.get_by_role("button", name="Exercises").click()
    view = page.get_by_role("region", name="Exercises", exact=True)
    task = page.get_by_role("region", name="Exercise", exact=True)
    task.get_by_label("Choose an exercise").select_option("16-not-json")
    expect(task).to_contain_text("Somebody added a key by hand")
    replace_text(view, '{"x/0": ["a.nc", 0, 10], "x/1": ["a.nc", 10, 10]}')
    expect(task.get_by_role("status")).to_contain_text("Solved.")
    page.goto(panel_page.url)
    page.get_by_role("button", name="Exercises").click()
    expect(task).to_contain_text(f"1 of {COUNT} solved")


def test_solving_neither_moves_nor_shrinks_the_editor(panel_page: PanelPage, page: Page) -> None:
    page.goto(f"{panel_page.url}?view=exercises")
    view = page.get_by_role("region", name="Exercises", exact=True)
    status = page.get_by_role("region", name="Exercise", exact=True).get_by_role("status")
    expect(status).to_be_empty()
    code = view.locator(".code-box")
    before = code.bounding_box()
    replace_text(view, '{"x/0": ["data.nc", 100, 51]}')
    expect(status).to_contain_text("too large")
    assert code.bounding_box() == before
    replace_text(view, '{"x/0": ["data.nc", 100, 50]}')
    expect(status).to_contain_text("Solved.")
    assert code.bounding_box() == before
    expect(view.locator(".note.warning")).to_have_count(0)
    expect(view).not_to_contain_text("looks like a chunk")


def test_answers_are_saved_from_the_page_and_graded(
    panel_page: PanelPage, page: Page, tmp_path: Path
) -> None:
    page.goto(f"{panel_page.url}?view=exercises")
    view = page.get_by_role("region", name="Exercises", exact=True)
    task = page.get_by_role("region", name="Exercise", exact=True)
    replace_text(view, '{"x/0": ["data.nc", 100, 50]}')
    expect(task.get_by_role("status")).to_contain_text("Solved.")
    task.get_by_label("Choose an exercise").select_option("02-three-kinds")
    expect(task).to_contain_text("level 1")
    page.reload()
    with page.expect_download() as downloading:
        choose(view, "Export", "Save answers")
    assert downloading.value.suggested_filename == "answers.json"
    path = tmp_path / "ada.json"
    downloading.value.save_as(path)
    (found,) = rx.grade([path])
    assert (found.name, found.count("solved"), found.count("wrong")) == ("ada", 1, 0), (
        path.read_text()
    )


def test_a_code_is_explained_and_its_example_put_into_the_editor(editor: Locator) -> None:
    replace_text(editor, '{"a": ["http://h/f", -1, 2]}')
    editor.get_by_role("button", name="About bad-offset").click()
    about = editor.get_by_role("region", name="About bad-offset")
    expect(about).to_contain_text("Cause")
    expect(about.get_by_role("link")).to_have_attribute("href", re.compile("spec.html#version-0"))
    about.get_by_role("button", name="Insert into the editor").click()
    expect(editor.get_by_role("textbox").first).to_contain_text("-1, 10")
    about.get_by_role("button", name="Close").click()
    expect(about).to_have_count(0)


def test_fields_are_offered_before_their_first_letter(editor: Locator) -> None:
    replace_text(editor, '{"version": 1, "gen": [{')
    editor.page.keyboard.type('"')
    expect(editor.get_by_role("listbox")).to_contain_text("dimensions")
    editor.page.keyboard.type("u")
    expect(editor.get_by_role("listbox")).to_contain_text("url")
    expect(editor.get_by_role("listbox")).not_to_contain_text("key")


def test_a_text_of_one_line_is_formatted(editor: Locator) -> None:
    replace_text(editor, json.dumps(json.loads(GOOD)))
    expect(editor.locator(".cm-line")).to_have_count(1)
    choose(editor, "Text", "Format")
    expect(editor.locator(".cm-line").nth(1)).to_have_text('  "version": 1,')
    expect(editor).to_contain_text("3 keys")


def test_a_shorter_text_in_place_of_an_explained_one_is_no_error(editor: Locator) -> None:
    errors: list[str] = []
    editor.page.on("pageerror", lambda error: errors.append(str(error)))
    replace_text(editor, GOOD)
    editor.get_by_role("searchbox", name="Go to a key or its number").fill("x/2")
    editor.page.keyboard.press("Enter")
    expect(editor.locator(".trace-value")).to_have_count(4)
    replace_text(editor, "x")
    expect(editor).to_contain_text("in the last valid text")
    replace_text(editor, GOOD)
    expect(editor.locator(".trace-value")).to_have_count(4)
    assert errors == []


def test_what_was_written_outlasts_a_reload(panel_page: PanelPage, page: Page) -> None:
    page.goto(panel_page.url)
    page.get_by_role("button", name="Template editor").click()
    editor = page.get_by_role("region", name="Template editor", exact=True)
    replace_text(editor, '{"mine": "kept"}')
    expect(rows_of(editor)).to_contain_text("mine")
    page.reload()
    expect(rows_of(editor)).to_contain_text("mine")
    page.get_by_role("button", name="Exercises").click()
    view = page.get_by_role("region", name="Exercises", exact=True)
    replace_text(view, '{"x/0": ["data.nc", 100, 51]}')
    task = page.get_by_role("region", name="Exercise", exact=True)
    expect(task.get_by_role("status")).to_contain_text("length 51 is too large")
    page.reload()
    expect(rows_of(view)).to_contain_text("51")
    view.get_by_role("button", name="Start again").click()
    expect(view.get_by_role("textbox").first).not_to_contain_text("51")
    page.reload()
    expect(view.get_by_role("textbox").first).to_contain_text("data.nc")
    expect(view.get_by_role("textbox").first).not_to_contain_text("51")
    page.evaluate("sessionStorage.clear()")  # as where the tab was closed
    page.get_by_role("button", name="Template editor").click()
    expect(editor).to_contain_text("kept by this browser")
    expect(rows_of(editor)).to_contain_text("mine")
    editor.get_by_role("button", name="Discard").click()
    expect(editor.get_by_role("textbox").first).to_contain_text("{{u}}")


def test_a_link_opens_its_text_and_its_exercise(panel_page: PanelPage, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{panel_page.url}?view=exercises")
    view = page.get_by_role("region", name="Exercises", exact=True)
    view.get_by_label("Choose an exercise").select_option("07-first-gen")
    expect(rows_of(view)).to_contain_text("http://host/0.nc")
    replace_text(view, '{"marked": "<img src=x onerror=alert(1)>"}')
    expect(rows_of(view)).to_contain_text("marked")
    choose(view, "Export", "Copy link")
    expect(view.locator(".export")).to_contain_text("Copied.")
    link = page.evaluate("navigator.clipboard.readText()")
    assert "marked" not in link
    page.evaluate("sessionStorage.clear(); localStorage.clear()")
    page.goto("about:blank")
    page.goto(link)
    expect(view).to_contain_text("This text came with the link.")
    expect(view.get_by_label("Choose an exercise")).to_have_value("07-first-gen")
    expect(rows_of(view)).to_contain_text("<img src=x onerror=alert(1)>")
    assert not [url for url in asked if "exercise=" in url.split("?")[-1].split("#")[0]]
    page.evaluate("location.hash = '#exercise=07-first-gen&text=AAAA'")  # pasted over the other
    expect(view).to_contain_text("The text of the link cannot be unpacked")
    expect(rows_of(view)).to_contain_text("marked")
