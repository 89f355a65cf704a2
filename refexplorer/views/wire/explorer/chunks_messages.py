"""The map of chunks; numbers travel beside as buffers."""

from __future__ import annotations

from msgspec import Struct

from refexplorer.views.wire.messages import Count, Request

WindowSpan = tuple[Count, Count]
"""Start and stop."""


class MapTarget(Struct, frozen=True):
    """A target in a map of chunks, with the number that its colour goes by."""

    url: str | None
    number: int


class Grid(Struct, frozen=True):
    """A picture of the chunks of an array, or of a part of them.

    Attributes
    ----------
    arrays
        Those to choose from; cut.
    grid
        Chunks along each dimension.
    key_start, separator
        A chunk's key is ``key_start`` and its index joined by the separator.
    axes
        Those that are drawn, at most two.
    window
        Along each dimension, in chunks.
    steps
        Chunks in a cell, for each drawn axis.
    states
        What a chunk can be. The last is ``failed``: in this session, in the last audit, or
        rejected.
    counts
        Chunks of each state.
    outside
        Keys of chunks that the grid does not have.
    sampled
        Whether of generated chunks only one in each cell was looked at.
    """

    array: str
    arrays: tuple[str, ...]
    grid: tuple[Count, ...]
    dimensions: tuple[str, ...]
    key_start: str
    separator: str
    axes: tuple[int, ...]
    window: tuple[WindowSpan, ...]
    steps: tuple[Count, ...]
    rows: int
    columns: int
    states: tuple[str, ...]
    counts: tuple[Count, ...]
    targets: tuple[MapTarget, ...]
    target_count: int
    outside: Count
    sampled: bool


class GridMap(Struct, frozen=True):
    """The map of chunks; null if the set has no arrays."""

    map: Grid | None


class ShowGrid(Request, frozen=True, tag="grid.show"):
    """Draw the chunks of an array.

    Attributes
    ----------
    array
        Null: the one of most chunks.
    axes
        The drawn ones: rows, columns.
    window
        Along each dimension, in chunks; null: everything.
    before
        Of the set that this one is compared with, as for an array that is no longer there.
    """

    reply = GridMap
    is_later = True
    buffers = (
        "float64 in C order: chunks of each state (states x rows x columns); then for each cell "
        "(rows x columns) the target of most chunks (place in `targets`, or -1), the least offset "
        "(or -1), bytes (or -1: not known, a whole file is among them), and how many targets there "
        "are."
    )

    array: str | None = None
    axes: tuple[int, ...] | None = None
    window: tuple[tuple[int, int], ...] | None = None
    before: bool = False
