"""The explorer and the editor in each host; a test that takes one runs in both."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page

from tests.helpers.browsing import EDIT, EXPLORE, open_in_host


@pytest.fixture(params=["lab", "page"])
def explorer(request: pytest.FixtureRequest, page: Page) -> Locator:
    """The explorer of ``sst.v1.json``."""
    open_in_host(request, page, "explorer", EXPLORE, "The same with templates")
    return page.get_by_role("region", name="Reference set sst.v1.json")


@pytest.fixture(params=["lab", "page"])
def editor(request: pytest.FixtureRequest, page: Page) -> Locator:
    """The template editor with the specification's example."""
    open_in_host(request, page, "editor", EDIT, "The specification's own example")
    if request.param == "page":
        page.get_by_role("button", name="Template editor").click()
    return page.get_by_role("region", name="Template editor")
