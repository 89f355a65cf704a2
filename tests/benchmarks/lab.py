"""A set of 10^6 keys in JupyterLab, in a real browser: ``python -m tests.benchmarks.lab``.

Prints, least, median and slowest: from the call of `explore()` to the frame with the first rows,
and from a jump of the scroll bar to the rows there, beside a bare round trip of a comm whose answer
a widget writes down. Jump and round trip are both measured to the moment when the document holds
the answer, and to the end of the frame that shows it; both after the same rest, since what follows
another message closely waits for TCP (a delayed acknowledgement, 40 ms on Linux).
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.sets import NAMES, made
from tests.helpers.browser import launch_options
from tests.helpers.hosts import Lab, running_lab

CALLS, JUMPS = 7, 30
REST = 600
"""Milliseconds before a jump and before a round trip."""
Times = tuple[float, ...]
HEAD = "| ms | least | median | slowest | goal |"
_PING = """
import anywidget
class Ping(anywidget.AnyWidget):
    _esm = '''export default {render({model, el}) {
      let heard = () => {};
      model.on("msg:custom", () => heard());
      window.ping = () => window.timed((done) => {
        heard = () => { el.textContent += "."; done(); };
        model.send({});
      });
      el.textContent = "ping";
    }}'''
def heard(widget, content, buffers):
    widget.send({})
ping = Ping()
ping.on_msg(heard)
ping
"""
_OPEN = """
import time
import refexplorer as rx
refs = rx.open_references({path!r})
"""
_CALL = """
print(f"called {time.time()}")
rx.explore(refs)
"""
FIND = """
window.timed = (begin) => new Promise((tell) => {
  const begun = performance.now();
  const since = () => performance.now() - begun;
  begin(() => {
    const held = since();
    requestAnimationFrame(() => setTimeout(() => tell([held, since()])));
  });
});
window.keysTree = () => {
  const frames = [...document.querySelectorAll("[data-place]")];
  const trees = frames.map((frame) => frame.shadowRoot.querySelector("[role=treegrid]"));
  return trees.find((tree) => tree !== null) ?? null;
};
window.hasRow = (tree, least) => [...tree.querySelectorAll(".rows .row:not(.waiting)")]
  .some((row) => Number(row.getAttribute("aria-rowindex")) >= least);
"""
_SHOWN_AT = """() => new Promise((done) => {
  const look = () => {
    const tree = window.keysTree();
    if (tree && window.hasRow(tree, 2)) done((performance.timeOrigin + performance.now()) / 1000);
    else requestAnimationFrame(look);
  };
  look();
})"""
_JUMP = """(share) => window.timed((done) => {
  const tree = window.keysTree();
  const rows = tree.querySelector(".rows");
  const here = () => {
    const { top, bottom } = tree.getBoundingClientRect();
    const seen = [...rows.children].filter((row) => {
      const box = row.getBoundingClientRect();
      return box.bottom > top && box.top < bottom;
    });
    return seen.length > 3 && seen.every((row) => !row.classList.contains("waiting"));
  };
  const watch = new MutationObserver(() => {
    if (!here()) return;
    watch.disconnect();
    done();
  });
  watch.observe(rows, { subtree: true, childList: true, attributes: true, characterData: true });
  tree.scrollTop = share * (tree.scrollHeight - tree.clientHeight);
})"""


def main() -> None:
    """Measure one set and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.lab", description=__doc__)
    parser.add_argument("--keys", type=float, default=1e6)
    parser.add_argument("--kind", default="v0", help="a kind of set of tests.benchmarks.sets")
    parser.add_argument("--sets", type=Path, help="folder to keep the sets in")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        path = made(chosen.sets or Path(scratch), chosen.kind, int(chosen.keys))
        browser = playwright.chromium.launch(**launch_options())  # type: ignore[arg-type]
        with running_lab(Path(scratch)) as lab:
            page = browser.new_page()
            page.add_init_script(FIND)
            calls = to_rows(lab, page, path)
            jumps, pings = jumps_and_pings(lab, page, path)
        browser.close()
    print(f"{chosen.keys:,.0f} keys, {chosen.kind}\n\n{HEAD}\n|---|---|---|---|---|")
    print(line("first call in a kernel to rows", calls[:1], 0))
    print(line("call to rows", calls[1:], 500))
    for until, round_trips, there in zip(("document", "screen"), pings, jumps, strict=True):
        print(line(f"bare comm round trip, to the {until}", round_trips, 0))
        print(line(f"scroll jump to rows, to the {until}", there, 1.5 * median(round_trips)))


def to_rows(lab: Lab, page: Page, path: Path) -> list[float]:
    """Return the times from the call to the rows, ms; each of a set that was opened anew."""
    cells = [_OPEN.format(path=str(path)), _CALL]
    notebook = lab.open(page, "rows", cells)
    times = []
    for _ in range(CALLS + 1):
        shown = float(page.evaluate(_SHOWN_AT))
        said = notebook.output(1).get_by_text("called").first.inner_text()
        times.append(1000 * (shown - float(said.split()[1])))
        page.wait_for_timeout(3000)  # what comes after the rows
        page.evaluate("window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
        page.wait_for_function("window.keysTree() === null")
        notebook.run()
    return times


def jumps_and_pings(lab: Lab, page: Page, path: Path) -> tuple[list[Times], list[Times]]:
    """Return the times of jumps through an open folder and of round trips, taken in turn.

    Each as two tuples: until the document holds the answer, and until a frame shows it.
    """
    name = NAMES[0]
    show = f"explorer = rx.explore(refs, selection='{name}/0.0.0')\nexplorer"
    lab.open(page, "jumps", [_OPEN.format(path=str(path)), _PING, show])
    page.wait_for_function(
        "window.ping && window.keysTree() && window.hasRow(window.keysTree(), 2)", timeout=90_000
    )
    page.wait_for_timeout(5000)
    jumps, pings = [], []
    for turn in range(JUMPS):
        page.wait_for_timeout(REST)
        pings.append(page.evaluate("window.ping()"))
        page.wait_for_timeout(REST)
        jumps.append(page.evaluate(_JUMP, (0.03 + 0.618 * turn) % 1))
    return list(zip(*jumps, strict=True)), list(zip(*pings, strict=True))


def line(work: str, times: Sequence[float], goal: float) -> str:
    """Return a line of the table; a goal of 0 is none."""
    numbers = f"{min(times):.0f} | {median(times):.0f} | {max(times):.0f}"
    return f"| {work} | {numbers} | {f'{goal:.0f}' if goal else ''} |"


if __name__ == "__main__":
    main()
