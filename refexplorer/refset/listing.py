"""References of all segments as columns; gen items as far as they may be evaluated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from refexplorer.refset.columns import Columns, ColumnsBuilder
from refexplorer.refset.segments import Generated

EVALUATED_KEYS = 20_000
"""Generated keys that one question evaluates; more take too long to wait for."""


@dataclass(frozen=True)
class Listing:
    """Evaluated references of a gen item, n rows; those that fail are left out.

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


def list_rows(segment: Generated, rows: Iterable[int]) -> Listing:
    """Evaluate some references of a gen item."""
    good: list[int] = []
    builder = ColumnsBuilder()
    for row in rows:
        reference = segment.reference_at(row)
        if reference is not None:
            builder.add(reference)
            good.append(row)
    keys = [segment.key_at(row) for row in good]
    return Listing(np.array(good, np.int64), keys, builder.build())


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
    for place in np.unique(columns.targets[columns.targets >= 0]).tolist():
        table[place] = codes.setdefault(columns.urls[place], len(codes))
    coded: np.ndarray = table[columns.targets]
    return coded
