"""The table of targets: filtered, sorted, grouped by folder or host, as a list, by date."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
import pyarrow.compute as pc
from msgspec import Struct

from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.formats.columns.references import flags_of, numbers_of, text_column
from refexplorer.refset.opened_set import internals
from refexplorer.refset.search import GLOB_MARKS, Matcher
from refexplorer.refset.targets import TargetIndex, folders_of
from refexplorer.views.maps.target_dates import DateFinder, TargetDates, bins_of
from refexplorer.views.preview.regions import parse
from refexplorer.views.wire.requests import Count, Real, filled, named

if TYPE_CHECKING:
    import pyarrow as pa

    from refexplorer.verbs.referenceset import ReferenceSet

LISTED = 200_000  # Most targets of one list
_CHUNKS = 1_000_000  # chunks along one dimension of a selection, each a number in memory
_ARRAYS_NAMED = 4  # arrays that a row names


class Known(NamedTuple):
    """The result of a check or an audit of a target."""

    size: int | None
    state: str
    message: str | None


UNKNOWN = Known(None, "unknown", None)
FINE = ("good", "unknown")


TargetWord = Annotated[
    str,
    named(
        "TargetWord",
        "unknown", "good", "short", "unreachable", "not allowed", "access denied",
        "damaged", "changed",
    ),
]  # fmt: skip
"""``unknown``: not checked; ``good``: it answered, and no compared range is past its end."""


class TargetFold(Struct, frozen=True):
    """A folder or a host in the table of targets."""

    name: str  # What its targets begin with; empty for those that are given by a name alone
    targets: Count
    lost: Count  # Targets with problems: missing, changed, failed or too short
    open: bool  # Whether its targets are listed below it


class TargetRow(Struct, frozen=True):
    """A target in the table of targets; size and state are known after a check."""

    url: str | None  # Null: the reader names it
    ranges: Count
    whole: Count  # Keys that refer to all of it
    bytes: Count  # That are referred to, each counted once
    end: Count  # Of the last range
    arrays: tuple[str | None, ...]  # The first; null stands for other keys
    array_count: int
    size: Count | None  # Of the whole target; null until it is known
    state: TargetWord
    message: str | None
    # Of an Icechunk repository: a file of its own, or one that it refers to; else null
    kind: Annotated[str, named("TargetKind", "native", "virtual")] | None = None
    # The first time in it, by a time coordinate, else the date in its name, as text
    date: str | None = None
    # Of a row that stands for several targets, whose numbers are their sums; null of a target
    fold: TargetFold | None = None


class TargetQuery(Struct, frozen=True):
    """Which targets are listed, and in which order."""

    array: str | None = None  # Null: those of all keys, else only those of an array
    # Null: those of all of the array, else only those that a part of it needs; one text for each
    # dimension
    slices: tuple[str, ...] | None = None
    find: str = ""  # Only those whose name has this text in it, or matches it as a glob
    state: TargetWord | None = None  # Only those of a state
    # since, until: Only those with a date from here up to and without there; milliseconds since
    # 1970
    since: Real | None = None
    until: Real | None = None
    # The column; ``set``: in the order in which the set first names them
    sort: Literal["set", "name", "ranges", "bytes", "share", "size", "state", "date"] = "set"
    descending: bool = False
    # ``folder`` or ``host``: rows of those, each with its targets below it while it is in `open`
    fold: Literal["none", "folder", "host"] = "none"
    open: tuple[str, ...] = ()


class TargetListing:
    """Handles queries on the targets of a set."""

    def __init__(self, refs: ReferenceSet, known: Callable[[], Mapping[str | None, Known]]) -> None:
        self._refs = refs
        self._known = known
        self._told: tuple[Mapping[str | None, Known], np.ndarray] | None = None
        self._dates = DateFinder(refs)
        self._kept: tuple[tuple[Any, ...], _Ordered] | None = None

    @cached_property
    def _index(self) -> TargetIndex:
        return internals(self._refs).target_index

    def rows(self, query: TargetQuery, start: int, n: int) -> tuple[list[TargetRow], int, int]:
        """Return rows of the table, their number, and the number of targets."""
        found = self._ordered(query)
        rows = [
            self._target(code) if fold is None else self._fold(found, fold)
            for fold, code in found.window(start, n)
        ]
        return rows, found.total, len(found.codes)

    def target(self, url: str | None) -> TargetRow:
        """Return the row of a target."""
        return self._target(int(self._index.codes_named([url])[0]))

    def text(self, query: TargetQuery, form: str) -> tuple[str, int, int]:
        """Return the targets of a query as text, their number, and the total."""
        codes = self._ordered(query).codes
        shown = codes[:LISTED]
        if form == "text":
            lines = [self._index.names[code] or "" for code in shown.tolist()]
            return "".join(f"{line}\n" for line in lines), len(shown), len(codes)
        written = io.StringIO()
        table = csv.writer(written, lineterminator="\n")
        table.writerow(
            ["target", "ranges", "whole", "bytes", "end", "size", "state", "date", "arrays"]
        )
        for code in shown.tolist():
            table.writerow(self._cells(code))
        return written.getvalue(), len(shown), len(codes)

    def periods(self, query: TargetQuery) -> TargetDates:
        """Return the targets of a query by date."""
        codes, dated = self._ordered(query).codes, self._dates.find()
        dates = dated.dates[codes]
        has = ~np.isnat(dates)
        seconds = dates[has].astype(np.int64)
        lost = np.isin(self._states[codes][has], FINE, invert=True)
        by_coordinate = int(dated.is_coordinate[codes].sum())
        bins = tuple(bins_of(seconds, lost))
        ends = (float(seconds.min()) * 1000, float(seconds.max()) * 1000) if len(seconds) else None
        return TargetDates(bins, len(seconds), len(codes), by_coordinate, ends)

    @property
    def _states(self) -> np.ndarray:
        known = self._known()
        if self._told is None or self._told[0] is not known:
            states = [known.get(url, UNKNOWN).state for url in self._index.urls]
            self._told = known, np.array(states, np.str_)
        return self._told[1]

    def _target(self, code: int) -> TargetRow:
        index = self._index
        url = index.urls[code]
        summary = index.summary(code)
        known = self._known().get(url, UNKNOWN)
        date, facts = self._dates.find().dates[code], self._refs.source.repository
        return filled(
            TargetRow,
            summary,
            url=index.names[code],
            arrays=summary.arrays[:_ARRAYS_NAMED],
            array_count=len(summary.arrays),
            **known._asdict(),
            kind=None if facts is None or url is None else facts.kind_of(url),
            date=None if np.isnat(date) else _date_text(date),
        )

    def _fold(self, found: _Ordered, fold: int) -> TargetRow:
        codes, columns, name = found.members(fold), self._index.columns, str(found.names[fold])
        states = self._states[codes]
        lost = int(np.isin(states, FINE, invert=True).sum())
        numbers = (columns.ranges, columns.whole, columns.bytes, columns.end)
        ranges, whole, size, end = (int(each[codes].sum()) for each in numbers)
        told = TargetFold(name, len(codes), lost, bool(found.open[fold]))
        return TargetRow(
            name, ranges, whole, max(size, 0), max(end, 0), (), 0, *UNKNOWN, date=None, fold=told
        )

    def _cells(self, code: int) -> Iterator[object]:
        index, columns = self._index, self._index.columns
        url, date = index.urls[code], self._dates.find().dates[code]
        known = self._known().get(url, UNKNOWN)
        yield index.names[code] or ""
        yield int(columns.ranges[code])
        yield int(columns.whole[code])
        for numbers in (columns.bytes, columns.end):
            yield "" if numbers[code] < 0 else int(numbers[code])
        yield "" if known.size is None else known.size
        yield known.state
        yield "" if np.isnat(date) else str(date)
        yield " ".join("" if path is None else path or "/" for path in index.arrays_of(code))

    def _ordered(self, query: TargetQuery) -> _Ordered:
        now = (query, self._known(), self._dates.find())
        if self._kept is None or self._kept[0] != now:
            codes = self._sorted(self._filtered(query), query)
            self._kept = now, _Ordered(codes, self._index.names, query)
        return self._kept[1]

    def _filtered(self, query: TargetQuery) -> np.ndarray:
        index = self._index
        codes = np.arange(index.count) if query.array is None else self._of_array(query)
        if query.find:
            names = text_column([index.names[code] or "" for code in codes.tolist()])
            codes = codes[_matches(names, query.find)]
        if query.state is not None:
            codes = codes[self._states[codes] == query.state]
        if query.since is not None and query.until is not None:
            dates = self._dates.find().dates[codes].astype("datetime64[ms]").astype(np.int64)
            is_date = ~np.isnat(self._dates.find().dates[codes])
            codes = codes[is_date & (dates >= query.since) & (dates < query.until)]
        return codes

    def _of_array(self, query: TargetQuery) -> np.ndarray:
        path = query.array
        if path is None or path not in self._refs.arrays():
            raise RefexplorerError(f"There is no array at {path!r}.")
        if query.slices is None:
            return np.asarray(self._index.codes_of(path))
        array = self._refs.array(path)
        grid = self._refs.chunk_grid(path)
        if not grid.complete:
            raise LimitError(
                f"Too many chunks of `{path}` are generated to list the files of one part."
            )
        places, needed = parse(array, query.slices), np.ones(len(grid.chunks), np.bool_)
        for axis, (along, part) in enumerate(zip(array.axes, places, strict=True)):
            number, chunks = along.touched(part)
            if number > _CHUNKS:
                raise LimitError(f"This part covers {number:,} chunks along one dimension.")
            needed &= np.isin(grid.chunks.indices[:, axis], np.fromiter(chunks, np.int64, number))
        used = np.unique(grid.chunks.targets[needed])
        return np.asarray(
            self._index.codes_named([grid.urls[code] for code in used[used >= 0].tolist()])
        )

    def _sorted(self, codes: np.ndarray, query: TargetQuery) -> np.ndarray:
        """Sort targets; unknown values come last in either direction."""
        if query.sort == "set":
            return codes[::-1] if query.descending else codes
        ranks, unknown = self._ranks(codes, query.sort)
        ranks = -ranks if query.descending else ranks
        order = np.lexsort((ranks, unknown))
        return codes[order]

    def _ranks(self, codes: np.ndarray, column: str) -> tuple[np.ndarray, np.ndarray]:
        columns = self._index.columns
        if column == "name":
            return _places(text_column([self._index.names[code] or "" for code in codes.tolist()]))
        if column == "state":
            return _places(text_column(self._states[codes].tolist()))
        if column == "date":
            dates = self._dates.find().dates[codes]
            return np.where(np.isnat(dates), 0, dates.astype(np.int64)), np.isnat(dates)
        if column == "size":
            known = self._known()
            urls = self._index.urls
            sizes = [known.get(urls[code], UNKNOWN).size for code in codes.tolist()]
            found = np.array([-1 if size is None else min(size, 2**62) for size in sizes], np.int64)
            return found, found < 0
        if column == "share":
            found = columns.bytes[codes]
            return found / np.maximum(columns.end[codes], 1), found < 0
        found = columns.ranges[codes] if column == "ranges" else columns.bytes[codes]
        return found, found < 0


class _Ordered:
    """The sorted targets of a query, and the rows of their groups."""

    def __init__(self, codes: np.ndarray, names: Sequence[str | None], query: TargetQuery) -> None:
        self.codes = codes
        self.is_folded = query.fold != "none"
        listed = [names[code] for code in codes.tolist()] if self.is_folded else []
        self._group(text_column(folders_of(listed, query.fold == "host")).dictionary_encode())
        self.open = flags_of(pc.is_in(self.names, value_set=text_column(query.open)))
        self._ends = np.cumsum(1 + np.where(self.open, np.diff(self._starts), 0))
        self.total = int(self._ends[-1]) if len(self._ends) else len(self._members)

    def _group(self, folders: pa.DictionaryArray) -> None:
        """Group targets by folder, sorted by folder name."""
        ranks, _ = _places(folders.dictionary)
        places = ranks[numbers_of(folders.indices)]
        order = np.argsort(places, kind="stable")
        self.names = folders.dictionary.take(pc.sort_indices(folders.dictionary))
        self._members = self.codes[order] if self.is_folded else self.codes
        self._starts = np.searchsorted(places[order], np.arange(len(ranks) + 1), side="right")

    def members(self, fold: int) -> np.ndarray:
        """Return the targets of a group."""
        return self._members[self._starts[fold] : self._starts[fold + 1]]

    def window(self, start: int, n: int) -> Iterator[tuple[int | None, int]]:
        """Yield rows: the number of a group, or None and a target."""
        if not self.is_folded:
            yield from ((None, code) for code in self.codes[start : start + n].tolist())
            return
        stop = min(start + n, self.total)
        fold, at = int(np.searchsorted(self._ends, start, side="right")), start
        while at < stop:
            first = int(self._ends[fold - 1]) if fold else 0
            if at == first:
                yield fold, -1
                at += 1
            inside = self.members(fold) if self.open[fold] else self._members[:0]
            part = inside[at - first - 1 : stop - first - 1]
            yield from ((None, code) for code in part.tolist())
            at += len(part)
            fold += 1


def _matches(names: pa.Array, text: str) -> np.ndarray:
    """Return which names contain a text, or match it if it has wildcards."""
    if GLOB_MARKS.search(text) is None:
        return flags_of(pc.match_substring(names, text, ignore_case=True))
    return Matcher(f"*{text}*", "glob").matches(names)


def _places(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the alphabetical rank of each text; none is unknown."""
    ranks = numbers_of(pc.rank(texts, tiebreaker="dense")).astype(np.int64)
    return ranks, np.zeros(len(ranks), np.bool_)


def _date_text(date: np.datetime64) -> str:
    """Return a date without a time at midnight, and without zero seconds."""
    return str(date).removesuffix("T00:00:00").replace("T", " ").removesuffix(":00")
