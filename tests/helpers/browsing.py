"""Actions of tests in a browser, in JupyterLab and on the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath, PurePosixPath
from urllib.parse import urlencode

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Locator, Page, expect

SST = PurePosixPath("demo/sst.v1.json")
EXPLORE = """
import refexplorer as rx
from refexplorer import demo
rx.explore(demo.path("sst.v1.json"))
"""
EDIT = """
import refexplorer as rx
from refexplorer import demo
rx.TemplateEditor(demo.path("spec.v1.json").read_text())
"""
GOOD = """{
 "version": 1,
 "templates": {"u": "s3://bucket"},
 "gen": [{
  "key": "x/{{i}}", "url": "{{u}}/{{i}}.nc",
  "offset": "{{i * 100}}", "length": "100", "dimensions": {"i": {"stop": 3}}
 }]
}"""
GRAVE = {"serious", "critical"}
COLOURED = ("color-contrast", "link-in-text-block")
_RUN_AXE = """
async ([within, rules]) => {
  const options = { resultTypes: ["violations"], ...(rules ? { runOnly: rules } : {}) };
  const found = await axe.run(within ?? document, options);
  return found.violations;
}
"""
FORGET = "localStorage.clear(); sessionStorage.clear()"
_FOLLOW = """address => {
  history.pushState(null, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
}"""


def open_on_page(page: Page, url: str, title: str) -> None:
    """Choose one of the shipped sets on the start screen."""
    start(page, url)
    page.get_by_role("link", name=title).click()


def open_file(page: Page, url: str, path: PurePath, query: str = "") -> Locator:
    """Open a set that the test wrote, or a shipped one, by its address; return the explorer."""
    start(page, url)
    follow(page, path, query)
    return page.get_by_role("region", name=f"Reference set {path.name}")


def start(page: Page, url: str) -> None:
    """Show the start screen.

    A page that is there already is asked for it, since its scripts take a second of a processor.
    """
    if page.url.startswith(url):
        if (another := page.get_by_role("button", name="Open another set")).is_visible():
            another.click()
        page.evaluate(FORGET)  # what an editor kept since the test before it
    else:
        page.goto(url)
    expect(page.get_by_role("heading", name="Explore a reference set")).to_be_visible()
    expect(page.get_by_role("treegrid")).to_have_count(0)  # that of the set before


def follow(page: Page, path: PurePath, query: str) -> None:
    """Go to an address of a set, as back and forward do; a link would load the page anew."""
    page.evaluate(_FOLLOW, f"?{urlencode({'source': path})}&{query}")


def open_in_host(
    request: pytest.FixtureRequest, host: str, page: Page, cell: str, title: str
) -> None:
    """Run a cell in a notebook, or choose a shipped set on the page."""
    if host == "lab":
        request.getfixturevalue("lab").show(page, [cell])
    else:
        open_on_page(page, request.getfixturevalue("panel_page").url, title)


def show(explorer: Locator | Page, look: str) -> Locator:
    """Look at the selection in a way that the switch over the picture offers; return its region."""
    closer = explorer.get_by_role("button", name="Close the details")
    if closer.is_visible():
        closer.click()
    if look == "Compare":
        explorer.get_by_role("button", name="Compare with …").click(timeout=60_000)
    else:
        is_form = look in ("Map", "Side by side")
        switch = explorer.get_by_role("group", name="Look at")
        button = switch.get_by_role("button", name="Values" if is_form else look, exact=True)
        button.click(timeout=60_000)
        if is_form:
            forms = explorer.get_by_role("group", name="Values as")
            forms.get_by_role("button", name=look, exact=True).click()
    return looked_at(explorer, look)


def looked_at(explorer: Locator | Page, look: str | None = None) -> Locator:
    """The region in the middle of the screen."""
    middle = explorer.get_by_role("region", name="Picture", exact=True)
    return middle if look is None else middle.get_by_role("region", name=look, exact=True)


def details(explorer: Locator | Page, of: str = "Key") -> Locator:
    """The right side, about the selected key or the set; opened if it is collapsed."""
    aside = explorer.get_by_role("complementary", name="Details")
    opener = explorer.get_by_role("button", name="Details", exact=True)
    expect(aside.or_(opener).first).to_be_visible(timeout=60_000)
    if not aside.is_visible():
        opener.click()
    region = aside.get_by_role("region", name=of, exact=True)
    if of == "The set" and not region.is_visible():
        aside.get_by_role("button", name="The set", exact=True).click()
    return region


def menu(panel: Locator | Page, name: str) -> Locator:
    """The contents of a menu, opened if it is closed."""
    box = panel.get_by_role("group", name=name, exact=True)
    if not box.is_visible():
        panel.locator("summary").filter(has_text=name).click()
    return box


def row(explorer: Locator | Page, name: str) -> Locator:
    """A row of the tree by the text of its first cell."""
    page = explorer if isinstance(explorer, Page) else explorer.page
    cell = page.get_by_role("gridcell", name=name, exact=True)
    return explorer.get_by_role("treegrid").get_by_role("row").filter(has=cell)


def violations(
    page: Page, within: str | None = None, rules: Sequence[str] | None = None
) -> list[str]:
    """One line for each finding, of some rules or all, with the first element that it is about.

    Of a part of JupyterLab only grave ones: its landmarks and headings are not ours.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(_RUN_AXE, [within, list(rules) if rules else None])
    return [
        f"{rule['id']}: {rule['help']} {rule['nodes'][0]['html'][:200]}"
        for rule in found
        if within is None or rule["impact"] in GRAVE
    ]


def violations_in_both_colours(page: Page) -> list[str]:
    """Findings in light colours, then in dark ones by the rules that look at colours."""
    found = violations(page)
    in_the_dark(page)
    found += violations(page, rules=COLOURED)
    page.emulate_media(color_scheme="light")
    expect(page.locator(".rx").first).to_have_attribute("data-theme", "light")
    return found


def in_the_dark(page: Page) -> None:
    """Turn to the dark colours of the system, and wait until the page has."""
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".rx").first).to_have_attribute("data-theme", "dark")


def choose(editor: Locator | Page, menu: str, item: str) -> None:
    """Choose from one of the menus of the editor."""
    editor.get_by_role("button", name=menu, exact=True).click()
    editor.get_by_role("menuitem", name=item, exact=True).click()


def replace_text(editor: Locator, text: str) -> None:
    editor.get_by_role("textbox").focus()
    editor.page.keyboard.press("Control+a")
    editor.page.keyboard.insert_text(text)
