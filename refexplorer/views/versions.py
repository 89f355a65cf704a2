"""The versions of a set's Icechunk repository, and the changes between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from refexplorer.core.errors import RefexplorerError
from refexplorer.verbs.differing import diff
from refexplorer.verbs.opening import history, open_references
from refexplorer.views.wire.context import ExplorerPart, RepositoryVersions, ViewContext
from refexplorer.views.wire.jobs import JobReport, go_on
from refexplorer.views.wire.requests import job

if TYPE_CHECKING:
    from refexplorer.formats.icechunk.history import RepositoryListing
    from refexplorer.verbs.referenceset import ReferenceSet

LISTED = 200  # Snapshots, branches and tags that are listed


class VersionRow(Struct, frozen=True):
    """A snapshot of an Icechunk repository."""

    id: str
    written: str  # When, as ISO 8601
    message: str
    names: tuple[str, ...]  # Branches and tags that lead to it


class VersionList(Struct, frozen=True):
    """The versions of the repository of which the set is a snapshot."""

    shown: str  # The id of the snapshot that is shown
    # branches, tags: Names and the ids of the snapshots that they lead to
    branches: tuple[tuple[str, str], ...]
    tags: tuple[tuple[str, str], ...]
    snapshots: tuple[VersionRow, ...]  # Those that led to the one that is shown, the newest first
    more: bool  # Whether there are older ones


class VersionChanges(Struct, frozen=True):
    """The changes between two versions."""

    title: str  # The difference in one line
    # The result of `refexplorer.diff`: counts, rules, the first keys
    lines: tuple[str, ...]
    # From Icechunk's transaction logs; empty if neither is an ancestor of the other
    logged: tuple[str, ...]


def own_versions(references: ReferenceSet) -> RepositoryVersions | None:
    """Return the reader of a repository's versions, for the user of this process only."""
    if references.source.repository is None or references.source.place is None:
        return None

    def ask(is_wanted: Callable[[], bool], question: str, *arguments: object) -> Any:
        return getattr(history(references), question)(*arguments)

    def opened(version: str, is_wanted: Callable[[], bool]) -> ReferenceSet:
        name, options = version_name(references, version), references.storage_options
        return open_references(name, storage_options=options, limits=references.limits)

    return RepositoryVersions(ask, opened)


def version_name(references: ReferenceSet, version: str) -> str:
    """Return the name that opens another version of the repository of a set."""
    facts = references.source.repository
    assert facts is not None
    return f"{facts.place}@{version}"


class VersionPicker:
    """Handles requests to list, compare and open versions."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._versions = context.versions
        self._show = context.show

    @job("versions.list")
    def list(self, report: JobReport) -> VersionList:
        """List branches, tags and snapshots of an Icechunk repository."""
        go_on(report, None, None, "Reading the history of the repository")
        is_wanted = _wanted(report, "Reading the history")
        found: RepositoryListing = self._known().ask(is_wanted, "listing", LISTED)
        facts = self._refs.source.repository
        assert facts is not None
        rows = tuple(
            VersionRow(each.id, each.written, each.message, (*each.branches, *each.tags))
            for each in found.snapshots
        )
        branches, tags = tuple(found.branches.items()), tuple(found.tags.items())
        return VersionList(facts.snapshot, branches, tags, rows, found.more)

    @job("versions.compare")
    def compare(
        self,
        report: JobReport,
        # before, after: Branches, tags or ids of snapshots
        before: str,
        after: str,
    ) -> VersionChanges:
        """Compare two versions of an Icechunk repository."""
        known = self._known()
        sets = []
        for number, version in enumerate((before, after)):
            label = f"Opening {version}"
            go_on(report, number, 3, label)
            sets.append(known.open(version, _wanted(report, label)))
        go_on(report, 2, 3, "Comparing")
        found = diff(*sets)
        try:
            is_wanted = _wanted(report, "Reading the transaction log")
            logged = known.ask(is_wanted, "changes", before, after)
        except RefexplorerError:  # neither may be an ancestor of the other
            logged = ()
        first, *lines = str(found).splitlines()
        return VersionChanges(first, tuple(line.strip() for line in lines), logged)

    @job("versions.open")
    def open(
        self,
        report: JobReport,
        version: str,  # A branch, a tag or the id of a snapshot
    ) -> None:
        """Show another version of the repository in place of this one."""
        if self._show is None:
            raise RefexplorerError(
                f"Another version cannot be shown here; open {version_name(self._refs, version)}."
            )
        known, label = self._known(), f"Opening {version}"
        go_on(report, 0, 1, label)
        self._show(known.open(version, _wanted(report, label)))

    def _known(self) -> RepositoryVersions:
        if self._versions is None:
            raise RefexplorerError(
                "Versions are listed only for Icechunk repositories that were opened by path or "
                "URL; a shared page lists only those that its visitors may open."
            )
        return self._versions


def _wanted(report: JobReport, label: str) -> Callable[[], bool]:
    return lambda: report(None, None, label)


PART = ExplorerPart(
    "versions", "Versions", "Versions", (VersionPicker,), look=False, alone=False,
    recorded=("versions.list",),
)  # fmt: skip
