"""Checks that a page never sends a request to another machine or logs an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, WebError

LOCAL_HOSTS = {"127.0.0.1", "localhost", "::1", None}
"""None is the host of ``data:``, ``blob:`` and ``about:``."""


class Guard:
    """Watches a browser context.

    Attributes
    ----------
    findings
        One sentence for each offence, in order.
    """

    def __init__(self, context: BrowserContext) -> None:
        self.findings: list[str] = []
        self._listeners: list[tuple[Any, str, Callable[..., None]]] = []
        self._listen(context, "request", lambda request: self._check(request.url))
        self._listen(context, "console", self._log)
        self._listen(context, "weberror", self._uncaught)
        self._listen(context, "page", self._watch)
        for page in context.pages:
            self._watch(page)

    def stop(self) -> None:
        """Leave the context as it was, for the next test to watch."""
        for watched, event, listener in self._listeners:
            watched.remove_listener(event, listener)

    def _listen(self, watched: Any, event: str, listener: Callable[..., None]) -> None:
        watched.on(event, listener)
        self._listeners.append((watched, event, listener))

    def _uncaught(self, error: WebError) -> None:
        self.findings.append(f"uncaught: {error.error.stack or error.error}")

    def _watch(self, page: Page) -> None:
        self._listen(page, "websocket", lambda socket: self._check(socket.url))

    def _check(self, url: str) -> None:
        if urlsplit(url).hostname not in LOCAL_HOSTS:
            self.findings.append(f"asked another machine: {url}")

    def _log(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            place = message.location.get("url", "") if message.location else ""
            self.findings.append(f"console error: {message.text} ({place})")
