"""A picture of more values than a screen has points: read in part, whole, zoomed and moved."""

# ruff: noqa: RUF001  the signs of the page

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.helpers.axes import with_days
from tests.helpers.browsing import details, looked_at, menu, open_file, violations
from tests.helpers.earth_sets import pyramid_set
from tests.helpers.hosts import PanelPage
from tests.helpers.sets import ZARRAY

SIZE, CHUNK = 3000, 250


def write(folder: Path) -> None:
    """Write a set whose values are the number of their row."""
    values = np.broadcast_to(np.arange(SIZE, dtype="<i2")[:, None], (SIZE, SIZE))
    metadata = ZARRAY | {"shape": [SIZE, SIZE], "chunks": [CHUNK, CHUNK]}
    document: dict[str, object] = {
        ".zgroup": {"zarr_format": 2},
        "x/.zarray": metadata,
        "x/.zattrs": {"_ARRAY_DIMENSIONS": ["y", "x"]},
    }
    offset = 0
    with (folder / "data").open("wb") as file:
        for row, column in np.ndindex(SIZE // CHUNK, SIZE // CHUNK):
            rows, columns = (slice(at * CHUNK, (at + 1) * CHUNK) for at in (row, column))
            offset_after = offset + file.write(values[rows, columns].tobytes())
            document[f"x/{row}.{column}"] = ["data", offset, offset_after - offset]
            offset = offset_after
    (folder / "set.json").write_text(json.dumps(document))


def field(panel: Locator, name: str) -> Locator:
    return panel.get_by_label(f"{name}: index or slice")


def fill(panel: Locator, **parts: str) -> None:
    """Choose a part by its fields, in their menu."""
    part = menu(panel, "Part and reading")
    for name, text in parts.items():
        field(part, name).fill(text)
    panel.page.keyboard.press("Enter")
    panel.page.keyboard.press("Escape")


@pytest.fixture
def panel(panel_page: PanelPage, page: Page, tmp_path: Path) -> Locator:
    write(tmp_path)
    open_file(page, panel_page.url, tmp_path / "set.json", "key=x")
    return looked_at(page, "Values")


def test_a_picture_is_read_zoomed_and_moved(panel: Locator) -> None:
    expect(field(panel, "y")).to_have_value("1000:2000")
    picture = panel.get_by_role("application", name="x: heatmap")
    expect(panel).to_contain_text("1,000 × 1,000 of int16")
    panel.get_by_role("button", name="Whole slice").click()
    panel.get_by_role("button", name="Read 16.0 MB from data").click()
    expect(panel).to_contain_text("1,000 × 1,000 of int16 · 0 to 2,999", timeout=30_000)
    expect(panel).to_contain_text("Each cell is the mean of 3 along y and 3 along x")
    picture.focus()
    picture.press("ArrowDown")
    picture.press("ArrowDown")
    expect(panel.locator(".readout")).to_contain_text(
        "y 3 to 5, x 0 to 2: mean of 3 × 3: 4 · index 3 to 5, 0 to 2 · at index 3, 0: 3 · x/0.0"
    )
    # the chunks are here: what is zoomed to is read without a question
    for _ in range(3):
        picture.press("+")
    expect(panel).to_contain_text("889 × 889 of int16 · 1,056 to 1,944")
    expect(panel).not_to_contain_text("Each cell is")
    picture.press("Shift+ArrowDown")
    expect(field(panel, "y")).to_have_value("1278:2167")
    expect(field(panel, "x")).to_have_value("1056:1945")
    picture.press("0")
    expect(field(panel, "y")).to_have_value(":")
    expect(panel).to_contain_text("Each cell is the mean of 3 along y and 3 along x")


def test_gaps_of_a_coordinate_are_marked_on_its_axis(
    panel_page: PanelPage, page: Page, tmp_path: Path
) -> None:
    days = [0.0, 1, 2, 3, 7, 8, 9, 10]
    (tmp_path / "days.json").write_text(json.dumps(with_days(days)))
    explorer = open_file(page, panel_page.url, tmp_path / "days.json", "key=x")
    panel = looked_at(page, "Values")
    time = panel.get_by_role("group", name="time")
    marks = time.get_by_role("img", name="1 place marked on the axis")
    words = "time: 1 gap in steps of 1 day: between 2020-01-04 and 2020-01-08 (elements 3 and 4)"
    expect(marks.get_by_title(words)).to_be_visible()
    expect(time).to_contain_text(f"{words}, 3 missing")
    mark, strip = (each.bounding_box() for each in (marks.locator("span"), marks))
    assert mark
    assert strip
    assert abs(mark["x"] + mark["width"] / 2 - strip["x"] - strip["width"] / 2) < 2
    assert not violations(page)
    fill(panel, time="4:8")  # the gap is not among these
    expect(time).to_contain_text("(0 of 1 marked here)")
    expect(details(explorer, "The set")).to_contain_text(words)


def test_limits_are_set_by_what_occurs(panel: Locator) -> None:
    panel.get_by_label("Limits of").select_option("98 % of the values")
    expect(panel.get_by_label("Lowest value")).to_have_value("1010")
    expect(panel.get_by_label("Highest value")).to_have_value("1989")
    panel.get_by_role("combobox", name="Scale").select_option("log")
    expect(panel.get_by_role("img", name="Colours from 1,010 to 1,989, log")).to_be_visible()


def test_what_is_below_the_cursor_and_what_is_saved(panel: Locator) -> None:
    picture = panel.get_by_role("application", name="x: heatmap")
    expect(picture).to_be_visible()
    fill(panel, y="1000:1040", x="1000:1020")  # of a table axe looks at each cell
    expect(panel).to_contain_text("40 × 20 of int16")
    picture.focus()
    picture.press("ArrowDown")
    expect(panel.locator(".readout")).to_contain_text("x/4.4 · data, bytes 6,500,000 to 6,625,000")
    saved = {}
    for name in ("PNG", "SVG", "CSV", "npy", "NetCDF"):
        with panel.page.expect_download() as download:
            menu(panel, "Save as").get_by_role("button", name=name).click()
        saved[download.value.suggested_filename] = Path(download.value.path()).read_bytes()
    assert saved["x.png"].startswith(b"\x89PNG")
    drawn = saved["x.svg"].decode()
    assert 'href="data:image/png;base64,' in drawn
    assert "--ink: " in drawn
    assert saved["x.nc"].startswith((b"\x89HDF", b"CDF"))
    first, head, *rows = saved["x.csv"].decode().splitlines()
    assert (first, head[:16], rows[1][:15]) == ("# x", "y \\ x,1000,1001,", "1001,1001,1001,")
    assert np.load(io.BytesIO(saved["x.npy"]))[:2, 0].tolist() == [1000, 1001]
    picture.press("Enter")
    expect(panel.get_by_role("figure", name="Along y at x 1,000: 40 values")).to_be_visible()
    picture.press("p")
    picture.press("ArrowRight")
    picture.press("p")
    picture.press("ArrowDown")
    picture.press("Enter")
    expect(panel.get_by_role("figure", name="Along y through 3 points: 120 values")).to_be_visible()
    kept = panel.get_by_role("list", name="Profiles").get_by_role("listitem")
    expect(kept).to_have_count(3)
    panel.get_by_role("button", name="Remove the profile at y 1,000, x 1,000").press("Enter")
    expect(kept).to_have_text(["y 1,000, x 1,001 remove", "y 1,001, x 1,001"])
    panel.get_by_role("group", name="Show as").get_by_role("button", name="Table").click()
    table = panel.get_by_role("grid", name="Values of x")
    table.focus()
    for key in ("ArrowDown", "ArrowDown", "Shift+ArrowRight", "Shift+ArrowDown"):
        table.press(key)
    expect(table.locator("[aria-selected=true]")).to_have_count(4)
    chosen = panel.get_by_role("group", name="Chosen cells")
    expect(chosen).to_contain_text("2 × 2 cells: y 1,001 to 1,002, x 1,000 to 1,001")
    panel.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    chosen.get_by_role("button", name="Copy as CSV").click()
    expect(chosen.get_by_role("status")).to_have_text("4 cells copied")
    said = panel.page.evaluate("navigator.clipboard.readText()")
    assert said.splitlines()[1:3] == ["y \\ x,1000,1001", "1001,1001,1001"]
    cells = table.get_by_role("gridcell")
    cells.nth(0).hover()
    panel.page.mouse.down()
    cells.nth(2).hover()
    panel.page.mouse.up()
    expect(table.locator("[aria-selected=true]")).to_have_count(3)
    assert violations(panel.page) == []
    panel.get_by_role("group", name="Show as").get_by_role("button", name="Picture").click()
    expect(kept).to_have_text(["y 1,000, x 1,001 remove"])


def test_the_levels_of_a_pyramid_are_resolutions(
    tmp_path: Path, panel_page: PanelPage, page: Page
) -> None:
    keys = {
        key: json.dumps(text) if isinstance(text, dict) else text
        for key, text in pyramid_set().items()
    }
    (tmp_path / "pyramid.json").write_text(json.dumps(keys))
    explorer = open_file(page, panel_page.url, tmp_path / "pyramid.json", "key=r2/band")
    levels = looked_at(page, "Values").get_by_label("Resolution")
    expect(levels.locator("option")).to_have_text(
        [
            "8 × 8, cells of 30 × 20 (r0/band)",
            "4 × 4, cells of 60 × 40 (r1/band)",
            "2 × 2, cells of 120 × 80 (r2/band)",
        ]
    )
    levels.select_option("r0/band")
    expect(explorer.get_by_role("heading", name="r0/band").first).to_be_visible()
    expect(levels).to_have_value("r0/band")
