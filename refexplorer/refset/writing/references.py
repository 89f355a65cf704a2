"""What `convert` changes: inlined and outlined bytes, renamed targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import numpy as np

from refexplorer.formats.columns.references import (
    BASE64,
    INLINE,
    RANGE,
    Columns,
    UrlColumn,
    build_columns,
    joined_columns,
)
from refexplorer.formats.columns.table import Table
from refexplorer.refset.writing.comparing import Spool, differs
from refexplorer.spec.reference_parsing import read_bytes
from refexplorer.spec.references import Base64, Inline, Range, Reference

ReadKeys = Callable[[list[str]], Mapping[str, bytes]]
"""Takes keys of the set, and gives their bytes."""


class Inlining:
    """Puts byte ranges of few bytes into the set.

    Each is read once: what was read waits on disk for a second pass over the same tables.
    """

    def __init__(self, most: int, read: ReadKeys, spool: Spool) -> None:
        self._most = most
        self._read = read
        self._spool = spool
        self._put, self._taken = count(), count()

    def apply(self, table: Table) -> Table:
        """Return a table with its short byte ranges read."""
        columns = table.columns
        rows = np.flatnonzero((columns.kinds == RANGE) & (columns.lengths <= self._most))
        keys = table.keys_at(rows).to_pylist()
        data = self._read(keys) if keys else {}
        read = build_columns(read_bytes(data[key]) for key in keys)
        self._spool.put(next(self._put), rows, read)
        return replaced(table, rows, read)

    def again(self, table: Table) -> Table:
        """Return the tables of the first pass once more, one after the other."""
        return replaced(table, *self._spool.take(next(self._taken)))


class Outlining:
    """The removal of inline data of chunks from a set to a file; metadata stays."""

    def __init__(self, put: Callable[[bytes], object], url: str) -> None:
        self._put = put
        self._url = url
        self._end = 0

    def apply(self, table: Table) -> Table:
        """Return a table whose data is in the file."""
        kinds = table.columns.kinds
        chosen = (kinds == INLINE) | (kinds == BASE64)
        chosen[list(table.metadata.values())] = False
        rows = np.flatnonzero(chosen)
        moved = (self._moved(table.reference_at(row)) for row in rows.tolist())
        return replaced(table, rows, build_columns(moved))

    def _moved(self, reference: Reference) -> Range:
        assert isinstance(reference, Inline | Base64)
        data, start = reference.data, self._end
        self._put(data)
        self._end += len(data)
        return Range(self._url, start, len(data))


@contextmanager
def read_back(path: Path) -> Iterator[Callable[[bytes], None]]:
    """Give what compares the data of each chunk with what comes next in a file."""
    with path.open("rb") as file:

        def check(data: bytes) -> None:
            if file.read(len(data)) != data:
                raise differs("the inline data that was moved to a file is not there")

        yield check


def empty_as_text(table: Table) -> Table:
    """Return a table with empty byte ranges as empty text, since a store takes 0 for the whole."""
    empty = (table.columns.kinds == RANGE) & (table.columns.lengths == 0)
    rows = np.flatnonzero(empty)
    return replaced(table, rows, build_columns(Inline("") for _ in rows))


def replaced(table: Table, rows: np.ndarray, columns: Columns) -> Table:
    """Return a table with other references in some rows, shape ``(n,)``."""
    if not len(rows):
        return table
    order = np.arange(table.count)
    order[rows] = table.count + np.arange(len(rows))
    both = joined_columns([table.columns, columns])
    return replace(table, columns=both.select(order))


@dataclass(frozen=True)
class Renames:
    """Rules for the starts of URLs, of which the first that fits is applied."""

    rules: Sequence[tuple[str, str]]  # Start before and start after
    unused: set[tuple[str, str]] = field(init=False)  # The rules that no URL asked for yet

    def __post_init__(self) -> None:
        object.__setattr__(self, "unused", set(self.rules))

    def apply(self, url: str) -> str:
        """Return the new form of a URL."""
        for rule in self.rules:
            if url.startswith(rule[0]):
                self.unused.discard(rule)
                return rule[1] + url[len(rule[0]) :]
        return url


def retargeted(table: Table, changes: Sequence[Callable[[str], str]]) -> Table:
    """Return a table with each change made to each of its distinct URLs, and no others kept."""
    columns = table.columns
    used, inverse = np.unique(columns.targets, return_inverse=True)
    before = int(np.searchsorted(used, 0))
    found = columns.urls.at(used[before:])
    for change in changes:
        found = [url if url is None else change(url) for url in found]
    targets = (inverse - before).astype(np.int32)
    targets[columns.targets < 0] = -1
    large = {
        row: Range(found[targets[row]], reference.offset, reference.length)
        for row, reference in columns.large.items()
    }
    return replace(
        table, columns=replace(columns, urls=UrlColumn(more=found), targets=targets, large=large)
    )
