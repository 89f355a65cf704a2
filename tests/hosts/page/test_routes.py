"""The server answers the routes of the page and no other, whatever Panel and Bokeh bring."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from panel.io.application import build_applications
from tornado.web import RequestHandler

import refexplorer.hosts.page
from refexplorer.hosts.page.page import page
from refexplorer.hosts.page.server import PageServer
from tests.helpers.hosts import running_page
from tests.helpers.routes import answered, closed_paths, routes_of, routes_of_panel
from tests.hosts.page.sessions import visit_together

pytestmark = pytest.mark.server

OPEN = {
    "/?": "PageHandler",
    "/ws": "PageSocket",
    "/healthz": "Health",
    "/static/extensions/(.*)": "MultiRootStaticHandler",
    "/static/(.*)": "StaticHandler",
}
PANEL = {
    ("/favicon.ico", "IcoHandler"),
    ("/ws", "WSHandler"),
    ("/metadata", "MetadataHandler"),
    ("/autoload.js", "AutoloadJsHandler"),
    ("/?", "DocHandler"),
    ("/static/(?!extensions/)(.*)", "StaticHandler"),
    ("/components/(.*)", "ComponentResourceHandler"),
    ("/?", "RootHandler"),
    ("/static/extensions/(.*)", "MultiRootStaticHandler"),
    ("/static/(.*)", "StaticHandler"),
}
"""What the newest releases of Panel and Bokeh register; what a later one adds is closed."""


@contextmanager
def panel_serving() -> Iterator[str]:
    """Have `panel serve` serve the page; the address of its server."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    room = str(Path(refexplorer.hosts.page.__file__).parent)
    command = [sys.executable, "-m", "panel", "serve", room, "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as served:
        try:
            assert served.stderr is not None
            next(line for line in served.stderr if "running at" in line)
            yield f"http://localhost:{port}/"
        finally:
            served.terminate()


def test_a_release_of_panel_or_bokeh_that_adds_a_route_is_noticed() -> None:
    assert set(routes_of_panel()) == PANEL


@pytest.mark.parametrize("prefix", ["", "/below"])
def test_the_router_has_the_routes_of_the_page_and_no_other(prefix: str) -> None:
    server = PageServer(build_applications({"/": page}), prefix=prefix)
    server.add_handlers(".*", [("/more/(.*)", RequestHandler)])
    expected = {(prefix + path, name) for path, name in OPEN.items()}
    assert set(routes_of(server.default_router)) == expected


@pytest.mark.parametrize("prefix", ["", "/below"])
def test_what_panel_and_bokeh_add_is_not_found(prefix: str) -> None:
    with running_page("serve", "--prefix", prefix) as served:
        unknown = answered(f"{served.url}nosuch")
        assert unknown[:2] == (404, "Not Found")
        for path in closed_paths(OPEN):
            assert answered(served.url + path.lstrip("/")) == unknown, path


def test_files_of_other_packages_are_not_found() -> None:
    with running_page("demo") as served:
        for place in ("static/extensions/bokeh/a.js", "static/extensions/other/a.js"):
            assert answered(served.url + place)[0] == 404


def test_panel_serve_closes_them_too() -> None:
    with panel_serving() as url:
        assert "<title>refexplorer</title>" in answered(f"{url}page")[2]
        unknown = answered(f"{url}nosuch")
        for path in closed_paths(OPEN):
            assert answered(url + path.lstrip("/")) == unknown, path
            assert answered(f"{url}page{path}") == unknown, path
        assert answered(f"{url}page?bokeh-session-id=mine")[0] == 403
        with ThreadPoolExecutor() as pool:  # browser tests keep a loop running in this thread
            visited = visit_together(f"{url}page/", ["demo/sst.v1.json"])
            (visitor,) = pool.submit(asyncio.run, visited).result()
        assert visitor.rows
