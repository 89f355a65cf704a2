"""The rule that explains most targets that moved, and the shift that explains most offsets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from refexplorer.masking import masks_repr

MOST_PAIRS = 100_000
"""Pairs of URLs that rules are made from, the most frequent first."""


@masks_repr
class Rename(NamedTuple):
    """URLs that start with `old` start with `new` instead, which explains so many keys."""

    old: str
    new: str
    keys: int

    def __str__(self) -> str:
        return f"{self.old}={self.new}"


class Shift(NamedTuple):
    """Byte ranges begin so many bytes further, and this holds for so many keys."""

    by: int
    keys: int


def find_renames(moved: Iterable[tuple[str, str, int]], most: int = 3) -> tuple[Rename, ...]:
    """Return the rules that explain most keys, each of what those before it do not explain.

    Parameters
    ----------
    moved
        URL before, URL after, and how many keys moved so.
    """
    left = sorted(moved, key=lambda pair: -pair[2])[:MOST_PAIRS]
    found: list[Rename] = []
    while left and len(found) < most:
        votes: Counter[tuple[str, str]] = Counter()
        for before, after, keys in left:
            votes[rule(before, after)] += keys
        (old, new), _ = votes.most_common(1)[0]
        explained = [pair for pair in left if renamed(pair[0], old, new) == pair[1]]
        found.append(Rename(old, new, sum(keys for _, _, keys in explained)))
        left = [pair for pair in left if renamed(pair[0], old, new) != pair[1]]
    return tuple(found)


def renamed(url: str, old: str, new: str) -> str | None:
    """Apply a rule to a URL; None if it does not start like that."""
    return new + url[len(old) :] if url.startswith(old) else None


def rule(before: str, after: str) -> tuple[str, str]:
    """Return the differing starts of two URLs, down to a slash where there is one."""
    common = 0
    for first, second in zip(reversed(before), reversed(after), strict=False):
        if first != second:
            break
        common += 1
    if common == len(before) and after[: len(after) - common].endswith("/"):
        return "", after[: len(after) - common]
    if common == len(after) and before[: len(before) - common].endswith("/"):
        return before[: len(before) - common], ""
    kept = before[len(before) - common :]
    tail = len(kept) - kept.find("/") - 1 if "/" in kept else 0
    return before[: len(before) - tail], after[: len(after) - tail]


def find_shifts(shifts: np.ndarray, most: int = 3) -> tuple[Shift, ...]:
    """Return the shifts that many byte ranges share, of an array of shifts in bytes."""
    values, counts = np.unique(shifts, return_counts=True)
    least = max(2, len(shifts) // 100)
    order = np.argsort(-counts, kind="stable")[:most]
    return tuple(
        Shift(int(values[each]), int(counts[each])) for each in order if counts[each] >= least
    )
