"""The targets of the set: their table, the map of one, and checks of all."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Struct, UnsetType

from refexplorer.views.wire.messages import Count, Real, Request, named

TargetWord = Annotated[
    str,
    named(
        "TargetWord",
        "unknown",
        "good",
        "not written",
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
    kind
        Of an Icechunk repository: a file of its own, or one that it refers to; else null.
    date
        The first time in it, by a time coordinate, else the date in its name, as text.
    fold
        Of a row that stands for several targets, whose numbers are their sums; null of a target.
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
    kind: Annotated[str, named("TargetKind", "native", "virtual")] | None = None
    date: str | None = None
    fold: TargetFold | None = None


class TargetQuery(Struct, frozen=True):
    """Which targets are listed, and in which order.

    Attributes
    ----------
    array
        Null: those of all keys, else only those of an array.
    slices
        Null: those of all of the array, else only those that a part of it needs; one text for each
        dimension.
    find
        Only those whose name has this text in it, or matches it as a glob.
    state
        Only those of a state.
    since, until
        Only those with a date from here up to and without there; milliseconds since 1970.
    sort
        The column; ``set``: in the order in which the set first names them.
    fold
        ``folder`` or ``host``: rows of those, each with its targets below it while it is in `open`.
    """

    array: str | None = None
    slices: tuple[str, ...] | None = None
    find: str = ""
    state: TargetWord | None = None
    since: Real | None = None
    until: Real | None = None
    sort: Literal["set", "name", "ranges", "bytes", "share", "size", "state", "date"] = "set"
    descending: bool = False
    fold: Literal["none", "folder", "host"] = "none"
    open: tuple[str, ...] = ()


class TargetFold(Struct, frozen=True):
    """A folder or a host in the table of targets.

    Attributes
    ----------
    name
        What its targets begin with; empty for those that are given by a name alone.
    lost
        Targets with problems: missing, changed, failed or too short.
    open
        Whether its targets are listed below it.
    """

    name: str
    targets: Count
    lost: Count
    open: bool


class DateBin(Struct, frozen=True):
    """A period, and how many targets are of it; milliseconds since 1970."""

    start: Real
    stop: Real
    targets: Count
    lost: Count


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


class TargetPage(Struct, frozen=True):
    """Some of the rows of the table of targets, how many there are, and how many targets."""

    start: Count
    total: Count
    rows: tuple[TargetRow, ...]
    targets: Count


class TargetRows(Request, frozen=True, tag="targets.rows"):
    """List targets."""

    reply = TargetPage
    is_later = True

    start: int
    n: int
    query: TargetQuery = TargetQuery()


class TargetList(Struct, frozen=True):
    """All targets of a query as text, which travels beside it.

    Attributes
    ----------
    name
        For a file.
    targets, total
        How many are in it, and how many there are.
    """

    name: str
    targets: Count
    total: Count


class ListTargets(Request, frozen=True, tag="targets.list"):
    """Write the targets of a query as a list of names, or as a table.

    Attributes
    ----------
    form
        ``text``: one name on each line; ``csv``: with what is known of each.
    """

    reply = TargetList
    is_later = True
    buffers = "UTF-8."

    query: TargetQuery
    form: Literal["text", "csv"]


class TargetDates(Struct, frozen=True):
    """The targets by date, as periods that follow each other.

    Attributes
    ----------
    bins
        Empty where no date is known.
    dated, total
        Targets of the query that have a date, and all of them.
    by_coordinate
        Of those with a date, how many have that of a time coordinate; of the others it is the one
        in their name.
    ends
        The first date and the last, ms since 1970; null without any.
    """

    bins: tuple[DateBin, ...]
    dated: Count
    total: Count
    by_coordinate: Count
    ends: tuple[float, float] | None


class DateTargets(Request, frozen=True, tag="targets.dates"):
    """Count the targets of a query by date."""

    reply = TargetDates
    is_later = True

    query: TargetQuery = TargetQuery()


class TargetsSummary(Struct, frozen=True):
    """The targets in numbers.

    Attributes
    ----------
    places, place_count
        Those of most targets, and how many there are.
    checked
        Targets of which a check or an audit told the state.
    lost, lost_count
        The first whose state is not ``good``, and how many there are.
    unlisted
        Generated keys that were not evaluated: they may have other targets.
    """

    total: Count
    places: tuple[TargetPlace, ...]
    place_count: Count
    checked: Count
    lost: tuple[TargetRow, ...]
    lost_count: Count
    unlisted: Count


class SumTargets(Request, frozen=True, tag="targets.summary"):
    """Count the targets by their places, and tell which of them have problems."""

    reply = TargetsSummary
    is_later = True


class TargetReply(Struct, frozen=True):
    """The map of a target; null if the set has no targets."""

    layout: Layout | None


class ShowTarget(Request, frozen=True, tag="target.show"):
    """Draw which bytes of a target are referred to.

    Attributes
    ----------
    url
        Null is the target that the reader names; left out: the first one.
    window
        In bytes; null: everything.
    """

    reply = TargetReply
    is_later = True
    buffers = (
        "float64: edges of n bins (n + 1); then for each bin the bytes covered, those covered "
        "twice, ranges that begin there, and the array of most bytes (place in `arrays`, or -1)."
    )

    url: str | UnsetType | None = UNSET
    window: tuple[int, int] | None = None


class TargetsChecked(Struct, frozen=True):
    """The result of a check.

    Attributes
    ----------
    grants
        What `allow` needs for the targets that were not asked.
    """

    summary: str
    grants: tuple[str, ...]


class CheckTargets(Request, frozen=True, tag="targets.check"):
    """Ask each target for its size; then `targets.rows` knows sizes and states."""

    reply = TargetsChecked
    is_later = True
