"""Counts of a set, or of the keys below a path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from refexplorer.refset.columns.reference_columns import KINDS, Columns
from refexplorer.refset.grids.missing_counts import missing_counts
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.segments.generated_columns import columns_of
from refexplorer.refset.segments.records import Records
from refexplorer.refset.segments.segment import Generated, Segment
from refexplorer.refset.tree.nodes import NodeType
from refexplorer.spec.core.references import Kind

COUNTED_KEYS = 200_000


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of a set, or of the keys below a path.

    Attributes
    ----------
    keys, arrays, groups
        Counts.
    kinds
        Keys of each kind.
    bytes
        Of inline data and byte ranges; None where too many generated lengths would have to be
        computed. Whole files, counted in ``kinds``, add nothing: their sizes are not known.
    targets
        Distinct URLs.
    missing
        Chunks of arrays that have no reference and read as the fill value.
    left_out
        Chunks of arrays whose reference was rejected: reading them fails. Both are None where too
        many generated keys would have to be made to count them.
    """

    path: str
    keys: int
    arrays: int
    groups: int
    kinds: Mapping[Kind, int]
    bytes: int | None
    targets: int
    missing: int | None
    left_out: int | None

    @property
    def size(self) -> int | None:
        """Bytes of all keys; None where not all sizes are known, as those of whole files."""
        return None if self.kinds[Kind.URL] else self.bytes


@dataclass
class _Totals:
    kinds: dict[Kind, int]
    bytes: int | None
    urls: set[str | None]
    more_urls: int = 0

    def add(self, columns: Columns, rows: np.ndarray | None, alone: bool = False) -> None:
        """Count some rows, or all; `alone` if nothing else can name the same targets."""
        kinds, targets = columns.kinds, columns.targets
        if rows is not None:
            kinds, targets = kinds[rows], targets[rows]
        for code, kind in enumerate(KINDS):
            self.kinds[kind] += int(np.count_nonzero(kinds == code))
        if self.bytes is not None:
            self.bytes += columns.total(rows)
        is_named = np.zeros(len(columns.urls) + 1, np.bool_)
        is_named[targets] = True  # -1, no target, is the last one
        named = np.flatnonzero(is_named[:-1])
        if alone:
            self.more_urls += len(named)
        else:
            self.urls.update(columns.urls_at(named))


def summarize(opened: OpenedSet, path: str) -> Summary:
    """Count what is below a path.

    Raises
    ------
    KeyError
        If there is no such folder.
    """
    folder = opened.tree.folder(path)
    if folder is None:
        raise KeyError(path)
    segments = opened.tree.segments_below(folder)
    tally = _Totals(dict.fromkeys(KINDS, 0), 0, set())
    rows = None if folder is opened.tree.root else opened.tree.rows_below(folder)
    tally.add(opened.table.columns, rows, alone=not segments)
    for segment in segments:
        _tally_segment(segment, tally)
    arrays = opened.arrays.below(folder)
    below = opened.tree.folders[folder.number : folder.end]
    groups = sum(opened.tree.type_of(f) is NodeType.GROUP for f in below)
    opened.arrays.count(arrays)
    counts = [missing_counts(opened, array) for array in arrays]
    return Summary(
        path,
        sum(tally.kinds.values()),
        len(arrays),
        groups,
        tally.kinds,
        tally.bytes,
        len(tally.urls) + tally.more_urls,
        _sum_of_known([each.missing for each in counts]),
        _sum_of_known([each.rejected for each in counts]),
    )


def _sum_of_known(counts: list[int | None]) -> int | None:
    """Return the sum; None if one of them is not known."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _tally_segment(segment: Segment, tally: _Totals) -> None:
    if isinstance(segment, Generated) and segment.count > COUNTED_KEYS:
        _tally_by_shape(segment, tally)
        return
    if isinstance(segment, Records):
        for part in segment.parts:
            tally.add(part.columns, None)
        return
    assert isinstance(segment, Generated)
    for run in segment.runs():
        tally.add(columns_of(run), None)


def _tally_by_shape(segment: Generated, tally: _Totals) -> None:
    """Count a gen item of very many keys by its templates alone."""
    item = segment.item
    tally.kinds[Kind.URL if item.offset is None else Kind.RANGE] += segment.count
    used = [dimension for dimension in item.dimensions if dimension.name in item.url.names]
    distinct = 1
    for dimension in used:
        distinct *= dimension.size
    tally.more_urls += distinct
    size = segment.size
    if item.offset is not None:
        tally.bytes = None if size is None or tally.bytes is None else tally.bytes + size
