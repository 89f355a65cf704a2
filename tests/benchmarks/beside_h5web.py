"""The explorer beside H5Web: ``python -m tests.benchmarks.beside_h5web [FOLDER]``.

Both are extensions of one JupyterLab, and each opens its file in a tab: H5Web an HDF5 file, the
explorer the references to it. Prints milliseconds from a click on an array to its whole picture,
and from a move of the mouse to the value under it: median and range, both programs in turn, each
time in a new JupyterLab tab. The environment is that of `tests.hosts.places`; to make it takes
pip's index.
"""

# ruff: noqa: T201

from __future__ import annotations

import sys
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import h5py
import numpy as np
from playwright.sync_api import Locator, Page, sync_playwright

import refexplorer as rx
from tests.helpers.browser import launch_options
from tests.helpers.hosts import Lab, running_lab
from tests.hosts.places import make_environment

SIDE, CHUNK, ROUNDS, MOVES = 5424, 226, 5, 30
ARRAYS = {
    "disk": "click on 5424 x 5424 values in 576 chunks",
    "cube": "click on 4-D values of 1 MB",
}
SOFTWARE_GL = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
"""H5Web draws with WebGL, and a machine that runs tests has no graphics card."""
HOVER = """
async ([moves, shown]) => {
  const roots = (node) => [node, ...[...node.querySelectorAll("*")].flatMap(
    (each) => each.shadowRoot ? roots(each.shadowRoot) : [])];
  const all = roots(document);
  const canvas = all.flatMap((root) => [...root.querySelectorAll(shown)])
    .filter((each) => each.getBoundingClientRect().width > 100).at(-1);
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const frame = () => new Promise(requestAnimationFrame);
  const times = [];
  for (let at = 0; at < moves; at++) {
    const [clientX, clientY] = [left + width * (0.2 + 0.02 * at), top + height * (0.3 + 0.01 * at)];
    const where = { bubbles: true, composed: true, pointerId: 1, pointerType: "mouse",
      clientX, clientY };
    const changed = new Promise((tell) => {
      const watch = new MutationObserver(() => (watch.disconnect(), tell()));
      for (const root of all)
        watch.observe(root, { subtree: true, childList: true, characterData: true });
    });
    const begun = performance.now();
    canvas.dispatchEvent(new PointerEvent("pointermove", where));
    canvas.dispatchEvent(new MouseEvent("mousemove", where));
    await Promise.race([changed, new Promise((tell) => setTimeout(tell, 1000))]);
    await frame();
    times.push(performance.now() - begun);
    await new Promise((tell) => setTimeout(tell, 60));
  }
  return times;
}
"""


def write_files(folder: Path) -> None:
    """Write an HDF5 file with both arrays, and references to it."""
    rows = np.arange(SIDE)
    disk = ((rows[:, None] * 3 + rows) % 4096).astype("i2")
    cube = np.random.default_rng(1).random((8, 4, 90, 90), "f4")
    with h5py.File(folder / "arrays.h5", "w") as file:
        options = {"compression": 1, "shuffle": True}
        file.create_dataset("disk", data=disk, chunks=(CHUNK, CHUNK), **options)
        file.create_dataset("cube", data=cube, chunks=(1, 1, 90, 90), **options)
    rx.open_references(folder / "arrays.h5").to_json(folder / "arrays.json")


def in_explorer(lab: Lab, page: Page) -> dict[str, list[float]]:
    """Open the references, and return milliseconds of each measure."""
    _file(lab, page, "arrays.json").click(button="right")
    page.locator(".lm-Menu-item").filter(has_text="Open as reference set").click()
    tree = page.get_by_role("treegrid")
    tree.wait_for(timeout=90_000)
    page.locator(".thumbnail canvas").nth(1).wait_for(timeout=90_000)
    page.wait_for_timeout(3000)  # as for H5Web: both are at rest
    found = {}
    for name in ARRAYS:
        canvas = page.locator(f".figure[aria-label^='{name}:'] canvas")  # not of the one before
        begun = time.perf_counter()
        tree.get_by_role("row").filter(has_text=name).first.click()
        canvas.wait_for(timeout=60_000)
        page.get_by_role("main").get_by_role("progressbar").wait_for(state="hidden")
        found[name] = [(time.perf_counter() - begun) * 1000]
    page.wait_for_timeout(1000)  # the picture stays as it is
    return found | {"hover": page.evaluate(HOVER, [MOVES, ".figure canvas, .figure"])}


def in_h5web(lab: Lab, page: Page) -> dict[str, list[float]]:
    """Open the file, and return milliseconds of each measure."""
    _file(lab, page, "arrays.h5").dblclick()
    tree = page.locator(".h5web-root").get_by_role("tree")
    tree.wait_for(timeout=90_000)
    page.wait_for_timeout(3000)
    found = {}
    for name in ARRAYS:
        begun = time.perf_counter()
        tree.get_by_role("treeitem", name=name).click()
        heading = page.locator(".h5web-root").get_by_text(name, exact=True)
        heading.nth(2).wait_for(timeout=60_000)  # in the tree, in the bar and over the picture
        page.locator(".h5web-root canvas").wait_for(timeout=60_000)
        found[name] = [(time.perf_counter() - begun) * 1000]
    page.wait_for_timeout(1000)
    return found | {"hover": page.evaluate(HOVER, [MOVES, ".h5web-root canvas"])}


def _file(lab: Lab, page: Page, name: str) -> Locator:
    page.goto(lab.address("files"))
    item = page.locator(".jp-DirListing-item").filter(has_text=name)
    item.wait_for(timeout=60_000)
    return item


def main(place: str | None = None) -> int:
    """Measure both in turn, and print a table."""
    with TemporaryDirectory() as name:
        environment = make_environment(Path(place or name))
        if environment is None:
            return 0
        files = Path(name) / "root" / "files"
        files.mkdir(parents=True)
        write_files(files)
        options = launch_options()
        arguments = [*options.pop("args"), *SOFTWARE_GL]  # type: ignore[misc]
        times: dict[tuple[str, str], list[float]] = defaultdict(list)
        with (
            sync_playwright() as playwright,
            playwright.chromium.launch(args=arguments, **options) as browser,  # type: ignore[arg-type]
            running_lab(Path(name), environment / "bin" / "python", files.parent) as lab,
        ):
            for _ in range(ROUNDS):
                for program in (in_explorer, in_h5web):
                    page = browser.new_page(viewport={"width": 1600, "height": 1000})
                    for measure, found in program(lab, page).items():
                        times[measure, program.__name__] += found
                    page.context.close()
    print("| ms | refexplorer | H5Web |\n|---|---|---|")
    for measure, title in {**ARRAYS, "hover": "move to the value under the mouse"}.items():
        shown = [
            f"{median(each):.0f} ({min(each):.0f} to {max(each):.0f})"
            for program in (in_explorer, in_h5web)
            for each in [times[measure, program.__name__]]
        ]
        print(f"| {title} | {' | '.join(shown)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
