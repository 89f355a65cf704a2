"""The chunks of an array of an Icechunk repository, whose manifests are read one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from math import prod
from typing import NamedTuple

import numpy as np

from refexplorer.core.errors import SourceError
from refexplorer.formats.columns.references import (
    BASE64,
    RANGE,
    Columns,
    UrlColumn,
    joined_columns,
    text_column,
)
from refexplorer.formats.datafiles.zarr_terms import base64_text
from refexplorer.formats.icechunk.columns import ManifestFile
from refexplorer.formats.icechunk.manifest_store import ManifestArray, ManifestStore
from refexplorer.formats.icechunk.manifests import ManifestChunks
from refexplorer.refset.numbered_segment import (
    FilledRows,
    Loaded,
    Records,
    SegmentPart,
    Tally,
    TargetTally,
)
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.segments import Segment
from refexplorer.spec.zarr_metadata import ArrayMeta


class Apart(NamedTuple):
    """The segments of two sets, without the manifests that both have."""

    before: list[Segment]
    after: list[Segment]
    shared: list[Segment]  # Of these manifests


def apart(before: OpenedSet, after: OpenedSet) -> Apart:
    """Put the manifests aside that two snapshots of one repository share: they are not read."""
    others = {one.meaning: one for one in after.segments if isinstance(one, ManifestRecords)}
    found = Apart([], [], [])
    for one in before.segments:
        other = others.pop(one.meaning, None) if isinstance(one, ManifestRecords) else None
        if not isinstance(one, ManifestRecords) or other is None:
            found.before.append(one)
            continue
        both = {file.id for file in one.owner.files} & {file.id for file in other.owner.files}
        found.shared.append(one.among(both, True))
        found.before.append(one.among(both, False))
        found.after.append(other.among(both, False))
    met = {id(one) for one in others.values()}
    found.after.extend(
        one for one in after.segments if not isinstance(one, ManifestRecords) or id(one) in met
    )
    return found


def with_manifests(opened: OpenedSet, store: ManifestStore) -> OpenedSet:
    """Lay the arrays whose chunks are read later over what was read of a snapshot."""
    later = [ManifestRecords(store, array) for array in store.arrays]
    return OpenedSet(opened.table, [*opened.segments, *later], opened.rejected)


class ManifestPart(SegmentPart):
    """A manifest, or several whose chunks alternate in the order of the grid.

    What is not as the snapshot says is raised: a chunk that is not found would read as fill value.
    """

    def __init__(
        self, store: ManifestStore, owner: ManifestArray, files: tuple[ManifestFile, ...]
    ) -> None:
        self.name = f"manifests/{files[0].id}"
        spans = [_span(file, owner.array) for file in files]
        self.start = min(start for start, _ in spans)
        self.room = max(stop for _, stop in spans) - self.start
        self._store, self._owner, self._files = store, owner, files

    @property
    def is_read(self) -> bool:
        """Whether the references were read."""
        return "_loaded" in self.__dict__

    @property
    def count(self) -> int:
        """How many chunks it holds, as the snapshot says."""
        return sum(file.chunks or 0 for file in self._files)

    @cached_property
    def held(self) -> FilledRows:
        """The chunks that it holds; those of a full box are known without reading."""
        if self.count == self.room:
            return FilledRows(self.count)
        return FilledRows(self.count, self._loaded.numbers - self.start)

    @property
    def columns(self) -> Columns:
        """The references."""
        return self._loaded.columns

    @cached_property
    def _loaded(self) -> Loaded:
        found = [
            _loaded(self._owner.array, chunks)
            for file in self._files
            for chunks in self._store.chunks(self._owner, file)
        ]
        numbers = np.concatenate([each.numbers for each in found])
        one = found[0].columns if len(found) == 1 else joined_columns([e.columns for e in found])
        if np.any(numbers[1:] <= numbers[:-1]):
            order = np.argsort(numbers, kind="stable")
            numbers, one = numbers[order], one.select(order)
        self._check(numbers)
        return Loaded(numbers, one)

    def _check(self, numbers: np.ndarray) -> None:
        is_inside = len(numbers) == 0 or (
            self.start <= numbers[0] and numbers[-1] < self.start + self.room
        )
        if len(numbers) == self.count and is_inside and np.all(numbers[1:] > numbers[:-1]):
            return
        paths = ", ".join(repr(self._store.path_of(file)) for file in self._files[:3])
        raise SourceError(
            f"The manifest {paths} does not hold the {self.count:,} chunks of "
            f"{self._owner.array.path_text()} that the snapshot says it has."
        )

    def counted(self) -> TargetTally:
        """Count references and keep none."""
        if self.is_read:
            return Tally.of(self.columns), self.columns.urls_used()
        apart = ManifestPart(self._store, self._owner, self._files)
        return Tally.of(apart.columns), apart.columns.urls_used()

    def _forget(self) -> None:
        del self._loaded


def _span(file: ManifestFile, array: ArrayMeta) -> tuple[int, int]:
    """Return the number of the first chunk that may be in a manifest, and that after the last."""
    first = array.chunk_number([start for start, _ in file.extents])
    return first, array.chunk_number([stop - 1 for _, stop in file.extents]) + 1


def _loaded(array: ArrayMeta, chunks: ManifestChunks) -> Loaded:
    """Return chunks of a manifest by their numbers."""
    if len(chunks.indices) and chunks.indices.shape[1] != len(array.grid):
        raise SourceError(f"The chunks of {array.path_text()} have other dimensions than it.")
    if not array.inside(chunks.indices).all():
        raise SourceError(f"A manifest has chunks outside of the grid of {array.path_text()}.")
    steps = [prod(array.grid[axis + 1 :]) for axis in range(len(array.grid))]
    numbers = chunks.indices.astype(np.int64) @ np.array(steps, np.int64)
    return Loaded(numbers, _columns(chunks))


def _columns(chunks: ManifestChunks) -> Columns:
    kinds = np.full(len(chunks.indices), RANGE, np.uint8)
    targets = chunks.codes.astype(np.int32)
    offsets, lengths = (each.astype(np.int64) for each in (chunks.offsets, chunks.lengths))
    texts = [base64_text(data) for data in chunks.inline.values()]
    if texts:
        rows = np.fromiter(chunks.inline, np.int64)
        kinds[rows], targets[rows], offsets[rows] = BASE64, -1, np.arange(len(rows))
        lengths[rows] = [len(data) for data in chunks.inline.values()]
    return Columns(
        kinds, targets, UrlColumn(text_column(chunks.locations)), offsets, lengths, texts
    )


@dataclass(frozen=True)
class ManifestRecords(Records):
    """The references of one array of a snapshot: its manifests, and counts by the snapshot."""

    store: ManifestStore
    owner: ManifestArray

    origin = "refs"
    counted_in_a_second = 1e6

    @property
    def bound(self) -> int:
        """The count itself: the snapshot tells it."""
        return self.count

    @property
    def present(self) -> int:
        """The count: a chunk that cannot be used is raised."""
        return self.count

    @property
    def array(self) -> ArrayMeta:  # type: ignore[override]
        """The metadata of the array."""
        return self.owner.array

    @property
    def meaning(self) -> object:
        """What a manifest must be read with to mean the same references."""
        array = self.array
        style = array.prefix, array.separator, len(array.grid)
        return self.store.place, self.owner.node, array.path, style

    def among(self, names: Collection[str], is_in: bool) -> ManifestRecords:
        """Return the same with those of its manifests alone whose id is, or is not, among some."""
        files = tuple(file for file in self.owner.files if (file.id in names) == is_in)
        return replace(self, owner=replace(self.owner, files=files))

    @cached_property
    def parts(self) -> tuple[ManifestPart, ...]:  # type: ignore[override]
        """Its manifests, in the order of their chunks."""
        groups = (tuple(file for file, _ in group) for _, group in groupby(self._runs(), _run))
        return tuple(ManifestPart(self.store, self.owner, files) for files in groups)

    def _runs(self) -> Iterator[tuple[ManifestFile, int]]:
        """Yield the manifests in order, with the number of the run of overlapping ones."""
        spans = sorted((_span(file, self.array), file) for file in self.owner.files)
        end, run = 0, -1
        for (start, stop), file in spans:
            run += start >= end or run < 0
            end = max(end, stop)
            yield file, run


def _run(numbered: tuple[ManifestFile, int]) -> int:
    return numbered[1]
