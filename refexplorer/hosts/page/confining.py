"""Opening sets of strangers in a process of its own, within a budget of time and memory.

`python -m refexplorer.hosts.page.confining` is the child.
"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.core.files import Progress
from refexplorer.core.limits import Bounds, memory_limit
from refexplorer.core.processes import (
    OWN_MEMORY,
    Answering,
    Children,
    Head,
    LateError,
    LostError,
    limit_memory,
    serve,
)
from refexplorer.core.text import size_text
from refexplorer.verbs.referenceset import ReferenceSet

Opened = TypeVar("Opened")
_NAME = __spec__.name if __spec__ else __name__
_BETWEEN = 0.1
"""Seconds between two messages of how far it is."""
_LONG = 1
"""Seconds of its processor after which a child is given no other set: it keeps some of the memory
that it took. What waits for a server, or on a busy machine, takes none."""


class ConfinedOpening:
    """Opens sets in child processes, some at a time."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._children = Children(_NAME, bounds.openings)

    def start(self) -> None:
        """Have a process ready, so that the first set need not wait for it."""
        self._children.start()

    def open(
        self,
        name: str,
        opening: Callable[..., Opened],
        progress: Progress | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> Opened:
        """Open a set, or what else is in files of strangers."""

        def hear(said: Head) -> None:
            if progress is not None:
                progress(said["done"], said["of"])

        head = {"memory": self._bounds.memory, "folder": str(Path.cwd())}
        try:
            with self._children.lend() as child:
                data = child.ask(head, pickle.dumps(opening), self._bounds.seconds, hear, check)[1]
        except LateError:
            raise LimitError(
                f"Opening {name} took more than {self._bounds.seconds:g} s and was stopped; "
                "whoever starts the page can add --seconds."
            ) from None
        except LostError:
            most, remedy = self._most_memory()
            raise LimitError(
                f"Opening {name} took more memory than {most}, or crashed, and was stopped; "
                f"whoever starts the page can {remedy}."
            ) from None
        found = pickle.loads(data)
        if isinstance(found, RefexplorerError):
            raise found
        opened, source = found
        if source is not None:
            opened.source = source
        answer: Opened = opened
        return answer

    def _most_memory(self) -> tuple[str, str]:
        """Say what a child may take, and what gives it more; limits of this process are its own."""
        most = memory_limit()
        if most is None or most >= OWN_MEMORY + self._bounds.memory:
            return size_text(self._bounds.memory), "add --memory"
        return size_text(most), "raise what its processes may take (`ulimit -v`)"


def _work(head: Head, data: bytes, answering: Answering) -> None:
    limit_memory(OWN_MEMORY + head["memory"])
    os.chdir(head["folder"])  # which relative names are resolved against
    began, told = time.process_time(), time.monotonic()

    def tell(done: int, size: int) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= _BETWEEN:
            told = now
            answering.tell({"done": done, "of": size})

    found: Any
    try:
        opened = pickle.loads(data)(progress=tell)
        # The source beside the set, which travels without a large document.
        source = opened.source if isinstance(opened, ReferenceSet) else None
        found = pickle.dumps((opened, source), pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        raise
    except RefexplorerError as error:
        found = pickle.dumps(error)
    except Exception as error:
        words = f"Unexpected {type(error).__name__}: {error}".rstrip(": ")
        found = pickle.dumps(RefexplorerError(words))
    answering.answer({"spent": time.process_time() - began > _LONG}, found)


if __name__ == "__main__":
    serve(_work)
