"""The routes of a web server: those of a bare server of Panel, and how one answers an address."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.error import HTTPError

import panel
from panel.io.server import get_server
from tornado.routing import PathMatches, RuleRouter

NO_SUCH = ("no_such_module", "no_such_module/a/b/c")


def routes_of(router: RuleRouter) -> Iterator[tuple[str, str]]:
    """Yield the pattern of each route and the name of what answers it, inner routers included."""
    for rule in router.rules:
        if isinstance(rule.target, RuleRouter):
            yield from routes_of(rule.target)
        else:
            assert isinstance(rule.matcher, PathMatches), rule
            yield rule.matcher.regex.pattern.removesuffix("$"), rule.target.__name__


def routes_of_panel() -> list[tuple[str, str]]:
    """Return the routes that Panel and Bokeh give a server of one page."""

    async def made() -> list[tuple[str, str]]:
        server = get_server({"/": panel.Column}, port=0, address="127.0.0.1", start=False)
        found = list(routes_of(server._tornado.default_router))
        server.stop()
        return found

    with ThreadPoolExecutor() as pool:  # browser tests keep a loop running in this thread
        return pool.submit(asyncio.run, made()).result()


def closed_paths(opened: Collection[str]) -> list[str]:
    """Return paths that a bare server of Panel answers and the page does not.

    They name nothing that is there. Panel says of the shorter ones what is wrong with them.
    """
    paths = [path for path, _ in routes_of_panel() if path not in opened and "static" not in path]
    return [path.replace("(.*)", name) for path in paths for name in NO_SUCH]


def answered(url: str) -> tuple[int, str, str]:
    """Return status, reason and text of an answer."""
    try:
        with urllib.request.urlopen(url, timeout=90) as answer:
            return answer.status, answer.reason, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.reason, error.read().decode()
