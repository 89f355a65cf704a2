"""The date of each target: of the values in it by the time coordinate, else that of its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from refexplorer.refset.contents import internals
from refexplorer.views.health.time_axes import TimeAxes, TimeAxis, UnknownTimesError
from refexplorer.views.preview.chunk_cache import cache_of

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet
    from refexplorer.spec.zarr_metadata import ArrayMeta

_NONE = np.datetime64("NaT", "s")


@dataclass(frozen=True, eq=False)
class DatedTargets:
    """n targets, in the order of the index."""

    dates: np.ndarray  # The first time in each, datetime64[s]; NaT where nothing tells it
    is_coordinate: np.ndarray  # Whether a time coordinate told it, bool


class DateFinder:
    """Finds the dates of the targets of a set, anew once a coordinate was read."""

    def __init__(self, refs: ReferenceSet) -> None:
        self._refs = refs
        self._axes = TimeAxes(refs)
        self._cache = cache_of(refs)
        self._found: tuple[int | None, DatedTargets] | None = None

    def find(self) -> DatedTargets:
        """Return the dates; the same object as long as nothing more is known."""
        if self._found is None or self._found[0] not in (None, self._cache.size):
            size = self._cache.size
            dated, is_final = self._make()
            self._found = None if is_final else size, dated
        return self._found[1]

    def _make(self) -> tuple[DatedTargets, bool]:
        """Return the dates, and whether reading more would not change them."""
        index, is_final = internals(self._refs).target_index, True
        codes = {url: code for code, url in enumerate(index.urls)}
        found = np.full(len(codes), np.nan)
        for path in self._refs.arrays():
            if not np.isnan(found).any():
                is_final = True
                break
            array = self._refs.array(path)
            try:
                axis = self._axes.of(array)
            except UnknownTimesError:
                is_final = False
                continue
            if axis is not None:
                self._date(array, axis, codes, found)
        dates = np.full(len(codes), _NONE)
        is_known = ~np.isnan(found)
        dates[is_known] = (found[is_known] // 10**6).astype(np.int64).astype("datetime64[s]")
        dates[~is_known] = index.dates[~is_known]
        if len(np.unique(dates[~np.isnat(dates)])) < 2:  # a single date tells nothing
            dates[:], is_known = _NONE, np.zeros(len(codes), np.bool_)
        return DatedTargets(dates, is_known), is_final

    def _date(
        self, array: ArrayMeta, axis: TimeAxis, codes: dict[str | None, int], found: np.ndarray
    ) -> None:
        """Date the targets of an array that have no date yet."""
        grid = self._refs.chunk_grid(array.path)
        if not grid.complete:
            return
        chunks = grid.chunks
        has = chunks.targets >= 0
        places = np.array([codes.get(url, -1) for url in grid.urls], np.int64)
        targets = places[chunks.targets[has]]
        if axis.axis is None:
            times = np.full(len(targets), axis.times[0])
        else:
            starts = np.arange(0, len(axis.times), array.chunks[axis.axis])
            firsts = np.fmin.reduceat(axis.times, starts) if len(starts) else starts
            times = firsts[chunks.indices[has, axis.axis].astype(np.int64)]
        told = np.full(len(found), np.nan)
        known = targets >= 0
        np.fmin.at(told, targets[known], times[known])
        np.copyto(found, told, where=np.isnan(found))
