"""Where the arrays of a file start in those of the set, and what references to them should be."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from refexplorer.checks.compare.inline import MatchedFile, compared, marked
from refexplorer.checks.compare.metadata import PACKING_FIELDS
from refexplorer.checks.compare.placing import (
    Alignment,
    FileReferences,
    NativeReferences,
    aligned,
    expected,
    is_cut,
    set_indices,
)
from refexplorer.checks.compare.set_array import SetArray
from refexplorer.checks.records import WHOLE, FileDifference, FileValue, Remade
from refexplorer.formats.datafiles.data_file import FileArray, Unread
from refexplorer.spec.references import prefix

_CANDIDATES = 8  # Places of a coordinate that have the first value of a file's, which are looked at
SetDimension = tuple[str, str, int]
"""A dimension of the set: the folder of its arrays, its name, its length."""


class Origins:
    """Where a file starts along the dimensions of a set."""

    def __init__(self, matched: MatchedFile, groups: Sequence[NativeReferences]) -> None:
        self._matched = matched
        known = self._agreed(groups)
        self._starts = known | self._found_by_values(known)

    def of(self, ours: SetArray, lie: Alignment) -> np.ndarray | None:
        """Return where a file's array starts in the set's; None if no dimension determines it."""
        known = {axis: self._start_of(dim) for axis, dim in dimensions_of(ours)}
        found = []
        for axis, (whole, length) in enumerate(zip(ours.meta.shape, lie.shape, strict=True)):
            start = 0 if whole == length else known.get(axis)
            if start is None:
                return None
            found.append(start)
        return np.array(found, np.int64)

    def _start_of(self, dimension: SetDimension) -> int | None:
        """Return where the file starts; its arrays may disagree about the length of a dimension."""
        alike = {start for each, start in self._starts.items() if each[:2] == dimension[:2]}
        return self._starts.get(dimension, alike.pop() if len(alike) == 1 else None)

    def agreed(self, group: NativeReferences) -> np.ndarray:
        """Return where the array of a group should start: as others imply, else its own origin."""
        found = group.origin.copy()
        for axis, dimension in dimensions_of(group.ours):
            found[axis] = self._starts.get(dimension, found[axis])
        return found

    def _agreed(self, groups: Sequence[NativeReferences]) -> dict[SetDimension, int]:
        """Return where the file starts along each dimension on which its arrays agree."""
        # If they do not agree, the values of an inline coordinate decide, then the coordinate
        # itself, then the majority.
        votes: dict[SetDimension, Counter[int]] = {}
        own: dict[SetDimension, int] = {}
        for group in groups:
            if not group.is_placed:
                continue
            for axis, dimension in dimensions_of(group.ours):
                start = int(group.origin[axis])
                votes.setdefault(dimension, Counter())[start] += 1
                if group.ours.name == dimension[1] and len(group.origin) == 1:
                    own[dimension] = start
        found: dict[SetDimension, int] = {}
        for dimension, counts in votes.items():
            first = own.get(dimension, counts.most_common(1)[0][0])
            (_, most), *others = counts.most_common()
            if others and others[0][1] < most:
                first = counts.most_common(1)[0][0]
            held = [s for s in counts if self._holds(dimension, s)] if len(counts) > 1 else []
            found[dimension] = held[0] if len(held) == 1 else first
        return found

    def _found_by_values(self, known: Mapping[SetDimension, int]) -> dict[SetDimension, int]:
        """Return where the file starts in dimensions without references, by coordinate values."""
        found: dict[SetDimension, int] = {}
        for path, held in self._matched.held.arrays.items():
            dimension = path.rpartition("/")[0], path.rpartition("/")[2], held.values.size
            if dimension in known or not self.knows_values(dimension):
                continue
            start = self.start_by_values(dimension)
            if start is not None:
                found[dimension] = start
        return found

    def knows_values(self, dimension: SetDimension) -> bool:
        """Return whether the set has an inline coordinate of which the file contains a part."""
        sides = self._sides(dimension)
        if sides is None or sides[0].meta.dimensions != (dimension[1],):
            return False
        return 0 < sides[3].size < sides[1].size

    def start_by_values(self, dimension: SetDimension) -> int | None:
        """Return the only position at which the inline coordinate has the file's values."""
        if (sides := self._sides(dimension)) is None:
            return None
        ours, held, native, filed = sides
        first = np.full(held.shape, filed[0])
        try:
            same = ~compared(ours, held, native, first, marked(ours, native)).differs
        except Unread:
            return None
        starts = np.flatnonzero(same)[:_CANDIDATES].tolist()
        starts = [start for start in starts if self._holds(dimension, start)]
        return starts[0] if len(starts) == 1 else None

    def _holds(self, dimension: SetDimension, start: int) -> bool:
        """Return whether the inline coordinate starts there with the file's values."""
        if (sides := self._sides(dimension)) is None:
            return False
        ours, held, native, filed = sides
        mine = held[start : start + len(filed)]
        if mine.shape != filed.shape:
            return False
        try:
            return not compared(ours, mine, native, filed, marked(ours, native)).differs.any()
        except Unread:
            return False

    def _sides(
        self, dimension: SetDimension
    ) -> tuple[SetArray, np.ndarray, FileArray, np.ndarray] | None:
        """Return the inline coordinate of the set and that of the file for one axis."""
        path, matched = prefix(dimension[0]) + dimension[1], self._matched
        held, native = matched.held.arrays.get(path), matched.native(path)
        if held is None or native is None or len(native.shape) != 1 or held.values.ndim != 1:
            return None
        filed = matched.whole(native)
        return None if filed is None else (matched.arrays[path], held.values, native, filed)


def dimensions_of(ours: SetArray) -> Iterator[tuple[int, SetDimension]]:
    """Yield the named axes of an array with their dimensions."""
    folder = ours.meta.path.rpartition("/")[0]
    for axis, name in enumerate(ours.meta.dimensions or ()):
        if name:
            yield axis, (folder, name, ours.meta.shape[axis])


UNCERTAIN = "the position of the file along `{}` is not certain"


class CertainOrigins:
    """Where a file certainly starts along the dimensions of a set."""

    # The values of an inline coordinate decide, if there is one. Otherwise there are two
    # indications: the majority of the references of an array that match a chunk exactly, and the
    # positions of the chunks that point to the file, if there are as many as the file has. Both
    # have to agree, and all arrays have to agree with each other or with the coordinate.

    def __init__(
        self,
        matched: MatchedFile,
        origins: Origins,
        references: Mapping[str, FileReferences],
        groups: Mapping[str, Sequence[NativeReferences]],
    ) -> None:
        self._matched = matched
        implied: dict[SetDimension, dict[str, int | None]] = {}
        for path, found in references.items():
            for dimension, start in self._implied_starts(matched.arrays[path], found, groups[path]):
                implied.setdefault(dimension, {})[path] = start
        self._starts = {
            dimension: _settled(dimension, starts, origins) for dimension, starts in implied.items()
        }
        for dimension in self._dimensions():
            if self._starts.get(dimension) is None and origins.knows_values(dimension):
                self._starts[dimension] = origins.start_by_values(dimension)

    def of(self, ours: SetArray, lie: Alignment) -> np.ndarray:
        """Return where a file's array starts in the set's."""
        found = []
        for dimension, length in zip(_axes_of(ours), lie.shape, strict=True):
            start = 0 if dimension[2] == length else self._starts.get(dimension)
            if start is None:
                raise Unread("expression", UNCERTAIN.format(dimension[1]))
            found.append(start)
        return np.array(found, np.int64)

    def is_moved(self, group: NativeReferences) -> bool:
        """Return whether references are consistent, but at a position where the file is wrong."""
        if not group.is_placed:
            return False
        try:
            return bool((self.of(group.ours, group.lie) != group.origin).any())
        except Unread:
            return False

    def _dimensions(self) -> set[SetDimension]:
        return {each for ours in self._matched.arrays.values() for _, each in dimensions_of(ours)}

    def _implied_starts(
        self, ours: SetArray, found: FileReferences, groups: Sequence[NativeReferences]
    ) -> Iterator[tuple[SetDimension, int | None]]:
        """Yield what the references of one array imply; None if they contradict each other."""
        native = groups[0].native if groups else self._matched.native(ours.meta.path)
        lie = None if native is None else aligned(ours, native)
        if native is None or lie is None or len(groups) > 1:
            return
        exact = self._by_ranges(found, groups[0]) if groups and groups[0].is_placed else None
        box = self._by_keys(ours, native.name, lie, found)
        if exact is None and box is None:
            return
        for axis, dimension in enumerate(_axes_of(ours)):
            if lie.shape[axis] == ours.meta.shape[axis]:
                continue
            starts = {int(each[axis]) for each in (exact, box) if each is not None}
            yield dimension, starts.pop() if len(starts) == 1 else None

    def _by_ranges(self, found: FileReferences, group: NativeReferences) -> np.ndarray | None:
        """Return the start implied by most of the ranges, if these match chunks."""
        known = self._matched.filed.chunks[group.place]
        assert known is not None
        lengths = np.full(len(group.rows), group.piece)
        if not group.is_cut:
            lengths = known.lengths[group.chunks]
        given = found.lengths[group.rows]
        good = group.is_exact & ((given == lengths) | (given < 0))
        kinds, counts = np.unique(group.moves[good], axis=0, return_counts=True)
        if not len(counts) or 2 * counts.max() <= len(found.numbers):
            return None
        if not group.is_cut and 2 * counts.max() < len(known.offsets):
            return None  # few of its chunks, the others of which the set may hold itself
        most: np.ndarray = kinds[np.argmax(counts)]
        return most

    def _by_keys(
        self, ours: SetArray, name: str, lie: Alignment, found: FileReferences
    ) -> np.ndarray | None:
        """Return where the keys start, if they match the chunks of the file."""
        known = self._matched.filed.chunks[self._matched.filed.places[name]]
        numbers = np.unique(found.numbers)
        if known is None or not len(numbers) or numbers[0] < 0:
            return None
        first = ours.meta.starts_of(set_indices(ours, numbers)).min(axis=0)
        native = self._matched.filed.arrays[self._matched.filed.places[name]]
        wanted = expected(known, lie, first, ours, is_cut(ours, native, lie)).numbers
        return first if np.array_equal(np.unique(wanted), numbers) else None


def _axes_of(ours: SetArray) -> list[SetDimension]:
    """Return the dimensions of an array; unnamed ones belong to the array alone."""
    named = dict(dimensions_of(ours))
    path = ours.meta.path
    return [named.get(axis, (path, f"#{axis}", n)) for axis, n in enumerate(ours.meta.shape)]


def _settled(
    dimension: SetDimension, starts: Mapping[str, int | None], origins: Origins
) -> int | None:
    """Return what the arrays agree on."""
    if origins.knows_values(dimension):
        return origins.start_by_values(dimension)
    counts = Counter(starts.values())
    if len(counts) == 1:
        return next(iter(counts))
    own = [start for path, start in starts.items() if path.rpartition("/")[2] == dimension[1]]
    if own and own[0] is not None and counts[own[0]] > 1:
        return own[0]
    most, count = counts.most_common(1)[0]
    return most if 2 * count > len(starts) else None


_NONE = FileReferences(*(np.empty(0, np.int64) for _ in range(3)))


def remade(
    matched: MatchedFile,
    origins: CertainOrigins,
    path: str,
    native: FileArray | None,
    found: FileReferences | None,
    findings: Iterable[FileDifference],
) -> Remade | None:
    """Return the changes that make an array agree with the file."""
    ours = matched.arrays[path]
    if native is None:
        return Remade(reason="the file has no array of that name")
    causes = {each.cause for each in findings}
    is_held = path in matched.held.arrays and not matched.held.arrays[path].is_lent
    if is_held and "held-values" in causes:
        causes.add("units")  # times may be right but for what they are counted in
    said = list(_said(ours, native, causes)) if is_held or found is not None else []
    is_known = is_held and matched.held.arrays[path].known.all()
    if is_known or "chunk-shape" in causes or "rank" in causes:
        return Remade(said)
    try:
        result = _references(matched, origins, ours, native, found or _NONE)
    except Unread as reason:
        result = Remade(reason=str(reason))
    result.said = said
    return result


def _references(
    matched: MatchedFile,
    origins: CertainOrigins,
    ours: SetArray,
    native: FileArray,
    found: FileReferences,
) -> Remade:
    filed = matched.filed
    known = filed.chunks[filed.places[native.name]]
    lie = aligned(ours, native)
    if known is None or lie is None:
        raise Unread("expression", filed.not_read.get(native.name, "the file has more dimensions"))
    cut = is_cut(ours, native, lie)
    whole = bool(ours.meta.varying) or ours.meta.chunks == lie.chunks
    if not (whole or cut):
        raise Unread("expression", "the file has a different chunk shape")
    if cut and any(w % p for w, p in zip(lie.chunks, ours.meta.chunks, strict=True)):
        raise Unread("expression", "pieces of its chunks differ in size")
    origin = origins.of(ours, lie)
    wanted = expected(known, lie, origin, ours, cut)
    offsets = known.offsets[wanted.rows] + wanted.inside
    lengths = known.lengths[wanted.rows]
    if cut:
        lengths = np.full(len(offsets), prod(ours.meta.chunks) * native.dtype.itemsize)
    if known.masks is not None and (known.masks[wanted.rows] != 0).any():
        raise Unread("expression", "some of its chunks skip filters, which Zarr cannot express")
    order = np.argsort(wanted.numbers, kind="stable")
    numbers, offsets, lengths = wanted.numbers[order], offsets[order], lengths[order]
    if len(np.unique(numbers)) < len(numbers):
        raise Unread("expression", "several of its chunks have the same position")
    at = np.searchsorted(numbers, found.numbers)
    held = np.minimum(at, max(len(numbers) - 1, 0))
    inside_grid = found.numbers >= 0
    right = np.zeros(len(found.numbers), np.bool_)
    if len(numbers):
        has = np.asarray(inside_grid & (numbers[held] == found.numbers))
        given = np.where(found.lengths < 0, lengths[held], found.lengths)
        right = np.asarray(has & (offsets[held] == found.offsets) & (lengths[held] == given))
    if len(found.lengths) and (found.lengths < 0).all() and (offsets == 0).all():
        lengths = np.full(len(lengths), WHOLE)  # each chunk is a file, and stays one
    left = np.setdiff1d(np.arange(len(numbers)), held[right])
    numbers, offsets, lengths = (each[left].tolist() for each in (numbers, offsets, lengths))
    return Remade([], numbers, offsets, lengths, origin.tolist(), list(lie.shape))


def _said(ours: SetArray, native: FileArray, causes: set[str]) -> Iterable[FileValue]:
    """Yield the file's values of the differing fields, as JSON; null removes an attribute."""
    for cause in sorted(causes):
        try:
            value = _plain(_value(cause, ours, native))
            yield FileValue(cause, json.dumps(value, sort_keys=True, allow_nan=False))
        except (Unread, TypeError, ValueError):
            continue


def _value(cause: str, ours: SetArray, native: FileArray) -> Any:
    """Return the file's value of one field; Unread if no field can express it."""
    if cause in PACKING_FIELDS and cause not in native.unread:
        return native.attributes.get(cause)
    if cause in ("dtype", "byte-order") and native.dtype.kind in "biufcSU":
        return native.dtype.str
    if cause == "order" and ours.meta.zarr_format == 2:
        return native.order
    lie = aligned(ours, native) if cause == "chunk-shape" and not ours.meta.varying else None
    if lie is not None:
        return lie.chunks
    if cause == "filters" and native.filters is not None:
        return [[each.name, dict(each.settings)] for each in native.filters]
    if cause == "fill_value":
        mark = native.attributes.get("_FillValue")
        return native.fill_value if mark is None else mark
    if cause == "dimensions" and len(native.dimensions or ()) == len(ours.meta.shape):
        return [name.rpartition("/")[2] for name in native.dimensions or ()]
    raise Unread("expression", cause)


def _plain(value: Any) -> Any:
    """Return a value as in Zarr's JSON: NaN and infinities as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, complex):
        return [_plain(value.real), _plain(value.imag)]
    return value
