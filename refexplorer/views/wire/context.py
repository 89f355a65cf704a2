"""The context that the controllers of an explorer share: one set, one way to read, its jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from refexplorer.io.fetch.targets import Targets
from refexplorer.views.compared import Comparison
from refexplorer.views.wire.answering import nowhere
from refexplorer.views.wire.failure_log import FailureLog
from refexplorer.views.wire.jobs import Jobs

if TYPE_CHECKING:
    from refexplorer.formats.icechunk.history import RepositoryListing
    from refexplorer.verbs.referenceset import ReferenceSet


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
