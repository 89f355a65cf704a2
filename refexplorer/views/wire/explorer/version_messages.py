"""The versions of an Icechunk repository."""

from __future__ import annotations

from msgspec import Struct

from refexplorer.views.wire.messages import Done, Request


class VersionRow(Struct, frozen=True):
    """A snapshot of an Icechunk repository.

    Attributes
    ----------
    names
        Branches and tags that lead to it.
    written
        When, as ISO 8601.
    """

    id: str
    written: str
    message: str
    names: tuple[str, ...]


class VersionList(Struct, frozen=True):
    """The versions of the repository that the set is a snapshot of.

    Attributes
    ----------
    shown
        The id of the snapshot that is shown.
    branches, tags
        Names and the ids of the snapshots that they lead to.
    snapshots
        Those that led to the one that is shown, the newest first.
    more
        Whether there are older ones.
    """

    shown: str
    branches: tuple[tuple[str, str], ...]
    tags: tuple[tuple[str, str], ...]
    snapshots: tuple[VersionRow, ...]
    more: bool


class ListVersions(Request, frozen=True, tag="versions.list"):
    """List branches, tags and snapshots of an Icechunk repository."""

    reply = VersionList
    is_later = True


class VersionChanges(Struct, frozen=True):
    """What changed between two versions.

    Attributes
    ----------
    title
        The difference in one line.
    lines
        What `refexplorer.diff` found in the references: counts, rules, the first keys.
    logged
        What Icechunk's transaction logs say; empty where one is no ancestor of the other.
    """

    title: str
    lines: tuple[str, ...]
    logged: tuple[str, ...]


class CompareVersions(Request, frozen=True, tag="versions.compare"):
    """Compare two versions of an Icechunk repository.

    Attributes
    ----------
    before, after
        Branches, tags or ids of snapshots.
    """

    reply = VersionChanges
    is_later = True

    before: str
    after: str


class OpenVersion(Request, frozen=True, tag="versions.open"):
    """Show another version of the repository in place of this one.

    Attributes
    ----------
    version
        A branch, a tag or the id of a snapshot.
    """

    reply = Done
    is_later = True

    version: str
