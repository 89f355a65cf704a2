"""The snapshots that led to a version of a repository, and what each changed, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from refexplorer.formats.icechunk.repository import OpenedVersion, told
from refexplorer.markup import counted, escape

if TYPE_CHECKING:
    from icechunk import Repository

_SHOWN = 5
"""Paths that are named where there are more."""


@dataclass(frozen=True, slots=True)
class RepositorySnapshot:
    """One state of a repository.

    Attributes
    ----------
    id
        Its id, by which ``repository@id`` opens it.
    parent
        The id of the one before; None for the first.
    written
        When it was written, as ISO 8601.
    message
        Of who committed it.
    metadata
        Of the commit.
    branches, tags
        Those that lead to it.
    """

    id: str
    parent: str | None
    written: str
    message: str
    metadata: Mapping[str, Any]
    branches: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RepositoryListing:
    """The versions of a repository that are listed."""

    # branches, tags: The ids of the snapshots that they lead to, by name
    branches: Mapping[str, str]
    tags: Mapping[str, str]
    snapshots: tuple[RepositorySnapshot, ...]  # Those that led to one version, the newest first
    more: bool  # Whether there are older ones


class RepositoryHistory:
    """The snapshots of a version, newest first, and what changed between any two.

    Attributes
    ----------
    name
        Of the repository.
    branches, tags
        The ids of the snapshots that they lead to, by name.
    """

    def __init__(self, opened: OpenedVersion) -> None:
        assert opened.repository is not None
        self.name = opened.name
        self._repository: Repository = opened.repository
        self._snapshot = opened.session.snapshot_id
        repository = self._repository
        self.branches: Mapping[str, str] = {
            name: repository.lookup_branch(name) for name in sorted(repository.list_branches())
        }
        self.tags: Mapping[str, str] = {
            name: repository.lookup_tag(name) for name in sorted(repository.list_tags())
        }

    def snapshots(self, start: int = 0, stop: int | None = None) -> list[RepositorySnapshot]:
        """Return the snapshots numbered `start` to `stop`, from 0, the newest first."""
        with told(self.name):
            return list(islice(self._snapshots(), start, stop))

    def listing(self, most: int) -> RepositoryListing:
        """Return the first so many branches, tags and snapshots."""
        found = self.snapshots(0, most + 1)
        branches, tags = (dict(islice(names.items(), most)) for names in (self.branches, self.tags))
        return RepositoryListing(branches, tags, tuple(found[:most]), len(found) > most)

    def changes(self, before: str, after: str) -> tuple[str, ...]:
        """Say what Icechunk's transaction logs tell between two snapshots.

        `refexplorer.diff` compares the references themselves.

        Parameters
        ----------
        before, after
            Branches, tags or ids; `before` is an ancestor of `after`.

        Raises
        ------
        SourceError
            If there is no such version, or one is no ancestor of the other.
        """
        with told(self.name):
            ids = {"from_snapshot_id": self._id(before), "to_snapshot_id": self._id(after)}
            return tuple(_sentences(self._repository.diff(**ids)))

    def _snapshots(self) -> Iterator[RepositorySnapshot]:
        for each in self._repository.ancestry(snapshot_id=self._snapshot):
            yield RepositorySnapshot(
                each.id,
                each.parent_id,
                each.written_at.isoformat(timespec="seconds"),
                each.message,
                each.metadata,
                *(
                    tuple(name for name, snapshot in names.items() if snapshot == each.id)
                    for names in (self.branches, self.tags)
                ),
            )

    def _id(self, version: str) -> str:
        return self.branches.get(version) or self.tags.get(version) or version


def _sentences(found: Any) -> Iterator[str]:
    """Yield one for each kind of change; Icechunk before 2 knows no moved nodes."""
    for name, what, verb in (
        ("new_groups", "group", "created"),
        ("new_arrays", "array", "created"),
        ("deleted_groups", "group", "deleted"),
        ("deleted_arrays", "array", "deleted"),
        ("updated_groups", "group", "with other metadata"),
        ("updated_arrays", "array", "with other metadata"),
    ):
        if paths := getattr(found, name):
            yield f"{counted(len(paths), what)} {verb}: {_listed(paths)}"
    for path, indices in sorted(found.updated_chunks.items()):
        yield f"{counted(len(indices), 'chunk')} written in {_shown(path)}"
    for before, after in sorted(getattr(found, "moved_nodes", ())):
        yield f"{_shown(before)} moved to {_shown(after)}"


def _listed(paths: Collection[str]) -> str:
    named = ", ".join(map(_shown, sorted(paths)[:_SHOWN]))
    left = len(paths) - _SHOWN
    return f"{named} and {left:,} more" if left > 0 else named


def _shown(path: str) -> str:
    return escape(path.strip("/") or "/", 200)
