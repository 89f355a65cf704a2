"""The versions of a repository for visitors of a page: read in a child process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from refexplorer.app.opening import Openings, OpeningWatch
from refexplorer.errors import RefexplorerError
from refexplorer.formats.icechunk.history import RepositoryListing
from refexplorer.history import changes_of, guarded_history, listing_of, owned_history
from refexplorer.io.access.policy import AccessPolicy
from refexplorer.limits import Limits
from refexplorer.markup import escape
from refexplorer.opening import open_guarded, open_references
from refexplorer.referenceset import ReferenceSet

_SHOWN = 80


class VisitedVersions:
    """Reads the versions of one repository as a policy allows, within what visitors may take."""

    def __init__(
        self,
        openings: Openings,
        place: str,
        policy: AccessPolicy,
        limits: Limits,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._openings = openings
        self._place = place
        self._lent = (
            partial(guarded_history, place, policy, limits)
            if options is None
            else partial(owned_history, place, options)
        )
        self._opening = (
            partial(open_guarded, policy=policy, limits=limits)
            if options is None
            else partial(open_references, storage_options=options, limits=limits)
        )

    def listing(self, most: int, is_wanted: Callable[[], bool]) -> RepositoryListing:
        """Return the first so many branches, tags and snapshots."""
        reading = partial(listing_of, self._lent, most)
        return self._openings.open(self._name, reading, _watch(is_wanted))

    def changes(self, before: str, after: str, is_wanted: Callable[[], bool]) -> tuple[str, ...]:
        """Return what the transaction logs tell."""
        reading = partial(changes_of, self._lent, before, after)
        return self._openings.open(self._name, reading, _watch(is_wanted))

    def open(self, version: str, is_wanted: Callable[[], bool]) -> ReferenceSet:
        """Open a branch, tag or snapshot."""
        return self.opened(version, _watch(is_wanted))

    def opened(self, version: str, watch: OpeningWatch | None) -> ReferenceSet:
        """Do as `open`, and tell how far it is."""
        if not version or {*version} & set("/\\#?@"):  # no name of one, but of another path
            raise RefexplorerError(f"{self._name} has no version {escape(version, _SHOWN)}.")
        source = f"{self._place}@{version}"
        opening = partial(self._opening, source)
        return self._openings.open(f"{self._name}@{version}", opening, watch)

    @property
    def _name(self) -> str:
        return self._place.rstrip("/").rpartition("/")[2]


def _watch(is_wanted: Callable[[], bool]) -> OpeningWatch:
    return OpeningWatch(lambda done, size: None, is_wanted)
