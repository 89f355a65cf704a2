"""Counts of the chunks of an array that have no reference, or a rejected one."""

from __future__ import annotations

from typing import NamedTuple

from refexplorer.refset.grids.chunk_grid import ChunkReferences
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.segments.listing import EVALUATED_KEYS
from refexplorer.refset.segments.records import Records
from refexplorer.refset.segments.segment import Generated, Segment
from refexplorer.spec.core.zarr_metadata import ArrayMeta


class MissingCounts(NamedTuple):
    """Counts of chunks: `missing` ones have no reference, `rejected` ones an error keeps out.

    Both are None where too many generated keys would have to be made to tell them apart.
    """

    missing: int | None
    rejected: int | None


_UNKNOWN = MissingCounts(None, None)


def missing_counts(opened: OpenedSet, array: ArrayMeta) -> MissingCounts:
    """Count the chunks of an array that have no reference; record files are read."""
    present = opened.arrays.present(array)
    rejecting = [_rejects(segment) for segment in opened.arrays.segments(array)]
    if present is None or None in rejecting or opened.rejected.is_uncounted(array.path):
        return _UNKNOWN
    unreferenced = max(0, array.chunk_count - present)
    if unreferenced == 0 or not (any(rejecting) or opened.rejected.touches(array.path)):
        return MissingCounts(unreferenced, 0)
    rejected = min(len(ChunkReferences(opened, array).left_out), unreferenced)
    return MissingCounts(unreferenced - rejected, rejected)


def _rejects(segment: Segment) -> bool | None:
    """Say whether a segment rejects keys; None if it has too many to know."""
    if isinstance(segment, Records):
        return len(segment.rejected_numbers()) > 0
    if not isinstance(segment, Generated):
        return False
    if segment.count <= EVALUATED_KEYS:
        return next(segment.failing(), None) is not None
    return None if segment.item.failing or not segment.item.is_tried else False
