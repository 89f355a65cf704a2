"""References of the same keys, compared by what they mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refexplorer.refset.columns.joining import joined_columns
from refexplorer.refset.columns.reference_columns import RANGE, URL, Columns
from refexplorer.refset.columns.table import Table
from refexplorer.spec.core.references import Base64, Inline
from refexplorer.spec.document.lint_rules import is_metadata, parse_metadata

CHANGES = (
    "same", "removed", "added", "moved", "shifted", "resized", "inlined", "embedded", "content",
    "metadata",
)  # fmt: skip
"""The changes of a key. A byte range that *moved* is in another target, one that is *shifted*
begins elsewhere, one that is *resized* is of another length; of several, the first counts.
*inlined* is text on one side and as many bytes of a target on the other, *embedded* if they were
read and are equal; *content* is other bytes; of *metadata* a field changed."""
SAME, REMOVED, ADDED, MOVED, SHIFTED, RESIZED, INLINED, EMBEDDED, CONTENT, METADATA = range(10)


@dataclass(frozen=True)
class Compared:
    """n keys that both sides have.

    Attributes
    ----------
    changes
        Positions in `CHANGES`, int8, shape ``(n,)``.
    targets
        Positions in `urls` before and after, -1 for text, int64, shape ``(2, n)``.
    urls
        The distinct URLs of both sides.
    shifts
        How many bytes further each byte range begins, int64, shape ``(n,)``; 0 for the others.
    """

    changes: np.ndarray
    targets: np.ndarray
    urls: tuple[str | None, ...]
    shifts: np.ndarray


def compare(before: Table, after: Table, pairs: np.ndarray) -> Compared:
    """Compare the references of pairs of rows, shape ``(2, n)``."""
    rows = before.columns.select(pairs[0]), after.columns.select(pairs[1])
    both = joined_columns(rows)
    kinds, targets, offsets, lengths = (
        column.reshape(2, -1) for column in (both.kinds, both.targets, both.offsets, both.lengths)
    )
    to_target = (kinds == RANGE) | (kinds == URL)
    changes = np.zeros(pairs.shape[1], np.int8)
    ranges = np.all(kinds == RANGE, axis=0)
    changes[to_target.all(axis=0) & ((kinds[0] != kinds[1]) | (lengths[0] != lengths[1]))] = RESIZED
    changes[ranges & (offsets[0] != offsets[1])] = SHIFTED
    changes[to_target.all(axis=0) & (targets[0] != targets[1])] = MOVED
    inlined = to_target[0] != to_target[1]
    changes[inlined] = INLINED
    changes[inlined & np.any(kinds == RANGE, axis=0) & (lengths[0] != lengths[1])] = CONTENT
    for row in np.flatnonzero(~to_target.any(axis=0)).tolist():
        changes[row] = _text_change(rows, row, before.key_at(int(pairs[0, row])))
    for row in {position % len(changes) for position in both.large}:
        changes[row] = _large_change(rows, row) if changes[row] in (SAME, SHIFTED) else changes[row]
    shifts = np.where(ranges, offsets[1] - offsets[0], 0)
    return Compared(changes, targets.astype(np.int64), tuple(both.urls), shifts)


def _text_change(sides: tuple[Columns, Columns], row: int, key: str) -> int:
    """Compare two texts by their bytes, and metadata by what JSON they are."""
    first, second = (side.reference_at(row) for side in sides)
    assert isinstance(first, Inline | Base64)
    assert isinstance(second, Inline | Base64)
    if first == second or first.data == second.data:
        return SAME
    if not is_metadata(key):
        return CONTENT
    parsed = [parse_metadata(side.data.decode(errors="replace")) for side in (first, second)]
    if None in parsed:
        return CONTENT
    return SAME if parsed[0] == parsed[1] else METADATA


def _large_change(sides: tuple[Columns, Columns], row: int) -> int:
    """Compare byte ranges with numbers of more than 64 bits."""
    first, second = (side.reference_at(row) for side in sides)
    return SAME if first == second else SHIFTED
