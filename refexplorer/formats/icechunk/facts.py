"""What is known of a repository besides its references."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from refexplorer.masking import masks_repr

TargetKind: TypeAlias = Literal["native", "virtual"]


NOWHERE = "icechunk:///"
"""What locations of native chunks begin with where the repository has no place that is known."""
NATIVE_STARTS = ("chunks/", NOWHERE)
"""What locations of native chunks begin with: files of the repository itself."""


@masks_repr
class Container(NamedTuple):
    """A virtual chunk container: URLs that Icechunk may read chunks from.

    Attributes
    ----------
    prefix
        What those URLs begin with.
    name
        What it is called in the repository; None without.
    store
        The kind of store: ``s3``, ``gcs``, ``http``, ``local_filesystem`` and so on.
    """

    prefix: str
    name: str | None
    store: str


@masks_repr
@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryFacts:
    """A repository and the snapshot of it that was read.

    Attributes
    ----------
    place
        Path or URL of the repository; None for one in memory.
    version
        What was asked for: a branch, tag or snapshot; None where an object was given.
    snapshot
        The id of the snapshot that was read.
    uncommitted
        Whether changes of the session that are in no snapshot were read, too.
    branches, tags
        Their names; None where only a session was given, which does not know them.
    containers
        Virtual chunk containers; None where only a session was given.
    chunks
        How many there are: ``native`` (bytes in the repository), ``virtual`` and ``inline``.
    outside
        How many locations of virtual chunks are in no container, so that Icechunk refuses to read
        them; None if that is not known.
    example
        One of those.
    manifests
        Bytes and chunk references of each manifest of the snapshot; None if they are not known.
    """

    place: str | None
    version: str | None
    snapshot: str
    uncommitted: bool = False
    branches: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    containers: tuple[Container, ...] | None = None
    chunks: Mapping[str, int] = field(default_factory=dict)
    outside: int | None = None
    example: str | None = None
    manifests: tuple[tuple[int, int], ...] | None = None

    @staticmethod
    def kind_of(url: str) -> TargetKind:
        """Say whether a target is a file of the repository, or one that it refers to."""
        return "native" if url.startswith(NATIVE_STARTS) else "virtual"

    @property
    def access(self) -> str | None:
        """What Icechunk itself needs to read the virtual chunks, in a sentence; None without any.

        refexplorer reads them under its own access policy, and needs none of it.
        """
        if not self.chunks.get("virtual"):
            return None
        if self.containers is None or self.outside is None:
            return (
                "A session does not tell its virtual chunk containers, so that it is not known "
                "which virtual chunks Icechunk may read."
            )
        said = []
        if self.containers:
            names = ", ".join(each.prefix for each in self.containers)
            said.append(
                "Icechunk reads virtual chunks of "
                f"{names} once `authorize_virtual_chunk_access` names the prefix"
            )
        if self.outside:
            others = "location is" if self.outside == 1 else "locations are"
            said.append(
                f"{self.outside:,} {others} in no virtual chunk container (such as "
                f"{self.example}), and Icechunk refuses to read them until one is added"
            )
        return "; ".join(said) + "."
