"""The context that the controllers of an explorer share: one set, one way to read, its jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary, WeakMethod

from refexplorer.io.decode.sizes import Index
from refexplorer.io.fetch.targets import Targets
from refexplorer.views.compared import Comparison
from refexplorer.views.wire.jobs import Jobs
from refexplorer.views.wire.requests import nowhere

if TYPE_CHECKING:
    from refexplorer.formats.icechunk.history import RepositoryListing
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


class RepositoryVersions(Protocol):
    """Reads the versions of one repository, as whoever looks at them may."""

    def listing(self, most: int, is_wanted: Callable[[], bool], /) -> RepositoryListing:
        """Return the first so many branches, tags and snapshots."""

    def changes(self, before: str, after: str, is_wanted: Callable[[], bool], /) -> tuple[str, ...]:
        """Return what the transaction logs tell, as `RepositoryHistory.changes`."""

    def open(self, version: str, is_wanted: Callable[[], bool], /) -> ReferenceSet:
        """Open a branch, tag or snapshot."""


def _nothing(code: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class ViewContext:
    """The common ground of the controllers of an explorer.

    Attributes
    ----------
    references
        The opened set.
    targets
        Reads what keys refer to; its policy says what may be read.
    comparison
        The set that this one is compared with.
    failure_log
        Which chunks failed in this session.
    jobs
        Runs what takes long, in threads.
    lock
        Held while a request is answered at once.
    did
        Called with the Python that does what a person did.
    show
        Shows another set in place of this one, from any thread; None where the host cannot.
    versions
        Reads the versions of the repository that the set is one of; None where there are none, or
        whoever looks may not read them.
    can_write
        Whether who looks may write files on this machine.
    edit
        Shows where a key comes from in an editor; None where there is none beside the explorer.
    """

    references: ReferenceSet
    targets: Targets
    comparison: Comparison
    failure_log: FailureLog = field(default_factory=FailureLog)
    jobs: Jobs = field(default_factory=lambda: Jobs(nowhere))
    lock: threading.RLock = field(default_factory=threading.RLock)
    did: Callable[[str], None] = _nothing
    show: Callable[[ReferenceSet], None] | None = None
    versions: RepositoryVersions | None = None
    can_write: bool = True
    edit: Callable[[str], None] | None = None
