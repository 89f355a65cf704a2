"""The targets of a set, each with the references to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from refexplorer.errors import RefexplorerError
from refexplorer.masking import masked_url
from refexplorer.refset.columns.reference_columns import RANGE, URL, Columns
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.segments.listing import EVALUATED_KEYS, code_targets, listings
from refexplorer.refset.segments.records import Records
from refexplorer.refset.segments.segment import Generated, Segment
from refexplorer.refset.targets.dates import NONE, dates_of
from refexplorer.refset.targets.further_targets import FurtherTargets, further_targets
from refexplorer.refset.targets.layout import Rows, TargetLayout, TargetSummary
from refexplorer.refset.targets.overlaps import overlapping
from refexplorer.refset.targets.target_columns import TargetColumns, target_columns
from refexplorer.spec.core.paths import folders_above
from refexplorer.spec.core.references import Range


class DateSpan(NamedTuple):
    """The dates in the names of the targets of an array.

    Attributes
    ----------
    first, last
        NaT where no name holds one.
    dated, targets
        How many names hold one, and how many targets there are.
    """

    first: np.datetime64
    last: np.datetime64
    dated: int
    targets: int


class TargetIndex:
    """All references of a set by their targets, put in order when it is first asked.

    Parameters
    ----------
    opened
        The set.
    evaluated_keys
        Generated keys whose templates are evaluated, and then URLs of further targets.

    Attributes
    ----------
    unlisted
        Generated keys whose templates were not evaluated, since they are too many.
    """

    def __init__(self, opened: OpenedSet, evaluated_keys: int = EVALUATED_KEYS) -> None:
        self._opened = opened
        self._evaluated_keys = evaluated_keys
        self._codes: dict[str | None, int] = {}
        self._paths = opened.arrays.paths
        self._places = {path: position for position, path in enumerate(self._paths)}
        self.unlisted = 0
        self._cut: list[Generated] = []
        self._large: dict[tuple[int, int], Range] = {}
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
        """Return the target that people see under a name.

        Raises
        ------
        KeyError
            If there is none.
        RefexplorerError
            If there are several, which differ only in what people do not see.
        """
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
        """Return the places of the targets of an array, ascending.

        Raises
        ------
        KeyError
            If there is no such array.
        """
        return np.unique(self._rows.codes[self._rows.arrays == self._places[array]])

    def located(self, url: str | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the references to a target as `keys` takes them, by offset.

        Raises
        ------
        KeyError
            If no reference names it.
        """
        code = self._codes[url]
        rows = slice(self._starts[code], self._starts[code + 1])
        return self._rows.parts[rows], self._rows.rows[rows]

    def layout(self, url: str | None) -> TargetLayout:
        """Return the layout of a target.

        Raises
        ------
        KeyError
            If no reference names it.
        """
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

    def exact(self, parts: np.ndarray, rows: np.ndarray) -> dict[int, Range]:
        """Return the ranges of some rows of segments whose numbers do not fit into 64 bits.

        Each by its index into `rows`.
        """
        if not self._large:
            return {}
        located = enumerate(zip(parts.tolist(), rows.tolist(), strict=True))
        return {row: self._large[each] for row, each in located if each in self._large}

    def is_key(self, key: str, parts: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Say which rows of segments are the one of a key, shape ``(n,)`` bool."""
        found = self._opened.find(key)
        if found is None:
            return np.zeros(len(rows), np.bool_)
        part = next(number for number, each in enumerate(self._opened.parts) if each is found[0])
        same: np.ndarray = (parts == part) & (rows == found[1])
        return same

    def _read(self) -> Iterator[Rows]:
        left = self._evaluated_keys
        for number, part in enumerate(self._opened.parts):
            if isinstance(part, Generated):
                evaluated = min(part.count, left)
                left -= evaluated
                self.unlisted += part.count - evaluated
                self._cut += [part] if evaluated < part.count else []
                for listing in listings(part, evaluated):
                    arrays = np.array([self._array_of(key) for key in listing.keys], np.int64)
                    yield self._column(number, listing.rows, listing.columns, arrays)
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
        self._large |= {(part, int(rows[row])): found for row, found in columns.large.items()}
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
