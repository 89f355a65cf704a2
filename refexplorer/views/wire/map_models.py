"""The maps of chunks, changes and targets: frozen models; numbers travel beside as buffers."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from refexplorer.views.wire.messages import Count, named

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


class ChangeKind(Struct, frozen=True):
    """One change: its letter, what it is called, and how many keys of the set it became of."""

    name: str
    mark: str
    words: str
    keys: Count


class ChangeRow(Struct, frozen=True):
    """A key that differs, and its references in a few words."""

    mark: str
    key: str
    before: str
    after: str


class Changes(Struct, frozen=True):
    """Two sets beside each other.

    Attributes
    ----------
    rows
        The first keys that differ.
    more
        How many others there are.
    """

    title: str
    array: str
    window: tuple[WindowSpan, ...]
    kinds: tuple[ChangeKind, ...]
    sentences: tuple[str, ...]
    rows: tuple[ChangeRow, ...]
    more: Count


TargetWord = Annotated[
    str,
    named(
        "TargetWord",
        "unknown",
        "good",
        "short",
        "unreachable",
        "not allowed",
        "damaged",
        "changed",
    ),
]
"""``unknown``: not checked; ``good``: it answered, and no compared range is past its end."""


class TargetRow(Struct, frozen=True):
    """A target in the table of targets; size and state are known after it was checked.

    Attributes
    ----------
    url
        Null: the reader names it.
    whole
        Keys that refer to all of it.
    bytes
        That are referred to, each counted once.
    end
        Of the last range.
    arrays
        The first; null stands for other keys.
    size
        Of the whole target; null until it is known.
    """

    url: str | None
    ranges: Count
    whole: Count
    bytes: Count
    end: Count
    arrays: tuple[str | None, ...]
    array_count: int
    size: Count | None
    state: TargetWord
    message: str | None


class TargetPlace(Struct, frozen=True):
    """A host, or what else URLs begin with, and how many targets are there.

    Attributes
    ----------
    place
        Such as ``s3://bucket``; empty for paths.
    """

    place: str
    targets: Count


class MapArray(Struct, frozen=True):
    """An array in a map of a target, with the number that its colour goes by.

    Attributes
    ----------
    path
        Null: other keys.
    """

    path: str | None
    number: int


class MapRange(Struct, frozen=True):
    """A byte range of a target; `array` is a place in `Layout.arrays`."""

    key: str
    array: int
    offset: Count
    length: Count


class Layout(Struct, frozen=True):
    """A target and a window of it, in bytes.

    Attributes
    ----------
    url
        Null: the reader names it.
    whole, whole_keys
        How many keys refer to all of it, and the first of them.
    bytes
        That are referred to, each counted once.
    shared, shared_bytes
        Intervals that more than one range has, and their bytes.
    shown
        The ranges of the window; null where there are too many to list.
    unlisted
        Generated keys that were not evaluated.
    """

    url: str | None
    start: Count
    stop: Count
    end: Count
    ranges: Count
    whole: Count
    whole_keys: tuple[str, ...]
    bytes: Count
    gaps: Count
    gap_bytes: Count
    shared: Count
    shared_bytes: Count
    arrays: tuple[MapArray, ...]
    shown: tuple[MapRange, ...] | None
    unlisted: Count
