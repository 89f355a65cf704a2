"""References that are alike but for their numbers, read a block of rows at a time.

A first pass notes for each row which words its key and URL have, 8 bytes a row. The numbers are
read when a group is asked for, so that those of one group are in memory at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from refexplorer.formats.buffers.arrow import text_column
from refexplorer.refset.columns.reference_columns import RANGE, URL, Columns
from refexplorer.refset.columns.table import Table
from refexplorer.refset.inference.grids import LEAST_ROWS
from refexplorer.refset.inference.numbers import read_numbers, shapes_of

BLOCK = 2**16
"""Rows whose texts are read together."""
MOST_GROUPS = 1000
MOST_SHAPES = 2**20
"""Later words that are like none of so many are not looked at."""


@dataclass(frozen=True)
class Group:
    """References that are alike but for their numbers.

    Attributes
    ----------
    rows
        Their rows in the table, int32, shape ``(n,)``.
    key, url
        Words of key and URL with ``0`` in the place of each number.
    fields, widths
        Numbers of the key, then of the URL, then offset and length of byte ranges, int64, and how
        many digits each is written with, uint8 (0 for offset and length); shape ``(fields, n)``.
    ranges
        Whether they are byte ranges.
    """

    rows: np.ndarray
    key: str
    url: str
    fields: np.ndarray
    widths: np.ndarray
    ranges: bool

    @property
    def keys(self) -> int:
        """How many of the fields are numbers of the key."""
        return self.key.count("0")


class _Shapes:
    """Distinct shapes of texts, numbered as they come."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def codes(self, texts: list[str], positions: np.ndarray) -> np.ndarray:
        """Return the numbers of shapes by their positions among some; -1 for none."""
        found: np.ndarray = np.array([*map(self._code, texts), -1], np.int32)[positions]
        return found

    def _code(self, text: str) -> int:
        if len(self._codes) == MOST_SHAPES:
            return self._codes.get(text, -1)
        return self._codes.setdefault(text, len(self._codes))

    def __len__(self) -> int:
        return len(self._codes)

    def texts(self) -> list[str]:
        """Return the shapes in the order of their numbers."""
        return list(self._codes)


def groups_of(table: Table, tell: Callable[[int], None]) -> Iterator[Group]:
    """Yield the references to named targets by the words of key and URL, the largest groups first.

    Parameters
    ----------
    tell
        Called with how many rows were looked at, each of them twice.
    """
    keys, urls = _Shapes(), _Shapes()
    parts = _parts(_codes(table, keys, urls, tell))
    of_keys, of_urls = keys.texts(), urls.texts()
    seen = table.count
    for code, rows in parts:
        words, ranges = divmod(code, 2)
        key, url = divmod(words, len(of_urls))
        yield _group(table, rows, of_keys[key], of_urls[url], bool(ranges), _after(seen, tell))
        seen += len(rows)


def _after(seen: int, tell: Callable[[int], None]) -> Callable[[int], None]:
    """Return what tells of rows that come after others."""
    return lambda rows: tell(seen + rows)


def _codes(table: Table, keys: _Shapes, urls: _Shapes, tell: Callable[[int], None]) -> np.ndarray:
    """Return for each row one number for the words of key and URL and its kind; -1 for none."""
    columns = table.columns
    of_urls = _codes_of_urls(columns, urls)
    codes = np.empty(table.count, np.int64)
    for start in range(0, table.count, BLOCK):
        tell(start)
        rows = slice(start, start + BLOCK)
        kinds, shapes = columns.kinds[rows], of_urls[columns.targets[rows]]
        words = keys.codes(*shapes_of(table.keys.slice(start, BLOCK)))
        usable = (kinds >= URL) & (shapes >= 0) & (words >= 0)
        found = (words.astype(np.int64) * len(urls) + shapes) * 2 + (kinds == RANGE)
        codes[rows] = np.where(usable, found, -1)
    # numbers of more than 64 bits are clipped in the columns: as they stand they are wrong
    codes[list(columns.large)] = -1
    return codes


def _codes_of_urls(columns: Columns, shapes: _Shapes) -> np.ndarray:
    """Return the number of the shape of each URL, and -1 for no URL behind them."""
    count = len(columns.urls)
    codes = np.full(count + 1, -1, np.int32)
    for start in range(0, count, BLOCK):
        urls = columns.urls_at(np.arange(start, min(start + BLOCK, count)))
        found = shapes.codes(*shapes_of(text_column([url or "" for url in urls])))
        named = np.array([url is not None for url in urls], np.bool_)
        codes[start : start + len(urls)] = np.where(named, found, -1)
    return codes


def _parts(codes: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the numbers that most rows have, most first, and those rows, int32."""
    ordered = np.sort(codes)
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    counts = np.diff(starts, append=len(ordered))
    counts[ordered[starts] < 0] = 0
    best = np.argsort(-counts, kind="stable")[:MOST_GROUPS]
    best = best[counts[best] >= LEAST_ROWS]
    chosen, counts = ordered[starts[best]], counts[best]
    del ordered
    rows = _rows_of(codes, chosen)
    del codes
    ends = np.cumsum(counts)
    for code, start, end in zip(chosen.tolist(), ends - counts, ends, strict=True):
        yield code, rows[start:end]


def _rows_of(codes: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the rows that have some numbers: those of the first, of the second, and so on."""
    order = np.argsort(chosen)
    ordered, none = chosen[order], len(chosen)
    ranks = np.append(order, none).astype(np.uint16)
    positions = np.empty(len(codes), np.uint16)
    for start in range(0, len(codes), BLOCK):
        part = codes[start : start + BLOCK]
        found = np.searchsorted(ordered, part)
        found[np.append(ordered, -1)[found] != part] = none
        positions[start : start + BLOCK] = ranks[found]
    return np.argsort(positions, kind="stable").astype(np.int32)


def _group(
    table: Table,
    rows: np.ndarray,
    key: str,
    url: str,
    ranges: bool,
    tell: Callable[[int], None],
) -> Group:
    columns, of_key = table.columns, key.count("0")
    of_both = of_key + url.count("0")
    fields = np.empty((of_both + 2 * ranges, len(rows)), np.int64)
    widths = np.zeros(fields.shape, np.uint8)
    for start in range(0, len(rows), BLOCK):
        tell(start)
        part, to = rows[start : start + BLOCK], slice(start, start + BLOCK)
        numbers = read_numbers(table.keys_at(part), of_key)
        fields[:of_key, to], widths[:of_key, to] = numbers
        numbers = _numbers_of_urls(columns, columns.targets[part], of_both - of_key)
        fields[of_key:of_both, to], widths[of_key:of_both, to] = numbers
    if ranges:
        fields[-2], fields[-1] = columns.offsets[rows], columns.lengths[rows]
    return Group(rows, key, url, fields, widths, ranges)


def _numbers_of_urls(
    columns: Columns, targets: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of URLs at some positions; a URL of consecutive rows is read once."""
    heads = np.flatnonzero(np.diff(targets, prepend=-1))
    used, positions = np.unique(targets[heads], return_inverse=True)
    texts = text_column([url or "" for url in columns.urls_at(used)])
    rows = np.repeat(positions, np.diff(heads, append=len(targets)))
    values, widths = read_numbers(texts, count)
    return values[:, rows], widths[:, rows]
