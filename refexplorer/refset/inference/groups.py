"""References that differ only in their numbers, read one block of rows at a time.

A first pass records which words the key and URL of each row have, 8 bytes per row. The numbers are
read when a group is requested, so that only those of one group are in memory.

For example, 96 hours in files of 24, ``"x/53": ["s3://b/2.nc", 500, 100]``, are one group: all are
``x/#`` in ``s3://b/#.nc``. Its fields are the key's number, the file's, offset and length, one
row per reference. Then

- `full_grids`: one axis, the key's number, distinguishes the rows; 96 rows fill it.
- `additive_grids`: on two axes each field must be a number plus a share of either axis, as
  ``offset = 1000 + 240 * row + 10 * column``; a grid is cut where it is not.
- `even_grids`: along the axis the offset grows by 100 and begins again at each file, so the axis
  becomes two, of 4 files and 24 hours, along which all fields grow evenly.
- `items.write_item` writes this grid as ``x/{{i * 24 + j}}``, ``s3://b/{{i}}.nc`` and
  ``{{j * 100}}``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa

from refexplorer.formats.columns.references import RANGE, URL, Columns, numbers_of, text_column
from refexplorer.formats.columns.table import Table
from refexplorer.formats.columns.texts import Spans, spans_of

LEAST_ROWS = 6  # Fewer references are shorter when written out than as a gen item
_WINDOW = 64  # Positions of an axis that are looked at first


def full_grids(fields: np.ndarray, keys: int, budget: int) -> Iterator[np.ndarray]:
    """Yield rows that fill grids of the numbers of their keys, the last axis fastest."""
    waiting = [np.arange(fields.shape[1], dtype=np.int32)]
    while waiting and budget:
        rows, budget = waiting.pop(), budget - 1
        if len(rows) < LEAST_ROWS:
            continue
        grid, parts = _grid_of(fields[:keys], rows)
        if grid is not None:
            yield grid
        waiting += parts


def _grid_of(fields: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray | None, list[np.ndarray]]:
    """Return rows as a grid if they fill one, else none, and parts of them."""
    axes = axes_of(fields, rows)
    sizes = [int(codes.max()) + 1 for codes in axes]
    if np.prod(sizes, dtype=float) != len(rows):
        return None, [rows[part] for part in _parts(axes, sizes)]
    positions = np.ravel_multi_index(tuple(axes), sizes)
    if np.any(positions[1:] < positions[:-1]):
        rows = rows[np.argsort(positions)]
    return rows.reshape(sizes), []


def axes_of(fields: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """Return each row's position on its axis, for fields that others do not determine."""
    codes = [_codes(field[rows]) for field in fields]
    sizes = [int(code.max()) + 1 for code in codes]
    chosen: list[int] = []
    joint, count = np.zeros(len(rows), np.int32), 1
    for field in sorted(range(len(codes)), key=lambda field: -sizes[field]):
        if sizes[field] > 1 and count < len(joint):
            both = joint.astype(np.int64)
            both *= sizes[field]
            both += codes[field]
            together = _codes(both)
            if (found := int(together.max()) + 1) > count:
                chosen.append(field)
                joint, count = together, found
    return [codes[field] for field in sorted(chosen)]


def _codes(numbers: np.ndarray) -> np.ndarray:
    """Return the rank of each number among the distinct ones, int32; the input is consumed."""
    low, high = int(numbers.min()), int(numbers.max())
    if high - low > 4 * len(numbers):
        return np.unique(numbers, return_inverse=True)[1].astype(np.int32)
    numbers -= low
    positions = np.zeros(high - low + 1, np.int32)
    positions[numbers] = 1
    np.cumsum(positions, out=positions)
    found: np.ndarray = positions[numbers]
    found -= 1
    return found


def _parts(axes: list[np.ndarray], sizes: list[int]) -> Iterator[np.ndarray]:
    """Yield parts of rows that fill no grid: where an axis is full, else position by position."""
    whole = np.prod(sizes, dtype=float)
    counts = [np.bincount(codes) for codes in axes]
    full = [count == whole / size for count, size in zip(counts, sizes, strict=True)]
    rows_in_full = [int(count[good].sum()) for count, good in zip(counts, full, strict=True)]
    best = int(np.argmax(rows_in_full))
    if rows_in_full[best]:
        inside = full[best][axes[best]]
        yield np.flatnonzero(inside)
        yield np.flatnonzero(~inside)
        return
    least = int(np.argmin(sizes))
    order = np.argsort(axes[least], kind="stable")
    yield from np.split(order, np.cumsum(counts[least])[:-1])


def additive_grids(fields: np.ndarray, rows: np.ndarray, budget: int) -> Iterator[np.ndarray]:
    """Cut a grid of rows into grids on which every field is additive."""
    waiting = [rows]
    while waiting and budget:
        rows, budget = waiting.pop(), budget - 1
        if rows.size < LEAST_ROWS:
            continue
        shares = zip(*profiles(fields, rows), strict=True)
        if rows.ndim == 1 or all(map(_is_sum, (field[rows] for field in fields), shares)):
            yield rows
        else:
            axis, cuts = _cuts(fields, rows)
            waiting += np.split(rows, cuts, axis)[::-1]


def even_grids(
    fields: np.ndarray, rows: np.ndarray, keys: int, budget: int
) -> Iterator[np.ndarray]:
    """Cut an additive grid into grids along whose axes every field grows by constant steps."""
    # An axis of blocks, such as the hours of several files, becomes two: 96 hours in files of 24
    # whose offsets start again in each are a grid of 4 files by 24 hours.
    waiting = [rows]
    while waiting:
        rows = waiting.pop()
        for axis, share in enumerate(profiles(fields, rows)):
            runs = list(islice(_runs(share, keys), budget))
            if runs != [(0, rows.shape[axis], 1)]:
                budget -= len(runs)
                waiting += [*_parts_of(rows, axis, runs)][::-1]
                break
        else:
            yield rows


def _parts_of(
    rows: np.ndarray, axis: int, runs: list[tuple[int, int, int]]
) -> Iterator[np.ndarray]:
    """Yield runs of blocks along an axis, each with an additional axis if it has several."""
    for start, period, count in runs:
        part = rows.take(range(start, start + period * count), axis)
        if part.size >= LEAST_ROWS:
            blocks = (count, period) if count > 1 else (period,)
            yield part.reshape(*rows.shape[:axis], *blocks, *rows.shape[axis + 1 :])


def _runs(share: np.ndarray, keys: int) -> Iterator[tuple[int, int, int]]:
    """Yield where constant-step blocks start on an axis, their size, and how many are alike."""
    start, size = 0, share.shape[1]
    while start < size:
        window = _WINDOW
        while True:  # looks only as far as it must
            part = share[:, start : start + window]
            period, count = _blocks(part - part[:, :1], keys)
            if start + window >= size or period * (count + 2) <= window:
                break
            window *= 8
        yield start, period, count
        start += period * count


def _blocks(share: np.ndarray, keys: int) -> tuple[int, int]:
    """Return how many first positions have constant steps, and how many such blocks follow."""
    size = share.shape[1]
    period = _period(share, keys)
    rest = share[:, period:] - share[:, period : period + 1]
    if rest.shape[1] > period and _period(rest, keys) > period:
        return period, 1  # the first is a block with a hole, or what a cut left of one
    count = size // period
    blocks = share[:, : period * count].reshape(len(share), count, period)
    alike = np.all(blocks - blocks[:, :, :1] == blocks[:, :1], axis=(0, 2))
    return period, count if alike.all() else int(np.argmin(alike))


def _period(share: np.ndarray, keys: int) -> int:
    """Return for how many positions of an axis, from the first, all fields have constant steps."""
    if share.shape[1] < 2:
        return int(share.shape[1])
    return max(evenly(share, numbers) for numbers in bases(share, keys))


def bases(share: np.ndarray, keys: int) -> tuple[np.ndarray, ...]:
    """Return possible numberings of an axis: 0, 1, 2 and so on, or the key's numbers."""
    own, positions = own_field(share, keys), np.arange(share.shape[1])
    return (positions,) if own is None else (share[own], positions)


def own_field(share: np.ndarray, keys: int) -> int | None:
    """Return the number of the key that distinguishes the positions of an axis."""
    return next((field for field in range(keys) if np.all(np.diff(share[field]) > 0)), None)


def evenly(share: np.ndarray, numbers: np.ndarray) -> int:
    """Return the number of leading positions at which each field is a multiple of `numbers`."""
    growth = share[:, 1] // numbers[1]
    follows = np.all(growth[:, None] * numbers == share, axis=0)
    return int(np.argmin(np.append(follows, False)))


def profiles(fields: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """Return the steps of the fields along each axis of a grid, each ``(fields, its size)``."""
    found = []
    for axis in range(rows.ndim):
        line = rows[tuple(slice(None) if each == axis else 0 for each in range(rows.ndim))]
        along = fields[:, line]
        found.append(along - along[:, :1])
    return found


def _is_sum(numbers: np.ndarray, shares: Sequence[np.ndarray]) -> bool:
    """Return whether numbers on a grid are the sum of the first and one term per axis."""
    total = numbers.ravel()[0]
    for share in shares:
        total = np.add.outer(total, share)
    return bool(np.array_equal(total, numbers))


def _cuts(fields: np.ndarray, rows: np.ndarray) -> tuple[int, np.ndarray]:
    """Return the axis along which most neighbours are alike, and where they are not."""
    unlike = [np.zeros(size - 1, np.bool_) for size in rows.shape]
    for field in fields:
        numbers = field[rows]
        for axis in range(rows.ndim):
            unlike[axis] |= _changes(np.moveaxis(numbers, axis, 0))
    best: tuple[float, int, np.ndarray] | None = None
    for axis, size in enumerate(rows.shape):
        cuts = np.flatnonzero(unlike[axis]) + 1
        runs = np.diff([0, *cuts.tolist(), size])
        if len(cuts):
            alike = (int(runs.max()) - 1) / size - len(cuts) * 1e-9
            if best is None or alike > best[0]:
                best = (alike, axis, cuts)
    assert best is not None
    return best[1], best[2]


def _changes(slabs: np.ndarray) -> np.ndarray:
    """Return between which slabs the numbers do not all grow by the same amount."""
    steps = np.diff(slabs, axis=0)
    first = steps[(slice(None), *[slice(0, 1)] * (steps.ndim - 1))]
    return np.any(steps != first, axis=tuple(range(1, steps.ndim)))


_DIGITS = 18  # Digits of a number that surely fits into 64 bits
_ZERO, _NINE = ord("0"), ord("9")


def shapes_of(texts: pa.LargeStringArray) -> tuple[list[str], np.ndarray]:
    """Return texts without their numbers."""
    spans = spans_of(texts)
    digit, inside = _digits(spans)
    first, widths = _numbers(digit, inside)
    words = spans.data.copy()
    words[first] = _ZERO
    kept = ~inside
    before = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(kept, out=before[1:])
    bounds = before[np.append(spans.starts, spans.ends[-1:])]
    column = pa.LargeStringArray.from_buffers(
        len(texts), pa.py_buffer(bounds), pa.py_buffer(words[kept])
    )
    encoded = column.dictionary_encode()
    codes = numbers_of(encoded.indices).astype(np.int64)
    codes[np.searchsorted(spans.ends, first[widths > _DIGITS], side="right")] = -1
    return encoded.dictionary.to_pylist(), codes


def read_numbers(texts: pa.LargeStringArray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Parse the numbers of texts with the same shape."""
    spans = spans_of(texts)
    first, widths = _numbers(*_digits(spans))
    values, _ = Spans(spans.data, first, first + widths).numbers()
    shape = len(texts), count
    return values.reshape(shape).T, widths.astype(np.uint8).reshape(shape).T


def _digits(spans: Spans) -> tuple[np.ndarray, np.ndarray]:
    """Return which bytes are digits, and which of these continue a number."""
    digit = (spans.data >= _ZERO) & (spans.data <= _NINE)
    inside = np.zeros(len(digit), np.bool_)
    inside[1:] = digit[1:] & digit[:-1]
    inside[spans.starts[spans.sizes > 0]] = False
    return digit, inside


def _numbers(digit: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each number starts, and its digit count."""
    first = np.flatnonzero(digit & ~inside)
    last = digit.copy()
    last[:-1] &= ~inside[1:]
    return first, np.flatnonzero(last) + 1 - first


BLOCK = 2**16  # Rows whose texts are read together
MOST_GROUPS = 1000  # groups, the largest first, that become gen items
MOST_SHAPES = 2**20  # Later words that are like none of so many are not looked at


@dataclass(frozen=True)
class Group:
    """References that differ only in their numbers."""

    rows: np.ndarray  # Their rows in the table, int32, shape ``(n,)``
    # key, url: Words of key and URL with ``0`` in the place of each number
    key: str
    url: str
    # fields, widths: Numbers of the key, then of the URL, then offset and length of byte ranges,
    # int64, and how many digits each is written with, uint8 (0 for offset and length); shape
    # ``(fields, n)``
    fields: np.ndarray
    widths: np.ndarray
    ranges: bool  # Whether they are byte ranges

    @property
    def keys(self) -> int:
        """The number of fields that are numbers of the key."""
        return self.key.count("0")


class _Shapes:
    """Distinct shapes of texts, numbered as they appear."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def codes(self, texts: list[str], positions: np.ndarray) -> np.ndarray:
        """Return the numbers of shapes by their positions among some; -1 for none."""
        return np.array([*map(self._code, texts), -1], np.int32)[positions]

    def _code(self, text: str) -> int:
        if len(self._codes) == MOST_SHAPES:
            return self._codes.get(text, -1)
        return self._codes.setdefault(text, len(self._codes))

    def __len__(self) -> int:
        return len(self._codes)

    def texts(self) -> list[str]:
        """Return the shapes in the order of their numbers."""
        return list(self._codes)


def groups_of(table: Table, report: Callable[[int], None]) -> Iterator[Group]:
    """Yield references to named targets by the words of key and URL, the largest groups first."""
    keys, urls = _Shapes(), _Shapes()
    parts = _parts_of_groups(_codes_of_groups(table, keys, urls, report))
    of_keys, of_urls = keys.texts(), urls.texts()
    seen = table.count
    for code, rows in parts:
        words, ranges = divmod(code, 2)
        key, url = divmod(words, len(of_urls))
        yield _group(table, rows, of_keys[key], of_urls[url], bool(ranges), _after(seen, report))
        seen += len(rows)


def _after(seen: int, report: Callable[[int], None]) -> Callable[[int], None]:
    """Return what distinguishes rows that come after others."""
    return lambda rows: report(seen + rows)


def _codes_of_groups(
    table: Table, keys: _Shapes, urls: _Shapes, report: Callable[[int], None]
) -> np.ndarray:
    """Return one number per row for the words of key and URL and its kind; -1 for none."""
    columns = table.columns
    of_urls = _codes_of_urls(columns, urls)
    codes = np.empty(table.count, np.int64)
    for start in range(0, table.count, BLOCK):
        report(start)
        rows = slice(start, start + BLOCK)
        kinds, shapes = columns.kinds[rows], of_urls[columns.targets[rows]]
        words = keys.codes(*shapes_of(table.keys.slice(start, BLOCK)))
        usable = (kinds >= URL) & (shapes >= 0) & (words >= 0)
        found = (words.astype(np.int64) * len(urls) + shapes) * 2 + (kinds == RANGE)
        codes[rows] = np.where(usable, found, -1)
    return codes


def _codes_of_urls(columns: Columns, shapes: _Shapes) -> np.ndarray:
    """Return the number of the shape of each URL, and -1 for no URL behind them."""
    count = len(columns.urls)
    codes = np.full(count + 1, -1, np.int32)
    for start in range(0, count, BLOCK):
        urls = columns.urls.at(np.arange(start, min(start + BLOCK, count)))
        found = shapes.codes(*shapes_of(text_column([url or "" for url in urls])))
        named = np.array([url is not None for url in urls], np.bool_)
        codes[start : start + len(urls)] = np.where(named, found, -1)
    return codes


def _parts_of_groups(codes: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the most frequent numbers first, with their rows, int32."""
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
    """Return the rows with the given numbers: those of the first, of the second, and so on."""
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
    table: Table, rows: np.ndarray, key: str, url: str, ranges: bool, report: Callable[[int], None]
) -> Group:
    columns, of_key = table.columns, key.count("0")
    of_both = of_key + url.count("0")
    fields = np.empty((of_both + 2 * ranges, len(rows)), np.int64)
    widths = np.zeros(fields.shape, np.uint8)
    for start in range(0, len(rows), BLOCK):
        report(start)
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
    """Return the numbers of URLs at some positions; a URL of consecutive rows is parsed once."""
    heads = np.flatnonzero(np.diff(targets, prepend=-1))
    used, positions = np.unique(targets[heads], return_inverse=True)
    texts = text_column([url or "" for url in columns.urls.at(used)])
    rows = np.repeat(positions, np.diff(heads, append=len(targets)))
    values, widths = read_numbers(texts, count)
    return values[:, rows], widths[:, rows]
