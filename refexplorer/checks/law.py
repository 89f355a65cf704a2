"""The law of every repair: no chunk that was good before may be worse afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from refexplorer.checks.ledger import DEPTHS, RANKS, Ledger
from refexplorer.checks.states import CHUNK_TERMS, LedgerState, Rank
from refexplorer.markup import counted, escape

_DROPPED = LedgerState.REJECTED
"""What a chunk that the new grid has no place for counts as."""


def broken_law(before: Ledger, after: Ledger) -> Iterator[str]:
    """Yield a sentence for each array of which a chunk fell in rank or in depth.

    Parameters
    ----------
    before, after
        Of the same looks at the set as it was and as it would be. Chunks are those of the grid
        before; one that the grid after has no place for is bad, unless it was a hole.
    """
    for path in before.paths:
        name = f"`{escape(path, 200)}`" if path else "the root array"
        if path not in after.paths:
            yield f"{name} would be gone"
            continue
        old, new = before.states(path), after.states(path)
        if old.ndim != new.ndim:
            yield f"{name} would have {counted(new.ndim, 'dimension')} in place of {old.ndim}"
            continue
        states = _in_grid_of(old, new)
        falls = (RANKS[states] < RANKS[old]) | (
            (RANKS[states] == Rank.GOOD) & (DEPTHS[states] < DEPTHS[old])
        )
        if falls.any():
            chunk = tuple(int(part) for part in np.argwhere(falls)[0])
            was, would = (CHUNK_TERMS[LedgerState(int(each[chunk]))].name for each in (old, states))
            number = int(np.count_nonzero(falls))
            yield (
                f"{counted(number, 'chunk')} of {name} would be worse: {list(chunk)} is "
                f"{was!r} and would be {would!r}"
            )


def _in_grid_of(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the new states in the grid of the old ones."""
    if old.shape == new.shape:
        return new
    found = np.where(old == LedgerState.HOLE, old, np.uint8(_DROPPED))
    common = tuple(slice(0, min(sizes)) for sizes in zip(old.shape, new.shape, strict=True))
    found[common] = new[common]
    return found
