"""What a page must never do: ask another machine for anything, or log an error."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page

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
        context.on("request", lambda request: self._check(request.url))
        context.on("console", self._log)
        context.on("weberror", lambda error: self.findings.append(f"uncaught: {error.error}"))
        context.on("page", self._watch)

    def _watch(self, page: Page) -> None:
        page.on("websocket", lambda socket: self._check(socket.url))

    def _check(self, url: str) -> None:
        if urlsplit(url).hostname not in LOCAL_HOSTS:
            self.findings.append(f"asked another machine: {url}")

    def _log(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            place = message.location.get("url", "") if message.location else ""
            self.findings.append(f"console error: {message.text} ({place})")
