"""Where a file begins along each dimension of a set, as all of its arrays agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from refexplorer.checks.compare.inline import MatchedFile, compared, marked
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
from refexplorer.formats.datafiles.data_file import Unread
from refexplorer.spec.references import prefix

_CANDIDATES = 8
"""Places of a coordinate that have the first value of a file's, which are looked at."""
SetDimension = tuple[str, str, int]
"""A dimension of the set: the folder of its arrays, its name, its length."""


class Origins:
    """Where a file begins along the dimensions of a set."""

    def __init__(self, matched: MatchedFile, groups: Sequence[NativeReferences]) -> None:
        self._matched = matched
        known = self._agreed(groups)
        self._starts = known | self._found_by_values(known)

    def of(self, ours: SetArray, lie: Alignment) -> np.ndarray | None:
        """Return where a file's array begins in the set's; None if no dimension tells."""
        known = {axis: self._start_of(dim) for axis, dim in dimensions_of(ours)}
        found = []
        for axis, (whole, length) in enumerate(zip(ours.meta.shape, lie.shape, strict=True)):
            start = 0 if whole == length else known.get(axis)
            if start is None:
                return None
            found.append(start)
        return np.array(found, np.int64)

    def _start_of(self, dimension: SetDimension) -> int | None:
        """Return where the file begins; arrays may say another length of a dimension."""
        alike = {start for each, start in self._starts.items() if each[:2] == dimension[:2]}
        return self._starts.get(dimension, alike.pop() if len(alike) == 1 else None)

    def agreed(self, group: NativeReferences) -> np.ndarray:
        """Return where the array of a group should begin: as the others say, else as it says."""
        found = group.origin.copy()
        for axis, dimension in dimensions_of(group.ours):
            found[axis] = self._starts.get(dimension, found[axis])
        return found

    def _agreed(self, groups: Sequence[NativeReferences]) -> dict[SetDimension, int]:
        """Return where the file begins along each dimension, as its arrays agree.

        Where they do not, values of the coordinate that the set holds decide, then the coordinate
        itself, then how many say so.
        """
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
        """Return where the file begins along dimensions that no reference tells, by coordinates."""
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
        """Say whether the set holds a coordinate of which the file has a part."""
        path = prefix(dimension[0]) + dimension[1]
        held, native = self._matched.held.arrays.get(path), self._matched.native(path)
        if held is None or native is None or len(native.shape) != 1:
            return False
        is_own = self._matched.arrays[path].meta.dimensions == (dimension[1],)
        filed = self._matched.whole(native) if is_own else None
        return filed is not None and 0 < filed.size < held.values.size

    def start_by_values(self, dimension: SetDimension) -> int | None:
        """Return the only place where the coordinate that the set holds has the file's values."""
        path = prefix(dimension[0]) + dimension[1]
        matched = self._matched
        ours, native, held = matched.arrays[path], matched.native(path), matched.held.arrays[path]
        filed = None if native is None else matched.whole(native)
        if native is None or filed is None:
            return None
        first = np.full(held.values.shape, filed[0])
        try:
            same = ~compared(ours, held.values, native, first, marked(ours, native)).differs
        except Unread:
            return None
        starts = np.flatnonzero(same)[:_CANDIDATES].tolist()
        starts = [start for start in starts if self._holds(dimension, start)]
        return starts[0] if len(starts) == 1 else None

    def _holds(self, dimension: SetDimension, start: int) -> bool:
        """Say whether the coordinate that the set holds begins there as in the file."""
        matched = self._matched
        path = prefix(dimension[0]) + dimension[1]
        held, native = matched.held.arrays.get(path), matched.native(path)
        if held is None or native is None or len(native.shape) != 1 or held.values.ndim != 1:
            return False
        mine = held.values[start : start + native.shape[0]]
        filed = matched.whole(native)
        if filed is None or mine.shape != filed.shape:
            return False
        ours = matched.arrays[path]
        try:
            return not compared(ours, mine, native, filed, marked(ours, native)).differs.any()
        except Unread:
            return False


def dimensions_of(ours: SetArray) -> Iterator[tuple[int, SetDimension]]:
    """Yield the axes of an array that have names, and the dimension that each of them is."""
    folder = ours.meta.path.rpartition("/")[0]
    for axis, name in enumerate(ours.meta.dimensions or ()):
        if name:
            yield axis, (folder, name, ours.meta.shape[axis])


UNCERTAIN = "where the file belongs along `{}` cannot be told for certain"


class CertainOrigins:
    """Where a file begins along the dimensions of a set.

    Values of a coordinate that the set holds decide, where it holds any. Else two things are asked:
    what more than half of the references of an array say that are exactly those of a chunk, and
    where the chunks are that the set refers to the file, if they are as many as the file has. Both
    have to agree, and all arrays with each other or with the coordinate.
    """

    def __init__(
        self,
        matched: MatchedFile,
        origins: Origins,
        references: Mapping[str, FileReferences],
        groups: Mapping[str, Sequence[NativeReferences]],
    ) -> None:
        self._matched = matched
        told: dict[SetDimension, dict[str, int | None]] = {}
        for path, found in references.items():
            for dimension, start in self._told_by(matched.arrays[path], found, groups[path]):
                told.setdefault(dimension, {})[path] = start
        self._starts = {
            dimension: _settled(dimension, starts, origins) for dimension, starts in told.items()
        }
        for dimension in self._dimensions():
            if self._starts.get(dimension) is None and origins.knows_values(dimension):
                self._starts[dimension] = origins.start_by_values(dimension)

    def of(self, ours: SetArray, lie: Alignment) -> np.ndarray:
        """Return where a file's array begins in the set's."""
        found = []
        for dimension, length in zip(_axes_of(ours), lie.shape, strict=True):
            start = 0 if dimension[2] == length else self._starts.get(dimension)
            if start is None:
                raise Unread("expression", UNCERTAIN.format(dimension[1]))
            found.append(start)
        return np.array(found, np.int64)

    def is_moved(self, group: NativeReferences) -> bool:
        """Say whether references are consistent, but of a place where the file does not belong."""
        if not group.is_placed:
            return False
        try:
            return bool((self.of(group.ours, group.lie) != group.origin).any())
        except Unread:
            return False

    def _dimensions(self) -> set[SetDimension]:
        return {each for ours in self._matched.arrays.values() for _, each in dimensions_of(ours)}

    def _told_by(
        self, ours: SetArray, found: FileReferences, groups: Sequence[NativeReferences]
    ) -> Iterator[tuple[SetDimension, int | None]]:
        """Yield what the references of one array tell; None where they contradict themselves."""
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
        """Return where most of the ranges say, if they are those of chunks."""
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
        """Return where the keys begin, if they are those that the file has chunks for."""
        known = self._matched.filed.chunks[self._matched.filed.places[name]]
        numbers = np.unique(found.numbers)
        if known is None or not len(numbers) or numbers[0] < 0:
            return None
        first = ours.meta.starts_of(set_indices(ours, numbers)).min(axis=0)
        native = self._matched.filed.arrays[self._matched.filed.places[name]]
        wanted = expected(known, lie, first, ours, is_cut(ours, native, lie)).numbers
        return first if np.array_equal(np.unique(wanted), numbers) else None


def _axes_of(ours: SetArray) -> list[SetDimension]:
    """Return the dimensions of an array; those without a name are its own."""
    named = dict(dimensions_of(ours))
    path = ours.meta.path
    return [named.get(axis, (path, f"#{axis}", n)) for axis, n in enumerate(ours.meta.shape)]


def _settled(
    dimension: SetDimension, starts: Mapping[str, int | None], origins: Origins
) -> int | None:
    """Return what arrays agree on."""
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
