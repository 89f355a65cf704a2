"""The controller of the view of costs: bars, findings, and chunks by how often they are read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from refexplorer.checks.advice.advising import GIVEN, Advice, standard_accesses
from refexplorer.checks.advice.connections import (
    PLACES,
    READERS,
    Connection,
    connection_of,
    measure_connection,
)
from refexplorer.checks.advice.costs import AccessCost, ArrayCosts
from refexplorer.checks.advice.selections import PartOfArray, TasksOfArray, parse_access
from refexplorer.core.errors import AccessError, RefexplorerError
from refexplorer.core.text import counted
from refexplorer.refset.contents import internals
from refexplorer.spec.zarr_metadata import ArrayMeta
from refexplorer.views.code.cells import code_of_measure
from refexplorer.views.wire.answering import Operations, floats
from refexplorer.views.wire.context import ViewContext
from refexplorer.views.wire.explorer.cost_messages import (
    CostBar,
    CostModel,
    FindingModel,
    MeasureCost,
    MeasuredModel,
    PlaceModel,
    ReaderModel,
    ShowCost,
    ShowTouches,
    TouchesModel,
)
from refexplorer.views.wire.jobs import JobAnswer, JobReport, go_on, unheard

CELLS = 48
"""Most rows and most columns."""
_LONGEST = 10**7
"""Chunks along a dimension that are looked at one by one."""


def touches(part: PartOfArray | TasksOfArray) -> tuple[tuple[int, ...], np.ndarray]:
    """Return the drawn dimensions, and how often a chunk of each cell is read on average.

    Chunks are read by their places along each dimension, so that these are multiplied.
    """
    grid = part.array.grid
    if not math.prod(grid):
        raise RefexplorerError(f"{part.array.path or '/'} has no chunks.")
    if max(grid, default=1) > _LONGEST:
        raise RefexplorerError(
            f"{part.array.path or '/'} has more than {_LONGEST:,} chunks along a dimension, which "
            "are not drawn."
        )
    along = [part.touches(axis, np.arange(count)) for axis, count in enumerate(grid)]
    several = [axis for axis, count in enumerate(grid) if count > 1] or [*range(len(grid))][-1:]
    axes = tuple(sorted(sorted(several, key=lambda axis: -grid[axis])[:2]))
    others = math.prod(float(each.mean()) for axis, each in enumerate(along) if axis not in axes)
    sides = [_means(along[axis]) for axis in axes]
    sides = [np.ones(1)] * (2 - len(sides)) + sides
    return axes, np.multiply.outer(*sides) * others


def _means(values: np.ndarray) -> np.ndarray:
    """Return the means of at most `CELLS` equal blocks; the last may be shorter."""
    step = -(-len(values) // CELLS)
    starts = np.arange(0, len(values), step)
    found: np.ndarray = np.add.reduceat(values, starts) / np.diff(starts, append=len(values))
    return found


ARRAYS_LISTED = 500  # arrays that the menu lists
FINDINGS = 50  # findings in one answer
_GROUPS = 20  # bars in one answer
_TASKS = 10**6
"""Chunks, those of several tasks as often, that are looked at while somebody waits."""


class CostView:
    """Answers what the view of costs asks; keeps the advice for the last place."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._targets = context.targets
        self._did = context.did
        self._advice: Advice | None = None
        self.operations: Operations = {
            ShowCost: context.jobs.in_turn(self.show),
            MeasureCost: context.jobs.in_turn(self.measure),
            ShowTouches: context.jobs.in_turn(self.touches),
        }

    def show(self, request: ShowCost, report: JobReport = unheard) -> JobAnswer:
        """Answer ``cost.show``."""
        place = place_of(request)
        if self._advice is None or self._advice.place != place:
            arrays = counted(len(self._refs.arrays()), "array")
            go_on(report, None, None, f"Counting the requests of {arrays}")
            self._advice = self._refs.advise(place=place)
        advice, array = self._advice, self._array(request.array)
        costs = [*advice.opening[:_GROUPS]]
        costs += [cost for cost in advice.accesses if array and cost.path == array.path]
        if array is not None and request.given:
            costs.append(self._given(array, request.given, place))
        answer = CostModel(
            tuple(map(_place, PLACES.values())),
            _place(place),
            self._refs.arrays()[:ARRAYS_LISTED],
            None if array is None else array.path,
            () if array is None else _names(array),
            tuple(map(_bar, costs)),
            tuple(
                FindingModel(each.code, each.path, each.message, each.remedy, each.seconds_gained)
                for each in advice.findings[:FINDINGS]
            ),
            len(advice.findings),
            tuple(str(bound) for bound in advice.bounds if array and bound.path == array.path),
            advice.notes,
        )
        return answer, []

    def measure(self, request: MeasureCost, report: JobReport = unheard) -> JobAnswer:
        """Answer ``cost.measure``."""
        refs, targets, assumed = self._refs, self._targets, connection_of(request.place)

        def going_on() -> None:
            go_on(report, None, None, "Measuring by few requests")

        try:
            options = targets.storage_options
            place, asked = measure_connection(refs, targets.policy, options, assumed, going_on)
        except AccessError as error:
            return MeasuredModel(None, str(error), error.grant or None), []
        self._did(code_of_measure(request.place, targets.policy.granted))
        return MeasuredModel(_place(place), f"Measured by {asked}."), []

    def touches(self, request: ShowTouches, report: JobReport = unheard) -> JobAnswer:
        """Answer ``cost.touches``."""
        array = self._array(request.array)
        if array is None:
            raise RefexplorerError("The set has no arrays.")
        axes, cells = touches(self._part(array, request.access, request.given))
        rows, columns = cells.shape
        names, most = _names(array), float(cells.max())
        found = TouchesModel(array.path, array.grid, names, axes, rows, columns, most)
        return found, [floats(cells)]

    def _given(self, array: ArrayMeta, text: str, place: Connection) -> AccessCost:
        part = parse_access(array, text)
        if isinstance(part, TasksOfArray) and part.chunk_count > _TASKS:
            raise RefexplorerError(
                f"These tasks read {part.chunk_count:,} chunks; `refs.advise` counts so many."
            )
        return ArrayCosts(internals(self._refs).opened, array, place, [part]).cost(GIVEN, part)

    def _part(self, array: ArrayMeta, access: str, given: str) -> PartOfArray | TasksOfArray:
        if access == GIVEN:
            return parse_access(array, given)
        standard = standard_accesses(internals(self._refs).opened, array)
        if access not in standard:
            raise RefexplorerError(f"{access!r} is not asked of {array.path or '/'}.")
        return standard[access]

    def _array(self, path: str | None) -> ArrayMeta | None:
        """Return an array, by default the one of most chunks."""
        if path is None:
            arrays = map(self._refs.array, self._refs.arrays())
            return max(arrays, key=lambda array: array.chunk_count, default=None)
        try:
            return self._refs.array(path)
        except KeyError:
            raise RefexplorerError(f"There is no array at {path!r}.") from None


def place_of(request: ShowCost) -> Connection:
    """Return the place that a request names, with the numbers that it has of its own."""
    place = connection_of(request.place)
    latency = place.latency if request.latency is None else request.latency
    bandwidth = place.bandwidth if request.bandwidth is None else request.bandwidth
    # one request is as much slower or faster as all together
    stream = place.stream * (bandwidth / place.bandwidth)
    stream = stream if request.stream is None else request.stream
    if not (0 <= latency <= 3600 and 1 <= bandwidth <= 1e15 and 1e-3 <= stream <= 1e15):
        raise RefexplorerError("The latency or the bandwidth is out of range.")
    return replace(place, latency=latency, bandwidth=bandwidth, stream=stream)


def _names(array: ArrayMeta) -> tuple[str, ...]:
    names: Sequence[str] = array.dimensions or ("",) * len(array.shape)
    return tuple(name or f"axis {axis}" for axis, name in enumerate(names))


def _place(place: Connection) -> PlaceModel:
    return PlaceModel(place.name, place.latency, place.stream, place.bandwidth, place.concurrency)


def _bar(cost: AccessCost) -> CostBar:
    readers = tuple(
        ReaderModel(each.reader, rules.at_once, each.requests, each.bytes, each.seconds, each.reads)
        for each, rules in zip(cost.readers, READERS, strict=True)
    )
    return CostBar(
        cost.name,
        cost.path,
        cost.selection,
        cost.chunks,
        cost.held,
        cost.absent,
        cost.files,
        cost.used,
        cost.decoded,
        readers,
        cost.unknown,
    )
