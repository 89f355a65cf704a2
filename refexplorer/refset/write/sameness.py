"""The comparison of what was written with its source; a difference is an error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow.compute as pc

from refexplorer.errors import RefexplorerError
from refexplorer.formats.buffers.arrow import flags_of
from refexplorer.refset.columns.reference_columns import Columns
from refexplorer.refset.columns.table import Table
from refexplorer.refset.differences.comparing import SAME, compare


def differs(what: str) -> RefexplorerError:
    """Return the error that says so."""
    return RefexplorerError(
        f"What was written does not read back as the same references ({what}), so it was not kept."
    )


def check_in_order(wanted: Iterable[Table], found: Iterator[Table]) -> int:
    """Compare references block by block; return how many there are.

    Raises
    ------
    RefexplorerError
        If a block has other keys, or a key another reference.
    """
    count = 0
    for block in wanted:
        if block.count:
            other = next(found, None)
            if other is None:
                raise _missing(block, 0)
            check_same(block, other)
            count += block.count
    if next(found, None) is not None:
        raise differs(f"there is more after the {count:,} keys")
    return count


def check_in_any_order(wanted: Table, found: Iterable[Table]) -> int:
    """Compare all references with blocks of them; errors and result as `check_in_order`."""
    seen = np.zeros(wanted.count, np.bool_)
    for block in found:
        rows = _rows_of(wanted, block)
        if rows.min(initial=0) < 0:
            raise differs(f"it has the additional key `{block.key_at(int(rows.argmin()))}`")
        _check_pairs(wanted, block, np.stack([rows, np.arange(block.count)]))
        if seen[rows].any() or len(np.unique(rows)) < len(rows):
            raise differs("a key occurs twice")
        seen[rows] = True
    if not seen.all():
        raise _missing(wanted, int(seen.argmin()))
    return wanted.count


def _rows_of(wanted: Table, block: Table) -> np.ndarray:
    """Return the row of each key, -1 for none; mostly they follow each other in both tables."""
    first = wanted.find(block.key_at(0)) if block.count else None
    if first is not None and wanted.keys.slice(first, block.count).equals(block.keys):
        return np.arange(first, first + block.count)
    return wanted.index.find_many(block.keys)


def check_same(wanted: Table, found: Table) -> None:
    """Compare two tables row by row; errors as `check_in_order`."""
    count = min(wanted.count, found.count)
    keys = wanted.keys.slice(0, count), found.keys.slice(0, count)
    if not keys[0].equals(keys[1]):
        raise _missing(wanted, int(np.argmax(flags_of(pc.not_equal(*keys)))))
    if wanted.count > count:
        raise _missing(wanted, count)
    if found.count > count:
        raise differs(f"it has the additional key `{found.key_at(count)}`")
    rows = _odd_rows(wanted.columns, found.columns)
    if len(rows):
        _check_pairs(wanted, found, np.stack([rows, rows]))


def _odd_rows(wanted: Columns, found: Columns) -> np.ndarray:
    """Return the rows that are not the same target and bytes; texts are to be looked at."""
    positions = {url: position for position, url in enumerate(wanted.urls)}
    urls = found.urls_at(np.arange(len(found.urls)))
    codes = np.array([*(positions.get(url, -1) for url in urls), -1], np.int64)[found.targets]
    odd = (codes != wanted.targets) | (codes < 0) | (wanted.kinds != found.kinds)
    odd |= (wanted.offsets != found.offsets) | (wanted.lengths != found.lengths)
    odd[[*wanted.large, *found.large]] = True
    return np.flatnonzero(odd)


def _check_pairs(wanted: Table, found: Table, pairs: np.ndarray) -> None:
    other = np.flatnonzero(compare(wanted, found, pairs).changes != SAME)
    if len(other):
        key = wanted.key_at(int(pairs[0, other[0]]))
        raise differs(f"`{key}` has a different reference")


def _missing(table: Table, row: int) -> RefexplorerError:
    return differs(f"`{table.key_at(row)}` is missing")
