"""Comparison of the messages of one GRIB file with the references to them.

A message has no index: whether a chunk has the right message follows from comparing inline
coordinates of the set, such as the step, with those of the message.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from refexplorer.checks.compare.cf import is_time, times
from refexplorer.checks.compare.inline import INLINE_ELEMENTS, InlineArray, InlineValues
from refexplorer.checks.compare.metadata import said, same_value
from refexplorer.checks.compare.placing import (
    MOVED,
    OUTSIDE,
    SAME,
    FileReferences,
    set_indices,
)
from refexplorer.checks.compare.set_array import NO_POSITION, FileLayout, FoundChunks, SetArray
from refexplorer.checks.records import (
    NAMED_KEYS,
    WHOLE,
    FileDifference,
    FileObjects,
    FileValue,
    ObjectRow,
    Record,
    Remade,
    numbers_bytes,
)
from refexplorer.checks.states import LedgerState, ObjectState
from refexplorer.formats.datafiles.data_file import GRIB_DETAILS, DataFile, FileArray, Unread
from refexplorer.spec.references import prefix

GRID = ("latitude", "longitude")
_HOURS = {"hours": 1.0, "hour": 1.0, "h": 1.0, "minutes": 1 / 60, "seconds": 1 / 3600, "days": 24.0}
_SECOND = 1e6  # Microseconds, in which times are compared
_KINDS = ("typeOfLevel", "stepType", "gridType", *GRIB_DETAILS)
"""Attributes that distinguish messages of one name, in addition to coordinates."""
_DATA_TYPE = "dataType"  # That of the first step may be another one, as of an analysis
_UNSURE = "the choice among messages with the same coordinates"


def codec_of(ours: SetArray) -> Mapping[str, Any]:
    """Return the settings of the codec that decodes messages."""
    return next((each.settings for each in ours.filters or () if each.name == "grib"), {})


def names_of(native: FileArray) -> set[Any]:
    """Return the possible names of a message."""
    return {native.attributes.get("shortName"), native.attributes.get("cfVarName")}


def name_of(ours: SetArray) -> Any:
    """Return the name of an array's messages; None if it does not say."""
    return ours.attribute("GRIB_shortName") or codec_of(ours).get("var")


def coordinate_values(mine: SetArray, held: InlineArray, name: str) -> np.ndarray | None:
    """Return an inline coordinate in the units of messages; None if of another kind."""
    units = mine.attribute("units")
    if held.values.dtype.kind not in "iuf":
        return None
    if name in ("time", "valid_time"):
        if not is_time(units):
            return None
        try:
            return times(held.values, mine.attribute, None) / _SECOND
        except Unread:
            return None
    if name == "step":
        factor = _HOURS.get(str(units).lower())
        return None if factor is None else held.values * factor
    return held.values.astype(np.float64)


def is_same(ours: Any, theirs: float) -> Any:
    """Return whether coordinate values are the same."""
    # times are seconds since 1970, of which a millionth is half an hour
    return np.abs(ours - theirs) <= min(1e-6 * max(abs(theirs), 1), 0.5)


def other_kind(ours: SetArray, native: FileArray) -> str | None:
    """Return an attribute by which a message is not one of an array; None if there is none."""
    for kind in _KINDS:
        mine, theirs = ours.attribute(f"GRIB_{kind}"), native.attributes.get(kind)
        if mine is not None and theirs is not None and not same_value(mine, theirs):
            return kind
    return None


def chunk_of(
    ours: SetArray, native: FileArray, coordinates: Mapping[str, tuple[SetArray, np.ndarray]]
) -> int | None:
    """Return the number of the chunk that a message belongs to; None if not of this array."""
    meta = ours.meta
    if name_of(ours) not in names_of(native) or prod(meta.chunks) != prod(native.shape):
        return None
    if other_kind(ours, native) is not None:
        return None
    mine_type, its_type = ours.attribute(f"GRIB_{_DATA_TYPE}"), native.attributes.get(_DATA_TYPE)
    if None not in (mine_type, its_type) and mine_type != its_type:
        return None
    index = dict.fromkeys(meta.dimensions or (), 0)
    for name, (mine, values) in coordinates.items():
        theirs = native.attributes.get(name)
        if theirs is None:
            return None
        places = np.argwhere(is_same(values, float(theirs)))
        dimensions = mine.meta.dimensions or ()
        if not len(places) or (dimensions == (mine.name,) and len(places) > 1):
            return None
        if dimensions == (mine.name,):
            index[mine.name] = int(places[0][0])
    return meta.chunk_number(meta.chunk_at([*index.values()]))


FORM = "GRIB"


class MessageComparison:
    """The comparison of one file; parameters as in `FileComparison`."""

    def __init__(
        self,
        file: DataFile,
        arrays: Mapping[str, SetArray],
        held: InlineValues,
        record: Record,
        references: Mapping[str, FileReferences],
        remake: bool = False,
    ) -> None:
        self._file, self._arrays, self._held = file, arrays, held
        self._base, self._references, self._remake = record, references, remake
        self._filed = FileLayout(file)
        self._found = {
            path: self._filed.find(each.offsets, each.lengths) for path, each in references.items()
        }
        self._seen: dict[str, list[Record]] = defaultdict(list)
        self._places: dict[str, set[tuple[int, ...]]] = defaultdict(set)
        self._grids: dict[tuple[str, Any], FileDifference | None] = {}
        # Chunks for which the file has several messages that nothing in the set tells apart
        self._unsure: set[tuple[str, int]] = set()

    def compare(self) -> Iterator[tuple[Record, np.ndarray]]:
        """Yield one row per array with the states of its references."""
        for path in self._references:
            yield self._of_array(path)
        for records in self._seen.values():
            yield from ((each, np.empty(0, np.uint8)) for each in records)

    def objects(self, rows: Sequence[Record]) -> FileObjects:
        """Return whether the set has each message, and the array that lacks a missing one."""
        del rows  # their ranges show which messages are in the set
        taken = {owner for each in self._found.values() for owner in each.owners.tolist()}
        paths = {name_of(each): each.meta.path for each in self._arrays.values()}
        titles = {each.name: each.title for each in self._filed.objects}
        found = []
        for place, native in enumerate(self._filed.arrays):
            name = titles.get(native.name) or native.name
            mine = [paths[each] for each in names_of(native) - {None} if each in paths]
            if place in taken:
                found.append(ObjectRow(name, ObjectState.IN_SET))
            elif mine:
                found.append(ObjectRow(name, ObjectState.LACKING, mine[0]))
            else:
                found.append(ObjectRow(name, ObjectState.NOT_TAKEN))
        known = {native.name for native in self._filed.arrays}
        for each in self._filed.objects:
            if each.kind != "array":
                found.append(ObjectRow(each.name, ObjectState.STRUCTURE))
            elif each.barrier is not None and each.barrier.why == "expression":
                name = each.title or each.name
                found.append(ObjectRow(name, ObjectState.LEFT_OUT, str(each.barrier)))
            elif each.name not in known:
                why = self._filed.not_read.get(each.name, str(each.barrier or ""))
                found.append(ObjectRow(each.name, ObjectState.UNREAD, why))
        return FileObjects(self._filed.declared, found)

    def region(self, path: str, number: int) -> tuple[FileArray, tuple[slice, ...]] | None:
        """Return the message and its full region for a chunk of the set."""
        rows = np.flatnonzero(self._references[path].numbers == number)
        owner = self._found[path].owners[rows[0]] if len(rows) else NO_POSITION
        if owner == NO_POSITION or (path, number) in self._unsure:
            return None
        native, codec = self._filed.arrays[owner], codec_of(self._arrays[path])
        name = f"{native.name}/{codec['var']}" if codec.get("var") in GRID else native.name
        shape = self._arrays[path].meta.chunks[-len(native.shape) :]
        if prod(shape) != prod(native.shape) or shape != native.shape:
            return None
        side = native.shape, native.chunks, native.dtype
        found = FileArray(name, *side, (), None, None, {}, native.unread)
        return found, tuple(slice(0, n) for n in native.shape)

    def _of_array(self, path: str) -> tuple[Record, np.ndarray]:
        ours, found, at = self._arrays[path], self._references[path], self._found[path]
        states = np.full(len(found.numbers), SAME, np.uint8)
        record = Record(self._base.number, self._base.target, path, "messages", FORM)
        record.references = len(states)
        notes: dict[tuple[str, str | None], FileDifference] = {}
        for row in range(len(states)):
            if found.numbers[row] < 0:
                states[row] = OUTSIDE
                continue
            key = ours.meta.key_at(found.numbers[row])
            for note in self._of_reference(ours, found, at, row, key):
                kept = notes.setdefault((note.cause, note.theirs), replace(note, count=0))
                kept.count += 1
                kept.keys += [key] * (len(kept.keys) < NAMED_KEYS)
                states[row] = MOVED
        record.findings += notes.values()
        messages, reason = self._messages(ours)
        wanted = {number: places[0] for number, places in messages.items() if len(places) == 1}
        for row in np.flatnonzero(states == SAME).tolist():
            number, owner = int(found.numbers[row]), int(at.owners[row])
            if any(self._is_rival(owner, other) for other in messages.get(number, ())):
                self._unsure.add((path, number))
                states[row] = LedgerState.INSIDE
        if LedgerState.INSIDE in states:
            record.unchecked.append(_UNSURE)
        if unknown := [*self._unchecked(ours)]:
            record.unchecked += unknown
            self._unsure |= {(path, number) for number in found.numbers[states == SAME].tolist()}
            states[states == SAME] = LedgerState.INSIDE
        if (states == SAME).any():
            lacking = sorted(set(wanted) - set(found.numbers.tolist()))
            record.lacking = numbers_bytes(np.array(lacking, np.int64))
        if self._remake and (record.findings or record.lacking):
            record.remade = self._remade(ours, found, wanted, record)
            record.remade.reason = reason
        return record, states

    def _is_rival(self, place: int, other: int) -> bool:
        """Return whether two messages of one grid have different values."""
        one, two = self._filed.arrays[place], self._filed.arrays[other]
        grids = {each.attributes.get("md5GridSection") for each in (one, two)}
        if place == other or len(grids) > 1 or one.shape != two.shape:
            return False
        every = tuple(slice(0, n) for n in one.shape)
        try:
            left, right = (self._file.values(each.name, every) for each in (one, two))
        except Unread:
            return True
        return not np.array_equal(left, right, equal_nan=True)

    def _messages(self, ours: SetArray) -> tuple[dict[int, list[int]], str | None]:
        """Return the messages of an array by chunk, and the reason if some cannot be assigned."""
        if codec_of(ours).get("var") in GRID:
            return {}, "every message has the coordinates of its grid"
        if name_of(ours) is None:
            return {}, "it is not known which messages belong to it"
        coordinates = {}
        for path, name in self._coordinates(ours):
            mine = self._arrays[path]
            values = (
                None if name in GRID else coordinate_values(mine, self._held.arrays[path], name)
            )
            if values is not None:
                coordinates[name] = mine, values
        known = {mine.name for mine, _ in coordinates.values() if len(mine.meta.shape) == 1}
        for name, length in zip(ours.meta.dimensions or (), ours.meta.grid, strict=True):
            if length > 1 and name not in known:
                return {}, f"the set does not say where its messages are along `{name}`"
        found: dict[int, list[int]] = defaultdict(list)
        for place, native in enumerate(self._filed.arrays):
            number = chunk_of(ours, native, coordinates)
            if number is not None:
                found[number].append(place)
        twice = any(len(places) > 1 for places in found.values())
        reason = "several messages of the file have the same position" if twice else None
        return found, reason

    def _remade(
        self, ours: SetArray, found: FileReferences, wanted: Mapping[int, int], record: Record
    ) -> Remade:
        """Return the correct references to the messages of an array where it has others."""
        made = Remade()
        has = dict(zip(found.numbers.tolist(), zip(found.offsets.tolist(), found.lengths.tolist(),
                                                   strict=True), strict=True))  # fmt: skip
        for number, place in sorted(wanted.items()):
            chunks = self._filed.chunks[place]
            assert chunks is not None
            start, length = int(chunks.offsets[0]), int(chunks.lengths[0])
            if has.get(number) not in ((start, length), (start, WHOLE)):
                made.chunks.append(number)
                made.offsets.append(start)
                made.lengths.append(length)
        units = {self._filed.arrays[place].attributes.get("units") for place in wanted.values()}
        causes = {each.cause for each in record.findings}
        if "units" in causes and len(units) == 1:
            made.said.append(FileValue("units", json.dumps(units.pop())))
        if "dtype" in causes:
            made.said.append(FileValue("dtype", json.dumps(np.dtype(codec_of(ours)["dtype"]).str)))
        return made

    def _of_reference(
        self, ours: SetArray, found: FileReferences, at: FoundChunks, row: int, key: str
    ) -> Iterator[FileDifference]:
        """Yield the faults of one reference."""
        owner, inside = int(at.owners[row]), int(at.inside[row])
        if owner == NO_POSITION:
            where = f"{key} at byte {int(found.offsets[row]):,} is in no message of the file"
            yield FileDifference("offset", message=where)
            return
        native, chunks = self._filed.arrays[owner], self._filed.chunks[owner]
        assert chunks is not None
        if inside:
            where = f"{key} starts {inside:,} bytes inside message {native.name}"
            yield FileDifference("offset", message=where)
            return
        given, length = int(found.lengths[row]), int(chunks.lengths[0])
        if given >= 0 and given != length:
            where = f"{key} has {given:,} bytes, the message {length:,}"
            yield FileDifference("length", message=where)
        yield from self._of_message(ours, native, key)
        yield from self._of_place(ours, native, int(found.numbers[row]), key)

    def _of_message(self, ours: SetArray, native: FileArray, key: str) -> Iterator[FileDifference]:
        """Compare the metadata of the array with the message."""
        codec, theirs = codec_of(ours), native.attributes
        shape = ours.meta.chunks[-len(native.shape) :]
        names = (ours.meta.dimensions or ())[-len(native.shape) :]
        is_turned = shape != native.shape and len(native.shape) > 1 and names == native.dimensions
        if is_turned or prod(ours.meta.chunks) != prod(native.shape):
            yield FileDifference("shape", said(ours.meta.chunks), said(native.shape))
        if codec.get("dtype") and str(ours.dtype) != np.dtype(codec["dtype"]).name:
            yield FileDifference("dtype", said(str(ours.dtype)), f"{codec['dtype']} by its codec")
        if codec.get("var") in GRID:
            return
        mine = name_of(ours)
        if mine is not None and mine not in names_of(native):
            where = f"{key} is a message of `{theirs.get('shortName')}`, not of `{mine}`"
            yield FileDifference("other-array", message=where)
            return
        if (kind := other_kind(ours, native)) is not None:
            its, own = said(theirs[kind]), said(ours.attribute(f"GRIB_{kind}"))
            where = f"{key} is a message of {kind} {its}, not of {own}"
            yield FileDifference("other-array", message=where)
        filed = native.dimensions or ()
        if names != filed and sorted(names) == sorted(filed):
            yield FileDifference("dimensions", ", ".join(names), ", ".join(filed))
        if theirs.get("alternativeRowScanning") and codec and len(native.shape) == 2:
            where = f"in {key}, each second row runs backwards, which the GRIB codec ignores"
            yield FileDifference("order", message=where)
        units = ours.attribute("units")
        if units is not None and not same_value(units, theirs.get("units")):
            yield FileDifference("units", said(units), said(theirs.get("units")))

    def _of_place(
        self, ours: SetArray, native: FileArray, chunk: int, key: str
    ) -> Iterator[FileDifference]:
        """Compare the inline coordinates at a chunk with those of its message."""
        index = dict(
            zip(ours.meta.dimensions or (), set_indices(ours, np.array([chunk]))[0], strict=False)
        )
        for path, name in self._coordinates(ours):
            mine, held = self._arrays[path], self._held.arrays[path]
            dimensions = mine.meta.dimensions or ()
            if name in GRID:
                if (difference := self._compare_grid(path, name, native, key)) is not None:
                    yield difference
                continue
            place = tuple(int(index[each]) for each in dimensions)
            theirs, values = native.attributes.get(name), coordinate_values(mine, held, name)
            if theirs is None or values is None:
                continue  # they are of different kinds
            both = float(values[place]), float(theirs)
            differs = not is_same(*both)
            is_alone = place in self._places[path]  # other messages of the place agree with the set
            if differs and (dimensions == (mine.name,) or is_alone):
                text = f"{key} is a message of {name} {said(both[1])}, the set says {said(both[0])}"
                yield FileDifference("misplaced", message=text)
            else:
                self._see(path, list(place), [1] * len(place), differs, both)

    def _coordinates(self, ours: SetArray) -> Iterator[tuple[str, str]]:
        """Yield the inline coordinates of an array that messages have, too."""
        folder = prefix(ours.meta.path.rpartition("/")[0])
        for path in self._held.arrays:
            mine = self._arrays[path]
            if path != folder + mine.name or path == ours.meta.path:
                continue
            name = "level" if mine.name == ours.attribute("GRIB_typeOfLevel") else mine.name
            is_own = name in ("step", "time", "valid_time", "number", "level", *GRID)
            if is_own and set(mine.meta.dimensions or ()) <= set(ours.meta.dimensions or ()):
                yield path, name

    def _see(self, path: str, start: list[int], shape: list[int], differs: bool, both: Any) -> None:
        """Record that inline values were compared."""
        if tuple(start) in self._places[path]:
            return
        if not differs:
            self._places[path].add(tuple(start))
        record = Record(self._base.number, self._base.target, path, "messages", FORM)
        record.start, record.shape = start, shape
        if differs:
            text = f"at {start} the set has {said(both[0])}, the file {said(both[1])}"
            meta = self._arrays[path].meta
            key = meta.chunk_key(meta.chunk_at(start))
            record.findings.append(FileDifference("held-values", None, None, text, 1, [key]))
        self._seen[path].append(record)

    def _compare_grid(
        self, path: str, name: str, native: FileArray, key: str
    ) -> FileDifference | None:
        """Compare latitudes or longitudes with those of a message, once for each grid."""
        grid = path, native.attributes.get("md5GridSection")
        if grid in self._grids:
            return self._grids[grid]
        self._grids[grid] = None
        mine = self._held.arrays[path].values
        if prod(native.shape) > INLINE_ELEMENTS or len(native.shape) != 2:
            return None
        try:
            whole = self._file.values(f"{native.name}/{name}", (slice(None), slice(None)))
        except Unread:
            return None
        theirs = whole
        if mine.ndim == 1:
            theirs = whole[:, 0] if name == "latitude" else whole[0]
        if theirs.shape != mine.shape:
            return None
        away = ~np.isclose(mine.astype(float), theirs, rtol=1e-6, atol=1e-6)
        at = tuple(int(each) for each in np.argwhere(away)[0]) if away.any() else None
        both = None if at is None else (mine[at], theirs[at])
        start = [0] * mine.ndim
        if both is not None and tuple(start) in self._places[path]:
            text = (
                f"{key} is a message of another grid: {name} {said(both[1])}, not {said(both[0])}"
            )
            self._grids[grid] = FileDifference("misplaced", message=text)
            return self._grids[grid]
        self._see(path, start, list(mine.shape), at is not None, both)
        return None

    def _unchecked(self, ours: SetArray) -> Iterator[str]:
        """Yield the dimensions along which nothing determines the position of messages."""
        known = {name for path, _ in self._coordinates(ours) for name in [self._arrays[path].name]}
        for name, length in zip(ours.meta.dimensions or (), ours.meta.grid, strict=False):
            if length > 1 and name not in known:
                yield f"places along `{name}`"
