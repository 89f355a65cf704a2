"""Two browsers on one page: nobody is led into the session of another by an address or a token."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from bokeh.util.token import generate_jwt_token, get_session_id
from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.helpers.hosts import PanelPage
from tests.helpers.routes import answered

CONNECT = """
([url, token]) => new Promise(resolve => {
  const socket = new WebSocket(url, ["bokeh", token]);
  socket.onmessage = () => resolve("connected");
  socket.onclose = () => resolve("refused");
})
"""


@pytest.fixture
def people(browser: Browser, launch_browser: Callable[[], Browser]) -> Iterator[tuple[Page, Page]]:
    """A page in each of two browsers."""
    other = launch_browser()
    one = browser.new_page()
    yield one, other.new_page()
    one.close()
    other.close()


def drop(page: Page, name: str) -> None:
    file = FilePayload(name=name, mimeType="", buffer=b'{"mine": "text"}')
    page.get_by_label("Reference set to open").set_input_files(file)
    expect(page.get_by_role("region", name=f"Reference set {name}")).to_be_visible()


def test_a_session_cannot_be_named_in_advance(
    panel_page: PanelPage, people: tuple[Page, Page]
) -> None:
    chosen = f"{panel_page.url}?bokeh-session-id=chosen"
    for person in people:
        response = person.goto(chosen)
        assert response is not None
        assert response.status == 403
        expect(person.locator("body")).to_contain_text("This address names a session")
        expect(person.get_by_label("Reference set to open")).to_have_count(0)


def test_a_session_of_another_cannot_be_entered(
    panel_page: PanelPage, people: tuple[Page, Page]
) -> None:
    owner, other = people
    response = owner.goto(panel_page.url)
    assert response is not None
    found = re.search(r'"token":"([^"]+)"', response.text())
    assert found is not None
    token, name = found[1], get_session_id(found[1])
    drop(owner, "mine.json")
    for query in (f"bokeh-session-id={name}", f"bokeh-token={token}"):
        response = other.goto(f"{panel_page.url}?{query}")
        assert response is not None
        assert response.status == 403
    other.set_extra_http_headers({"Bokeh-Session-Id": name})
    response = other.goto(panel_page.url)
    assert response is not None
    assert response.status == 403
    assert answered(f"{panel_page.url}autoload.js?bokeh-session-id={name}")[0] == 404

    other.set_extra_http_headers({})
    other.goto(panel_page.url)
    address = f"ws{panel_page.url.removeprefix('http')}ws"
    payload: dict[str, object] = {"headers": {}, "cookies": {}, "arguments": {}}
    for forged in (
        generate_jwt_token(name, signed=False, extra_payload=payload),
        generate_jwt_token(name, b"another key", signed=True, extra_payload=payload),
        f"{token[:-2]}AA",
        "x.y",
    ):
        assert other.evaluate(CONNECT, [address, forged]) == "refused"
    assert owner.evaluate(CONNECT, [address, token]) == "connected"
    expect(other.get_by_role("region", name="Reference set mine.json")).to_have_count(0)
    expect(owner.get_by_role("region", name="Reference set mine.json")).to_be_visible()
