"""From a keystroke to the new table, in a real browser: ``python -m tests.benchmarks.editor``.

Prints, for documents of several sizes, the median and the slowest time from a key to its letter
on the screen (typing waits for nothing), and to the first row of the table that it changes.
"""

# ruff: noqa: T201

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

from playwright.sync_api import Locator, Page, expect, sync_playwright

from tests.helpers.browser import launch_options
from tests.helpers.hosts import running_page

KEYS = "abcdefghijklmnopqrst"
PAUSE = 150
"""Milliseconds between two keys."""
GOALS = {"gen of 10^6 keys": 150, "gen of 10^12 keys": 150, "10^4 references": 250}
"""Milliseconds to the new table, median."""
_WATCH = """([grid, wanted]) => {
  const root = grid.getRootNode();
  const content = root.querySelector(".cm-content");
  window.measured = new Promise((done, fail) => {
    setTimeout(() => fail(new Error(`nothing says ${wanted}`)), 20000);
    let begun = 0, typed = 0;
    root.addEventListener("keydown", () => {
      begun = performance.now();
      requestAnimationFrame(() => { typed = performance.now() - begun; });
    }, { capture: true, once: true });
    const watch = new MutationObserver(() => {
      if (!grid.textContent.includes(wanted)) return;
      watch.disconnect();
      requestAnimationFrame(() => done([typed, performance.now() - begun]));
    });
    watch.observe(grid, { subtree: true, childList: true, characterData: true });
  });
}"""


def documents() -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the documents; all take their URLs from the template ``u``."""
    templates = {"u": "s3://bucket/"}
    for power in (6, 12):
        side = {"stop": 10 ** (power // 2)}
        item = {
            "key": "x/{{i}}.{{j}}", "url": "{{u}}/{{i}}.nc", "offset": "{{j * 100}}",
            "length": "100", "dimensions": {"i": side, "j": side},
        }  # fmt: skip
        name = f"gen of 10^{power} keys"
        yield name, {"version": 1, "templates": templates, "gen": [item]}
    refs = {f"x/{i}": ["{{u}}/f.nc", i * 100, 100] for i in range(10**4)}
    yield "10^4 references", {"version": 1, "templates": templates, "refs": refs}


def main() -> None:
    """Measure every document on a page of its own."""
    print("| document | lines | to the letter, ms | to the table, ms | slowest | goal |")
    print("|---|---|---|---|---|---|")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(**launch_options())  # type: ignore[arg-type]
        for name, document in documents():
            path = Path(folder) / "document.json"
            path.write_text(text := json.dumps(document, indent=1))
            with running_page("serve", str(path)) as served:
                page = browser.new_page()
                page.goto(served.url)
                letters, tables = measured(page)
                page.close()
            print(
                f"| {name} | {text.count(chr(10)):,} | {median(letters):.0f} | "
                f"{median(tables):.0f} | {max(tables):.0f} | {GOALS[name]} |"
            )
        browser.close()


def measured(page: Page) -> tuple[list[float], list[float]]:
    """Type into the template and return both times of each key, in milliseconds."""
    page.get_by_role("button", name="Template editor").click()
    editor = page.get_by_role("region", name="Template editor")
    grid = editor.get_by_role("grid")
    expect(grid).to_contain_text("s3://bucket/")
    put_cursor_into(editor, "s3://bucket/")
    times = [_of_key(page, grid, KEYS[: n + 1]) for n in range(len(KEYS))]
    return [letter for letter, _ in times], [table for _, table in times]


def put_cursor_into(editor: Locator, text: str) -> None:
    """Leave the cursor before the quote that ends a text and its line."""
    editor.get_by_text(f'"{text}"').click()
    editor.page.keyboard.press("End")
    editor.page.keyboard.press("ArrowLeft")


def _of_key(page: Page, grid: Locator, typed: str) -> tuple[float, float]:
    page.evaluate(_WATCH, [grid.element_handle(), f"s3://bucket/{typed}"])
    page.keyboard.press(typed[-1])
    letter, table = page.evaluate("window.measured")
    page.wait_for_timeout(PAUSE)
    return letter, table


if __name__ == "__main__":
    main()
