"""A snapshot of an Icechunk repository as a reference set, read-only.

The `icechunk` package opens the repository, wherever it is stored. Its version 2 gives chunks in
columns; version 1 has no API for the contents of a manifest, so manifests are then read by
`refexplorer.formats.icechunk.manifests`, from a local folder.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from refexplorer.core.errors import SourceError
from refexplorer.core.files import Files
from refexplorer.core.limits import Limits
from refexplorer.core.text import escape
from refexplorer.formats.columns.chunk_names import KeyEncoding
from refexplorer.formats.columns.table import Entries, EntriesBuilder
from refexplorer.formats.datafiles.zarr_terms import base64_text
from refexplorer.formats.icechunk.columns import (
    SnapshotNode,
    add_snapshot,
    awaited,
    is_columnar,
    metadata_key,
    metadata_of,
    nodes_of,
    outside,
    plain_location,
)
from refexplorer.formats.icechunk.facts import (
    MARKS,
    NATIVE_STARTS,
    NO_LOCATION,
    UNREAD,
    Container,
    RepositoryFacts,
    place_of,
    storage_of,
)
from refexplorer.formats.icechunk.manifest_store import FEW, ManifestStore, readable_later
from refexplorer.formats.icechunk.manifests import OpenManifest, chunks_of

if TYPE_CHECKING:
    from icechunk import Repository, Session, Storage

MAIN = "main"  # The branch that is opened by default
_SHOWN = 200  # characters of a name in a message


class Snapshot(NamedTuple):
    """References and facts of one version of a repository."""

    entries: Entries
    facts: RepositoryFacts
    manifests: ManifestStore | None  # Chunks that are not in the entries; None if all are


@dataclass(frozen=True, slots=True)
class OpenedVersion:
    """A version of a repository opened by the package icechunk."""

    name: str  # Of the repository, for messages
    place: str | None  # Its path or URL; None if it has none
    version: str | None  # The requested version; None if an object was given
    again: str | None  # The name that opens it again; None without one
    session: Session  # Of that version
    repository: Repository | None  # None if only the session is known
    folder: Path | None  # The local folder, if it is in one

    def read(self, limits: Limits, opening: OpenManifest) -> Snapshot:
        """Read metadata and chunks; of a large snapshot only chunks that cannot be read later."""
        import icechunk

        if self.repository is None or self.session.has_uncommitted_changes:
            return self._read(None, None, limits, opening)
        nodes = nodes_of(self.repository, self.session, self.name)
        manifests = self._manifests(nodes, limits, opening, FEW)
        try:
            return self._read(nodes, manifests, limits, opening)
        except (SourceError, icechunk.IcechunkError):  # such as for a missing manifest
            manifests = self._manifests(nodes, limits, opening, 0)
            if manifests is None:
                raise
        return self._read(nodes, manifests, limits, opening)

    def _read(
        self,
        nodes: Sequence[SnapshotNode] | None,
        manifests: ManifestStore | None,
        limits: Limits,
        opening: OpenManifest,
    ) -> Snapshot:
        builder, store = EntriesBuilder(), self.session.store
        later = () if manifests is None else {each.array.path for each in manifests.arrays}
        if is_columnar(store):
            start = NO_LOCATION if self.place is None else ""
            paths = None if nodes is None else [node.path for node in nodes]
            counts = awaited(add_snapshot(builder, store, start, limits, paths, later))
        else:
            counts = self._by_manifests(builder, limits, opening, later)
        entries = builder.finish()
        return Snapshot(entries, self._facts(entries, counts, manifests), manifests)

    def _manifests(
        self, nodes: Sequence[SnapshotNode], limits: Limits, opening: OpenManifest, few: int
    ) -> ManifestStore | None:
        """Return the chunks to read later; None if there are none, or only a few."""
        if self.place is None or self.again is None:
            return None
        metadata = awaited(metadata_of(self.session.store, [node.path for node in nodes]))
        if not (arrays := tuple(readable_later(nodes, metadata, few))):
            return None
        return ManifestStore(self.place, limits, opening, self.containers, arrays)

    @property
    def containers(self) -> Mapping[str, str]:
        """The URL prefixes of virtual chunk containers, by container name."""
        assert self.repository is not None
        return {each.name: each.prefix for each in _containers(self.repository) if each.name}

    def _by_manifests(
        self, builder: EntriesBuilder, limits: Limits, opening: OpenManifest, later: Collection[str]
    ) -> Counter[str]:
        if self.repository is None or self.folder is None:
            raise SourceError(
                "icechunk 1 reads only repositories in a local folder; for other locations, "
                "install icechunk 2, which needs Python 3.12."
            )
        if self.session.has_uncommitted_changes:
            raise SourceError(
                "This Icechunk session has uncommitted changes, and reading those needs icechunk 2 "
                "and Python 3.12; commit them, or open another session."
            )
        nodes = nodes_of(self.repository, self.session, self.name)
        metadata = awaited(metadata_of(self.session.store, [node.path for node in nodes]))
        builder.add_values({metadata_key(path): text for path, text in metadata.items()})
        counts: Counter[str] = Counter(native=0, virtual=0, inline=0)
        for node in nodes:
            encoding = KeyEncoding.of(node.path, metadata.get(node.path, ""))
            for manifest in () if node.path in later else node.manifests:
                file = str(self.folder / "manifests" / manifest.id)
                for chunks in chunks_of(file, node.id, limits, opening, self.containers):
                    columns = chunks.urls, chunks.offsets, chunks.lengths
                    values = {row: base64_text(data) for row, data in chunks.inline.items()}
                    builder.add_ranges(encoding.keys(chunks.indices), *columns, values)
                    native = int(np.count_nonzero(chunks.native))
                    virtual = len(chunks.indices) - native - len(values)
                    counts += Counter(native=native, virtual=virtual, inline=len(values))
        return counts

    def _facts(
        self, entries: Entries, counts: Mapping[str, int], manifests: ManifestStore | None
    ) -> RepositoryFacts:
        containers, branches, tags, outside_urls = None, None, None, None
        if self.repository is not None:
            branches = tuple(sorted(self.repository.list_branches()))
            tags = tuple(sorted(self.repository.list_tags()))
            containers = _containers(self.repository)
            prefixes = [each.prefix for each in containers]
            starts = [*prefixes, *map(plain_location, prefixes)]
            if manifests is None:
                outside_urls = outside(entries.urls, [*starts, *NATIVE_STARTS])
        kinds = {name: counts.get(name, 0) for name in ("native", "virtual", "inline")}
        if manifests is not None:
            kinds[UNREAD] = sum(f.chunks or 0 for each in manifests.arrays for f in each.files)
        return RepositoryFacts(
            place=self.place,
            version=self.version,
            snapshot=self.session.snapshot_id,
            uncommitted=self.session.has_uncommitted_changes,
            branches=branches,
            tags=tags,
            containers=containers,
            chunks=kinds,
            outside=None if outside_urls is None else len(outside_urls),
            example=outside_urls[0].as_py() if outside_urls else None,
        )


def _containers(repository: Repository) -> tuple[Container, ...]:
    found = repository.config.virtual_chunk_containers or {}
    return tuple(
        Container(each.url_prefix, each.name, _kind_of(each.store), _endpoint_of(each.store))
        for each in found.values()
    )


def _endpoint_of(store: Any) -> str | None:
    """Return the server of an S3 bucket, if one is set."""
    import icechunk

    kinds: Any = icechunk.ObjectStoreConfig
    match store:
        case kinds.S3(options) | kinds.S3Compatible(options) | kinds.Tigris(options):
            return str(options.endpoint_url) if options.endpoint_url else None
    return None


def _kind_of(store: object) -> str:
    """Return the name of a store class in snake case: ``S3Compatible`` is ``s3_compatible``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(store).__name__.split("_")[-1]).lower()


def is_repository(path: Path) -> bool:
    """Return whether a folder looks like an Icechunk repository."""
    # there are no manifests before the first chunk is written
    marks = (path / "manifests").is_dir() or any((path / mark).is_file() for mark in MARKS)
    return marks and (path / "snapshots").is_dir()


@contextmanager
def folder_version(
    path: Path, version: str | None, limits: Limits, files: Files
) -> Iterator[OpenedVersion]:
    """Open a version of a repository in a local folder, as a context manager."""
    icechunk = _imported(path.name)
    if not any((path / mark).is_file() for mark in MARKS):
        raise SourceError(
            f"{escape(path.name, _SHOWN)} is an Icechunk repository without `{MARKS[1]}`: it was "
            f"written by a version before Icechunk 1.0, or the copy is incomplete; open it with "
            "the version that wrote it, and write it again."
        )
    place = str(path.resolve())
    with as_source_error(path.name), files.unchanging(path, limits) as folder:
        repository = _opened(icechunk.local_filesystem_storage(str(folder)))
        session = _session(repository, version or MAIN)
        again = place if version is None else f"{place}@{version}"
        yield OpenedVersion(path.name, place, version or MAIN, again, session, repository, path)


@contextmanager
def url_version(
    url: str, version: str | None, options: Mapping[str, Any]
) -> Iterator[OpenedVersion]:
    """Open a version of a repository by URL, like `folder_version`."""
    name = url.rstrip("/").rpartition("/")[2]
    _imported(name)
    with as_source_error(name):
        repository = _opened(storage_of(url, options))
        session = _session(repository, version or MAIN)
        place = url.rstrip("/")
        again = place if version is None else f"{place}@{version}"
        yield OpenedVersion(name, place, version or MAIN, again, session, repository, None)


@contextmanager
def object_version(given: Any) -> Iterator[OpenedVersion]:
    """Open the version of a repository (its branch ``main``), session or store."""
    import icechunk

    repository = given if hasattr(given, "readonly_session") else None
    if repository is None:
        session = getattr(given, "session", given)
    else:
        try:
            session = repository.readonly_session(MAIN)
        except icechunk.IcechunkError:
            raise SourceError(
                "This Icechunk repository has no branch main; pass a session of another branch or "
                'tag, such as repository.readonly_session("name").'
            ) from None
    place = place_of(session)
    folder = Path(place) if place is not None and "://" not in place else None
    name = "Icechunk repository" if place is None else place.rstrip("/").rpartition("/")[2]
    with as_source_error(name):
        if repository is None and folder is not None:
            repository = _opened(icechunk.local_filesystem_storage(str(folder)))
        again = None
        if place is not None and not session.has_uncommitted_changes:
            again = f"{place}@{session.snapshot_id}"
        yield OpenedVersion(name, place, None, again, session, repository, folder)


def open_version(
    source: object, options: Mapping[str, Any], limits: Limits, files: Files
) -> AbstractContextManager[OpenedVersion] | None:
    """Return the opener for the version that a path, URL or object means; None if none."""
    if is_icechunk(source):
        return object_version(source)
    text = os.fspath(source) if isinstance(source, str | os.PathLike) else None
    if not isinstance(text, str):
        return None
    before, at, version = text.rpartition("@")
    is_versioned = bool(at) and "/" not in version
    if "://" in text:
        named = is_versioned and "/" in before.partition("://")[2]
        place, version_named = (before, version) if named else (text, None)
        return url_version(place, version_named, options)
    for name, wanted in ((text, None), *([(before, version)] if is_versioned else [])):
        path = files.place(name)
        if is_repository(path):
            return folder_version(path, wanted, limits, files)
    return None


def is_icechunk(given: object) -> bool:
    """Return whether an object of the package icechunk points to a snapshot."""
    kind = type(given)
    kinds = ("Repository", "Session", "ForkSession", "IcechunkStore")
    return kind.__module__.partition(".")[0] == "icechunk" and kind.__name__ in kinds


def _imported(name: str) -> Any:
    try:
        import icechunk
    except ImportError:
        raise SourceError(
            f"{escape(name, _SHOWN)} is an Icechunk repository; install the package icechunk to "
            "open it."
        ) from None
    return icechunk


@contextmanager
def as_source_error(name: str, done: str = "read") -> Iterator[None]:
    """Convert errors of Icechunk into sentences, and keep its log off stdout."""
    import icechunk

    icechunk.set_logs_filter("off")
    try:
        yield
    except icechunk.IcechunkError as error:
        raise SourceError(
            f"{escape(name, _SHOWN)} cannot be {done} by icechunk: {_error_text(error)}."
        ) from None
    except UnicodeDecodeError:
        raise SourceError(
            f"{escape(name, _SHOWN)} cannot be read: the metadata of a node is not text."
        ) from None
    finally:
        icechunk.set_logs_filter(None)


def _error_text(error: Exception) -> str:
    """Return the line that states the cause: Icechunk 1 draws a tree of causes, the last counts."""
    lines = re.findall(r"[\w'`/].*", str(error)) or [type(error).__name__]
    text = lines[0 if str(error)[:1].isalnum() else -1].removeprefix("`-> ")
    return escape(text.rstrip("."), _SHOWN)


def _opened(storage: Storage) -> Repository:
    """Open a repository without preloading manifests."""
    import icechunk

    preload = icechunk.ManifestPreloadConfig(max_total_refs=0)
    config = icechunk.RepositoryConfig(manifest=icechunk.ManifestConfig(preload=preload))
    return icechunk.Repository.open(storage, config)


def _session(repository: Repository, version: str) -> Session:
    if version in repository.list_branches():
        return repository.readonly_session(version)
    if version in repository.list_tags():
        return repository.readonly_session(tag=version)
    return repository.readonly_session(snapshot_id=version)
