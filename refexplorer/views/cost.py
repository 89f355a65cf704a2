"""The controller of the cost view: bars, findings, and read counts of chunks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from msgspec import Struct

from refexplorer.checks.advice.accesses import AccessCost, ArrayCosts, PartOfArray, part_of
from refexplorer.checks.advice.advising import GIVEN, Advice, standard_accesses
from refexplorer.checks.advice.requests import (
    DEFAULT_PLACE,
    PLACES,
    READERS,
    Connection,
    MergeRules,
    connection_of,
)
from refexplorer.checks.advice.rules import AdviceFinding
from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import counted
from refexplorer.refset.grid_view import Windows
from refexplorer.refset.opened_set import internals
from refexplorer.spec.zarr_metadata import ArrayMeta
from refexplorer.views.wire.context import ExplorerPart, Keep, ViewContext, array_at
from refexplorer.views.wire.jobs import JobReport, go_on
from refexplorer.views.wire.requests import Buffers, Count, floats, job

CELLS = 48  # Most rows and most columns
PICTURED = 256  # The same of cells that colour a picture
_LONGEST = 10**7  # Chunks along a dimension that are looked at one by one


def touches(
    part: PartOfArray,
    axes: Sequence[int] | None = None,
    window: Windows | None = None,
) -> tuple[tuple[int, ...], np.ndarray, tuple[int, ...]]:
    """Return the drawn dimensions, the mean read count of a chunk in each cell, and steps."""
    grid = part.array.grid
    if not math.prod(grid):
        raise RefexplorerError(f"{part.array.path or '/'} has no chunks.")
    if max(grid, default=1) > _LONGEST:
        raise RefexplorerError(
            f"{part.array.path or '/'} has more than {_LONGEST:,} chunks along a dimension, too "
            f"many to draw."
        )
    spans = _checked_window(grid, window)
    along = [part.touches(axis, np.arange(*span)) for axis, span in enumerate(spans)]
    several = [axis for axis, count in enumerate(grid) if count > 1] or [*range(len(grid))][-1:]
    if axes is None:
        axes = sorted(sorted(several, key=lambda axis: -grid[axis])[:2])
    elif len(axes) > 2 or not {*axes} <= {*range(len(grid))}:
        raise RefexplorerError(f"The array has no dimensions {list(axes)} to draw.")
    others = math.prod(float(each.mean()) for axis, each in enumerate(along) if axis not in axes)
    # A window is that of a picture, whose cells are not merged further.
    most = CELLS if window is None else PICTURED
    steps = tuple(-(-len(along[axis]) // most) for axis in axes)
    sides = [_means(along[axis], step) for axis, step in zip(axes, steps, strict=True)]
    sides = [np.ones(1)] * (2 - len(sides)) + sides
    return tuple(axes), np.multiply.outer(*sides) * others, steps


def _checked_window(grid: Sequence[int], window: Windows | None) -> Windows:
    if window is None:
        return [(0, count) for count in grid]
    if len(window) != len(grid) or any(
        not 0 <= start < stop <= count for (start, stop), count in zip(window, grid, strict=True)
    ):
        raise RefexplorerError(f"The grid has no window {window}.")
    return window


def _means(values: np.ndarray, step: int) -> np.ndarray:
    """Return the means of equal blocks; the last may be shorter."""
    starts = np.arange(0, len(values), step)
    return np.add.reduceat(values, starts) / np.diff(starts, append=len(values))


FINDINGS = 50  # findings in one answer
_GROUPS = 20  # bars in one answer


class ReadingCosts(Struct, frozen=True):
    """The cost of reading the set over a connection."""

    # places, readers: Those to choose from
    places: tuple[Connection, ...]
    readers: tuple[MergeRules, ...]
    place: Connection  # The one that was asked for
    array: str | None  # Whose accesses are among the bars; null if the set has none
    dimensions: tuple[str, ...]
    bars: tuple[AccessCost, ...]  # What opening costs, and accesses to the array
    findings: tuple[AdviceFinding, ...]  # By gain; cut
    finding_count: int
    bounds: tuple[str, ...]
    notes: tuple[str, ...]


class ChunkTouches(Struct, frozen=True):
    """How often an access pattern reads each chunk of an array."""

    array: str
    grid: tuple[Count, ...]  # Chunks along each dimension
    dimensions: tuple[str, ...]
    axes: tuple[int, ...]  # The drawn ones, at most two: rows, columns
    rows: int
    columns: int
    steps: tuple[int, ...]  # Chunks in a cell, along the drawn ones
    most: float  # Times that a chunk of the cell with most is read, on average


class CostView:
    """Responds to the cost view; keeps the advice for the last connection."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._advice: Advice | None = None

    @job("cost.show", unsaved="The cost of this access was not saved with the page", in_turn=True)
    def show(
        self,
        report: JobReport,
        array: str | None = None,  # Null: the one of most chunks
        place: str = DEFAULT_PLACE,  # One of `places` of the answer
        # latency, bandwidth: Seconds, and bytes a second of all requests; null: those of the place
        latency: float | None = None,
        bandwidth: float | None = None,
        given: str = "",  # A part of the array: ``0, 10:20``
    ) -> ReadingCosts:
        """Return the cost of opening and reading, and improvements; no target is read."""
        connected = adjusted_connection(place, latency, bandwidth)
        if self._advice is None or self._advice.place != connected:
            arrays = counted(len(self._refs.arrays()), "array")
            go_on(report, None, None, f"Counting the requests of {arrays}")
            self._advice = self._refs.advise(place=connected)
        advice, shown = self._advice, self._array(array)
        costs = [*advice.opening[:_GROUPS]]
        costs += [cost for cost in advice.accesses if shown and cost.path == shown.path]
        if shown is not None and given:
            costs.append(self._access_cost(shown, given, connected))
        return ReadingCosts(
            tuple(PLACES.values()),
            READERS,
            connected,
            None if shown is None else shown.path,
            () if shown is None else _names(shown),
            tuple(costs),
            advice.findings[:FINDINGS],
            len(advice.findings),
            tuple(str(bound) for bound in advice.bounds if shown and bound.path == shown.path),
            advice.notes,
        )

    @job(
        "cost.touches",
        in_turn=True,
        buffers="float64 (rows x columns): how often a chunk of each cell is read, on average.",
    )
    def touches(
        self,
        array: str | None,
        access: str,  # The name of a bar
        given: str = "",  # As in ``cost.show``, for ``as given``
        # axes, window: The drawn ones and the part to draw, in chunks, as in ``grid.show``
        axes: tuple[int, ...] | None = None,
        window: tuple[tuple[int, int], ...] | None = None,
    ) -> tuple[ChunkTouches, Buffers]:
        """Return how often an access pattern reads each chunk of an array."""
        shown = self._array(array)
        if shown is None:
            raise RefexplorerError("The set has no arrays.")
        drawn, cells, steps = touches(self._part(shown, access, given), axes, window)
        rows, columns = cells.shape
        names, most = _names(shown), float(cells.max())
        found = ChunkTouches(shown.path, shown.grid, names, drawn, rows, columns, steps, most)
        return found, [floats(cells)]

    def _access_cost(self, array: ArrayMeta, text: str, place: Connection) -> AccessCost:
        parts = [(GIVEN, part_of(array, text))]
        return ArrayCosts(internals(self._refs).opened, array, place, parts).costs[0]

    def _part(self, array: ArrayMeta, access: str, given: str) -> PartOfArray:
        if access == GIVEN:
            return part_of(array, given)
        standard = standard_accesses(internals(self._refs).opened, array)
        if access not in standard:
            raise RefexplorerError(f"{access!r} is not an access pattern for {array.path or '/'}.")
        return standard[access]

    def _array(self, path: str | None) -> ArrayMeta | None:
        """Return an array, by default the one with most chunks."""
        if path is None:
            arrays = map(self._refs.array, self._refs.arrays())
            return max(arrays, key=lambda array: array.chunk_count, default=None)
        return array_at(self._refs, path)


def adjusted_connection(name: str, latency: float | None, bandwidth: float | None) -> Connection:
    """Return a connection by name, with the numbers that are not null."""
    place = connection_of(name)
    latency = place.latency if latency is None else latency
    bandwidth = place.bandwidth if bandwidth is None else bandwidth
    # one request is as much slower or faster as all together
    stream = place.stream * (bandwidth / place.bandwidth)
    if not (0 <= latency <= 3600 and 1 <= bandwidth <= 1e15 and 1e-3 <= stream <= 1e15):
        raise RefexplorerError("The latency or the bandwidth is out of range.")
    return replace(place, latency=latency, bandwidth=bandwidth, stream=stream)


def _names(array: ArrayMeta) -> tuple[str, ...]:
    names: Sequence[str] = array.dimensions or ("",) * len(array.shape)
    return tuple(name or f"axis {axis}" for axis, name in enumerate(names))


_RECORDED = 50  # Arrays of which a saved page has the cost


def _record(keep: Keep, arrays: Sequence[str]) -> None:
    """Keep the reading cost; the page computes times for other connections."""
    for path in (None, *arrays[:_RECORDED]):
        found, _ = keep("cost.show", array=path)
        for bar in found.get("bars", ()):
            if bar["path"] == found["array"] and bar["name"] != "open":
                keep("cost.touches", array=bar["path"], access=bar["name"])


PART = ExplorerPart(
    "cost", "Cost", "Cost of reading", (CostView,), place=6, alone=False, paints="access",
    address=("cost",), recorded=("cost.show",), record=_record,
)  # fmt: skip
