"""The manifests of a snapshot, read when their chunks are requested.

The snapshot itself lists the manifests of an array, how many chunks each contains and where these
are in the grid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from refexplorer.core.errors import PickledByFields
from refexplorer.core.limits import INT64_MAX, Limits
from refexplorer.formats.icechunk.columns import ManifestFile, SnapshotNode
from refexplorer.formats.icechunk.manifests import (
    Containers,
    ManifestChunks,
    OpenManifest,
    chunks_of,
)
from refexplorer.spec.findings import Findings
from refexplorer.spec.zarr_metadata import ArrayMeta, BadMetadata, parse_metadata, read_array

FEW = 10_000  # Chunks of a snapshot that are read when it is opened: they cost less than they save


@dataclass(frozen=True, slots=True)
class ManifestArray:
    """An array with the manifests that contain its chunks."""

    array: ArrayMeta  # Its metadata
    node: str  # Its id in the repository
    files: tuple[ManifestFile, ...]


@dataclass(frozen=True)
class ManifestStore(PickledByFields):
    """The arrays of a snapshot whose chunks have not been read yet."""

    place: str  # Of the repository
    limits: Limits
    opening: OpenManifest
    containers: Containers
    arrays: tuple[ManifestArray, ...]
    findings: Findings = field(default_factory=Findings)  # Problems of its manifests
    noted: set[str] = field(default_factory=set)  # The manifests with findings

    def path_of(self, file: ManifestFile) -> str:
        return manifest_path(self.place, file.id)

    def chunks(self, array: ManifestArray, file: ManifestFile) -> Iterator[ManifestChunks]:
        path = self.path_of(file)
        yield from chunks_of(path, array.node, self.limits, self.opening, self.containers)


def manifest_path(place: str, name: str) -> str:
    """Return the path or URL of a manifest by its id."""
    return f"{place}/manifests/{name}"


def readable_later(
    nodes: Sequence[SnapshotNode], metadata: Mapping[str, str], few: int
) -> Iterator[ManifestArray]:
    """Yield the arrays of a large snapshot whose manifests have only chunks of their own."""
    # Others are read immediately: those with invalid metadata, chunks outside the grid, or a
    # manifest that also contains chunks of another array, so that their number is unknown.
    owners = Counter(file.id for node in nodes for file in node.manifests)
    if sum(file.chunks or 0 for node in nodes for file in node.manifests) <= few:
        return
    for node in nodes:
        if not node.manifests or any(owners[file.id] > 1 for file in node.manifests):
            continue
        try:
            written = parse_metadata(metadata.get(node.path, ""))
            array = None if written is None else read_array(node.path, written, {})
        except BadMetadata:
            continue
        if array is not None and all(_fits(file, array) for file in node.manifests):
            yield ManifestArray(array, node.id, node.manifests)


def _fits(file: ManifestFile, array: ArrayMeta) -> bool:
    """Return whether the chunks of a manifest are counted, and inside the array's grid."""
    return (
        file.chunks is not None
        and array.chunk_count <= INT64_MAX
        and len(file.extents) == len(array.grid)
        and all(
            0 <= start < stop <= size
            for (start, stop), size in zip(file.extents, array.grid, strict=True)
        )
    )
