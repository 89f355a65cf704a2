"""The snapshots that led to a version of a repository, and the changes in each, in words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.core.errors import SourceError
from refexplorer.core.limits import Limits
from refexplorer.core.text import counted, escape
from refexplorer.formats.columns.references import numbers_of
from refexplorer.formats.icechunk.columns import SnapshotNode, nodes_of
from refexplorer.formats.icechunk.manifest_store import manifest_path
from refexplorer.formats.icechunk.manifests import (
    OpenManifest,
    chunks_of,
    versions_in,
)
from refexplorer.formats.icechunk.repository import OpenedVersion, as_source_error

if TYPE_CHECKING:
    from icechunk import Repository

_SHOWN = 5  # Paths that are named where there are more


@dataclass(frozen=True, slots=True)
class RepositorySnapshot:
    """One state of a repository.

    Attributes
    ----------
    id
        Its id; ``repository@id`` opens it.
    parent
        The id of the previous snapshot; None for the first.
    written
        When it was written, as ISO 8601.
    message
        The commit message.
    metadata
        The metadata of the commit.
    branches, tags
        Branches and tags that point to this snapshot.
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
    """The listed versions of a repository."""

    # branches, tags: The ids of their snapshots, by name
    branches: Mapping[str, str]
    tags: Mapping[str, str]
    snapshots: tuple[RepositorySnapshot, ...]  # Those that led to one version, the newest first
    more: bool  # Whether there are older ones


class RepositoryHistory:
    """The snapshots of a version, newest first, and what changed between any two.

    Attributes
    ----------
    name
        The name of the repository.
    branches, tags
        The ids of their snapshots, by name.
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
        """Return the snapshots numbered `start` to `stop`, from 0, newest first."""
        with as_source_error(self.name):
            return list(islice(self._snapshots(), start, stop))

    def listing(self, most: int) -> RepositoryListing:
        """Return the first branches, tags and snapshots, up to a limit."""
        found = self.snapshots(0, most + 1)
        branches, tags = (dict(islice(names.items(), most)) for names in (self.branches, self.tags))
        return RepositoryListing(branches, tags, tuple(found[:most]), len(found) > most)

    def changes(self, before: str, after: str) -> tuple[str, ...]:
        """Describe the changes between two snapshots, from Icechunk's transaction logs.

        `refexplorer.diff` compares the references themselves.

        Parameters
        ----------
        before, after
            Branches, tags or ids; `before` is an ancestor of `after`.

        Raises
        ------
        SourceError
            If there is no such version, or one is not an ancestor of the other.
        """
        with as_source_error(self.name):
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
    """Yield a sentence for each kind of change; Icechunk before 2 has no moved nodes."""
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


class RecordedVersion(NamedTuple):
    """The version of a target when a reference to it was written."""

    etag: str | None  # As reported by the store; None if not recorded
    # The last time it may have been modified, in seconds since 1970; None as above
    modified: int | None


Recorded = Mapping[str, tuple[RecordedVersion, ...]]  # By location


def recorded_versions(
    opened: Callable[[], AbstractContextManager[OpenedVersion]],
    place: str,
    limits: Limits,
    opening: OpenManifest,
    path: str | None = None,
) -> Recorded:
    """Read the versions of the virtual chunks of a snapshot, or only of one of its arrays."""
    found: dict[str, set[RecordedVersion]] = {}
    with opened() as version:
        assert version.repository is not None, "only what has a path or URL is opened again"
        for node in nodes_of(version.repository, version.session, version.name):
            if path is not None and node.path.strip("/") != path:
                continue
            files = [manifest_path(place, file.id) for file in node.manifests]
            for urls, etags, modified in _of_array(version, node, files, limits, opening):
                for url, etag, seconds in _distinct(urls, etags, modified):
                    one = RecordedVersion(etag or None, seconds or None)
                    if url and one != (None, None):
                        found.setdefault(url, set()).add(one)
    return {url: tuple(versions) for url, versions in found.items()}


_VersionColumns = tuple[pa.LargeStringArray, pa.LargeStringArray, np.ndarray]
"""Locations, ETags, and times of the last change, of chunks."""


def _of_array(
    version: OpenedVersion,
    node: SnapshotNode,
    files: list[str],
    limits: Limits,
    opening: OpenManifest,
) -> list[_VersionColumns]:
    """Return the columns of an array; chunks without a version are omitted."""
    found: list[_VersionColumns] = []
    for file in files:
        try:
            blocks = list(versions_in(file, node.id, limits, opening))
        except SourceError:  # a missing manifest is reported for its array
            continue
        if not any(b.modified.any() or pc.any(pc.not_equal(b.etags, "")).as_py() for b in blocks):
            continue
        chunks = chunks_of(file, node.id, limits, opening, version.containers)
        urls = [each.urls for each in chunks]
        found += [
            (each, block.etags, block.modified) for each, block in zip(urls, blocks, strict=True)
        ]
    return found


def _distinct(
    urls: pa.LargeStringArray, etags: pa.LargeStringArray, modified: np.ndarray
) -> set[tuple[str, str, int]]:
    """Return the distinct rows of three columns."""
    columns = [urls.dictionary_encode(), etags.dictionary_encode()]
    codes = [numbers_of(column.indices).astype(np.int64) for column in columns]
    rows = set(zip(*(code.tolist() for code in codes), modified.tolist(), strict=True))
    texts = [column.dictionary.to_pylist() for column in columns]
    return {(texts[0][url], texts[1][etag], seconds) for url, etag, seconds in rows}
