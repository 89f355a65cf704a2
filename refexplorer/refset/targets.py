"""The targets of a set, each with the references to it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from typing import NamedTuple

import numpy as np

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.files import Progress
from refexplorer.core.text import masked_url
from refexplorer.formats.columns.references import RANGE, URL, Columns, distinct
from refexplorer.refset.generated import EVALUATED_KEYS, Generated, columns_of
from refexplorer.refset.numbered_segment import Records, SegmentPart
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.segments import Segment, code_targets
from refexplorer.refset.target_layout import (
    Rows,
    TargetLayout,
    TargetSummary,
    furthest_ends,
    overlapping,
)
from refexplorer.spec.gen.dimensions import DimensionProduct, blocks
from refexplorer.spec.gen.item import GenItem
from refexplorer.spec.references import Range, Url, folders_above
from refexplorer.spec.templates.columns import TooMuchText, flat

LOOKED_AT = 1_000  # Names that a way of writing dates is chosen by
_SHARE = 0.9  # Of these, how many must be written in that way
_YEAR = r"((?:18|19|20|21)\d\d)"
_MONTH = r"(0[1-9]|1[0-2])"
_DAY = r"(0[1-9]|[12]\d|3[01])"
_OF_YEAR = r"(00[1-9]|0[1-9]\d|[12]\d\d|3[0-5]\d|36[0-6])"
_TIME = r"([01]\d|2[0-3]):?_?([0-5]\d)?:?_?([0-5]\d)?"
_PATTERNS = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        rf"_s(?P<y>{_YEAR})(?P<n>{_OF_YEAR})(?P<t>\d\d\d\d\d\d)\d?(?!\d)",
        rf"(?<!\d)(?P<y>{_YEAR})[-_.]?(?P<m>{_MONTH})[-_.]?(?P<d>{_DAY})[T_.-]?(?P<t>{_TIME})(?!\d)",
        rf"(?<!\d)(?P<y>{_YEAR})[-_.]?(?P<m>{_MONTH})[-_.]?(?P<d>{_DAY})(?!\d)",
        rf"(?<!\d)(?P<y>{_YEAR})/(?P<m>{_MONTH})/(?P<d>{_DAY})/(?:[^/]*[tz_.](?P<t>{_TIME})(?!\d))?",
        rf"(?<!\d)(?P<y>{_YEAR})[-_./]?(?P<n>{_OF_YEAR})(?!\d)",
        rf"(?<!\d)(?P<y>{_YEAR})[-_./]?(?P<m>{_MONTH})(?!\d)",
        rf"(?<!\d)(?P<y>{_YEAR})(?!\d)",
    )
)
NONE = np.datetime64("NaT", "s")


def dates_of(urls: Sequence[str | None]) -> np.ndarray:
    """Return the date in each name, datetime64[s]; NaT if there is none."""
    # All names are parsed with one pattern: the most precise one that matches nine of ten. If all
    # have the same date, or there is only one name, dates mean nothing, and none are returned.
    found = np.full(len(urls), NONE)
    pattern = _pattern([url for url in urls[:LOOKED_AT] if url is not None])
    if pattern is None:
        return found
    for row, url in enumerate(urls):
        found[row] = _date(pattern, url or "")
    return found if len(np.unique(found[~np.isnat(found)])) > 1 else np.full(len(urls), NONE)


def _pattern(names: Sequence[str]) -> re.Pattern[str] | None:
    for pattern in _PATTERNS:
        dates = [_date(pattern, name) for name in names]
        known = [date for date in dates if not np.isnat(date)]
        if names and len(known) >= _SHARE * len(names) and len(set(known)) > 1:
            return pattern
    return None


def _date(pattern: re.Pattern[str], name: str) -> np.datetime64:
    """Return the first date in the file name, else the last one in its folders."""
    date: np.datetime64 = NONE
    own = [*pattern.finditer(name, name.rfind("/") + 1)][:1]
    for match in own or pattern.finditer(name):
        parts = match.groupdict()
        text = f"{parts['y']}-{parts.get('m') or '01'}-{parts.get('d') or '01'}"
        clock = re.sub(r"\D", "", parts.get("t") or "").ljust(6, "0")
        time = f"{clock[:2]}:{clock[2:4]}:{clock[4:6]}"
        try:
            date = np.datetime64(f"{text}T{time}", "s")
        except ValueError:  # the 31st of April, or 25 o'clock
            continue
        if parts.get("n"):
            date += np.timedelta64(int(parts["n"]) - 1, "D")
    return date


def folders_of(urls: Sequence[str | None], whole_host: bool) -> list[str]:
    """Return the folder of each URL, or the protocol with the host; empty if there is none."""
    return [_host(url or "") if whole_host else _folder(url or "") for url in urls]


_HOST = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://[^/]*)?", re.ASCII)


def _host(url: str) -> str:
    match = _HOST.match(url)
    return (match[1] or "") if match else ""


def _folder(url: str) -> str:
    head = url[: url.rfind("/") + 1]
    return _host(url) or head if head.endswith("://") else head


_LOOKED_AT = 100_000  # distinct URLs that are searched for places to allow
_GENERATED = 16  # keys of a gen item, evenly spaced, that are evaluated for the same
_START = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/*[^/]*|/|", re.ASCII)


def example_urls(opened: OpenedSet) -> tuple[str | None, ...]:
    """Return the first URL with each prefix: a protocol with its host, a slash, or neither."""
    found: dict[str | None, str | None] = {}
    for url in urls(opened):
        match = None if url is None else _START.match(url)
        found.setdefault(None if match is None else match[0], url)
    return tuple(found.values())


def urls(opened: OpenedSet) -> Iterator[str | None]:
    """Yield the first URLs of each part of a set."""
    for _, columns in opened.columns():
        yield from islice(columns.urls, _LOOKED_AT)
    for part in opened.segments:
        if isinstance(part, Generated) and part.count:
            step = max((part.count - 1) // _GENERATED, 1)
            for row in {*range(0, part.count, step), part.count - 1}:
                reference = part.reference_at(row)
                if isinstance(reference, Url | Range):
                    yield reference.url


_BLOCK = 4_096  # combinations that are evaluated together


@dataclass(frozen=True)
class FurtherTargets:
    """Targets of generated keys that were not evaluated."""

    keys: dict[str, int]  # About how many keys refer to each of them, by its URL
    unlisted: int  # How many more there may be at most; they are too many, too


def further_targets(
    parts: Iterable[Generated], known: Collection[str | None], most: int
) -> FurtherTargets:
    """Evaluate the URLs of gen items once per combination of the dimensions they use."""
    found: dict[str, int] = {}
    left, unlisted = most, 0
    for part in parts:
        item = part.item
        # dimensions that the URL does not use, such as those of the chunk, would only repeat it
        grid = DimensionProduct(
            tuple(d for d in item.varying.dimensions if d.name in item.url.names)
        )
        count = min(grid.count, left)
        left -= count
        unlisted += grid.count - count
        for url in _urls_of_further_targets(item, grid, count):
            if url not in known:
                found[url] = found.get(url, 0) + item.count // grid.count
    return FurtherTargets(found, unlisted)


def _urls_of_further_targets(item: GenItem, grid: DimensionProduct, count: int) -> Iterator[str]:
    """Yield the URLs of the first combinations; failing ones are skipped."""
    for block in blocks(grid, 0, count, _BLOCK) if count else ():
        scopes = item.scopes(block.values(grid))
        try:
            urls = flat(scopes.texts(item.url), block.shape)
        except TooMuchText:  # such URLs cannot exist
            continue
        yield from urls[np.flatnonzero(scopes.good(block.shape))].tolist()


_ROWS = 1_000_000  # Explicit references that are looked at together
_PENDING = 1_000_000  # Intervals that wait until they are merged


class _Covered:
    """The bytes of targets covered by ranges, as disjoint, non-adjacent intervals."""

    def __init__(self) -> None:
        self._merged = _Stretches(*(np.empty(0, np.int64),) * 3)
        self._waiting: list[_Stretches] = []
        self._count = 0

    def add(self, codes: np.ndarray, offsets: np.ndarray, lengths: np.ndarray) -> None:
        """Add ranges."""
        found = _merged(codes, offsets, offsets + lengths)
        self._waiting.append(found)
        self._count += len(found.codes)
        if self._count > _PENDING + len(self._merged.codes):
            self._merge()

    def _merge(self) -> None:
        columns = zip(self._merged, *self._waiting, strict=True)
        self._merged = _merged(*map(np.concatenate, columns))
        self._waiting, self._count = [], 0

    def sizes(self, count: int) -> np.ndarray:
        """Return how many bytes of each of `count` targets are covered."""
        self._merge()
        found = np.zeros(count, np.int64)
        np.add.at(found, self._merged.codes, self._merged.ends - self._merged.starts)
        return found


class _Stretches(NamedTuple):
    """n intervals of targets, in target order, shape ``(n,)`` each."""

    codes: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def _merged(codes: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> _Stretches:
    """Sort ranges and merge overlapping or adjacent ones; empty ones are dropped."""
    full = ends > starts
    if not full.all():
        codes, starts, ends = codes[full], starts[full], ends[full]
    is_next = codes[1:] == codes[:-1]
    if np.any((codes[1:] < codes[:-1]) | (is_next & (starts[1:] < starts[:-1]))):
        order = np.lexsort((starts, codes))
        codes, starts, ends = codes[order], starts[order], ends[order]
        is_next = codes[1:] == codes[:-1]
    first = np.ones(len(codes), np.bool_)
    first[1:] = ~is_next
    reach = furthest_ends(ends, first)
    first[1:] |= starts[1:] > reach[:-1]
    last = np.ones(len(codes), np.bool_)
    last[:-1] = first[1:]
    return _Stretches(codes[first], starts[first], reach[last])


@dataclass(frozen=True)
class TargetColumns:
    """n targets, in the order of first use in the set, shape ``(n,)`` each."""

    # ranges, whole: How many keys refer to a byte range, and how many to all of it
    ranges: np.ndarray
    whole: np.ndarray
    bytes: np.ndarray  # That ranges cover, each counted once
    end: np.ndarray  # Of the last range
    lengths: np.ndarray  # Bytes of all ranges; as many as are covered unless some share bytes


class _Sums:
    """Sums the references to each target; the number of targets may grow."""

    def __init__(self) -> None:
        self._sums = np.zeros((4, 0), np.int64)
        self._covered = _Covered()

    def add(self, rows: Rows, count: int) -> None:
        """Add references; there are now `count` targets."""
        if count > self._sums.shape[1]:
            room = np.zeros((4, count + count // 2 - self._sums.shape[1]), np.int64)
            self._sums = np.concatenate([self._sums, room], axis=1)
        ranges, whole, end, total = self._sums
        is_range = rows.kinds == RANGE
        np.add.at(whole, rows.codes[~is_range], 1)
        codes, offsets, lengths = (
            (rows.codes, rows.offsets, rows.lengths)
            if is_range.all()
            else (each[is_range] for each in (rows.codes, rows.offsets, rows.lengths))
        )
        np.add.at(ranges, codes, 1)
        np.add.at(total, codes, lengths)
        np.maximum.at(end, codes, offsets + lengths)
        self._covered.add(codes, offsets, lengths)

    def columns(self, count: int) -> TargetColumns:
        """Return the sums."""
        ranges, whole, end, total = self._sums[:, :count]
        return TargetColumns(ranges, whole, self._covered.sizes(count), end, total)


class DateSpan(NamedTuple):
    """The range of dates in the names of an array's targets."""

    # first, last: NaT if no name has one
    first: np.datetime64
    last: np.datetime64
    # dated, targets: How many names contain a date, and how many targets there are
    dated: int
    targets: int


class _ReadTogether(NamedTuple):
    """References that are read together: a segment, or one of its record files or manifests."""

    number: int  # Its own, in order
    segment: Segment
    part: SegmentPart | None = None
    evaluated: int = 0  # How many of generated keys

    def key_at(self, row: int) -> str:
        """Return a key by its row."""
        if self.part is None or not isinstance(self.segment, Records):
            return self.segment.key_at(row)
        array, number = self.segment.array, self.part.start + self.part.held.row_at(row)
        return array.chunk_key(array.index_at(number))

    def row_of(self, key: str) -> int | None:
        """Return the row of a key; None if it is in another piece."""
        row = self.segment.find(key) if key.startswith(self.segment.folder) else None
        if row is None or self.part is None or not isinstance(self.segment, Records):
            return row
        return self.part.held.position_of(self.segment.chunk_number(row) - self.part.start)


class TargetIndex:
    """All targets of a set, and the references to each, which are read again on demand."""

    def __init__(
        self,
        opened: OpenedSet,
        evaluated_keys: int = EVALUATED_KEYS,
        progress: Progress | None = None,
    ) -> None:
        self._opened = opened
        self._evaluated_keys = evaluated_keys
        self._codes: dict[str | None, int] = {}
        self._paths = opened.arrays.paths
        self._places = {path: position for position, path in enumerate(self._paths)}
        self.unlisted = 0
        self._cut: list[Generated] = []
        self._pieces = tuple(self._all_pieces())
        self._codes_in: list[np.ndarray] = []  # The targets of each piece, ascending
        sums, users = _Sums(), [np.empty(0, np.int64)]
        width = len(self._paths) + 1
        for done, piece in enumerate(self._pieces, 1):
            found = [np.empty(0, np.int64)]
            for rows in self._rows_of(piece):
                sums.add(rows, len(self._codes))
                found.append(distinct(rows.codes * width + rows.arrays + 1))
            users.append(distinct(np.concatenate(found)))
            self._codes_in.append(distinct(users[-1] // width))
            if progress is not None:
                progress(done, len(self._pieces))
        self.urls = tuple(self._codes)  # In the order of first use in the set
        self.columns = sums.columns(self.count)
        pairs = distinct(np.concatenate(users))
        self._users = np.stack([pairs // width, pairs % width - 1])

    @property
    def count(self) -> int:
        """The number of targets."""
        return len(self.urls)

    @cached_property
    def names(self) -> tuple[str | None, ...]:
        """The targets as displayed; those that look alike are numbered."""
        seen = [None if url is None else masked_url(url) for url in self.urls]
        alike = {name for name, count in Counter(seen).items() if count > 1}
        numbers = Counter[str | None]()
        for code, name in enumerate(seen if alike else ()):
            if name in alike:
                numbers[name] += 1
                seen[code] = f"{name} ({numbers[name]})"
        return tuple(seen)

    def name_of(self, url: str | None) -> str | None:
        """Return the display name of a target."""
        return self.names[self._codes[url]]

    def named(self, name: str | None) -> str | None:
        """Return the target for a display name."""
        if name in self._codes:
            return name
        if f"{name} (1)" in self._named:
            raise RefexplorerError(
                f"Several targets look like {name} without their signatures; choose one by its "
                "number in the list of targets."
            )
        return self.urls[self._named[name]]

    @cached_property
    def _named(self) -> dict[str | None, int]:
        return {name: code for code, name in enumerate(self.names)}

    @cached_property
    def dates(self) -> np.ndarray:
        """The date in the name of each target, datetime64[s]; NaT if there is none."""
        return dates_of(self.urls)

    @cached_property
    def date_spans(self) -> dict[str, DateSpan]:
        """The dates in the names of the targets of each array."""
        order = np.argsort(self._users[1], kind="stable")
        arrays, dates = self._users[1, order], self.dates[self._users[0, order]]
        starts = np.searchsorted(arrays, np.arange(len(self._paths) + 1))
        found = {}
        for path, start, stop in zip(self._paths, starts, starts[1:], strict=False):
            known = dates[start:stop][~np.isnat(dates[start:stop])]
            first, last = (known.min(), known.max()) if len(known) else (NONE, NONE)
            found[path] = DateSpan(first, last, len(known), int(stop - start))
        return found

    @cached_property
    def _shared(self) -> Rows:
        """The references that share bytes with another range."""
        odd = np.flatnonzero(self.columns.lengths != self.columns.bytes)
        rows = self._gathered(odd)
        return rows.at(overlapping(rows))

    @cached_property
    def shared_counts(self) -> dict[str, int]:
        """The number of references of each array that share bytes with another range, if any."""
        arrays, counts = np.unique(self._shared.arrays, return_counts=True)
        found = zip(arrays.tolist(), counts.tolist(), strict=True)
        return {self._paths[array]: count for array, count in found if array >= 0}

    def shared_keys(self, array: str) -> list[str]:
        """Return the keys of an array whose range shares bytes with that of another key."""
        rows = self._shared.at(self._shared.arrays == self._places[array])
        return self.keys(rows.parts, rows.rows)

    def arrays_of(self, code: int) -> tuple[str | None, ...]:
        """Return the paths of the arrays that use a target, given by its index."""
        low, high = np.searchsorted(self._users[0], [code, code + 1])
        return tuple(map(self.array_path, self._users[1, low:high].tolist()))

    def codes_named(self, urls: Sequence[str | None]) -> np.ndarray:
        """Return the indices of targets, ascending; unreferenced ones are omitted."""
        found = {self._codes[url] for url in urls if url in self._codes}
        return np.array(sorted(found), np.int64)

    @cached_property
    def further(self) -> FurtherTargets:
        """The targets that occur only in generated keys whose templates were not evaluated."""
        return further_targets(self._cut, self._codes, self._evaluated_keys)

    def targets(self, start: int = 0, stop: int | None = None) -> list[TargetSummary]:
        """Return some targets, in the order of first use in the set."""
        return [self.summary(code) for code in range(self.count)[start:stop]]

    def summary(self, code: int) -> TargetSummary:
        """Return the table row of a target, given by its index."""
        found = self.columns
        columns = found.ranges, found.whole, found.bytes, found.end
        ranges, whole, size, end = (int(column[code]) for column in columns)
        return TargetSummary(self.urls[code], ranges, whole, size, end, self.arrays_of(code))

    def codes_of(self, array: str) -> np.ndarray:
        """Return the indices of the targets of an array, ascending."""
        return self._users[0, self._users[1] == self._places[array]]

    def located(self, url: str | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the references to a target, as accepted by `keys`, sorted by offset."""
        rows = self._gathered(np.array([self._codes[url]]))
        return rows.parts, rows.rows

    def layout(self, url: str | None) -> TargetLayout:
        """Return the layout of a target."""
        return TargetLayout(self, url, self._gathered(np.array([self._codes[url]])))

    def _gathered(self, codes: np.ndarray) -> Rows:
        """Read the references to some targets, ascending, sorted by target and offset."""
        found = [Rows(*(np.empty(0, np.int64),) * len(Rows._fields))]
        for piece, present in zip(self._pieces, self._codes_in, strict=True):
            if np.isin(codes, present, assume_unique=True).any():
                found += (rows.at(np.isin(rows.codes, codes)) for rows in self._rows_of(piece))
        rows = Rows(*map(np.concatenate, zip(*found, strict=True)))
        return rows.at(np.lexsort((rows.lengths, rows.offsets, rows.codes)))

    def array_path(self, code: int) -> str | None:
        """Return the path of an array; None stands for keys outside arrays."""
        return None if code < 0 else self._paths[code]

    def keys(self, parts: np.ndarray, rows: np.ndarray) -> list[str]:
        """Return the keys of rows of pieces."""
        positions = zip(parts.tolist(), rows.tolist(), strict=True)
        return [self._pieces[part].key_at(row) for part, row in positions]

    def is_key(self, key: str, parts: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return which rows of pieces belong to a key, shape ``(n,)`` bool."""
        places = {part: self._pieces[part].row_of(key) for part in distinct(parts).tolist()}
        positions = zip(parts.tolist(), rows.tolist(), strict=True)
        return np.array([places[part] == row for part, row in positions], np.bool_)

    def _all_pieces(self) -> Iterator[_ReadTogether]:
        left, numbers = self._evaluated_keys, count()
        for segment in self._opened.parts:
            if isinstance(segment, Records):
                yield from (_ReadTogether(next(numbers), segment, part) for part in segment.parts)
                continue
            evaluated = 0
            if isinstance(segment, Generated):
                evaluated = min(segment.count, left)
                left -= evaluated
                self.unlisted += segment.count - evaluated
                self._cut += [segment] if evaluated < segment.count else []
            yield _ReadTogether(next(numbers), segment, None, evaluated)

    def _rows_of(self, piece: _ReadTogether) -> Iterator[Rows]:
        """Read the references of a piece with a target; unread ones are not kept."""
        segment, part = piece.segment, piece.part
        if isinstance(segment, Generated):
            for run in segment.runs(0, piece.evaluated):
                arrays = np.array([self._array_of(key) for key in run.keys], np.int64)
                yield self._column(piece, run.numbers, columns_of(run), arrays)
        elif part is not None and isinstance(segment, Records):
            is_fresh, columns = not part.is_read, part.columns
            arrays = np.full(len(columns), self._places.get(segment.array.path, -1), np.int64)
            yield self._column(piece, np.arange(len(columns)), columns, arrays)
            if is_fresh:
                part.release()
        else:
            columns, arrays = self._opened.table.columns, self._table_arrays
            for start in range(0, len(columns), _ROWS):
                rows = np.arange(start, min(start + _ROWS, len(columns)))
                of = slice(start, start + _ROWS)
                yield self._column(piece, rows, columns.select(of), arrays[of])

    @cached_property
    def _table_arrays(self) -> np.ndarray:
        return self._opened.arrays.of_rows()

    def _array_of(self, key: str) -> int:
        found = (self._places.get(path) for path in folders_above(key))
        return next((position for position in found if position is not None), -1)

    def _column(
        self, piece: _ReadTogether, rows: np.ndarray, columns: Columns, arrays: np.ndarray
    ) -> Rows:
        used = np.flatnonzero((columns.kinds == RANGE) | (columns.kinds == URL))
        codes, parts = code_targets(columns, self._codes), np.full(len(rows), piece.number)
        found = Rows(codes, columns.kinds, columns.offsets, columns.lengths, arrays, parts, rows)
        return found.at(used)._replace(arrays=arrays[used].astype(np.int64))
