"""The context that the controllers of an explorer share: one set, one way to read, its jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from refexplorer.data.fetch.target_reader import Targets
from refexplorer.views.wire.answering import Operations, nowhere
from refexplorer.views.wire.failure_log import FailureLog
from refexplorer.views.wire.jobs import Jobs

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet


class PartController(Protocol):
    """Answers what one view asks; made with a `ViewContext`."""

    @property
    def operations(self) -> Operations:
        """The method that answers each request; no other controller answers the same."""
        ...


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
    failure_log
        Which chunks failed in this session.
    jobs
        Runs what takes long, in threads.
    lock
        Held while a request is answered at once.
    did
        Called with the Python that does what a person did.
    compare
        The set as it was before; None for nothing yet.
    compare_here
        Whether a person may name the set to compare with.
    """

    references: ReferenceSet
    targets: Targets
    failure_log: FailureLog = field(default_factory=FailureLog)
    jobs: Jobs = field(default_factory=lambda: Jobs(nowhere))
    lock: threading.RLock = field(default_factory=threading.RLock)
    did: Callable[[str], None] = _nothing
    compare: ReferenceSet | None = None
    compare_here: bool = True
