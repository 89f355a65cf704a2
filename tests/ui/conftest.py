"""The explorer and the editor in each host; a test that takes one runs in both."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page

from tests.helpers.browsing import EDIT, EXPLORE, open_on_page
from tests.helpers.hosts import Lab, PanelPage


@pytest.fixture(params=["lab", "page"])
def explorer(request: pytest.FixtureRequest, page: Page) -> Locator:
    """The explorer of ``sst.v1.json``."""
    if request.param == "lab":
        lab: Lab = request.getfixturevalue("lab")
        lab.open(page, "explorer", [EXPLORE])
    else:
        served: PanelPage = request.getfixturevalue("panel_page")
        open_on_page(page, served.url, "The same with templates")
    return page.get_by_role("region", name="Reference set sst.v1.json")


@pytest.fixture(params=["lab", "page"])
def editor(request: pytest.FixtureRequest, page: Page) -> Locator:
    """The template editor with the specification's example."""
    if request.param == "lab":
        lab: Lab = request.getfixturevalue("lab")
        lab.open(page, "editor", [EDIT])
    else:
        served: PanelPage = request.getfixturevalue("panel_page")
        open_on_page(page, served.url, "The specification's own example")
        page.get_by_role("button", name="Template editor").click()
    return page.get_by_role("region", name="Template editor")
