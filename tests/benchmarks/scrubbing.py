"""Scrubbing through 120 pictures of 512 by 512 values that were fetched: kernel, wire, canvas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.measuring import Case, Watch
from tests.benchmarks.sets import WRITERS

SIZE, SLICES, PICTURES = 512, 40, 120
_SCRUB = """async ([slices, pictures]) => {
  const find = (selector, node = document) => {
    const found = node.querySelector(selector);
    if (found) return found;
    for (const each of node.querySelectorAll("*")) {
      const inside = each.shadowRoot && find(selector, each.shadowRoot);
      if (inside) return inside;
    }
    return null;
  };
  const slider = find('input[type=range][aria-label="time: index"]');
  const draw = CanvasRenderingContext2D.prototype.drawImage;
  let painted = 0;
  CanvasRenderingContext2D.prototype.drawImage = function (...given) {
    painted++;
    return draw.apply(this, given);
  };
  for (let at = 0; at < pictures; at++) {
    const before = painted;
    slider.value = String((at + 1) % slices);
    slider.dispatchEvent(new InputEvent("input", { bubbles: true }));
    do await new Promise(requestAnimationFrame); while (painted === before);
  }
  CanvasRenderingContext2D.prototype.drawImage = draw;
}"""


def scrub(watch: Watch, path: Path) -> object:
    """The slider of the page, moved to the next picture when one is painted."""
    from playwright.sync_api import sync_playwright

    from tests.helpers.browser import launch_options
    from tests.helpers.hosts import running_page

    with (
        running_page("serve", str(path / "set.json")) as served,
        sync_playwright() as playwright,
        playwright.chromium.launch(**launch_options()) as browser,  # type: ignore[arg-type]
    ):
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.goto(f"{served.url}?source=set.json&view=data&key=x")
        panel = page.get_by_role("tabpanel", name="Data")
        panel.get_by_role("button", name="Read").first.click()
        panel.get_by_label("time: index", exact=True).wait_for()
        page.evaluate(_SCRUB, [SLICES, SLICES])  # fetches them
        with watch.running():
            page.evaluate(_SCRUB, [SLICES, PICTURES])
    return None


def _waves(path: Path, steps: int) -> None:
    path.mkdir()
    metadata = {
        "zarr_format": 2, "shape": [SLICES, SIZE, SIZE], "chunks": [1, SIZE, SIZE],
        "dtype": "<i2", "fill_value": None, "order": "C", "filters": None, "compressor": None,
    }  # fmt: skip
    document: dict[str, Any] = {
        ".zgroup": '{"zarr_format": 2}',
        "x/.zarray": json.dumps(metadata),
        "x/.zattrs": json.dumps({"_ARRAY_DIMENSIONS": ["time", "y", "x"]}),
    }
    along = np.arange(SIZE)
    with (path / "data").open("wb") as file:
        for at in range(SLICES):
            values = (along[:, None] * 3 + along + at * 40) % 3000
            offset = file.tell()
            document[f"x/{at}.0.0"] = ["data", offset, file.write(values.astype("<i2").tobytes())]
    (path / "set.json").write_text(json.dumps(document))


WRITERS |= {"waves": _waves}
CASES = (Case("120 pictures of 512 x 512, scrubbed in Chromium", "≤ 4 s", scrub, (), "waves", 40),)
