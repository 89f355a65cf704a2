"""How sets of strangers are opened: some at a time, the others in turn, each within a budget."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.core.limits import Bounds
from refexplorer.core.processes import POLL
from refexplorer.core.text import escape
from refexplorer.hosts.page.confining import ConfinedOpening

BETWEEN = 0.2
"""Seconds between two messages about it."""
_NAME_SHOWN = 80  # characters of a name: a visitor may send any text

Opened = TypeVar("Opened")
Tell = Callable[[int, int], None]


class OpeningWatch:
    """What `open_references` calls as its `progress`, from the thread that opens."""

    def __init__(self, tell: Tell, is_wanted: Callable[[], bool], between: float = BETWEEN) -> None:
        self._tell = tell
        self._is_wanted = is_wanted
        self._between = between
        self._told = time.monotonic()

    def __call__(self, done: int, size: int) -> None:
        """Tell it now and then."""
        self.check()
        now = time.monotonic()
        if now - self._told >= self._between:
            self._told = now
            self._tell(done, size)

    def check(self) -> None:
        """Raise RefexplorerError if nobody waits for it any more."""
        if not self._is_wanted():
            raise RefexplorerError("The opening was stopped.")


def _unwatched() -> OpeningWatch:
    return OpeningWatch(lambda done, size: None, lambda: True)


class Openings:
    """Opens what visitors choose, for all pages of a server together."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self._bounds = bounds or Bounds()
        self._confined = ConfinedOpening(self._bounds)
        self._queue: deque[object] = deque()
        self._running = 0
        self._changed = threading.Condition()

    def start(self) -> None:
        """Have a process ready for the first set."""
        self._confined.start()

    def open(
        self, name: str, opening: Callable[..., Opened], watch: OpeningWatch | None = None
    ) -> Opened:
        """Open a set, or what else is in files of strangers, when it is its turn."""
        watch = watch or _unwatched()
        with self._turn(watch):
            return self._confined.open(escape(name, _NAME_SHOWN), opening, watch, watch.check)

    @contextmanager
    def _turn(self, watch: OpeningWatch) -> Iterator[None]:
        """Wait until all that came before have begun and there is room for one more."""
        ticket = object()
        with self._changed:
            is_free = self._running < self._bounds.openings and not self._queue
            if not is_free and len(self._queue) >= self._bounds.waiting:
                raise LimitError(
                    f"{len(self._queue)} sets are already waiting to be opened on this page: "
                    "try again in a minute."
                )
            self._queue.append(ticket)
            try:
                while self._queue[0] is not ticket or self._running >= self._bounds.openings:
                    self._changed.wait(POLL)
                    watch.check()
                self._running += 1
            finally:
                self._queue.remove(ticket)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()
