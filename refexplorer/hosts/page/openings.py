"""Opening untrusted sets: a few at a time, the others queued, each within a budget.

Each is opened in a child process, `python -m refexplorer.hosts.page.openings`, which loads nothing
of the page.
"""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.core.files import Progress
from refexplorer.core.limits import VisitorLimits, memory_limit
from refexplorer.core.processes import (
    OWN_MEMORY,
    POLL,
    Answering,
    Children,
    Head,
    LateError,
    LostError,
    limit_memory,
    serve,
)
from refexplorer.core.text import escape, size_text
from refexplorer.verbs.referenceset import ReferenceSet

Opened = TypeVar("Opened")
BETWEEN = 0.1  # Seconds between two messages of how far an opening is
_NAME = __spec__.name if __spec__ else __name__
_NAME_SHOWN = 80  # characters of a name: a visitor may send any text
_LONG = 1
"""Seconds of its processor after which a child is given no other set: it keeps some of the memory
that it took. What waits for a server, or on a busy machine, takes none."""


class OpeningWatch:
    """The `progress` callback of `open_references`, called from the opening thread."""

    def __init__(
        self,
        report: Progress = lambda done, size: None,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        self._report, self._is_wanted = report, is_wanted
        self._reported = time.monotonic()

    def __call__(self, done: int, size: int) -> None:
        """Report progress now and then."""
        self.check()
        now = time.monotonic()
        if now - self._reported >= BETWEEN:
            self._reported = now
            self._report(done, size)

    def check(self) -> None:
        """Raise RefexplorerError if nobody waits for the result any more."""
        if not self._is_wanted():
            raise RefexplorerError("Opening was stopped.")


class Openings:
    """Opens the sets that visitors choose, for all pages of a server together."""

    def __init__(self, bounds: VisitorLimits | None = None) -> None:
        self._bounds = bounds or VisitorLimits()
        self._children = Children(_NAME, self._bounds.openings)
        self._queue: deque[object] = deque()
        self._running = 0
        self._changed = threading.Condition()

    def start(self) -> None:
        """Start a process in advance, so that the first set need not wait for it."""
        self._children.start()

    def open(
        self, name: str, opening: Callable[..., Opened], watch: OpeningWatch | None = None
    ) -> Opened:
        """Open a set, or other untrusted files, when it is its turn."""
        watch = watch or OpeningWatch()
        with self._turn(watch):
            return self._open(escape(name, _NAME_SHOWN), opening, watch)

    @contextmanager
    def _turn(self, watch: OpeningWatch) -> Iterator[None]:
        """Wait until all earlier ones have begun and there is room for one more."""
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

    def _open(self, name: str, opening: Callable[..., Opened], watch: OpeningWatch) -> Opened:
        """Open it in a child process."""

        def hear(message: Head) -> None:
            watch(message["done"], message["of"])

        head = {"memory": self._bounds.memory, "folder": str(Path.cwd())}
        try:
            with self._children.lend() as child:
                asked, seconds = pickle.dumps(opening), self._bounds.seconds
                data = child.ask(head, asked, seconds, hear, watch.check)[1]
        except LateError:
            raise LimitError(
                f"Opening {name} took more than {self._bounds.seconds:g} s and was stopped; "
                "the person who starts the page can add --seconds."
            ) from None
        except LostError:
            most, remedy = self._most_memory()
            raise LimitError(
                f"Opening {name} took more memory than {most}, or crashed, and was stopped; "
                f"the person who starts the page can {remedy}."
            ) from None
        answer = pickle.loads(data)
        if isinstance(answer, RefexplorerError):
            raise answer
        opened: Opened = answer[0]
        if isinstance(opened, ReferenceSet):
            opened.source = answer[1]
        return opened

    def _most_memory(self) -> tuple[str, str]:
        """Return the memory limit of a child and how to raise it; this process has its own."""
        most = memory_limit()
        if most is None or most >= OWN_MEMORY + self._bounds.memory:
            return size_text(self._bounds.memory), "add --memory"
        return size_text(most), "raise the memory limit of its processes (`ulimit -v`)"


def _work(head: Head, data: bytes, answering: Answering) -> None:
    limit_memory(OWN_MEMORY + head["memory"])
    os.chdir(head["folder"])  # which relative names are resolved against
    began = time.process_time()
    watch = OpeningWatch(lambda done, size: answering.send({"done": done, "of": size}))
    try:
        opened = pickle.loads(data)(progress=watch)
        # The source, in addition to the set, which is sent without a large document.
        source = opened.source if isinstance(opened, ReferenceSet) else None
        answer = pickle.dumps((opened, source), pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        raise
    except RefexplorerError as error:
        answer = pickle.dumps(error)
    except Exception as error:
        words = f"Unexpected {type(error).__name__}: {error}".rstrip(": ")
        answer = pickle.dumps(RefexplorerError(words))
    answering.answer({"spent": time.process_time() - began > _LONG}, answer)


if __name__ == "__main__":
    serve(_work)
