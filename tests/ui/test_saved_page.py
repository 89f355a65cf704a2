"""The explorer as one file: opened from disk, with no server and no network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

import refexplorer as rx
from refexplorer import demo
from refexplorer.views.registry import PARTS
from tests.helpers.browsing import (
    GOOD,
    details,
    looked_at,
    replace_text,
    show,
    violations,
    violations_in_both_colours,
)
from tests.helpers.guard import Guard

HOSTILE = "</script><script>document.title='broken in'</script><!--<img src=x onerror=alert(1)>"
META = {
    "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i2", "compressor": None,
    "fill_value": 0, "filters": None, "order": "C",
}  # fmt: skip


@pytest.fixture(autouse=True)
def offline(context: BrowserContext) -> Iterator[None]:
    """Refuse the network, and fail on any request but of the file itself."""
    asked: list[str] = []
    context.set_offline(True)
    context.on("request", lambda request: asked.append(request.url))
    yield
    assert asked
    assert [url for url in asked if not url.startswith(("file:///", "blob:null/"))] == []
    assert len({url.partition("#")[0] for url in asked if url.startswith("file:")}) == 1


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "report.html"
    refs = rx.open_references(demo.path("sst.v1.json"))
    refs.audit()
    refs.verify()
    refs.to_html(path, read=["sst"], check_targets=True)
    return path


def opened(page: Page, path: Path, address: str = "") -> None:
    page.goto(f"{path.as_uri()}{address}")
    expect(page.get_by_role("treegrid")).to_be_visible()


def test_tree_key_values_and_maps_are_there(saved: Path, page: Page) -> None:
    opened(page, saved)
    expect(page).to_have_title("sst.v1.json \N{MIDDLE DOT} refexplorer")
    expect(page.get_by_text("All 60 keys are on this page.")).to_be_visible()
    frame = looked_at(page, "Values").get_by_title("The dataset as xarray shows it").content_frame
    expect(frame.get_by_text("xarray.Dataset", exact=True)).to_be_visible()
    page.get_by_role("treegrid").get_by_role("row").filter(has_text="sst").first.click()
    expect(details(page, "Key")).to_contain_text("sea surface temperature")
    expect(page.get_by_role("region", name="Python code that opens it")).to_contain_text("zarr")
    data = looked_at(page, "Values")
    expect(data.locator("canvas, svg").first).to_be_visible()
    expect(data).to_contain_text("degree_Celsius")
    show(page, "Chunks")
    expect(looked_at(page, "Chunks").locator("canvas, svg").first).to_be_visible()
    targets = show(page, "Files")
    expect(targets).to_contain_text("sst_2025-07.nc")
    expect(targets).to_contain_text("ranges inside")
    expect(targets).to_contain_text("13 ranges")


def test_every_look_is_answered(saved: Path, page: Page) -> None:
    """Those of the registry; a view whose requests nobody recorded says what to do."""
    opened(page, saved)
    page.get_by_role("treegrid").get_by_role("row").filter(has_text="sst").first.click()
    looks = [part.label for part in PARTS if part.look]
    for _ in range(2):  # by the second time each has its answers
        for label in looks:
            expect(show(page, label)).to_be_visible()
            expect(looked_at(page, label)).not_to_contain_text("Open the set with refexplorer")


def test_map_and_side_by_side_are_there(saved: Path, page: Page) -> None:
    opened(page, saved, "#view=map&key=sst")
    panel = looked_at(page, "Map")
    picture = panel.get_by_role("application", name=re.compile("Map of sst: equirectangular"))
    expect(picture).to_be_visible()
    panel.get_by_role("combobox", name="Chunks").select_option("state")
    expect(panel).to_contain_text("Each footprint includes all chunks above it: 9 along time.")
    panel.get_by_role("combobox", name="Chunks").select_option("outline")
    expect(panel.get_by_role("img", name=re.compile("^Colours of"))).to_be_visible()
    picture.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(panel.get_by_text("Selected:")).to_contain_text("sst/0.")
    expect(panel.get_by_role("status").filter(has_text="index")).to_contain_text("sst_2025-07.nc")
    for _ in range(4):
        page.keyboard.press("+")
    expect(panel).to_contain_text("finer coastlines are not included")
    panel.get_by_label("Position: latitude and longitude").fill("20N 60W")
    page.keyboard.press("Enter")
    expect(panel.get_by_role("alert")).to_contain_text("which needs Python")
    panel = show(page, "Side by side")
    panel.get_by_label("link both parts").uncheck()
    panel.get_by_label("Right, time: index or slice").fill("9")
    page.keyboard.press("Enter")
    panel.get_by_role("button", name="Show both").click()
    expect(panel.get_by_role("application")).to_have_count(3)
    expect(panel).to_contain_text("Right minus left.")
    assert violations(page) == []
    panel.get_by_label("Left part").get_by_label("Array").select_option("wind")
    expect(panel.get_by_role("alert")).to_contain_text("No values of wind were read")


def test_keys_are_opened_searched_and_decoded(saved: Path, page: Page) -> None:
    opened(page, saved)
    tree = page.get_by_role("treegrid")
    tree.get_by_role("row").filter(has_text="wind_lat").locator(".twisty").click()
    attributes = tree.locator("[aria-level='2']").get_by_role("gridcell", name=".zattrs")
    attributes.click()
    expect(page.get_by_role("region", name="Text of the key")).to_contain_text("degrees_north")
    page.get_by_role("searchbox", name="Find keys").fill("wind/*.0.0")
    expect(page.get_by_text("18 keys found")).to_be_visible()
    tree.get_by_role("gridcell", name="wind/7.0.0", exact=True).click()
    expect(details(page, "Key")).to_contain_text("gen[0]")
    page.get_by_role("button", name="Show derivation").click()
    expect(page.get_by_role("region", name="Derivation of this key")).to_be_visible()
    page.get_by_role("searchbox", name="Find keys").fill("time/0")
    tree.get_by_role("gridcell", name="time/0", exact=True).click()
    page.get_by_role("button", name="Show bytes").click()
    expect(page.get_by_role("grid", name="Bytes from offset 0")).to_contain_text("00")
    page.get_by_role("button", name="Decode step by step").click()
    expect(page.get_by_role("table", name="Steps from the reference")).to_be_visible()


def test_what_needs_a_kernel_says_so(saved: Path, page: Page) -> None:
    opened(page, saved, "#key=wind/7.0.0")
    key = details(page, "Key")
    for button in ("Show bytes", "Decode step by step"):
        key.get_by_role("button", name=button).click()
    expect(key.get_by_role("alert").filter(has_text="needs Python")).to_have_count(2)
    said = looked_at(page, "Values").get_by_role("alert")
    expect(said).to_contain_text("This part was not read when the page was saved")


def test_a_link_leads_to_where_somebody_was(saved: Path, page: Page) -> None:
    opened(page, saved)
    page.get_by_role("treegrid").get_by_role("row").filter(has_text="land").click()
    show(page, "Chunks")
    expect(page).to_have_url(re.compile(r"#view=chunks&key=land$"))
    page.reload()
    expect(looked_at(page, "Chunks").get_by_role("application").first).to_be_visible()
    expect(page.locator("[role=treegrid] [aria-selected=true]")).to_contain_text("land")
    page.evaluate("location.hash = '#view=targets&key=time'")
    expect(looked_at(page, "Files")).to_be_visible()
    expect(details(page, "Key")).to_contain_text("Array time")


def test_findings_about_the_targets_are_there(saved: Path, page: Page) -> None:
    opened(page, saved)
    page.get_by_role("button", name="Verification").click()
    expect(page.get_by_role("main", name="Verification")).to_contain_text("file")
    page.get_by_role("button", name="Audit").click()
    expect(page.get_by_role("main", name="Audit")).to_contain_text("ranges are inside their files")
    page.get_by_role("button", name="Explorer").click()
    expect(page.get_by_role("treegrid")).to_be_visible()


def test_it_can_be_used_by_everybody(saved: Path, page: Page) -> None:
    opened(page, saved)
    assert violations_in_both_colours(page) == []


def test_no_text_of_a_set_becomes_script(tmp_path: Path, page: Page) -> None:
    source = tmp_path / "a'&<b>.json"
    document: dict[str, Any] = {
        HOSTILE: HOSTILE,
        f"{HOSTILE}/.zarray": json.dumps(META),
        f"{HOSTILE}/.zattrs": json.dumps({HOSTILE: HOSTILE, "units": HOSTILE}),
        f"{HOSTILE}/0": [f"http://{HOSTILE}", 0, 4],
        "x/.zarray": json.dumps(META),
        "x/.zattrs": json.dumps({"long_name": HOSTILE, "_ARRAY_DIMENSIONS": [HOSTILE]}),
        "x/0": "base64:AAABAA==",
        "x/1": ["$title ${content} \u2028 javascript:alert(1)"],
        "quote'\"\\\0": "text",
    }
    source.write_text(json.dumps(document))
    saved = tmp_path / "hostile.html"
    rx.open_references(source).to_html(saved)
    text = saved.read_text(encoding="utf-8")
    assert text.count("<script") == 4
    assert not {"<img src=x", "<!--", HOSTILE} & set(re.findall("<img src=x|<!--", text))
    opened(page, saved)
    expect(page).to_have_title("a'&<b>.json \N{MIDDLE DOT} refexplorer")
    page.get_by_role("searchbox", name="Find keys").fill("img src")
    rows = page.get_by_role("treegrid").get_by_role("row")
    expect(rows).to_have_count(1 + 5)
    for at in range(1, 6):
        rows.nth(at).click()
    for look in ("Values", "Chunks", "Files"):
        expect(show(page, look)).to_be_visible()
    for part in ("Key", "The set"):
        expect(details(page, part)).to_be_visible()
    assert page.locator("img").count() == 0
    expect(page).to_have_title("a'&<b>.json \N{MIDDLE DOT} refexplorer")


def test_a_script_of_somebody_else_in_the_page_does_not_run(saved: Path, page: Page) -> None:
    opened(page, saved)
    ran = page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "globalThis.ran = true";
            document.body.append(script);
            return globalThis.ran === true;
        }"""
    )
    assert ran is False


@pytest.fixture(autouse=True)
def guard(request: pytest.FixtureRequest) -> Iterator[None]:
    """As for all tests with a browser; a script that the page refuses is told to the console."""
    watching = Guard(request.getfixturevalue("context"))
    yield
    refused = "of_somebody_else" in request.node.name
    found = [each for each in watching.findings if not (refused and "Content Security" in each)]
    assert not found, "\n".join(found)
    assert len(watching.findings) == int(refused)


def test_without_scripts_there_is_the_static_view(
    saved: Path, browser: Browser, page: Page
) -> None:
    opened(page, saved)
    with browser.new_context(java_script_enabled=False) as context:
        plain = context.new_page()
        plain.goto(saved.as_uri())
        static = plain.locator("noscript")
        expect(static.locator("> p").first).to_contain_text("asks nothing of any server")
        expect(static.locator(".refexplorer > p").first).to_contain_text("60 keys")
        expect(static.locator("summary").filter(has_text="sst array, 20 children")).to_be_visible()
        expect(static.locator("img")).to_be_visible()
        expect(static.locator("img")).to_have_attribute("alt", re.compile("^sea surface temp"))
        expect(plain.locator("#waiting")).to_be_hidden()


def test_no_folder_of_this_machine_is_named(saved: Path, page: Page) -> None:
    opened(page, saved, "#view=key&key=sst/0.0.0")
    expect(details(page, "Key")).to_contain_text("sst_2025-07.nc")
    page.get_by_role("button", name="Audit").click()
    folder = str(demo.path("sst.v1.json").parent)
    found = page.evaluate(
        """async (folder) => {
            const text = document.getElementById("content").textContent;
            const bytes = Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0));
            const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
            const all = new TextDecoder().decode(await new Response(stream).arrayBuffer());
            return [all.includes(folder), all.includes("sst_2025-07.nc"), all.length];
        }""",
        folder,
    )
    assert found[:2] == [False, True]
    assert folder not in saved.read_text(encoding="utf-8")


def test_ten_thousand_keys_take_about_a_megabyte(tmp_path: Path, page: Page) -> None:
    document: dict[str, Any] = {}
    for array in "abcd":
        meta = {**META, "shape": [5000], "dtype": "<f4", "zarr_format": 2}
        document[f"{array}/.zarray"] = json.dumps(meta)
        document |= {
            f"{array}/{n}": [f"s3://bucket/{array}/{n:05}.nc", 8 * n * len(array), 8]
            for n in range(2499)
        }
    refs = rx.open_references(document)
    assert refs.count == 10_000
    saved = tmp_path / "large.html"
    refs.to_html(saved)
    assert saved.stat().st_size < 1_000_000 + 60 * refs.count
    opened(page, saved, "#view=key&key=d/2498")
    expect(page.get_by_text("All 10,000 keys are on this page.")).to_be_visible()
    expect(details(page, "Key")).to_contain_text("s3://bucket/d/02498.nc")


def test_the_editor_is_one_file_too(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "editor.html"
    text = GOOD.replace("s3://bucket", HOSTILE.replace('"', "'"))
    rx.TemplateEditor(text).to_html(path, name=HOSTILE)
    page.goto(path.as_uri())
    editor = page.get_by_role("region", name="Template editor", exact=True)
    expect(page.get_by_text("All 3 keys are on this page.")).to_be_visible()
    rows = editor.get_by_role("grid", name="V0 keys")
    expect(rows).to_contain_text("onerror=alert(1)>/2.nc")
    rows.get_by_role("row").filter(has_text="x/1").click()
    expect(editor.locator(".trace-value").first).to_be_visible()
    editor.get_by_role("searchbox", name="Go to a key or its number").fill("x/2")
    page.keyboard.press("Enter")
    expect(rows.locator("[aria-selected=true]")).to_contain_text("x/2")
    editor.get_by_role("button", name="Specification").click()
    expect(editor.get_by_role("complementary").or_(editor.locator(".rules"))).to_contain_text("gen")
    replace_text(editor, '{"a": "text"}')
    expect(editor.locator(".foot")).to_contain_text("which needs Python")
    expect(page).to_have_title(re.compile("refexplorer$"))
    assert violations(page) == []


def test_an_exercise_is_one_file_that_judges_its_own_answers(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "exercise.html"
    exercises = rx.Exercises(exercise="18-a-wrong-name", answers=None)
    exercises.to_html(path)
    page.goto(path.as_uri())
    editor = page.get_by_role("region", name="Exercises", exact=True)
    task = page.get_by_role("region", name="Exercise", exact=True)
    said = task.get_by_role("status")
    expect(task).to_contain_text("Three references are written here")
    for question in ("Is something wrong?", "Where?", "What?"):
        task.get_by_role("button", name=question).click()
    expect(said).to_contain_text("`buket` is not defined".replace("`", ""))
    right = json.dumps(json.loads(exercises.document.replace("buket", "bucket")), indent=4)
    wrong = right.replace("{{bucket}}/b.nc", "s3://ocean/b.nc")
    for text, verdict in (
        (wrong, "does not use the template bucket"),
        ('{"version": 1}', "Cannot be checked"),
        (right, "Solved."),
        (right.replace("c.nc", "d.nc"), "Cannot be checked"),
    ):
        replace_text(editor, text)
        expect(said).to_contain_text(verdict)
    task.get_by_role("button", name="Start again").click()
    task.get_by_role("button", name="Show a solution").click()
    expect(page.get_by_role("group", name="A solution")).to_contain_text("{{bucket}}/b.nc")
    expect(page).to_have_title(re.compile("refexplorer$"))
    assert violations(page) == []
