"""Two sets beside each other: numbers, marks in the tree, the map, one chunk in both."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.helpers.browsing import looked_at, open_on_page, row, show, violations
from tests.helpers.hosts import Lab, PanelPage

SETS = """
import refexplorer as rx
from refexplorer import demo
before = rx.open_references(demo.path("sst.v0.json"))
after = dict(before.to_v0())
del after["sst/0.0.0"]
after["sst/1.0.0"] = ["other.nc", *after["sst/1.0.0"][1:]]
"""
GRID = SETS + 'rx.types.ChunkGrid(after, compare=before, selection="sst")'
COMPARISON = (
    SETS
    + """
after = {key: value for key, value in after.items() if not key.startswith("land/")}
allow = [str(demo.path("land.bin").parent)]
rx.types.SetComparison(after, compare=before, selection="sst", allow=allow)
"""
)
_KEEPS_ADDRESSES = """
window.addresses = [];
const replace = history.replaceState.bind(history);
history.replaceState = (state, unused, url) => {
  addresses.push(url);
  replace(state, unused, url);
};
"""
EXPLORER = SETS + 'explorer = rx.explore(after, selection="sst")\nexplorer'


def test_what_became_of_chunks_is_drawn_and_reported(lab: Lab, page: Page) -> None:
    lab.show(page, [GRID])
    legend = page.get_by_role("list", name="Legend")
    expect(legend).to_contain_text("M moved to another file: 1", timeout=60_000)
    expect(legend).to_contain_text("- removed: 1")
    map_ = page.get_by_role(
        "application", name=re.compile("since the other set: 16 the same, 1 rem")
    )
    map_.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text(re.compile("chunk 0, 0, 0 · .* · removed"))).to_be_visible()
    assert violations(page, within=".jp-OutputArea-output") == []


def test_a_comparison_by_itself_has_numbers_map_and_keys(lab: Lab, page: Page) -> None:
    lab.show(page, [COMPARISON])
    part = page.get_by_role("region", name=re.compile("^Comparison of"))
    table = part.get_by_role("grid", name="Keys that differ")
    expect(table).to_contain_text("other.nc", timeout=60_000)
    expect(part.get_by_role("list", name="Legend")).to_contain_text("- removed: 1")
    part.get_by_role("button", name="1 key removed of sst: list them").click()
    expect(table.locator(".rows").get_by_role("row")).to_have_count(1)
    expect(table).to_contain_text("sst/0.0.0")
    part.get_by_role("button", name="Show all changes").click()
    expect(table.locator(".rows").get_by_role("row")).to_have_count(2 + 3)
    part.get_by_role("combobox", name="Array of the map").select_option("land (removed)")
    map_ = part.get_by_role("application", name=re.compile("since the other set: 1 removed"))
    map_.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    both = part.get_by_role("region", name="The chunk in both sets")
    both.get_by_role("button", name="Read this chunk in both sets").click()
    expect(both).to_contain_text("The set has no such array.")
    expect(both.get_by_role("application", name="Before, values of land")).to_be_visible()
    part.get_by_role("button", name="sst", exact=True).click()
    expect(part.get_by_role("combobox", name="Array of the map")).to_have_value("sst")
    part.get_by_role("button", name="3 keys removed of land: list them").click()
    table.get_by_role("gridcell", name="land/0.0", exact=True).click()
    expect(part.get_by_role("combobox", name="Array of the map")).to_have_value("land")
    expect(both.get_by_role("heading")).to_have_text("Values of land/0.0")
    assert violations(page, within=".jp-OutputArea-output") == []


def test_a_person_names_the_other_set(lab: Lab, page: Page) -> None:
    (lab.folder / "older.json").write_text(json.dumps({"sst/1.0.0": ["older.nc"]}))
    lab.show(page, [EXPLORER, "explorer.compare = before", "explorer.state"])
    show(page, "Compare")
    field = page.get_by_label("Compare with another set")
    field.fill("missing.json")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("missing.json")
    field.fill("older.json")
    page.keyboard.press("Enter")
    changes = page.get_by_role("list", name="Keys by kind of change")
    expect(changes).to_contain_text("+ added")
    expect(row(page.locator(".explorer"), "sst")).to_contain_text("+18")
    page.get_by_role("button", name="Stop comparing").click()
    expect(changes).to_have_count(0)
    expect(row(page.locator(".explorer"), "sst")).not_to_contain_text("+18")


def test_a_visitor_of_the_page_compares_offered_sets(panel_page: PanelPage, page: Page) -> None:
    open_on_page(page, panel_page.url, "Ten mistakes")
    panel = show(page, "Compare")
    panel.get_by_role("combobox", name="Sets to compare with").select_option("demo/sst.v0.json")
    expect(panel.get_by_role("heading", name=re.compile("keys? differ"))).to_be_visible()
    expect(page).to_have_url(re.compile("view=compare&.*other=demo/sst.v0.json"))
    panel.get_by_role("list", name="Keys by kind of change").get_by_role("button").first.click()
    expect(page).to_have_url(re.compile("changes=removed"))
    page.get_by_role("button", name="Changes only").click()
    expect(page).to_have_url(re.compile("only=changes"))
    shown = page.url
    rows = page.get_by_role("treegrid").locator(".rows").get_by_role("row")
    expect(rows).to_have_count(2)
    assert violations(page) == []
    page.reload()
    expect(panel.get_by_role("heading", name=re.compile("keys? differ"))).to_be_visible()
    expect(rows).to_have_count(2)
    expect(panel.get_by_role("button", name="Show all changes")).to_be_visible()
    expect(page).to_have_url(shown)
    field = page.get_by_label("Compare with another set")
    field.fill("/etc/hostname")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("not opened on this page")


_DROP = """text => {
  const data = new DataTransfer();
  data.items.add(new File([text], "mine.json"));
  document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
}"""


def test_a_file_that_is_dropped_on_a_set_is_compared_with_it_or_opened(
    panel_page: PanelPage, page: Page
) -> None:
    open_on_page(page, panel_page.url, "Ten mistakes")
    own = page.get_by_role("region", name="Reference set broken.json")
    expect(own).to_be_visible()
    dropped = page.get_by_role("region", name="Dropped file")
    page.evaluate(_DROP, "no set")
    dropped.get_by_role("button", name="Compare broken.json with this").click()
    expect(dropped.get_by_role("alert")).to_contain_text("not JSON")
    expect(own).to_be_visible()
    page.evaluate(_DROP, '{"mine": "text"}')
    assert violations(page) == []
    dropped.get_by_role("button", name="Compare broken.json with this").click()
    banner = page.get_by_role("region", name="Comparison with another set")
    expect(banner).to_contain_text("from mine.json")
    expect(page).to_have_url(re.compile("view=compare"))
    expect(page.get_by_role("list", name="Keys by kind of change")).to_contain_text("removed: 1")
    expect(dropped).to_have_count(0)
    page.evaluate(_DROP, '{"mine": "text"}')
    dropped.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_role("region", name="Reference set mine.json")).to_be_visible()


def test_a_file_to_compare_with_is_chosen_by_the_keyboard(
    panel_page: PanelPage, page: Page
) -> None:
    open_on_page(page, panel_page.url, "Ten mistakes")
    page.get_by_role("button", name="Compare with …").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Compare with another set").focus()
    focused = "() => { let at = document.activeElement; while (at.shadowRoot?.activeElement)"
    focused += " at = at.shadowRoot.activeElement; return at.textContent; }"
    for _ in range(3):  # past the buttons and sets that stand beside the field
        page.keyboard.press("Tab")
        if page.evaluate(focused) == "Choose a file":
            break
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files(
        {"name": "mine.json", "mimeType": "application/json", "buffer": b'{"mine": "text"}'}
    )
    banner = page.get_by_role("region", name="Comparison with another set")
    expect(banner).to_contain_text("from mine.json")
    expect(page.get_by_role("list", name="Keys by kind of change")).to_contain_text("removed: 1")


@pytest.mark.own_page
def test_a_removed_array_is_in_the_address(panel_page: PanelPage, page: Page) -> None:
    page.goto(
        f"{panel_page.url}?source=demo/spec.v1.json&view=compare&other=demo/sst.v0.json&key=key0"
    )
    panel = looked_at(page, "Compare")
    arrays = panel.get_by_role("combobox", name="Array of the map")
    arrays.select_option("wind (removed)")
    expect(page).to_have_url(re.compile("gone=array%3Dwind$"))
    show(page, "Values")
    expect(page).not_to_have_url(re.compile("gone="))
    page.go_back()
    expect(page).to_have_url(re.compile("view=compare.*gone=array%3Dwind$"))
    map_ = panel.get_by_role("application", name=re.compile("since the other set: .* removed"))
    map_.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("gone=array%3Dwind%26chunk%3Dwind"))
    shown = page.url
    page.add_init_script(_KEEPS_ADDRESSES)
    page.reload()
    both = panel.get_by_role("region", name="The chunk in both sets")
    expect(both.get_by_role("heading")).to_contain_text("Values of wind/")
    expect(arrays).to_have_value("wind")
    expect(page).to_have_url(shown)
    assert page.evaluate("addresses") == [], "on its way there, the address said less"
    assert violations(page) == []


def test_a_chunk_is_read_in_both_sets(panel_page: PanelPage, page: Page) -> None:
    page.goto(
        f"{panel_page.url}?source=demo/sst.v1.json&view=compare&key=sst/2.0.0"
        "&other=demo/sst.v0.json"
    )
    panel = looked_at(page, "Compare")
    panel.get_by_role("button", name="Read this chunk in both sets").click()
    expect(panel).to_contain_text("that both sets have are the same")
    pictures = panel.get_by_role("region", name="The chunk in both sets").get_by_role("application")
    expect(pictures).to_have_count(3)
    pictures.first.focus()
    page.keyboard.press("ArrowRight")
    land = "lat 0, lon 0: before none · after none · difference none"
    expect(panel).to_contain_text(land)
    pictures.last.hover()
    said = re.compile(r"before [\d.]+ \w+ · after [\d.]+ \w+ · difference 0")
    expect(panel).to_contain_text(said)
    assert violations(page) == []


def test_both_pictures_with_a_line_between_them(panel_page: PanelPage, page: Page) -> None:
    page.set_viewport_size({"width": 1200, "height": 900})
    page.goto(f"{panel_page.url}?source=demo/sst.v1.json&key=sst&other=demo/sst.v0.json")
    # a narrow tree shows its keys whole, and what changed
    key = page.get_by_role("treegrid").locator(
        ".array-row .name-text", has_text=re.compile("^sst$")
    )
    expect(key).to_be_visible()
    assert key.evaluate("name => name.scrollWidth <= name.clientWidth")
    page.get_by_role("button", name="Both pictures").click()
    panel = looked_at(page, "Side by side")
    expect(panel.get_by_role("application")).to_have_count(3)  # read without a question
    expect(panel.get_by_role("group", name="Left part").get_by_label("Set")).to_have_value("other")
    panel.get_by_role("button", name="Swipe").click()
    right = panel.locator(".swipe-over")
    before = right.evaluate("part => getComputedStyle(part).clipPath")
    panel.get_by_role("slider", name="Line between both parts").press("Home")
    assert right.evaluate("part => getComputedStyle(part).clipPath") != before
    expect(panel.get_by_role("application", name=re.compile("^Difference"))).to_be_visible()
    panel.get_by_role("application", name=re.compile("^Left")).hover()
    expect(panel.get_by_role("status").filter(has_text="right")).to_contain_text("difference 0")
    assert violations(page) == []
