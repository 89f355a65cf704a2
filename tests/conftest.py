"""What tests of several rooms share: the browser, JupyterLab, the Panel page, and their guard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from playwright.sync_api import BrowserContext, expect

from tests.helpers import browser as installed_browser
from tests.helpers import newer_python
from tests.helpers.guard import Guard
from tests.helpers.hosts import Lab, PanelPage, running_lab, running_page

pytest_plugins = ["tests.helpers.costs"]

# The same examples each time, so that a change is to blame for what fails;
# `--hypothesis-profile exploring` looks for others.
settings.register_profile("repeated", deadline=None, derandomize=True)
settings.register_profile("exploring", deadline=None)
settings.load_profile("repeated")
BROWSING = {"page", "lab", "panel_page"}
CONTROLLED = {"app", "demo", "views", "widgets"}
"""Rooms of tests that make controllers."""
expect.set_options(timeout=60_000)  # several processes test at once; who passes waits no longer


def pytest_report_header() -> str:
    return newer_python.header()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what takes a browser by its fixtures; modules with a server or a child say so."""
    for item in items:
        if isinstance(item, pytest.Function) and BROWSING & set(item.fixturenames):
            item.add_marker("browser")


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    return installed_browser.launch_options()


@pytest.fixture(scope="session")
def browser_context_args() -> dict[str, Any]:
    return {"viewport": {"width": 1400, "height": 900}, "reduced_motion": "reduce"}


@pytest.fixture(autouse=True)
def guard(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a browser test on any request that leaves the machine and on any console error."""
    if "page" not in request.fixturenames:
        yield
        return
    context: BrowserContext = request.getfixturevalue("context")
    watching = Guard(context)
    yield
    assert not watching.findings, "\n".join(watching.findings)


@pytest.fixture(autouse=True)
def wire(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test in which a controller says what no model describes."""
    if CONTROLLED.isdisjoint(request.path.parts):
        yield
        return
    from refexplorer.views.editor.editor_controller import EditorController
    from refexplorer.views.explorer.explorer_controller import ExplorerController
    from tests.helpers.wire import recorded

    with (
        recorded(ExplorerController, "Explorer") as one,
        recorded(EditorController, "Editor") as two,
    ):
        yield
    assert not [*one, *two]


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Start one JupyterLab for all tests, with nothing of the user's."""
    with running_lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.fixture(scope="session")
def panel_page() -> Iterator[PanelPage]:
    """``refexplorer demo`` in a process of its own."""
    with running_page("demo") as page:
        yield page


@pytest.fixture(scope="session")
def demo() -> Path:
    """Folder of the shipped sets."""
    from refexplorer.demo import path

    return path("sst.v1.json").parent
