"""Cuts of an axis where its progressions end, or lists of numbers where that is shorter."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from refexplorer.refset.inference.progressions import (
    LISTED_VALUES,
    Progression,
    fit_start,
    fit_whole,
)

ITEM_CHARS = 250
"""Bytes that one more gen item takes, about."""
KEYS_PER_NUMBER = 4
"""A number is listed only if at least this many references need it."""
MOST_TRIES = 500
"""Positions of one axis where a progression is looked for."""
_WINDOW = 64


def cuts_of(profile: np.ndarray, weight: int, keys: int) -> list[tuple[int, int]]:
    """Return the intervals of an axis to be written each by itself, as first and end.

    Parameters
    ----------
    profile
        What the axis adds to each field, shape ``(fields, n)``.
    weight
        References at each position of the axis.
    keys
        How many of the fields, from the first, are numbers of the key.

    Returns
    -------
    list
        One interval of the whole axis where it can stay as it is. Positions that are in no interval
        follow no progression.
    """
    size = profile.shape[1]
    own = own_field(profile, keys)
    if own is None:
        return []
    wholes = [fit_whole(numbers) for numbers in profile]
    follows = slopes(profile, own) is not None
    lists = [wholes[own]] if follows else wholes
    lists = [found for found in lists if found.plain is None and (follows or found.listed)]
    if not lists:
        return [(0, size)]
    intervals = list(_intervals(profile, weight))
    if _chars(lists) > _chars_without(intervals, size, weight):
        return intervals
    if follows:  # the dimension is the list, which costs nothing to look up
        return [(0, size)]
    numbers = sum(len(found.listed) for found in lists)
    in_keys = any(found.listed for found in wholes[:keys])
    return (
        intervals if in_keys or numbers * KEYS_PER_NUMBER > size * weight else _spans(lists, size)
    )


def _spans(lists: list[Progression], size: int) -> list[tuple[int, int]]:
    """Cut an axis so that no list becomes too long."""
    longest = max(lists, key=lambda found: len(found.listed))
    span = size if len(longest.listed) <= LISTED_VALUES else LISTED_VALUES * longest.period
    return [(start, min(start + span, size)) for start in range(0, size, span)]


def own_field(profile: np.ndarray, keys: int) -> int | None:
    """Return the number of the key that tells the positions of the axis apart.

    None if each comes more than once, as where keys differ in the zeros before it alone.
    """
    return next((field for field in range(keys) if np.all(np.diff(profile[field]) > 0)), None)


def slopes(profile: np.ndarray, field: int) -> np.ndarray | None:
    """Return by what each field grows with one of them; None if not all grow with it."""
    if profile.shape[1] < 2:
        return np.zeros(len(profile), np.int64)
    found: np.ndarray = profile[:, 1] // profile[field, 1]
    return found if np.array_equal(found[:, None] * profile[field], profile) else None


def _chars(lists: list[Progression]) -> int:
    return sum(len(",".join(map(str, found.listed))) + 1 for found in lists if found.listed)


def _chars_without(intervals: list[tuple[int, int]], size: int, weight: int) -> int:
    """Estimate the text of intervals as gen items, and of what is in none, written out."""
    inside = sum(end - start for start, end in intervals)
    return len(intervals) * ITEM_CHARS + (size - inside) * min(weight * 50, ITEM_CHARS)


def _intervals(profile: np.ndarray, weight: int) -> Iterator[tuple[int, int]]:
    """Yield the longest progressions that are worth an item, from the left."""
    start, starts = 0, _promising(profile)
    for _ in range(MOST_TRIES):
        position = int(np.searchsorted(starts, start))
        if position == len(starts):
            return
        start = int(starts[position])
        reach = min(_reach(field[start:]) for field in profile)
        if reach * weight * 50 > ITEM_CHARS:
            yield start, start + reach
            start += reach
        else:
            start += 1


def _promising(profile: np.ndarray) -> np.ndarray:
    """Return the positions where each field takes two equal steps, or two that come again."""
    steps = np.diff(profile)
    twice = np.zeros(profile.shape[1], np.bool_)
    twice[: max(steps.shape[1] - 1, 0)] = np.all(steps[:, 1:] == steps[:, :-1], axis=0)
    twice[: max(steps.shape[1] - 2, 0)] |= np.all(steps[:, 2:] == steps[:, :-2], axis=0)
    return np.flatnonzero(twice)


def _reach(values: np.ndarray) -> int:
    """Return how many numbers a nested progression fits, looking only as far as it must."""
    window = _WINDOW
    while (reach := fit_start(values[:window])[1]) == min(window, len(values)) < len(values):
        window *= 8
    return reach
