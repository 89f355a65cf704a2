"""One open file against the references that a set has of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from refexplorer.data.verify.causes import CAUSES
from refexplorer.data.verify.compare.cf import calendar_of, is_time, times, unpacked
from refexplorer.data.verify.compare.file_chunks import NOWHERE, FileChunks
from refexplorer.data.verify.compare.held_values import (
    HELD_ELEMENTS,
    ComparedValues,
    HeldArray,
    HeldValues,
    compared,
    first_difference,
    marked,
)
from refexplorer.data.verify.compare.metadata_compared import (
    Differing,
    dimension_differences,
    metadata_differences,
    not_compared,
    packing_differences,
    said,
)
from refexplorer.data.verify.compare.placing import (
    Alignment,
    aligned,
    block_of,
    expected,
    file_starts,
    is_cut,
    set_indices,
)
from refexplorer.data.verify.compare.set_array import SetArray
from refexplorer.data.verify.native.native_file import NativeArray, NativeFile, NotComparableError
from refexplorer.data.verify.results import NAMED_KEYS, NAMED_LACKING, UNCOMPARED, Finding, Record
from refexplorer.markup import counted
from refexplorer.spec.core.paths import prefix

_SAME, _DIFFERS, _UNCOMPARED = range(3)
_CANDIDATES = 8
"""Places of a coordinate that have the first value of a file's, which are looked at."""
SetDimension = tuple[str, str, int]
"""A dimension of the set: the folder of its arrays, its name, its length."""


@dataclass
class FileReferences:
    """The references that one array has to one file, n of them.

    Attributes
    ----------
    numbers
        Of the chunks in the grid, -1 outside, shape ``(n,)`` int64.
    offsets, lengths
        Bytes; a whole file has the offset 0 and the length -1.
    """

    numbers: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray


@dataclass
class _NativeReferences:
    """The references of an array that lead to one array of the file."""

    ours: SetArray
    place: int
    native: NativeArray
    lie: Alignment
    is_cut: bool
    rows: np.ndarray
    chunks: np.ndarray
    moves: np.ndarray
    block: np.ndarray
    findings: list[Finding] = field(default_factory=list)


class FileComparison:
    """The comparison of one file.

    Parameters
    ----------
    file
        Is open.
    arrays
        All arrays of the set, by path.
    held
        Values that the set has.
    record
        What every row of the result begins with.
    """

    def __init__(
        self, file: NativeFile, arrays: Mapping[str, SetArray], held: HeldValues, record: Record
    ) -> None:
        self._file = file
        self._chunks = FileChunks(file)
        self._arrays = arrays
        self._held = held
        self._record = record
        self._references: Mapping[str, FileReferences] = {}
        self._states: dict[str, np.ndarray] = {}
        self._blocks: dict[SetDimension, int] = {}
        self._names: dict[str, str] = {}
        self._values: dict[str, np.ndarray] = {}
        self._unread: dict[str, str] = {}

    def compare(
        self, references: Mapping[str, FileReferences]
    ) -> Iterator[tuple[Record, np.ndarray]]:
        """Yield the row of each array with the states of its references.

        Parameters
        ----------
        references
            By the path of the array.
        """
        self._references = references
        groups = {path: self._grouped(path, found) for path, found in references.items()}
        self._blocks = self._agreed([group for each in groups.values() for group in each])
        for path, found in references.items():
            for group in groups[path]:
                self._names[path] = group.native.name
            yield self._of_array(path, found, groups[path]), self._states[path]
        for path, ours in self._arrays.items():
            if path in self._held.arrays:
                record = self._of_held(ours, self._held.arrays[path])
            elif path not in references:
                record = self._of_unreferenced(ours)
            else:
                continue
            if record is not None:
                yield record, np.empty(0, np.int8)

    def region(self, path: str, number: int) -> tuple[NativeArray, tuple[slice, ...]] | None:
        """Return the array of the file, and the part of it that a chunk of the set has."""
        native, ours = self._native(path), self._arrays[path]
        lie = None if native is None else aligned(ours, native)
        block = None if lie is None else self._block(ours, lie)
        if native is None or lie is None or block is None:
            return None
        index = set_indices(ours, np.array([number]))[0]
        starts = (index * np.array(ours.meta.chunks, np.int64) - block)[list(lie.axes)]
        sizes = [ours.meta.chunks[axis] for axis in lie.axes]
        found = tuple(
            slice(int(start), int(min(start + size, length)))
            for start, size, length in zip(starts, sizes, native.shape, strict=True)
        )
        return (native, found) if all(0 <= s.start < s.stop for s in found) else None

    def _new(self, path: str, native: NativeArray | None) -> Record:
        base = self._record
        name = None if native is None else native.name
        return Record(base.number, base.target, path, name, self._chunks.form)

    def _grouped(self, path: str, found: FileReferences) -> list[_NativeReferences]:
        """Put references together that lead to the same array of the file."""
        ours = self._arrays[path]
        states = self._states[path] = np.full(len(found.numbers), _DIFFERS, np.int8)
        at = self._chunks.find(found.offsets)
        usable = (at.owners != NOWHERE) & (found.numbers >= 0)
        places, counts = np.unique(at.owners[usable], return_counts=True)
        order = places[np.argsort(-counts, kind="stable")].tolist()
        named = self._chunks.places.get(path)
        if named is not None and self._chunks.chunks[named] is not None:
            order = [named] if named in order else []
        groups: list[_NativeReferences] = []
        for place in order:
            rows = np.flatnonzero(usable & (at.owners == place))
            group = self._group(ours, place, rows, found, at.rows[rows], at.inside[rows])
            if group is not None and not any(_meet(group, other) for other in groups):
                groups.append(group)
        states[found.numbers < 0] = _UNCOMPARED
        return groups

    def _group(
        self,
        ours: SetArray,
        place: int,
        rows: np.ndarray,
        found: FileReferences,
        chunks: np.ndarray,
        inside: np.ndarray,
    ) -> _NativeReferences | None:
        native, known = self._chunks.arrays[place], self._chunks.chunks[place]
        lie = aligned(ours, native)
        assert known is not None
        if lie is None:
            rank = f"{len(ours.meta.shape)} dimensions", f"{len(native.shape)} dimensions"
            empty = np.zeros((0, 0), np.int64)
            lie = Alignment((), (), ())
            group = _NativeReferences(ours, place, native, lie, False, rows, chunks, empty, empty)
            group.findings.append(Finding("rank", *rank, count=len(rows)))
            return group
        cut = is_cut(ours, native, lie) and not (
            (inside == 0).all() and (found.lengths[rows] == known.lengths[chunks]).all()
        )
        size = ours.meta.chunks if cut else lie.chunks
        piece = prod(ours.meta.chunks) * native.dtype.itemsize if cut else 0
        exact = inside % piece == 0 if cut and piece else inside == 0
        starts = file_starts(known, chunks, np.where(exact, inside, 0) if cut else 0 * inside, lie,
                             native.dtype.itemsize)  # fmt: skip
        places = set_indices(ours, found.numbers[rows]) * np.array(size, np.int64)
        moves = places - starts
        good = exact if exact.any() else np.ones(len(rows), np.bool_)
        block = block_of(moves[good], lie, ours.meta.shape)
        group = _NativeReferences(ours, place, native, lie, cut, rows, chunks, moves, block)
        keys = self._keys(ours, found.numbers[rows])
        if not exact.all():
            bad = np.flatnonzero(~exact)
            row = int(bad[0])
            where = known.indices[chunks[row]].tolist()
            message = (
                f"{keys(row)} starts {counted(int(inside[row]), 'byte')} inside chunk {where} of "
                f"`{native.name}`"
            )
            group.findings.append(
                Finding("offset", None, None, message, len(bad), _first(keys, bad))
            )  # fmt: skip
        length = np.full(len(rows), piece) if cut else known.lengths[chunks]
        given = found.lengths[rows]
        wrong = exact & (given != length) & (given >= 0)
        if wrong.any():
            bad = np.flatnonzero(wrong)
            row = int(bad[0])
            message = (
                f"{keys(row)} has {counted(int(given[row]), 'byte')}, the chunk of "
                f"`{native.name}` {int(length[row]):,}"
            )
            group.findings.append(
                Finding("length", None, None, message, len(bad), _first(keys, bad))
            )  # fmt: skip
        self._states[ours.meta.path][rows[exact & ~wrong]] = _SAME
        if known.masks is not None and (skipped := known.masks[chunks] != 0).any():
            bad = np.flatnonzero(skipped)
            group.findings.append(Finding("filter-mask", count=len(bad), keys=_first(keys, bad)))
            self._states[ours.meta.path][rows[bad]] = _DIFFERS
        return group

    @staticmethod
    def _keys(ours: SetArray, numbers: np.ndarray) -> Callable[[int], str]:
        return lambda row: ours.meta.chunk_key(ours.meta.index_at(int(numbers[row])))

    def _agreed(self, groups: list[_NativeReferences]) -> dict[SetDimension, int]:
        """Return where the file begins along each dimension, as its arrays agree.

        Where they do not, values of the coordinate that the set holds decide, then the coordinate
        itself, then how many say so.
        """
        votes: dict[SetDimension, Counter[int]] = {}
        own: dict[SetDimension, int] = {}
        for group in groups:
            if group.block.ndim != 1:
                continue
            for axis, dimension in self._dimensions(group.ours):
                start = int(group.block[axis])
                votes.setdefault(dimension, Counter())[start] += 1
                if group.ours.name == dimension[1] and len(group.block) == 1:
                    own[dimension] = start
        found: dict[SetDimension, int] = {}
        for dimension, counts in votes.items():
            first = own.get(dimension, counts.most_common(1)[0][0])
            (_, most), *others = counts.most_common()
            if others and others[0][1] < most:
                first = counts.most_common(1)[0][0]
            held = [s for s in counts if self._holds(dimension, s)] if len(counts) > 1 else []
            found[dimension] = held[0] if len(held) == 1 else first
        return found | self._found_by_values(found)

    def _found_by_values(self, known: Mapping[SetDimension, int]) -> dict[SetDimension, int]:
        """Return where the file begins along dimensions that no reference tells, by coordinates."""
        found: dict[SetDimension, int] = {}
        for path, held in self._held.arrays.items():
            ours, native = self._arrays[path], self._native(path)
            dimension = path.rpartition("/")[0], ours.name, held.values.size
            if ours.meta.dimensions != (ours.name,) or dimension in known or native is None:
                continue
            filed = self._whole(native) if len(native.shape) == 1 else None
            if filed is None or not 0 < filed.size < held.values.size:
                continue
            first = np.full(held.values.shape, filed[0])
            try:
                same = ~compared(ours, held.values, native, first, marked(ours, native)).differs
            except NotComparableError:
                continue
            starts = np.flatnonzero(same)[:_CANDIDATES].tolist()
            starts = [start for start in starts if self._holds(dimension, start)]
            if len(starts) == 1:
                found[dimension] = starts[0]
        return found

    def _holds(self, dimension: SetDimension, start: int) -> bool:
        """Say whether the coordinate that the set holds begins there as in the file."""
        path = prefix(dimension[0]) + dimension[1]
        held, native = self._held.arrays.get(path), self._native(path)
        if held is None or native is None or len(native.shape) != 1 or held.values.ndim != 1:
            return False
        mine = held.values[start : start + native.shape[0]]
        filed = self._whole(native)
        if filed is None or mine.shape != filed.shape:
            return False
        ours = self._arrays[path]
        try:
            return not compared(ours, mine, native, filed, marked(ours, native)).differs.any()
        except NotComparableError:
            return False

    @staticmethod
    def _dimensions(ours: SetArray) -> Iterator[tuple[int, SetDimension]]:
        folder = ours.meta.path.rpartition("/")[0]
        for axis, name in enumerate(ours.meta.dimensions or ()):
            if name:
                yield axis, (folder, name, ours.meta.shape[axis])

    def _block(self, ours: SetArray, lie: Alignment) -> np.ndarray | None:
        """Return where a file's array begins in the set's, from what is known of dimensions."""
        known = {axis: self._blocks.get(dim) for axis, dim in self._dimensions(ours)}
        found = []
        for axis, (whole, length) in enumerate(zip(ours.meta.shape, lie.shape, strict=True)):
            start = known.get(axis)
            if whole == length:
                start = 0
            if start is None:
                return None
            found.append(start)
        return np.array(found, np.int64)

    def _of_array(
        self, path: str, found: FileReferences, groups: list[_NativeReferences]
    ) -> Record:
        """Return the row of an array that has references to the file."""
        ours, states = self._arrays[path], self._states[path]
        record = self._new(path, groups[0].native if groups else None)
        record.references = len(found.numbers)
        if path in self._chunks.untold:
            record.native, record.message = path, self._chunks.untold[path]
            states[:] = _UNCOMPARED
            return record
        record.findings += self._of_others(ours, found, groups)
        for group in groups:
            record.findings += group.findings
            if group.block.ndim == 1:
                self._place(group, record)
                record.unchecked += not_compared(ours, group.native)
            if any(not _of_chunks(each) for each in record.findings):
                states[group.rows] = _DIFFERS
        if groups and groups[0].block.ndim == 1:
            record.start = groups[0].block.tolist()
            record.shape = list(groups[0].lie.shape)
            if len(groups) > 1:
                self._span(groups, record)
            self._note_axis(ours, groups[0], record)
        return record

    @staticmethod
    def _span(groups: list[_NativeReferences], record: Record) -> None:
        """Take several arrays of the file that are joined in the set as one region."""
        starts = np.array([group.block for group in groups])
        stops = np.array([group.block + np.array(group.lie.shape) for group in groups])
        first = starts.min(axis=0)
        record.start, record.shape = first.tolist(), (stops.max(axis=0) - first).tolist()

    def _of_others(
        self, ours: SetArray, found: FileReferences, groups: list[_NativeReferences]
    ) -> Iterator[Finding]:
        """Yield references that lead to no chunk of the file, or to another array."""
        at = self._chunks.find(found.offsets)
        keys = self._keys(ours, found.numbers)
        inside = found.numbers >= 0
        lost = np.flatnonzero(inside & (at.owners == NOWHERE))
        if len(lost):
            row = int(lost[0])
            message = f"{keys(row)} at byte {int(found.offsets[row]):,} is in no chunk of the file"
            yield Finding("offset", None, None, message, len(lost), _first(keys, lost))
        mine = {group.place for group in groups}
        named = self._chunks.places.get(ours.meta.path)
        expected_name = groups[0].native.name if groups else ours.meta.path
        if named is not None:
            expected_name = self._chunks.arrays[named].name
        for place in sorted(set(at.owners[inside].tolist()) - mine - {NOWHERE}):
            rows = np.flatnonzero(inside & (at.owners == place))
            other = self._chunks.arrays[place].name
            message = f"{keys(int(rows[0]))} is a chunk of `{other}`, not of `{expected_name}`"
            yield Finding("other-array", None, None, message, len(rows), _first(keys, rows))

    def _place(self, group: _NativeReferences, record: Record) -> None:
        """Compare places, and note chunks without a reference and metadata that differs."""
        ours, known = group.ours, self._chunks.chunks[group.place]
        assert known is not None
        path = ours.meta.path
        differing = list(metadata_differences(ours, group.native, group.lie, group.is_cut))
        is_shaped = not any(each.cause == "chunk-shape" for each in differing)
        agreed = group.block.copy()
        for axis, dimension in self._dimensions(ours):
            agreed[axis] = self._blocks.get(dimension, agreed[axis])
        numbers = self._numbers_of(path, group)
        if is_shaped:
            away = (group.moves != agreed).any(axis=1) & (self._states[path][group.rows] == _SAME)
            if away.any():
                bad = np.flatnonzero(away)
                keys = self._keys(ours, numbers)
                row = int(bad[0])
                index = known.indices[group.chunks[row]].tolist()
                message = (
                    f"{keys(row)} is chunk {index} of `{group.native.name}` in a file that starts "
                    f"at element {agreed.tolist()} of the array"
                )
                record.findings.append(
                    Finding("misplaced", None, None, message, len(bad),
                            _first(keys, bad))
                )  # fmt: skip
                self._states[path][group.rows[bad]] = _DIFFERS
            group.block = agreed
            self._note_lacking(group, agreed, numbers, record)
            differing += self._of_shape(group)
        for each in differing:
            count = len(group.rows)
            found = Finding(each.cause, each.ours, each.theirs, None, count)
            if not any((f.cause, f.ours, f.theirs) == (each.cause, each.ours, each.theirs)
                       for f in record.findings):  # fmt: skip
                record.findings.append(found)

    def _numbers_of(self, path: str, group: _NativeReferences) -> np.ndarray:
        found: np.ndarray = self._references[path].numbers[group.rows]
        return found

    def _note_lacking(
        self, group: _NativeReferences, block: np.ndarray, numbers: np.ndarray, record: Record
    ) -> None:
        known = self._chunks.chunks[group.place]
        assert known is not None
        wanted = expected(known, group.lie, block, group.ours, group.is_cut)
        lacking = np.setdiff1d(wanted, self._references[group.ours.meta.path].numbers)
        record.lacking += lacking[: NAMED_LACKING - len(record.lacking)].tolist()
        record.lacking_count += len(lacking)

    @staticmethod
    def _of_shape(group: _NativeReferences) -> Iterator[Differing]:
        """Yield that the file's array does not fit into the set's, or ends inside a chunk."""
        whole, lie = np.array(group.ours.meta.shape), np.array(group.lie.shape)
        stops = group.block + lie
        if (stops > whole).any():
            yield Differing("shape", said(group.ours.meta.shape), said(group.native.shape))
        elif not group.is_cut:
            rest = (lie % np.array(group.lie.chunks) != 0) & (stops < whole)
            if rest.any():
                axis = int(np.argmax(rest))
                ends = f"{int(lie[axis]):,} elements along dimension {axis}"
                yield Differing("ragged", f"chunks of {group.lie.chunks[axis]:,}", ends)

    def _of_unreferenced(self, ours: SetArray) -> Record | None:
        """Return the row of an array that the file has and no reference of the part leads to."""
        native = self._native(ours.meta.path)
        if (
            native is None
            or (known := self._chunks.chunks[self._chunks.places[native.name]]) is None
        ):
            return None
        lie = aligned(ours, native)
        block = None if lie is None else self._block(ours, lie)
        if lie is None or block is None:
            return None
        record = self._new(ours.meta.path, native)
        record.start, record.shape = block.tolist(), list(lie.shape)
        cut = is_cut(ours, native, lie)
        if not cut and ours.meta.chunks != lie.chunks:
            return None
        lacking = np.unique(expected(known, lie, block, ours, cut))
        record.lacking = lacking[:NAMED_LACKING].tolist()
        record.lacking_count = len(lacking)
        return record if len(lacking) else None

    def _native(self, path: str) -> NativeArray | None:
        """Return the array of the file that one of the set stands for, by name."""
        places = self._chunks.places
        names = [self._names.get(path, path)]
        for mine, theirs in self._names.items():  # a group of the file that became the root
            if theirs.endswith("/" + mine):
                names.append(theirs[: -len(mine)] + path)
        for name in names:
            if name in places:
                found = self._chunks.arrays[places[name]]
                return None if found.is_dimension else found
        return None

    def _whole(self, native: NativeArray) -> np.ndarray | None:
        """Return all values of a small array of the file, as they are stored."""
        if prod(native.shape) > HELD_ELEMENTS:
            return None
        if native.name not in self._values:
            selection = tuple(slice(0, length) for length in native.shape)
            try:
                values = np.asarray(self._file.values(native.name, selection))
            except NotComparableError as reason:
                self._unread[native.name] = str(reason)
                return None
            self._values[native.name] = values
        return self._values[native.name]

    def _of_held(self, ours: SetArray, held: HeldArray) -> Record | None:
        """Return the row of an array whose values the set holds."""
        native = self._native(ours.meta.path)
        lie = None if native is None else aligned(ours, native)
        if native is None or lie is None:
            return None
        record = self._new(ours.meta.path, native)
        for each in dimension_differences(ours, native):
            record.findings.append(Finding(each.cause, each.ours, each.theirs))
        block = self._block(ours, lie)
        filed = None if block is None else self._whole(native)
        if block is None or filed is None:
            record.message = self._unread.get(native.name)
            return record if record.findings or record.message else None
        stops = block + np.array(lie.shape, np.int64)
        if (stops > np.array(ours.meta.shape, np.int64)).any():
            both = said(ours.meta.shape), said(native.shape)
            record.findings.append(Finding("shape", *both))
            return record
        if not self._has_same_calendar(ours, native, record):
            return record
        place = tuple(slice(int(a), int(b)) for a, b in zip(block, stops, strict=True))
        mine = held.values[place].reshape(filed.shape)
        try:
            found = compared(ours, mine, native, filed, marked(ours, native))
        except NotComparableError as reason:
            record.message = str(reason)
            record.state = UNCOMPARED
            return record
        known = _spread(held.known, ours.meta.chunks, place).reshape(filed.shape)
        found = found._replace(differs=found.differs & known)
        record.start, record.shape = block.tolist(), list(lie.shape)
        if found.differs.any():
            record.findings.append(_unlike(ours, native, held, lie, block, found))
            # of values that were encoded anew the packing may differ, and mean the same
            why = packing_differences(ours, native)
            record.findings += (Finding(each.cause, each.ours, each.theirs) for each in why)
        return record

    @staticmethod
    def _has_same_calendar(ours: SetArray, native: NativeArray, record: Record) -> bool:
        """Note other units, and other calendars, with which times mean nothing."""
        theirs = native.attributes.get
        units = ours.attribute("units"), theirs("units")
        if is_time(units[0]) and is_time(units[1]):
            calendars = calendar_of(ours.attribute), calendar_of(theirs)
            if calendars[0] != calendars[1]:
                record.findings.append(Finding("calendar", *calendars))
                return False
        elif (units[0] or None) != (units[1] or None):
            record.findings.append(Finding("units", said(units[0]), said(units[1])))
        return True

    def _note_axis(self, ours: SetArray, group: _NativeReferences, record: Record) -> None:
        """Note how the values of a coordinate go, if the files are joined along it."""
        if ours.meta.dimensions != (ours.name,) or len(group.native.shape) != 1:
            return
        filed, theirs = self._whole(group.native), group.native.attributes.get
        if filed is None or not len(filed) or filed.dtype.kind not in "iuf":
            return
        try:
            missing = theirs("_FillValue")
            decode = times if is_time(theirs("units")) else unpacked
            values = decode(filed, theirs, missing)
        except NotComparableError:
            return
        record.axis = axis_of(values)


def axis_of(values: np.ndarray) -> dict[str, float | int]:
    """Return the first and last value of a coordinate, and its least and largest step."""
    steps = np.diff(values) if len(values) > 1 else np.array([np.nan])
    ends = float(values[0]), float(values[-1])
    return {
        "first": ends[0],
        "last": ends[1],
        "least": float(steps.min()),
        "most": float(steps.max()),
        "count": len(values),
    }


def _first(keys: Callable[[int], str], rows: np.ndarray) -> list[str]:
    return [keys(row) for row in rows[:NAMED_KEYS].tolist()]


def _of_chunks(found: Finding) -> bool:
    return CAUSES[found.cause].of_chunks


def _unlike(
    ours: SetArray,
    native: NativeArray,
    held: HeldArray,
    lie: Alignment,
    block: np.ndarray,
    found: ComparedValues,
) -> Finding:
    """Return that values differ, with the first of them."""
    units = ours.attribute("units"), native.attributes.get("units")
    at, both = first_difference(found)
    where = block.copy()
    where[list(lie.axes)] += np.array(at, np.int64)
    index = where // np.array(ours.meta.chunks, np.int64)
    one, other = (_shown(value, units) for value in both)
    message = f"at {where.tolist()} the set has {one}, the file {other}"
    if units[0] != units[1]:
        message += f", in {said(units[0])} and in {said(units[1])}"
    cause = "same-coordinate" if held.is_lent else "held-values"
    count = int(np.count_nonzero(found.differs))
    return Finding(cause, None, None, message, count, [ours.meta.chunk_key(index.tolist())])


def _meet(group: _NativeReferences, other: _NativeReferences) -> bool:
    """Say whether two arrays of a file would lie in the same place of the set's array."""
    if group.block.ndim != 1 or other.block.ndim != 1:
        return True
    starts = np.maximum(group.block, other.block)
    ends = (each.block + np.array(each.lie.shape) for each in (group, other))
    stops = np.minimum(*ends)
    return bool((starts < stops).all())


def _spread(known: np.ndarray, chunks: tuple[int, ...], place: tuple[slice, ...]) -> np.ndarray:
    """Return for each element of a region whether its chunk is known."""
    for axis, (size, part) in enumerate(zip(chunks, place, strict=True)):
        known = known.take(np.arange(part.start, part.stop) // size, axis=axis)
    return known


def _shown(value: object, units: tuple[Any, Any]) -> str:
    """Return a decoded value as text; a time as its date, if both sides were made such."""
    if isinstance(value, float | np.floating):
        if is_time(units[0]) and units[0] != units[1] and abs(float(value)) > 1e9:
            return str(np.datetime64(round(float(value) / 1e6), "s"))
        return f"{float(value):.10g}"
    return said(value)
