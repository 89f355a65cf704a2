"""What only the served page has: its start screen, its ways from one set to another."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from refexplorer import demo
from refexplorer.demo.lessons import LESSONS, paragraphs
from tests.helpers.browsing import choose, looked_at, open_on_page, row, show, start
from tests.helpers.hosts import PanelPage, running_page
from tests.helpers.servers import range_server
from tests.helpers.sets import raw_set

HOLDING = """{
  const { send } = WebSocket.prototype, held = [];
  let holds = false;
  WebSocket.prototype.send = function (data) {
    holds ||= "heldFrom" in window && String(data).includes(heldFrom);
    if (holds) held.push(() => send.call(this, data));
    else send.call(this, data);
  };
  window.hold = () => { holds = true; };
  window.release = () => {
    holds = false;
    delete window.heldFrom;
    for (const each of held.splice(0)) each();
  };
}"""
"""Of a page, so that what it tells Python comes as late as a test asks."""
FORGETFUL = """
import panel.io.document
panel.io.document.write_events = panel.io.document.schedule_write_events = lambda *_: None
from refexplorer.hosts.cli import main
main()
"""
"""The page, with a Panel that loses all that it sends by itself: on a busy server it loses some."""
_IS_TAKEN_DOWN = "place => !place.hasChildNodes()"
"""Of what an explorer was drawn into: what is only out of sight goes on listening."""
_STYLED = """() => {
  const links = (root) => [...root.querySelectorAll("*")].flatMap((element) => [
    ...(element.matches("link[rel=stylesheet]") ? [element] : []),
    ...(element.shadowRoot ? links(element.shadowRoot) : []),
  ]);
  return links(document).every((link) => link.sheet);
}"""
"""All style sheets of Panel have come, some of which it asks for late on a busy machine."""


def test_start_screen_offers_every_set(panel_page: PanelPage, page: Page) -> None:
    page.goto(panel_page.url)
    for title in demo.sets():
        expect(page.get_by_role("link", name=title)).to_be_visible()
    expect(page.get_by_text("The page is not here yet")).to_have_count(0)


def test_a_lesson_is_read_step_by_step(panel_page: PanelPage, page: Page) -> None:
    first, second = list(LESSONS.values())[:2]
    page.goto(panel_page.url)
    page.get_by_role("link", name=first.title).click()
    lesson = page.get_by_role("group", name=first.title)
    titles = list(first.steps)
    for title, following in zip(titles, [*titles[1:], "Next lesson"], strict=True):
        expect(lesson.get_by_role("heading", name=title)).to_be_visible()
        expect(lesson).to_contain_text(re.sub("[`*]", "", paragraphs(first.steps[title])[-1]))
        for hidden in titles[titles.index(title) + 1 :]:
            expect(lesson.get_by_role("heading", name=hidden)).to_have_count(0)
        lesson.get_by_role("button", name=following, exact=True).click()
    expect(page.get_by_role("group", name=second.title)).to_contain_text("1 of 6")
    page.get_by_role("button", name="Exercises").click()
    expect(page.get_by_role("group", name=second.title)).to_be_hidden()
    open_on_page(page, panel_page.url, "The same with templates")
    expect(page.get_by_role("region", name="Reference set sst.v1.json")).to_be_visible()
    expect(page.get_by_role("group", name=second.title)).to_have_count(0)


def test_from_one_set_to_another(panel_page: PanelPage, page: Page) -> None:
    open_on_page(page, panel_page.url, "Ten mistakes")
    first = page.get_by_role("region", name="Reference set broken.json")
    expect(first).to_be_visible()
    held = first.evaluate_handle("region => region.parentNode")
    page.get_by_role("button", name="Open another set").click()
    page.get_by_role("link", name="The same as parquet").click()
    expect(page.get_by_role("region", name="Reference set sst.parq")).to_be_visible()
    page.wait_for_function(_IS_TAKEN_DOWN, arg=held)


@pytest.mark.parametrize(
    ("chunk", "reason"),
    [("1.0.0", "could not be decoded"), ("3.0.0", "sst_2025-10.nc")],
    ids=["shifted offset", "missing target"],
)
def test_failed_chunk_says_why(panel_page: PanelPage, page: Page, chunk: str, reason: str) -> None:
    open_on_page(page, panel_page.url, "Ten mistakes")
    page.get_by_role("treegrid").get_by_role("gridcell", name="sst", exact=True).click()
    page.keyboard.press("ArrowRight")
    page.get_by_role("gridcell", name=chunk, exact=True).click()
    panel = looked_at(page, "Values")
    expect(panel.get_by_role("alert")).to_contain_text(reason)
    # No picture of values: the map of the chunks alone, where the failed one can be seen.
    expect(panel.get_by_role("application")).to_have_accessible_name(re.compile("^Chunks of sst"))
    expect(
        panel.get_by_text(re.compile("^Selected: .*failed: its reference or its bytes"))
    ).to_be_visible()


@pytest.mark.own_page
def test_the_header_marks_the_view_that_is_shown(panel_page: PanelPage, page: Page) -> None:
    page.add_init_script(HOLDING)
    open_on_page(page, panel_page.url, "The same with templates")
    page.get_by_role("button", name="Template editor").click()
    expect(page.get_by_role("grid", name="V0 keys")).to_contain_text("lat/.zarray")
    page.evaluate("hold()")
    choose(page, "Export", "Open in explorer")
    exercises = page.get_by_role("button", name="Exercises")
    exercises.click()  # on its way while Python turns to the explorer
    page.evaluate("release()")
    expect(page.get_by_role("region", name="Exercises")).to_be_visible()
    expect(exercises).to_have_attribute("aria-current", "page")


def test_the_views_stay_in_their_places_when_a_set_opens(panel_page: PanelPage, page: Page) -> None:
    page.goto(panel_page.url)
    editor = page.get_by_role("button", name="Template editor", exact=True)
    expect(page.get_by_role("button", name="Explorer", exact=True)).to_be_disabled()
    before = editor.bounding_box()
    page.get_by_role("link", name="The same with templates").click()
    expect(page.get_by_role("button", name="Explorer", exact=True)).to_be_enabled()
    assert editor.bounding_box() == before
    editor.click()
    expect(editor).to_have_attribute("aria-current", "page")
    assert editor.bounding_box() == before


@pytest.mark.parametrize("width", [360, 480])
def test_a_narrow_page_has_all_of_its_header_in_sight(
    panel_page: PanelPage, page: Page, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    open_on_page(page, panel_page.url, "The same with templates")
    for name in ("Exercises", "Open another set", "Use dark colours"):
        box = page.get_by_role("button", name=name).bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width


def test_unreadable_source_is_said(panel_page: PanelPage, page: Page) -> None:
    start(page, panel_page.url)
    page.get_by_role("textbox").fill("nosuch.json")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("nosuch.json")


def test_the_address_keeps_where_one_is_and_back_goes_back(
    panel_page: PanelPage, page: Page
) -> None:
    open_on_page(page, panel_page.url, "The same with templates")
    expect(page).to_have_url(re.compile(r"\?source=demo/sst\.v1\.json$"))
    page.get_by_role("treegrid").get_by_role("gridcell", name="sst", exact=True).click()
    expect(page).to_have_url(re.compile(r"json&key=sst$"))
    page.get_by_role("button", name="Template editor").click()
    expect(page).to_have_url(re.compile(r"view=editor$"))
    page.go_back()
    selected = page.get_by_role("treegrid").locator("[aria-selected=true]")
    expect(selected).to_contain_text("sst")
    page.go_back()
    expect(selected).to_have_count(0)
    page.go_back()
    expect(page.get_by_role("heading", name="Explore a reference set")).to_be_visible()
    page.go_forward()
    expect(page.get_by_role("region", name="Reference set sst.v1.json")).to_be_visible()


@pytest.mark.own_page
def test_what_the_page_shows_late_does_not_undo_a_step_back(
    panel_page: PanelPage, page: Page
) -> None:
    page.add_init_script(HOLDING)
    open_on_page(page, panel_page.url, "The same with templates")
    tree = page.get_by_role("treegrid")
    tree.get_by_role("gridcell", name="sst", exact=True).click()
    expect(page).to_have_url(re.compile(r"json&key=sst$"))
    page.evaluate("hold()")
    tree.get_by_role("gridcell", name="land", exact=True).click()
    page.go_back()  # while Python has not heard of the click
    page.evaluate("release()")
    selected = tree.locator("[aria-selected=true]")
    expect(selected).to_have_count(0)
    page.go_forward()
    expect(selected).to_contain_text("sst")
    expect(page).to_have_url(re.compile(r"json&key=sst$"))


@pytest.mark.own_page
def test_a_look_that_is_chosen_while_an_address_opens_stays(
    panel_page: PanelPage, page: Page
) -> None:
    page.add_init_script(f"{HOLDING} var heldFrom = 'tree.find'")
    page.goto(f"{panel_page.url}?source=demo/sst.v1.json&key=sst&find=wind")
    show(page, "Chunks")
    page.evaluate("release()")
    expect(page).to_have_url(re.compile("view=chunks&key=sst&find=wind$"))
    expect(page.get_by_role("search")).to_contain_text("found")
    expect(looked_at(page, "Chunks")).to_be_visible()


@pytest.mark.own_page
def test_what_is_read_is_the_chunk_that_was_chosen_last(panel_page: PanelPage, page: Page) -> None:
    page.add_init_script(HOLDING)
    page.goto(panel_page.url + "?source=demo/broken.json&key=sst/1.0.0")
    why = looked_at(page, "Values").get_by_role("alert")
    expect(why).to_contain_text("could not be decoded")
    expect(page.get_by_role("gridcell", name="3.0.0", exact=True)).to_be_visible()
    page.evaluate("hold()")
    page.get_by_role("gridcell", name="3.0.0", exact=True).click()
    page.get_by_role("gridcell", name="1.0.1", exact=True).click()
    page.get_by_role("gridcell", name="3.0.0", exact=True).click()
    page.evaluate("release()")  # Python told of all of them at once
    expect(why).to_contain_text("sst_2025-10.nc")


@pytest.mark.own_page
def test_a_menu_stays_open_when_the_picture_comes(panel_page: PanelPage, page: Page) -> None:
    page.add_init_script(f"{HOLDING} var heldFrom = 'chunk.read'")
    page.goto(f"{panel_page.url}?source=demo/sst.v1.json&key=sst")
    panel = looked_at(page, "Values")
    panel.get_by_text("Part and reading").click()
    budget = panel.get_by_label("First picture")
    budget.focus()
    page.evaluate("release()")
    expect(panel.locator("canvas").first).to_be_visible()
    expect(budget).to_be_focused()


def test_a_step_back_closes_the_list_of_keys(panel_page: PanelPage, page: Page) -> None:
    open_on_page(page, panel_page.url, "The same with templates")
    page.get_by_role("treegrid").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.go_back()
    page.get_by_role("link", name="Ten mistakes").click()  # the start screen can be used
    expect(page.get_by_role("region", name="Reference set broken.json")).to_be_visible()


def test_an_address_opens_where_it_was_copied(panel_page: PanelPage, page: Page) -> None:
    where = "?source=demo/sst.v1.json&key=sst/6.0.0&slice=1,0,0"
    page.goto(panel_page.url + where)
    panel = looked_at(page, "Values")
    expect(panel.get_by_role("slider", name="time: index")).to_have_value("1")
    expect(page).to_have_url(panel_page.url + where)


def test_a_dropped_file_opens(panel_page: PanelPage, page: Page) -> None:
    start(page, panel_page.url)
    entries = ",".join(f'"k{number}":["http://h/f",{number},1]' for number in range(50_000))
    text = "{" + entries + "}"  # two pieces and more
    file = FilePayload(name="mine.json", mimeType="application/json", buffer=text.encode())
    page.get_by_label("Reference set to open").set_input_files(file)
    expect(page.get_by_role("region", name="Reference set mine.json")).to_contain_text("50,000")


def test_a_set_of_ones_own_until_the_server_is_lost_with_nothing_that_panel_sends_by_itself(
    page: Page, tmp_path: Path
) -> None:
    path = tmp_path / "own.json"
    with range_server() as server:
        server.files["/f"] = b"bytes of a target"
        document = raw_set(["{{u}}/f", 0, 17])
        path.write_text(
            json.dumps({"version": 1, "templates": {"u": server.url}, "refs": document})
        )
        command = ("serve", str(path), "--allow", server.url, "--upload", "0.001")
        with running_page(*command, program=("-c", FORGETFUL)) as served:
            page.goto(served.url)
            page.wait_for_load_state("networkidle")
            own = page.get_by_role("region", name="Reference set own.json")
            own.get_by_role("searchbox", name="Find keys").fill("x/0")
            row(own, "x/0").click()
            expect(page).to_have_url(re.compile("key=x/0"))
            own.get_by_role("button", name="Show bytes").click()
            expect(own.get_by_role("grid")).to_contain_text("bytes of a")
            page.get_by_role("button", name="Template editor").click()
            editor = page.get_by_role("region", name="Template editor")
            editor.get_by_role("button", name="Try values").click()
            expect(editor.get_by_role("region", name="Try it")).to_be_visible()
            choose(editor, "Export", "Open in explorer")
            expect(page.get_by_role("region", name="Reference set own.json")).to_be_visible()
            page.get_by_role("button", name="Open another set").click()
            page.get_by_label("Path or URL of a reference set").fill("nosuch.json")
            page.get_by_role("button", name="Open", exact=True).click()
            expect(page.get_by_role("alert")).to_contain_text("nosuch.json")
            chosen = page.get_by_label("Reference set to open")
            chosen.set_input_files(FilePayload(name="mine.json", mimeType="", buffer=b'{"a": "b"}'))
            expect(page.get_by_role("region", name="Reference set mine.json")).to_be_visible()
            page.get_by_role("button", name="Open another set").click()
            large = FilePayload(name="large.json", mimeType="application/json", buffer=b"x" * 2000)
            chosen.set_input_files(large)
            expect(page.get_by_role("alert")).to_contain_text("more than this page accepts")
            page.wait_for_function(_STYLED)
        lost = page.get_by_role("alert").filter(has_text="The connection to the server was lost")
        expect(lost).to_be_visible()


def test_the_owner_opens_any_set_of_the_machine(panel_page: PanelPage, browser: Browser) -> None:
    # not below the folder that the page allows everybody
    with (
        TemporaryDirectory() as folder,
        browser.new_context() as owner,
        browser.new_context() as visitor,
    ):
        path = Path(folder, "mine.json")
        path.write_text(json.dumps({".zgroup": '{"zarr_format": 2}'}))
        pages = [owner.new_page(), visitor.new_page()]
        for page, url in zip(pages, (panel_page.owned, panel_page.url), strict=True):
            page.goto(url)
            page.get_by_label("Path or URL of a reference set").fill(str(path))
            page.get_by_role("button", name="Open", exact=True).click()
        mine, theirs = pages
        expect(mine.get_by_role("region", name="Reference set mine.json")).to_be_visible()
        assert "token" not in mine.url
        expect(theirs.get_by_role("alert")).to_contain_text("not opened on this page")
        mine.reload()  # the cookie is there; that the address names a path opens nothing
        expect(mine.get_by_role("alert")).to_contain_text("open it here")
        mine.get_by_role("button", name="Open", exact=True).click()
        expect(mine.get_by_role("region", name="Reference set mine.json")).to_be_visible()
