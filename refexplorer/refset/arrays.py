"""The arrays of a set: their metadata, and which chunks have a reference."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod

import numpy as np
import pyarrow as pa

from refexplorer.formats.columns.chunk_names import chunk_indices, last_parts
from refexplorer.formats.columns.references import number_column
from refexplorer.formats.columns.table import Table
from refexplorer.formats.columns.texts import BLOCK
from refexplorer.refset.generated import EVALUATED_KEYS, Generated, generated_tables
from refexplorer.refset.numbered_segment import Records
from refexplorer.refset.segments import Segment
from refexplorer.refset.tree import Folder, Tree
from refexplorer.spec.gen.dimensions import Dimension
from refexplorer.spec.gen.inversion import Digit, Number, span
from refexplorer.spec.references import folders_above, prefix
from refexplorer.spec.zarr_metadata import (
    METADATA_NAMES,
    ArrayMeta,
    BadMetadata,
    parse_metadata,
    read_array,
)

_OF_ARRAYS = (".zarray", "zarr.json")


def arrays_of(table: Table) -> dict[str, ArrayMeta]:
    """Return all arrays with readable metadata, by path."""
    positions = (key.rpartition("/") for key in table.metadata)
    paths = dict.fromkeys(path for path, _, name in positions if name in _OF_ARRAYS)
    reader = ArrayReader(table)
    found = ((path, reader.at(path)) for path in paths)
    return {path: array for path, array in found if array is not None}


class ArrayReader:
    """A reader of array metadata that parses equal texts once."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._known: dict[tuple[str | None, ...], ArrayMeta | None] = {}

    def at(self, path: str) -> ArrayMeta | None:
        """Return the metadata of the array at a path; None if missing or unreadable."""
        names = (".zarray", ".zattrs", "zarr.json")
        texts = tuple(self._table.text(prefix(path) + name) for name in names)
        if texts not in self._known:
            objects = (None if text is None else parse_metadata(text) for text in texts)
            self._known[texts] = _read(path, *objects)
        array = self._known[texts]
        return array if array is None or array.path == path else replace(array, path=path)


def _read(
    path: str,
    metadata: Mapping[str, object] | None,
    attributes: Mapping[str, object] | None,
    version_3: Mapping[str, object] | None,
) -> ArrayMeta | None:
    if metadata is None:
        metadata = version_3
        if metadata is None or metadata.get("node_type") != "array":
            return None
    try:
        return read_array(path, metadata, attributes)
    except BadMetadata:
        return None


def count_by_arithmetic(segment: Generated, array: ArrayMeta) -> int | None:
    """Count the keys inside the grid of an array; None if arithmetic cannot determine it."""
    inverter = segment.item.inverter
    if inverter is None or segment.overridden or not all(array.grid):
        return None
    groups = inverter.groups
    numbers = [group for group in groups if isinstance(group, Number)]
    places = _places(segment, array, len(groups))
    if len(numbers) < len(groups) or places is None:
        return None
    dimensions = {each.name: each for each in segment.item.varying.dimensions}
    # `%02d` zero-pads a number that has fewer digits than others, and no chunk key is padded
    may_pad = "%0" in (text := segment.item.key.text) or "\\" in text  # escapes hide it
    if may_pad and any(_bounds(n, dimensions)[0] < 10 ** (n.width - 1) for n in numbers):
        return None
    sizes = [array.grid[place] for place in places]
    pairs = list(zip(numbers, sizes, strict=True))
    bounds = [_bounds(number, dimensions) for number in numbers]
    if all(low >= 0 and high < size for (low, high), size in zip(bounds, sizes, strict=True)):
        return segment.count
    digits = [_plain_digit(number) for number in numbers]
    names = [None if digit is None else digit[0] for digit in digits]
    if None in names or len({*names}) < len(names) or len(names) < len(dimensions):
        return None
    return prod(
        _count_between(dimensions[name], -number.constant, size - number.constant)
        for name, (number, size) in zip(filter(None, names), pairs, strict=True)
    )


def _places(segment: Generated, array: ArrayMeta, groups: int) -> list[int] | None:
    """Return the index for each number of a key; None if they are ambiguous."""
    found = {_places_in(segment, row, array, groups) for row in (0, segment.count - 1)}
    places = found.pop()
    return None if found or places is None else list(places)


def _places_in(
    segment: Generated, row: int, array: ArrayMeta, groups: int
) -> tuple[int, ...] | None:
    key, inverter = segment.key_at(row), segment.item.inverter
    match = None if inverter is None else inverter.match(key)
    start = len(array.folder + array.prefix)
    index = array.chunk_index(key)
    if match is None or index is None or len(index) != len(array.grid):
        return None
    spans: dict[tuple[int, int], int] = {}
    for place, text in enumerate(key[start:].split(array.separator)):
        spans[start, start + len(text)] = place
        start += len(text) + 1
    places = tuple(spans.get(match.span(group), -1) for group in range(1, groups + 1))
    fixed = set(range(len(index))) - {*places}
    if -1 in places:
        return None
    return places if all(index[place] < array.grid[place] for place in fixed) else None


def _bounds(number: Number, dimensions: Mapping[str, Dimension]) -> tuple[int, int]:
    """Return the bounds of a number of a key, whatever the dimensions."""
    spans = [span(digit, factor, dimensions) for digit, factor in number.terms.items()]
    low = number.constant + sum(low for low, _ in spans)
    return low, number.constant + sum(high for _, high in spans)


def _plain_digit(number: Number) -> Digit | None:
    """Return the dimension and the constant added to it for a number; None for other forms."""
    digits = list(number.terms.items())
    if len(digits) != 1 or digits[0][1] != 1 or digits[0][0][1:] != (1, None):
        return None
    return digits[0][0]


def _count_between(dimension: Dimension, low: int, high: int) -> int:
    """Count the values from `low` up to `high`."""
    values = dimension.values
    if isinstance(values, tuple):
        return sum(low <= value < high for value in values)
    values = values if values.step > 0 else values[::-1]
    below = (-(-(bound - values.start) // values.step) for bound in (low, high))
    first, last = (min(max(count, 0), dimension.size) for count in below)
    return max(0, last - first)


def _count_in_folders(
    keys: pa.LargeStringArray, rows: Sequence[np.ndarray], array: ArrayMeta
) -> list[int]:
    """Count the chunks inside the grid of one array, and of others with the same chunk names."""
    names = last_parts(keys.take(number_column(np.concatenate(rows))))
    found, indices = chunk_indices(replace(array, path="", prefix="/" + array.prefix), names)
    before = np.zeros(len(names) + 1, np.int64)
    before[1 + found] = array.inside(indices)
    ends = np.cumsum([len(part) for part in rows])
    return np.diff(np.cumsum(before)[ends], prepend=0).tolist()


LISTED_CHUNKS = 10_000  # chunks that are counted one by one; of more the count is unknown
FEW_KEYS = 1_000  # Of arrays with no more keys each, those of the same grid are counted together


class ArrayIndex:
    """The arrays of a tree; the metadata of each are read when first needed."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._reader = ArrayReader(tree.table)
        self._read: dict[str, ArrayMeta | None] = {}
        self._present: dict[str, int | None] = {}
        self._counted: dict[str, int] = {}

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Paths of all arrays with readable metadata, in tree order."""
        return tuple(array.path for array in self)

    def of_rows(self) -> np.ndarray:
        """Return the array of each explicit reference: a position in `paths`, or -1; int32."""
        found = np.full(self._tree.table.count, -1, np.int32)
        for position, path in enumerate(self.paths):
            if (folder := self._tree.folder(path)) is not None:
                found[self._tree.rows_below(folder)] = position
        return found

    def __iter__(self) -> Iterator[ArrayMeta]:
        """Yield all arrays with readable metadata, in tree order."""
        return iter(self.below(self._tree.root))

    def get(self, path: str) -> ArrayMeta | None:
        """Return the metadata of the array at a path; None if missing or unreadable."""
        if path not in self._read:
            there = self._tree.folder(path) is not None
            self._read[path] = self._reader.at(path) if there else None
        return self._read[path]

    def of_key(self, key: str) -> tuple[ArrayMeta, tuple[int, ...]] | None:
        """Return the array and the chunk index of a key, or None."""
        for path in folders_above(key):
            array = self.get(path)
            if array is not None:
                index = array.chunk_index(key)
                return None if index is None else (array, index)
        return None

    def chunk_rows(self, array: ArrayMeta) -> tuple[np.ndarray, np.ndarray]:
        """Return the explicit chunk keys of an array with the right number of dimensions."""
        return self._chunks_among(self._rows_below(array), array)

    def chunk_row_blocks(
        self, array: ArrayMeta, size: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the results of `chunk_rows`, at most `size` keys at a time."""
        rows = self._rows_below(array)
        for start in range(0, len(rows), size):
            yield self._chunks_among(rows[start : start + size], array)

    def _rows_below(self, array: ArrayMeta) -> np.ndarray:
        folder = self._tree.folder(array.path)
        return np.empty(0, np.int64) if folder is None else self._tree.rows_below(folder)

    def _chunks_among(self, rows: np.ndarray, array: ArrayMeta) -> tuple[np.ndarray, np.ndarray]:
        positions, indices = chunk_indices(array, self._tree.table.keys, rows)
        return rows if len(positions) == len(rows) else rows[positions], indices

    def present(self, array: ArrayMeta) -> int | None:
        """Count the chunks inside the grid that have a reference; record files are read."""
        # None if that would require generating too many keys. References of large gen items are
        # counted whether or not their templates fail.
        if array.path not in self._present:
            below, above = self._segments(array)
            found = [_present_in(segment, array) for segment in below]
            found += [_present_among(segment, array) for segment in above]
            known = [count for count in found if count is not None]
            is_known = len(known) == len(found)
            self._present[array.path] = self._explicit(array) + sum(known) if is_known else None
        return self._present[array.path]

    def segments(self, array: ArrayMeta) -> list[Segment]:
        """Return the segments that may contain chunks of an array."""
        below, above = self._segments(array)
        return [*below, *above]

    def _segments(self, array: ArrayMeta) -> tuple[list[Segment], list[Segment]]:
        """Return the segments of an array's folder, and those with keys in several folders."""
        folder = self._tree.folder(array.path)
        below = [] if folder is None else self._tree.segments_below(folder)
        return below, _segments_above(folder)

    def is_tidy(self, array: ArrayMeta) -> bool:
        """Return whether each explicit key below an array is metadata or a chunk in the grid."""
        folder, table = self._tree.folder(array.path), self._tree.table
        if folder is None:
            return False
        metadata = sum(array.folder + name in table.metadata for name in METADATA_NAMES)
        return self._explicit(array) + metadata == len(self._tree.rows_below(folder))

    def _explicit(self, array: ArrayMeta) -> int:
        """Count the chunks inside the grid that have an explicit reference."""
        if array.path not in self._counted:
            blocks = self.chunk_row_blocks(array, BLOCK)
            counts = (array.inside(indices).sum() for _, indices in blocks)
            self._counted[array.path] = int(sum(counts))
        return self._counted[array.path]

    def count(self, arrays: Iterable[ArrayMeta]) -> None:
        """Count the explicit chunks of many small arrays at once."""
        alike: dict[Hashable, list[tuple[ArrayMeta, np.ndarray]]] = {}
        for array in arrays:
            folder = self._tree.folder(array.path)
            if folder is None or not array.path or array.path in self._counted or not array.grid:
                continue
            rows = self._tree.rows_in(folder)
            # all chunks are directly in the folder of the array
            is_flat = "/" not in array.prefix + array.separator and self._tree.is_exact(folder)
            if len(rows) <= FEW_KEYS and is_flat:
                names = array.prefix, array.separator, array.grid
                alike.setdefault(names, []).append((array, rows))
        for group in alike.values():
            members, rows_of = zip(*group, strict=True)
            counts = _count_in_folders(self._tree.table.keys, rows_of, members[0])
            self._counted.update(zip((one.path for one in members), counts, strict=True))

    def below(self, folder: Folder) -> list[ArrayMeta]:
        """Return the arrays at or below a folder."""
        found = (self.get(f.path) for f in self._tree.folders[folder.number : folder.end])
        return [array for array in found if array is not None]


def _present_in(segment: Segment, array: ArrayMeta) -> int | None:
    """Count the chunks of an array in a segment; None if there are too many."""
    if isinstance(segment, Records):
        return segment.present
    assert isinstance(segment, Generated)
    if segment.count <= EVALUATED_KEYS:
        blocks = (chunk_indices(array, table.keys)[1] for table in generated_tables(segment))
        return sum(int(array.inside(indices).sum()) for indices in blocks)
    return count_by_arithmetic(segment, array)


def _segments_above(folder: Folder | None) -> list[Segment]:
    """Return the segments with keys in several folders, as from ``{{v}}/{{i}}``."""
    found: list[Segment] = []
    while folder is not None and folder.parent is not None:
        folder = folder.parent
        found += folder.segments
    return found


def _present_among(segment: Segment, array: ArrayMeta) -> int | None:
    """Count the chunks of one array among keys of several; None if there are too many."""
    if array.chunk_count <= LISTED_CHUNKS < segment.count:
        keys = (array.key_at(number) for number in range(array.chunk_count))
        return sum(segment.find(key) is not None for key in keys)
    return _present_in(segment, array) if segment.count <= EVALUATED_KEYS else None
