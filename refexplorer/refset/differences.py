"""All differences between two sets, in columns; rows, grids and removed keys on demand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.core.errors import LimitError
from refexplorer.core.limits import Limits
from refexplorer.core.text import masks_repr
from refexplorer.formats.columns.chunk_names import chunk_indices
from refexplorer.formats.columns.references import (
    flags_of,
    joined_columns,
    number_column,
    text_column,
)
from refexplorer.formats.columns.table import Table
from refexplorer.refset.chunk_grid import rejects
from refexplorer.refset.generated import Generated, is_within, may_generate
from refexplorer.refset.manifest_segment import Apart, apart
from refexplorer.refset.moves import (
    ADDED,
    CHANGES,
    INLINED,
    METADATA,
    MOVED,
    REJECTED,
    REMOVED,
    SAME,
    ArrayMove,
    ChangeTree,
    Compared,
    Rename,
    Shift,
    compare,
    find_array_moves,
    find_renames,
    find_shifts,
)
from refexplorer.refset.opened_set import OpenedSet, number_of
from refexplorer.refset.parquet_segment import ParquetRecords
from refexplorer.refset.segments import Segment, table_of, tables
from refexplorer.spec.findings import pointer
from refexplorer.spec.gen.dimensions import Dimension, values_at
from refexplorer.spec.gen.item import FIELDS
from refexplorer.spec.references import Base64, Inline, Reference
from refexplorer.spec.zarr_metadata import ArrayMeta, parse_metadata

_ABSENT = object()


@masks_repr
class FieldChange(NamedTuple):
    """A metadata field of one key, as JSON; None if absent.

    Attributes
    ----------
    key
        The metadata key.
    field
        JSON pointer to the field.
    """

    key: str
    field: str
    before: str | None
    after: str | None


def field_changes(key: str, before: object, after: object, at: str = "") -> Iterator[FieldChange]:
    """Yield the innermost fields that differ between two parsed documents."""
    if before == after and type(before) is type(after):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys([*before, *after]):
            inner = before.get(name, _ABSENT), after.get(name, _ABSENT)
            yield from field_changes(key, *inner, at + pointer(name))
    elif (
        isinstance(before, list)
        and isinstance(after, list)
        and len(before) == len(after)
        and all(isinstance(part, dict) for part in [*before, *after])  # such as codecs
    ):
        for position, (first, second) in enumerate(zip(before, after, strict=True)):
            yield from field_changes(key, first, second, at + pointer(position))
    else:
        yield FieldChange(key, at, _text(before), _text(after))


def _text(value: object) -> str | None:
    return None if value is _ABSENT else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class Matched:
    """Two sets with their keys matched."""

    # before, after: Their references, without those of gen items that both have
    before: Table
    after: Table
    pairs: np.ndarray  # Rows of the same key in `before` and `after`, shape ``(2, n)``
    # removed, added: Rows of `before` and of `after` whose keys the other one has not, or rejects
    removed: np.ndarray
    added: np.ndarray
    # removals, additions: The change of each of them, int8
    removals: np.ndarray
    additions: np.ndarray
    alike: tuple[Segment, ...]  # Gen items and manifests that both have, which are not expanded


def match(before: OpenedSet, after: OpenedSet, limits: Limits) -> Matched:
    """Find the keys that two sets share."""
    segments = _without_equal_files(apart(before, after))
    alike = _alike(segments.before, segments.after)
    old, new = [before.table, *segments.before], [after.table, *segments.after]
    first = _written_out(old, {position for position, _ in alike}, limits)
    second = _written_out(new, {position for _, position in alike}, limits)
    pairs, removed, added = _joined(first, second)
    shared = tuple(segments.before[position] for position, _ in alike)
    removals = _alone(first, removed, after, REMOVED)
    additions = _alone(second, added, before, ADDED)
    alike_parts = (*shared, *segments.shared)
    return Matched(first, second, pairs, removed, added, removals, additions, alike_parts)


def _without_equal_files(segments: Apart) -> Apart:
    """Put the record files aside that have the same references in both sets."""
    others = {one.array.path: one for one in segments.after if isinstance(one, ParquetRecords)}
    found = Apart([], list(segments.after), list(segments.shared))
    for one in segments.before:
        other = others.get(one.array.path) if isinstance(one, ParquetRecords) else None
        if not isinstance(one, ParquetRecords) or other is None:
            found.before.append(one)
            continue
        if not (equal := one.equal_files(other)):
            found.before.append(one)
            continue
        mine, their = one.parts, other.parts
        found.shared.append(one.among([each for each in mine if each.number in equal]))
        found.before.append(one.among([each for each in mine if each.number not in equal]))
        place = next(place for place, each in enumerate(found.after) if each is other)
        found.after[place] = other.among([each for each in their if each.number not in equal])
    return found


def _alone(table: Table, rows: np.ndarray, other: OpenedSet, change: int) -> np.ndarray:
    """Return the change of keys missing from the other set, which may have rejected them."""
    keys = table.keys.take(number_column(rows))
    found = flags_of(pc.is_in(keys, value_set=other.rejected.keys))
    if other.rejected.items or any(rejects(part) is not False for part in other.segments):
        for row in np.flatnonzero(~found).tolist():
            found[row] = other.rejection(keys[row].as_py()) is not None
    return np.where(found, REJECTED, change).astype(np.int8)


def _alike(before: Sequence[Segment], after: Sequence[Segment]) -> list[tuple[int, int]]:
    """Return the positions of gen items that generate the same references on both sides."""
    texts = {_meaning(segment): position for position, segment in enumerate(before)}
    found = ((texts.get(_meaning(segment)), position) for position, segment in enumerate(after))
    return [(first, position) for first, position in found if first is not None]


def _meaning(segment: Segment) -> object:
    """Return everything that determines a segment's references; other segments themselves."""
    if not isinstance(segment, Generated):
        return id(segment)
    item = segment.item
    fields = [getattr(item, field) for field in FIELDS]
    known = [field for field in fields if field is not None]
    used = {name for each in known for name in (*each.names, *(call[0] for call in each.calls))}
    return (
        tuple(None if field is None else field.text for field in fields),
        tuple((dimension.name, dimension.values) for dimension in item.dimensions),
        tuple((name, item.templates[name].text) for name in sorted(used & item.templates.keys())),
        segment.overridden,
    )


def _written_out(parts: Sequence[Segment], skipped: set[int], limits: Limits) -> Table:
    kept = [part for position, part in enumerate(parts, -1) if position not in skipped]
    total = sum(part.bound for part in kept)
    if total > limits.expanded_keys:
        raise LimitError(
            f"{total:,} keys would have to be compared one by one, more than the limit of "
            f"{limits.expanded_keys:,}; `Limits.expanded_keys` raises the limit."
        )
    return table_of(kept)


def _joined(before: Table, after: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pairs, and the unpaired rows of each side."""
    if before.keys.equals(after.keys):
        rows, none = np.arange(before.count), np.empty(0, np.int64)
        return np.stack([rows, rows]), none, none
    found = after.index.find_many(before.keys)
    first = np.flatnonzero(found >= 0)
    second = found[first]
    is_added = np.ones(after.count, np.bool_)
    is_added[second] = False
    return np.stack([first, second]), np.flatnonzero(found < 0), np.flatnonzero(is_added)


GRID_CHUNKS = 100_000_000  # as in `chunk_grid.DENSE_CHUNKS`: one byte for each
ABSENT = -1  # In a grid of changes: neither set has the chunk


@dataclass(frozen=True, slots=True)
class KeyChange:
    """The change of one key.

    Attributes
    ----------
    key
        The key.
    change
        One of `refexplorer.refset.moves.CHANGES`.
    before, after
        Its references; None if absent.
    """

    key: str
    change: str
    before: Reference | None
    after: Reference | None


@dataclass(frozen=True)
class Differences:
    """The keys of two sets in parallel, and the change of each."""

    matched: Matched
    compared: Compared

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Keys by change, in the order of `CHANGES`; changes without keys are omitted."""
        found = np.bincount(self.compared.changes, minlength=len(CHANGES))
        found[SAME] += sum(segment.count for segment in self.matched.alike)
        for alone in (self.matched.removals, self.matched.additions):
            found += np.bincount(alone, minlength=len(CHANGES))
        return {name: int(n) for name, n in zip(CHANGES, found, strict=True) if n}

    @cached_property
    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows before and after (-1 if absent), ``(2, n)``, and changes ``(n,)`` of those keys."""
        matched, changes = self.matched, self.compared.changes
        changed = np.flatnonzero(changes != SAME)
        pairs = matched.pairs[:, changed]
        removed = np.stack([matched.removed, np.full(len(matched.removed), -1)])
        order = np.argsort(np.concatenate([pairs[0], removed[0]]), kind="stable")
        old = np.concatenate([pairs, removed], axis=1)[:, order]
        was = np.concatenate([changes[changed], matched.removals])[order]
        added = np.stack([np.full(len(matched.added), -1), matched.added])
        rows = np.concatenate([old, added], axis=1)
        return rows, np.concatenate([was, matched.additions]).astype(np.int8)

    def of_change(self, change: str | None) -> np.ndarray:
        """Return the numbers of the keys with one change, or of all that differ."""
        changes = self._rows[1]
        if change is None:
            return np.arange(len(changes))
        return np.flatnonzero(changes == CHANGES.index(change))

    def rows(self, numbers: np.ndarray) -> Iterator[KeyChange]:
        """Yield the changes of keys by their number among the differing ones."""
        rows, changes = self._rows
        matched = self.matched
        for number in numbers.tolist():
            before, after = rows[:, number].tolist()
            key = matched.before.key_at(before) if before >= 0 else matched.after.key_at(after)
            both = _reference(matched.before, before), _reference(matched.after, after)
            yield KeyChange(key, CHANGES[changes[number]], *both)

    @cached_property
    def tree(self) -> ChangeTree:
        """The differing keys by folder; their rows there are their numbers here."""
        rows, changes = self._rows
        is_new, matched = rows[0] < 0, self.matched
        sides = matched.before.select(rows[0][~is_new]), matched.after.select(rows[1][is_new])
        keys = pa.chunked_array([side.keys for side in sides]).combine_chunks()
        columns = joined_columns([side.columns for side in sides])
        return ChangeTree(Table(keys, columns), changes)

    @cached_property
    def renames(self) -> tuple[Rename, ...]:
        """URL renames that explain most of the moved targets."""
        moved = self.compared.targets[:, self.compared.changes == MOVED]
        pairs, counts = np.unique(moved, axis=1, return_counts=True)
        urls = self.compared.urls
        named = ((urls[first], urls[second]) for first, second in pairs.T.tolist())
        return find_renames(
            (first, second, keys)
            for (first, second), keys in zip(named, counts.tolist(), strict=True)
            if first is not None and second is not None
        )

    @cached_property
    def moved_ranges(self) -> tuple[int, str]:
        """How many of the moved keys have another offset or length, too, and the first of them."""
        compared = self.compared
        is_other = (compared.shifts != 0) | compared.resized
        found = np.flatnonzero((compared.changes == MOVED) & is_other)
        row = int(self.matched.pairs[0, found[0]]) if len(found) else 0
        return len(found), self.matched.before.key_at(row) if len(found) else ""

    def arrays_moved(self, before: Iterable[str], after: Iterable[str]) -> tuple[ArrayMove, ...]:
        """Return which of the arrays at these paths exist under another name."""
        old, new = (side[side >= 0] for side in self._rows[0])
        overridden, come = self.matched.before.select(old), self.matched.after.select(new)
        return find_array_moves(overridden, come, (before, after))

    @cached_property
    def shifts(self) -> tuple[Shift, ...]:
        """The shifts shared by most byte ranges, including moved ones."""
        return find_shifts(self.compared.shifts[self.compared.shifts != 0])

    @cached_property
    def fields(self) -> tuple[FieldChange, ...]:
        """The changed metadata fields."""
        found: list[FieldChange] = []
        for change in self.rows(self.of_change(CHANGES[METADATA])):
            sides = (_parsed(change.before), _parsed(change.after))
            found += field_changes(change.key, *sides)
        return tuple(found)

    def inlined(self) -> Iterator[tuple[int, KeyChange]]:
        """Yield references that are text on one side only, with their position among the pairs."""
        for position in np.flatnonzero(self.compared.changes == INLINED).tolist():
            before, after = self.matched.pairs[:, position].tolist()
            key = self.matched.before.key_at(before)
            sides = _reference(self.matched.before, before), _reference(self.matched.after, after)
            yield position, KeyChange(key, CHANGES[INLINED], *sides)

    def decided(self, changes: Mapping[int, int]) -> Differences:
        """Return the same with other changes at some positions among the pairs."""
        decided = self.compared.changes.copy()
        decided[list(changes)] = list(changes.values())
        return replace(self, compared=replace(self.compared, changes=decided))

    def grid(self, array: ArrayMeta) -> np.ndarray:
        """Return the change of each chunk of an array, int8 in the shape of its grid."""
        if array.chunk_count > GRID_CHUNKS:
            raise LimitError(
                f"{array.path_text(True)} has {array.chunk_count:,} chunks; a grid of changes can "
                f"have at most {GRID_CHUNKS:,}."
            )
        grid = np.full(array.grid, ABSENT, np.int8)
        matched = self.matched
        folder = array.folder.rstrip("/")
        near = (
            each
            for each in matched.alike
            if is_within(folder, each.folder) or is_within(each.folder, folder)
        )
        for alike in tables(near):
            _mark(grid, array, alike, np.arange(alike.count), SAME)
        _mark(grid, array, matched.before, matched.pairs[0], self.compared.changes)
        _mark(grid, array, matched.before, matched.removed, matched.removals)
        _mark(grid, array, matched.after, matched.added, matched.additions)
        return grid


def difference(before: OpenedSet, after: OpenedSet, limits: Limits) -> Differences:
    """Compare two sets; errors as for `match`."""
    matched = match(before, after, limits)
    return Differences(matched, compare(matched.before, matched.after, matched.pairs))


def _reference(table: Table, row: int) -> Reference | None:
    return table.reference_at(row) if row >= 0 else None


def _parsed(reference: Reference | None) -> object:
    assert isinstance(reference, Inline | Base64)
    return parse_metadata(reference.data.decode(errors="replace"))


def _mark(
    grid: np.ndarray, array: ArrayMeta, table: Table, rows: np.ndarray, changes: np.ndarray | int
) -> None:
    """Write changes of table rows at the indices of their chunks."""
    if not grid.ndim:
        row = table.find(array.chunk_key(()))
        for position in np.flatnonzero(rows == (-1 if row is None else row)):
            grid[()] = changes if isinstance(changes, int) else changes[position]
        return
    positions, indices = chunk_indices(array, table.keys, rows)
    inside = np.all(indices < np.array(grid.shape), axis=1)
    index = tuple(indices[inside].T)
    grid[index] = changes if isinstance(changes, int) else changes[positions[inside]]


SHOWN = 200  # Removed keys that are named, each with its number in the later set
RUN = 10  # Named keys of each run of consecutive ones
SCANNED = 2_000  # Keys of one segment that are looked up one by one
_INTERSECTED = 100_000  # values of a dimension that are compared one by one: see `_shared`


@dataclass(frozen=True, slots=True)
class Removed:
    """Removed keys."""

    count: int  # How many; a lower bound unless `is_exact`
    is_exact: bool
    # The first of them in order, each with the number of the key of the later set before which it
    # stood
    positions: tuple[tuple[int, str], ...]


def removed_keys(before: OpenedSet, after: OpenedSet) -> Removed:
    """Compare the keys of two sets."""
    count, is_exact = 0, True
    overridden: list[tuple[Segment, int]] = []
    for part in before.parts:
        rows, counted = _removed_rows(part, after)
        overridden += [(part, row) for row in rows]
        count += len(rows) if counted is None else max(counted, len(rows))
        is_exact = is_exact and counted is not None
    first = sorted(_placed(overridden[:SHOWN], before, after), key=lambda placed: placed[0])
    return Removed(count, is_exact, tuple(first))


def _removed_rows(part: Segment, after: OpenedSet) -> tuple[list[int], int | None]:
    """Return the first removed rows, and their total if known."""
    if isinstance(part, Table):
        suspects = np.flatnonzero(~flags_of(pc.is_in(part.keys, value_set=after.table.keys)))
        rows = [row for row in suspects[:SCANNED].tolist() if not _has(after, part.key_at(row))]
        return rows, len(rows) + max(0, len(suspects) - SCANNED)
    twin = next((one for one in after.segments if _is_twin(part, one)), None)
    kept = None if twin is None else _shared_count(part, twin)
    if kept == part.count:
        return [], 0
    rows = _scanned(part, twin, after)
    if part.count <= SCANNED:
        return rows, len(rows)
    return rows, None if kept is None else part.count - kept


def _scanned(part: Segment, twin: Segment | None, after: OpenedSet) -> list[int]:
    """Return which of the first rows are removed; generated ones that fail are skipped."""
    overridden: list[int] = []
    for numbers, keys in _first_keys(part):
        rows = np.flatnonzero(~_made_by(part, twin, numbers))
        asked = [keys[row] for row in rows.tolist()]
        maybe = _may_have(after, asked, twin).tolist()
        overridden += [
            row
            for row, key, is_maybe in zip(numbers[rows].tolist(), asked, maybe, strict=True)
            if not (is_maybe and _has(after, key))
        ]
    return overridden


def _first_keys(part: Segment) -> Iterator[tuple[np.ndarray, list[str]]]:
    """Yield the numbers of the first rows, and their keys."""
    if isinstance(part, Generated):
        yield from ((run.numbers, run.keys) for run in part.runs(0, SCANNED))
    else:
        rows = range(min(part.count, SCANNED))
        yield np.array(rows), [part.key_at(row) for row in rows]


def _made_by(part: Segment, twin: Segment | None, numbers: np.ndarray) -> np.ndarray:
    """Return for which rows the twin generates the key, too; shape ``(n,)`` bool."""
    if not (isinstance(part, Generated) and isinstance(twin, Generated)):
        return np.zeros(len(numbers), np.bool_)
    made = np.ones(len(numbers), np.bool_)
    others = {dimension.name: dimension for dimension in twin.item.dimensions}
    for name, column in values_at(part.item.varying, numbers).items():
        values, positions = np.unique(column, return_inverse=True)
        inside = [others[name].index(value) is not None for value in values.tolist()]
        made &= np.array(inside, np.bool_)[positions]
    return made


def _may_have(after: OpenedSet, keys: list[str], twin: Segment | None) -> np.ndarray:
    """Return which keys have to be looked up outside the twin."""
    column = text_column(keys)
    found = flags_of(pc.is_in(column, value_set=after.table.keys))
    for segment in after.segments:
        if segment is not twin:
            found |= may_generate(segment, column) if isinstance(segment, Generated) else True
    return found


def _has(after: OpenedSet, key: str) -> bool:
    try:
        return after.find(key) is not None
    except LimitError:
        return True


def _is_twin(one: Segment, other: Segment) -> bool:
    """Return whether two gen items write their keys in the same way."""
    if not (isinstance(one, Generated) and isinstance(other, Generated)):
        return False
    a, b = one.item, other.item
    names = a.key.names
    return (
        a.key.text == b.key.text
        and not one.overridden
        and not other.overridden
        and a.inverter is not None
        and b.inverter is not None
        and all(a.templates.get(name) == b.templates.get(name) for name in names)
        and {d.name for d in a.dimensions} & names == {d.name for d in b.dimensions} & names
    )


def _shared_count(one: Segment, other: Segment) -> int | None:
    """Return how many keys two such items share; None if a dimension is too long."""
    assert isinstance(one, Generated)
    assert isinstance(other, Generated)
    others = {dimension.name: dimension for dimension in other.item.dimensions}
    used = [d for d in one.item.dimensions if d.name in one.item.key.names]
    shared = [_shared(dimension, others[dimension.name]) for dimension in used]
    return None if None in shared else prod(number or 0 for number in shared)


def _shared(one: Dimension, other: Dimension) -> int | None:
    a, b = one.values, other.values
    if a == b:
        return one.size
    if isinstance(a, range) and isinstance(b, range) and a.step == b.step == 1:
        return max(0, min(a.stop, b.stop) - max(a.start, b.start))
    # this runs at each keystroke of the editor, where a set of 10**6 values would be felt
    if max(one.size, other.size) > _INTERSECTED:
        return None
    return len(set(a) & set(b))


def _placed(
    gone: list[tuple[Segment, int]], before: OpenedSet, after: OpenedSet
) -> Iterator[tuple[int, str]]:
    """Yield each key with its number: after the nearest earlier key that still exists."""
    before_it: tuple[Segment, int] | None = None
    named = number = 0
    for part, row in gone:
        follows = before_it is not None and before_it[0] is part and before_it[1] == row - 1
        before_it = part, row
        named = named + 1 if follows else 1
        if named == 1:
            number = _number_after(part, row - 1, before, after)
        if named <= RUN:
            yield number, part.key_at(row)


def _number_after(part: Segment, last: int, before: OpenedSet, after: OpenedSet) -> int:
    """Return the number after a row's, or where its segment would begin."""
    try:
        if last >= 0:
            return number_of(after, part.key_at(last)) + 1
        first = 0
        for other in after.parts:
            if other.origin == part.origin:
                return first
            first += other.count
    except (KeyError, LimitError):
        pass
    return after.count
