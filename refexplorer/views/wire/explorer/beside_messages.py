"""Two parts side by side."""

from __future__ import annotations

from msgspec import Struct

from refexplorer.views.wire.explorer.data_messages import Plan, ReadingModel
from refexplorer.views.wire.messages import Request


class BesidePart(Struct, frozen=True):
    """One of two parts that are shown side by side.

    Attributes
    ----------
    slices
        One for each dimension; null: what is shown first.
    other
        Of the set that this one is compared with.
    """

    array: str
    slices: tuple[str, ...] | None = None
    other: bool = False


class BesidePlanned(Struct, frozen=True):
    """The cost of both parts, and the first arrays of the other set."""

    left: Plan
    right: Plan
    others: tuple[str, ...]


class PlanBeside(Request, frozen=True, tag="beside.plan"):
    """Say what reading two parts takes."""

    reply = BesidePlanned
    is_later = True

    left: BesidePart
    right: BesidePart


class BesideRead(Struct, frozen=True):
    """Two parts and their difference.

    Attributes
    ----------
    said
        What the difference is, or why there is none.
    low, high
        Of the difference; null where no cell has a number on both sides.
    """

    left: ReadingModel
    right: ReadingModel
    said: str
    low: float | None
    high: float | None
    has_difference: bool = False


class ReadBeside(Request, frozen=True, tag="beside.read"):
    """Read two parts, and subtract the left one from the right one if their grids are the same.

    Attributes
    ----------
    scale, times
        What of the CF conventions is applied.
    """

    reply = BesideRead
    is_later = True
    buffers = (
        "The values of both, empty where there are none, and their difference, if any. Where "
        "float64 cannot express them all, two more have both as 64-bit integers, as `chunk.read`."
    )

    left: BesidePart
    right: BesidePart
    scale: bool = True
    times: bool = True
