"""Actions of a visitor of the Panel page, without a browser."""

from __future__ import annotations

import time

from refexplorer.hosts.page.page import ServedPage


def hear(page: ServedPage, **message: object) -> None:
    """Do what the browser asks for, and wait until what it opens is there."""
    page._do(message)
    while page.is_busy:
        time.sleep(0.01)


def go(page: ServedPage, address: str, step: int = 1) -> None:
    hear(page, op="go", address=address, step=step)


def choose(page: ServedPage, source: str) -> None:
    hear(page, op="open", source=source)
