"""How many chunks have no reference, and how many of them an error left out."""

from __future__ import annotations

from typing import NamedTuple

from refexplorer.refset.grids.chunk_grid import ChunkReferences
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.segments.listing import EVALUATED_KEYS
from refexplorer.refset.segments.records import Records
from refexplorer.refset.segments.segment import Generated, Segment
from refexplorer.spec.core.zarr_metadata import ArrayMeta


class Lacking(NamedTuple):
    """Counts of chunks: `missing` ones read as the fill value, those `left_out` cannot be read.

    Both are None where too many generated keys would have to be made to tell them apart.
    """

    missing: int | None
    left_out: int | None


_UNKNOWN = Lacking(None, None)


def lacking(opened: OpenedSet, array: ArrayMeta) -> Lacking:
    """Count the chunks of an array that have no reference; record files are read."""
    present = opened.arrays.present(array)
    leaving = [_leaves_out(segment) for segment in opened.arrays.segments(array)]
    if present is None or None in leaving or opened.refused.is_uncounted(array.path):
        return _UNKNOWN
    without = max(0, array.chunk_count - present)
    if without == 0 or not (any(leaving) or opened.refused.touches(array.path)):
        return Lacking(without, 0)
    left_out = min(len(ChunkReferences(opened, array).left_out), without)
    return Lacking(without - left_out, left_out)


def _leaves_out(segment: Segment) -> bool | None:
    """Say whether a segment leaves out keys; None if it has too many to know."""
    if isinstance(segment, Records):
        return len(segment.left_out_numbers()) > 0
    if not isinstance(segment, Generated):
        return False
    if segment.count <= EVALUATED_KEYS:
        return next(segment.failing(), None) is not None
    return None if segment.item.failing or not segment.item.is_tried else False
