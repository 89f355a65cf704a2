"""The keys of gen items: as a segment, and which of them a later item overrides."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.core.errors import LimitError
from refexplorer.formats.columns.references import (
    RANGE,
    URL,
    Columns,
    UrlColumn,
    flags_of,
    numbers_of,
    text_column,
)
from refexplorer.formats.columns.table import Table
from refexplorer.spec.findings import Finding, Findings, Reason, pointer
from refexplorer.spec.gen.dimensions import as_column
from refexplorer.spec.gen.item import BadField, GenItem, Run, failing, runs
from refexplorer.spec.references import Reference, prefix


@dataclass(frozen=True)
class Generated:
    """The keys of a gen item, without failing keys and those that a later item overrides."""

    item: GenItem  # The gen item
    # The numbers of the keys that a later item overrides, sorted
    overridden: tuple[int, ...] = field(default=())

    @property
    def origin(self) -> str:
        """The position in the document."""
        return f"gen[{self.item.number}]"

    @property
    def folder(self) -> str:
        """The folder of all keys."""
        return self.item.folder

    @property
    def count(self) -> int:
        """The number of keys."""
        return self.item.count - len(self.overridden)

    @property
    def bound(self) -> int:
        """The same as `count`, which is arithmetic."""
        return self.count

    @property
    def size(self) -> int | None:
        """Bytes of all references; None for whole files, or if each length varies."""
        length = self.item.length
        return self.count * int(length.text) if length is not None and length.literal else None

    def without(self, rows: Iterable[int]) -> Generated:
        """Return the same without some rows."""
        return Generated(self.item, tuple(sorted({*self.overridden, *map(self.number, rows)})))

    def rejection(self, key: str) -> Finding | None:
        """Return why a generated key is not there; None if nothing fails for it."""
        number = self.item.find(key)
        bad = None if number is None else self.item.failure(self.item.values(number))
        if bad is None:
            return None
        message = f"{self.origin} generates this key, but its `{bad.field}` fails: {bad}"
        at = pointer("gen", self.item.number, bad.field)
        return Reason(bad.code, message, bad.hint).finding(at, key)

    def failing(self) -> Iterator[str]:
        """Yield the keys for which a template other than that of the key fails."""
        item = self.item
        for number in item.failing if item.is_tried else failing(item, 0, item.count):
            try:
                yield item.key_at(number)
            except BadField:
                continue

    def number(self, row: int) -> int:
        """Return the number in the gen item for a row of this segment."""
        number = row
        # counting past overridden numbers may pass further ones, so until nothing changes
        while (passed := row + bisect_right(self.overridden, number)) != number:
            number = passed
        return number

    def key_at(self, row: int) -> str:
        """Return a key by its number; a failing key has the text of its template."""
        try:
            return self.item.key_at(self.number(row))
        except BadField:
            return self.item.key.text

    def reference_at(self, row: int) -> Reference | None:
        """Return a reference by its number; None if it fails."""
        try:
            return self.item.reference_at(self.number(row))
        except BadField:
            return None

    def find(self, key: str) -> int | None:
        """Return the number of a key, or None."""
        number = self.item.find(key)
        if number is None:
            return None
        position = bisect_right(self.overridden, number)
        if position and self.overridden[position - 1] == number:
            return None
        return number - position

    def holds(self, key: str) -> bool:
        """Return whether a key exists."""
        row = self.find(key)
        return row is not None and (self.item.is_tried or self.reference_at(row) is not None)

    def get(self, key: str) -> Reference | None:
        """Return the reference of a key; None if there is none, or if it fails."""
        row = self.find(key)
        return None if row is None else self.reference_at(row)

    def iterate(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[str, Reference]]:
        """Yield keys and references in order; failing ones are skipped."""
        for run in self.runs(start, stop):
            yield from run.references()

    def runs(self, start: int = 0, stop: int | None = None) -> Iterator[Run]:
        """Yield the references in runs, numbered as the rows of this segment."""
        stop = self.count if stop is None else min(stop, self.count)
        if start >= stop:
            return
        overridden = as_column(self.overridden)
        for run in runs(self.item, self.number(start), self.number(stop - 1) + 1):
            if not self.overridden:
                yield run
                continue
            passed = np.searchsorted(overridden, run.numbers)
            is_overridden = overridden[np.minimum(passed, len(overridden) - 1)] == run.numbers
            shown = np.flatnonzero(~is_overridden)
            yield replace(run.select(shown), numbers=(run.numbers - passed)[shown])


def generated_tables(part: Generated, start: int = 0, stop: int | None = None) -> Iterator[Table]:
    """Yield the references numbered `start` to `stop`; failing ones are skipped."""
    for run in part.runs(start, stop):
        yield Table(text_column(run.keys), columns_of(run), part.origin)


def generated_keys(part: Generated) -> Iterator[pa.LargeStringArray]:
    """Yield only the keys, in order; those of failing references are skipped."""
    return (text_column(run.keys) for run in part.runs())


def columns_of(run: Run) -> Columns:
    """Return the references of the keys of a run."""
    count, urls = len(run), UrlColumn(more=run.urls)
    if run.offsets is None or run.lengths is None:
        none = np.zeros(count, np.int64)
        return Columns(np.full(count, URL, np.uint8), run.targets, urls, none, none, ())
    kinds = np.full(count, RANGE, np.uint8)
    return Columns(kinds, run.targets, urls, run.offsets, run.lengths, ())


EVALUATED_KEYS = 200_000
"""Generated keys that one query evaluates; more would take too long."""


COMPARED_KEYS = 100_000
"""Two gen items with more keys each are not compared key by key."""
_MATCHED_AT_ONCE = 200  # Keys that are matched with a pattern in the time that one is looked up


@dataclass(frozen=True, slots=True, kw_only=True)
class OverrideLimits:
    """Limits on the work of finding duplicate keys."""

    # So many keys of a folder are looked up one by one rather than written out
    few_looks: int = 1_000
    listed_keys: int = 2**21  # More keys of the gen items in one folder are not written out
    looks: int = (
        200_000  # Keys of a document that are looked up one by one; this takes some seconds
    )


def apply_overrides(
    table: Table,
    segments: Sequence[Generated],
    findings: Findings,
    limits: OverrideLimits | None = None,
) -> tuple[Table, list[Generated]]:
    """Remove from a table and from gen items the keys that a later gen item overrides."""
    work = _Overriding(table, segments, findings, limits or OverrideLimits())
    work.compare()
    return work.left()


def may_generate(made: Generated, keys: pa.LargeStringArray) -> np.ndarray:
    """Return which keys look as if an item could generate them, shape ``(n,)`` bool."""
    inverter = made.item.inverter
    if inverter is not None:
        return flags_of(pc.match_substring_regex(keys, f"(?s)^(?:{inverter.pattern})$"))
    return flags_of(pc.starts_with(keys, prefix(made.folder)))


def is_within(path: str, folder: str) -> bool:
    """Return whether a path is a folder or inside it."""
    return prefix(path).startswith(prefix(folder))


@dataclass(frozen=True, slots=True)
class _ListedKeys:
    """The keys of gen items in one folder, written out."""

    positions: list[int]  # The numbers of the gen items among the segments, in order
    starts: np.ndarray  # Where the keys of each begin
    keys: pa.ChunkedArray  # All of them, none twice by one item

    def owners(self, rows: np.ndarray) -> np.ndarray:
        """Return which of `positions` generated the keys in some rows."""
        return np.searchsorted(self.starts, rows, "right") - 1


class _Overriding:
    """The overridden keys, collected per segment and for the table."""

    def __init__(
        self,
        table: Table,
        segments: Sequence[Generated],
        findings: Findings,
        limits: OverrideLimits,
    ) -> None:
        self._table = table
        self._segments = segments
        self._findings = findings
        self._gone = np.zeros(table.count, np.bool_)
        self._overridden: dict[int, np.ndarray] = {}
        self._remade: dict[int, tuple[str, int]] = {}
        self._looks = limits.looks
        self._groups: dict[str, list[int]] = {}
        for position, segment in enumerate(segments):
            self._groups.setdefault(segment.folder, []).append(position)
        listed = (
            _listed(positions, segments, table.count, limits) for positions in self._groups.values()
        )
        self._listed = [each for each in listed if each is not None]
        self._in_columns = {position for each in self._listed for position in each.positions}

    def compare(self) -> None:
        """Compare columns first, which is cheap, then the remainder in the order of the items."""
        for listed in self._listed:
            self._compare_table_with(listed)
            self._compare_among(listed)
        around = _related(self._groups)
        for position, made in enumerate(self._segments):
            self._compare_item(position, around[made.folder])
            if self._looks < 0:
                self._note_unchecked(made)
                break
        for position, (key, count) in sorted(self._remade.items()):
            self._note_remade(self._segments[position], key, count)

    def left(self) -> tuple[Table, list[Generated]]:
        """Return the table and the segments without overridden keys."""
        table = self._table.select(np.flatnonzero(~self._gone)) if self._gone.any() else self._table
        return table, [
            segment.without(self._overridden[position].tolist())
            if position in self._overridden
            else segment
            for position, segment in enumerate(self._segments)
        ]

    def _compare_table_with(self, listed: _ListedKeys) -> None:
        found = pc.index_in(self._table.keys, value_set=listed.keys)
        rows = np.flatnonzero(flags_of(found.is_valid()))
        owners = listed.owners(numbers_of(found.drop_null()))
        self._gone[rows] = True
        for owner, first, count in _counted(owners):
            self._note_overridden(
                listed.positions[owner], self._table.key_at(int(rows[first])), count
            )

    def _compare_among(self, listed: _ListedKeys) -> None:
        codes = numbers_of(listed.keys.combine_chunks().dictionary_encode().indices)
        order = np.argsort(codes, kind="stable")
        repeated = np.flatnonzero(codes[order[1:]] == codes[order[:-1]])
        remade, later = order[repeated], listed.owners(order[repeated + 1])
        for owner, first, count in _counted(later):
            key = listed.keys[int(remade[first])].as_py()
            self._note_overridden(listed.positions[owner], key, count)
        remade.sort()
        bounds = np.searchsorted(remade, listed.starts).tolist()
        for number, (start, stop) in enumerate(pairwise([*bounds, len(remade)])):
            if start < stop:
                rows = remade[start:stop] - listed.starts[number]
                self._overridden[listed.positions[number]] = rows

    def _compare_item(self, position: int, folders: Sequence[str]) -> None:
        made = self._segments[position]
        if position not in self._in_columns:
            self._compare_table(position, made)
        for folder in folders:
            if folder == made.folder and position in self._in_columns:
                continue
            for earlier in self._groups[folder]:
                if earlier >= position or self._looks < 0:
                    break
                self._compare_pair(earlier, position)

    def _compare_table(self, position: int, made: Generated) -> None:
        rows = np.flatnonzero(may_generate(made, self._table.keys) & ~self._gone)
        # many items on a large table would take minutes: work is counted, and stops with a finding
        self._looks -= self._table.count // _MATCHED_AT_ONCE + len(rows)
        if self._looks >= 0:
            remade = [row for row in rows.tolist() if _makes(made, self._table.key_at(row))]
            if remade:
                self._gone[remade] = True
                self._note_overridden(position, self._table.key_at(remade[0]), len(remade))

    def _compare_pair(self, earlier: int, later: int) -> None:
        segment, made = self._segments[earlier], self._segments[later]
        fewer = min(segment.count, made.count)
        self._looks -= 1 if fewer > COMPARED_KEYS else fewer
        if self._looks < 0 or fewer > COMPARED_KEYS:
            return
        # the shorter list is gone through, the longer one is asked by arithmetic
        if segment.count == fewer:
            rows = [row for row in range(segment.count) if _makes(made, segment.key_at(row))]
        else:
            positions = (segment.find(made.key_at(row)) for row in range(made.count))
            rows = [row for row in positions if row is not None]
        overridden = self._overridden.get(earlier, np.empty(0, np.int64))
        news = np.setdiff1d(as_column(rows), overridden)
        if len(news):
            self._overridden[earlier] = np.union1d(overridden, news)
            self._note_overridden(later, segment.key_at(int(news[0])), len(news))

    def _note_overridden(self, position: int, key: str, count: int) -> None:
        first, before = self._remade.get(position, (key, 0))
        self._remade[position] = first, before + count

    def _note_remade(self, made: Generated, key: str, count: int) -> None:
        keys = f"key (`{key}`)" if count == 1 else f"keys, such as `{key}`"
        used = "reference is" if count == 1 else "references are"
        message = f"{made.origin} overrides {count:,} existing {keys}; the generated {used} used."
        at = pointer("gen", made.item.number)
        self._findings.add("gen-duplicate-key", at, message, key=key, count=count)

    def _note_unchecked(self, made: Generated) -> None:
        self._findings.add(
            "gen-not-checked",
            pointer("gen", made.item.number),
            f"The keys of {made.origin} and of later gen items are too many to check for "
            "earlier keys that they override.",
            "Combine gen items into fewer ones.",
        )


def _counted(owners: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Yield each owner, its first row, and its number of rows."""
    found = np.unique(owners, return_index=True, return_counts=True)
    yield from zip(*(each.tolist() for each in found), strict=True)


def _listed(
    positions: list[int], segments: Sequence[Generated], explicit: int, limits: OverrideLimits
) -> _ListedKeys | None:
    """Write out the keys of one folder, unless looking them up is faster, or there are too many."""
    made = [segments[position] for position in positions]
    total = sum(each.count for each in made)
    if len(made) == 1 or (total + explicit) * len(made) <= limits.few_looks:
        return None
    if total > limits.listed_keys or not all(each.item.certain for each in made):
        return None
    chunks = [list(generated_keys(each)) for each in made]
    counts = [sum(map(len, each)) for each in chunks]
    # keys whose templates fail are not in the columns, so numbers and rows would not agree
    if sum(counts) < total:
        return None
    keys = pa.chunked_array([keys for each in chunks for keys in each], pa.large_string())
    return _ListedKeys(positions, np.cumsum([0, *counts[:-1]]), keys)


def _related(groups: dict[str, list[int]]) -> dict[str, list[str]]:
    """Return for each folder itself, its ancestors, and its subfolders."""
    related: dict[str, list[str]] = {folder: [] for folder in groups}
    around: list[str] = []
    for folder in sorted(groups, key=prefix):
        while around and not is_within(folder, around[-1]):
            around.pop()
        for other in around:
            related[other].append(folder)
            related[folder].append(other)
        around.append(folder)
        related[folder].append(folder)
    return related


def _makes(made: Generated, key: str) -> bool:
    try:
        return made.find(key) is not None
    except LimitError:
        return False
