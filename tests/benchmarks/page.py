"""The explorer on its page, in a real browser: ``python -m tests.benchmarks.page``.

Prints, least, median and slowest: on a set of 10^6 keys, from the first rows of the tree to those
of the health table, and from a click on a row to the inspector that shows its key, both on the page
and in JupyterLab, there also to what is found and to what is wrong alone; on a set of 10^5 targets,
from a choice above their table to its rows: folded, sorted, found. Each is measured in the
document, to the end of the frame that shows it.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.benchmarks.lab import FIND, HEAD, REST, line
from tests.benchmarks.sets import NAMES, made, url_of
from tests.helpers.browser import launch_options
from tests.helpers.hosts import running_lab, running_page

LOADS, CLICKS, TURNS = 7, 30, 5
FIND_KEYS, ONLY_TROUBLE = ".find input", ".find .filter[title^='Only what is rejected']"
_WATCH = """
const search = (node) => {
  for (const each of node.querySelectorAll("*")) {
    if (each.matches("[role=treegrid]")) return each;
    const found = each.shadowRoot && search(each.shadowRoot);
    if (found) return found;
  }
  return null;
};
let tree = null;
window.keysTree = () => (tree?.isConnected ? tree : (tree = search(document)));
window.reach = () => new Promise((tell) => {
  let rows = null;
  const watch = () => {
    const tree = window.keysTree();
    if (tree && window.hasRow(tree, 2)) rows ??= performance.now();
    const health = tree?.getRootNode().querySelector(".health-table tbody tr");
    if (health) tell(performance.now() - rows);
    else requestAnimationFrame(watch);
  };
  requestAnimationFrame(watch);
});
window.reached = window.reach();
window.until = (begin, isThere) => window.timed((done) => {
  const root = window.keysTree().getRootNode();
  const watch = new MutationObserver(() => {
    if (!isThere(root)) return;
    watch.disconnect();
    done();
  });
  const seen = { subtree: true, childList: true, attributes: true, characterData: true };
  watch.observe(root, seen);
  begin(root);
});
"""
_CLICK = """(turn) => {
  const rows = [...window.keysTree().querySelectorAll(".rows .row.key-row:not(.selected)")];
  const name = rows[turn % rows.length].querySelector(".name");
  const title = name.title.split("  ")[0];
  const heading = (root) => root.querySelector("[role=tabpanel] .key-title h2");
  const shown = (root) => heading(root)?.textContent === title;
  return window.until(() => name.click(), shown);
}"""
_CHOOSE = """([selector, value]) => {
  const caption = (root) => root.querySelector(".target-tools .caption").textContent;
  const rows = (root) => [...root.querySelectorAll(".targets .rows .row")];
  const texts = (root) => rows(root).map((row) => row.textContent).join();
  const isWaiting = (row) => row.textContent === "…";
  let before;
  const isThere = (root) => rows(root).length > 0 && !rows(root).some(isWaiting);
  const shown = (root) => caption(root) !== "" && isThere(root) && texts(root) !== before;
  return window.until((root) => {
    before = texts(root);
    const control = root.querySelector(selector);
    if (value === null) return control.click();
    control.value = value;
    const name = control.localName === "select" ? "change" : "input";
    control.dispatchEvent(new Event(name, { bubbles: true }));
  }, shown);
}"""


_NARROW = """([selector, value]) => {
  const rows = (root) => [...root.querySelectorAll("[role=treegrid] .rows .row")];
  const texts = (root) => rows(root).map((row) => row.textContent).join();
  const isWaiting = (root) => rows(root).some((row) => row.classList.contains("waiting"));
  let before;
  return window.until((root) => {
    before = texts(root);
    const control = root.querySelector(selector);
    if (value === null) return control.click();
    control.value = value;
    control.dispatchEvent(new Event("input", { bubbles: true }));
  }, (root) => texts(root) !== before && !isWaiting(root));
}"""
"""Narrow the tree by a control above it, until it has other rows or none."""


def main() -> None:
    """Measure both sets and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.page", description=__doc__)
    parser.add_argument("--keys", type=float, default=1e6)
    parser.add_argument("--targets", type=float, default=1e5)
    parser.add_argument("--sets", type=Path, help="folder to keep the sets in")
    chosen = parser.parse_args()
    print(
        f"{chosen.keys:,.0f} keys, {chosen.targets:,.0f} targets\n\n{HEAD}\n|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = chosen.sets or Path(scratch)
        with playwright.chromium.launch(**launch_options()) as browser:  # type: ignore[arg-type]
            path = made(folder, "v0", int(chosen.keys))
            first_rows_and_clicks(browser, path)
            rows_and_clicks_in_lab(browser, with_a_gap(path), Path(scratch))
            tables_of_targets(browser, with_targets(folder, int(chosen.targets)))


def first_rows_and_clicks(browser: Browser, path: Path) -> None:
    """Print what the tree and the health table of a set take."""
    later = []
    with running_page("serve", str(path)) as served:
        address = f"{served.url}?source={path.name}"
        for _ in range(LOADS + 1):
            with new_page(browser) as page:
                page.goto(address)
                later.append(page.evaluate("window.reached"))
        print(line("rows of the tree to health table, first view", later[:1], 500), flush=True)
        print(line("rows of the tree to health table", later[1:], 500), flush=True)
        with new_page(browser) as page:
            page.goto(f"{address}&view=key&key={NAMES[0]}/0.0.0")
            page.get_by_role("tabpanel").get_by_role("heading", name="0.0.0").wait_for()
            clicks(page, "click to inspector")


def rows_and_clicks_in_lab(browser: Browser, path: Path, folder: Path) -> None:
    """Print what tree, health table, search and filter take in an output of JupyterLab."""
    cell, later = f"import refexplorer as rx\nrx.explore({str(path)!r})", []
    with running_lab(folder) as lab, new_page(browser) as page:
        notebook = lab.open(page, "million", [cell])
        later.append(page.evaluate("window.reach()"))
        for _ in range(LOADS):
            page.wait_for_timeout(3000)  # what comes after the rows
            page.evaluate("window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
            page.wait_for_function("window.keysTree() === null")
            notebook.run()
            later.append(page.evaluate("window.reach()"))
        print(line("JupyterLab: rows to health table, first view", later[:1], 500), flush=True)
        print(line("JupyterLab: rows to health table", later[1:], 500), flush=True)
        steps = {
            "find": (FIND_KEYS, f"{NAMES[0]}/12.0"), "find all": (FIND_KEYS, ""),
            "only trouble": (ONLY_TROUBLE, None), "all again": (ONLY_TROUBLE, None),
        }  # fmt: skip
        taken: dict[str, list[float]] = {}
        for _ in range(TURNS):
            for work, step in steps.items():
                page.wait_for_timeout(REST)
                taken.setdefault(work, []).append(page.evaluate(_NARROW, step)[1])
        for work, times in taken.items():
            print(line(f"JupyterLab: {work}", times, 0), flush=True)
        page.get_by_role("gridcell", name=NAMES[0], exact=True).dblclick()
        clicks(page, "JupyterLab: click to inspector")


def clicks(page: Page, work: str) -> None:
    """Print what a click on a key takes, until the inspector shows it."""
    page.locator(".rows .key-row").nth(2).wait_for()
    page.wait_for_timeout(5000)  # what comes after the rows
    taken = []
    for turn in range(CLICKS):
        page.wait_for_timeout(REST)
        taken.append(page.evaluate(_CLICK, 3 * turn))
    for until, times in zip(("document", "screen"), zip(*taken, strict=True), strict=True):
        print(line(f"{work}, to the {until}", times, 100), flush=True)


def tables_of_targets(browser: Browser, path: Path) -> None:
    """Print what it takes to fold, sort and find the targets of a set."""
    fold, find = ".target-tools .choice select", ".target-tools input[type=search]"
    name = ".targets [role=columnheader] button"
    steps = {
        "fold by folder": (fold, "folder"), "fold by host": (fold, "host"),
        "unfold": (fold, "none"), "sort": (name, None),
        "find": (find, "194"), "find all": (find, ""),
    }  # fmt: skip
    with running_page("serve", str(path)) as served, new_page(browser) as page:
        page.goto(f"{served.url}?source={path.name}&view=targets")
        page.get_by_role("tabpanel").get_by_text(f"{_count(path)} targets").first.wait_for()
        page.wait_for_timeout(5000)  # what comes after the rows
        taken: dict[str, list[float]] = {}
        for _ in range(TURNS):
            for work, step in steps.items():
                page.wait_for_timeout(REST)
                taken.setdefault(work, []).append(page.evaluate(_CHOOSE, step)[1])
    for work, times in taken.items():
        print(line(f"targets: {work}", times, 0), flush=True)


@contextmanager
def new_page(browser: Browser) -> Iterator[Page]:
    """Open a page that knows nothing of those before."""
    with browser.new_context(viewport={"width": 1600, "height": 900}) as context:
        context.add_init_script(FIND + _WATCH)
        yield context.new_page()


def with_a_gap(path: Path) -> Path:
    """Return the path of the same set, where one chunk has no reference."""
    gap = path.with_stem(f"{path.stem}-gap")
    if not gap.exists():
        gap.write_text(path.read_text().replace(f'"{NAMES[1]}/0.0.0"', '"gone"', 1))
    return gap


def with_targets(folder: Path, count: int) -> Path:
    """Return the path of a set of an array, each chunk of which has a target of its own."""
    path = folder / f"targets-{count}.json"
    if not path.exists():
        metadata = {
            "zarr_format": 2, "shape": [count], "chunks": [1], "dtype": "<i2", "fill_value": None,
            "order": "C", "filters": None, "compressor": None,
        }  # fmt: skip
        chunks = {f"x/{at}": [_target(at * 7919 % count), 0, 2] for at in range(count)}
        path.write_text(json.dumps({"x/.zarray": json.dumps(metadata), **chunks}))
    return path


def _target(number: int) -> str:
    return url_of(number).replace("mirror", f"mirror-{number % 7}")


def _count(path: Path) -> str:
    return f"{int(path.stem.rpartition('-')[2]):,}"


if __name__ == "__main__":
    main()
