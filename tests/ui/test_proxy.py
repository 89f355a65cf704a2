"""The page behind jupyter-server-proxy: below a path, with the websocket of another origin."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.helpers.hosts import Lab

pytest.importorskip("jupyter_server_proxy", reason="no jupyter-server-proxy")


@pytest.mark.own_page
def test_the_page_works_below_jupyter(lab: Lab, page: Page) -> None:
    page.goto(f"{lab.url}/refexplorer/?source=demo/sst.v1.json&view=key&key=sst")
    expect(page.get_by_role("region", name="Reference set sst.v1.json")).to_be_visible()
    expect(page.get_by_role("tab", name="Key")).to_have_attribute("aria-selected", "true")
    page.get_by_role("tab", name="Chunks").click()
    expect(page).to_have_url(f"{lab.url}/refexplorer/?source=demo/sst.v1.json&view=chunks&key=sst")
