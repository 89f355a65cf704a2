"""Cuts an axis where its progressions end, or lists numbers where that is shorter."""

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
"""What one more gen item takes, about."""
KEYS_PER_NUMBER = 4
"""A number is listed only if at least this many references need it."""
_WINDOW = 64


def cuts_of(profile: np.ndarray, weight: int, keys: int) -> list[tuple[int, int]]:
    """Return the stretches of an axis to be written each by itself, as first and end.

    Parameters
    ----------
    profile
        What the axis adds to each field, shape ``(fields, n)``.
    weight
        References at each place of the axis.
    keys
        How many of the fields, from the first, are numbers of the key.

    Returns
    -------
    list
        One stretch of the whole axis where it can stay as it is. Places that are in no stretch
        follow no progression.
    """
    size = profile.shape[1]
    lists = _lists(profile, keys)
    if lists == []:
        return [(0, size)]
    stretches = list(_stretches(profile, weight))
    if lists is None or _chars(lists) > _chars_without(stretches, size, weight):
        return stretches
    if sum(len(found.listed) for found in lists) * KEYS_PER_NUMBER > size * weight:
        return stretches
    longest = max(lists, key=lambda found: len(found.listed))
    span = size if len(longest.listed) <= LISTED_VALUES else LISTED_VALUES * longest.period
    return [(at, min(at + span, size)) for at in range(0, size, span)]


def _lists(profile: np.ndarray, keys: int) -> list[Progression] | None:
    """Return the lists that the whole axis takes; None if the key itself would be looked up."""
    field = own_field(profile, keys)
    wholes = [fit_whole(numbers) for numbers in profile]
    if slopes(profile, field) is not None:
        return [wholes[field]] if wholes[field].plain is None else []
    if any(found.listed for found in wholes[:keys]):
        return None
    return [found for found in wholes if found.listed]


def own_field(profile: np.ndarray, keys: int) -> int:
    """Return the number of the key that tells the places of the axis apart."""
    return next(at for at in range(keys) if np.all(np.diff(profile[at]) > 0))


def slopes(profile: np.ndarray, field: int) -> np.ndarray | None:
    """Return by what each field grows with one of them; None if not all grow with it."""
    if profile.shape[1] < 2:
        return np.zeros(len(profile), np.int64)
    found: np.ndarray = profile[:, 1] // profile[field, 1]
    return found if np.array_equal(found[:, None] * profile[field], profile) else None


def _chars(lists: list[Progression]) -> int:
    return sum(len(str(number)) + 1 for found in lists for number in found.listed)


def _chars_without(stretches: list[tuple[int, int]], size: int, weight: int) -> int:
    """Estimate the text of stretches as gen items, and of what is in none, written out."""
    inside = sum(end - start for start, end in stretches)
    return len(stretches) * ITEM_CHARS + (size - inside) * min(weight * 50, ITEM_CHARS)


def _stretches(profile: np.ndarray, weight: int) -> Iterator[tuple[int, int]]:
    """Yield the longest progressions that are worth an item, from the left."""
    size, at = profile.shape[1], 0
    starts = _promising(profile)
    while at < size:
        place = int(np.searchsorted(starts, at))
        if place == len(starts):
            return
        at = int(starts[place])
        reach = min(_reach(field[at:]) for field in profile)
        if reach * weight * 50 > ITEM_CHARS:
            yield at, at + reach
            at += reach
        else:
            at += 1


def _promising(profile: np.ndarray) -> np.ndarray:
    """Return the places where each field takes two equal steps, or two that come again."""
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
