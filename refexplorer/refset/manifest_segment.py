"""The chunks of an array of an Icechunk repository, whose manifests are read one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from math import prod
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from refexplorer.core.errors import LimitError, SourceError
from refexplorer.formats.columns.references import (
    BASE64,
    RANGE,
    Columns,
    UrlColumn,
    distinct,
    joined_columns,
    text_column,
)
from refexplorer.formats.datafiles.zarr_terms import base64_text
from refexplorer.formats.icechunk.columns import ManifestFile
from refexplorer.formats.icechunk.manifest_store import ManifestArray, ManifestStore
from refexplorer.formats.icechunk.manifests import ManifestChunks
from refexplorer.refset.numbered_segment import (
    FAILED,
    FilledRows,
    Loaded,
    Records,
    SegmentPart,
    Tally,
    TargetTally,
    failed_rows,
)
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.segments import Segment
from refexplorer.spec.findings import Findings, Reason
from refexplorer.spec.zarr_metadata import ArrayMeta

LOST_MANIFEST = "icechunk-lost-manifest"
_BOX = 10_000_000  # Chunks of the box of a lost manifest that are named one by one
_LOST_HINT = "Copy the manifest from a backup, or reset the branch to an older snapshot."


class Apart(NamedTuple):
    """The segments of two sets, without shared manifests."""

    before: list[Segment]
    after: list[Segment]
    shared: list[Segment]  # Of these manifests


def apart(before: OpenedSet, after: OpenedSet) -> Apart:
    """Separate the manifests that two snapshots of one repository share: they are not read."""
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
    """Overlay the arrays whose chunks are read later on the data read from a snapshot."""
    later = [ManifestRecords(store, array) for array in store.arrays]
    return OpenedSet(opened.table, [*opened.segments, *later], opened.rejected)


class ManifestPart(SegmentPart):
    """A manifest, or several whose chunks alternate in the order of the grid."""

    # A lost manifest, or one that contradicts the snapshot, is reported once. Its chunks stay
    # counted and are `FAILED`, and so are other chunks that it may have had: none reads as the fill
    # value.

    def __init__(
        self, store: ManifestStore, owner: ManifestArray, files: tuple[ManifestFile, ...]
    ) -> None:
        self.name = f"manifests/{files[0].id}"
        spans = [_span(file, owner.array) for file in files]
        self.start = min(start for start, _ in spans)
        self.room = max(stop for _, stop in spans) - self.start
        self._store, self._owner, self._files = store, owner, files
        self.lost: dict[ManifestFile, Reason] = {}  # Why some cannot be used

    @property
    def is_read(self) -> bool:
        """Whether the references were read."""
        return "_loaded" in self.__dict__

    @property
    def count(self) -> int:
        """The number of its chunks, according to the snapshot."""
        return sum(file.chunks or 0 for file in self._files)

    @cached_property
    def held(self) -> FilledRows:
        """Its chunks; those of a full box are known without reading."""
        if self.count == self.room:
            return FilledRows(self.count)
        return FilledRows(self.count, self._loaded.numbers - self.start)

    @property
    def columns(self) -> Columns:
        """The references."""
        return self._loaded.columns

    @cached_property
    def _loaded(self) -> Loaded:
        found, taken = list[Loaded](), np.empty(0, np.int64)
        for file in self._files:
            try:
                mine = self._read(file, taken)
            except (SourceError, LimitError) as error:
                self._note(file, str(error))
                continue
            found.append(mine)
            taken = np.union1d(taken, mine.numbers) if len(self._files) > 1 else taken
        for file in self.lost:
            numbers = self._guessed(file, taken)
            found.append(Loaded(numbers, failed_rows(len(numbers))))
            taken = np.union1d(taken, numbers)
        one = found[0] if len(found) == 1 else _joined(found)
        if np.any(one.numbers[1:] <= one.numbers[:-1]):
            order = np.argsort(one.numbers, kind="stable")
            return Loaded(one.numbers[order], one.columns.select(order))
        return one

    def _read(self, file: ManifestFile, taken: np.ndarray) -> Loaded:
        """Read a manifest, which must contain what the snapshot says, without duplicates."""
        array = self._owner.array
        one = _joined([_loaded(array, each) for each in self._store.chunks(self._owner, file)])
        start, stop = _span(file, array)
        numbers = distinct(one.numbers)
        is_inside = not len(numbers) or (start <= numbers[0] and numbers[-1] < stop)
        is_new = not len(taken) or not np.isin(numbers, taken, assume_unique=True).any()
        if is_inside and is_new and len(numbers) == len(one.numbers) == file.chunks:
            return one
        raise SourceError(
            f"The manifest {self._store.path_of(file)!r} does not have the {file.chunks or 0:,} "
            f"chunks of {array.path_text()} that the snapshot lists for it."
        )

    def _guessed(self, file: ManifestFile, taken: np.ndarray) -> np.ndarray:
        """Return as many chunks as a lost manifest has, among those it may have had."""
        start, stop = _span(file, self._owner.array)
        count, free = file.chunks or 0, self._box(file)
        if free is None:
            free = np.arange(start, min(stop, start + count + len(taken)))
        found = np.setdiff1d(free, taken, assume_unique=True)[:count]
        if len(found) < count:
            raise SourceError(
                f"The snapshot says that {self.name!r} has more chunks than its extents allow."
            )
        return found

    def _box(self, file: ManifestFile) -> np.ndarray | None:
        """Return all chunks that a manifest may have, ascending; None if too many."""
        if prod(stop - start for start, stop in file.extents) > _BOX:
            return None
        starts = np.array([start for start, _ in file.extents], np.int64)
        inside = np.indices([stop - start for start, stop in file.extents], np.int64)
        return _numbers(self._owner.array, np.moveaxis(inside, 0, -1) + starts).ravel()

    def _note(self, file: ManifestFile, why: str) -> None:
        array, path = self._owner.array, f"manifests/{file.id}"
        message = f"The chunks of {array.path_text()} in `{path}` cannot be read. {why}"
        self.lost[file] = Reason(LOST_MANIFEST, message, _LOST_HINT)
        if file.id not in self._store.noted:
            self._store.noted.add(file.id)
            self._store.findings.add(LOST_MANIFEST, path, message, _LOST_HINT, array=array.path)

    def rejection(self, row: int) -> Reason | None:
        """Return why the reference in a row cannot be used; None if it can, or there is none."""
        position = self.held.position_of(row)
        if position is not None and self.columns.kinds[position] != FAILED:
            return None
        index = self._owner.array.index_at(self.start + row)
        for file, reason in self.lost.items():
            if all(low <= at < high for at, (low, high) in zip(index, file.extents, strict=True)):
                return reason
        return None

    def rejected_rows(self) -> np.ndarray:
        """Return the rows that lost manifests have, or may have."""
        if not self.lost:
            return np.empty(0, np.int64)
        loaded = self._loaded
        failed = loaded.columns.kinds == FAILED
        boxes = [box for file in self.lost if (box := self._box(file)) is not None]
        found = np.concatenate([loaded.numbers[failed], *boxes])
        return np.setdiff1d(found, loaded.numbers[~failed]) - self.start

    def counted(self) -> TargetTally | None:
        """Count references without keeping any; None if a manifest is lost."""
        if self.is_read:
            return Tally.of(self.columns), self.columns.urls_used()
        apart = ManifestPart(
            replace(self._store, findings=Findings(), noted=set()), self._owner, self._files
        )
        found = Tally.of(apart.columns), apart.columns.urls_used()
        return None if apart.lost else found

    def _forget(self) -> None:
        del self._loaded


def _span(file: ManifestFile, array: ArrayMeta) -> tuple[int, int]:
    """Return the number of the first chunk that may be in a manifest, and one past the last."""
    first = array.chunk_number([start for start, _ in file.extents])
    return first, array.chunk_number([stop - 1 for _, stop in file.extents]) + 1


def _loaded(array: ArrayMeta, chunks: ManifestChunks) -> Loaded:
    """Return chunks of a manifest by number."""
    if len(chunks.indices) and chunks.indices.shape[1] != len(array.grid):
        raise SourceError(f"{array.path_text()} and its chunks differ in their dimensions.")
    if not array.inside(chunks.indices).all():
        raise SourceError(f"A manifest has chunks outside the grid of {array.path_text()}.")
    return Loaded(_numbers(array, chunks.indices), _columns(chunks))


def _numbers(array: ArrayMeta, indices: np.ndarray) -> np.ndarray:
    """Return chunk numbers by index, shape ``(…, rank)``."""
    steps = [prod(array.grid[axis + 1 :]) for axis in range(len(array.grid))]
    numbers: np.ndarray = indices.astype(np.int64) @ np.array(steps, np.int64)
    return numbers


def _joined(found: Sequence[Loaded]) -> Loaded:
    if len(found) == 1:
        return found[0]
    numbers = np.concatenate([np.empty(0, np.int64), *(each.numbers for each in found)])
    return Loaded(numbers, joined_columns([each.columns for each in found]))


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
    """The references of one array of a snapshot: its manifests, with the snapshot's counts."""

    store: ManifestStore
    owner: ManifestArray

    origin = "refs"
    counted_in_a_second = 1e6

    @property
    def is_counted(self) -> bool:
        """Always true: the snapshot has the counts of its manifests."""
        return True

    @property
    def bound(self) -> int:
        """The count itself, from the snapshot."""
        return self.count

    @property
    def present(self) -> int:
        """The count, without the chunks of lost manifests."""
        lost = (file.chunks or 0 for part in self.parts for file in part.lost)
        return self.count - sum(lost)

    @property
    def array(self) -> ArrayMeta:  # type: ignore[override]
        """The metadata of the array."""
        return self.owner.array

    @property
    def meaning(self) -> object:
        """Everything except a manifest that determines its references."""
        array = self.array
        style = array.prefix, array.separator, len(array.grid)
        return self.store.place, self.owner.node, array.path, style

    def among(self, names: Collection[str], is_in: bool) -> ManifestRecords:
        """Return the same with only the manifests whose id is, or is not, among some."""
        files = tuple(file for file in self.owner.files if (file.id in names) == is_in)
        return replace(self, owner=replace(self.owner, files=files))

    @cached_property
    def parts(self) -> tuple[ManifestPart, ...]:  # type: ignore[override]
        """Its manifests, in the order of their chunks."""
        groups = groupby(self._runs(), itemgetter(1))
        of_runs = (tuple(file for file, _ in group) for _, group in groups)
        return tuple(ManifestPart(self.store, self.owner, files) for files in of_runs)

    def _runs(self) -> Iterator[tuple[ManifestFile, int]]:
        """Yield the manifests in order, with the number of the run of overlapping ones."""
        spans = sorted((_span(file, self.array), file) for file in self.owner.files)
        end, run = 0, -1
        for (start, stop), file in spans:
            run += start >= end or run < 0
            end = max(end, stop)
            yield file, run
