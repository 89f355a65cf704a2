"""Photograph both hosts: ``python -m tests.ui.screenshots [FOLDER]``.

Writes the explorer and the editor in JupyterLab and on the page, light and dark, narrow and wide;
with ``--readme`` only those in `notebooks`, with ``--gallery`` those of the documentation.
"""

# ruff: noqa: T201

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.helpers.browser import launch_options
from tests.helpers.browsing import EDIT, EXPLORE, details, looked_at, open_on_page, show
from tests.helpers.hosts import Lab, running_lab, running_page

PICTURES = Path(__file__).parents[2] / "notebooks"
GALLERY = Path(__file__).parents[2] / "docs" / "pictures"
SMALL = 360
"""Height of the picture of one verb, px."""
WIDTHS = (600, 1600)
HEIGHT = 900
LOOKS = ("Values", "Map", "Side by side", "Chunks", "Files", "Cost")
THEMES = ("light", "dark")
SHOWN_IN_GALLERY = [
    ("overview", "source=demo/broken.json", ".view.explorer"),
    ("chunks", "source=demo/sst.v1.json&view=chunks&key=sst", ".centre"),
    ("targets", "source=demo/sst.v1.json&view=targets", ".centre"),
    ("cost", "source=demo/sst.v1.json&view=cost&key=sst", ".centre"),
    ("exercises", "view=exercises&exercise=07-first-gen", "body"),
    ("dark", "source=demo/sst.v1.json&key=sst/6.0.0", "body"),
]
"""Name of a picture, address on the page of the demo, and what is cut out."""


@contextmanager
def new_page(browser: Browser, width: int, theme: str, scale: float = 1) -> Iterator[Page]:
    """Open a page of a size and a colour scheme."""
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHT},
        color_scheme="dark" if theme == "dark" else "light",
        device_scale_factor=scale,
    )
    yield context.new_page()
    context.close()


def read_a_chunk(page: Page) -> None:
    """Choose a chunk of the temperature that the storm crosses and draw it."""
    tree = page.get_by_role("treegrid")
    tree.get_by_role("gridcell", name="sst", exact=True).click()
    page.keyboard.press("ArrowRight")
    expect(tree.locator("[aria-selected=true]")).to_have_attribute("aria-expanded", "true")
    page.keyboard.type("6.0.0")
    expect(tree.locator("[aria-selected=true]")).to_contain_text("6.0.0")
    show(page, "Values")
    expect(page.get_by_role("application")).to_be_visible(timeout=60_000)


def show_in_lab(page: Page, lab: Lab, name: str, cell: str, theme: str) -> None:
    """Open a notebook without side bars, in a theme."""
    lab.open(page, name, [cell])
    dark = "Dark" if theme == "dark" else "Light"
    page.evaluate(
        """async name => {
          const {commands, shell} = window.jupyterapp;
          await commands.execute("apputils:change-theme", {theme: name});
          shell.collapseLeft();
        }""",
        f"JupyterLab {dark}",
    )
    expect(page.locator(".jp-OutputArea-output").first).to_be_visible()


def save(page: Page, path: Path) -> None:
    """Write a screenshot once the views have drawn themselves, in 256 colours."""
    page.wait_for_timeout(800)
    page.screenshot(path=path)
    with Image.open(path) as picture:
        picture.convert("P", palette=Image.Palette.ADAPTIVE).save(path, optimize=True)
    print(f"{path} {path.stat().st_size // 1000} kB")


def photograph_page(browser: Browser, url: str, folder: Path, theme: str, width: int) -> None:
    """Save start screen, explorer and editor of the page."""
    with new_page(browser, width, theme) as page:
        page.goto(url)
        expect(page.get_by_role("heading", name="Explore a reference set")).to_be_visible()
        save(page, folder / f"page-start-{theme}-{width}.png")
        open_on_page(page, url, "The same with templates")
        read_a_chunk(page)
        for look in LOOKS:
            show(page, look)
            save(page, folder / f"page-explorer-{look.lower()}-{theme}-{width}.png")
        page.get_by_role("button", name="Template editor").click()
        expect(page.get_by_role("grid", name="V0 keys")).to_be_visible()
        save(page, folder / f"page-editor-{theme}-{width}.png")


def photograph_lab(browser: Browser, lab: Lab, folder: Path, theme: str, width: int) -> None:
    """Save explorer and editor of a notebook."""
    with new_page(browser, width, theme) as page:
        show_in_lab(page, lab, "explorer", EXPLORE, theme)
        read_a_chunk(page)
        save(page, folder / f"lab-explorer-{theme}-{width}.png")
        show_in_lab(page, lab, "editor", EDIT, theme)
        expect(page.get_by_role("grid", name="V0 keys")).to_be_visible()
        save(page, folder / f"lab-editor-{theme}-{width}.png")


def photograph_readme(browser: Browser, url: str) -> None:
    """Save the pictures of the README and the front page: the explorer, and one for each verb."""
    with new_page(browser, 1200, "light") as page:
        page.set_viewport_size({"width": 1400, "height": 860})
        open_on_page(page, url, "The same with templates")
        read_a_chunk(page)
        save(page, PICTURES / "explorer.png")
        cut(page.get_by_role("treegrid"), "browse")
        cut(page.get_by_role("application").first, "preview")
        page.goto(f"{url}?source=demo/sst.v1.json&key=wind/7.0.0")
        details(page).get_by_role("button", name="Show derivation").click()
        cut(details(page), "explain")
        page.goto(f"{url}?source=demo/spec.v1.json&view=editor")
        expect(page.get_by_role("grid", name="V0 keys")).to_be_visible()
        cut(page.get_by_role("region", name="Template editor"), "edit")
        photograph_broken(page, url)
        photograph_verified(page, url)
        photograph_map(page, url)


def photograph_broken(page: Page, url: str) -> None:
    """Save the picture of a chunk that cannot be decoded, its finding and its file."""
    page.set_viewport_size({"width": 1280, "height": 600})
    page.goto(f"{url}?source=demo/broken.json&key=sst/1.0.1&part=2,:,:")
    expect(page.get_by_role("application")).to_be_visible(timeout=60_000)
    expect(details(page).get_by_text("sst_2025-07.nc").first).to_be_visible()
    save(page, PICTURES / "broken.png")


def photograph_verified(page: Page, url: str) -> None:
    """Save the picture of a set that differs from its files."""
    page.goto(f"{url}?source=demo/broken.json")
    found = page.locator("section.verified")
    found.get_by_role("button", name="Compare with the files").click()
    expect(found.get_by_role("button", name="Compare again")).to_be_visible(timeout=60_000)
    found.scroll_into_view_if_needed()
    cut(found, "verify")


def photograph_map(page: Page, url: str) -> None:
    """Save the map of the demo: the values of a day, and the chunk below a place."""
    page.goto(f"{url}?source=demo/sst.v1.json&view=map&key=sst")
    panel = looked_at(page)
    drawn = panel.get_by_role("img", name=re.compile("^Colours of"))
    button = panel.get_by_role("button", name=re.compile("^Read .* from"))
    expect(drawn.or_(button).first).to_be_visible(timeout=60_000)
    if button.is_visible():
        button.click()
    expect(panel.get_by_role("img", name=re.compile("^Colours of"))).to_be_visible()
    panel.get_by_label("Position: latitude and longitude").fill("25N 70W")
    page.keyboard.press("Enter")
    expect(panel.get_by_text("Selected:")).to_be_visible()
    panel.locator(".earth-map").scroll_into_view_if_needed()
    cut(panel.locator(".earth-map"), "map")


def photograph_gallery(browser: Browser, url: str) -> None:
    """Save the pictures of the gallery: a view each, as somebody sees it who came there."""
    GALLERY.mkdir(exist_ok=True)
    with new_page(browser, 1400, "light") as page:
        for name, address, selector in SHOWN_IN_GALLERY:
            page.emulate_media(color_scheme="dark" if name == "dark" else "light")
            page.goto(f"{url}?{address}")
            part = page.locator(selector).first
            expect(part).to_be_visible()
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(3000)  # the small pictures come one after the other
            cut(part, name, GALLERY)


def cut(part: Locator, name: str, folder: Path = PICTURES) -> None:
    """Write a screenshot of the upper part of one view."""
    part.page.wait_for_timeout(800)
    box = part.bounding_box()
    assert box is not None
    shown = {**box, "height": min(box["height"], SMALL)}
    path = folder / f"{name}.png"
    part.page.screenshot(path=path, clip=shown)  # type: ignore[arg-type]
    print(f"{path} {path.stat().st_size // 1000} kB")


def main(arguments: list[str]) -> None:
    """Take the pictures that the arguments ask for."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**launch_options())  # type: ignore[arg-type]
        with running_page("demo") as served:
            if "--readme" in arguments:
                photograph_readme(browser, served.url)
                return
            if "--gallery" in arguments:
                photograph_gallery(browser, served.url)
                return
            folder = Path(arguments[0] if arguments else tempfile.mkdtemp())
            folder.mkdir(parents=True, exist_ok=True)
            for theme in THEMES:
                for width in WIDTHS:
                    photograph_page(browser, served.url, folder, theme, width)
        with running_lab(Path(tempfile.mkdtemp())) as lab:
            for theme in THEMES:
                for width in WIDTHS:
                    photograph_lab(browser, lab, folder, theme, width)


if __name__ == "__main__":
    main(sys.argv[1:])
