"""The extension of JupyterLab: from a file in its browser to a tab, and back to the file."""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from refexplorer import demo
from tests.helpers.browsing import looked_at, show
from tests.helpers.hosts import Lab

BARE = """
import sys
sys.modules["refexplorer"] = None
from ipykernel.kernelapp import launch_new_instance
launch_new_instance()
"""
"""A kernel whose environment has no refexplorer."""
KERNELSPECS = re.compile("/api/kernelspecs")
_REFRESH_KERNELSPECS = "window.jupyterapp.serviceManager.kernelspecs.refreshSpecs()"
_END_KERNELS = """
async name => {
  const { sessions } = window.jupyterapp.serviceManager;
  await sessions.refreshRunning();
  for (const { id, kernel } of [...sessions.running()])
    if (kernel?.name === name) await sessions.shutdown(id);
}
"""
_GO_TO = """
async path => {
  await window.jupyterapp.commands.execute("filebrowser:go-to-path", { path });
}
"""


class Browser:
    """The file browser of JupyterLab, in a folder of its own."""

    def __init__(self, lab: Lab, page: Page, folder: Path) -> None:
        self.lab = lab
        self.page = page
        self.folder = folder

    def visit(self) -> None:
        """Load JupyterLab, or close what is open and go to the folder."""
        if self.page.url.startswith(self.lab.url):
            self.lab.close_tabs(self.page)
            self.page.evaluate(_GO_TO, f"/{self.folder.name}")
        else:
            self.page.goto(self.lab.address(self.folder.name))
        expect(self.item("sst.v1.json")).to_be_visible()
        expect(self.page.locator(".jp-Launcher")).to_be_visible()

    def item(self, name: str) -> Locator:
        return self.page.locator(".jp-DirListing-item").filter(
            has=self.page.get_by_text(name, exact=True)
        )

    def choose(self, name: str, *entries: str) -> None:
        """Choose an entry of the context menu of a file or folder."""
        self.item(name).click(button="right")
        for entry in entries:
            named = self.page.get_by_text(entry, exact=True)
            self.page.locator(".lm-Menu-item").filter(has=named).click()

    def explorer(self, title: str) -> Locator:
        return self.page.get_by_role("region", name=f"Reference set {title}")


@pytest.fixture
def files(lab: Lab, page: Page) -> Browser:
    folder = lab.folder / f"sets-{uuid4().hex[:8]}"
    folder.mkdir()
    for name in ("sst.v1.json", "spec.v1.json", *(f"sst_2025-0{n}.nc" for n in (7, 8, 9))):
        shutil.copy(demo.path(name), folder)
    shutil.copy(demo.path("sst.v0.json"), folder / "day.refs.json")
    shutil.copytree(demo.path("sst.parq"), folder / "sst.parq")
    (folder / "notes.txt").write_text("no set")
    (folder / "no-set.json").write_text("[1, 2")
    browser = Browser(lab, page, folder)
    browser.visit()
    return browser


@pytest.fixture
def asked(page: Page) -> list[str]:
    """What JupyterLab asks of the contents of files."""
    requests: list[str] = []
    page.on(
        "request",
        lambda request: (
            requests.append(f"{request.method} {request.url}")
            if "/api/contents/" in request.url
            else None
        ),
    )
    return requests


def in_layout(page: Page, workspace: str, name: str) -> None:
    """Wait until JupyterLab has saved a layout that holds the tab of a set."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        layout = page.request.get(workspace).json()["data"].get("layout-restorer:data", {})
        if name in json.dumps(layout):
            return
        page.wait_for_timeout(200)
    raise AssertionError(f"{name} is not in the layout that JupyterLab saved")


def test_from_the_menu_to_the_tree_to_a_picture_to_code_in_a_notebook(
    files: Browser, page: Page
) -> None:
    files.choose("sst.v1.json", "Open as reference set")
    explorer = files.explorer("sst.v1.json")
    explorer.get_by_role("treegrid").get_by_role("row").filter(has_text="wind").first.click()
    show(explorer, "Values")
    expect(looked_at(explorer, "Values").locator("canvas, svg").first).to_be_visible()
    page.get_by_role("button", name="Open in a notebook").click()
    cell = page.locator(".jp-Notebook .jp-CodeCell").first
    expect(cell).to_contain_text('rx.open_references("sst.v1.json")')
    expect(cell).to_contain_text("refs.to_zarr()['wind'][")
    page.wait_for_function(
        "window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
    )
    page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    expect(cell.locator(".jp-OutputArea")).to_contain_text("array(")


def test_a_file_that_is_dragged_onto_an_explorer_opens(files: Browser, page: Page) -> None:
    files.choose("sst.v1.json", "Open as reference set")
    expect(files.explorer("sst.v1.json")).to_be_visible()
    files.item("day.refs.json").hover()
    page.mouse.down()
    place = files.explorer("sst.v1.json").bounding_box()
    assert place is not None
    middle = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    page.mouse.move(*middle, steps=10)
    page.mouse.up()
    expect(files.explorer("day.refs.json")).to_be_visible()
    expect(files.item("day.refs.json")).to_be_visible()  # it was not moved


def test_a_data_file_opens_as_a_set_whatever_opens_such_files(files: Browser, page: Page) -> None:
    pytest.importorskip("kerchunk")
    files.choose("sst_2025-07.nc", "Open as reference set")
    explorer = files.explorer("sst_2025-07.nc")
    expect(
        explorer.get_by_role("treegrid").get_by_role("row").filter(has_text="sst")
    ).to_be_visible()


def test_the_card_of_the_launcher_opens_a_set_by_its_path(files: Browser, page: Page) -> None:
    page.locator(".jp-LauncherCard").filter(has_text="Reference set").click()
    page.locator(".jp-Dialog input").fill(f"{files.folder.name}/sst.v1.json")
    page.locator(".jp-Dialog").get_by_role("button", name="Ok").click()
    expect(files.explorer("sst.v1.json")).to_be_visible()


def test_a_folder_opens_and_tabs_survive_a_reload_on_one_kernel(files: Browser, page: Page) -> None:
    files.choose("sst.parq", "Open as reference set")
    expect(files.explorer("sst.parq")).to_be_visible()
    files.choose("sst.v1.json", "Open as reference set")
    expect(files.explorer("sst.v1.json")).to_be_visible()
    files.choose("day.refs.json", "Open as reference set")
    expect(files.explorer("day.refs.json")).to_be_visible()
    # With the name of a file in it, JupyterLab shows that file once more some time after a reload.
    workspace = page.url.split("/tree/")[0]
    in_layout(page, workspace.replace("/lab/workspaces/", "/lab/api/workspaces/"), "day.refs.json")
    page.goto(workspace)
    expect(files.explorer("day.refs.json")).to_be_visible()
    page.evaluate("window.jupyterapp.restored")  # which shows the tab that was in sight, too
    for name in ("sst.parq", "sst.v1.json"):
        page.get_by_role("tab", name=name).click()
        expect(files.explorer(name).get_by_role("treegrid")).to_be_visible()
    answer = page.request.get(f"{files.lab.url}/api/sessions")
    paths = [session["path"] for session in answer.json()]
    assert len([path for path in paths if path.startswith(".refexplorer-tabs")]) == 1


def test_a_named_file_opens_so_by_a_double_click_and_no_other_json_does(
    files: Browser, page: Page, asked: list[str]
) -> None:
    files.item("day.refs.json").dblclick()
    expect(files.explorer("day.refs.json")).to_be_visible()
    # a file of 1 GB opens so, too, if its content is not asked for
    of_it = [each for each in asked if "/day.refs.json" in each]
    assert of_it
    assert not [each for each in of_it if "content=1" in each]
    files.item("sst.v1.json").dblclick()
    expect(page.get_by_role("tab", name="sst.v1.json")).to_be_visible()
    expect(files.explorer("sst.v1.json")).to_have_count(0)


def test_the_menu_offers_it_where_a_set_may_be(files: Browser, page: Page) -> None:
    offered = page.get_by_role("menuitem", name="Open as reference set")
    for name, times in (("notes.txt", 0), ("sst_2025-07.nc", 1), ("sst.parq", 1)):
        files.choose(name)
        expect(page.get_by_role("menuitem", name="Rename")).to_be_visible()
        expect(offered).to_have_count(times)
        page.keyboard.press("Escape")
    expect(page.locator(".jp-LauncherCard").filter(has_text="Reference set")).to_be_visible()


def test_a_file_is_read_by_the_kernel_alone(files: Browser, page: Page, asked: list[str]) -> None:
    files.choose("sst.v1.json", "Open With", "Reference set")
    expect(files.explorer("sst.v1.json")).to_be_visible()
    of_it = [each for each in asked if "/sst.v1.json" in each]
    assert of_it
    assert not [each for each in of_it if "content=1" in each or each.startswith("POST")]
    assert not [path for path in files.folder.rglob("*checkpoint*") if path.is_file()]


def test_the_editor_saves_to_its_file_and_sees_who_else_did(files: Browser, page: Page) -> None:
    file = files.folder / "spec.v1.json"
    files.choose("spec.v1.json", "Open With", "Reference set editor")
    editor = page.get_by_role("region", name="Template editor")
    dirty = page.locator(".lm-TabBar-tab.jp-mod-dirty").filter(has_text="spec.v1.json")
    expect(editor).to_contain_text("9 keys")
    expect(dirty).to_have_count(0)
    editor.get_by_role("textbox").first.focus()
    page.keyboard.press("Control+a")
    text = '{"version": 1, "refs": {"a": "text", "b": "more"}}'
    page.keyboard.insert_text(text)
    expect(editor).to_contain_text("2 keys")
    expect(dirty).to_have_count(1)
    page.keyboard.press("Control+s")
    expect(dirty).to_have_count(0)
    assert file.read_text() == text
    page.wait_for_timeout(1000)  # so that the time of the file tells the two apart
    file.write_text('{"version": 1, "refs": {}}')
    page.keyboard.press("End")
    page.keyboard.insert_text(" ")
    expect(dirty).to_have_count(1)
    page.keyboard.press("Control+s")
    expect(page.get_by_role("dialog")).to_contain_text("has changed on disk")
    page.get_by_role("button", name="Revert").click()
    expect(editor.get_by_role("textbox").first).to_have_text('{"version": 1, "refs": {}}')


def test_what_cannot_be_opened_is_said(files: Browser, page: Page) -> None:
    files.choose("no-set.json", "Open as reference set")
    expect(page.get_by_role("alert").filter(has_text="no-set.json")).to_contain_text("JSON")


@pytest.fixture
def bare(lab: Lab, page: Page) -> Iterator[None]:
    """Add a kernel that has no refexplorer, which is the one that JupyterLab starts by default."""
    place = lab.folder.parent / "data" / "kernels" / "bare"
    place.mkdir(parents=True)
    argv = [sys.executable, "-c", BARE, "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "Bare Python", "language": "python"}
    (place / "kernel.json").write_text(json.dumps(spec))

    def with_default(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"default": "bare"})

    page.route(KERNELSPECS, with_default)
    yield
    page.unroute(KERNELSPECS)
    shutil.rmtree(place)
    page.evaluate(_END_KERNELS, "bare")
    page.evaluate(_REFRESH_KERNELSPECS)


def test_a_kernel_without_refexplorer_says_what_to_install(
    files: Browser, bare: None, page: Page
) -> None:
    page.evaluate(_REFRESH_KERNELSPECS)
    files.choose("sst.v1.json", "Open as reference set")
    said = page.get_by_role("alert").filter(has_text="Bare Python")
    expect(said).to_contain_text("pip install --upgrade refexplorer")
    page.get_by_role("combobox", name="Kernel").select_option("python3")
    page.get_by_role("button", name="Try again").click()
    expect(files.explorer("sst.v1.json")).to_be_visible()
