"""The time that each array covers: by its time coordinate, else by the names of its targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from refexplorer.markup import counted
from refexplorer.refset.contents import internals
from refexplorer.views.health.time_axes import TimeAxes, UnknownTimesError
from refexplorer.views.wire.explorer.health_messages import TimeRange

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet
    from refexplorer.spec.zarr_metadata import ArrayMeta


class FoundRange(NamedTuple):
    """The time that an array covers."""

    # Microseconds since 1970, which a table is sorted by; None where it is not known
    first: int | None
    told: TimeRange  # What is said of it


class TimeRanges:
    """The times of the arrays of a set."""

    def __init__(self, refs: ReferenceSet) -> None:
        self._internals = internals(refs)
        self._axes = TimeAxes(refs)

    def of(self, array: ArrayMeta) -> FoundRange:
        """Return the time range of an array."""
        why = "It has no time coordinate"
        try:
            if (axis := self._axes.of(array)) is not None:
                said = f"By the time coordinate `{axis.path}`."
                return _found(np.nanmin(axis.times), np.nanmax(axis.times), "coordinate", said)
        except UnknownTimesError as error:
            why = str(error).rstrip(".")
        if "target_index" not in vars(self._internals):
            return _unknown(f"{why}; the names of its targets were not looked at yet.")
        index = self._internals.target_index
        span = index.date_spans.get(array.path)
        if span is None or not span.dated or (span.targets == 1 and why.startswith("It has no")):
            # a file has the date of its name, an array in it without times need not
            return _unknown(f"{why}, and the names of its targets tell no range of dates.")
        named = f"{span.dated:,} of {counted(span.targets, 'target')}"
        if span.dated == span.targets:
            named = counted(span.targets, "target")
        left = "; generated keys that were not evaluated may have others" if index.unlisted else ""
        said = f"By the dates in the names of {named}{left}. {why}."
        first, last = (each.astype("datetime64[us]").astype(np.int64) for each in span[:2])
        return _found(float(first), float(last), "names", said)


def _found(first: float, last: float, source: str, said: str) -> FoundRange:
    return FoundRange(int(first), TimeRange(_date(first), _date(last), source, said))  # type: ignore[arg-type]


def _unknown(said: str) -> FoundRange:
    return FoundRange(None, TimeRange(None, None, None, said))


def _date(microseconds: float) -> str:
    """Return a time to the second, without seconds or a time of day that are zero."""
    stamp = str(np.datetime64(round(microseconds / 1e6), "s"))
    return stamp.removesuffix(":00").removesuffix("T00:00").replace("T", " ")
