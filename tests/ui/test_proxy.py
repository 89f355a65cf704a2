"""The page behind jupyter-server-proxy: below a path, with the websocket of another origin."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.helpers.browsing import details, show
from tests.helpers.hosts import Lab
from tests.helpers.routes import answered, closed_paths

pytest.importorskip("jupyter_server_proxy", reason="no jupyter-server-proxy")


@pytest.mark.own_page
def test_the_page_works_below_jupyter(lab: Lab, page: Page) -> None:
    # The first request starts the server of the page, and waits for it.
    page.goto(f"{lab.url}/refexplorer/?source=demo/sst.v1.json&key=sst", timeout=120_000)
    expect(page.get_by_role("region", name="Reference set sst.v1.json")).to_be_visible()
    expect(details(page, "Key")).to_contain_text("Array sst")
    show(page, "Chunks")
    expect(page).to_have_url(f"{lab.url}/refexplorer/?source=demo/sst.v1.json&view=chunks&key=sst")


def test_routes_that_the_page_does_not_use_are_closed_below_jupyter(lab: Lab) -> None:
    page = f"{lab.url}/refexplorer/"
    assert answered(f"{page}healthz")[0] == 200
    unknown = answered(f"{page}nosuch")
    assert unknown[:2] == (404, "Not Found")
    for path in closed_paths(opened=["/?", "/ws"]):
        assert answered(page + path.lstrip("/")) == unknown, path
