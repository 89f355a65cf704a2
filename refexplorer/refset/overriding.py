"""Keys that a later gen item generates again: its references override the earlier ones.

`tables` writes out what is left, and of equal keys that could not be compared the last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.core.errors import LimitError
from refexplorer.formats.columns.chunk_names import chunk_keys
from refexplorer.formats.columns.references import flags_of, joined_columns, numbers_of, text_column
from refexplorer.formats.columns.table import Table, build_table
from refexplorer.refset.numbered_segment import Loaded, Records
from refexplorer.refset.segments import (
    Generated,
    Segment,
    generated_keys,
    generated_tables,
    warn_of_failing,
)
from refexplorer.spec.findings import Findings, pointer
from refexplorer.spec.gen.dimensions import as_column
from refexplorer.spec.references import prefix

COMPARED_KEYS = 100_000
"""Of two gen items with more keys each, equal keys are not looked for one by one."""
_MATCHED_AT_ONCE = 200
"""Keys that are matched with a pattern in the time that one is looked up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverrideLimits:
    """How much may be done to find equal keys."""

    # So many keys of a folder are looked up one by one rather than written out
    few_looks: int = 1_000
    listed_keys: int = 2**21  # More keys of the gen items in one folder are not written out
    looks: int = 200_000  # Keys of a document that are looked up one by one; it takes some seconds


def apply_overrides(
    table: Table,
    segments: Sequence[Generated],
    findings: Findings,
    limits: OverrideLimits | None = None,
) -> tuple[Table, list[Generated]]:
    """Remove from a table and from gen items the keys that a later gen item overrides.

    Keys of gen items in one folder are written out and compared as columns where there are not
    too many of them, else looked up one by one; what would take too long is noted instead.
    """
    work = _Overriding(table, segments, findings, limits or OverrideLimits())
    work.compare()
    return work.left()


def may_generate(made: Generated, keys: pa.LargeStringArray) -> np.ndarray:
    """Return which keys look as if an item could make them, shape ``(n,)`` bool."""
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
        """Return which of `positions` made the keys in some rows."""
        return np.searchsorted(self.starts, rows, "right") - 1


class _Overriding:
    """The overridden keys, collected for each segment and for the table."""

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
        self._groups = _by_folder(segments)
        listed = (
            _listed(positions, segments, table.count, limits) for positions in self._groups.values()
        )
        self._listed = [each for each in listed if each is not None]
        self._in_columns = {position for each in self._listed for position in each.positions}

    def compare(self) -> None:
        """Compare columns first, which is cheap, then what is left in the order of the items."""
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
            self._tell(listed.positions[owner], self._table.key_at(int(rows[first])), count)

    def _compare_among(self, listed: _ListedKeys) -> None:
        codes = numbers_of(listed.keys.combine_chunks().dictionary_encode().indices)
        order = np.argsort(codes, kind="stable")
        repeated = np.flatnonzero(codes[order[1:]] == codes[order[:-1]])
        remade, later = order[repeated], listed.owners(order[repeated + 1])
        for owner, first, count in _counted(later):
            key = listed.keys[int(remade[first])].as_py()
            self._tell(listed.positions[owner], key, count)
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
                self._tell(position, self._table.key_at(remade[0]), len(remade))

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
            self._tell(later, segment.key_at(int(news[0])), len(news))

    def _tell(self, position: int, key: str, count: int) -> None:
        first, before = self._remade.get(position, (key, 0))
        self._remade[position] = first, before + count

    def _note_remade(self, made: Generated, key: str, count: int) -> None:
        keys = f"key (`{key}`)" if count == 1 else f"keys, such as `{key}`"
        used = "reference is" if count == 1 else "references are"
        self._findings.add(
            "gen-duplicate-key",
            pointer("gen", made.item.number),
            f"{made.origin} overrides {count:,} existing {keys}; the generated {used} used.",
            key=key,
            count=count,
        )

    def _note_unchecked(self, made: Generated) -> None:
        self._findings.add(
            "gen-not-checked",
            pointer("gen", made.item.number),
            f"The keys of {made.origin} and of later gen items are too many to check for "
            "earlier keys that they override.",
            "Combine gen items into fewer ones.",
        )


def _counted(owners: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Yield each owner, the first row where it stands, and in how many it does."""
    found = np.unique(owners, return_index=True, return_counts=True)
    yield from zip(*(each.tolist() for each in found), strict=True)


def _by_folder(segments: Sequence[Generated]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for position, segment in enumerate(segments):
        groups[segment.folder].append(position)
    return groups


def _listed(
    positions: list[int], segments: Sequence[Generated], explicit: int, limits: OverrideLimits
) -> _ListedKeys | None:
    """Write out the keys of one folder, unless to look them up is less work, or they are many."""
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
    """Return for each folder itself, those around it, and those inside it."""
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


BLOCK = 100_000
"""References that are worked on together."""


def tables(parts: Iterable[Segment]) -> Iterator[Table]:
    """Yield all references of segments, in order; generated ones that fail are skipped.

    Of equal keys that were not known before the last one counts. Only where there may be such
    keys, all references are held at once; of a parquet store a record file or two.
    """
    parts = list(parts)
    if _may_repeat(parts):
        parts = [_distinct(concatenated(list(_blocks(parts))))]
    yield from _blocks(parts)


def _blocks(parts: Iterable[Segment]) -> Iterator[Table]:
    for part in parts:
        if isinstance(part, Records):
            for loaded in part.blocks(BLOCK):
                yield _table_of_records(part, loaded)
        else:
            made = 0
            for start in range(0, part.count, BLOCK):
                block = block_of(part, start, min(start + BLOCK, part.count))
                made += block.count
                yield block
            warn_of_failing(part, part.count - made)


def _may_repeat(parts: Iterable[Segment]) -> bool:
    """Return whether there are gen items whose keys were not all compared when they were opened."""
    made = [part for part in parts if isinstance(part, Generated)]
    large = [part.folder for part in made if part.count > COMPARED_KEYS]
    return not all(part.item.certain for part in made) or any(
        is_within(one, other) or is_within(other, one) for one, other in combinations(large, 2)
    )


def _distinct(table: Table) -> Table:
    """Return the last row of each key, at the position of the first."""
    codes = numbers_of(table.keys.dictionary_encode().indices)
    rows = np.zeros(codes.max(initial=-1) + 1, np.int64)
    rows[codes] = np.arange(len(codes))
    return table if len(rows) == len(codes) else table.select(rows)


def block_of(part: Segment, start: int, stop: int) -> Table:
    """Return the references numbered `start` to `stop` of a segment."""
    if isinstance(part, Table):
        columns = part.columns.select(np.arange(start, stop))
        return Table(part.keys.slice(start, stop - start), columns, part.origin)
    if isinstance(part, Records):
        return _table_of_records(part, part.between(start, stop))
    if isinstance(part, Generated):
        return concatenated(list(generated_tables(part, start, stop)))
    return build_table(part.iterate(start, stop), part.origin)


def _table_of_records(part: Records, loaded: Loaded) -> Table:
    return Table(chunk_keys(part.array, loaded.numbers), loaded.columns, part.origin)


def table_of(parts: Sequence[Segment]) -> Table:
    """Return all references of segments as one table."""
    if len(parts) == 1 and isinstance(parts[0], Table):
        return parts[0]
    return concatenated(list(tables(parts)))


def concatenated(parts: Sequence[Table]) -> Table:
    """Return the rows of several tables, one after the other."""
    keys = [part.keys for part in parts]
    columns = joined_columns([part.columns for part in parts])
    return Table(pa.concat_arrays(keys) if keys else text_column([]), columns)
