"""The segments of a set: explicit references, gen items, parquet arrays; later ones override."""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from refexplorer.core.errors import LeftOutWarning
from refexplorer.formats.columns.arrow import number_column, text_column
from refexplorer.formats.columns.references import RANGE, URL, Columns, UrlColumn, joined
from refexplorer.formats.columns.table import Table
from refexplorer.spec.findings import Finding, Reason, pointer
from refexplorer.spec.gen.dimensions import as_column
from refexplorer.spec.gen.item import FEW, BadField, GenItem, Run, entries, failing, runs
from refexplorer.spec.references import Range, Reference
from refexplorer.spec.templates.columns import Halves


class Segment(Protocol):
    """References that are numbered, and found by arithmetic or in columns."""

    @property
    def origin(self) -> str:
        """Where the keys come from: ``refs``, ``gen[0]`` or ``parquet``."""

    @property
    def folder(self) -> str:
        """The folder that all keys are in; ``""`` is the root."""

    @property
    def count(self) -> int:
        """How many keys there are."""

    @property
    def bound(self) -> int:
        """No fewer than `count`, and known without reading anything."""

    @property
    def size(self) -> int | None:
        """Bytes of all references; None if they are not known without reading."""

    def key_at(self, row: int) -> str:
        """Return a key by its number."""

    def reference_at(self, row: int) -> Reference | None:
        """Return a reference by its number; None if it fails."""

    def find(self, key: str) -> int | None:
        """Return the number of a key, or None."""

    def holds(self, key: str) -> bool:
        """Say whether there is such a key; cheaper than its number where that is counted."""

    def get(self, key: str) -> Reference | None:
        """Return the reference of a key; None if there is none, or if it fails."""

    def iterate(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[str, Reference]]:
        """Yield keys and references in order."""


def warn_of_failing(part: Segment, count: int) -> None:
    """Warn that so many keys were not written, which nobody was told of when the set opened."""
    if count:
        warnings.warn(
            f"{count:,} of the {part.count:,} keys of {part.origin} are rejected and not "
            "written: their templates fail.",
            LeftOutWarning,
            stacklevel=2,
        )


@dataclass(frozen=True)
class Generated:
    """The keys of a gen item, without those that fail or that a later item overrides."""

    item: GenItem  # The gen item
    # The numbers of the keys that a later item overrides, sorted
    overridden: tuple[int, ...] = field(default=())

    @property
    def origin(self) -> str:
        """The place in the document."""
        return f"gen[{self.item.number}]"

    @property
    def folder(self) -> str:
        """The folder that all keys are in."""
        return self.item.folder

    @property
    def count(self) -> int:
        """How many keys there are."""
        return self.item.count - len(self.overridden)

    @property
    def bound(self) -> int:
        """The same: the count is arithmetic."""
        return self.count

    @property
    def size(self) -> int | None:
        """Bytes of all references; None of whole files, and where each length varies."""
        length = self.item.length
        return self.count * int(length.text) if length is not None and length.literal else None

    def without(self, rows: Iterable[int]) -> Generated:
        """Return the same without some rows."""
        return Generated(self.item, tuple(sorted({*self.overridden, *map(self.number, rows)})))

    def rejection(self, key: str) -> Finding | None:
        """Return why a key is not there although it is made; None if nothing fails for it."""
        number = self.item.find(key)
        bad = None if number is None else self.item.failure(self.item.values(number))
        if bad is None:
            return None
        message = f"{self.origin} generates this key, but its `{bad.field}` fails: {bad}"
        at = pointer("gen", self.item.number, bad.field)
        return Reason(bad.code, message, bad.hint).finding(at, key)

    def failing(self) -> Iterator[str]:
        """Yield the keys for which a template fails, unless it is that of the key."""
        item = self.item
        for number in item.failing if item.is_tried else failing(item, 0, item.count):
            try:
                yield item.key_at(number)
            except BadField:
                continue

    def number(self, row: int) -> int:
        """Return the number in the gen item of a row of this segment."""
        number = row
        # counting past overridden numbers may pass further ones, so until nothing changes
        while (passed := row + bisect_right(self.overridden, number)) != number:
            number = passed
        return number

    def key_at(self, row: int) -> str:
        """Return a key by its number; a key that fails has the text of its template."""
        try:
            return self.item.key_at(self.number(row))
        except BadField:
            return self.item.key.text

    def reference_at(self, row: int) -> Reference | None:
        """Return a reference by its number; None if it fails."""
        try:
            return self.item.reference_at(self.number(row))
        except BadField:
            return None

    def find(self, key: str) -> int | None:
        """Return the number of a key, or None."""
        number = self.item.find(key)
        if number is None:
            return None
        position = bisect_right(self.overridden, number)
        if position and self.overridden[position - 1] == number:
            return None
        return number - position

    def holds(self, key: str) -> bool:
        """Say whether there is such a key."""
        row = self.find(key)
        return row is not None and (self.item.is_tried or self.reference_at(row) is not None)

    def get(self, key: str) -> Reference | None:
        """Return the reference of a key; None if there is none, or if it fails."""
        row = self.find(key)
        return None if row is None else self.reference_at(row)

    def iterate(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[str, Reference]]:
        """Yield keys and references in order; those that fail are skipped."""
        stop = self.count if stop is None else min(stop, self.count)
        if self.overridden and stop - start <= FEW:
            found = ((self.key_at(row), self.reference_at(row)) for row in range(start, stop))
            yield from ((key, reference) for key, reference in found if reference is not None)
        elif self.overridden:
            for run in self.runs(start, stop):
                yield from run.references()
        else:
            yield from entries(self.item, start, stop)

    def runs(self, start: int = 0, stop: int | None = None) -> Iterator[Run]:
        """Yield the references in runs, numbered as the rows of this segment."""
        stop = self.count if stop is None else min(stop, self.count)
        if start >= stop:
            return
        overridden = as_column(self.overridden)
        for run in runs(self.item, self.number(start), self.number(stop - 1) + 1):
            if not self.overridden:
                yield run
                continue
            passed = np.searchsorted(overridden, run.numbers)
            is_overridden = overridden[np.minimum(passed, len(overridden) - 1)] == run.numbers
            shown = np.flatnonzero(~is_overridden)
            yield replace(run.select(shown), numbers=(run.numbers - passed)[shown])


_LARGEST = 2**63 - 1  # int64


def generated_tables(part: Generated, start: int = 0, stop: int | None = None) -> Iterator[Table]:
    """Yield the references numbered `start` to `stop`; those that fail are skipped."""
    for run in part.runs(start, stop):
        yield Table(_keys_of(run), columns_of(run), part.origin)


def generated_keys(part: Generated) -> Iterator[pa.LargeStringArray]:
    """Yield the keys alone, in order; those of references that fail are skipped."""
    return map(_keys_of, part.runs())


def _keys_of(run: Run) -> pa.LargeStringArray:
    if not isinstance(run.texts, Halves):
        return text_column(run.keys)
    parts = ((run.texts.heads, run.texts.high), (run.texts.tails, run.texts.low))
    return joined(
        *(text_column(texts).take(number_column(positions)) for texts, positions in parts)
    )


def columns_of(run: Run) -> Columns:
    """Return the references of the keys of a run."""
    count, urls = len(run), UrlColumn(more=run.urls)
    if run.offsets is None or run.lengths is None:
        none = np.zeros(count, np.int64)
        return Columns(np.full(count, URL, np.uint8), run.targets, urls, none, none, ())
    (offsets, huge), (lengths, long) = _bounded(run.offsets), _bounded(run.lengths)
    large = {
        row: Range(run.urls[run.targets[row]], int(run.offsets[row]), int(run.lengths[row]))
        for row in np.flatnonzero(huge | long).tolist()
    }
    kinds = np.full(count, RANGE, np.uint8)
    return Columns(kinds, run.targets, urls, offsets, lengths, (), large)


def _bounded(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers as int64, and where they do not fit."""
    large = numbers > _LARGEST
    return np.where(large, _LARGEST, numbers).astype(np.int64), large.astype(np.bool_)


EVALUATED_KEYS = 200_000
"""Generated keys that one question evaluates; more take too long to wait for."""


def code_targets(columns: Columns, codes: dict[str | None, int]) -> np.ndarray:
    """Return the target of each reference as a number, shape ``(n,)`` int64, -1 without one."""
    table = np.full(len(columns.urls) + 1, -1, np.int64)
    is_used = np.zeros(len(table), np.bool_)
    is_used[columns.targets] = True  # the last place is that of -1
    used = np.flatnonzero(is_used[:-1])
    table[used] = [codes.setdefault(url, len(codes)) for url in columns.urls.at(used)]
    coded: np.ndarray = table[columns.targets]
    return coded
