"""The targets of a set, each with the references to it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import masked_url
from refexplorer.formats.columns.references import RANGE, URL, Columns
from refexplorer.refset.numbered_segment import Records
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.segments import EVALUATED_KEYS, Generated, Segment, code_targets, columns_of
from refexplorer.refset.target_layout import Rows, TargetLayout, TargetSummary, overlapping
from refexplorer.spec.gen.dimensions import DimensionProduct, blocks
from refexplorer.spec.gen.item import GenItem
from refexplorer.spec.references import Range, Url, folders_above
from refexplorer.spec.templates.columns import TooMuchText, flat

LOOKED_AT = 1_000
"""Names that a way of writing dates is chosen by."""
_SHARE = 0.9
"""Of these, how many must be written in that way."""
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
    """Return the date that each name holds, datetime64[s]; NaT where it holds none.

    All names are read in one way: the most exact one in which nine of ten are written. If all of
    them hold the same date, or there is only one name, it tells nothing, and there are none.
    """
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
    """Return the first date of the file's own name, else the last one of its folders."""
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
    """Return the folder of each URL, or the protocol with the host; empty where it has none."""
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
    """Return the first URL with each start: a protocol with its host, a slash, or neither.

    Of very many URLs the first ones are looked at, of a gen item some that lie far apart. None
    stands for a reference that names no target.
    """
    found: dict[str | None, str | None] = {}
    for url in _urls(opened):
        match = None if url is None else _START.match(url)
        found.setdefault(None if match is None else match[0], url)
    return tuple(found.values())


def _urls(opened: OpenedSet) -> Iterator[str | None]:
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
    """Evaluate the URLs of gen items once for each combination of the dimensions that they use."""
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
    """Yield the URLs of the first combinations; those that fail are skipped."""
    for block in blocks(grid, 0, count, _BLOCK) if count else ():
        scopes = item.scopes(block.values(grid))
        try:
            urls = flat(scopes.texts(item.url), block.shape)
        except TooMuchText:  # such URLs lead nowhere
            continue
        yield from urls[np.flatnonzero(scopes.good(block.shape))].tolist()


# offsets of one target are moved behind those of all before it, and two of them are added
_INT64 = 2**62


@dataclass(frozen=True)
class TargetColumns:
    """n targets, in the order in which the set first names them, shape ``(n,)`` each."""

    # ranges, whole: How many keys refer to a byte range, and how many to all of it
    ranges: np.ndarray
    whole: np.ndarray
    # That ranges cover, each counted once; of numbers of more than 64 bits -1, not known here
    bytes: np.ndarray
    end: np.ndarray  # Of the last range, likewise


def target_columns(rows: Rows, starts: np.ndarray) -> TargetColumns:
    """Sum up references that are sorted by target and offset."""
    count = len(starts) - 1
    is_range = rows.kinds == RANGE
    ranges = np.bincount(rows.codes[is_range], minlength=count)
    whole = np.bincount(rows.codes[~is_range], minlength=count)
    codes, offsets, lengths = (each[is_range] for each in (rows.codes, rows.offsets, rows.lengths))
    ends = offsets + lengths
    end, covered = np.zeros(count, np.int64), np.zeros(count, np.int64)
    # a target follows the one before it, so that one running maximum serves all of them
    width = int(ends.max(initial=0)) + 1
    if (len(ends) and (ends < offsets).any()) or width > _INT64 // max(count, 1):
        return TargetColumns(ranges, whole, np.full(count, -1), np.full(count, -1))
    np.maximum.at(end, codes, ends)
    base = codes.astype(np.int64) * width
    reached = np.maximum.accumulate(base + ends)
    before = np.concatenate([[0], reached[:-1]])[: len(reached)]
    news = np.maximum(base + ends - np.maximum(base + offsets, before), 0)
    np.add.at(covered, codes, news)
    return TargetColumns(ranges, whole, covered, end)


class DateSpan(NamedTuple):
    """The dates in the names of the targets of an array."""

    # first, last: NaT where no name holds one
    first: np.datetime64
    last: np.datetime64
    # dated, targets: How many names hold one, and how many targets there are
    dated: int
    targets: int


class TargetIndex:
    """All references of a set by their targets, put in order when it is first asked."""

    def __init__(self, opened: OpenedSet, evaluated_keys: int = EVALUATED_KEYS) -> None:
        self._opened = opened
        self._evaluated_keys = evaluated_keys
        self._codes: dict[str | None, int] = {}
        self._paths = opened.arrays.paths
        self._places = {path: position for position, path in enumerate(self._paths)}
        self.unlisted = 0
        self._cut: list[Generated] = []
        rows = Rows(*map(np.concatenate, zip(*self._read(), strict=True)))
        order = np.lexsort((rows.lengths, rows.offsets, rows.codes))
        self._rows = Rows(*(column[order] for column in rows))
        self._starts = np.searchsorted(self._rows.codes, np.arange(len(self._codes) + 1))
        self._urls = tuple(self._codes)

    @property
    def count(self) -> int:
        """How many targets there are."""
        return len(self._urls)

    @property
    def urls(self) -> tuple[str | None, ...]:
        """The targets, in the order in which the set first names them."""
        return self._urls

    @cached_property
    def names(self) -> tuple[str | None, ...]:
        """The targets as people see them; those that look alike have a number each."""
        seen = [None if url is None else masked_url(url) for url in self._urls]
        alike = {name for name, count in Counter(seen).items() if count > 1}
        numbers = Counter[str | None]()
        for code, name in enumerate(seen if alike else ()):
            if name in alike:
                numbers[name] += 1
                seen[code] = f"{name} ({numbers[name]})"
        return tuple(seen)

    def name_of(self, url: str | None) -> str | None:
        """Return a target as people see it."""
        return self.names[self._codes[url]]

    def named(self, name: str | None) -> str | None:
        """Return the target that people see under a name."""
        if name in self._codes:
            return name
        if f"{name} (1)" in self._named:
            raise RefexplorerError(
                f"Several targets look like {name} without their signatures; choose one by its "
                "number in the list of targets."
            )
        return self._urls[self._named[name]]

    @cached_property
    def _named(self) -> dict[str | None, int]:
        return {name: code for code, name in enumerate(self.names)}

    @cached_property
    def columns(self) -> TargetColumns:
        """All targets in columns."""
        return target_columns(self._rows, self._starts)

    @cached_property
    def dates(self) -> np.ndarray:
        """The date that the name of each target holds, datetime64[s]; NaT where it holds none."""
        return dates_of(self._urls)

    @cached_property
    def date_spans(self) -> dict[str, DateSpan]:
        """The dates in the names of the targets of each array."""
        count = max(self.count, 1)
        pairs = np.unique(self._rows.arrays * count + self._rows.codes)
        arrays, dates = pairs // count, self.dates[pairs % count]
        starts = np.searchsorted(arrays, np.arange(len(self._paths) + 1))
        found = {}
        for path, start, stop in zip(self._paths, starts, starts[1:], strict=False):
            known = dates[start:stop][~np.isnat(dates[start:stop])]
            first, last = (known.min(), known.max()) if len(known) else (NONE, NONE)
            found[path] = DateSpan(first, last, len(known), int(stop - start))
        return found

    @cached_property
    def _shared(self) -> np.ndarray:
        return overlapping(self._rows)

    @cached_property
    def shared_counts(self) -> dict[str, int]:
        """How many references of each array share bytes with another range, if any do."""
        arrays, counts = np.unique(self._rows.arrays[self._shared], return_counts=True)
        found = zip(arrays.tolist(), counts.tolist(), strict=True)
        return {self._paths[array]: count for array, count in found if array >= 0}

    def shared_keys(self, array: str) -> list[str]:
        """Return the keys of an array whose range shares bytes with that of another key."""
        rows = self._shared[self._rows.arrays[self._shared] == self._places[array]]
        return self.keys(self._rows.parts[rows], self._rows.rows[rows])

    def arrays_of(self, code: int) -> tuple[str | None, ...]:
        """Return the paths of the arrays that use a target, by its place among all of them."""
        rows = self._rows.arrays[self._starts[code] : self._starts[code + 1]]
        return tuple(map(self.array_path, np.unique(rows).tolist()))

    def codes_named(self, urls: Sequence[str | None]) -> np.ndarray:
        """Return the places of targets, ascending; those that no reference names are left out."""
        found = {self._codes[url] for url in urls if url in self._codes}
        return np.array(sorted(found), np.int64)

    @cached_property
    def further(self) -> FurtherTargets:
        """The targets that only generated keys name whose templates were not evaluated."""
        return further_targets(self._cut, self._codes, self._evaluated_keys)

    def targets(self, start: int = 0, stop: int | None = None) -> list[TargetSummary]:
        """Return some targets, in the order in which the set first names them."""
        return [self.layout(url).summary() for url in self._urls[start:stop]]

    def codes_of(self, array: str) -> np.ndarray:
        """Return the places of the targets of an array, ascending."""
        return np.unique(self._rows.codes[self._rows.arrays == self._places[array]])

    def located(self, url: str | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the references to a target as `keys` takes them, by offset."""
        code = self._codes[url]
        rows = slice(self._starts[code], self._starts[code + 1])
        return self._rows.parts[rows], self._rows.rows[rows]

    def layout(self, url: str | None) -> TargetLayout:
        """Return the layout of a target."""
        code = self._codes[url]
        rows = slice(self._starts[code], self._starts[code + 1])
        return TargetLayout(self, url, Rows(*(column[rows] for column in self._rows)))

    def array_path(self, code: int) -> str | None:
        """Return the path of an array; None stands for keys outside arrays."""
        return None if code < 0 else self._paths[code]

    def keys(self, parts: np.ndarray, rows: np.ndarray) -> list[str]:
        """Return the keys of rows of segments."""
        segments = self._opened.parts
        positions = zip(parts.tolist(), rows.tolist(), strict=True)
        return [segments[part].key_at(row) for part, row in positions]

    def is_key(self, key: str, parts: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return which rows of segments are the one of a key, shape ``(n,)`` bool."""
        found = self._opened.find(key)
        if found is None:
            return np.zeros(len(rows), np.bool_)
        part = next(number for number, each in enumerate(self._opened.parts) if each is found[0])
        return (parts == part) & (rows == found[1])

    def _read(self) -> Iterator[Rows]:
        left = self._evaluated_keys
        for number, part in enumerate(self._opened.parts):
            if isinstance(part, Generated):
                evaluated = min(part.count, left)
                left -= evaluated
                self.unlisted += part.count - evaluated
                self._cut += [part] if evaluated < part.count else []
                for run in part.runs(0, evaluated):
                    arrays = np.array([self._array_of(key) for key in run.keys], np.int64)
                    yield self._column(number, run.numbers, columns_of(run), arrays)
            else:
                columns = self._opened.table.columns
                if isinstance(part, Records):
                    columns = part.columns
                rows = np.arange(part.count)
                yield self._column(number, rows, columns, self._arrays_of(part))

    def _arrays_of(self, part: Segment) -> np.ndarray:
        """Return the array of each row of explicit references or of a parquet array."""
        if isinstance(part, Records):
            return np.full(part.count, self._places.get(part.array.path, -1), np.int64)
        arrays = np.full(part.count, -1, np.int64)
        for position, path in enumerate(self._paths):
            folder = self._opened.tree.folder(path)
            assert folder is not None
            arrays[self._opened.tree.rows_below(folder)] = position
        return arrays

    def _array_of(self, key: str) -> int:
        found = (self._places.get(path) for path in folders_above(key))
        return next((position for position in found if position is not None), -1)

    def _column(self, part: int, rows: np.ndarray, columns: Columns, arrays: np.ndarray) -> Rows:
        used = np.flatnonzero((columns.kinds == RANGE) | (columns.kinds == URL))
        return Rows(
            code_targets(columns, self._codes)[used],
            columns.kinds[used],
            columns.offsets[used],
            columns.lengths[used],
            arrays[used],
            np.full(len(used), part, np.int64),
            rows[used],
        )
