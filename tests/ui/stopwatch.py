"""Count the actions and seconds of common tasks on the page: ``python -m tests.ui.stopwatch``.

An action is a click, or a text that is typed. The seconds are those of the machine from the first
action to what was asked for; nobody reads or moves a mouse in them.
"""

# ruff: noqa: T201

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np
from playwright.sync_api import Locator, Page, expect, sync_playwright

import refexplorer as rx
from refexplorer import demo as demo_sets
from tests.helpers.browser import launch_options
from tests.helpers.browsing import details, open_file, replace_text, row
from tests.helpers.hosts import running_lab, running_page
from tests.helpers.servers import range_server
from tests.helpers.sets import metadata

FILES = 200
SIDE, CHUNK = 5424, 226
"""Of the full disk of GOES."""


class Watch:
    """Does the actions of one task, and counts them."""

    def __init__(self) -> None:
        self.actions = 0
        self.began = 0.0

    def count(self) -> None:
        self.began = self.began or time.perf_counter()
        self.actions += 1

    def click(self, target: Locator, **options: object) -> None:
        self.count()
        target.click(**options)  # type: ignore[arg-type]

    def type(self, target: Locator, text: str) -> None:
        self.count()
        target.fill(text)
        target.press("Enter")


def file_of_bytes(page: Page, watch: Watch) -> None:
    watch.click(row(page, "sst"))
    watch.type(
        page.get_by_label("Point: latitude and longitude, labels of dimensions, or an index"),
        "40N 30W, time=2025-07-13",
    )
    expect(details(page)).to_contain_text(re.compile(r"Bytes [\d,]+ to [\d,]+ of sst_2025-07\.nc"))


def faults(page: Page, watch: Watch) -> None:
    watch.click(details(page, "The set").get_by_role("button", name="Compare with the files"))
    found = page.get_by_role("list", name="What differs from the files")
    expect(page.get_by_role("status", name="Verdict")).to_contain_text("iffer", timeout=120_000)
    expect(found).to_contain_text("scale_factor")


def exported_map(page: Page, watch: Watch) -> None:
    watch.click(row(page, "sst"))
    watch.type(page.get_by_label("Lowest value"), "10")
    watch.type(page.get_by_label("Highest value"), "25")
    watch.click(page.get_by_text("Save as"))
    with page.expect_download() as download:
        watch.click(page.get_by_role("button", name="PNG"))
    assert download.value.suggested_filename.endswith(".png")


def series_at_a_point(page: Page, watch: Watch) -> None:
    watch.click(row(page, "sst"))
    picture = page.get_by_role("application").first
    expect(picture.locator("canvas")).to_be_visible()
    box = picture.bounding_box()
    assert box is not None
    watch.click(picture, position={"x": box["width"] * 0.6, "y": box["height"] * 0.6})
    expect(page.get_by_text(re.compile("^at the point"))).to_be_visible()


def why_it_is_missing(page: Page, watch: Watch) -> None:
    row(page, "sst").click()
    picture = page.get_by_role("application").first
    expect(picture.locator("canvas")).to_be_visible()
    watch.click(picture, position={"x": 90, "y": 60})
    expect(details(page)).to_contain_text("fill value")


def compared_with_last_week(page: Page, watch: Watch) -> None:
    watch.click(page.get_by_role("button", name="Compare with …"))
    watch.type(page.get_by_label("Compare with another set: path or URL"), "demo/sst.v0.json")
    banner = page.get_by_role("region", name="Comparison with another set")
    expect(banner).to_contain_text("differ")


def shorter_text(page: Page, watch: Watch) -> None:
    watch.click(page.get_by_role("button", name="Template editor"))
    editor = page.get_by_role("region", name="Template editor")
    _choose(watch, editor, "Text", "Find a shorter V1")
    with page.expect_download() as download:
        watch.click(editor.get_by_role("button", name="Replace and save"), timeout=60_000)
    assert '"gen"' in Path(download.value.path()).read_text()


def _choose(watch: Watch, editor: Locator, menu: str, item: str) -> None:
    watch.click(editor.get_by_role("button", name=menu, exact=True))
    watch.click(editor.get_by_role("menuitem", name=item, exact=True))


def five_exercises(page: Page, watch: Watch) -> None:
    task = page.get_by_role("region", name="Exercise", exact=True)
    chosen = page.get_by_label("Choose an exercise")
    for path in demo_sets.exercises()[:5]:
        watch.count()
        chosen.select_option(path.stem)
        text = page.get_by_role("textbox")
        expect(task.get_by_role("status")).to_be_empty()
        before = _top(text)
        watch.count()
        replace_text(page.locator("body"), tomllib.loads(path.read_text())["solution"])
        expect(task.get_by_role("status")).to_contain_text("Solved.")
        assert _top(text) == before, f"{path.stem}: the editor moved"


def _top(text: Locator) -> float:
    box = text.bounding_box()  # its height and the numbers of its lines depend on the text
    assert box is not None
    return box["y"]


def sent_link(page: Page, watch: Watch) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    row(page, "sst").click()
    expect(page.locator(".figure canvas").first).to_be_visible()
    watch.click(page.get_by_role("button", name="Copy link"))
    address = page.evaluate("navigator.clipboard.readText()")
    with page.context.expect_page() as opening:
        page.evaluate("address => { window.open(address); }", address)
    expect(opening.value.locator(".figure canvas").first).to_be_visible()
    assert opening.value.url == page.url


def from_jupyter(page: Page, watch: Watch) -> None:
    def item(name: str) -> Locator:
        found = page.locator(".jp-DirListing-item").filter(has=page.get_by_text(name, exact=True))
        expect(found).to_be_visible(timeout=60_000)
        return found

    item("day.refs.json")
    watch.count()
    page.locator(".jp-DirListing-item").filter(
        has=page.get_by_text("day.refs.json", exact=True)
    ).dblclick()
    shown = page.get_by_role("region", name="Reference set day.refs.json")
    expect(shown.get_by_role("treegrid")).to_be_visible(timeout=60_000)
    watch.click(item("sst_2025-07.nc"), button="right")
    menu = page.locator(".lm-Menu-item")
    watch.click(menu.filter(has=page.get_by_text("Open as reference set", exact=True)))
    shown = page.get_by_role("region", name="Reference set sst_2025-07.nc")
    expect(shown.get_by_role("treegrid")).to_be_visible(timeout=60_000)


def saved_page(page: Page, watch: Watch) -> None:
    watch.count()
    page.reload()
    expect(page.get_by_role("complementary", name="About this page")).to_contain_text(
        re.compile(r"saved with refexplorer .*(All|Of) \d")
    )
    watch.click(row(page, "sst"))
    expect(page.locator(".figure canvas").first).to_be_visible()


def remote_array(page: Page, watch: Watch) -> None:
    watch.click(row(page, "rad"))  # its place was allowed by the command
    expect(page.locator(".figure canvas").first).to_be_visible(timeout=60_000)


class LateFiles(dict[str, bytes]):
    """Files of a server that is 50 ms away."""

    def __contains__(self, path: object) -> bool:
        time.sleep(0.05)
        return super().__contains__(path)


def keys_of_one_file(page: Page, watch: Watch) -> None:
    watch.type(page.get_by_role("searchbox", name="Find keys"), "part_07.nc")
    expect(page.get_by_role("search")).to_contain_text("found", timeout=60_000)


def whole_disk(page: Page, watch: Watch) -> None:
    watch.click(row(page, "rad"))
    expect(page.get_by_role("application").first.locator("canvas")).to_be_visible(timeout=60_000)


def write_days(folder: Path) -> Path:
    """Write a set of 200 files: three are gone, one offset is shifted, one scale is another."""
    for day in range(FILES):
        with h5py.File(folder / f"day_{day:03}.nc", "w") as file:
            times = file.create_dataset("time", data=np.array([day], "i4"))
            times.attrs["units"] = "days since 2025-01-01"
            values = np.arange(24, dtype="i2").reshape(1, 4, 6) + day
            data = file.create_dataset("t2m", data=values, chunks=(1, 4, 6))
            data.attrs["scale_factor"] = 0.2 if day == 150 else 0.1
            for axis, name in enumerate(("time", "lat", "lon")):
                if name != "time":
                    place = file.create_dataset(name, data=np.arange(data.shape[axis], dtype="f4"))
                    place.make_scale(name)
                    data.dims[axis].attach_scale(place)
                else:
                    times.make_scale(name)
                    data.dims[axis].attach_scale(times)
    refs: dict[str, object] = {}
    for day in range(FILES):
        rx.open_references(folder / f"day_{day:03}.nc").to_json(folder / "one.json")
        one = json.loads((folder / "one.json").read_text())
        refs = one | refs  # what is no chunk of a day is that of the first
        refs |= {f"t2m/{day}.0.0": one["t2m/0.0.0"], f"time/{day}": one["time/0"]}
    for name in ("t2m", "time"):
        array = json.loads(str(refs[f"{name}/.zarray"]))
        array["shape"][0] = FILES
        refs[f"{name}/.zarray"] = json.dumps(array)
    shifted = refs["t2m/42.0.0"]
    assert isinstance(shifted, list)
    shifted[1] += 4
    for day in (10, 80, 160):
        (folder / f"day_{day:03}.nc").unlink()
    path = folder / "days.json"
    path.write_text(json.dumps({"version": 1, "refs": refs}))
    return path


def write_million(folder: Path) -> Path:
    """Write a set of a million generated keys in a hundred files."""
    gen = {
        "key": "x/{{f * 10000 + c}}",
        "url": "part_{{'%02d' % f}}.nc",
        "offset": "{{c * 8}}",
        "length": "8",
        "dimensions": {"f": {"stop": 100}, "c": {"stop": 10_000}},
    }
    refs = {".zgroup": '{"zarr_format": 2}', "x/.zarray": metadata([10**6])}
    path = folder / "million.json"
    path.write_text(json.dumps({"version": 1, "gen": [gen], "refs": refs}))
    return path


def write_disk(folder: Path, side: int = SIDE, place: str = "") -> Path:
    """Write an array of `side` x `side` values in one file, which is at a place."""
    size, n = 2 * CHUNK * CHUNK, side // CHUNK
    name = f"disk_{side}.bin"
    np.arange(side * side, dtype="i2").tofile(folder / name)
    url = f"{place}{name}"
    chunks = {f"rad/{i}.{j}": [url, (i * n + j) * size, size] for i in range(n) for j in range(n)}
    array = metadata([side, side], [CHUNK, CHUNK], dtype="<i2")
    path = folder / f"disk_{side}.json"
    path.write_text(json.dumps({".zgroup": '{"zarr_format": 2}', "rad/.zarray": array, **chunks}))
    return path


TASKS: list[tuple[int, str, str, Callable[[Page, Watch], None], str]] = [
    (1, "which file and bytes hold a value", "sst", file_of_bytes, "3 actions"),
    (2, "five faults in 200 files", "days", faults, "1 action, 6 s"),
    (3, "a map with limits and date as PNG", "sst", exported_map, "5 actions"),
    (4, "the series at a point", "sst", series_at_a_point, "2 actions"),
    (5, "why a value is missing", "sst", why_it_is_missing, "1 action"),
    (6, "compare with another set", "sst", compared_with_last_week, "3 actions"),
    (7, "a version 1 from a version 0, saved", "v0", shorter_text, "4 actions"),
    (8, "five exercises without a jump", "exercises", five_exercises, "no jump"),
    (9, "a link to the same picture", "sst", sent_link, "1 action"),
    (10, "all keys of one file among a million", "million", keys_of_one_file, "1 action, 1 s"),
    (11, "two sets from JupyterLab", "lab", from_jupyter, "2 actions each, 3 s"),
    (12, "a saved page says what it has", "saved", saved_page, "says what it holds"),
    (13, "a remote array, 50 ms away", "remote", remote_array, "2 actions, 0.8 s"),
    (14, "the whole of 5,424 x 5,424 values", "disk", whole_disk, "1 action, 1 s"),
]
"""Number and name of a task, its set, what does it, and what was asked for."""


@contextmanager
def opened(folder: Path) -> Iterator[Callable[[Page, str], None]]:
    """Start what the tasks need; give what opens the set of one of them."""
    with (
        range_server() as server, running_page("demo") as demo,
        running_page("serve", "--allow", str(folder), "--allow", server.url) as served,
        running_lab(folder) as lab,
    ):  # fmt: skip
        paths = {
            "days": write_days(folder),
            "million": write_million(folder),
            "disk": write_disk(folder),
            "remote": write_disk(folder, 4 * CHUNK, f"{server.url}/"),
        }
        name = f"disk_{4 * CHUNK}.bin"
        server.files = LateFiles({f"/{name}": (folder / name).read_bytes()})
        chosen = rx.open_references(demo_sets.path("sst.v1.json"))
        chosen.to_html(folder / "saved.html", read=["sst"])
        sets = lab.folder / "sets"
        sets.mkdir()
        shutil.copy(demo_sets.path("sst.v0.json"), sets / "day.refs.json")
        shutil.copy(demo_sets.path("sst_2025-07.nc"), sets)
        addresses = {
            "sst": f"{demo.url}?source=demo/sst.v1.json",
            "v0": f"{demo.url}?source=demo/sst.v0.json",
            "exercises": f"{demo.url}?view=exercises",
            "lab": lab.address(sets.name),
            "saved": (folder / "saved.html").as_uri(),
        }

        def open_set(page: Page, key: str) -> None:
            if key in addresses:
                page.goto(addresses[key], timeout=120_000)
            else:
                page.goto(served.owned)
                open_file(page, served.url, paths[key])
            if key not in ("lab", "exercises"):
                expect(page.get_by_role("treegrid")).to_be_visible(timeout=60_000)
            page.wait_for_timeout(1500)  # what is drawn at once is there

        yield open_set


def main(names: list[str]) -> None:
    """Do the tasks that are named by number, or all of them."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(**launch_options())  # type: ignore[arg-type]
        with opened(Path(name)) as open_set:
            for number, task, key, do, goal in TASKS:
                if names and str(number) not in names:
                    continue
                page = browser.new_page(viewport={"width": 1400, "height": 900})
                expect.set_options(timeout=60_000)  # slow is measured, not failed
                watch = Watch()
                try:
                    open_set(page, key)
                    do(page, watch)
                    seconds = time.perf_counter() - watch.began
                    print(
                        f"{number:>2} {task:<40} {watch.actions} actions {seconds:5.1f} s ({goal})"
                    )
                except Exception as error:
                    print(f"{number:>2} {task:<40} failed: {str(error).splitlines()[0]}")
                page.context.close()


if __name__ == "__main__":
    main(sys.argv[1:])
