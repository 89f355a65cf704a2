"""References of all segments as columns; gen items as far as they may be evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from refexplorer.refset.columns.reference_columns import Columns, ColumnsBuilder
from refexplorer.refset.segments.generated_columns import columns_of
from refexplorer.refset.segments.segment import Generated

EVALUATED_KEYS = 200_000
"""Generated keys that one question evaluates; more take too long to wait for."""


@dataclass(frozen=True)
class Listing:
    """Evaluated references of a gen item, n rows; those that fail are skipped.

    Attributes
    ----------
    rows
        Their numbers in the segment, shape ``(n,)`` int64.
    keys
        Their keys.
    columns
        What they refer to.
    """

    rows: np.ndarray
    keys: list[str]
    columns: Columns


def listings(segment: Generated, stop: int | None = None) -> Iterator[Listing]:
    """Evaluate the references of a gen item up to a row, many at a time."""
    for run in segment.runs(0, stop):
        yield Listing(run.numbers, run.keys, columns_of(run))


def evaluated(segment: Generated, row: int) -> Columns:
    """Evaluate one reference of a gen item; nothing if it fails."""
    builder = ColumnsBuilder()
    reference = segment.reference_at(row)
    if reference is not None:
        builder.add(reference)
    return builder.build()


def code_targets(columns: Columns, codes: dict[str | None, int]) -> np.ndarray:
    """Return the target of each reference as a number, shape ``(n,)`` int64, -1 without one.

    Parameters
    ----------
    columns
        The references.
    codes
        The numbers of the targets so far; those that are new are added.
    """
    table = np.full(len(columns.urls) + 1, -1, np.int64)
    is_used = np.zeros(len(table), np.bool_)
    is_used[columns.targets] = True  # the last place is that of -1
    used = np.flatnonzero(is_used[:-1])
    table[used] = [codes.setdefault(url, len(codes)) for url in columns.urls_at(used)]
    coded: np.ndarray = table[columns.targets]
    return coded
