"""One-dimensional coordinates: gaps, duplicates, values out of order or missing, and the step.

A coordinate is judged by its own rule: a fixed step, a number of months, or none. Only coordinates
with a rule can have gaps, so levels, overpasses and Gaussian latitudes have none.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from refexplorer.checks.compare.cf import SECONDS, calendar_of, epoch_of, is_time, unpacked
from refexplorer.checks.compare.set_array import SetArray
from refexplorer.core.text import array_text, counted
from refexplorer.spec.codes import CODES, Severity
from refexplorer.spec.findings import Finding, pointer

REGULAR = 0.9  # The part of all steps that must be alike, to speak of gaps
_OF_OTHERS = 20
"""Least number of steps of an axis without times: pressure levels are few and begin evenly."""
_SAME_STEP = 0.01  # How much a step may differ from the others, of its length
_GAP = 1.5  # Steps that are longer by this factor are gaps; months have a rule of their own
_RUNS = 4  # Stretches with a step each: forecasts are hourly at first, then every three hours
_CALENDAR_VALUES = 50_000  # Dates of other calendars that are made, a microsecond each
_NAMED = 3
PLACES = 100  # Places of one code that are kept: a screen has no room to mark more
IN_FILES = "it is in files."  # Why a coordinate is not read unless this is requested
NO_VALUES = "it has no values."
_SHORTEST_MONTH = 27 * 86_400
_LAST_DATE = 1e14  # Seconds that are shown as a date: three million years
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


@dataclass(frozen=True)
class CheckedAxis:
    """A coordinate that was checked."""

    path: str
    size: int  # The number of values
    first: str | None = None  # The first and last value, dates in ISO 8601; None if unknown
    last: str | None = None
    step: str | None = None  # ``"1 day"``, ``"3 months"``, ``"0.25"``; None if it is not regular
    is_uneven: bool = False  # Whether some values have another step, or are there twice
    why: str = ""  # Why its values were not read; empty if they were

    @property
    def sentence(self) -> str:
        """Return the ends and the step, or why they are unknown."""
        name = array_text(self.path)
        if self.why:
            return f"{name} was not read: {self.why.rstrip('.')}"
        step = "no even step" if self.step is None else f"a step of {self.step}"
        if self.step is not None and self.is_uneven:
            step += " between most"
        return f"{name}: {counted(self.size, 'value')} from {self.first} to {self.last}, {step}"


class AxisValues:
    """The values of a coordinate, decoded as in CF: numbers, or times in seconds."""

    @np.errstate(all="ignore")  # a file may hold any number
    def __init__(self, ours: SetArray, stored: np.ndarray, is_there: np.ndarray) -> None:
        self.ours = ours
        units = ours.attribute("units")
        self.units = units if isinstance(units, str) else ""
        self.is_time = is_time(self.units) or stored.dtype.kind == "M"
        self.unit, self._epoch = "second", 0.0
        if stored.dtype.kind == "M":
            found = stored.astype("datetime64[us]").astype(np.float64) / 1e6
            found[np.isnat(stored)] = np.nan
        else:
            found = unpacked(stored, ours.attribute, ours.attribute("_FillValue"))
        if is_time(self.units):
            word = self.units.split()[0].lower()
            seconds = SECONDS.get(word) or SECONDS.get(word.removesuffix("s"))
            known = epoch_of(self.units)
            self._epoch = np.nan if known is None else known[1] / 1e6
            if seconds is None:  # months and years have no length
                self.unit = word.removesuffix("s")
            else:
                found = found * seconds
        self.is_there = is_there & np.isfinite(found)
        self.values: np.ndarray = found

    @classmethod
    def decoded(cls, ours: SetArray, values: np.ndarray, is_there: np.ndarray) -> AxisValues:
        """Return decoded values, times in seconds since 1970."""
        found = cls(ours, np.empty(0), np.empty(0, np.bool_))
        found.values, found.is_there = values, is_there
        found.unit, found._epoch = "second", 0.0
        return found

    @classmethod
    def joined(cls, parts: Sequence[AxisValues]) -> AxisValues:
        """Return several axes concatenated, in the units of the first."""
        found = copy(parts[0])  # nothing is known of it yet
        found.__dict__ = {n: v for n, v in vars(found).items() if n not in _DERIVED}
        found.values = np.concatenate([each.values + each.since - found.since for each in parts])
        found.is_there = np.concatenate([each.is_there for each in parts])
        return found

    @property
    def since(self) -> float:
        """Seconds from 1970 to the epoch; 0 without dates or in other calendars."""
        return float(self._epoch) if np.isfinite(self._epoch) else 0.0

    @cached_property
    def kept(self) -> np.ndarray:
        """The values that are not missing."""
        return self.values[self.is_there]

    @cached_property
    def index(self) -> np.ndarray:
        """The indices of these values."""
        return np.flatnonzero(self.is_there)

    @cached_property
    def steps(self) -> np.ndarray:
        """The differences between successive values that are not missing."""
        return np.diff(self.kept)

    @cached_property
    def step(self) -> float | None:
        """The step that nearly all values have; None if it is not regular."""
        return _even_step(self.steps)

    @property
    def is_uneven(self) -> bool:
        """Whether a step lacks a value, or there is no regular step."""
        steps = self.steps if self.months is None else np.diff(self.months)
        step = _even_step(steps)
        return len(steps) > 0 and (step is None or not _alike(steps, step).all())

    @cached_property
    def months(self) -> np.ndarray | None:
        """The month of each value, counted from year 0; None if the steps are not months."""
        steps = self.steps
        if (
            not self.is_time
            or self.unit != "second"
            or len(steps) < 2
            or np.median(np.abs(steps)) < _SHORTEST_MONTH
        ):
            return None
        numbers = self.month_numbers()
        return None if numbers is None or _even_step(np.diff(numbers)) is None else numbers

    def month_numbers(self) -> np.ndarray | None:
        """Return the month of each value, counted from some year; None without dates."""
        if not self.is_time:
            return None
        if self._is_standard:
            if np.abs(self.kept).max() > _LAST_DATE:
                return None
            stamps = (self.kept + self._epoch).astype("datetime64[s]")
            return stamps.astype("datetime64[M]").astype(np.int64)
        dates = self._dates(self.kept)
        return None if dates is None else np.array([d.year * 12 + d.month for d in dates], np.int64)

    @property
    def _is_standard(self) -> bool:
        return calendar_of(self.ours.attribute) == "standard" and np.isfinite(self._epoch)

    def _dates(self, values: np.ndarray) -> list[Any] | None:
        """Return the dates of another calendar, from cftime; None if it cannot decode them."""
        if len(values) > _CALENDAR_VALUES or self.unit != "second":
            return None
        try:
            cftime = import_module("cftime")

            seconds = f"seconds since {self.units.partition(' since ')[2]}"
            return list(cftime.num2date(values, seconds, calendar_of(self.ours.attribute)))
        except Exception:  # cftime may not be there, and raises what it likes
            return None

    def number_of(self, date: str) -> float | None:
        """Return an ISO 8601 date as a value of this axis; None if the axis has no dates."""
        if not self.is_time or self.unit != "second":
            return None
        stamp = np.datetime64(date, "s")
        if self._is_standard:
            return float(stamp.astype(np.int64)) - self._epoch
        try:
            cftime = import_module("cftime")

            parts = [int(part) for part in re.split("[-T:]", str(stamp))]
            calendar = calendar_of(self.ours.attribute)
            moment = cftime.datetime(*parts, calendar=calendar)
            seconds = f"seconds since {self.units.partition(' since ')[2]}"
            return float(cftime.date2num(moment, seconds, calendar))
        except Exception:  # cftime may not be there, and raises what it likes
            return None

    def stamps(self) -> np.ndarray | None:
        """Return times in microseconds since 1970, NaN if missing; None without dates."""
        found = np.full(len(self.values), np.nan)
        if self._is_standard:
            found[self.is_there] = (self.kept + self._epoch) * 1e6
        elif (dates := self._dates(self.kept)) is None:
            return None
        else:
            try:  # not every date of another calendar is one of this
                known = np.array([each.isoformat() for each in dates], "datetime64[us]")
            except ValueError:
                return None
            found[self.is_there] = known.astype(np.float64)
        return found

    def text(self, value: float) -> str:
        """Return a value as readable text: dates in ISO 8601."""
        if not self.is_time:
            return f"{value:.10g}"
        if self._is_standard and abs(value) < _LAST_DATE:
            stamp = str(np.datetime64(round(value + self._epoch), "s"))
        elif dates := self._dates(np.array([value])):
            stamp = dates[0].isoformat()
        else:
            return f"{value:.10g} {self.unit}s since {self.units.partition(' since ')[2]}"
        return stamp.removesuffix("T00:00:00").removesuffix(":00")

    def between(self, number: int) -> str:
        """Return the two values around a step, by its number."""
        one, two = (self.text(float(each)) for each in self.kept[number : number + 2])
        at, after = self.index[number : number + 2].tolist()
        return f"between {one} and {two} (elements {at:,} and {after:,})"

    def step_text(self, step: float) -> str:
        """Return a step with its unit."""
        if self.months is not None:
            return counted(abs(round(step)), "month")
        if not self.is_time:
            return f"{step:.6g}"
        if self.unit != "second":
            return f"{abs(step):.6g} {self.unit}s"
        for seconds, unit in _UNITS:
            count = abs(step) / seconds
            if count >= 1 and abs(count - round(count)) < _SAME_STEP:
                return counted(round(count), unit)
        return f"{abs(step):.6g} seconds"


_DERIVED = {"kept", "index", "steps", "step", "months"}


def _even_step(steps: np.ndarray) -> float | None:
    """Return the step that nearly all share, or all but one of a few."""
    if not len(steps):
        return None
    middle = float(np.median(steps))
    if not middle:
        return None
    n_alike = int(np.count_nonzero(_alike(steps, middle)))
    is_even = n_alike >= REGULAR * len(steps) or (n_alike == len(steps) - 1 and n_alike > 1)
    return middle if is_even else None


def _alike(steps: np.ndarray, step: float) -> np.ndarray:
    alike: np.ndarray = np.abs(steps - step) <= _SAME_STEP * abs(step)
    return alike


@np.errstate(all="ignore")
def look_at(values: AxisValues) -> CheckedAxis:
    """Return what can be determined about a coordinate."""
    kept, path, size = values.kept, values.ours.meta.path, len(values.values)
    if not len(kept):
        return CheckedAxis(path, size, why=NO_VALUES)
    ends = values.text(float(kept[0])), values.text(float(kept[-1]))
    step = _even_step(np.diff(values.months)) if values.months is not None else values.step
    text = None if step is None else values.step_text(step)
    return CheckedAxis(path, size, *ends, text, values.is_uneven)


class OddPlaces(NamedTuple):
    """What is irregular in a coordinate, and where."""

    finding: Finding
    places: tuple[float, ...]  # The first, counted in elements; a half is between two
    n_places: int  # How many there are


@np.errstate(all="ignore")
def odd_places(values: AxisValues, base: str) -> Iterator[OddPlaces]:
    """Yield the irregularities of a coordinate; `base` is the prefix of JSON pointers."""
    for code, rule in _RULES.items():
        if (found := rule(values)) is None:
            continue
        where, sentence = found
        meta = values.ours.meta
        key = meta.chunk_key(meta.chunk_at((int(where[0]),)))
        message = f"{array_text(meta.path)}: {sentence}."
        hint = "" if CODES[code].severity is Severity.INFO else CODES[code].mend
        finding = Finding(code, CODES[code].severity, base + pointer(key), message, hint, key=key,
                          array=meta.path, keys=(key,))  # fmt: skip
        yield OddPlaces(finding, tuple(where[:PLACES].tolist()), len(where))


def axis_findings(values: AxisValues, base: str) -> list[Finding]:
    """Return the irregularities of a coordinate as findings."""
    return [each.finding for each in odd_places(values, base)]


_OddPlace = tuple[np.ndarray, str] | None  # Where it is odd, as `OddPlaces` counts, and a sentence


def _missing(values: AxisValues) -> _OddPlace:
    gone = np.flatnonzero(~values.is_there)
    if not len(gone) or not len(values.kept):
        return None
    verb = "value is" if len(gone) == 1 else "values are"
    at = "element " + ", ".join(f"{n:,}" for n in gone[:_NAMED].tolist())
    more = ", …" if len(gone) > _NAMED else ""
    return gone, f"{len(gone):,} {verb} missing: {at}{more}"


def _duplicates(values: AxisValues) -> _OddPlace:
    kept = values.kept
    order = np.argsort(kept, kind="stable")
    same = np.flatnonzero(np.diff(kept[order]) == 0)
    if not len(same):
        return None
    pairs = sorted(zip(order[same + 1].tolist(), order[same].tolist(), strict=True))
    named = ", ".join(
        f"{values.text(float(kept[one]))} (elements {values.index[two]:,} and "
        f"{values.index[one]:,})"
        for one, two in pairs[:_NAMED]
    )
    n_more = len(pairs) - _NAMED
    more = f" and {n_more:,} more" if n_more > 0 else ""
    verb = "value repeats" if len(pairs) == 1 else "values repeat"
    places = values.index[[one for one, _ in pairs]]
    return places, f"{len(pairs):,} {verb} an earlier one: {named}{more}"


def _turned(values: AxisValues) -> _OddPlace:
    """Find decreasing values in times, and in coordinates that nearly always change one way."""
    steps = values.steps[values.steps != 0]
    if len(steps) < 2:
        return None
    ahead = np.sign(np.median(steps)) or 1
    turned = np.flatnonzero(np.sign(values.steps) == -ahead)
    n_turned = len(turned)
    is_longitude = "east" in values.units.lower() or values.ours.name.lower().startswith("lon")
    if not n_turned or (is_longitude and n_turned == 1):
        return None
    if not values.is_time and n_turned > (1 - REGULAR) * len(steps):
        return None
    more = "" if n_turned == 1 else f", and {counted(n_turned - 1, 'more time')}"
    return _after(values, turned), f"values go back {values.between(int(turned[0]))}{more}"


def _gaps(values: AxisValues) -> _OddPlace:
    steps = values.steps if values.months is None else np.diff(values.months)
    step = values.step if values.months is None else _even_step(steps)
    if step is None or (not values.is_time and len(steps) < _OF_OTHERS):
        return None
    longer = 1.0 if values.months is not None else _GAP
    gaps = np.flatnonzero(steps / step > longer)
    if not values.is_time:  # levels that go on with another step have no gap
        is_inside = (gaps > 0) & (gaps < len(steps) - 1)
        alike = _alike(steps, step)
        gaps = gaps[is_inside]
        gaps = gaps[alike[gaps - 1] & alike[gaps + 1]]
    if not len(gaps) or _is_pattern(gaps, steps[gaps]):
        return None
    counts = [(n, round(steps[n] / step) - 1) for n in gaps[:_NAMED].tolist()]
    named = "; ".join(values.between(n) + f", {k:,} missing" * (k > 0) for n, k in counts)
    n_more = len(gaps) - _NAMED
    more = f"; and {n_more:,} more" if n_more > 0 else ""
    of = f"steps of {values.step_text(step)}"
    return _after(values, gaps), f"{counted(len(gaps), 'gap')} in {of}: {named}{more}"


def _after(values: AxisValues, steps: np.ndarray) -> np.ndarray:
    """Return the indices after the given steps."""
    places: np.ndarray = values.index[steps] + 0.5
    return places


def _is_pattern(gaps: np.ndarray, lengths: np.ndarray) -> bool:
    """Return whether gaps are alike and regular, such as nights between daytime hours."""
    return len(gaps) > 2 and len(set(np.diff(gaps).tolist())) == 1 and not np.ptp(lengths)


def _changes(values: AxisValues) -> _OddPlace:
    """Find the few positions where a regular step changes."""
    steps = values.steps
    if values.months is not None or values.step is not None or len(steps) < 2 * _RUNS:
        return None
    if not values.is_time:
        return None
    has_changed = np.abs(np.diff(steps)) > _SAME_STEP * np.abs(steps[:-1])
    starts = np.append(0, 1 + np.flatnonzero(has_changed))
    lengths = np.diff(np.append(starts, len(steps)))
    if not 1 < len(starts) <= _RUNS or lengths.min() < 3 or (steps == 0).any():
        return None
    named = "; ".join(
        f"from {values.step_text(float(steps[n - 1]))} to {values.step_text(float(steps[n]))} at "
        f"{values.text(float(values.kept[n]))} (element {values.index[n]:,})"
        for n in starts[1:].tolist()
    )
    return values.index[starts[1:]], f"the step changes {named}"


_RULES: dict[str, Callable[[AxisValues], _OddPlace]] = {
    "axis-nan": _missing,
    "axis-duplicate": _duplicates,
    "axis-order": _turned,
    "axis-gap": _gaps,
    "axis-step": _changes,
}


def is_axis(ours: SetArray) -> bool:
    """Return whether an array is a dimension coordinate with numbers or dates."""
    meta, dtype = ours.meta, ours.dtype
    is_one = len(meta.shape) == 1 and meta.is_dimension and meta.shape[0] > 0
    return is_one and dtype is not None and dtype.kind in "iufM"


_JOINED = 2**21  # Values of a coordinate in files that are put together
_RUNS_IN_FILES = 100
"""Stretches without a missing value that are judged; between them are files that were not read."""
_OF_FILES = ("axis-duplicate", "axis-order", "axis-gap")
"""Only these are reported: the absence of others may mean that a file was not read."""


class FileAxis:
    """A coordinate of several files, one segment each, decoded: numbers, or times in seconds."""

    def __init__(self) -> None:
        self.is_partial = False  # Whether not all of it is judged
        self._values = np.empty(0)
        self._numbers, self._starts, self._stops = array("q"), array("q"), array("q")

    def add(self, ours: SetArray, number: int, start: int, values: Sequence[float]) -> None:
        """Add a file by its number, start index and values."""
        size = ours.meta.shape[0]
        if size > _JOINED:
            self.is_partial = True
            return
        if not len(self._values):
            self._values = np.full(size, np.nan)
        stop = min(start + len(values), size)
        self._values[start:stop] = values[: max(stop - start, 0)]
        for column, found in zip(
            (self._numbers, self._starts, self._stops), (number, start, stop), strict=True
        ):
            column.append(found)

    def findings(self, ours: SetArray, base: str) -> Iterator[tuple[Finding, list[int]]]:
        """Yield irregularities between and within files, with the numbers of the first files."""
        known = np.flatnonzero(np.isfinite(self._values))
        ends = 1 + np.flatnonzero(np.diff(known) > 1)
        self.is_partial |= len(ends) >= _RUNS_IN_FILES
        runs = np.split(known, ends[:_RUNS_IN_FILES])[:_RUNS_IN_FILES] if len(known) else ()
        for run in runs:
            is_there = np.zeros(len(self._values), np.bool_)
            is_there[run] = True
            for odd in odd_places(AxisValues.decoded(ours, self._values, is_there), base):
                if odd.finding.code in _OF_FILES:
                    yield odd.finding, self._files_at(int(np.ceil(odd.places[0])) - 1)

    def _files_at(self, index: int) -> list[int]:
        """Return the numbers of the files that contain an element or start after it."""
        starts, stops = np.array(self._starts), np.array(self._stops)
        has = (starts <= index) & (index < stops) | (starts == index + 1)
        found: list[int] = np.array(self._numbers)[has].tolist()
        return found
