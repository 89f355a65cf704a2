"""Comparison of one open file with the references to it: one row per array."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from refexplorer.checks.axes import is_axis
from refexplorer.checks.compare.cf import is_time, times, unpacked
from refexplorer.checks.compare.inline import InlineValues, MatchedFile, compare_inline
from refexplorer.checks.compare.metadata import (
    is_fill_masked,
    is_filled_alike,
    metadata_differences,
    not_compared,
    said,
)
from refexplorer.checks.compare.origins import CertainOrigins, Origins, remade
from refexplorer.checks.compare.placing import (
    MOVED,
    SAME,
    FileReferences,
    NativeReferences,
    aligned,
    expected,
    found_chunks,
    grouped,
    is_cut,
    set_indices,
)
from refexplorer.checks.compare.set_array import NO_POSITION, SetArray
from refexplorer.checks.records import (
    FAILED,
    FileDifference,
    FileObjects,
    ObjectRow,
    Record,
    Remade,
    numbers_bytes,
)
from refexplorer.checks.states import FileState, LedgerState, ObjectState
from refexplorer.formats.datafiles.data_file import DataFile, FileArray, FileObject, Unread
from refexplorer.io.sources.zarr_files import INNER
from refexplorer.spec.chunk_axes import ChunkAxis
from refexplorer.spec.codes import CODES

_NONE = np.empty(0, np.uint8)
ZARR = "Zarr"
_OF_CHUNKS = frozenset({"byte-order", "filters", "order"})
"""Metadata without meaning for an array that has no chunk."""


class FileComparison:
    """The comparison of one file."""

    def __init__(
        self,
        file: DataFile,
        arrays: Mapping[str, SetArray],
        held: InlineValues,
        record: Record,
        references: Mapping[str, FileReferences],
        remake: bool = False,
        bare: Collection[str] = (),
    ) -> None:
        self._record, self._bare = record, bare
        self._references = references
        self._matched = matched = MatchedFile(file, arrays, held)
        self._groups: dict[str, list[NativeReferences]] = {}
        self._states: dict[str, np.ndarray] = {}
        for path, found in references.items():
            groups, states = grouped(arrays[path], found, matched.filed)
            self._groups[path], self._states[path] = groups, states
            if groups:
                matched.names[path] = groups[-1].native.name
        self._origins = Origins(matched, [each for some in self._groups.values() for each in some])
        self._certain: CertainOrigins | None = None
        if remake:
            self._certain = CertainOrigins(matched, self._origins, references, self._groups)

    def compare(self) -> Iterator[tuple[Record, np.ndarray]]:
        """Yield one row per array with the states of its references."""
        matched = self._matched
        for path in self._references:
            record = self._of_references(path)
            self._remake(path, record)
            yield record, self._states[path]
        for path in matched.arrays:
            held = matched.held.arrays.get(path)
            others = [] if held is None else [self._of_held(path)]
            found = self._references.get(path)
            is_referenced = found is not None and bool((found.numbers >= 0).any())
            if not is_referenced and (held is None or not held.known.all()):
                other = self._of_unreferenced(path)
                filled = self._of_filled(path) if path in self._bare else None
                if other is not None and filled is not None:
                    known = other.findings
                    known += [each for each in filled.findings if each not in known]
                others.append(other or filled)
            for each in others:
                if each is not None:
                    self._remake(path, each)
                    yield each, _NONE

    def objects(self, rows: Sequence[Record]) -> FileObjects:
        """Return whether the set has each object of the file, given the rows of the file."""
        layout, held = self._matched.filed, self._matched.held.arrays
        states: dict[str, ObjectState] = {}
        for row in rows:
            if row.native is not None:
                is_held = row.array in held and not row.references
                known = ObjectState.EQUAL if is_held else ObjectState.IN_SET
                name = row.native.removesuffix(INNER) if layout.form == ZARR else row.native
                states.setdefault(name, known)
        found = []
        for each in layout.objects:
            if each.name in states:
                found.append(ObjectRow(each.name, states[each.name]))
            elif each.kind == "array":
                found.append(self._without_references(each))
            else:
                found.append(ObjectRow(each.name, ObjectState.STRUCTURE))
        return FileObjects(layout.declared, found)

    def _without_references(self, each: FileObject) -> ObjectRow:
        """Return the row of an array without references in this part."""
        why = self._matched.filed.not_read.get(each.name) or (each.barrier and str(each.barrier))
        place = self._matched.filed.places.get(each.name)
        array = None if place is None else self._matched.filed.arrays[place]
        for path in self._matched.arrays if array is not None else ():
            if self._matched.native(path) is array:
                return ObjectRow(each.name, ObjectState.LACKING, path)
        ours, held = self._matched.arrays.get(each.name), self._matched.held.arrays
        if why and each.name in self._bare and ours is not None and each.name not in held:
            return ObjectRow(each.name, ObjectState.LACKING, each.name)  # reads as the fill value
        if why:
            state = ObjectState.UNREAD if each.name in self._references else ObjectState.LEFT_OUT
            return ObjectRow(each.name, state, why)
        return ObjectRow(each.name, ObjectState.NOT_TAKEN)

    def region(self, path: str, number: int) -> tuple[FileArray, tuple[slice, ...]] | None:
        """Return the file's array and the region of it that a chunk of the set covers."""
        native, ours = self._matched.native(path), self._matched.arrays[path]
        lie = None if native is None else aligned(ours, native)
        origin = None if lie is None else self._origins.of(ours, lie)
        if native is None or lie is None or origin is None:
            return None
        index = set_indices(ours, np.array([number]))[0]
        starts = (ours.meta.starts_of(index[None])[0] - origin)[list(lie.axes)]
        chunk_shape = ours.meta.chunk_shape(index.tolist())
        sizes = [chunk_shape[axis] for axis in lie.axes]
        found = tuple(
            slice(int(start), int(min(start + size, length)))
            for start, size, length in zip(starts, sizes, native.shape, strict=True)
        )
        return (native, found) if all(0 <= s.start < s.stop for s in found) else None

    def _remake(self, path: str, record: Record) -> None:
        """Record what references and metadata should be where they are wrong."""
        if self._certain is None:
            return
        groups = self._groups.get(path, [])
        is_wrong = bool(record.findings or record.lacking)
        is_wrong |= not np.isin(self._states.get(path, _NONE), (SAME, LedgerState.INSIDE)).all()
        is_wrong |= any(self._certain.is_moved(each) for each in groups)
        if not is_wrong:
            return
        if len(groups) > 1:
            record.remade = Remade(reason="the set combines several of its arrays into one")
            return
        native = groups[0].native if groups else self._matched.native(path)
        found = self._references.get(path)
        record.remade = remade(self._matched, self._certain, path, native, found, record.findings)

    def _new(self, path: str, native: FileArray | None) -> Record:
        base, form = self._record, self._matched.filed.form
        return Record(base.number, base.target, path, None if native is None else native.name, form)

    def _of_references(self, path: str) -> Record:
        """Return the row of an array with references to the file."""
        groups, states = self._groups[path], self._states[path]
        record = self._new(path, groups[0].native if groups else None)
        record.references = len(states)
        not_read = self._matched.filed.not_read
        if path in not_read:
            record.native, record.message = path, not_read[path]
            states[:] = LedgerState.UNREAD_FILE
            if path in self._matched.filed.damaged:
                states[:] = LedgerState.DAMAGED_FILE
                record.state, record.file = FAILED, FileState.DAMAGED
            return record
        record.findings += self._of_others(path)
        if groups and self._is_of_another(path, groups[0].native.name):
            states[:] = MOVED
        own = groups[0].origin if groups else None
        for group in groups:
            record.findings += group.findings
            if group.is_placed:
                self._place(group, record)
                unchecked = [*not_compared(group.ours, group.native)]
                record.unchecked += unchecked
                if "filters" in unchecked:  # only values show whether both decode alike
                    is_placed = states[group.rows] == SAME
                    states[group.rows[is_placed]] = LedgerState.INSIDE
            if any(not CODES[each.cause].is_of_chunks for each in record.findings):
                states[group.rows] = np.maximum(states[group.rows], LedgerState.WRONG_METADATA)
        if groups and groups[0].is_placed:
            _span(groups, self._matched.filed.full, record)
            self._note_axis(groups[0], record)
            if record.axis is not None and own is not None:
                record.axis_start = int(own[0])  # where the set has it, if other arrays disagree
        return record

    def _of_others(self, path: str) -> Iterator[FileDifference]:
        """Yield references that point to no chunk of the file, or to another array."""
        ours, found, filed = self._matched.arrays[path], self._references[path], self._matched.filed
        at, groups = found_chunks(ours, found, filed), self._groups[path]
        numbers, inside = found.numbers, found.numbers >= 0

        def wrong(cause: str, rows: np.ndarray, said: str) -> FileDifference:
            said = f"{ours.meta.key_at(numbers[rows[0]])} {said}"
            return FileDifference.of_chunks(cause, ours.meta, numbers[rows], said)

        lost = np.flatnonzero(inside & (at.owners == NO_POSITION))
        if len(lost):
            said_at = f"at byte {int(found.offsets[lost[0]]):,} is in no chunk of the file"
            yield wrong("offset", lost, said_at)
        if groups and self._is_of_another(path, name := groups[0].native.name):
            said_of = f"is a chunk of `{name}`, not of `{path}`"
            yield wrong("other-array", np.arange(len(numbers)), said_of)
        mine = {group.place for group in groups}
        expected_name = groups[0].native.name if groups else path
        if (named := filed.places.get(path)) is not None:
            expected_name = filed.arrays[named].name
        for place in sorted(set(at.owners[inside].tolist()) - mine - {NO_POSITION}):
            rows = np.flatnonzero(inside & (at.owners == place))
            other = filed.arrays[place].name
            said_of = f"is a chunk of `{other}`, not of `{expected_name}`"
            yield wrong("other-array", rows, said_of)

    def _is_of_another(self, path: str, name: str) -> bool:
        """Return whether a Zarr file, which is one chunk, belongs to another array of the set."""
        if self._matched.filed.form != ZARR:
            return False
        mine, theirs = (each.rpartition("/")[2] for each in (path, name.removesuffix(INNER)))
        beside = f"{path.rpartition('/')[0]}/{theirs}".lstrip("/")
        return mine != theirs and beside in self._matched.arrays

    def _place(self, group: NativeReferences, record: Record) -> None:
        """Compare positions; record chunks without a reference, and differing metadata."""
        differing = list(metadata_differences(group.ours, group.native, group.lie, group.is_cut))
        if not any(each.cause == "chunk-shape" for each in differing):
            origin = self._origins.agreed(group)
            self._note_misplaced(group, origin, record)
            group.origin = origin
            self._note_lacking(group, record)
            differing += _of_shape(group, self._matched.filed.full[group.native.name].shape)
        noted = {(each.cause, each.ours, each.theirs) for each in record.findings}
        for each in differing:
            if (each.cause, each.ours, each.theirs) not in noted:
                record.findings.append(replace(each, count=len(group.rows)))

    def _note_misplaced(self, group: NativeReferences, origin: np.ndarray, record: Record) -> None:
        path, known = group.ours.meta.path, self._matched.filed.chunks[group.place]
        assert known is not None
        states = self._states[path]
        away = (group.moves != origin).any(axis=1) & (states[group.rows] == SAME)
        if not away.any():
            return
        meta, numbers = group.ours.meta, self._references[path].numbers[group.rows[away]]
        first = int(np.argmax(away))
        index = known.indices[group.chunks[first]].tolist()
        message = f"{meta.key_at(numbers[0])} is chunk {index} of `{group.native.name}` in the file"
        start = meta.starts_of(np.array([meta.index_at(int(numbers[0]))]))[0]
        belongs = start - group.moves[first] + origin
        if ((belongs >= 0) & (belongs < np.array(meta.shape))).all():
            message += f", which belongs at {meta.chunk_key(meta.chunk_at(belongs.tolist()))}"
        record.findings.append(FileDifference.of_chunks("misplaced", meta, numbers, message))
        states[group.rows[away]] = MOVED

    def _note_lacking(self, group: NativeReferences, record: Record) -> None:
        """Record chunks of the file that no reference in this part points to."""
        known = self._matched.filed.chunks[group.place]
        assert known is not None
        wanted = expected(known, group.lie, group.origin, group.ours, group.is_cut).numbers
        lacking = np.setdiff1d(wanted, self._references[group.ours.meta.path].numbers)
        record.lacking += numbers_bytes(lacking)
        self._note_fill(group.ours, group.native, len(wanted), record, len(group.rows))

    def _note_fill(
        self, ours: SetArray, native: FileArray, wanted: int, record: Record, rows: int = 1
    ) -> None:
        """Record how chunks read that were never written, and that the set lacks, too."""
        record.is_filled_alike = is_filled_alike(ours, native, True)
        known = self._matched.filed.chunks[self._matched.filed.places[native.name]]
        sides = zip(native.shape, native.chunks, strict=True)
        counts = native.varying or [ChunkAxis(length, (max(n, 1),)) for length, n in sides]
        count = prod(axis.count for axis in counts)
        held = self._matched.held.arrays.get(ours.meta.path)
        is_full = held is not None and wanted + np.count_nonzero(held.known) >= count
        missing = 0 if known is None or is_full else count - len(known.offsets)
        is_masked = self._matched.filed.form != ZARR and is_fill_masked(ours, native)
        if missing > 0 and record.is_filled_alike and is_masked:
            text = f"chunks never written, equal to {said(ours.missing)}"
            record.findings.append(FileDifference("masked", None, None, text, missing))
        if missing > 0 and not record.is_filled_alike:
            what = said(ours.fill_value), said(native.fill_value)
            record.findings.append(FileDifference("fill_value", *what, None, rows))

    def _of_unreferenced(self, path: str) -> Record | None:
        """Return the row of an array of the file that no reference in this part points to."""
        ours, native, filed = self._matched.arrays[path], self._matched.native(path), None
        if native is not None:
            filed = self._matched.filed.chunks[self._matched.filed.places[native.name]]
        lie = None if native is None else aligned(ours, native)
        origin = None if lie is None else self._origins.of(ours, lie)
        if native is None or filed is None or lie is None or origin is None:
            return None
        cut = is_cut(ours, native, lie)
        if not cut and not ours.meta.varying and ours.meta.chunks != lie.chunks:
            return None
        record = self._new(path, native)
        record.start, record.shape = origin.tolist(), list(lie.shape)
        if (origin + np.array(lie.shape) > np.array(ours.meta.shape)).any():
            both = said(ours.meta.shape), said(native.shape)
            record.findings.append(FileDifference("shape", *both))
        record.lacking = numbers_bytes(np.unique(expected(filed, lie, origin, ours, cut).numbers))
        self._note_fill(ours, native, 0, record)
        return record

    def _of_filled(self, path: str) -> Record | None:
        """Return the row of an array that consists of the fill value only, if that differs."""
        ours, native = self._matched.arrays[path], self._matched.native(path)
        lie = None if native is None or native.is_dimension else aligned(ours, native)
        if native is None or lie is None:
            return None
        record, found = self._new(path, native), metadata_differences(ours, native, lie, True)
        record.findings += [each for each in found if each.cause not in _OF_CHUNKS]
        return record if record.findings else None

    def _of_held(self, path: str) -> Record | None:
        """Return the row of an array whose values are inline in the set."""
        native = self._matched.native(path)
        if native is None:
            return None
        record = self._new(path, native)
        is_made = compare_inline(self._matched, self._origins, path, native, record)
        return record if is_made else None

    def _note_axis(self, group: NativeReferences, record: Record) -> None:
        """Record the values of a coordinate if the files are concatenated along it."""
        ours, theirs = group.ours, group.native.attributes.get
        has_times = is_time(theirs("units"))
        if not is_axis(ours) or len(group.native.shape) != 1:
            return
        filed = self._matched.whole(group.native)
        is_alike = has_times == is_time(ours.attribute("units"))
        if filed is None or filed.dtype.kind not in "iuf" or not is_alike:
            return
        try:
            found = (times if has_times else unpacked)(filed, theirs, theirs("_FillValue"))
            record.axis = (found / 1e6 if has_times else found).tolist()
        except Unread:
            return


def _span(groups: list[NativeReferences], full: Mapping[str, FileArray], record: Record) -> None:
    """Treat several arrays of the file that are combined in the set as one region."""
    starts = np.array([group.origin for group in groups])
    stops = np.array([group.origin + np.array(group.lie.shape) for group in groups])
    for group, stop in zip(groups, stops, strict=True):
        longer = full[group.native.name].shape  # netCDF4 reads the fill value after its own end
        if len(longer) == len(stop):
            ends = np.minimum(group.origin + np.array(longer), group.ours.meta.shape)
            np.maximum(stop, ends, out=stop)
    first = starts.min(axis=0)
    record.start, record.shape = first.tolist(), (stops.max(axis=0) - first).tolist()


def _of_shape(group: NativeReferences, full: tuple[int, ...]) -> Iterator[FileDifference]:
    """Yield a finding if the file's array does not fit into the set's, or ends inside a chunk."""
    # `full` is its shape if it were as long as others of the file along its dimensions: what is
    # left of its last chunk reads as the fill value, as in netCDF.
    whole, lie = np.array(group.ours.meta.shape), np.array(group.lie.shape)
    stops = group.origin + lie
    if (stops > whole).any():
        yield FileDifference("shape", said(group.ours.meta.shape), said(group.native.shape))
    elif not group.is_cut and group.native.varying is None:
        rest = (lie % np.array(group.lie.chunks) != 0) & (stops < whole)
        if len(full) == len(lie):
            rest &= stops >= group.origin + np.array(full)
        if rest.any():
            axis = int(np.argmax(rest))
            ends = f"{int(lie[axis]):,} elements along dimension {axis}"
            yield FileDifference("ragged", f"chunks of {group.lie.chunks[axis]:,}", ends)
