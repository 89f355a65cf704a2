"""The dates of targets, from time coordinates or names, and target counts per period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from refexplorer.refset.opened_set import internals
from refexplorer.views.health.time_axes import TimeAxes, TimeAxis, UnknownTimesError
from refexplorer.views.preview.values import cache_of
from refexplorer.views.wire.requests import Count, Real

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta
    from refexplorer.verbs.referenceset import ReferenceSet

BINS = 120  # bars of the timeline


class DateBin(Struct, frozen=True):
    """A period, and its number of targets; milliseconds since 1970."""

    start: Real
    stop: Real
    targets: Count
    lost: Count


class TargetDates(Struct, frozen=True):
    """The targets by date, in consecutive periods."""

    bins: tuple[DateBin, ...]  # Empty where no date is known
    # dated, total: Targets of the query that have a date, and all of them
    dated: Count
    total: Count
    # Of those with a date, how many have that of a time coordinate; of the others it is the one
    # in their name
    by_coordinate: Count
    ends: tuple[float, float] | None  # The first date and the last, ms since 1970; null without any


_NONE = np.datetime64("NaT", "s")


@dataclass(frozen=True, eq=False)
class DatedTargets:
    """n targets, in the order of the index."""

    dates: np.ndarray  # The first time in each, datetime64[s]; NaT if not known
    is_coordinate: np.ndarray  # Whether it is from a time coordinate, bool


class DateFinder:
    """Finds the dates of the targets of a set, again after a coordinate was read."""

    def __init__(self, refs: ReferenceSet) -> None:
        self._refs = refs
        self._axes = TimeAxes(refs)
        self._cache = cache_of(refs)
        self._found: tuple[int | None, DatedTargets] | None = None

    def find(self) -> DatedTargets:
        """Return the dates; the same object unless more is known."""
        if self._found is None or self._found[0] not in (None, self._cache.size):
            size = self._cache.size
            dated, is_final = self._make()
            self._found = None if is_final else size, dated
        return self._found[1]

    def _make(self) -> tuple[DatedTargets, bool]:
        """Return the dates, and whether they are final."""
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
        if (
            len(np.unique(dates[~np.isnat(dates)])) < 2
        ):  # a single date does not distinguish the files
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
            along = array.axes[axis.axis]
            starts = along.starts_of(np.arange(along.count))
            firsts = np.fmin.reduceat(axis.times, starts) if len(starts) else starts
            times = firsts[chunks.indices[has, axis.axis].astype(np.int64)]
        told = np.full(len(found), np.nan)
        known = targets >= 0
        np.fmin.at(told, targets[known], times[known])
        np.copyto(found, told, where=np.isnan(found))


_STEPS = (
    [("s", n) for n in (1, 2, 5, 10, 15, 30)]
    + [("m", n) for n in (1, 2, 5, 10, 15, 30)]
    + [("h", n) for n in (1, 2, 3, 6, 12)]
    + [("D", n) for n in (1, 2, 5, 10)]
    + [("M", n) for n in (1, 3, 6)]
    + [("Y", n) for n in (1, 2, 5, 10, 20, 50, 100, 200, 500)]
)
_DECADES = 1970 % 100
"""Years before numpy's first at which a century begins, so that periods begin at round years."""
_LENGTHS = {"s": 1, "m": 60, "h": 3_600, "D": 86_400, "M": 31 * 86_400, "Y": 366 * 86_400}
"""Seconds that a unit has at most."""


def bins_of(seconds: np.ndarray, lost: np.ndarray) -> list[DateBin]:
    """Count dates in at most `BINS` periods, as long as the usual distance between dates."""
    if not len(seconds):
        return []
    ends = np.array([seconds.min(), seconds.max()]).astype("datetime64[s]")
    apart = np.median(np.diff(np.unique(seconds))) if ends[0] < ends[1] else 1
    for unit, n in _STEPS:
        shift = _DECADES if unit == "Y" else 0
        first, last = ends.astype(f"datetime64[{unit}]").astype(np.int64) + shift
        # counted before they are made: of seconds there would be a thousand million
        if last // n - first // n < BINS and n * _LENGTHS[unit] >= apart:
            break
    numbers = np.arange(first // n, last // n + 2)
    edges = (
        (numbers * n - shift).astype(f"datetime64[{unit}]").astype("datetime64[s]").astype(np.int64)
    )
    places = np.searchsorted(edges, seconds, side="right") - 1
    counts = np.bincount(places, minlength=len(edges) - 1)
    bad = np.bincount(places[lost], minlength=len(edges) - 1)
    return [
        DateBin(float(edges[i] * 1000), float(edges[i + 1] * 1000), int(counts[i]), int(bad[i]))
        for i in range(len(edges) - 1)
    ]
