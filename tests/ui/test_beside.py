"""Two parts side by side as a person uses them, in both hosts."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.helpers.browsing import row, show, violations


@pytest.mark.both_hosts
def test_two_times_with_linked_parts_and_windows(explorer: Locator) -> None:
    row(explorer, "sst").click()
    panel = show(explorer, "Side by side")
    left, right = (panel.get_by_role("group", name=f"{side} part") for side in ("Left", "Right"))
    linked = panel.get_by_label("link both parts")
    expect(right.get_by_label("Right, time: index or slice")).to_have_value("0")
    field = left.get_by_label("Left, lat: index or slice")
    field.fill("2034567:3390123")  # as wide as the slices of large arrays
    explorer.page.wait_for_function(
        "field => field.scrollWidth <= field.clientWidth", arg=field.element_handle()
    )
    field.fill(":")
    linked.uncheck()
    right.get_by_label("Right, time: index or slice").fill("9")
    explorer.page.keyboard.press("Enter")
    linked.check()
    left.get_by_label("Left, time: index or slice").fill("3")
    explorer.page.keyboard.press("Enter")
    expect(right.get_by_label("Right, time: index or slice")).to_have_value("12")
    panel.get_by_role("button", name=re.compile("both$")).click()
    pictures = panel.get_by_role("application")
    expect(pictures).to_have_count(3)
    expect(pictures.nth(0)).to_have_attribute("aria-label", re.compile(r"^Left: sst\[3, :, :\]"))
    expect(pictures.nth(1)).to_have_attribute("aria-label", re.compile(r"^Right: sst\[12, :, :\]"))
    expect(pictures.nth(2)).to_have_attribute("aria-label", re.compile("^Difference: right minus"))
    expect(panel).to_contain_text("Right minus left.")

    pictures.nth(1).focus()
    ticks = [pictures.nth(i).locator("svg text") for i in range(3)]
    before = [each.all_text_contents() for each in ticks]
    explorer.page.keyboard.press("+")
    for each, texts in zip(ticks, before, strict=True):
        expect(each).not_to_have_text(texts)
    after = [each.all_text_contents() for each in ticks]
    assert after[0] == after[1] == after[2]
    for _ in range(2):
        explorer.page.keyboard.press("ArrowRight")
    said = r"lat [\d.]+, lon -?[\d.]+: left \S+ · right \S+ · difference \S+"
    expect(panel.get_by_role("status").filter(has_text="difference")).to_contain_text(
        re.compile(said)
    )
    lab = explorer.page.locator(".jp-OutputArea-output").count()
    within = ".jp-OutputArea-output" if lab else None
    assert violations(explorer.page, within=within) == []

    left.get_by_label("Array").select_option("wind")
    panel.get_by_role("button", name=re.compile("both$")).click()
    expect(panel).to_contain_text("No difference: the units differ")
    expect(pictures).to_have_count(2)
    if not lab:
        explorer.page.reload()
        expect(left.get_by_label("Array")).to_have_value("wind")
        expect(right.get_by_label("Right, time: index or slice")).to_have_value("12")
