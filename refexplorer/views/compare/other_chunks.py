"""Reading of the set that the set of an explorer is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refexplorer.io.access.policy import AccessPolicy
from refexplorer.io.fetch.targets import Targets
from refexplorer.views.preview.region_reader import DecodedChunks
from refexplorer.views.wire.context import ViewContext
from refexplorer.views.wire.failure_log import FailureLog

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet


class OtherChunks:
    """Makes what reads the other set: from its own folder, and from all that was allowed."""

    def __init__(self, context: ViewContext) -> None:
        self._context = context
        self._kept: tuple[ReferenceSet, tuple[str, ...], DecodedChunks] | None = None

    def of(self, other: ReferenceSet) -> DecodedChunks:
        """Return what reads a set; the same as before while nothing else was allowed."""
        policy, sets = self._context.targets.policy, self._context.comparison.sets
        granted = (*other.allowed, *policy.granted, *(() if sets is None else sets.grants(other)))
        kept = self._kept
        if kept is None or kept[0] is not other or kept[1] != granted:
            own = AccessPolicy(other.source.location, granted, served=policy.served)
            targets = Targets(own, other.storage_options, other.limits)
            kept = other, granted, DecodedChunks(other, targets, FailureLog())
            self._kept = kept
        return kept[2]
