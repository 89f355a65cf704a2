"""How far the opening of a set is: told to the page, and stopped when nobody waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable

from refexplorer.errors import RefexplorerError

BETWEEN = 0.2
"""Seconds between two messages about it."""

Tell = Callable[[int, int], None]


class OpeningWatch:
    """What `open_references` calls as its `progress`, from the thread that opens.

    Parameters
    ----------
    tell
        Takes the bytes that were read, and those of the file.
    is_wanted
        Asked each time; what nobody waits for is stopped.
    """

    def __init__(self, tell: Tell, is_wanted: Callable[[], bool]) -> None:
        self._tell = tell
        self._is_wanted = is_wanted
        self._told = time.monotonic()

    def __call__(self, done: int, size: int) -> None:
        """Tell it now and then.

        Raises
        ------
        RefexplorerError
            If nobody waits for it any more.
        """
        if not self._is_wanted():
            raise RefexplorerError("The opening was stopped.")
        now = time.monotonic()
        if now - self._told >= BETWEEN:
            self._told = now
            self._tell(done, size)
