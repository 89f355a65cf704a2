"""The controller of the health table: the arrays of a set, what is wrong first."""

from __future__ import annotations

from collections.abc import Sequence

from refexplorer.markup import counted
from refexplorer.refset.queries.array_states import StateCounts
from refexplorer.views.health.health import ChunkHealth, HealthColumns
from refexplorer.views.wire.answering import Operations
from refexplorer.views.wire.context import ViewContext
from refexplorer.views.wire.explorer_messages import HealthPage, HealthRows, HealthSort
from refexplorer.views.wire.jobs import JobAnswer, Report, go_on, unheard
from refexplorer.views.wire.models import HealthCounts, HealthRow

ROWS = 1000
"""Most rows that one answer carries."""


class HealthTable:
    """Answers what the table of arrays asks."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._health = ChunkHealth(context.references, context.failure_log)
        self.operations: Operations = {HealthRows: context.jobs.in_turn(self.rows)}

    def rows(self, request: HealthRows, report: Report = unheard) -> JobAnswer:
        """Answer ``health.rows``."""
        if not self._health.is_counted:
            arrays = counted(len(self._refs.arrays()), "array")
            go_on(report, None, None, f"Counting the chunks of {arrays}")
        columns = self._health.columns()
        order = sorted_places(columns, request.sort, request.descending)
        start, n = max(request.start, 0), min(max(request.n, 0), ROWS)
        rows = tuple(_row(columns, place) for place in order[start : start + n])
        return HealthPage(start, len(order), rows, total_of(columns)), []


def sorted_places(columns: HealthColumns, sort: HealthSort, descending: bool) -> list[int]:
    """Return the places of the arrays in an order; what is not known comes last."""
    places = list(range(len(columns.states.arrays)))
    if sort == "path":
        return places[::-1] if descending else places
    if sort == "trouble":
        return sorted(places, key=lambda place: _trouble(columns, place), reverse=descending)
    values = [_value(columns, sort, place) for place in places]
    known = [place for place in places if values[place] is not None]
    unknown = [place for place in places if values[place] is None]
    return [*sorted(known, key=lambda place: values[place] or 0, reverse=descending), *unknown]


def _trouble(columns: HealthColumns, place: int) -> tuple[int, ...]:
    """Say how much is wrong with an array: what is surely wrong counts before what may be."""
    counts = columns.states.counts[place]
    errors, warnings = (0 if each is None else each[place] for each in _noted(columns))
    lost = columns.failed[place] + (counts.rejected or 0) + (columns.differing[place] or 0)
    return lost, errors, warnings, counts.absent or 0


def _noted(columns: HealthColumns) -> tuple[Sequence[int] | None, Sequence[int] | None]:
    return columns.errors, columns.warnings


def _value(columns: HealthColumns, sort: HealthSort, place: int) -> int | None:
    if sort == "bytes":
        return columns.states.sizes[place]
    counts: int | None = getattr(_counts(columns, place), sort)
    return counts


def _row(columns: HealthColumns, place: int) -> HealthRow:
    array = columns.states.arrays[place]
    errors, warnings = (None if each is None else each[place] for each in _noted(columns))
    return HealthRow(
        array.path,
        array.shape,
        array.chunks,
        array.dtype,
        columns.states.sizes[place],
        _counts(columns, place),
        errors,
        warnings,
    )


def _counts(columns: HealthColumns, place: int) -> HealthCounts:
    failed, read = columns.failed[place], columns.read[place]
    unread, differing = columns.unread(place), columns.differing[place]
    return _told(columns.states.counts[place], failed, read, unread, differing)


def _told(
    counts: StateCounts, failed: int, read: int, unread: int | None, differing: int | None
) -> HealthCounts:
    return HealthCounts(*counts, failed if failed + read else None, unread, differing)


def total_of(columns: HealthColumns) -> HealthCounts:
    """Return the sums over all arrays; of differing chunks over those that were compared."""
    total, failed, read = columns.states.total, sum(columns.failed), sum(columns.read)
    unread = None if total.referenced is None else max(total.referenced - failed - read, 0)
    compared = [each for each in columns.differing if each is not None]
    return _told(total, failed, read, unread, sum(compared) if compared else None)
