"""Numbers on the page: infinities, integers beyond 2^53, cells of several values."""

# ruff: noqa: RUF001  the signs of the page

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.helpers.browsing import looked_at, open_file, show, violations
from tests.helpers.hosts import PanelPage
from tests.helpers.sets import held_array

BIG = 2**53 + 1


def write(folder: Path) -> None:
    infinite = np.arange(24, dtype="<f8").reshape(4, 6) / 7
    infinite[0, 1], infinite[1, 1], infinite[2, 2] = np.inf, -np.inf, np.nan
    coarse = np.where(np.add(*np.ogrid[:1100, :1500]) % 2, 1001, 1).astype("<i2")
    arrays = {
        "infinite": infinite,
        "large": np.arange(24, dtype="<i8").reshape(4, 6) + BIG,
        "coarse": coarse,
        "endless": np.full((3, 3), np.inf),
    }
    document: dict[str, object] = {}
    for name, values in arrays.items():
        sides = [f"{name}_y", f"{name}_x"]
        held = held_array(values, values.dtype.str, sides, list(values.shape))
        document |= {key.replace("x/", f"{name}/"): each for key, each in held.items()}
    (folder / "set.json").write_text(json.dumps(document))


@pytest.fixture
def opened(panel_page: PanelPage, page: Page, tmp_path: Path) -> Page:
    write(tmp_path)
    open_file(page, panel_page.url, tmp_path / "set.json", "key=infinite")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    return page


def shown(page: Page, name: str) -> Locator:
    """Select an array, which draws it."""
    panel = looked_at(page, "Values")
    page.get_by_role("treegrid").get_by_role("gridcell", name=name, exact=True).click()
    return panel


def copied(page: Page, panel: Locator) -> list[list[str]]:
    panel.get_by_role("group", name="Show as").get_by_role("button", name="Table").click()
    panel.get_by_role("button", name="Copy these cells").click()
    expect(panel.get_by_text(re.compile("rows copied"))).to_be_visible()
    text = page.evaluate("navigator.clipboard.readText()")
    return [line.split("\t") for line in text.splitlines()]


def test_infinities_are_drawn_and_counted(opened: Page) -> None:
    panel = shown(opened, "infinite")
    picture = panel.get_by_role("application", name="infinite: heatmap")
    expect(panel.get_by_role("list", name="Infinite values")).to_have_text("inf -inf")
    expect(panel).to_contain_text("0 to 3.2857142857142856 · 1 -inf · 1 inf · 1 missing")
    picture.focus()
    for key in ("ArrowDown", "ArrowRight"):
        picture.press(key)
    expect(panel.locator(".readout")).to_contain_text("infinite_y 0, infinite_x 1: inf · ")
    assert violations(opened) == []
    rows = copied(opened, panel)
    assert [rows[1][2], rows[2][2], rows[3][3], rows[4][6]] == ["inf", "-inf", "", str(23 / 7)]
    panel.get_by_role("group", name="Show as").get_by_role("button", name="Statistics").click()
    expect(panel.get_by_role("row", name="infinite 2")).to_be_visible()
    panel = shown(opened, "endless")
    expect(panel).to_contain_text("9 inf")
    expect(panel.get_by_text("No finite values")).to_be_visible()


def test_large_integers_have_every_digit(opened: Page) -> None:
    panel = shown(opened, "large")
    picture = panel.get_by_role("application", name="large: heatmap")
    picture.focus()
    picture.press("ArrowDown")
    expect(panel.locator(".readout")).to_contain_text(f"{BIG:,} · index 0, 0")
    expect(panel).to_contain_text(f"{BIG:,} to {BIG + 23:,}")
    for cell, text in enumerate(text for row in copied(opened, panel)[1:] for text in row[1:]):
        assert int(text) == BIG + cell


@pytest.mark.parametrize("values", [np.uint64(2**64 - 1), np.arange(BIG, BIG + 6).reshape(2, 3)])
def test_large_integers_of_two_sets_have_every_digit(
    panel_page: PanelPage, page: Page, tmp_path: Path, values: np.ndarray
) -> None:
    values = np.asarray(values)
    names = ["y", "x"][: values.ndim]
    for name, each in (("set", values), ("other", values - np.asarray(3, values.dtype))):
        document = held_array(each, each.dtype.str, names, list(values.shape))
        document |= {"x/0": document.pop("x/")} if not names else {}
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    key = "x/0" if not names else "x/0.0"
    other = tmp_path / "other.json"
    open_file(page, panel_page.url, tmp_path / "set.json", f"view=compare&key={key}&other={other}")
    panel = looked_at(page, "Compare")
    panel.get_by_role("button", name="Read this chunk in both sets").click()
    both = panel.get_by_role("region", name="The chunk in both sets")
    first = int(values.flat[0])
    if names:
        both.get_by_role("application").first.focus()
        page.keyboard.press("ArrowDown")
        said = f"y 0, x 0: before {first - 3:,} · after {first:,} · difference 3"
        expect(both.locator(".readout")).to_have_text(said)
    else:
        expect(both.locator("p.mono")).to_have_text([f"{first - 3:,}", f"{first:,}", "3"])
    panel = show(page, "Side by side")
    panel.get_by_role("button", name="Show both").click()
    if names:
        panel.get_by_role("application").first.focus()
        page.keyboard.press("ArrowDown")
        said = f"y 0, x 0: left {first - 3:,} · right {first:,} · difference 3"
        expect(panel.get_by_role("status").filter(has_text="difference")).to_have_text(said)
    else:
        expect(panel.locator("p.mono")).to_have_text([f"{first - 3:,}", f"{first:,}", "3"])


def test_a_mean_is_said_to_be_one_beside_the_value_at_the_index(opened: Page) -> None:
    panel = shown(opened, "coarse")
    panel.get_by_role("button", name="Decode 3.30 MB").click()  # beyond a first picture
    panel.get_by_role("button", name="Whole slice").click()
    picture = panel.get_by_role("application", name="coarse: heatmap")
    expect(panel).to_contain_text("Each cell is the mean of")
    picture.focus()
    picture.press("ArrowDown")
    readout = panel.locator(".readout")
    expect(readout).to_contain_text(
        "mean of 2 × 2: 501 · index 0 to 1, 0 to 1 · at index 0, 0: 1 ·"
    )
    panel.get_by_role("group", name="Show as").get_by_role("button", name="Table").click()
    note = panel.get_by_role("note")
    expect(note).to_contain_text("Each cell is the mean of 2 × 2 values, not one value")
    header = panel.get_by_role("grid").get_by_role("columnheader")
    expect(header.nth(1)).to_have_text("0 to 1")


def test_the_map_says_that_a_cell_is_a_mean(
    panel_page: PanelPage, page: Page, tmp_path: Path
) -> None:
    values = np.where(np.add(*np.ogrid[:1100, :1500]) % 2, 1001, 1).astype("<f4")
    values[100:300, 200:500] = np.inf
    document = held_array(values, "<f4", ["lat", "lon"], [1100, 1500])
    sides = {"lat": (np.linspace(80, -80, 1100), "degrees_north"),
             "lon": (np.linspace(-170, 170, 1500), "degrees_east")}  # fmt: skip
    for name, (places, units) in sides.items():
        own = held_array(places, "<f8", [name], [len(places)])
        own["x/.zattrs"]["units"] = units
        document |= {key.replace("x/", f"{name}/"): each for key, each in own.items()}
    (tmp_path / "set.json").write_text(json.dumps(document))
    open_file(page, panel_page.url, tmp_path / "set.json", "key=x")
    data = looked_at(page, "Values")
    # with or without the coordinates, which the small pictures may have read by now
    data.get_by_role("button", name=re.compile("^Decode 6.6")).click()
    data.get_by_role("button", name="Whole slice").click()
    expect(data).to_contain_text("Each cell is the mean of")
    panel = show(page, "Map")
    picture = panel.get_by_role("application")
    picture.focus()
    picture.press("ArrowDown")
    readout = panel.locator(".readout")
    expect(readout).to_contain_text(re.compile(r"mean of 2 × 2: 501; at the index: (1|1,001) · "))
    expect(panel.get_by_role("list", name="Infinite values")).to_have_text("inf")
