"""Themes of high contrast, the system's and JupyterLab's: no state is told by a tint alone."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.helpers.browsing import EXPLORE, open_on_page, row, show
from tests.helpers.hosts import Lab, PanelPage

_BADGE = "(badge) => [getComputedStyle(badge).color, getComputedStyle(badge).backgroundColor]"
_COLOURS = """(canvas) => {
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  const seen = new Map();
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] < 255) continue;
    const colour = data.slice(at, at + 3).join();
    seen.set(colour, (seen.get(colour) ?? 0) + 1);
  }
  return [...seen].filter(([, n]) => n > 200).map(([colour]) => colour);
}"""

_PIXELS = "(picture) => picture.querySelector('canvas').toDataURL()"
_CHANGE_THEME = """
theme => window.jupyterapp.commands.execute("apputils:change-theme", { theme })
"""
_DIFFERS = f"([picture, before]) => ({_PIXELS})(picture) !== before"


def outline(element: Locator) -> str:
    return str(element.evaluate("(each) => getComputedStyle(each).outlineStyle"))


def test_the_few_colours_of_the_system(panel_page: PanelPage, page: Page) -> None:
    page.emulate_media(forced_colors="active", color_scheme="dark")
    open_on_page(page, panel_page.url, "Ten mistakes")
    tree = page.get_by_role("treegrid")
    tree.get_by_role("gridcell", name="sst", exact=True).click()
    selected = tree.locator("[aria-selected=true]")
    assert outline(selected) == "solid"
    switch = page.get_by_role("group", name="Look at")
    assert outline(switch.get_by_role("button", pressed=True)) == "solid"
    letter, ground = tree.locator(".badge i").first.evaluate(_BADGE)
    assert letter != ground
    show(page, "Chunks")
    picture = page.get_by_role("application")
    expect(picture).to_be_visible()
    assert len(picture.locator("canvas").evaluate(_COLOURS)) >= 3  # targets, ground and hatching
    page.keyboard.press("Tab")  # only who uses the keyboard sees a ring
    picture.focus()
    assert outline(picture) == "solid"


def test_the_maps_follow_the_system(panel_page: PanelPage, page: Page) -> None:
    open_on_page(page, panel_page.url, "Ten mistakes")
    row(page, "sst").click()
    for look in ("Chunks", "Files"):
        panel = show(page, look)
        picture = panel.get_by_role("application").filter(has=page.locator("canvas")).last
        expect(picture.locator("canvas")).to_be_visible()
        first = drawn = picture.evaluate(_PIXELS)
        for contrast, colours in (("more", "none"), ("more", "active"), ("no-preference", "none")):
            page.emulate_media(contrast=contrast, forced_colors=colours)  # type: ignore[arg-type]
            page.wait_for_function(_DIFFERS, arg=[picture.element_handle(), drawn])
            drawn = picture.evaluate(_PIXELS)
        assert drawn == first


def test_the_theme_of_jupyterlab(lab: Lab, page: Page) -> None:
    lab.show(page, [EXPLORE])
    tree = page.get_by_role("treegrid")
    tree.get_by_role("gridcell", name="sst", exact=True).click()
    expect(tree.locator("[aria-selected=true]")).to_have_count(1)
    change_theme(page, "JupyterLab Dark High Contrast")
    view = page.locator(".rx")
    expect(view).to_have_attribute("data-contrast", "more")
    expect(view).to_have_attribute("data-theme", "dark")
    assert outline(tree.locator("[aria-selected=true]")) == "solid"
    change_theme(page, "JupyterLab Light")
    expect(view).to_have_attribute("data-contrast", "")


def change_theme(page: Page, theme: str) -> None:
    """Change it, and wait until its splash is gone, which JupyterLab takes away but once."""
    page.evaluate(_CHANGE_THEME, theme)
    expect(page.locator("#jupyterlab-splash")).to_have_count(0)
