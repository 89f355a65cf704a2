"""What tests do in a browser, in JupyterLab and on the page alike."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page

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


def open_on_page(page: Page, url: str, title: str) -> None:
    """Choose one of the shipped sets on the start screen."""
    page.goto(url)
    page.get_by_role("link", name=title).click()


def open_in_host(
    request: pytest.FixtureRequest, page: Page, name: str, cell: str, title: str
) -> None:
    """Run a cell in a new notebook, or choose a shipped set on the page, as the parameter says."""
    if request.param == "lab":
        request.getfixturevalue("lab").open(page, name, [cell])
    else:
        open_on_page(page, request.getfixturevalue("panel_page").url, title)


def row(explorer: Locator, name: str) -> Locator:
    """A row of the tree by the text of its first cell."""
    cell = explorer.page.get_by_role("gridcell", name=name, exact=True)
    return explorer.get_by_role("treegrid").get_by_role("row").filter(has=cell)


def violations(page: Page, within: str | None = None) -> list[str]:
    """One line for each grave finding, with the first element that it is about."""
    found = Axe().run(page, context=within).response["violations"]
    return [
        f"{rule['id']}: {rule['help']} {rule['nodes'][0]['html'][:200]}"
        for rule in found
        if rule["impact"] in GRAVE
    ]


def replace_text(editor: Locator, text: str) -> None:
    editor.get_by_role("textbox").focus()
    editor.page.keyboard.press("Control+a")
    editor.page.keyboard.insert_text(text)
