"""Counts of the chunks of each array by state, and their sums below each folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from refexplorer.refset.grids.missing_counts import missing_counts
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.spec.core.zarr_metadata import ArrayMeta


class StateCounts(NamedTuple):
    """Chunks of an array, or of all arrays below a folder; None where they are not known.

    Attributes
    ----------
    chunks
        Of the grid.
    referenced
        With a reference that can be used.
    absent
        Without a reference.
    rejected
        With a reference that an error keeps out of the set.
    """

    chunks: int
    referenced: int | None
    absent: int | None
    rejected: int | None


@dataclass(frozen=True)
class ArrayStates:
    """The counts of all arrays of a set, in its order: one entry of each column for each array.

    Attributes
    ----------
    arrays
        Their metadata.
    counts
        Their chunks.
    sizes
        Bytes of all references below them; None where they are not known.
    folders
        Their numbers in the walk through the tree, ascending.
    """

    arrays: tuple[ArrayMeta, ...]
    counts: tuple[StateCounts, ...]
    sizes: tuple[int | None, ...]
    folders: tuple[int, ...]

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each array, by its path."""
        return {array.path: place for place, array in enumerate(self.arrays)}

    @cached_property
    def total(self) -> StateCounts:
        """The sums over all arrays."""
        return summed(self.counts)


def array_states(opened: OpenedSet) -> ArrayStates:
    """Count the chunks of all arrays; record files are read."""
    found = opened.arrays
    arrays = found.below(opened.tree.root)
    found.count(arrays)
    folders = [opened.tree.folder(array.path) for array in arrays]
    return ArrayStates(
        tuple(arrays),
        tuple(_counts(opened, array) for array in arrays),
        tuple(None if each is None else opened.tree.size_below(each) for each in folders),
        tuple(-1 if each is None else each.number for each in folders),
    )


def _counts(opened: OpenedSet, array: ArrayMeta) -> StateCounts:
    absent, rejected = missing_counts(opened, array)
    if absent is None or rejected is None:
        return StateCounts(array.chunk_count, None, absent, rejected)
    return StateCounts(array.chunk_count, array.chunk_count - absent - rejected, absent, rejected)


def summed(counts: Sequence[StateCounts]) -> StateCounts:
    """Add counts up; what is not known of one is not known of all."""
    columns = list(zip(*counts, strict=True)) or [()] * len(StateCounts._fields)
    chunks, *states = (None if None in column else sum(column) for column in columns)
    return StateCounts(chunks or 0, *states)
