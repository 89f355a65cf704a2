"""How much of an audit is planned, read and done at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSizes:
    """The sizes that bound the memory of a plan, and the length of its parts.

    Attributes
    ----------
    part_cost
        How much a part has to do: each reference counts one, what is asked or decoded more.
    asking_cost
        What a target takes beside its references, in references.
    sorted_rows
        References that are sorted together, and written.
    batch_rows
        References that are read back at once; of each sorted million one batch may be held.
    interval_batches
        Batches that are read together.
    """

    part_cost: int = 100_000
    asking_cost: int = 100
    sorted_rows: int = 1_000_000
    batch_rows: int = 2048
    interval_batches: int = 200
