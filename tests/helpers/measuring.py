"""Timings, which other work on the machine makes longer and never shorter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

TRIES = 5


def least(
    measures: Sequence[Callable[[], float]], is_enough: Callable[[list[float]], bool]
) -> list[float]:
    """Measure in turns, again only until the least times are what was expected."""
    found = [math.inf] * len(measures)
    for _ in range(TRIES):
        found = [min(before, measure()) for before, measure in zip(found, measures, strict=True)]
        if is_enough(found):
            break
    return found
