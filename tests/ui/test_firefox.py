"""The page in Firefox, where one is installed: from the first look to a picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.firefox import VARIABLE, find, running_firefox
from tests.helpers.hosts import PanelPage

FIREFOX = find()
DEEP = """
window.deep = (selector, root = document) => {
  const found = [...root.querySelectorAll(selector)];
  for (const each of root.querySelectorAll("*"))
    if (each.shadowRoot) found.push(...window.deep(selector, each.shadowRoot));
  return found;
};
window.button = (text) =>
  deep("button").find((each) => each.textContent.startsWith(text));
"""
"""Panel draws into shadow roots."""


@pytest.mark.skipif(FIREFOX is None, reason=f"no Firefox is installed, nor named by {VARIABLE}")
def test_the_page_works_in_firefox(panel_page: PanelPage, tmp_path: Path) -> None:
    assert FIREFOX is not None
    with running_firefox(FIREFOX, tmp_path / "profile") as firefox:
        firefox.go(f"{panel_page.url}?source=demo/broken.json")
        firefox.run(DEEP)
        firefox.wait("deep('[role=treegrid] [role=gridcell]').length > 0")
        firefox.wait("deep('section.files h3')[0]?.textContent === '5 files'")
        firefox.run("deep('[role=gridcell]').find((e) => e.textContent.includes('sst')).click()")
        firefox.wait("deep('aside.details')[0].textContent.includes('Array sst')")
        firefox.wait("location.search.includes('key=sst')")
        assert firefox.run("document.title") == "sst · broken.json · refexplorer"
        firefox.run("button('Chunks').click()")
        firefox.wait("deep('[role=application] canvas').length > 0")
        firefox.wait("location.search.includes('view=chunks')")
        firefox.run("button('Values').click()")
        firefox.wait("deep('.figure canvas').length > 0")
        firefox.wait("!location.search.includes('view=chunks')")  # else nothing to go back from
        firefox.run("history.back()")
        firefox.wait("deep('.switch [aria-pressed=true]')[0].textContent === 'Chunks'")
        assert firefox.errors == []
