"""The explorer and the editor in their hosts: JupyterLab, or that and the page."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page
from pytest_playwright.pytest_playwright import CreateContextCallback

from tests.helpers.browsing import EDIT, EXPLORE, FORGET, open_in_host

KEPT = {"lab_context", "page_context"}
FAILED = pytest.StashKey[bool]()
WARM = "http://127.0.0.1/"
"""Address of an empty page that stays open, so that the process of the site and its scripts do."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what takes a host in JupyterLab, and on the page, too, if it is marked ``both_hosts``.

    The front end is one bundle and the controllers know no host, so that a click which asks for an
    answer and shows it is the same in both. Marked is what the hosts could make different: who else
    takes keys, wheel and focus (commands of JupyterLab, the shadow root of the page); the style
    sheets around, and with them sizes, what is cut and how far it scrolls; the order of messages
    in quick succession, and buffers; downloads, clipboard, links, frames, addresses and storage.
    """
    if "host" in metafunc.fixturenames:
        both = metafunc.definition.get_closest_marker("both_hosts")
        metafunc.parametrize("host", ["lab", "page"] if both else ["lab"])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


def kept_context(
    browser: Browser, browser_context_args: dict[str, Any]
) -> Iterator[BrowserContext]:
    """What tests of one host share, most of them its one page, so that it is loaded once."""
    with browser.new_context(**browser_context_args) as context:
        yield context


lab_context = pytest.fixture(scope="session")(kept_context)
page_context = pytest.fixture(scope="session")(kept_context)


@pytest.fixture(scope="session")
def warm_context(
    browser: Browser, browser_context_args: dict[str, Any]
) -> Iterator[BrowserContext]:
    """What all others share, so that the scripts of the hosts are compiled once."""
    context = browser.new_context(**browser_context_args)
    stays = context.new_page()
    stays.route(WARM, lambda route: route.fulfill(body=""))
    stays.goto(WARM)
    yield context
    context.close()


@pytest.fixture
def context(request: pytest.FixtureRequest, new_context: CreateContextCallback) -> BrowserContext:
    """One that tests share, but for those that take the network away."""
    if "offline" in request.fixturenames:
        return new_context()
    callspec = getattr(request.node, "callspec", None)
    host = None if callspec is None else callspec.params.get("host")
    names, own = request.fixturenames, has_own_page(request)
    if host == "lab" or "lab" in names:
        name = "lab_context"
    elif host == "page" or "panel_page" in names:
        name = "warm_context" if own else "page_context"
    else:
        name = "lab_context" if own else "warm_context"
    shared: BrowserContext = request.getfixturevalue(name)
    return shared


def has_own_page(request: pytest.FixtureRequest) -> bool:
    """Tell whether a test leaves or loads its host, has another one, or puts scripts into it."""
    return request.node.get_closest_marker("own_page") is not None


@pytest.fixture
def page(
    request: pytest.FixtureRequest, context: BrowserContext, browser_context_args: dict[str, Any]
) -> Iterator[Page]:
    """A new page, or the one of its host as it is; a test that fails takes that away."""
    own = has_own_page(request)
    pages = [] if own else [each for each in context.pages if each.url != WARM]
    page = pages[0] if pages else context.new_page()
    page.set_viewport_size(browser_context_args["viewport"])
    page.emulate_media(reduced_motion=browser_context_args["reduced_motion"])
    page.mouse.move(0, 0)
    yield page
    context.clear_permissions()
    page.emulate_media(color_scheme="null", forced_colors="null", contrast="null")
    if page.url.startswith("http:"):
        page.evaluate(FORGET)  # the tab that was chosen last, and what was written
    if own:
        page.close()
    elif request.node.stash.get(FAILED, False) or KEPT.isdisjoint(request.fixturenames):
        for each in context.pages:
            if each.url != WARM:
                each.close()


@pytest.fixture
def explorer(request: pytest.FixtureRequest, host: str, page: Page) -> Locator:
    """The explorer of ``sst.v1.json``."""
    open_in_host(request, host, page, EXPLORE, "The same with templates")
    return page.get_by_role("region", name="Reference set sst.v1.json")


@pytest.fixture
def editor(request: pytest.FixtureRequest, host: str, page: Page) -> Locator:
    """The template editor with the specification's example."""
    open_in_host(request, host, page, EDIT, "The specification's own example")
    if host == "page":
        page.get_by_role("button", name="Template editor").click()
    return page.get_by_role("region", name="Template editor")
