"""How much of an audit is planned, read and done at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSizes:
    """The sizes that bound the memory of a plan, and the length of its parts."""

    # How much a part has to do: each reference counts one, what is asked or decoded more
    part_cost: int = 100_000
    asking_cost: int = 100  # What a target takes beside its references, in references
    sorted_rows: int = 1_000_000  # References that are sorted together, and written
    # References that are read back at once; of each sorted million one batch may be held
    batch_rows: int = 2048
    interval_batches: int = 200  # Batches that are read together
