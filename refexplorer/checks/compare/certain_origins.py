"""Where a file belongs in a set, as far as that is certain enough to make references anew.

To find mistakes, the place that most references tell will do. Whoever writes references has to
know: a file at a wrong place would be compared with itself and found right ever after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from refexplorer.checks.compare.grouping import FileReferences, NativeReferences
from refexplorer.checks.compare.matched_file import MatchedFile
from refexplorer.checks.compare.origins import Origins, SetDimension, dimensions_of
from refexplorer.checks.compare.placing import (
    Alignment,
    aligned,
    expected,
    is_cut,
    set_indices,
)
from refexplorer.checks.compare.set_array import SetArray
from refexplorer.formats.datafiles.data_file import Unread

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
        first = set_indices(ours, numbers).min(axis=0) * np.array(ours.meta.chunks, np.int64)
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
