"""What tests of several rooms share: the browser, JupyterLab, the Panel page, and their guard."""

from __future__ import annotations

import gc
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from playwright.sync_api import BrowserContext, expect

from tests.helpers import browser as installed_browser
from tests.helpers.guard import Guard
from tests.helpers.hosts import Lab, PanelPage, running_lab, running_page
from tests.helpers.servers import RangeServer, range_server
from tests.house import report_lines

with suppress(ImportError):
    import pyproj  # noqa: F401  before eccodes: the libproj of its wheels breaks pyproj after it

pytest_plugins = ["tests.helpers.costs"]

# The same examples each time, so that a change is to blame for what fails;
# `--hypothesis-profile exploring` looks for others, `quick` tries the first of them.
settings.register_profile("repeated", deadline=None, derandomize=True)
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("exploring", deadline=None)
settings.load_profile("repeated")
WHY = 2_000
"""Letters of the end of what a test that ran once more said first."""
BROWSING = Path(__file__).parent / "ui"
WHOLE_SUITE = 3_000
"""Tests of a run after which the house is measured, which takes 4 seconds."""
WHOLE = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.(\w+)", re.MULTILINE)
"""The mark of all tests of a module."""
CONTROLLED = {"demo", "hosts", "views"}
"""Rooms of tests that make controllers."""
expect.set_options(timeout=60_000)  # several processes test at once; who passes waits no longer


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep what is there for all tests from the collector of garbage, which else visits it anew.

    Modules and seven thousand tests are a million objects: up to half the time of tests that make
    many. What tests make is visited less often than a program's would be: 5 % of the quick tests.
    """
    gc.disable()
    result = yield
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()
    return result


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what takes a browser by its room, and what asks the server of a fixture.

    Modules and tests that start another server or a child say so.

    What takes a browser, a server or a child and fails runs once more, as tests of JupyterLab do:
    they race with kernels, servers and each other. The summary says why: it is a race to be found,
    in the test or in what it tests.
    """
    for item in items:
        if BROWSING in item.path.parents:
            item.add_marker("browser")
        elif "server" in getattr(item, "fixturenames", ()):
            item.add_marker("server")
        if any(map(item.get_closest_marker, ("browser", "server", "child"))):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print why tests ran once more, of which pytest says nothing; after all tests, the house."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"first run of {report.nodeid}")
        terminalreporter.write_line(report.longreprtext[-WHY:])
    if len(terminalreporter.stats.get("passed", [])) > WHOLE_SUITE:
        terminalreporter.section("the house")
        for line in report_lines():
            terminalreporter.write_line(line)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no module of which ``-m "not …"`` leaves out every test: Dask, moto … take seconds."""
    terms = config.option.markexpr.split(" and ")
    if not all(re.fullmatch(r"not \w+", term) for term in terms):
        return None
    mark = "browser" if collection_path == BROWSING else None
    if collection_path.suffix == ".py" and (
        found := WHOLE.search(collection_path.read_text(encoding="utf-8"))
    ):
        mark = found[1]
    return True if f"not {mark}" in terms else None


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    return installed_browser.launch_options()


@pytest.fixture(scope="session")
def browser_context_args() -> dict[str, Any]:
    return {"viewport": {"width": 1400, "height": 900}, "reduced_motion": "reduce"}


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running


@pytest.fixture
def other_server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail what opens a connection or resolves a name."""

    def blocked(*_: Any, **__: Any) -> None:
        raise AssertionError("a socket was opened")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, blocked)
    monkeypatch.setattr(socket, "getaddrinfo", blocked)


@pytest.fixture(autouse=True)
def guard(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a browser test on any request that leaves the machine and on any console error."""
    if "page" not in request.fixturenames:
        yield
        return
    context: BrowserContext = request.getfixturevalue("context")
    watching = Guard(context)
    yield
    watching.stop()
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
def panel_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PanelPage]:
    """The page with the shipped sets, which also opens what tests write."""
    with running_page("serve", "--allow", str(tmp_path_factory.getbasetemp())) as page:
        yield page


@pytest.fixture(scope="session")
def demo() -> Path:
    """Folder of the shipped sets."""
    from refexplorer.demo import path

    return path("sst.v1.json").parent
