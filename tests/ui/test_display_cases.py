"""Text of a stranger's file in a real browser: shown, never obeyed, nothing of it hidden."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from refexplorer.core.text import escape
from tests.cases import hostile
from tests.helpers.browsing import details, open_file, show
from tests.helpers.hosts import PanelPage
from tests.helpers.sets import ZARRAY

HIDDEN = "\u202egpj.exe\u202c\u200b\u2066x\u2069\x1b[31m\x07\ufeff"
MARKUP = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>"
DISPLAYED = [case["input"] for case in hostile().values() if case["layer"] == "display"]
URLS = [
    "javascript:alert(document.domain)",
    "data:text/html,<script>document.title='pwned'</script>",
    f"http://h/{HIDDEN}",
    "http://s3.amazonaws.com@evil.example/f",
    "https://example.org/f",
]
_TEXTS = """
() => {
  const texts = [], walk = node => {
    if (node.nodeType === 3) texts.push(node.data);
    for (const name of ["title", "aria-label"]) {
      if (node.getAttribute?.(name)) texts.push(node.getAttribute(name));
    }
    if (node.shadowRoot) walk(node.shadowRoot);
    if (node.nodeName !== "STYLE" && node.nodeName !== "SCRIPT") node.childNodes.forEach(walk);
  };
  walk(document.body);
  return texts;
}
"""


def document() -> dict[str, Any]:
    """A set whose keys, attributes, units and URLs do what they can."""
    attributes = {
        "_ARRAY_DIMENSIONS": [f"time{HIDDEN}"],
        "units": f"K{HIDDEN}",
        "long_name": f"name{HIDDEN}{MARKUP}",
        f"key{HIDDEN}": MARKUP,
    }
    shown = {
        f"c{at}/{key}": value for at, case in enumerate(DISPLAYED) for key, value in case.items()
    }
    return {
        ".zgroup": '{"zarr_format": 2}',
        "x/.zarray": json.dumps(ZARRAY | {"shape": [2]}),
        "x/.zattrs": json.dumps(attributes),
        "x/0": "base64:BwAIAA==",
        f"hidden{HIDDEN}": HIDDEN,
        f"markup{MARKUP}": MARKUP,
        **{f"u/{number}": [url] for number, url in enumerate(URLS)},
        **shown,
    }


@pytest.fixture
def opened(panel_page: PanelPage, page: Page, tmp_path: Path) -> Locator:
    (tmp_path / "set.json").write_text(json.dumps(document()))
    return open_file(page, panel_page.url, tmp_path / "set.json")


def find_key(opened: Locator, key: str, pattern: str) -> Locator:
    """Find one key and return the panel that shows it."""
    opened.get_by_role("searchbox", name="Find keys").fill(pattern)
    expect(opened).to_contain_text("1 key found")
    rows = opened.get_by_role("treegrid").get_by_role("row")
    expect(rows).to_have_count(2)
    expect(rows.nth(1)).to_contain_text(escape(key))
    rows.nth(1).click()
    expect(rows.nth(1)).to_have_attribute("aria-selected", "true")
    panel = details(opened, "Key")
    expect(panel.get_by_role("heading", level=2)).to_have_text(escape(key))
    return panel


def assert_harmless(page: Page) -> None:
    """No text hides or turns anything, nothing ran, and no link leads into a script."""
    texts = [re.sub(r"[\n\t]", "", text) for text in page.evaluate(_TEXTS)]
    hiding = [text for text in texts if escape(text) != text]
    assert not hiding
    assert page.title() != "pwned"
    hrefs = page.locator("a[href]").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert not [href for href in hrefs if re.match("(?!https?:)[a-z]+:|.*@", href)]


PATTERNS = {
    key: f"{re.split(r'[^a-zA-Z0-9/:.]', key)[0]}*" for key in document() if key[0] in "hmxc"
}
PATTERNS["c1/\x1b[31mkey"] = "c1/?*key"


@pytest.mark.parametrize("key", PATTERNS, ids=escape)
def test_a_key_is_shown_and_does_nothing(opened: Locator, key: str) -> None:
    panel = find_key(opened, key, PATTERNS[key])
    panel.get_by_role("button", name="Show derivation").click()
    expect(panel.get_by_role("region", name="Derivation of this key")).to_be_visible()
    assert_harmless(opened.page)


@pytest.mark.parametrize("number", range(len(URLS)))
def test_a_link_only_where_a_browser_goes_where_it_says(opened: Locator, number: int) -> None:
    panel = find_key(opened, f"u/{number}", f"u/{number}")
    shown = f"{escape(URLS[number])} its keys its bytes"
    expect(panel.get_by_role("definition").first).to_have_text(shown)
    link = panel.get_by_role("link")
    expect(link).to_have_count(int(URLS[number].startswith("https://")))
    if URLS[number].startswith("https://"):
        expect(link).to_have_attribute("rel", re.compile("noopener"))
    assert_harmless(opened.page)


def test_names_and_units_in_pictures(opened: Locator) -> None:
    opened.get_by_role("gridcell", name="x", exact=True).click()
    for look in ("Values", "Chunks", "Files"):
        panel = show(opened, look)
        if look != "Files":
            expect(panel.get_by_role("application").first).to_be_visible()
            expect(panel.locator("svg").first).to_be_visible()
        assert_harmless(opened.page)
    details(opened, "The set")
    assert_harmless(opened.page)
