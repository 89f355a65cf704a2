"""How reading went, known to all views of one set: what failed in one is marked in the others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakMethod

from refexplorer.io.decode.sizes import Index

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet


class FailureLog:
    """Which chunks of one set were read, and which failed, when they were tried last.

    Attributes
    ----------
    version
        Changes with what is known.
    """

    def __init__(self) -> None:
        self.version = 0
        self._failed: dict[str, dict[Index, str]] = {}
        self._read: dict[str, set[Index]] = {}
        self._watchers: list[WeakMethod[Callable[[str], None]]] = []
        self._lock = threading.Lock()

    def failed(self, array: str) -> dict[Index, str]:
        """Return why chunks of an array failed, by index."""
        with self._lock:
            return dict(self._failed.get(array, {}))

    def read(self, array: str) -> set[Index]:
        """Return the chunks of an array that were fetched and decoded, by index."""
        with self._lock:
            return set(self._read.get(array, ()))

    def arrays(self) -> set[str]:
        """Return the arrays of which something is known."""
        with self._lock:
            return {*self._failed, *self._read}

    def note_read(self, array: str, index: Index) -> None:
        """Keep that the bytes of a chunk were fetched and decoded."""
        with self._lock:
            self._read.setdefault(array, set()).add(index)
            self.version += 1

    def note(self, array: str, index: Index, reason: str | None) -> bool:
        """Keep how a chunk came out, None if it did not fail; say whether that is new."""
        with self._lock:
            self.version += 1
            known = self._failed.setdefault(array, {})
            is_new = (index in known) != (reason is not None)
            if reason is None:
                known.pop(index, None)
            else:
                known[index] = reason
                self._read.get(array, set()).discard(index)
        return is_new

    def watch(self, watcher: Callable[[str], None]) -> None:
        """Call a bound method with the array of what is new, for as long as its object lives."""
        with self._lock:
            living = [each for each in self._watchers if each() is not None]
            self._watchers = [*living, WeakMethod(watcher)]

    def tell(self, array: str) -> None:
        """Tell all who watch that something of an array is new."""
        for each in self._watchers:
            if (watcher := each()) is not None:
                watcher(array)


_KNOWN: WeakKeyDictionary[ReferenceSet, FailureLog] = WeakKeyDictionary()


def failure_log_of(refs: ReferenceSet) -> FailureLog:
    """Return the failure log that all views of a set share."""
    return _KNOWN.setdefault(refs, FailureLog())
