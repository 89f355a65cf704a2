"""What a report has beside the ledger: its arrays, and why something was not compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from refexplorer.checks.references import LostFiles
from refexplorer.checks.states import CHUNK_TERMS, DIFFERENT, LedgerState, Rank


@dataclass(frozen=True, slots=True)
class CheckedArray:
    """One array.

    Attributes
    ----------
    path
        Where it is.
    chunks
        How many chunks its grid has.
    files
        How many files it was compared with.
    states
        Chunks by their state in the ledger; states of none are left out.
    """

    path: str
    chunks: int
    files: int
    states: Mapping[LedgerState, int]

    @property
    def name(self) -> str:
        """What to call it."""
        return self.path or "(the root array)"

    @property
    def n_different(self) -> int:
        """How many chunks differ from what their file has."""
        return sum(n for state, n in self.states.items() if state in DIFFERENT)

    @property
    def n_compared(self) -> int:
        """How many chunks were found to differ, or not to."""
        good = (n for s, n in self.states.items() if CHUNK_TERMS[s].rank is Rank.GOOD)
        return self.n_different + sum(good)

    @property
    def states_text(self) -> str:
        """How many chunks are in each state."""
        found = (f"{n:,} {CHUNK_TERMS[state].name}" for state, n in sorted(self.states.items()))
        return ", ".join(found) or "no chunks"


@dataclass(frozen=True)
class Counts:
    """What was counted besides the ledger."""

    references: int  # All of the set
    unfinished: tuple[str, ...]  # A sentence for each part that was given up
    stopped: bool  # Whether it was stopped before the end
    lost: LostFiles  # Record files of a parquet store that are missing or cannot be read
    forms: Mapping[str, int] = field(default_factory=dict)  # Files by format
    # How many files each array was compared with, by path
    files: Mapping[str, int] = field(default_factory=dict)
    # Why references were not looked at: array, reason, how many
    reasons: tuple[tuple[str | None, str, int], ...] = ()
    # What of the metadata was not compared: array, what, in how many files
    unchecked: tuple[tuple[str, str, int], ...] = ()
    # The first files that could not be read, and why
    failures: Mapping[str, str] = field(default_factory=dict)
    # What is different of targets that changed, by their URLs as people may see them
    changed: Mapping[str, str] = field(default_factory=dict)
    grants: tuple[str, ...] = ()  # What `allow` needs for what was not asked
    # values, largest, largest_at, false_nan: Values that were compared, the largest difference and
    # its key, and how many values of the files the set reads as missing
    values: int = 0
    largest: float | None = None
    largest_at: str | None = None
    false_nan: int = 0
