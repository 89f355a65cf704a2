"""The comparison with another set."""

from __future__ import annotations

from msgspec import Struct

from refexplorer.views.wire.explorer.chunks_messages import WindowSpan
from refexplorer.views.wire.messages import Count, Done, Event, Real, Request
from refexplorer.views.wire.models import ReadOutcome


class Offered(Struct, frozen=True):
    """A set that may be chosen by its title."""

    title: str
    source: str


class ArrayChanges(Struct, frozen=True):
    """An array of which something changed.

    Attributes
    ----------
    before, after
        Shape and data type; null where the set has no such array.
    counts
        Keys of each change, in the order of `ComparedSets.kinds`.
    """

    path: str
    before: str | None
    after: str | None
    counts: tuple[Count, ...]


class ChangeKind(Struct, frozen=True):
    """One change: its letter, what it is called, and how many keys of the set it became of."""

    name: str
    mark: str
    words: str
    keys: Count


class Changes(Struct, frozen=True):
    """What became of the chunks of a picture."""

    array: str
    window: tuple[WindowSpan, ...]
    kinds: tuple[ChangeKind, ...]


class ComparedSets(Struct, frozen=True):
    """The difference between two sets in numbers.

    Attributes
    ----------
    before, after
        What the sets are called.
    source
        Path or URL of the set before; empty where Python handed it over.
    kinds
        The changes that occur.
    sentences
        The rules that explain the changes.
    arrays, array_count
        The first arrays of which something changed, and how many there are.
    """

    before: str
    after: str
    source: str
    title: str
    kinds: tuple[ChangeKind, ...]
    sentences: tuple[str, ...]
    arrays: tuple[ArrayChanges, ...]
    array_count: Count


class ComparisonSummary(Struct, frozen=True):
    """What the set is compared with; null if it is compared with nothing.

    Attributes
    ----------
    comparable
        Whether a set to compare with may be named here.
    offered
        Sets to choose from.
    """

    comparable: bool
    offered: tuple[Offered, ...]
    sets: ComparedSets | None


class SumChanges(Request, frozen=True, tag="compare.summary"):
    """Tell what the set is compared with, and what differs."""

    reply = ComparisonSummary
    is_later = True


class CompareWith(Request, frozen=True, tag="compare.with"):
    """Compare with another set.

    Attributes
    ----------
    source
        Path or URL of the set as it was before; empty: none.
    is_typed
        Whether a person has just typed it: an address alone allows nothing.
    """

    reply = Done
    is_later = True

    source: str
    is_typed: bool = False


class ChangeRow(Struct, frozen=True):
    """A key that differs, and its references in a few words."""

    mark: str
    change: str
    key: str
    before: str
    after: str


class ChangePage(Struct, frozen=True):
    """Some of the keys that differ, and how many there are."""

    start: Count
    total: Count
    rows: tuple[ChangeRow, ...]


class ChangeRows(Request, frozen=True, tag="compare.rows"):
    """List the keys that differ.

    Attributes
    ----------
    change
        Null: those of all changes.
    folder
        Only those below it; empty: all.
    """

    reply = ChangePage
    is_later = True

    start: int
    n: int
    change: str | None = None
    folder: str = ""


class ChangesMap(Struct, frozen=True):
    """The changes; null if there is nothing to compare with."""

    changes: Changes | None


class ShowChanges(Request, frozen=True, tag="changes.show"):
    """Draw what became of the chunks of a picture; its fields are those of `Grid`."""

    reply = ChangesMap
    is_later = True
    buffers = "Chunks of each kind (kinds x rows x columns), float64 in C order."

    array: str
    axes: tuple[int, ...]
    window: tuple[tuple[int, int], ...]
    steps: tuple[int, ...]


class ComparedSide(Struct, frozen=True):
    """A chunk as one of the sets has it.

    Attributes
    ----------
    reference
        In a few words.
    state
        Null: the set has no such part.
    message
        Why there are no values.
    grant
        State ``ask``: what `allow` needs.
    value_type
        The data type of the decoded values; null where there are none.
    """

    name: str
    reference: str
    state: ReadOutcome | None
    dtype: str
    message: str | None
    grant: str | None
    value_type: str | None = None


class ValueDifference(Struct, frozen=True):
    """The values that both sets have, against each other.

    Attributes
    ----------
    compared
        Values that were fetched on both sides.
    different
        Those of them that differ; missing values are equal to each other.
    low, high
        Least and greatest difference, after less before; null where nothing can be subtracted.
    """

    compared: Count
    different: Count
    low: Real | None
    high: Real | None


class ComparedChunk(Struct, frozen=True):
    """The values of a chunk in both sets, decoded as each of them says.

    Attributes
    ----------
    array, index
        Of the chunk.
    slices
        The part of the array, one text for each dimension.
    shape
        Of the values that travel beside it.
    step
        Of the values along each dimension, 1 where all of them are here.
    low, high
        Least and greatest value of both sides; null where there is none.
    difference
        Null where there is nothing to compare.
    """

    key: str
    array: str
    index: tuple[Count, ...]
    slices: tuple[str, ...]
    dimensions: tuple[str, ...]
    shape: tuple[int, ...]
    step: tuple[int, ...]
    times: bool
    units: str | None
    before: ComparedSide
    after: ComparedSide
    low: Real | None
    high: Real | None
    difference: ValueDifference | None


class CompareValues(Request, frozen=True, tag="compare.values"):
    """Read a chunk in both sets.

    Attributes
    ----------
    key
        Of the chunk.
    """

    reply = ComparedChunk
    is_later = True
    buffers = (
        "The values before, after, and after less before: float64 in C order, NaN where there is "
        "none; nothing where the values of a side are no numbers. Where float64 cannot express "
        "them all, two more have both as 64-bit integers, as `chunk.read`."
    )

    key: str


class ComparisonChanged(Event, frozen=True, tag="compared"):
    """The set is compared with another one than before, or with none."""
