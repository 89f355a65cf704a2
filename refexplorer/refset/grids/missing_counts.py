"""How many chunks have no reference, and how many of them an error left out."""

from __future__ import annotations

from typing import NamedTuple

from refexplorer.refset.chunks.array_index import LISTED_CHUNKS
from refexplorer.refset.grids.chunk_grid import ChunkGrid
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.segments.records import Records
from refexplorer.refset.segments.segment import Generated, Segment
from refexplorer.spec.core.zarr_metadata import ArrayMeta


class Lacking(NamedTuple):
    """Counts of chunks: `missing` ones read as the fill value, those `left_out` cannot be read."""

    missing: int
    left_out: int


def lacking(opened: OpenedSet, array: ArrayMeta) -> Lacking:
    """Count the chunks of an array that have no reference; record files are read."""
    without = max(0, array.chunk_count - opened.arrays.present(array))
    if without == 0 or not _may_leave_out(opened, array):
        return Lacking(without, 0)
    left_out = min(len(ChunkGrid(opened, array).left_out), without)
    return Lacking(without - left_out, left_out)


def _may_leave_out(opened: OpenedSet, array: ArrayMeta) -> bool:
    """Say whether an error may have left out chunks of an array, without listing its chunks."""
    return opened.refused.touches(array.path) or any(
        map(_leaves_out, opened.arrays.segments(array))
    )


def _leaves_out(segment: Segment) -> bool:
    """Say whether a segment leaves out keys; those of very many all count as present."""
    if isinstance(segment, Records):
        return len(segment.left_out_numbers()) > 0
    if isinstance(segment, Generated) and segment.count <= LISTED_CHUNKS:
        return next(segment.failing(), None) is not None
    return False
