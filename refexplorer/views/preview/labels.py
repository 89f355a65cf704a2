"""Places of a dimension as its coordinate names them: ``2000-06``, ``45.5``, ``-10.0:10.0``.

``~2000-06-10T12:30`` is the time that is nearest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from refexplorer.errors import RefexplorerError

_DATE = r"\d{4}-\d{2}(?:-\d{2}(?:T\d{2})?)?"
_NUMBER = r"-?\d+\.\d*"
_DATES = re.compile(rf"\s*({_DATE})?\s*(?:(:)\s*({_DATE})?\s*)?", re.ASCII)
_NEAREST = re.compile(rf"\s*~\s*({_DATE}(?::\d{{2}}){{,2}})\s*", re.ASCII)
_NUMBERS = re.compile(rf"\s*({_NUMBER})?\s*(?:(:)\s*({_NUMBER})?\s*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Labels:
    """The coordinate of a dimension."""

    numbers: np.ndarray[Any, np.dtype[np.float64]]  # As float64, times as milliseconds since 1970
    times: bool  # Whether they are times


def is_label(text: str) -> bool:
    """Say whether a text names places by a date, or by a number with a decimal point."""
    return _NEAREST.fullmatch(text) is not None or any(
        found is not None and bool(found[1] or found[3])
        for found in (_DATES.fullmatch(text), _NUMBERS.fullmatch(text))
    )


def places_of(text: str, name: str, labels: Labels) -> range:
    """Return the places that a label selects: all of a month, the nearest to a number.

    Of a range both ends are part, as in xarray's ``sel``.
    """
    if labels.times and (nearest := _NEAREST.fullmatch(text)) is not None:
        return _nearest(labels.numbers, _begin(nearest[1], times=True))
    found = (_DATES if labels.times else _NUMBERS).fullmatch(text)
    if found is None or not (found[1] or found[3]):
        what = "times" if labels.times else "numbers"
        raise RefexplorerError(f"{name}: {text!r} is no label: its coordinate has {what}.")
    numbers = labels.numbers
    if not labels.times and not found[2]:
        return _nearest(numbers, float(found[1]))
    low = -np.inf if not found[1] else _begin(found[1], labels.times)
    high = _end(found, labels.times)
    # an end that is written as a date is all of it, one of a number the number itself
    inside = numbers >= low
    inside &= numbers < high if labels.times else numbers <= high
    if not labels.times and found[1] and found[3] and low > high:
        inside = (numbers <= low) & (numbers >= high)
    places = np.flatnonzero(inside)
    if not places.size:
        raise RefexplorerError(f"{name}: {text} selects nothing of {_span(labels)}.")
    if places[-1] - places[0] + 1 != places.size:
        raise RefexplorerError(
            f"{name}: what {text} selects does not lie side by side, since the coordinate does not "
            "run one way; write indices."
        )
    return range(int(places[0]), int(places[-1]) + 1)


def _nearest(numbers: np.ndarray[Any, np.dtype[np.float64]], wanted: float) -> range:
    at = int(np.nanargmin(np.abs(numbers - wanted)))
    return range(at, at + 1)


def _begin(text: str, times: bool) -> float:
    return _milliseconds(np.datetime64(text)) if times else float(text)


def _end(found: re.Match[str], times: bool) -> float:
    text = found[3] if found[2] else found[1]
    if not text:
        return np.inf
    if not times:
        return float(text)
    date = np.datetime64(text)
    # NumPy 2.5 wants the unit of what is added to a date.
    return _milliseconds((date.astype(np.int64) + 1).astype(date.dtype))


def _milliseconds(date: np.datetime64) -> float:
    return float(date.astype("datetime64[ms]").astype(np.int64))


def _span(labels: Labels) -> str:
    low, high = np.nanmin(labels.numbers), np.nanmax(labels.numbers)
    if not labels.times:
        return f"{low:g} to {high:g}"
    dates = [np.datetime64(int(each), "ms").astype("datetime64[s]") for each in (low, high)]
    return f"{dates[0]} to {dates[1]}"
