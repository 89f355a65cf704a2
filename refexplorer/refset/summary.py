"""Counts of a set, or of what is below a path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from refexplorer.refset.columns import KINDS, Columns
from refexplorer.refset.opened import OpenedSet
from refexplorer.refset.records import Records
from refexplorer.refset.segments import Generated, Segment
from refexplorer.refset.tree import Folder, NodeType
from refexplorer.spec.references import Kind, Range, Url

COUNTED_KEYS = 10_000


@dataclass(frozen=True, slots=True)
class Summary:
    """What is below a path.

    Attributes
    ----------
    keys, arrays, groups
        Counts.
    kinds
        Keys of each kind.
    bytes
        Of inline data and byte ranges; whole files are not known, so they do not count.
        None where too many generated lengths would have to be computed.
    targets
        Distinct URLs.
    missing
        Chunks of arrays that have no reference and read as the fill value.
    """

    path: str
    keys: int
    arrays: int
    groups: int
    kinds: Mapping[Kind, int]
    bytes: int | None
    targets: int
    missing: int


@dataclass
class _Tally:
    kinds: dict[Kind, int]
    bytes: int | None
    urls: set[str | None]
    more_urls: int = 0


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
    tally = _tally_table(opened, folder)
    for segment in opened.tree.segments_below(folder):
        _tally_segment(segment, tally)
    arrays = opened.arrays.below(folder)
    below = opened.tree.folders[folder.number : folder.end]
    groups = sum(opened.tree.type_of(f) is NodeType.GROUP for f in below)
    present = sum(opened.arrays.present(array) for array in arrays)
    return Summary(
        path,
        sum(tally.kinds.values()),
        len(arrays),
        groups,
        tally.kinds,
        tally.bytes,
        len(tally.urls) + tally.more_urls,
        max(0, sum(array.chunk_count for array in arrays) - present),
    )


def _tally_table(opened: OpenedSet, folder: Folder) -> _Tally:
    tally = _Tally(dict.fromkeys(KINDS, 0), 0, set())
    _tally_columns(opened.table.columns, opened.tree.rows_below(folder), tally)
    return tally


def _tally_columns(columns: Columns, rows: np.ndarray, tally: _Tally) -> None:
    counts = np.bincount(columns.kinds[rows], minlength=len(KINDS)).tolist()
    for kind, count in zip(KINDS, counts, strict=True):
        tally.kinds[kind] += count
    codes = np.unique(columns.targets[rows])
    tally.urls |= {columns.urls[code] for code in codes.tolist() if code >= 0}
    if tally.bytes is not None:
        tally.bytes += int(columns.lengths[rows].sum())


def _tally_segment(segment: Segment, tally: _Tally) -> None:
    if isinstance(segment, Generated) and segment.count > COUNTED_KEYS:
        _tally_by_shape(segment, tally)
        return
    if isinstance(segment, Records):
        _tally_columns(segment.loaded.columns, np.arange(segment.count), tally)
        return
    for _, reference in segment.iterate():
        tally.kinds[reference.kind] += 1
        if isinstance(reference, Url | Range):
            tally.urls.add(reference.url)
        if tally.bytes is not None:
            tally.bytes += reference.size or 0


def _tally_by_shape(segment: Generated, tally: _Tally) -> None:
    """Count a gen item of very many keys by its templates alone."""
    item = segment.item
    tally.kinds[Kind.URL if item.offset is None else Kind.RANGE] += segment.count
    used = [dimension for dimension in item.dimensions if dimension.name in item.url.names]
    distinct = 1
    for dimension in used:
        distinct *= dimension.size
    tally.more_urls += distinct
    size = segment.size
    tally.bytes = None if size is None or tally.bytes is None else tally.bytes + size
