"""What is shown is a link on the page and a trait in a notebook: both show it again."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.helpers.browsing import (
    SST,
    details,
    follow,
    looked_at,
    menu,
    open_file,
    open_on_page,
    show,
    violations,
)
from tests.helpers.hosts import Lab, PanelPage

ADDRESSED = {
    "key": "sst", "slice": "1,0,0", "part": "2:6,:9,::2", "mode": "table",
    "raw": "scale", "find": "0.1", "kinds": "range",
}  # fmt: skip
_CLIPBOARD_HOLDS = "async (line) => (await navigator.clipboard.readText()).includes(line)"


def shows_the_values(region: Locator) -> None:
    panel = looked_at(region, "Values")
    expect(panel.get_by_label("time: index or slice")).to_have_value("2:6")
    expect(panel.get_by_label("lon: index or slice")).to_have_value("::2")
    expect(region.get_by_role("searchbox")).to_have_value("0.1")
    kind = region.get_by_role("search").get_by_role("button", name="byte range")
    expect(kind).to_have_attribute("aria-pressed", "true")
    expect(panel.get_by_role("button", name="Table")).to_have_attribute("aria-pressed", "true")
    expect(panel.get_by_role("slider", name="time")).to_have_value("1")
    scaled = menu(panel, "Part and reading").get_by_role("checkbox", name="scale and offset")
    expect(scaled).not_to_be_checked()
    panel.page.keyboard.press("Escape")


def test_what_one_sees_is_restored_from_the_address(panel_page: PanelPage, page: Page) -> None:
    query = "&".join(f"{name}={value}" for name, value in ADDRESSED.items())
    open_file(page, panel_page.url, SST, query)
    region = page.get_by_role("region", name="Reference set sst.v1.json")
    shows_the_values(region)
    expect(page).to_have_title("sst · sst.v1.json · refexplorer")
    for name, value in ADDRESSED.items():
        expect(page).to_have_url(re.compile(re.escape(f"{name}={value}")))
    page.reload()
    shows_the_values(region)
    assert violations(page) == []


def test_lists_filters_and_windows_are_in_the_address(panel_page: PanelPage, page: Page) -> None:
    open_on_page(page, panel_page.url, "Ten mistakes")
    show(page, "Chunks")
    page.get_by_role("button", name="4 chunks of sst rejected: list them").click()
    expect(page).to_have_url(re.compile("view=chunks&list=rejected:sst&notes=of:sst"))
    page.get_by_role("treegrid").get_by_role("gridcell", name="sst/6.0.0", exact=True).click()
    page.get_by_role("combobox", name="Colour by").select_option("kind")
    page.get_by_role("button", name="Zoom in").click()
    expect(page).to_have_url(re.compile(r"by=kind&map=\d,\d%3B.*%3Bsst"))
    shown = page.url
    page.reload()
    expect(page.get_by_role("group", name="Filter")).to_contain_text("4 chunks rejected of sst")
    expect(page.get_by_role("combobox", name="Colour by")).to_have_value("kind")
    expect(page.get_by_text("of them in view")).to_be_visible()
    expect(page).to_have_url(shown)
    page.get_by_role("button", name="Show all keys").click()
    page.get_by_role("button", name="Problems only").click()
    expect(page).to_have_url(re.compile("only=trouble"))
    page.reload()
    rows = page.get_by_role("treegrid").locator(".rows").get_by_role("row")
    expect(rows).to_have_count(9)  # two arrays, one of them open down to the selected chunk
    follow(page, SST, "view=chunks&key=land")
    expect(page.get_by_role("combobox", name="Array")).to_have_value("land")
    follow(page, SST, "view=targets&files=find%3D07")
    expect(looked_at(page, "Files")).to_contain_text("1 of 4 files")


def test_back_goes_back_to_what_was_listed(panel_page: PanelPage, page: Page) -> None:
    open_on_page(page, panel_page.url, "Ten mistakes")
    show(page, "Chunks")
    page.get_by_role("button", name="4 chunks of sst rejected: list them").click()
    tree = page.get_by_role("treegrid")
    tree.get_by_role("gridcell", name="sst/6.0.0", exact=True).click()
    expect(page).to_have_url(re.compile("view=chunks&key=sst/6.0.0&list=rejected:sst"))
    page.get_by_role("button", name="Template editor").click()
    expect(page).to_have_title("Template editor · broken.json · refexplorer")
    page.go_back()
    expect(tree.locator("[aria-selected=true]")).to_contain_text("sst/6.0.0")
    expect(page.get_by_role("group", name="Filter")).to_contain_text("4 chunks rejected of sst")
    expect(page.get_by_role("button", name="Copy link")).to_be_visible()


def test_addresses_that_say_nonsense_show_what_they_can(panel_page: PanelPage, page: Page) -> None:
    nonsense = "list=other:x&mode=no&axes=-1,x&map=0%3B9-1%3Bnone&raw=x&part=1&slice=a"
    open_file(page, panel_page.url, SST, f"key=sst&{nonsense}")
    panel = looked_at(page, "Values")
    expect(panel.get_by_role("button", name="Picture")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_notebook_has_it_as_a_trait(lab: Lab, page: Page) -> None:
    show = f"""
import ipywidgets, refexplorer as rx
from refexplorer import demo
explorer = rx.explore(demo.path("sst.v1.json"))
explorer.state = {ADDRESSED!r}
told = ipywidgets.Label()
ipywidgets.dlink((explorer, "state"), (told, "value"), str)
ipywidgets.VBox([told, explorer])
"""
    lab.show(page, [show])
    region = page.get_by_role("region", name="Reference set sst.v1.json")
    shows_the_values(region)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    region.get_by_role("combobox", name="Copy as cell").select_option("xarray")
    page.wait_for_function(_CLIPBOARD_HOLDS, arg="values = dataset['sst'].isel(time=")
    assert violations(page, within=".jp-OutputArea-output") == []
    details(region, "The set")
    region.get_by_role("searchbox").fill("wind/1")
    expect(region.get_by_role("search")).to_contain_text("9 keys found")
    told = page.get_by_text("'find': 'wind/1'")
    expect(told).to_be_visible()
    expect(told).not_to_contain_text("'view'")


def test_a_picture_is_copied_as_a_cell(panel_page: PanelPage, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    where = "key=sst&slice=3,0,0&part=2:6,:,::2&axes=1,2&colours=magma&limits=10,30"
    open_file(page, panel_page.url, SST, "key=sst")
    panel = looked_at(page, "Values")
    expect(panel.get_by_label("time: index or slice")).to_have_value(":")
    follow(page, SST, where)  # another part of the same key
    expect(panel.get_by_label("Lowest value")).to_have_value("10")
    expect(page).to_have_url(re.compile(re.escape(where)))
    expect(panel.get_by_role("slider", name="time")).to_have_value("3")
    cells = page.get_by_role("combobox", name="Copy as cell")
    for library, line in {
        "xarray": "values = dataset['sst'].isel(time=5, lon=slice(0, 192, 2))",
        "zarr": "values = array[5, :96, :192:2]",
    }.items():
        cells.select_option(library)
        expect(page.get_by_role("status").get_by_text("Copied")).to_be_visible()
        page.wait_for_function(_CLIPBOARD_HOLDS, arg=line)
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_function(_CLIPBOARD_HOLDS, arg=where)
    assert violations(page) == []
    follow(page, SST, "key=sst")
    expect(panel.get_by_label("time: index or slice")).to_have_value(":")
    follow(page, SST, "view=cost&key=sst&part=2:6,:,::2")
    expect(details(page, "Key")).to_contain_text("Array sst")
    page.get_by_role("treegrid").get_by_role("gridcell", name="wind", exact=True).click()
    expect(details(page, "Key")).to_contain_text("Array wind")
    show(page, "Values")
    expect(panel.get_by_label("time: index or slice")).to_have_value(":")
